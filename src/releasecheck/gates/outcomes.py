"""Gates decided one by one, and the verdict over them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from releasecheck.gates import evidence, regression, rules
from releasecheck.gates.evidence import Refusal
from releasecheck.gates.outcome import Decision
from releasecheck.gates.power import gate_power, level_of
from releasecheck.gates.regression import Comparison, Level
from releasecheck.gates.subject import Subject
from releasecheck.model.scorecard import OUTCOMES, GateResult, Outcome
from releasecheck.stats import clusters_of, count, match_cases, plain, show
from releasecheck.stats.paired import holm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.gates.evidence import Shared
    from releasecheck.model.gate import Against, NoRegression
    from releasecheck.model.plan import Plan
    from releasecheck.model.table import Baseline, Indices, ScoreTable

Answer: TypeAlias = Decision | Comparison | Refusal
NEUTRAL: Final = ("pass", "bootstrap", "not_selected")
"""Outcomes that stop no release."""


@dataclass(frozen=True, slots=True)
class _Run:
    """What all gates of a run have in common."""

    table: ScoreTable
    plan: Plan
    clusters: Indices | None
    """Of the table's cases; None where each is one of its own."""
    sight: bool
    """Whether to work out what each comparison could have seen."""


def decide(
    table: ScoreTable,
    plan: Plan,
    baseline: Baseline | None,
    anchor: Baseline | None = None,
    *,
    sight: bool = True,
) -> tuple[GateResult, ...]:
    """Every gate of the plan, in its order.

    The candidate is complete, what it is compared with is there, finalized and complete, both are comparable,
    something was compared, and only then the rule: the first refusal decides and shows no difference. The
    p-values of `significant` gates are corrected for each other before any of those is decided.

    Args:
        table: Of the candidate.
        plan: Of the run.
        baseline: What it is compared with.
        anchor: And the second such run.
        sight: Whether results also say what they could have seen. It decides nothing and takes nearly all of the
            time, so whoever asks for outcomes alone, thousands of times, does without.
    """
    earlier: dict[Against, Baseline | None] = {"baseline": baseline, "anchor": anchor}
    matched = {
        side: match_cases(table.cases, () if found is None else found.table.cases)
        for side, found in earlier.items()
    }
    subjects = [Subject.of(gate, plan) for gate in plan.gates]
    run = _Run(table, plan, clusters_of([row.cluster for row in table.cases]), sight)
    answers = [
        _answer(subject, run, earlier[subject.against], matched[subject.against])
        for subject in subjects
    ]
    corrected = _corrected(answers, plan)
    waived = {waiver.gate for waiver in plan.waivers}
    return tuple(
        _result(
            subject,
            _decided(answer, corrected.get(subject.gate.id)),
            aside=_aside(subject, table),
            waived=subject.gate.id in waived,
        )
        for subject, answer in zip(subjects, answers, strict=True)
    )


def verdict(results: Sequence[GateResult], plan: Plan) -> Outcome:
    """The worst outcome; a run in which no gate was selected decided nothing and is `not_comparable`."""
    if all(result.outcome == "not_selected" for result in results):
        return "not_comparable"
    return max((result.outcome for result in results), key=OUTCOMES.index)


def overridden(results: Sequence[GateResult], plan: Plan) -> bool:
    """Whether the verdict is `block` and nothing but waivers stands between it and a release.

    What was not measured cannot be waived: one refusal beside a waived gate, and nothing is overridden.
    """
    stopping = [result for result in results if result.outcome not in NEUTRAL]
    return verdict(results, plan) == "block" and all(
        result.outcome == "block" and result.waived for result in stopping
    )


def _answer(subject: Subject, run: _Run, baseline: Baseline | None, matched: Indices) -> Answer:
    table, plan = run.table, run.plan
    candidate = evidence.measured(subject, table, plan)
    if isinstance(candidate, Refusal):
        return candidate
    gate = subject.gate
    if gate.no_regression is not None:
        pair = evidence.shared(subject, candidate, table, plan, baseline, matched)
        if isinstance(pair, Refusal):
            return pair
        level = _level(plan, gate.no_regression)
        found = regression.compare(
            subject, gate.no_regression, pair, table.cases, run.clusters, level, sight=run.sight
        )
        if isinstance(found, Refusal) or baseline is None:
            return found
        if gate.metric in baseline.rejudged:
            found = replace(found, notes=f"{found.notes}; {subject.against} judged anew")
        blind = _blind(subject, gate.no_regression, pair, table, baseline, matched, level)
        return found if blind is None else blind
    if gate.require is not None:
        return rules.require_all(subject, candidate, table.cases)
    return rules.limit(subject, candidate)


def _level(plan: Plan, rule: NoRegression) -> Level:
    """How sure a gate's test is."""
    alpha = level_of(rule, plan.gates, plan.confidence, plan.correction)
    return Level(plan.confidence, alpha, plan.seed)


def _blind(
    subject: Subject,
    rule: NoRegression,
    pair: Shared,
    table: ScoreTable,
    baseline: Baseline,
    matched: Indices,
    level: Level,
) -> Refusal | None:
    """The refusal of a gate that may not decide where it cannot see its own `max_drop`.

    Asked of the baseline alone: what a candidate answered can neither open nor close this door.
    """
    if rule.underpowered != "refuse":
        return None
    rows = matched[pair.rows]
    power = gate_power(
        subject,
        baseline.table,
        rows,
        rule,
        level.alpha,
        trials=table.trials,
        clusters=[table.cases[row].cluster for row in pair.rows.tolist()],
    )
    seen = None if power is None else power.resolvable_drop
    if seen is not None and seen <= rule.max_drop:
        return None
    sees = (
        "nor a larger one" if seen is None else f"only one of {show(seen, rule.max_drop)} at least"
    )
    return Refusal(
        "not_comparable",
        f"with {rows.size} cases and the baseline's noise no drop of {plain(rule.max_drop)} can be told from none, "
        f"{sees}; add cases or trials, allow a larger drop, or leave out `underpowered: refuse`",
    )


def _corrected(answers: Sequence[Answer], plan: Plan) -> dict[str, float]:
    """The p-value that decides, by gate, of those `significant` gates that came to a test."""
    tested = {
        answer.subject.gate.id: answer.tested.p_value
        for answer in answers
        if isinstance(answer, Comparison) and answer.rule.decide == "significant"
    }
    p_values = [value for value in tested.values() if value is not None]
    if plan.correction == "holm":
        p_values = holm(p_values)
    return dict(
        zip((gate for gate, value in tested.items() if value is not None), p_values, strict=True)
    )


def _decided(answer: Answer, p_adjusted: float | None) -> Decision | Refusal:
    if isinstance(answer, Comparison):
        return regression.decide_comparison(answer, p_adjusted)
    return answer


def _aside(subject: Subject, table: ScoreTable) -> int:
    """Cases of the gate that are in quarantine."""
    if not subject.quarantine:
        return 0
    return int((subject.selects(table.cases) & subject.quarantined(table.cases)).sum())


def _result(
    subject: Subject, answer: Decision | Refusal, *, aside: int, waived: bool
) -> GateResult:
    gate, rule = subject.gate, subject.gate.no_regression
    base = GateResult(
        id=gate.id,
        metric=gate.metric,
        split=gate.split,
        stat=gate.stat,
        rule=rules.rule_text(gate),
        outcome="blocked_missing",
        reason=answer.reason + _left_out(aside),
        threshold=rules.threshold_of(gate),
        decide=None if rule is None else rule.decide,
        against=None if rule is None else subject.against,
        quarantined=aside,
    )
    if isinstance(answer, Refusal):
        return base.model_copy(update={"outcome": answer.outcome})
    found: dict[str, object] = {
        "outcome": "pass" if answer.holds else "block",
        "value": answer.value,
        "baseline_value": answer.baseline_value,
        "delta": answer.delta,
        "compared": answer.compared,
        "p_adjusted": answer.p_adjusted,
        "new_failures": answer.new_failures,
        "new_passes": answer.new_passes,
        "waived": waived and not answer.holds,
    }
    if answer.tested is not None:
        found |= {
            "p_value": answer.tested.p_value,
            "min_detectable_drop": answer.tested.detectable,
            "drop_bound": answer.tested.bound,
            "resolvable_drop": answer.tested.resolvable,
        }
    return GateResult.model_validate({**base.model_dump(), **found})


def _left_out(aside: int) -> str:
    if aside == 0:
        return ""
    return f"; {count(aside, 'case')} in quarantine left out"
