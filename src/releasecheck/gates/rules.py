"""The rules themselves, over evidence that is complete: exact comparisons, one sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.gates.outcome import Decision
from releasecheck.gates.regression import known
from releasecheck.stats import (
    aggregate,
    count,
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

    from releasecheck.gates.evidence import Measured
    from releasecheck.gates.subject import Subject
    from releasecheck.model.gate import GateSpec
    from releasecheck.model.table import CaseRow


def rule_text(gate: GateSpec) -> str:
    """The rule in words."""
    if gate.min is not None:
        return f"{gate.stat} >= {plain(gate.min)}"
    if gate.max is not None:
        return f"{gate.stat} <= {plain(gate.max)}"
    if gate.no_regression is not None:
        rule = gate.no_regression
        text = {
            "point": "no regression beyond {}",
            "significant": "no significant regression beyond {}",
            "non-inferior": "shown to be no more than {} worse",
        }[rule.decide].format(plain(rule.max_drop))
        text += " against the anchor" if rule.against == "anchor" else ""
        most = rule.max_new_failures
        return text if most is None else f"{text}, at most {count(most, 'new failure')}"
    return "every case passes"


def threshold_of(gate: GateSpec) -> float | None:
    """The number the gate compares with; None for `require: all`."""
    if gate.no_regression is not None:
        return gate.no_regression.max_drop
    return gate.min if gate.min is not None else gate.max


def limit(subject: Subject, side: Measured) -> Decision:
    """`min` and `max`."""
    gate = subject.gate
    value = known(aggregate(gate.stat, side.col, subject.pass_rule), gate)
    cases = int(side.col.has_value.sum())
    what = f"{gate.stat} {{}} over {count(cases, 'case')} is {{}} {{}}"
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
