"""How an unfinished run may still end, as good as it can, for one gate: what `certain` puts to the ordinary rules."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from releasecheck.model.judge import LangfuseJudge, LlmJudge, SimilarityJudge, YesNoJudge
from releasecheck.model.table import (
    ANSWERED,
    FAILED,
    NOT_APPLICABLE,
    SCORED,
    TARGET_FAILED,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.gates.subject import Subject
    from releasecheck.model.plan import Plan
    from releasecheck.model.table import CaseRow, Flags, Floats, ScoreTable

MOST: Final = sys.float_info.max
"""Stands for a value without a known bound."""
_ALWAYS_SCORE: Final = (YesNoJudge, SimilarityJudge, LlmJudge, LangfuseJudge)
"""Judges that are not applicable only where their `when` says so."""


def beyond_when(subject: Subject, cases: Sequence[CaseRow]) -> Flags:
    """[C]: cases that the judge's own `when` leaves out for certain."""
    when = None if subject.judge is None else subject.judge.spec.when
    if when is None:
        return np.zeros(len(cases), dtype=np.bool_)
    return np.array(
        [not when.admits(row.tags, row.split, has_expected=True) for row in cases], dtype=np.bool_
    )


class Best(NamedTuple):
    """How good an open value can become for a gate."""

    low: float
    high: float
    up: bool
    """Whether higher values help the gate to hold."""
    passing: int
    """The verdict that helps it: 1 pass, 0 fail."""

    @property
    def value(self) -> float:
        """The value that an open one is taken to get."""
        return self.high if self.up else self.low


def best_of(subject: Subject) -> Best:
    """What helps a gate most; `MOST` stands for an end that is not known."""
    gate = subject.gate
    low, high = subject.ends or (-MOST, MOST)
    high = min(high, MOST)
    if gate.no_regression is not None:
        return Best(low, high, not subject.lower_is_better, 1)
    return Best(low, high, gate.max is None, 0 if gate.max is not None else 1)


@dataclass(frozen=True, slots=True)
class State:
    """One gate's metric in an unfinished run: what is known for good, and what may become of the rest."""

    subject: Subject
    table: ScoreTable
    known: Flags
    """[C, T]: has its final value, or is not applicable for good."""
    beyond: Flags
    """[C, T]: open, and not applicable whatever comes."""
    may_not_apply: Flags
    """[C, T]: open, and its judge may call it not applicable."""
    best: Best

    @classmethod
    def of(
        cls, subject: Subject, table: ScoreTable, plan: Plan, left_out: dict[str, Flags]
    ) -> State:
        """Sort the (case, trial)s of a table; `left_out` is by judge, [C] (see `beyond_when`)."""
        best = best_of(subject)
        kept: Flags = np.ones(table.target.shape, dtype=np.bool_)
        if plan.store_outputs != "full":
            # An answer that was not kept is asked again, and then judged anew by every judge.
            kept = np.logical_not(table.undone.any(axis=2))
        if subject.judge is None:
            known = _measured_call(subject, table) & kept
            nothing = np.zeros_like(known)
            return cls(subject, table, known, nothing, nothing, best)
        at = table.judges.index(subject.judge.id)
        state = table.state[:, :, at]
        known = (state == SCORED) | (state == NOT_APPLICABLE)
        if subject.gate.on_target_failure == "count_as_fail" and subject.uncountable is None:
            failed = (table.target == TARGET_FAILED) & (state == FAILED)
            known |= failed & ~table.mendable[:, :, at]
        known &= kept
        beyond = ~known & left_out[subject.judge.id][:, None]
        spec = subject.judge.spec
        sure = isinstance(spec, _ALWAYS_SCORE) and (spec.when is None or spec.when.has is None)
        may = np.zeros_like(known) if sure else ~known & ~beyond
        return cls(subject, table, known, beyond, may, best)

    @property
    def strays(self) -> bool:
        """Whether a measured value lies outside of what its judge can give, so that no bound is to be believed."""
        col = self.subject.column(self.table)
        return col is None or outside(col.value[self.known & col.scored], self.best)

    @property
    def open(self) -> Flags:
        """[C, T]: may yet become anything."""
        return ~self.known & ~self.beyond

    def ending(self, not_applicable: Flags) -> ScoreTable:
        """The run as it may end: what is open as good as it can be, but for what turns out not applicable."""
        table, best, still_open = self.table, self.best, ~self.known
        judge = self.subject.judge
        if judge is None:
            return _calls_ending(self.subject.gate.metric, table, still_open, best)
        at = table.judges.index(judge.id)
        state, value, passed = table.state.copy(), table.value.copy(), table.passed.copy()
        outside = self.beyond | not_applicable
        state[:, :, at][still_open] = SCORED
        state[:, :, at][outside] = NOT_APPLICABLE
        value[:, :, at][still_open] = best.value
        passed[:, :, at][still_open] = best.passing if self.subject.has_pass_mark else -1
        return replace(table, state=state, value=value, passed=passed)


def _measured_call(subject: Subject, table: ScoreTable) -> Flags:
    """[C, T]: calls whose part of a built-in metric is known for good."""
    answered: Flags = table.target == ANSWERED
    if subject.gate.metric == "target_errors":
        failed: Flags = (table.target == TARGET_FAILED) & ~table.mendable.any(axis=2)
        return np.logical_or(answered, failed)
    col = subject.column(table)
    return answered if col is None else answered & col.scored


def _calls_ending(metric: str, table: ScoreTable, still_open: Flags, best: Best) -> ScoreTable:
    if metric == "target_errors":
        ended = TARGET_FAILED if best.up else ANSWERED
        return replace(table, target=np.where(still_open, np.int8(ended), table.target))

    def ended_as(values: Floats) -> Floats:
        return np.where(still_open, best.value, values)

    return replace(
        table,
        target=np.where(still_open, np.int8(ANSWERED), table.target),
        latency_ms=ended_as(table.latency_ms),
        cost_usd=ended_as(table.cost_usd),
        tokens=ended_as(table.tokens),
    )


def outside(values: Floats, best: Best) -> bool:
    """Whether any value is none that its judge can give."""
    return bool(((values < best.low) | (values > best.high)).any())
