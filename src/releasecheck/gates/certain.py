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

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from releasecheck.gates import evidence, rules
from releasecheck.gates.endings import MOST, State, beyond_when, outside
from releasecheck.gates.evidence import Refusal
from releasecheck.gates.subject import Subject
from releasecheck.stats import (
    aggregate,
    aggregate_cases,
    count,
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
    from releasecheck.model.table import CaseRow, Compared, Indices, ScoreTable


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
            subject.judge.id: beyond_when(subject, cases)
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
        state = State.of(subject, table, self._plan, self._beyond)
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

    def _endings(self, state: State, rule: NoRegression | None) -> Iterator[ScoreTable]:
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

    def _blocked(self, state: State, ending: ScoreTable) -> Certain | None:
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


def _bounded(state: State, rule: NoRegression, pair: Shared) -> bool:
    """Whether the rule is sure to find what it asks for: `non-inferior` refuses without a bound on the drop."""
    if rule.decide != "non-inferior":
        return True
    known = state.subject.gate.stat == "pass_rate" or state.best.high - state.best.low < MOST
    cases = [state.table.cases[row] for row in pair.rows.tolist()]
    return known and len(cases) > 1 and all(case.cluster is None for case in cases)


def _refuses_the_weak(rule: NoRegression | None) -> bool:
    return rule is not None and rule.underpowered == "refuse"


def _drop_reason(state: State, rule: NoRegression, pair: Shared) -> str | None:
    """Why the drop exceeds what is allowed whatever comes; None where it need not."""
    subject, gate = state.subject, state.subject.gate
    if rule.decide == "significant":
        return None
    # With other statistics, leaving cases out could help.
    if gate.stat not in ("mean", "pass_rate") and state.may_not_apply.any():
        return None
    if outside(pair.before.value[pair.before.scored], state.best):
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


def _failures_reason(state: State, rule: NoRegression, pair: Shared) -> str | None:
    if rule.max_new_failures is None:
        return None
    subject = state.subject
    now, before = verdicts(pair.now, subject.pass_rule), verdicts(pair.before, subject.pass_rule)
    failures = int(((before == 1) & (now == 0)).sum())
    if failures <= rule.max_new_failures:
        return None
    return (
        f"certain already, {_progress(state, pair.rows)}: {count(failures, 'new failure')} against the "
        f"{subject.against}, at most {rule.max_new_failures} allowed"
    )


def _require_reason(state: State, side: Measured) -> str:
    failing = int((verdicts(side.col, state.subject.pass_rule) == 0).sum())
    fails = "fails" if failing == 1 else "fail"
    return (
        f"certain already, {_progress(state, side.rows)}: "
        f"{count_of(failing, side.rows.size)} {fails}, and none may"
    )


def _limit_reason(state: State, side: Measured) -> str:
    gate, rule = state.subject.gate, state.subject.pass_rule
    value: Fraction | None = aggregate(gate.stat, side.col, rule)
    bound = gate.max if gate.min is None else gate.min
    word = "below" if gate.min is not None else "above"
    failing = ""
    if gate.min is not None and state.subject.has_pass_mark:
        bad = int((verdicts(side.col, rule) == 0).sum())
        failing = f"{count_of(bad, side.rows.size)} {'fails' if bad == 1 else 'fail'}; "
    return (
        f"certain already, {_progress(state, side.rows)}: {failing}{_even_if(state, side.rows)} {gate.stat} "
        f"comes to {show(exact(0.0) if value is None else value, bound)}, {word} {plain(bound or 0.0)}"
    )


def _progress(state: State, rows: Indices) -> str:
    whole = int(state.known[rows].all(axis=1).sum())
    return f"with {count_of(whole, rows.size)} measured"


def _even_if(state: State, rows: Indices) -> str:
    still = int(state.open[rows].any(axis=1).sum())
    if still == 0:
        return "the"
    others = "the other one comes" if still == 1 else f"all {still} others come"
    return f"even if {others} out as well as possible, the"
