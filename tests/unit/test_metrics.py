"""Metrics: how much was measured beside every number, intervals, and the baseline's side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from releasecheck.metrics import measure
from releasecheck.model.gate import GateSpec
from releasecheck.model.judge import ExactJudge, PythonJudge, SimilarityJudge
from releasecheck.stats import paired_interval
from tests.unit.tables import CLOSE, YES_NO, Cells, baseline_of, plan_for, score_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.model.plan import Plan
    from releasecheck.model.scorecard import Metric
    from releasecheck.model.table import Baseline, ScoreTable


def find(
    table: ScoreTable, plan: Plan, metric: str, stat: str, split: str = "all", *, base: Baseline | None = None
) -> Metric:  # fmt: skip
    (found,) = [
        m
        for m in measure(table, plan, base)
        if (m.metric, m.split, m.stat) == (metric, split, stat)
    ]
    return found


def test_measure__what_is_measured_without_being_asked() -> None:
    """S1-48: every judge in every split; the pass rate only where there is a pass mark."""
    table = score_table({"exact": [1, 0], "close": [0.5, 0.7]}, splits=["main", "hard"])
    found = [(m.metric, m.split, m.stat) for m in measure(table, plan_for(table), None)]
    assert found == [
        ("exact", "all", "mean"), ("exact", "all", "pass_rate"),
        ("exact", "hard", "mean"), ("exact", "hard", "pass_rate"),
        ("exact", "main", "mean"), ("exact", "main", "pass_rate"),
        ("close", "all", "mean"), ("close", "hard", "mean"), ("close", "main", "mean"),
        ("latency_ms", "all", "p50"), ("latency_ms", "all", "p95"), ("cost_usd", "all", "sum"),
        ("tokens", "all", "sum"), ("target_errors", "all", "sum"),
    ]  # fmt: skip


def test_measure__adds_what_a_gate_asks_for() -> None:
    table = score_table({"exact": [1, 0]})
    gates = (
        GateSpec(id="slow", metric="latency_ms", stat="p99", split="main", max=1.0),
        GateSpec(id="gone", metric="exact", split="absent", min=0.5),
    )
    asked = find(table, plan_for(table, *gates), "latency_ms", "p99", "main")
    assert (asked.value, asked.n_scored, asked.n_expected) == (None, 0, 2)
    absent = find(table, plan_for(table, *gates), "exact", "mean", "absent")
    assert (absent.value, absent.n_scored, absent.n_expected) == (None, 0, 0)


def test_measure__says_how_much_was_measured() -> None:
    """G-09, B59, B62, B64: errors are neither dropped nor zero, they are counted beside the mean."""
    table = score_table({"exact": [1, 1, "failed", "missing", "pending", "na"]})
    mean = find(table, plan_for(table), "exact", "mean")
    assert (mean.value, mean.n_scored, mean.n_expected) == (1.0, 2, 5)


@pytest.mark.parametrize("cell", ["missing", "failed", "pending", "na", "target_failed"])
def test_measure__nothing_scored_is_no_number(cell: str) -> None:
    """X-12, B76: null where n is 0, in every statistic."""
    table = score_table({"exact": [cell, cell]})
    for metric in measure(table, plan_for(table), None):
        if metric.metric != "target_errors":
            assert (metric.value, metric.n_scored, metric.ci_low) == (None, 0, None)


def test_measure__an_empty_table_has_metrics_without_values() -> None:
    """G-07, B76."""
    table = score_table({"exact": []})
    assert {m.value for m in measure(table, plan_for(table), None)} == {None}


def test_measure__target_failures_are_missing_costs() -> None:
    table = score_table(
        {"exact": [1, "target_failed", 1]}, latency_ms=[10, 1, 30], cost_usd=[0.1, 0.1, 0.2]
    )
    plan = plan_for(table)
    latency, cost = find(table, plan, "latency_ms", "p50"), find(table, plan, "cost_usd", "sum")
    assert (latency.value, latency.n_scored, latency.n_expected) == (10.0, 2, 3)
    assert (cost.value, cost.n_scored, cost.n_expected) == (0.3, 2, 3)
    errors = find(table, plan, "target_errors", "sum")
    assert (errors.value, errors.n_scored, errors.n_expected) == (1.0, 3, 3)


def test_measure__wilson_for_yes_and_no() -> None:
    table = score_table({"exact": [1] * 81 + [0] * 3})
    oracle = scipy.stats.binomtest(81, 84).proportion_ci(0.95, method="wilson")
    for stat in ("mean", "pass_rate"):
        metric = find(table, plan_for(table), "exact", stat)
        assert (metric.ci_low, metric.ci_high) == pytest.approx((oracle.low, oracle.high), abs=1e-9)
        assert metric.confidence == 0.95


def test_measure__wilson_for_pass_rates_of_values() -> None:
    judge = SimilarityJudge(id="close", type="similarity", pass_at=0.6)
    table = score_table({"close": [0.5, 0.6, 0.9, "failed"]}, judges=[judge])
    metric = find(table, plan_for(table, judges=[judge]), "close", "pass_rate")
    oracle = scipy.stats.binomtest(2, 3).proportion_ci(0.95, method="wilson")
    assert metric.value == 2 / 3
    assert (metric.ci_low, metric.ci_high) == pytest.approx((oracle.low, oracle.high), abs=1e-9)


def test_measure__t_interval_over_case_means() -> None:
    """Trials of one case are no independent evidence: n is the number of cases."""
    table = score_table({"close": [[0.2, 0.4], [0.5, 0.7], [0.9, "na"]]})
    metric = find(table, plan_for(table), "close", "mean")
    means = np.array([0.3, 0.6, 0.9])
    oracle = np.clip(scipy.stats.t.interval(0.95, 2, means.mean(), scipy.stats.sem(means)), 0, 1)
    assert metric.value == 0.6
    assert (metric.ci_low, metric.ci_high) == pytest.approx(oracle, abs=1e-9)
    assert (metric.n_scored, metric.n_expected) == (5, 5)


def test_measure__yes_and_no_over_several_trials_are_shares_of_a_case() -> None:
    """Wilson needs whole yes and no per case; a case of 2 out of 3 is a value like any other."""
    table = score_table({"exact": [[1, 1, 0], [1, 1, 1], [0, 0, 0], [0, 1, 0]]})
    metric = find(table, plan_for(table), "exact", "mean")
    means = np.array([2 / 3, 1, 0, 1 / 3])
    oracle = np.clip(scipy.stats.t.interval(0.95, 3, means.mean(), scipy.stats.sem(means)), 0, 1)
    assert (metric.ci_low, metric.ci_high) == pytest.approx(oracle, abs=1e-9)


def test_measure__milliseconds_are_no_share() -> None:
    gate = GateSpec(id="slow", metric="latency_ms", max=2.0)
    table = score_table({"exact": [1, 1, 1]}, latency_ms=[1, 0, 1])
    metric = find(table, plan_for(table, gate), "latency_ms", "mean")
    oracle = scipy.stats.t.interval(0.95, 2, 2 / 3, scipy.stats.sem([1, 0, 1]))
    assert (metric.ci_low, metric.ci_high) == pytest.approx(oracle, abs=1e-9)


def test_measure__order_statistics_for_quantiles() -> None:
    table = score_table({"exact": [1] * 100}, latency_ms=list(range(1, 101)))
    p50, p95 = (find(table, plan_for(table), "latency_ms", stat) for stat in ("p50", "p95"))
    assert (p50.value, p50.ci_low, p50.ci_high) == (50.0, 40.0, 61.0)
    assert (p95.value, p95.ci_low, p95.ci_high) == (95.0, 90.0, 100.0)


def test_measure__no_interval_where_too_little_is_known() -> None:
    table = score_table({"exact": [1], "close": [0.4]}, latency_ms=[3])
    assert {(m.ci_low, m.ci_high) for m in measure(table, plan_for(table), None)} == {(None, None)}


def test_measure__is_exact() -> None:
    """B89: and the same in any order."""
    table = score_table({"close": [0.7, 0.8, 0.9]})
    assert find(table, plan_for(table), "close", "mean").value == 0.8


def test_measure__compares_with_the_same_judge_only() -> None:
    table, before = score_table({"exact": [1, 0]}), score_table({"exact": [1, 1]})
    same = find(table, plan_for(table), "exact", "mean", base=baseline_of(before))
    assert (same.value, same.baseline_value, same.delta) == (0.5, 1.0, -0.5)
    other = ExactJudge(id="exact", type="exact", normalize=("strip",))
    changed = baseline_of(before, judges=[other])
    found = find(table, plan_for(table), "exact", "mean", base=changed)
    assert (found.baseline_value, found.delta) == (None, None)
    errors = find(table, plan_for(table), "target_errors", "sum", base=changed)
    assert (errors.baseline_value, errors.delta) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("now", "before"), [([1, "failed"], [1, 1]), ([1, 1], [1, "missing"]), ([1, "pending"], [0, 0])]
)
def test_measure__no_difference_of_incomplete_sides(now: Cells, before: Cells) -> None:
    """S1-09: the average over what arrived is shown with its count, and compared with nothing."""
    table, base = score_table({"exact": now}), baseline_of(score_table({"exact": before}))
    found = find(table, plan_for(table), "exact", "mean", base=base)
    assert found.baseline_value is not None
    assert found.delta is None


def test_measure__a_baseline_that_is_not_final_is_no_baseline() -> None:
    table = score_table({"exact": [1, 1]})
    base = baseline_of(table, finalized=False)
    found = measure(table, plan_for(table), base)
    assert {(m.baseline_value, m.delta) for m in found} == {(None, None)}


def test_measure__a_partial_plan_shows_no_difference() -> None:
    table, before = score_table({"exact": [1]}), score_table({"exact": [1, 0]})
    plan = plan_for(table, mode="preview")
    assert find(table, plan, "exact", "mean", base=baseline_of(before)).delta is None


def test_measure__delta_is_exact_and_never_negative_zero() -> None:
    """B82, B89: 0.94 - 0.95 is -0.01, not -0.010000000000000009; -0.0 is 0."""
    table, before = score_table({"close": [0.94, 0.94]}), score_table({"close": [0.95, 0.95]})
    found = find(table, plan_for(table), "close", "mean", base=baseline_of(before))
    assert found.delta == -0.01
    zero = score_table({"close": [-0.0, 0.0]})
    found = find(zero, plan_for(zero), "close", "mean", base=baseline_of(zero))
    assert (str(found.value), str(found.delta)) == ("0.0", "0.0")


def test_measure__numbers_beyond_floats_are_absent() -> None:
    table = score_table({"exact": [1, 1]}, cost_usd=[1.7e308, 1.7e308])
    cost = find(table, plan_for(table), "cost_usd", "sum")
    assert (cost.value, cost.n_scored) == (None, 2)


def test_measure__a_python_judge_of_a_scale() -> None:
    scale = PythonJudge(id="tone", type="python", function="judges:tone")
    table = score_table({"tone": [3, 4, 5]}, judges=[scale])
    found = find(table, plan_for(table, judges=[scale]), "tone", "mean")
    assert found.value == 4.0
    assert found.ci_high is not None
    assert found.ci_high > 5  # nothing is clamped to a scale nobody declared


# -- the interval of the difference


def change(
    now: Cells,
    before: Cells,
    stat: str = "mean",
    judge: str = "exact",
    *,
    ids: Sequence[str] | None = None,
    before_ids: Sequence[str] | None = None,
) -> tuple[float | None, float | None, float | None]:
    table = score_table({judge: now}, ids=ids)
    base = baseline_of(score_table({judge: before}, ids=before_ids))
    found = find(table, plan_for(table), judge, stat, base=base)
    return found.delta, found.delta_ci_low, found.delta_ci_high


@pytest.mark.parametrize("stat", ["mean", "pass_rate"])
def test_measure__the_difference_of_verdicts_has_tangos_interval(stat: str) -> None:
    """Over pairs: 10 of 50 cases flipped, 7 of them to fail."""
    before: Cells = [1] * 40 + [0] * 10
    now: Cells = [0] * 7 + [1] * 36 + [0] * 7
    delta, low, high = change(now, before, stat)
    expected = paired_interval(np.repeat([-1.0, 1.0, 0.0], [7, 3, 40]), None, 0.95, yes_no=True)
    assert delta == -0.08
    assert (low, high) == pytest.approx(expected, abs=1e-12)


def test_measure__the_difference_of_values_is_students_over_pairs() -> None:
    """Trials first: two trials against one are one pair."""
    before: Cells = [0.2, 0.4, 0.9, 0.6]
    now: Cells = [[0.1, 0.3], [0.5, 0.5], [0.8, 0.9], [0.6, 0.5]]
    differences = np.array([0.0, 0.1, -0.05, -0.05])
    oracle = scipy.stats.ttest_1samp(differences, 0).confidence_interval(0.95)
    _, low, high = change(now, before, judge="close")
    assert (low, high) == pytest.approx((oracle.low, oracle.high), abs=1e-9)


@pytest.mark.parametrize(
    ("now", "before", "ids"),
    [
        ([1, 0, 1], [1, 1, 1], ["q1", "q2", "new"]),  # another case
        ([1, 0, 1, 1], [1, 1, 1], None),  # one more
        ([1, 0, "na"], [1, 1, 1], None),  # one that does not apply now
        ([1, 0, "failed"], [1, 1, 1], None),  # one without a score
    ],
)
def test_measure__no_interval_of_a_difference_between_unlike_runs(
    now: Cells, before: Cells, ids: Sequence[str] | None
) -> None:
    """An interval over pairs speaks of the same cases; `delta` of each side's own."""
    assert change(now, before, ids=ids)[1:] == (None, None)


def test_measure__pairs_are_found_by_case_not_by_place() -> None:
    """Tables of other orders, and cases that apply to neither side."""
    straight = change([1, 0, 1, 0, "na"], [1, 1, 1, 0, "na"])
    turned = change(
        [1, 0, 1, 0, "na"], ["na", 0, 1, 1, 1], before_ids=["q5", "q4", "q3", "q2", "q1"]
    )
    assert straight == turned
    assert None not in straight


def test_measure__no_interval_of_a_difference_of_quantiles() -> None:
    table = score_table({"exact": [1, 1]}, latency_ms=[10, 20])
    found = find(table, plan_for(table), "latency_ms", "p50", base=baseline_of(table))
    assert (found.delta, found.delta_ci_low) == (0.0, None)


# -- clusters


def test_measure__cases_of_a_cluster_count_as_fewer() -> None:
    """Ten documents of five questions each, that pass or fail together."""
    scores: Cells = [float(doc % 4 > 0) for doc in range(10) for _ in range(5)]
    values: Cells = [0.1 * doc for doc in range(10) for _ in range(5)]
    names = [f"doc{doc}" for doc in range(10) for _ in range(5)]
    alone = score_table({"exact": scores, "close": values}, latency_ms=values)
    together = score_table({"exact": scores, "close": values}, latency_ms=values, clusters=names)
    for metric, stat in (
        ("exact", "mean"), ("exact", "pass_rate"), ("close", "mean"), ("latency_ms", "p50")
    ):  # fmt: skip
        free = find(alone, plan_for(alone), metric, stat)
        tied = find(together, plan_for(together), metric, stat)
        assert free.value == tied.value
        assert None not in {free.ci_low, free.ci_high, tied.ci_low, tied.ci_high}
        assert (tied.ci_high or 0) - (tied.ci_low or 0) > 1.3 * (
            (free.ci_high or 0) - (free.ci_low or 0)
        )
    base = score_table({"exact": [1.0] * 50, "close": values}, clusters=names)
    free = find(alone, plan_for(alone), "exact", "mean", base=baseline_of(base))
    tied = find(together, plan_for(together), "exact", "mean", base=baseline_of(base))
    assert (tied.delta_ci_low or 0) < (free.delta_ci_low or 0)


def test_measure__one_cluster_is_no_evidence_of_spread() -> None:
    table = score_table({"exact": [1, 0, 1]}, clusters=["a", "a", "a"])
    found = find(table, plan_for(table), "exact", "mean")
    assert (found.value, found.ci_low, found.ci_high) == (2 / 3, None, None)


def test_measure__trials_of_a_case_are_no_new_cases() -> None:
    """Five trials of 40 cases that differ only between cases: the interval of 40 values, not of 200."""
    once: Cells = list(range(40))
    often: Cells = [[float(ms)] * 5 for ms in range(40)]
    one, five = (
        score_table({"exact": [1] * 40}, latency_ms=once),
        score_table({"exact": [[1] * 5] * 40}, latency_ms=often),
    )
    short = find(one, plan_for(one), "latency_ms", "p50")
    long = find(five, plan_for(five), "latency_ms", "p50")
    assert (long.value, long.n_scored) == (short.value, 200)
    assert long.ci_low is not None
    assert short.ci_low is not None
    assert long.ci_low <= short.ci_low


cells = st.sampled_from(
    [1.0, 0.0, 0.25, 0.7, -0.0, "missing", "failed", "pending", "na", "target_failed"]
)


@given(st.lists(st.tuples(cells, cells), max_size=12), st.randoms(use_true_random=False))
def test_measure__does_not_depend_on_the_order_of_cases(
    scores: list[tuple[float | str, float | str]], order: object
) -> None:
    shuffled = list(scores)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = score_table({"close": scores}), score_table({"close": shuffled})
    for left, right in zip(
        measure(one, plan_for(one), None), measure(other, plan_for(other), None), strict=True
    ):
        assert left.model_copy(update={"ci_low": None, "ci_high": None}) == right.model_copy(
            update={"ci_low": None, "ci_high": None}
        )
        assert (left.ci_low, left.ci_high) == pytest.approx(
            (right.ci_low, right.ci_high), abs=1e-12
        )


@given(st.lists(cells, max_size=12))
def test_measure__never_lets_nan_out(scores: list[float | str]) -> None:
    """B59: every document is written without NaN."""
    for judge in (YES_NO, CLOSE):
        table = score_table({judge.id: scores})
        for metric in measure(table, plan_for(table), baseline_of(table)):
            assert "NaN" not in metric.model_dump_json()
            numbers = (metric.value, metric.ci_low, metric.ci_high)
            deltas = (metric.delta, metric.delta_ci_low, metric.delta_ci_high)
            assert all(n is None or np.isfinite(n) for n in (*numbers, *deltas))
            assert metric.n_scored <= metric.n_expected
