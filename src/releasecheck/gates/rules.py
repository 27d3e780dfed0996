"""The rules themselves, over evidence that is complete: exact comparisons, one sentence each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from releasecheck.gates.evidence import lost_note
from releasecheck.stats import (
    aggregate,
    aggregate_cases,
    count_of,
    exact,
    names,
    plain,
    show,
    to_float,
    verdicts,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from releasecheck.gates.evidence import Measured, Shared
    from releasecheck.gates.subject import Subject
    from releasecheck.model.gate import GateSpec, NoRegression
    from releasecheck.model.table import CaseRow, Flags


@dataclass(frozen=True, slots=True)
class Decision:
    """What a rule came to."""

    holds: bool
    reason: str
    compared: int
    """Cases compared, or (case, trial)s measured; at least 1."""
    value: float | None
    baseline_value: float | None = None
    delta: float | None = None


def rule_text(gate: GateSpec) -> str:
    """The rule in words."""
    if gate.min is not None:
        return f"{gate.stat} >= {plain(gate.min)}"
    if gate.max is not None:
        return f"{gate.stat} <= {plain(gate.max)}"
    if gate.no_regression is not None:
        text = f"no regression beyond {plain(gate.no_regression.max_drop)}"
        most = gate.no_regression.max_new_failures
        return text if most is None else f"{text}, at most {_failures(most)}"
    return "every case passes"


def threshold_of(gate: GateSpec) -> float | None:
    """The number the gate compares with; None for `require: all`."""
    if gate.no_regression is not None:
        return gate.no_regression.max_drop
    return gate.min if gate.min is not None else gate.max


def limit(subject: Subject, side: Measured) -> Decision:
    """`min` and `max`."""
    gate = subject.gate
    value = _known(aggregate(gate.stat, side.col, subject.pass_rule), gate)
    cases = int(side.col.has_value.sum())
    what = f"{gate.stat} {{}} over {cases} case{'' if cases == 1 else 's'} is {{}} {{}}"
    if gate.min is not None:
        holds, word, bound = value >= exact(gate.min), ("at least", "below"), gate.min
    elif gate.max is not None:
        holds, word, bound = value <= exact(gate.max), ("at most", "above"), gate.max
    else:
        message = f"gate {gate.id} has neither min nor max"
        raise ValueError(message)
    reason = what.format(show(value, bound), word[0] if holds else word[1], plain(bound))
    return Decision(holds, reason, int(side.col.scored.sum()), to_float(value))


def require_all(subject: Subject, side: Measured, cases: Sequence[CaseRow]) -> Decision:
    """`require: all`: a single failing case blocks, whatever the mean says."""
    passed = verdicts(side.col, subject.pass_rule)
    failing = [cases[row].id for row in side.rows[passed == 0].tolist()]
    total = int((passed >= 0).sum())
    if failing:
        fail = "fails" if len(failing) == 1 else "fail"
        reason = f"{count_of(len(failing), total)} {fail}: {names(failing)}"
    else:
        reason = "the only case passes" if total == 1 else f"all {total} cases pass"
    value = (total - len(failing)) / total
    return Decision(not failing, reason, int(side.col.scored.sum()), value)


def no_regression(
    subject: Subject, rule: NoRegression, pair: Shared, cases: Sequence[CaseRow]
) -> Decision:
    """`no_regression`, over the shared cases alone, trials averaged per case first."""
    gate = subject.gate
    now = _known(aggregate_cases(gate.stat, pair.now, subject.pass_rule), gate)
    before = _known(aggregate_cases(gate.stat, pair.before, subject.pass_rule), gate)
    worse = now - before if subject.lower_is_better else before - now
    match rule.decide:
        case "point":
            within = worse <= exact(rule.max_drop)
        case "significant" | "non-inferior":
            message = "not decided yet"
            raise NotImplementedError(message)
        case _:
            assert_never(rule.decide)
    compared = int(pair.rows.size)
    reason = (
        f"{gate.stat} {show(now, before)} against {show(before, now)} in the baseline, over "
        f"{compared} shared case{'' if compared == 1 else 's'}: "
        + _movement(worse, rule.max_drop, "rise" if subject.lower_is_better else "drop")
    )
    few = True
    if rule.max_new_failures is not None:
        failing = [cases[row].id for row in pair.rows[_new_failures(subject, pair)].tolist()]
        few = len(failing) <= rule.max_new_failures
        reason += f"; {_failures(len(failing))}, at most {rule.max_new_failures} allowed"
        reason += f": {names(failing)}" if failing else ""
    return Decision(
        within and few,
        reason + lost_note(pair.lost),
        compared,
        to_float(now),
        to_float(before),
        to_float(now - before),
    )


def _new_failures(subject: Subject, pair: Shared) -> Flags:
    now, before = verdicts(pair.now, subject.pass_rule), verdicts(pair.before, subject.pass_rule)
    flipped: Flags = (before == 1) & (now == 0)
    return flipped


def _movement(worse: Fraction, allowed: float, word: str) -> str:
    if worse < 0:
        return f"an improvement of {show(-worse)}"
    if worse == 0:
        return "no change"
    side = "more than" if worse > exact(allowed) else "within"
    return f"a {word} of {show(worse, allowed)}, {side} the {plain(allowed)} allowed"


def _failures(count: int) -> str:
    return f"{count} new failure{'' if count == 1 else 's'}"


def _known(value: Fraction | None, gate: GateSpec) -> Fraction:
    if value is None:
        message = f"gate {gate.id}: a rule was asked about nothing"
        raise ValueError(message)
    return value
