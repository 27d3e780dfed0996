"""Gates decided one by one, and the verdict over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.gates import evidence, rules
from releasecheck.gates.evidence import Refusal
from releasecheck.gates.subject import Subject
from releasecheck.model.scorecard import OUTCOMES, GateResult, Outcome
from releasecheck.stats import match_cases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.gates.rules import Decision
    from releasecheck.model.gate import GateSpec
    from releasecheck.model.plan import Plan
    from releasecheck.model.table import Baseline, Indices, ScoreTable


def decide(table: ScoreTable, plan: Plan, baseline: Baseline | None) -> tuple[GateResult, ...]:
    """Every gate of the plan, in its order.

    The candidate is complete, the baseline is there, finalized and complete, both are comparable,
    something was compared, and only then the rule: the first refusal decides and shows no difference.
    """
    matched = match_cases(table.cases, () if baseline is None else baseline.table.cases)
    results = []
    for gate in plan.gates:
        answer = _answer(Subject.of(gate, plan), table, plan, baseline, matched)
        results.append(_result(gate, answer))
    return tuple(results)


def verdict(results: Sequence[GateResult], plan: Plan) -> Outcome:
    """The worst outcome; a run in which no gate was selected decided nothing and is `not_comparable`."""
    if all(result.outcome == "not_selected" for result in results):
        return "not_comparable"
    return max((result.outcome for result in results), key=OUTCOMES.index)


def _answer(
    subject: Subject,
    table: ScoreTable,
    plan: Plan,
    baseline: Baseline | None,
    matched: Indices,
) -> Decision | Refusal:
    candidate = evidence.measured(subject, table, plan)
    if isinstance(candidate, Refusal):
        return candidate
    gate = subject.gate
    if gate.no_regression is not None:
        pair = evidence.shared(subject, candidate, table, plan, baseline, matched)
        if isinstance(pair, Refusal):
            return pair
        return rules.no_regression(subject, gate.no_regression, pair, table.cases)
    if gate.require is not None:
        return rules.require_all(subject, candidate, table.cases)
    return rules.limit(subject, candidate)


def _result(gate: GateSpec, answer: Decision | Refusal) -> GateResult:
    outcome: Outcome
    if isinstance(answer, Refusal):
        outcome, value, before, delta, compared = answer.outcome, None, None, None, None
    else:
        outcome = "pass" if answer.holds else "block"
        value, before, delta = answer.value, answer.baseline_value, answer.delta
        compared = answer.compared
    return GateResult(
        id=gate.id,
        metric=gate.metric,
        split=gate.split,
        stat=gate.stat,
        rule=rules.rule_text(gate),
        outcome=outcome,
        reason=answer.reason,
        value=value,
        threshold=rules.threshold_of(gate),
        baseline_value=before,
        delta=delta,
        compared=compared,
    )
