"""Gates that block whatever is still to come: what a run may stop for (`stop_when_decided`).

Everything without a final score may still turn out as well as it can: never asked, pending, failed. So the
ordinary questions and rules are put to the best endings that are left, exactly as they will be put to the
whole; a gate that blocks in each of them is certain to block. A gate that would refuse in one of them is
not, and neither is one that a waiver of the suite lets block.

Which endings suffice: a mean, a share, a rank or a sum is best where every open value is as good as its judge
can make it, or where all that need not be scored is not applicable; between the two it only gets worse.
Too few scores, or too few shared cases, come about where all that need not be scored is not applicable.

Not foreseen: `significant`, whose p no simple ending bounds, but for its `max_new_failures`; gates that
refuse where they are `underpowered`; `non-inferior` where a bound may not exist (values of unknown range,
clusters, a single case); `k-of-n` where trials may turn out not applicable.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from releasecheck.gates import evidence, rules
from releasecheck.gates.evidence import Refusal
from releasecheck.gates.subject import Subject
from releasecheck.model.judge import (
    LangfuseJudge,
    LlmJudge,
    SimilarityJudge,
    YesNoJudge,
)
from releasecheck.model.table import (
    ANSWERED,
    FAILED,
    NOT_APPLICABLE,
    SCORED,
    TARGET_FAILED,
)
from releasecheck.stats import (
    aggregate,
    aggregate_cases,
    count_of,
    exact,
    match_cases,
    plain,
    show,
    verdicts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from releasecheck.gates.evidence import Measured, Shared
    from releasecheck.model.gate import Against, NoRegression
    from releasecheck.model.plan import Plan
    from releasecheck.model.table import CaseRow, Compared, Flags, Floats, Indices, ScoreTable

_MOST: Final = sys.float_info.max
"""Stands for a value without a known bound."""
_ALWAYS_SCORE: Final = (YesNoJudge, SimilarityJudge, LlmJudge, LangfuseJudge)
"""Judges that are not applicable only where their `when` says so."""


@dataclass(frozen=True, slots=True)
class Certain:
    """A gate that blocks whatever is still to come."""

    gate: str
    reason: str
    """One sentence with the numbers."""
    compared: int
    """Cases compared so far, for no-regression; (case, trial)s measured so far, otherwise."""


def certain_blocks(table: ScoreTable, plan: Plan, compared: Compared) -> tuple[Certain, ...]:
    """The gates that block whatever the pairs without a final score bring, in plan order."""
    return Foresight(plan, table.cases, compared).blocks(table)


class Foresight:
    """What is the same at every look at one run: gates, earlier runs, and which case is which there."""

    def __init__(self, plan: Plan, cases: Sequence[CaseRow], compared: Compared) -> None:
        waived = {waiver.gate for waiver in plan.waivers}
        self._plan = plan
        self._subjects = [
            Subject.of(gate, plan)
            for gate in plan.gates
            if gate.id not in waived and not _refuses_the_weak(gate.no_regression)
        ]
        self._earlier = {"baseline": compared.baseline, "anchor": compared.anchor}
        sides: set[Against] = {
            subject.against for subject in self._subjects if subject.gate.no_regression is not None
        }
        self._matched: dict[Against, Indices] = {
            side: match_cases(cases, () if found is None else found.table.cases)
            for side in sides
            for found in [self._earlier[side]]
        }
        self._beyond = {
            subject.judge.id: _beyond_when(subject, cases)
            for subject in self._subjects
            if subject.judge is not None
        }

    @property
    def measures_calls(self) -> bool:
        """Whether a call that was answered can decide, whatever a judge says of its answer."""
        return any(subject.judge is None for subject in self._subjects)

    def blocks(self, table: ScoreTable) -> tuple[Certain, ...]:
        """The gates that are certain to block by what this table holds, in plan order."""
        found = (self._foreseen(subject, table) for subject in self._subjects)
        return tuple(one for one in found if one is not None)

    def _foreseen(self, subject: Subject, table: ScoreTable) -> Certain | None:
        state = _State.of(subject, table, self._plan, self._beyond)
        if not state.known.any() or state.strays:
            return None
        if subject.needs_verdicts and "-of-" in subject.pass_rule and state.may_not_apply.any():
            return None
        first: Certain | None = None
        for ending in self._endings(state, subject.gate.no_regression):
            blocked = self._blocked(state, ending)
            if blocked is None:
                return None
            first = first or blocked
        return first

    def _endings(self, state: _State, rule: NoRegression | None) -> Iterator[ScoreTable]:
        """The best one first; the others only where a case may yet turn out not applicable."""
        nothing = np.zeros_like(state.may_not_apply)
        yield state.ending(nothing)
        if not state.may_not_apply.any():
            return
        yield state.ending(state.may_not_apply)
        if rule is not None and self._plan.mode != "full":
            # The share that must be comparable is of the planned cases: those without a partner count.
            partner = self._matched[state.subject.against] >= 0
            yield state.ending(state.may_not_apply & partner[:, None])

    def _blocked(self, state: _State, ending: ScoreTable) -> Certain | None:
        subject, plan = state.subject, self._plan
        gate, rule = subject.gate, subject.gate.no_regression
        side = evidence.measured(subject, ending, plan)
        if isinstance(side, Refusal):
            return None
        if rule is None:
            limit = gate.require is None
            decision = (
                rules.limit(subject, side)
                if limit
                else rules.require_all(subject, side, ending.cases)
            )
            if decision.holds:
                return None
            pairs = int((state.known[side.rows] & side.col.scored).sum())
            said = _limit_reason(state, side) if limit else _require_reason(state, side)
            return Certain(gate.id, said, pairs)
        matched = self._matched[subject.against]
        earlier = self._earlier[subject.against]
        pair = evidence.shared(subject, side, ending, plan, earlier, matched)
        if isinstance(pair, Refusal) or not _bounded(state, rule, pair):
            return None
        reason = _drop_reason(state, rule, pair) or _failures_reason(state, rule, pair)
        measured = int(state.known[pair.rows].all(axis=1).sum())
        return None if reason is None else Certain(gate.id, reason, measured)


def _bounded(state: _State, rule: NoRegression, pair: Shared) -> bool:
    """Whether the rule is sure to find what it asks for: `non-inferior` refuses without a bound on the drop."""
    if rule.decide != "non-inferior":
        return True
    known = state.subject.gate.stat == "pass_rate" or state.best.high - state.best.low < _MOST
    cases = [state.table.cases[row] for row in pair.rows.tolist()]
    return known and len(cases) > 1 and all(case.cluster is None for case in cases)


def _refuses_the_weak(rule: NoRegression | None) -> bool:
    return rule is not None and rule.underpowered == "refuse"


def _beyond_when(subject: Subject, cases: Sequence[CaseRow]) -> Flags:
    """[C]: cases that the judge's own `when` leaves out for certain."""
    when = None if subject.judge is None else subject.judge.spec.when
    if when is None:
        return np.zeros(len(cases), dtype=np.bool_)
    return np.array(
        [not when.admits(row.tags, row.split, has_expected=True) for row in cases], dtype=np.bool_
    )


class _Best(NamedTuple):
    """How good an open value can become for a gate."""

    low: float
    high: float
    up: bool
    """Whether higher values help the gate to hold."""
    passing: int
    """The verdict that helps it: 1 pass, 0 fail."""

    @property
    def value(self) -> float:
        return self.high if self.up else self.low


def _best(subject: Subject) -> _Best:
    gate = subject.gate
    low, high = subject.ends or (-_MOST, _MOST)
    high = min(high, _MOST)
    if gate.no_regression is not None:
        return _Best(low, high, not subject.lower_is_better, 1)
    return _Best(low, high, gate.max is None, 0 if gate.max is not None else 1)


@dataclass(frozen=True, slots=True)
class _State:
    """One gate's metric in an unfinished run: what is known for good, and what may become of the rest."""

    subject: Subject
    table: ScoreTable
    known: Flags
    """[C, T]: has its final value, or is not applicable for good."""
    beyond: Flags
    """[C, T]: open, and not applicable whatever comes."""
    may_not_apply: Flags
    """[C, T]: open, and its judge may call it not applicable."""
    best: _Best

    @classmethod
    def of(
        cls, subject: Subject, table: ScoreTable, plan: Plan, beyond_when: dict[str, Flags]
    ) -> _State:
        best = _best(subject)
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
        beyond = ~known & beyond_when[subject.judge.id][:, None]
        spec = subject.judge.spec
        sure = isinstance(spec, _ALWAYS_SCORE) and (spec.when is None or spec.when.has is None)
        may = np.zeros_like(known) if sure else ~known & ~beyond
        return cls(subject, table, known, beyond, may, best)

    @property
    def strays(self) -> bool:
        """Whether a measured value lies outside of what its judge can give, so that no bound is to be believed."""
        col = self.subject.column(self.table)
        return col is None or _outside(col.value[self.known & col.scored], self.best)

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


def _calls_ending(metric: str, table: ScoreTable, still_open: Flags, best: _Best) -> ScoreTable:
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


def _outside(values: Floats, best: _Best) -> bool:
    return bool(((values < best.low) | (values > best.high)).any())


def _drop_reason(state: _State, rule: NoRegression, pair: Shared) -> str | None:
    """Why the drop exceeds what is allowed whatever comes; None where it need not."""
    subject, gate = state.subject, state.subject.gate
    if rule.decide == "significant":
        return None
    # With other statistics, leaving cases out could help.
    if gate.stat not in ("mean", "pass_rate") and state.may_not_apply.any():
        return None
    if _outside(pair.before.value[pair.before.scored], state.best):
        return None
    now = aggregate_cases(gate.stat, pair.now, subject.pass_rule)
    before = aggregate_cases(gate.stat, pair.before, subject.pass_rule)
    if now is None or before is None:
        return None
    worse = now - before if subject.lower_is_better else before - now
    if worse <= exact(rule.max_drop):
        return None
    word = "rise" if subject.lower_is_better else "drop"
    return (
        f"certain already, {_progress(state, pair.rows)}: {_even_if(state, pair.rows)} {gate.stat} comes to "
        f"{show(now, before)} against {show(before, now)} in the {subject.against}, a {word} of "
        f"{show(worse, rule.max_drop)}, more than the {plain(rule.max_drop)} allowed"
    )


def _failures_reason(state: _State, rule: NoRegression, pair: Shared) -> str | None:
    if rule.max_new_failures is None:
        return None
    subject = state.subject
    now, before = verdicts(pair.now, subject.pass_rule), verdicts(pair.before, subject.pass_rule)
    failures = int(((before == 1) & (now == 0)).sum())
    if failures <= rule.max_new_failures:
        return None
    are = "new failure" if failures == 1 else "new failures"
    return (
        f"certain already, {_progress(state, pair.rows)}: {failures} {are} against the "
        f"{subject.against}, at most {rule.max_new_failures} allowed"
    )


def _require_reason(state: _State, side: Measured) -> str:
    failing = int((verdicts(side.col, state.subject.pass_rule) == 0).sum())
    fails = "fails" if failing == 1 else "fail"
    return (
        f"certain already, {_progress(state, side.rows)}: "
        f"{count_of(failing, side.rows.size)} {fails}, and none may"
    )


def _limit_reason(state: _State, side: Measured) -> str:
    gate, rule = state.subject.gate, state.subject.pass_rule
    value: Fraction | None = aggregate(gate.stat, side.col, rule)
    bound = gate.max if gate.min is None else gate.min
    word = "below" if gate.min is not None else "above"
    failing = ""
    if gate.min is not None and state.subject.has_pass_mark:
        count = int((verdicts(side.col, rule) == 0).sum())
        failing = f"{count_of(count, side.rows.size)} {'fails' if count == 1 else 'fail'}; "
    return (
        f"certain already, {_progress(state, side.rows)}: {failing}{_even_if(state, side.rows)} {gate.stat} "
        f"comes to {show(exact(0.0) if value is None else value, bound)}, {word} {plain(bound or 0.0)}"
    )


def _progress(state: _State, rows: Indices) -> str:
    whole = int(state.known[rows].all(axis=1).sum())
    return f"with {count_of(whole, rows.size)} measured"


def _even_if(state: _State, rows: Indices) -> str:
    still = int(state.open[rows].any(axis=1).sum())
    if still == 0:
        return "the"
    others = "the other one comes" if still == 1 else f"all {still} others come"
    return f"even if {others} out as well as possible, the"
