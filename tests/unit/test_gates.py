"""Gates: the order of refusals, the rules, the verdict, and what no input may do to them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from releasecheck.gates import case_changes, decide, flips, incomplete, verdict
from releasecheck.model.gate import CaseFilter, GateSpec, NoRegression, Stat
from releasecheck.model.judge import ExactJudge, PythonJudge, SimilarityJudge, When
from releasecheck.model.scorecard import OUTCOMES, GateResult
from releasecheck.model.suite import BaselineRule
from releasecheck.model.table import FAILED, MISSING, PENDING, SCORED
from tests.unit.tables import (
    CLOSE,
    YES_NO,
    Cell,
    Cells,
    baseline_of,
    pinned,
    plan_for,
    score_table,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from releasecheck.model.judge import Judge
    from releasecheck.model.plan import Mode
    from releasecheck.model.scorecard import Outcome
    from releasecheck.model.table import Baseline, ScoreTable

AT_LEAST = GateSpec(id="quality", metric="exact", min=0.5)
SMOKE = GateSpec(id="smoke", metric="exact", require="all")
NO_WORSE = GateSpec(id="no-worse", metric="exact", no_regression=NoRegression(max_drop=0.1))
BOOTSTRAP = BaselineRule(on_missing="bootstrap")


def one(
    gate: GateSpec,
    table: ScoreTable,
    baseline: Baseline | None = None,
    *,
    judges: Sequence[Judge] = (YES_NO, CLOSE),
    mode: Mode = "full",
    rule: BaselineRule | None = None,
) -> GateResult:
    """Decide a single gate."""
    plan = plan_for(table, gate, judges=judges, mode=mode, baseline_rule=rule)
    (result,) = decide(table, plan, baseline)
    return result


def refused(result: GateResult, outcome: Outcome, *words: str) -> None:
    """A refusal of that kind, which shows no difference and names what it should."""
    assert result.outcome == outcome
    numbers = (result.delta, result.baseline_value, result.value, result.compared)
    assert numbers == (None, None, None, None)
    for word in words:
        assert word in result.reason
    assert "\n" not in result.reason


# -- min and max


@pytest.mark.parametrize(
    ("scores", "gate", "outcome"),
    [
        ([0.7, 0.8, 0.9], {"min": 0.8}, "pass"), ([0.7, 0.7, 0.7], {"min": 0.7}, "pass"),
        ([0.7, 0.8, 0.9], {"max": 0.8}, "pass"), ([0.7, 0.8, 0.9], {"min": 0.8000000000000002}, "block"),
        ([0.7, 0.8, 0.8999999999999999], {"min": 0.8}, "block"),
        ([0.1, 0.2], {"min": 0.15000000000000002}, "block"), ([0.1, 0.2], {"max": 0.15}, "pass"),
        # A mean 1e-17 below: the nearest float to it is 0.8 itself.
        ([0.8] * 9 + [0.7999999999999999], {"min": 0.8}, "block"),
        ([0.8] * 9 + [0.8000000000000002], {"max": 0.8}, "block"),
        ([0.1, 0.9], {"stat": "min", "min": 0.1}, "pass"),
        ([0.1, 0.9], {"stat": "max", "max": 0.8}, "block"),
        ([0.1, 0.2], {"stat": "sum", "max": 0.3}, "pass"),
        ([-0.0, 0.0], {"min": 0.0}, "pass"), ([0.0], {"min": -0.0}, "pass"),
    ],
)  # fmt: skip
def test_decide__limits_are_exact(
    scores: list[Cell], gate: dict[str, float], outcome: Outcome
) -> None:
    """B89, contract 6: no tolerance in either direction."""
    result = one(GateSpec(id="g", metric="close", **gate), score_table({"close": scores}))  # type: ignore[arg-type]
    assert result.outcome == outcome
    assert result.compared == len(scores)


def test_decide__limit_reasons_hold_the_numbers() -> None:
    """B88: shown numbers do not cross the threshold."""
    table = score_table({"exact": [1] * 2499 + [0]})
    result = one(GateSpec(id="g", metric="exact", min=1.0), table)
    assert (result.outcome, result.value, result.threshold) == ("block", 0.9996, 1.0)
    assert result.reason == "mean 0.9996 over 2,500 cases is below 1"
    assert result.rule == "mean >= 1"
    result = one(GateSpec(id="g", metric="exact", min=0.9996), table)
    assert (result.outcome, result.delta) == ("pass", None)
    assert result.reason == "mean 0.9996 over 2,500 cases is at least 0.9996"
    result = one(GateSpec(id="g", metric="exact", max=0.9), table)
    assert (result.rule, result.threshold) == ("mean <= 0.9", 0.9)
    assert result.reason == "mean 0.9996 over 2,500 cases is above 0.9"


def test_decide__a_value_beyond_floats_is_decided_all_the_same() -> None:
    table = score_table({"exact": [1, 1]}, cost_usd=[1.7e308, 1.7e308])
    result = one(GateSpec(id="g", metric="cost_usd", stat="sum", max=5.0), table)
    assert (result.outcome, result.value) == ("block", None)


def test_decide__latency_gates_refuse_when_calls_failed() -> None:
    """30 % time-outs: the survivors are not judged."""
    table = score_table(
        {"exact": [1] * 7 + ["target_failed"] * 3}, latency_ms=[10] * 7 + ["none"] * 3
    )
    gate = GateSpec(id="fast", metric="latency_ms", stat="p95", max=2000)
    refused(one(gate, table), "blocked_missing", "3 of 10 cases have no latency_ms (3 failed)")
    costs = GateSpec(id="cheap", metric="cost_usd", stat="sum", max=1)
    refused(one(costs, table), "blocked_missing", "10 of 10 cases", "(3 failed, 7 not reported)")
    errors = GateSpec(id="up", metric="target_errors", stat="sum", max=2)
    assert one(errors, table).outcome == "block"
    lost = score_table({"exact": [1, "no_output"]})
    refused(one(errors, lost), "blocked_missing", "1 of 2 cases has no target_errors (1 missing)")


# -- completeness of the candidate


@pytest.mark.parametrize(
    "gate", [AT_LEAST, SMOKE, NO_WORSE, GateSpec(id="g", metric="exact", max=1)]
)
@pytest.mark.parametrize("cell", ["missing", "failed", "pending", "target_failed", "no_output"])
def test_decide__one_score_less_and_no_gate_decides(gate: GateSpec, cell: str) -> None:
    """S1-09, S1-22, G-08, B62: refused with the count, never averaged over what arrived."""
    before = baseline_of(score_table({"exact": [1] * 84}))
    result = one(gate, score_table({"exact": [1] * 83 + [cell]}), before)
    refused(result, "blocked_missing", "1 of 84 cases has no score (1 ")


def test_decide__says_why_scores_are_missing() -> None:
    """S1-43: counts by reason, and whether the target was to blame."""
    table = score_table({"exact": [1, "failed", "target_failed", "missing", "pending", "na"]})
    result = one(AT_LEAST, table)
    assert result.reason == (
        "4 of 5 cases have no score (2 failed, 1 missing, 1 pending); "
        "in 1 of them the target itself failed"
    )


def test_decide__a_case_with_an_unscored_trial_is_incomplete() -> None:
    table = score_table({"exact": [[1, 1, "failed"], [1, "missing", "failed"], [1, 1, 1]]})
    refused(one(SMOKE, table), "blocked_missing", "2 of 3 cases have no score (2 failed)")


def test_decide__incompleteness_elsewhere_does_not_matter() -> None:
    """S1-48: a gate looks at its own cases and its own judge."""
    table = score_table(
        {"exact": [1, 0, "missing"], "close": ["failed", 0.4, 0.5]},
        splits=["main", "main", "hard"],
        tags={"q1": ["smoke", "x"]},
    )
    assert one(AT_LEAST.model_copy(update={"split": "main"}), table).outcome == "pass"
    assert one(AT_LEAST.model_copy(update={"split": "hard"}), table).outcome == "blocked_missing"
    tagged = SMOKE.model_copy(update={"cases": CaseFilter(tags=("smoke",))})
    assert one(tagged, table).outcome == "pass"
    named = SMOKE.model_copy(update={"cases": CaseFilter(ids=("q1", "q2"))})
    assert one(named, table).outcome == "block"
    neither = SMOKE.model_copy(update={"split": "hard", "cases": CaseFilter(ids=("q1",))})
    assert one(neither, table).outcome == "blocked_missing"


@pytest.mark.parametrize(
    "gate", [AT_LEAST, SMOKE, NO_WORSE, GateSpec(id="g", metric="exact", max=1)]
)
def test_decide__zero_pairs_never_pass(gate: GateSpec) -> None:
    """G-07, G-10, B70: a judge that is not applicable to anything measured nothing."""
    before = baseline_of(score_table({"exact": [1, 1]}))
    for mode in ("full", "preview", "delta"):
        result = one(gate, score_table({"exact": ["na", "na"]}), before, mode=mode)
        refused(result, "blocked_missing", "not applicable to any of 2 cases")
        absent = gate.model_copy(update={"split": "absent"})
        result = one(absent, score_table({"exact": [1, 1]}), before, mode=mode)
        refused(result, "blocked_missing" if mode == "full" else "not_selected", mode, "none of")
    assert one(gate, score_table({"exact": []})).outcome == "blocked_missing"


def test_decide__a_preview_without_a_judge_s_cases_is_not_selected() -> None:
    """`when` is part of what makes a case a gate's; what the judge itself turned down is not."""
    judge = ExactJudge(id="exact", type="exact", when=When(tags=("math",), split="main"))
    table = score_table({"exact": ["na", "na"]}, tags={"q1": ["prose"]}, judges=[judge])
    result = one(AT_LEAST, table, judges=[judge], mode="preview")
    refused(result, "not_selected", "no case that judge exact applies to")
    refused(one(AT_LEAST, table, judges=[judge]), "blocked_missing")
    tagged = score_table({"exact": ["na", "na"]}, tags={"q1": ["math"]}, judges=[judge])
    refused(one(AT_LEAST, tagged, judges=[judge], mode="preview"), "blocked_missing")


def test_decide__a_metric_nobody_measures_is_a_defect() -> None:
    table = score_table({"exact": [1]})
    with pytest.raises(ValueError, match="neither a judge nor a built-in"):
        one(GateSpec(id="g", metric="absent", min=0), table)
    plan = plan_for(table, AT_LEAST)
    with pytest.raises(ValueError, match="no judge exact"):
        decide(score_table({"close": [1]}), plan, None)


# -- require


def test_decide__require_all_names_the_failing_cases() -> None:
    table = score_table({"exact": [1] * 5 + [0] * 7})
    result = one(SMOKE, table)
    assert (result.outcome, result.rule, result.threshold) == ("block", "every case passes", None)
    assert result.reason == "7 of 12 cases fail: 'q6', 'q7', 'q8', 'q9', 'q10' and 2 more"
    assert result.value == 5 / 12
    result = one(SMOKE, score_table({"exact": [1, 1, "na"]}))
    assert (result.outcome, result.reason, result.compared) == ("pass", "all 2 cases pass", 2)
    assert one(SMOKE, score_table({"exact": [1]})).reason == "the only case passes"


def test_decide__names_of_cases_are_made_safe() -> None:
    """Ids come from a dataset: no control characters, no flood."""
    hostile = ["a\nINJECTED \x1b[31m\u202e", "x" * 5000]
    reason = one(SMOKE, score_table({"exact": [0, 0]}, ids=hostile)).reason
    assert reason.isprintable()
    assert "\\n" in reason
    assert len(reason) < 250


@pytest.mark.parametrize(
    ("rule", "cells", "outcome"),
    [
        ("majority", [[1, 1, 0]], "pass"), ("all", [[1, 1, 0]], "block"), ("any", [[0, 0, 1]], "pass"),
        ("2-of-3", [[1, 0, 0]], "block"), ("2-of-3", [[1, 1, 0]], "pass"),
    ],
)  # fmt: skip
def test_decide__require_all_follows_the_pass_rule(
    rule: str, cells: Cells, outcome: Outcome
) -> None:
    judge = ExactJudge(id="exact", type="exact", pass_rule=rule)
    table = score_table({"exact": cells}, judges=[judge])
    assert one(SMOKE, table, judges=[judge]).outcome == outcome


def test_decide__too_few_scored_trials_are_no_verdict() -> None:
    judge = ExactJudge(id="exact", type="exact", pass_rule="2-of-3")  # noqa: S106
    table = score_table({"exact": [[1, "na", "na"], [1, 1, 1]]}, judges=[judge])
    refused(
        one(SMOKE, table, judges=[judge]), "blocked_missing", "1 of 2 cases has too few", "2-of-3"
    )


@pytest.mark.parametrize(
    "gate",
    [
        GateSpec(id="g", metric="close", require="all"),
        GateSpec(id="g", metric="close", stat="pass_rate", min=0.5),
        GateSpec(id="g", metric="close", no_regression=NoRegression(max_new_failures=1)),
        GateSpec(id="g", metric="target_errors", require="all"),
    ],
)
def test_decide__no_pass_mark_is_no_verdict(gate: GateSpec) -> None:
    table = score_table({"close": [0.5, 0.9]})
    refused(one(gate, table, baseline_of(table)), "blocked_missing", "no `pass_at`")


# -- failures of the target that count


def counting(gate: GateSpec) -> GateSpec:
    return gate.model_copy(update={"on_target_failure": "count_as_fail"})


def test_decide__target_failures_count_as_the_worst_value() -> None:
    """Contract 3: only where the gate says so, and only failures of the target."""
    table = score_table({"exact": [1, 1, 1, "target_failed"]})
    result = one(counting(AT_LEAST), table)
    assert (result.outcome, result.value, result.compared) == ("pass", 0.75, 4)
    assert one(counting(SMOKE), table).reason == "1 of 4 cases fails: 'q4'"
    judge_failed = score_table({"exact": [1, 1, 1, "failed", "no_output"]})
    refused(one(counting(AT_LEAST), judge_failed), "blocked_missing", "(1 failed, 1 missing)")
    badness = SimilarityJudge(id="close", type="similarity", better="lower")
    table = score_table({"close": [0.0, "target_failed"]}, judges=[badness])
    gate = counting(GateSpec(id="g", metric="close", max=0.4))
    result = one(gate, table, judges=[badness])
    assert (result.outcome, result.value) == ("block", 0.5)


def test_decide__an_unknown_worst_value_cannot_count() -> None:
    scale = PythonJudge(id="tone", type="python", function="m:f", pass_at=3)
    table = score_table({"tone": [4, "target_failed"]}, judges=[scale])
    gate = counting(GateSpec(id="g", metric="tone", min=1))
    refused(one(gate, table, judges=[scale]), "blocked_missing", "worst value of tone is not known")
    gate = counting(GateSpec(id="g", metric="tone", require="all"))
    assert one(gate, table, judges=[scale]).outcome == "block"
    latency = counting(GateSpec(id="g", metric="latency_ms", max=1))
    refused(one(latency, table, judges=[scale]), "blocked_missing", "worst value of latency_ms")


def test_decide__the_worst_value_of_a_scale_counts() -> None:
    scale = PythonJudge(id="tone", type="python", function="m:f", scale=(1.0, 5.0))
    table = score_table({"tone": [5, "target_failed"]}, judges=[scale])
    gate = counting(GateSpec(id="g", metric="tone", min=3))
    assert one(gate, table, judges=[scale]).value == 3.0


@pytest.mark.parametrize(
    ("better", "gate"),
    [
        ("higher", GateSpec(id="g", metric="close", max=0.1)),
        ("higher", GateSpec(id="g", metric="close", stat="p95", max=0.1)),
        ("higher", GateSpec(id="g", metric="close", stat="pass_rate", max=0.1)),
        ("lower", GateSpec(id="g", metric="close", min=0.9)),
        ("lower", GateSpec(id="g", metric="close", stat="pass_rate", max=0.1)),
    ],
)
def test_decide__a_target_failure_never_counts_in_favour_of_a_gate(
    better: Literal["higher", "lower"], gate: GateSpec
) -> None:
    """Whatever a plan says: a target that never answers has passed nothing."""
    judge = SimilarityJudge(id="close", type="similarity", better=better, pass_at=0.5)
    table = score_table({"close": ["target_failed", "target_failed"]}, judges=[judge])
    refused(
        one(counting(gate), table, judges=[judge]), "blocked_missing", "would count in its favour"
    )


def test_decide__target_failures_count_on_both_sides() -> None:
    """One metric, one definition: a baseline's failures count too; its other gaps refuse."""
    now, then = score_table({"exact": [1, "target_failed"]}), score_table(
        {"exact": ["target_failed", "target_failed"]}
    )  # fmt: skip
    result = one(counting(NO_WORSE), now, baseline_of(then))
    assert (result.outcome, result.value, result.baseline_value) == ("pass", 0.5, 0.0)
    refused(one(NO_WORSE, now, baseline_of(then)), "blocked_missing")
    full = score_table({"exact": [1, 1]})
    refused(one(NO_WORSE, full, baseline_of(then)), "blocked_missing", "its baseline")
    gate = counting(
        GateSpec(id="g", metric="exact", no_regression=NoRegression(max_drop=1, max_new_failures=0))
    )
    result = one(gate, now, baseline_of(full))
    assert (result.outcome, result.delta) == ("block", -0.5)
    assert "1 new failure, at most 0 allowed: 'q2'" in result.reason


# -- no regression: the order of refusals


def test_decide__without_a_baseline_nothing_is_compared() -> None:
    """S1-16, G-04, B80."""
    table = score_table({"exact": [1, 1]})
    refused(one(NO_WORSE, table), "not_comparable", "no baseline")
    refused(one(NO_WORSE, table, rule=BOOTSTRAP), "bootstrap", "nothing was compared")


def test_decide__bootstrap_is_for_no_baseline_alone() -> None:
    """A baseline that the plan names and that is gone is not a first run."""
    table = score_table({"exact": [1, 1]})
    plan = plan_for(table, NO_WORSE, baseline_rule=BOOTSTRAP, pin=pinned(baseline_of(table)))
    refused(decide(table, plan, None)[0], "not_comparable", "is not there")


@pytest.mark.parametrize("rule", [BaselineRule(), BOOTSTRAP])
def test_decide__a_broken_baseline_refuses(rule: BaselineRule) -> None:
    table = score_table({"exact": [1] * 10})
    open_run = baseline_of(table, finalized=False)
    refused(one(NO_WORSE, table, open_run, rule=rule), "not_comparable", "not finalized")
    for cell in ("missing", "failed", "pending", "target_failed", "no_output"):
        holes = baseline_of(score_table({"exact": [1] * 8 + [cell, cell]}))
        result = one(NO_WORSE, table, holes, rule=rule)
        refused(
            result, "blocked_missing", "its baseline is incomplete: 2 of 10 cases have no score"
        )
    nothing = baseline_of(score_table({"exact": []}))
    refused(one(NO_WORSE, table, nothing, rule=rule), "not_comparable", "no case")


def test_decide__another_judge_is_not_comparable() -> None:
    """X-25: another yardstick, named."""
    table = score_table({"exact": [1, 1]})
    other = ExactJudge(id="exact", type="exact", normalize=("casefold",))
    changed = baseline_of(table, judges=[other])
    refused(one(NO_WORSE, table, changed), "not_comparable", "judge exact is not the one")
    unrecorded = replace(baseline_of(table), judge_digests={})
    refused(one(NO_WORSE, table, unrecorded), "not_comparable", "not recorded")
    absent = baseline_of(score_table({"close": [1, 1]}))
    refused(one(NO_WORSE, table, absent), "not_comparable", "no judge exact")


def test_decide__the_first_refusal_wins() -> None:
    """Contract 6: one fixed order; each repair uncovers the next refusal."""
    other = ExactJudge(id="exact", type="exact", normalize=("casefold",))
    holes, full = score_table({"exact": [1, "missing"]}), score_table({"exact": [1, 1]})
    foreign_ids = score_table({"exact": [1, 1]}, ids=["x", "y"])
    seen = [
        one(NO_WORSE, holes, baseline_of(holes, judges=[other], finalized=False)).reason,
        one(NO_WORSE, full, None).reason,
        one(NO_WORSE, full, baseline_of(holes, judges=[other], finalized=False)).reason,
        one(NO_WORSE, full, baseline_of(holes, judges=[other])).reason,
        one(NO_WORSE, full, baseline_of(foreign_ids, judges=[other])).reason,
        one(NO_WORSE, full, baseline_of(foreign_ids)).reason,
        one(NO_WORSE, full, baseline_of(score_table({"exact": ["na", "na"]}))).reason,
        one(NO_WORSE, full, baseline_of(full)).reason,
    ]
    expected = [
        "1 of 2 cases", "there is no baseline", "not finalized", "its baseline is incomplete",
        "judge exact is not", "only 0 of the baseline's 2 scored cases", "no case with the same",
        "mean 1 against 1",
    ]  # fmt: skip
    assert [want in reason for want, reason in zip(expected, seen, strict=True)] == [True] * 8


# -- no regression: which cases are compared


@pytest.mark.parametrize(("shared", "outcome"), [(9, "pass"), (8, "not_comparable")])
def test_decide__overlap_is_a_share_of_the_baseline_s_scored_cases(
    shared: int, outcome: Outcome
) -> None:
    """X-21; exactly the least share is enough."""
    ids = [f"q{i}" for i in range(10)]
    before = baseline_of(score_table({"exact": [1] * 10}, ids=ids))
    edited = dict.fromkeys(ids[shared:], "edited")
    table = score_table({"exact": [1] * 10}, ids=ids, contents=edited)
    assert one(NO_WORSE, table, before).outcome == outcome
    new = score_table({"exact": [1] * (shared + 50)}, ids=[*ids[:shared], *map(str, range(50))])
    result = one(NO_WORSE, new, before)
    assert result.outcome == outcome
    if outcome == "pass":
        assert result.compared == shared
    else:
        refused(result, outcome, "only 8 of the baseline's 10 scored cases", "at least 0.9")


def test_decide__overlap_counts_what_left_the_split() -> None:
    """Moving hard cases elsewhere, and easy ones in, is lost coverage."""
    ids = [f"q{i}" for i in range(20)]
    before = score_table({"exact": [1] * 20}, ids=ids, splits=["hard"] * 10 + ["easy"] * 10)
    table = score_table(
        {"exact": [0] * 8 + [1] * 12}, ids=ids, splits=["easy"] * 8 + ["hard"] * 10 + ["easy"] * 2
    )
    gate = NO_WORSE.model_copy(update={"split": "hard"})
    result = one(gate, table, baseline_of(before))
    refused(result, "not_comparable", "only 10 of the baseline's 18 scored cases")
    renamed = score_table({"exact": [1] * 20}, ids=ids, splits=["core"] * 10 + ["easy"] * 10)
    gate = NO_WORSE.model_copy(update={"split": "core"})
    assert one(gate, renamed, baseline_of(before)).compared == 10


def test_decide__renamed_cases_are_compared() -> None:
    before = score_table({"exact": [1, 1]}, ids=["a", "b"])
    table = score_table({"exact": [1, 0]}, ids=["a", "new-b"], contents={"new-b": "b"})
    result = one(NO_WORSE, table, baseline_of(before))
    assert (result.outcome, result.compared, result.delta) == ("block", 2, -0.5)


def test_decide__not_applicable_now_is_coverage_loss_and_named() -> None:
    """G-10: a judge cannot mark a hard case away."""
    before = baseline_of(score_table({"exact": [0] + [1] * 19}))
    result = one(NO_WORSE, score_table({"exact": ["na"] + [1] * 19}), before)
    assert (result.outcome, result.compared, result.baseline_value) == ("pass", 19, 1.0)
    assert "1 case scored in the baseline is not applicable now: 'q1'" in result.reason
    result = one(NO_WORSE, score_table({"exact": ["na"] * 3 + [1] * 17}), before)
    refused(result, "not_comparable", "3 cases scored in the baseline are not applicable now")
    other_way = baseline_of(score_table({"exact": ["na"] + [1] * 19}))
    assert one(NO_WORSE, score_table({"exact": [0] + [1] * 19}), other_way).compared == 19


@pytest.mark.parametrize("mode", ["preview", "delta"])
def test_decide__a_partial_plan_needs_its_own_cases(mode: Mode) -> None:
    """Contract 6: of the planned cases, where the plan is partial."""
    before = baseline_of(score_table({"exact": [1] * 100}))
    table = score_table({"exact": [1] * 10}, ids=[f"q{i}" for i in range(5, 15)])
    assert one(NO_WORSE, table, before, mode=mode).compared == 10
    assert one(NO_WORSE, table, before).outcome == "not_comparable"
    edited = {f"q{i}": "edited" for i in range(5, 7)}
    table = score_table({"exact": [1] * 10}, ids=[f"q{i}" for i in range(5, 15)], contents=edited)
    result = one(NO_WORSE, table, before, mode=mode)
    refused(result, "not_comparable", "only 8 of the 10 planned cases")


def test_decide__cases_the_judge_never_applied_to_are_not_missed() -> None:
    before = score_table({"exact": [1, 1, "na", "na", "na"]})
    table = score_table({"exact": [1, 1, "na", "na", "na"]})
    for mode in ("full", "preview"):
        assert one(NO_WORSE, table, baseline_of(before), mode=mode).compared == 2


def test_decide__tags_of_a_gate_select_by_the_candidate_s_cases() -> None:
    """Results do not carry tags: a baseline's case is a gate's because its partner is."""
    tags = {"q1": ["smoke"], "q2": ["smoke"]}
    gate = NO_WORSE.model_copy(update={"cases": CaseFilter(tags=("smoke",))})
    table = score_table({"exact": [1, 1, 1]}, tags=tags)
    assert one(gate, table, baseline_of(score_table({"exact": [1, 1, "failed"]}))).compared == 2
    holes = baseline_of(score_table({"exact": [1, "failed", 1]}))
    refused(one(gate, table, holes), "blocked_missing", "its baseline")


# -- no regression: the rule


@pytest.mark.parametrize(
    ("now", "before", "drop", "outcome"),
    [
        ([0.94], [0.95], 0.01, "pass"), ([0.88], [0.90], 0.02, "pass"),
        ([0.8799999999999999], [0.90], 0.02, "block"),
        ([0.88] * 99 + [0.8799999999999999], [0.9] * 100, 0.02, "block"), ([0.9], [0.9], 0.0, "pass"),
        ([0.8999999999999999], [0.9], 0.0, "block"), ([1.0], [0.0], 0.0, "pass"),
        ([0.0], [0.0], 0.0, "pass"), ([-0.0], [0.0], 0.0, "pass"),
    ],
)  # fmt: skip
def test_decide__drops_are_exact(now: Cells, before: Cells, drop: float, outcome: Outcome) -> None:
    """B82, B89: absolute differences, exact at the limit."""
    gate = GateSpec(id="g", metric="close", no_regression=NoRegression(max_drop=drop))
    result = one(gate, score_table({"close": now}), baseline_of(score_table({"close": before})))
    assert result.outcome == outcome
    assert str(result.delta) != "-0.0"


def test_decide__no_regression_shows_its_numbers() -> None:
    before = baseline_of(score_table({"exact": [1] * 10}))
    result = one(NO_WORSE, score_table({"exact": [1] * 8 + [0] * 2}), before)
    assert (result.outcome, result.value, result.baseline_value) == ("block", 0.8, 1.0)
    assert (result.delta, result.threshold, result.compared) == (-0.2, 0.1, 10)
    assert result.rule == "no regression beyond 0.1"
    assert result.reason == (
        "mean 0.8 against 1 in the baseline, over 10 shared cases: "
        "a drop of 0.2, more than the 0.1 allowed"
    )
    result = one(NO_WORSE, score_table({"exact": [1] * 9 + [0]}), before)
    assert result.reason.endswith("a drop of 0.1, within the 0.1 allowed")
    assert one(NO_WORSE, score_table({"exact": [1] * 10}), before).reason.endswith("no change")


def test_decide__direction_is_declared_not_guessed() -> None:
    """B86, X-23: built-ins and `better: lower` regress upwards."""
    badness = SimilarityJudge(id="close", type="similarity", better="lower")
    gate = GateSpec(id="g", metric="close", no_regression=NoRegression(max_drop=0.1))
    low, high = (score_table({"close": [v, v]}, judges=[badness]) for v in (0.1, 0.5))
    worse = one(gate, high, baseline_of(low, judges=[badness]), judges=[badness])
    assert (worse.outcome, worse.delta) == ("block", 0.4)
    assert "a rise of 0.4, more than the 0.1 allowed" in worse.reason
    better = one(gate, low, baseline_of(high, judges=[badness]), judges=[badness])
    assert (better.outcome, better.delta) == ("pass", -0.4)
    assert "an improvement of 0.4" in better.reason
    for metric in ("latency_ms", "cost_usd"):
        fast, slow = (
            score_table({"exact": [1, 1]}, **{metric: [v, v]})  # type: ignore[arg-type]
            for v in (1.0, 2.0)
        )
        gate = GateSpec(id="g", metric=metric, no_regression=NoRegression(max_drop=0.5))
        assert one(gate, slow, baseline_of(fast)).outcome == "block"
        assert one(gate, fast, baseline_of(slow)).outcome == "pass"


def test_decide__new_failures_are_bounded_beside_the_mean() -> None:
    """B85, X-23: the mean stays level while cases break and others heal."""
    before = baseline_of(score_table({"exact": [1] * 6 + [0] * 4 + [1] * 8 + [0] * 2}))
    table = score_table({"exact": [1] * 10 + [1] * 4 + [0] * 6})
    assert one(NO_WORSE, table, before).outcome == "pass"
    gate = GateSpec(id="g", metric="exact", no_regression=NoRegression(max_new_failures=3))
    result = one(gate, table, before)
    assert (result.outcome, result.delta) == ("block", 0.0)
    assert result.rule == "no regression beyond 0, at most 3 new failures"
    assert "4 new failures, at most 3 allowed: 'q15', 'q16', 'q17', 'q18'" in result.reason
    gate = GateSpec(id="g", metric="exact", no_regression=NoRegression(max_new_failures=4))
    assert one(gate, table, before).outcome == "pass"


@pytest.mark.parametrize(
    ("stat", "now", "before", "delta"),
    [
        ("min", [0.2, 0.9], [0.3, 0.5], -0.1), ("max", [0.2, 0.9], [0.3, 0.5], 0.4),
        ("sum", [0.2, 0.9], [0.3, 0.5], 0.3), ("p50", [0.2, 0.9], [0.3, 0.5], -0.1),
        ("pass_rate", [0.2, 0.9], [0.6, 0.7], -0.5),
    ],
)  # fmt: skip
def test_decide__any_statistic_is_recomputed_over_shared_cases(
    stat: Stat, now: list[Cell], before: list[Cell], delta: float
) -> None:
    judge = SimilarityJudge(id="close", type="similarity", pass_at=0.6)
    table = score_table({"close": [*now, 0.0]}, ids=["a", "b", "new"], judges=[judge])
    then = baseline_of(
        score_table({"close": before}, ids=["a", "b"], judges=[judge]), judges=[judge]
    )
    gate = GateSpec(id="g", metric="close", stat=stat, no_regression=NoRegression(max_drop=9))
    result = one(gate, table, then, judges=[judge])
    assert (result.outcome, result.delta, result.compared) == ("pass", delta, 2)


def test_decide__unequal_numbers_of_trials_compare() -> None:
    """Contract 6: trials averaged per case first."""
    many = score_table({"close": [[0.5, 0.7, 0.9], [0.1, 0.2, 0.3]]})
    table = score_table({"close": [0.7, 0.2]})
    for stat in ("mean", "sum", "min", "max", "p95"):
        gate = GateSpec(id="g", metric="close", stat=stat, no_regression=NoRegression())
        for now, then in ((table, many), (many, table)):
            result = one(gate, now, baseline_of(then))
            assert (result.outcome, result.delta) == ("pass", 0.0)


def test_decide__each_side_by_its_own_stored_verdicts() -> None:
    """X-23: what passed in the baseline is what it recorded, not what today's code would say."""
    table = score_table({"exact": [1, 0]})
    then = score_table({"exact": [1, 0]})
    stored = replace(then, passed=np.ones_like(then.passed))
    gate = GateSpec(id="g", metric="exact", no_regression=NoRegression(max_new_failures=0))
    result = one(gate, table, baseline_of(stored))
    assert result.outcome == "block"
    assert "1 new failure, at most 0 allowed: 'q2'" in result.reason


def test_decide__a_baseline_verdict_that_cannot_be_had_refuses() -> None:
    judge = ExactJudge(id="exact", type="exact", pass_rule="2-of-3")  # noqa: S106
    table = score_table({"exact": [[1, 1, 1]]}, judges=[judge])
    then = baseline_of(score_table({"exact": [1]}, judges=[judge]), judges=[judge])
    gate = GateSpec(id="g", metric="exact", no_regression=NoRegression(max_new_failures=0))
    refused(one(gate, table, then, judges=[judge]), "blocked_missing", "its baseline", "2-of-3")


# -- verdict


def result_of(outcome: Outcome) -> GateResult:
    compared = 1 if outcome == "pass" else None
    return GateResult(
        id="g", metric="m", split="all", stat="mean", rule="", outcome=outcome, reason="",
        compared=compared,
    )  # fmt: skip


@given(st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=6))
def test_verdict__is_the_worst_outcome(outcomes: list[Outcome]) -> None:
    table = score_table({"exact": [1]})
    plan = plan_for(table, AT_LEAST, mode="preview")
    found = verdict([result_of(outcome) for outcome in outcomes], plan)
    if set(outcomes) == {"not_selected"}:
        assert found == "not_comparable"
    else:
        assert found == max(outcomes, key=OUTCOMES.index)


def test_verdict__of_no_gate_is_no_pass() -> None:
    """G-07."""
    assert verdict([], plan_for(score_table({"exact": [1]}))) == "not_comparable"


def test_gate_result__a_pass_without_a_comparison_cannot_be_made() -> None:
    """Requirements 9.6."""
    with pytest.raises(ValueError, match="a pass needs"):
        result_of("bootstrap").model_copy().model_validate(
            {**result_of("bootstrap").model_dump(), "outcome": "pass"}
        )


# -- flips, changes of the dataset, what is incomplete


def test_flips__names_cases_both_ways_for_gated_judges() -> None:
    before = baseline_of(
        score_table({"exact": [1, 0, 1, 1, 1, 0], "close": [0.5] * 6}), judges=(YES_NO, CLOSE)
    )
    table = score_table({"exact": [0, 1, 1, "failed", "na", 0], "close": [0.1] * 6})
    plan = plan_for(table, AT_LEAST, NO_WORSE)
    found = flips(table, plan, before)
    assert list(found) == ["exact"]
    assert (found["exact"].new_failures, found["exact"].new_passes) == (("q1",), ("q2",))
    ungated = flips(table, plan_for(table), before)
    assert ungated == {}


def test_flips__only_of_the_same_judge_and_the_same_content() -> None:
    then = score_table({"exact": [1, 1]}, ids=["a", "b"])
    table = score_table({"exact": [0, 0]}, ids=["a", "c"], contents={"a": "edited", "c": "b"})
    plan = plan_for(table, AT_LEAST)
    assert flips(table, plan, baseline_of(then))["exact"].new_failures == ("c",)
    assert flips(table, plan, None) == {}
    assert flips(table, plan, baseline_of(then, finalized=False)) == {}
    other = ExactJudge(id="exact", type="exact", normalize=("strip",))
    assert flips(table, plan, baseline_of(then, judges=[other])) == {}


def test_case_changes__counts_the_dataset() -> None:
    before = baseline_of(score_table({"exact": [1] * 4}, ids=["same", "edited", "gone", "old"]))
    table = score_table(
        {"exact": [1] * 4},
        ids=["same", "edited", "renamed", "new"],
        contents={"edited": "other", "renamed": "old"},
    )
    found = case_changes(table, before)
    assert found.same == 1
    assert (found.changed, found.added, found.removed) == (("edited",), ("new",), ("gone",))
    assert found.renamed == (("old", "renamed"),)
    assert case_changes(table, before, partial=True).removed == ()


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("uvwxyz")),
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("uvwxyz")),
)
def test_case_changes__every_case_is_counted_once(
    now: Mapping[str, str], before: Mapping[str, str]
) -> None:
    table = score_table({"exact": [1] * len(now)}, ids=list(now), contents=now)
    then = score_table({"exact": [1] * len(before)}, ids=list(before), contents=before)
    found = case_changes(table, baseline_of(then))
    here = found.same + len(found.changed) + len(found.added) + len(found.renamed)
    there = found.same + len(found.changed) + len(found.removed) + len(found.renamed)
    assert (here, there) == (len(now), len(before))


def test_incomplete__names_the_judge_and_the_count() -> None:
    """S1-06, S1-43, S1-49: the sentence of the contract."""
    table = score_table(
        {"exact": [1] * 64 + ["failed"] * 12 + ["missing"] * 8, "close": [1] * 83 + ["pending"]}
    )
    (found,) = incomplete(table, plan_for(table))
    assert (found.judge, found.missing, found.failed, found.expected) == ("exact", 8, 12, 84)
    assert found.message == "no score from judge:exact for 20 of 84 cases"


def test_incomplete__counts_cases_not_trials() -> None:
    table = score_table(
        {"exact": [[1, "failed", "missing"], [1, "missing", 1], ["na", "na", "na"]]}
    )
    (found,) = incomplete(table, plan_for(table))
    assert (found.missing, found.failed, found.expected) == (1, 1, 2)
    assert (
        incomplete(score_table({"exact": [1, "na"]}), plan_for(score_table({"exact": [1, "na"]})))
        == ()
    )


# -- what holds for any table

scored = st.sampled_from([1.0, 0.0, 0.25, 0.7, 0.9, -0.0])
some_cells = st.one_of(
    scored, st.sampled_from(["na", "missing", "failed", "pending", "target_failed"])
)
GATED = SimilarityJudge(id="close", type="similarity", pass_at=0.7)
limits = st.sampled_from([0.0, 0.25, 0.5, 0.7, 1.0])
stats: st.SearchStrategy[Stat] = st.sampled_from(get_args(Stat))


@st.composite
def any_gates(draw: st.DrawFn) -> GateSpec:
    kind = draw(st.sampled_from(["min", "max", "require", "no_regression"]))
    rule: dict[str, object] = {"min": draw(limits)}
    if kind == "max":
        rule = {"max": draw(limits)}
    elif kind == "require":
        rule = {"require": "all"}
    elif kind == "no_regression":
        most = draw(st.sampled_from([None, 0, 1]))
        rule = {"no_regression": NoRegression(max_drop=draw(limits), max_new_failures=most)}
    return GateSpec(
        id="g",
        metric="close",
        stat=draw(stats),
        split=draw(st.sampled_from(["all", "main", "hard"])),
        on_target_failure=draw(st.sampled_from(["refuse", "count_as_fail"])),
        **rule,  # type: ignore[arg-type]
    )


@st.composite
def any_tables(draw: st.DrawFn, cells: st.SearchStrategy[Cell] = some_cells) -> ScoreTable:
    trials = draw(st.integers(1, 3))
    count = draw(st.integers(1, 6))
    case = st.lists(cells, min_size=trials, max_size=trials)
    return score_table(
        {"close": draw(st.lists(case, min_size=count, max_size=count))},
        splits=draw(st.lists(st.sampled_from(["main", "hard"]), min_size=count, max_size=count)),
        judges=[GATED],
    )


def erase(table: ScoreTable, data: st.DataObject) -> ScoreTable:
    """The table with some scored cells turned into something without a value."""
    cells = np.argwhere(table.state == SCORED).tolist()
    assume(cells)
    state, value, passed = table.state.copy(), table.value.copy(), table.passed.copy()
    for cell in data.draw(st.lists(st.sampled_from(cells), min_size=1, max_size=4)):
        state[tuple(cell)] = data.draw(st.sampled_from([MISSING, FAILED, PENDING]))
        value[tuple(cell)], passed[tuple(cell)] = np.nan, -1
    return replace(table, state=state, value=value, passed=passed)


modes = st.sampled_from(["full", "preview", "delta"])
rules = st.builds(
    BaselineRule, min_overlap=st.sampled_from([0.1, 0.9]), on_missing=st.sampled_from(["refuse", "bootstrap"])
)  # fmt: skip


@given(any_gates(), any_tables(), any_tables(), modes, rules, st.data())
def test_decide__removing_evidence_never_makes_a_pass(
    gate: GateSpec,
    table: ScoreTable,
    before: ScoreTable,
    mode: Mode,
    rule: BaselineRule,
    data: st.DataObject,
) -> None:
    """S1-09, S1-16, G-04, G-08: whatever is taken away, on either side, the outcome is no new `pass`."""

    def outcome(candidate: ScoreTable, base: Baseline | None) -> Outcome:
        return one(gate, candidate, base, judges=[GATED], mode=mode, rule=rule).outcome

    base = baseline_of(before, judges=[GATED])
    whole = outcome(table, base)
    if data.draw(st.booleans()):
        poorer = outcome(erase(table, data), base)
    else:
        poorer = outcome(table, baseline_of(erase(before, data), judges=[GATED]))
    assert poorer != "pass" or whole == "pass"
    for lesser in (None, replace(base, finalized=False), replace(base, judge_digests={})):
        assert outcome(table, lesser) != "pass" or whole == "pass"


@given(any_gates(), any_tables(scored), any_tables(scored), st.data())
def test_decide__a_worse_candidate_never_gets_a_better_outcome(
    gate: GateSpec, table: ScoreTable, before: ScoreTable, data: st.DataObject
) -> None:
    """Issue 2: for min, max, require and point."""
    base = baseline_of(before, judges=[GATED])
    step = data.draw(
        st.lists(st.sampled_from([0.0, 0.1, 0.5]), min_size=table.pairs, max_size=table.pairs)
    )
    shift = np.array(step).reshape(table.value.shape)
    value = table.value + shift if gate.max is not None else table.value - shift
    value = np.round(value, 2)
    worse = replace(table, value=value, passed=(value >= 0.7).astype(np.int8))
    loose = BaselineRule(min_overlap=0.1)
    was = one(gate, table, base, judges=[GATED], rule=loose).outcome
    now = one(gate, worse, base, judges=[GATED], rule=loose).outcome
    assert OUTCOMES.index(now) >= OUTCOMES.index(was)


@given(any_gates(), any_tables(), any_tables(), st.data())
def test_decide__the_order_of_cases_is_nothing(
    gate: GateSpec, table: ScoreTable, before: ScoreTable, data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(table.cases))))
    shuffled = replace(
        table,
        cases=tuple(table.cases[index] for index in order),
        **{
            name: getattr(table, name)[order]
            for name in ("target", "latency_ms", "cost_usd", "tokens", "state", "value", "passed", "mendable")
        },
    )  # fmt: skip
    base = baseline_of(before, judges=[GATED])
    one_way = one(gate, table, base, judges=[GATED]).model_dump(exclude={"reason"})
    other = one(gate, shuffled, base, judges=[GATED]).model_dump(exclude={"reason"})
    assert one_way == other


@given(any_gates(), any_tables(), any_tables(), modes)
def test_decide__documents_hold_no_nan_and_no_negative_zero(
    gate: GateSpec, table: ScoreTable, before: ScoreTable, mode: Mode
) -> None:
    """B59, B82."""
    result = one(gate, table, baseline_of(before, judges=[GATED]), judges=[GATED], mode=mode)
    text = result.model_dump_json()
    assert "NaN" not in text
    assert "-0.0" not in text
    assert result.outcome in {"pass", "block"} or result.delta is None
    assert result.outcome != "pass" or result.compared
