"""Gates that test a drop: both ways for every way to decide, and what no data may do to them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pytest

from releasecheck.gates import decide, verdict
from releasecheck.gates.regression import Level
from releasecheck.model.gate import Decide, GateSpec, NoRegression
from releasecheck.model.judge import PythonJudge, SimilarityJudge
from releasecheck.model.suite import BaselineRule
from releasecheck.stats.paired import mcnemar, sign_flip
from tests.unit.tables import CLOSE, YES_NO, baseline_of, plan_for, score_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.model.gate import Stat
    from releasecheck.model.judge import Judge
    from releasecheck.model.scorecard import GateResult, Outcome
    from tests.unit.tables import Cells

RATED = PythonJudge(id="rated", type="python", function="m:f")
"""A judge whose scale nobody knows."""
MARKED = SimilarityJudge(id="close", type="similarity", pass_at=0.5)
JUDGES: tuple[Judge, ...] = (YES_NO, CLOSE, RATED)


def gate_of(
    how: Decide = "significant",
    max_drop: float = 0.0,
    *,
    name: str = "g",
    metric: str = "exact",
    stat: Stat = "mean",
    **rule: Any,
) -> GateSpec:
    return GateSpec(
        id=name,
        metric=metric,
        stat=stat,
        no_regression=NoRegression(decide=how, max_drop=max_drop, **rule),
    )


def compared(
    gate: GateSpec,
    now: Cells,
    before: Cells,
    *,
    judges: Sequence[Judge] = JUDGES,
    clusters: Sequence[str | None] | None = None,
    **plan: Any,
) -> GateResult:
    """One gate over its own metric, which is a judge's."""
    table = score_table({gate.metric: now}, judges=judges, clusters=clusters)
    then = baseline_of(
        score_table({gate.metric: before}, judges=judges, clusters=clusters), judges=judges
    )
    (result,) = decide(table, plan_for(table, gate, judges=judges, **plan), then)
    return result


def flips(failures: int, passes: int, cases: int) -> tuple[list[float], list[float]]:
    """Candidate and baseline of so many cases with such flips; all others pass on both sides."""
    rest = [1.0] * (cases - failures - passes)
    return [0.0] * failures + [1.0] * passes + rest, [1.0] * failures + [0.0] * passes + rest


# -- yes and no


@pytest.mark.parametrize(
    ("how", "failures", "passes", "cases", "max_drop", "outcome"),
    [
        # p of 5 of 5 flips is 1/32, of 4 of 4 it is 1/16.
        ("significant", 5, 0, 50, 0.0, "block"), ("significant", 4, 0, 50, 0.0, "pass"),
        ("significant", 0, 5, 50, 0.0, "pass"), ("significant", 9, 3, 50, 0.0, "pass"),
        ("significant", 10, 2, 50, 0.0, "block"), ("significant", 0, 0, 50, 0.0, "pass"),
        # Sure of a drop, and exactly at what is allowed.
        ("significant", 5, 0, 50, 0.1, "pass"), ("significant", 6, 0, 50, 0.1, "block"),
        ("point", 1, 0, 50, 0.0, "block"), ("point", 1, 0, 50, 0.02, "pass"), ("point", 3, 3, 50, 0.0, "pass"),
        # A drop of nothing over 50 cases excludes none of 0.05, over 100 cases it does.
        ("non-inferior", 0, 0, 50, 0.05, "block"), ("non-inferior", 0, 0, 100, 0.05, "pass"),
        ("non-inferior", 4, 0, 200, 0.05, "pass"), ("non-inferior", 9, 0, 200, 0.05, "block"),
        ("non-inferior", 11, 0, 200, 0.05, "block"), ("non-inferior", 0, 9, 50, 0.05, "pass"),
    ],
)  # fmt: skip
def test_decide__yes_and_no(
    how: Decide, failures: int, passes: int, cases: int, max_drop: float, outcome: Outcome
) -> None:
    """Issue 5, X-12, X-13: McNemar over flips, Tango for `non-inferior`."""
    result = compared(gate_of(how, max_drop), *flips(failures, passes, cases))
    assert (result.outcome, result.compared, result.decide) == (outcome, cases, how)
    assert result.against == "baseline"
    if how == "significant":
        assert result.p_value == result.p_adjusted
        assert result.p_value == pytest.approx(mcnemar(failures, passes), abs=1e-9)
    if how == "point":
        assert result.p_value is None
    if how == "non-inferior":
        assert result.drop_bound is not None
        assert (result.drop_bound <= max_drop) == (outcome == "pass")
    else:
        assert result.drop_bound is None


def test_decide__flips_of_each_gate_are_named() -> None:
    """G-28: which cases, and never without a pass mark."""
    result = compared(gate_of("point", 1.0), *flips(2, 1, 5))
    assert (result.new_failures, result.new_passes) == (("q1", "q2"), ("q3",))
    unmarked = compared(gate_of("point", 1.0, metric="close"), [0.0, 1.0], [1.0, 0.0])
    assert (unmarked.new_failures, unmarked.new_passes) == ((), ())


def test_decide__p_exactly_at_the_level_is_not_below_it() -> None:
    """X-12: 1 - confidence itself; 0.875 leaves 0.125, the p of three flips of three."""
    for confidence, outcome in ((0.875, "pass"), (0.87, "block"), (0.88, "pass")):
        result = compared(gate_of(), *flips(3, 0, 20), confidence=confidence)
        assert (result.p_value, result.outcome) == (0.125, outcome)


def test_decide__the_level_is_that_of_the_written_confidence() -> None:
    """X-12: after the correction too; of two gates with 1/16 each, 1/8 is not below 1 - 0.875."""
    gates = [gate_of(name=name) for name in ("a", "b")]
    now, before = (score_table({"exact": cells}) for cells in flips(4, 0, 30))
    for confidence, outcome in ((0.875, "pass"), (0.874, "block")):
        plan = plan_for(now, *gates, correction="holm", confidence=confidence)
        results = decide(now, plan, baseline_of(before))
        assert [result.p_adjusted for result in results] == [0.125, 0.125]
        assert {result.outcome for result in results} == {outcome}


def test_level__is_the_decimal_that_is_written() -> None:
    """1 - 0.95 is 0.050000000000000044 to a float, and 0.05 to whoever wrote 0.95."""
    assert Level(0.95, 0.05, 0).most == 0.05
    assert Level(0.9, 0.1, 0).most == 0.1


def test_decide__significant_says_what_chance_brings() -> None:
    blocked = compared(gate_of(), *flips(5, 0, 50))
    assert blocked.rule == "no significant regression beyond 0"
    assert (
        "a drop of 0.1, more than the 0 allowed; chance alone brings such a drop with p 0.03125, below 0.05"
        in (blocked.reason)
    )
    passed = compared(gate_of(), *flips(4, 0, 50))
    assert "with p 0.0625, not below 0.05" in passed.reason
    shown = compared(gate_of("non-inferior", 0.05), *flips(4, 0, 200))
    assert "with 95 % confidence the drop is at most 0.0" in shown.reason
    assert "which excludes more than is allowed" in shown.reason
    unshown = compared(gate_of("non-inferior", 0.05), *flips(9, 0, 200))
    assert "which does not exclude more than is allowed" in unshown.reason


def test_decide__new_failures_are_bounded_whatever_the_test_says() -> None:
    """X-23: not sure of a drop, and one failure more than allowed."""
    for most, outcome in ((3, "block"), (4, "pass")):
        result = compared(gate_of(max_new_failures=most), *flips(4, 4, 50))
        assert result.outcome == outcome


# -- values


@pytest.mark.parametrize(
    ("how", "max_drop", "drops", "outcome"),
    [
        ("significant", 0.0, [0.1] * 5, "block"), ("significant", 0.0, [0.1] * 4, "pass"),
        ("significant", 0.0, [0.1] * 9 + [-0.9], "pass"), ("significant", 0.1, [0.1] * 20, "pass"),
        ("significant", 0.09, [0.1] * 20, "block"), ("significant", 0.0, [-0.1] * 20, "pass"),
        ("point", 0.1, [0.1] * 3, "pass"), ("point", 0.09, [0.1] * 3, "block"),
        ("non-inferior", 0.1, [0.0, 0.02] * 20, "pass"), ("non-inferior", 0.01, [0.0, 0.02] * 20, "block"),
        ("non-inferior", 0.1, [-0.3, 0.3] * 4, "block"), ("non-inferior", 0.1, [0.11] * 40, "block"),
    ],
)  # fmt: skip
def test_decide__values(how: Decide, max_drop: float, drops: list[float], outcome: Outcome) -> None:
    """Issue 5, X-12, X-13: flipped signs, Student's t for `non-inferior`."""
    now = [round(0.5 - drop / 2, 6) for drop in drops]
    before = [round(0.5 + drop / 2, 6) for drop in drops]
    result = compared(gate_of(how, max_drop, metric="close"), now, before)
    assert (result.outcome, result.compared) == (outcome, len(drops))


def test_decide__a_rise_of_latency_is_the_drop() -> None:
    """B86: built-in metrics are better when lower, in every way to decide."""
    fast, slow = [100.0 + n for n in range(20)], [130.0 + n for n in range(20)]
    allowed: tuple[tuple[Decide, float], ...] = (
        ("point", 10.0), ("significant", 10.0), ("non-inferior", 10.0)
    )  # fmt: skip
    for how, max_drop in allowed:
        gate = gate_of(how, max_drop, metric="latency_ms")
        for now, before, outcome in ((slow, fast, "block"), (fast, slow, "pass")):
            # Differences that are all equal would say nothing of their own spread.
            table = score_table({"exact": [1] * 20}, latency_ms=[now[0] + 1, *now[1:]])
            then = baseline_of(score_table({"exact": [1] * 20}, latency_ms=before))
            (result,) = decide(table, plan_for(table, gate), then)
            assert result.outcome == outcome
            assert ("rise" in result.reason) == (outcome == "block" or how == "non-inferior")


def test_decide__costs_of_nothing_are_no_verdicts() -> None:
    """Contract 6: 50 calls that cost nothing do not show how much the next one may cost."""
    gate = gate_of("non-inferior", 0.1, metric="cost_usd")
    table = score_table({"exact": [1.0] * 50}, cost_usd=[0.0] * 50)
    (result,) = decide(table, plan_for(table, gate), baseline_of(table))
    assert (result.outcome, result.drop_bound) == ("not_comparable", None)
    assert "no bound on the drop" in result.reason


def test_decide__a_sum_is_as_many_times_its_mean() -> None:
    """The limit, the bound and the smallest drop are in the unit of the sum."""
    now, before = [0.4, 0.5] * 10, [0.5, 0.5] * 10
    for how in get_args(Decide):
        for factor, outcome in ((0.9, "block"), (2.0, "pass")):
            mean = compared(gate_of(how, 0.05 * factor, metric="close"), now, before)
            total = compared(gate_of(how, 1.0 * factor, metric="close", stat="sum"), now, before)
            assert (mean.outcome, total.outcome) == (outcome, outcome)
            assert mean.p_value == total.p_value
            for name in ("drop_bound", "min_detectable_drop", "resolvable_drop"):
                of_mean, of_sum = getattr(mean, name), getattr(total, name)
                assert (of_mean is None) == (of_sum is None)
                assert of_mean is None or math.isclose(of_sum, 20 * of_mean, rel_tol=1e-9)


def test_decide__without_sight_decides_the_same() -> None:
    """X-12: the self-test asks for outcomes alone, and what a gate could have seen is no part of one."""
    now, before = [0.0] * 6 + [1.0] * 14, [1.0] * 20
    for how in get_args(Decide):
        for gate in (
            gate_of(how, 0.1),
            gate_of(how, 0.6),
            gate_of(how, 0.1, underpowered="refuse"),
        ):
            table, earlier = (
                score_table({"exact": now}),
                baseline_of(score_table({"exact": before})),
            )
            plan = plan_for(table, gate)
            (seeing,), (blind,) = (
                decide(table, plan, earlier, sight=sees) for sees in (True, False)
            )
            assert (blind.min_detectable_drop, blind.resolvable_drop) == (None, None)
            unseen = {"min_detectable_drop", "resolvable_drop", "reason"}
            assert seeing.model_dump(exclude=unseen) == blind.model_dump(exclude=unseen)
            assert seeing.reason.startswith(blind.reason)


def test_decide__trials_are_averaged_before_anything_is_tested() -> None:
    """Contract 6: forty values of four cases are four cases, and unequal numbers of trials compare."""
    many = compared(gate_of(metric="close"), [[0.4] * 10] * 4, [[0.5] * 10] * 4)
    assert (many.outcome, many.p_value, many.compared) == ("pass", 1 / 16, 4)
    unequal = compared(gate_of(metric="close"), [[0.3, 0.5]] * 5, [0.5] * 5)
    assert (unequal.outcome, unequal.p_value) == ("block", 1 / 32)


def test_decide__trials_of_yes_and_no() -> None:
    """X-19: `pass_rate` counts verdicts, `mean` the share of trials that pass."""
    before: Cells = [[1, 1, 1]] * 6
    now: Cells = [[1, 1, 0]] * 6
    assert compared(gate_of(stat="pass_rate"), now, before).outcome == "pass"
    assert compared(gate_of(), now, before).outcome == "block"
    now = [[1, 0, 0]] * 6
    result = compared(gate_of(stat="pass_rate"), now, before)
    assert result.outcome == "block"
    assert result.p_value == pytest.approx(mcnemar(6, 0), abs=1e-9)


@pytest.mark.parametrize("stat", ["min", "max", "p50", "p95"])
def test_decide__order_statistics_have_no_pairs_to_test(stat: Stat) -> None:
    result = compared(gate_of("point", 0.1, metric="close", stat=stat), [0.4] * 9, [0.5] * 9)
    assert result.outcome == "pass"
    assert (result.p_value, result.min_detectable_drop, result.resolvable_drop) == (None,) * 3


# -- clusters


def test_decide__cases_of_one_cluster_are_one_witness() -> None:
    """G-06, X-14: six failures block; six failures of two conversations do not."""
    now, before = flips(6, 0, 40)
    alone = compared(gate_of(), now, before)
    assert alone.outcome == "block"
    assert alone.p_value == pytest.approx(mcnemar(6, 0), abs=1e-9)
    shared = ["a"] * 3 + ["b"] * 3 + [None] * 34
    together = compared(gate_of(), now, before, clusters=shared)
    assert (together.outcome, together.compared) == ("pass", 40)
    assert together.p_value is not None
    assert together.p_value > 0.2
    assert compared(gate_of("point"), now, before, clusters=shared).outcome == "block"


def test_decide__clusters_of_values() -> None:
    now, before = [0.4] * 6 + [0.5] * 30, [0.5] * 36
    gate = gate_of(metric="close")
    assert compared(gate, now, before).outcome == "block"
    shared = ["a"] * 3 + ["b"] * 3 + [f"c{n // 3}" for n in range(30)]
    assert compared(gate, now, before, clusters=shared).outcome == "pass"


def test_decide__clusters_widen_the_bound() -> None:
    """What 40 independent cases exclude, 10 clusters of four do not."""
    now, before = [0.5, 0.5, 0.5, 0.4] * 10, [0.5] * 40
    shared = ["a"] * 4 + [f"c{n % 9}" for n in range(36)]
    gate = gate_of("non-inferior", 0.04, metric="close")
    alone, together = (compared(gate, now, before, clusters=of) for of in (None, shared))
    assert alone.outcome == "pass"
    assert together.drop_bound is not None
    assert alone.drop_bound is not None
    assert together.drop_bound != alone.drop_bound
    worse = [0.4] * 8 + [0.5] * 32
    blocks = [f"c{n // 8}" for n in range(40)]
    assert compared(gate, worse, before).outcome == "pass"
    assert compared(gate, worse, before, clusters=blocks).outcome == "block"


def test_decide__one_cluster_decides_nothing() -> None:
    """One witness: never sure of a drop, and nothing is shown to be excluded."""
    now, before = flips(10, 0, 10)
    one = ["a"] * 10
    result = compared(gate_of(), now, before, clusters=one)
    assert (result.outcome, result.p_value) == ("pass", 0.5)
    for cells in ((now, before), (before, before)):
        result = compared(gate_of("non-inferior", 0.1), *cells, clusters=one)
        assert result.outcome == "not_comparable"
        assert "no bound on the drop" in result.reason
        assert (result.delta, result.compared, result.p_value) == (None, None, None)


# -- too little to say anything


def test_decide__one_case() -> None:
    assert compared(gate_of(), [0], [1]).outcome == "pass"
    assert compared(gate_of(), [0], [1]).p_value == 0.5
    assert compared(gate_of("point"), [0], [1]).outcome == "block"
    assert compared(gate_of("non-inferior", 0.1), [1], [1]).outcome == "block"
    single = compared(gate_of("non-inferior", 0.1, metric="close"), [0.5], [0.5])
    assert single.outcome == "not_comparable"


def test_decide__differences_that_are_all_equal() -> None:
    """Zero spread is no certainty: `non-inferior` needs a scale to say anything, or refuses."""
    same = [3.0] * 40
    assert compared(gate_of(metric="rated"), same, same).outcome == "pass"
    refused = compared(gate_of("non-inferior", 0.5, metric="rated"), same, same)
    assert refused.outcome == "not_comparable"
    assert "`scale`" in refused.reason
    scaled = PythonJudge(id="rated", type="python", function="m:f", scale=(1, 5))
    known = compared(gate_of("non-inferior", 0.5, metric="rated"), same, same, judges=[scaled])
    assert known.outcome == "pass"
    assert known.drop_bound is not None
    assert 0 < known.drop_bound <= 0.5
    few = compared(
        gate_of("non-inferior", 0.5, metric="rated"), [3.0] * 4, [3.0] * 4, judges=[scaled]
    )
    assert few.outcome == "block"


@pytest.mark.parametrize("how", get_args(Decide))
@pytest.mark.parametrize("stat", ["mean", "sum"])
@pytest.mark.parametrize(
    ("now", "before"),
    [
        ([1.7e308] * 3, [-1.7e308] * 3),
        ([1.7e308] * 3, [1.7e308] * 3),
        ([-1.7e308] * 3, [1.7e308] * 3),
        ([[1.7e308, 1.7e308]] * 3, [[1.7e308, 1.7e308]] * 3),
        ([[1.7e308, 1.7e308, -1.7e308, -1.7e308]] * 3, [[1.7e308] * 4] * 3),
        ([[-1.7e308] * 3] * 3, [[1.7e308] * 3] * 3),
        ([5e-324, 1.7e308, -1.7e308], [0.0, 0.0, 5e-324]),
    ],
)
def test_decide__values_at_the_end_of_floats(
    how: Decide, stat: Literal["mean", "sum"], now: Cells, before: Cells
) -> None:
    """B59, B82: decided or refused; no number of the result is NaN or infinite."""
    result = compared(gate_of(how, 0.1, metric="rated", stat=stat), now, before)
    numbers = [value for value in result.model_dump().values() if isinstance(value, float)]
    assert all(map(math.isfinite, numbers))
    exact_now, exact_before = (
        [sum(map(int, case if isinstance(case, list) else [case])) for case in side]
        for side in (now, before)
    )
    if sum(exact_now) >= sum(exact_before) and how != "non-inferior":
        assert result.outcome == "pass"
    if how == "point" and sum(exact_now) < sum(exact_before):
        assert result.outcome == "block"


def test_decide__a_mean_whose_sum_is_beyond_floats() -> None:
    """The mean of each case is 0 and not infinite, so the drop is seen."""
    now: Cells = [[1.7e308, 1.7e308, -1.7e308, -1.7e308]] * 6
    result = compared(gate_of(metric="rated"), now, [[1.7e308] * 4] * 6)
    assert (result.outcome, result.value) == ("block", 0.0)


# -- which test


def test_decide__p_of_yes_and_no_is_that_of_every_pattern_of_signs() -> None:
    """Issue 5: exact, and hanging on no seed, with clusters and with trials too."""
    gate = gate_of()
    now, before = flips(6, 1, 60)
    for seed in (0, 3):
        assert compared(gate, now, before, seed=seed).p_value == pytest.approx(8 / 2**7, abs=1e-12)
    pairs = [f"c{n // 2}" for n in range(60)]
    # Three clusters lose two cases each, one wins one: flipping any of the large ones is too much.
    for seed in (0, 3):
        found = compared(gate, now, before, clusters=pairs, seed=seed)
        assert found.p_value == pytest.approx(2 / 2**4, abs=1e-12)
    trials = compared(gate, [[1, 1, 0]] * 20, [[1, 1, 1]] * 20)
    assert trials.p_value == pytest.approx(1 / 2**20, abs=1e-9)


def test_decide__which_test_it_is_hangs_on_no_value() -> None:
    """Issue 5: a case that gets worse, and off a grid, must not change the test in its own favour."""
    rng = np.random.default_rng(1)
    gate = gate_of(metric="close")
    for _ in range(25):
        drops = rng.choice([0.0, 0.1, -0.1, 0.2, -0.2, 0.3], 45)
        before = [0.5] * 45
        now = [round(0.5 - drop, 1) for drop in drops.tolist()]
        was = compared(gate, now, before).p_value
        now[int(rng.integers(45))] -= 0.00000123456
        worse = compared(gate, now, before).p_value
        assert was is not None
        assert worse is not None
        assert worse <= was


def test_decide__the_same_seed_gives_the_same_p() -> None:
    """Contract 4: resampling draws from the plan's seed."""
    rng = np.random.default_rng(5)
    now, before = rng.random(40).tolist(), rng.random(40).tolist()
    gate = gate_of(metric="close")
    first, again, other = (compared(gate, now, before, seed=seed).p_value for seed in (7, 7, 9))
    assert first == again == sign_flip(_drops(now, before), 7)
    assert first != other


def _drops(now: list[float], before: list[float]) -> Any:
    return np.array(before) - np.array(now)


# -- several gates


def several(*gates: GateSpec, correction: str, flipped: dict[str, int]) -> list[GateResult]:
    """Gates over judges of which so many of 50 cases fail anew."""
    judges = [type(YES_NO)(id=name, type="exact") for name in flipped]
    sides = {name: flips(count, 0, 50) for name, count in flipped.items()}
    table = score_table({name: side[0] for name, side in sides.items()}, judges=judges)
    then = score_table({name: side[1] for name, side in sides.items()}, judges=judges)
    plan = plan_for(table, *gates, judges=judges, correction=correction)
    return list(decide(table, plan, baseline_of(then, judges=judges)))


def test_decide__holm_corrects_the_significant_gates_alone() -> None:
    """G-30, X-15: p 1/32 blocks alone, and not beside another test."""
    gates = [gate_of(name="a", metric="a"), gate_of(name="b", metric="b")]
    flipped = {"a": 5, "b": 0}
    free = several(*gates, correction="none", flipped=flipped)
    assert [result.outcome for result in free] == ["block", "pass"]
    assert [result.p_adjusted for result in free] == [1 / 32, 1.0]
    held = several(*gates, correction="holm", flipped=flipped)
    assert [result.outcome for result in held] == ["pass", "pass"]
    assert [result.p_value for result in held] == [1 / 32, 1.0]
    assert [result.p_adjusted for result in held] == [1 / 16, 1.0]
    assert "p 0.0625 after Holm's correction, not below 0.05" in held[0].reason
    beside = [
        gates[0],
        gate_of("point", name="b", metric="b"),
        GateSpec(id="c", metric="b", min=0.5),
    ]
    mixed = several(*beside, correction="holm", flipped=flipped)
    assert [result.outcome for result in mixed] == ["block", "pass", "pass"]
    assert [result.p_adjusted for result in mixed] == [1 / 32, None, None]


def test_decide__holm_steps_down() -> None:
    """G-30: the smallest of three counts three times, the next twice, and none less than one before it."""
    gates = [gate_of(name=name, metric=name) for name in "abc"]
    results = several(*gates, correction="holm", flipped={"a": 4, "b": 6, "c": 5})
    assert [result.p_adjusted for result in results] == [2 / 32, 3 / 64, 2 / 32]
    assert [result.outcome for result in results] == ["pass", "block", "pass"]


def test_decide__holm_never_undercuts_a_smaller_p() -> None:
    """Three equal ones: 3/32 for the first, and no less for those that come after it."""
    gates = [gate_of(name=name, metric=name) for name in "abc"]
    results = several(*gates, correction="holm", flipped={"a": 5, "b": 5, "c": 5})
    assert [result.p_adjusted for result in results] == [3 / 32] * 3
    assert [result.outcome for result in results] == ["pass"] * 3


def test_decide__a_refused_gate_is_no_test() -> None:
    """A gate that came to no test neither counts among those corrected, nor spoils the others."""
    gates = [gate_of(name="a", metric="exact"), gate_of(name="b", metric="close")]
    now, before = flips(5, 0, 50)
    table = score_table({"exact": now, "close": ["missing"] * 50})
    then = score_table({"exact": before, "close": [0.5] * 50})
    plan = plan_for(table, *gates, correction="holm")
    first, second = results = decide(table, plan, baseline_of(then))
    assert (first.outcome, first.p_adjusted) == ("block", 1 / 32)
    assert (second.outcome, second.p_adjusted) == ("blocked_missing", None)
    assert verdict(results, plan) == "block"


def test_decide__without_a_test_p_is_no_number() -> None:
    """Every gate refused, and a plan without any: nothing to correct."""
    table = score_table({"exact": [1, 1]})
    plan = plan_for(table, gate_of(), correction="holm", baseline_rule=BaselineRule())
    (result,) = decide(table, plan, None)
    assert (result.outcome, result.p_value, result.p_adjusted) == ("not_comparable", None, None)


# -- thresholds on evidence


@pytest.mark.parametrize(("least", "outcome"), [(3, "pass"), (4, "blocked_missing")])
def test_decide__min_scored(least: int, outcome: Outcome) -> None:
    """X-21: cases with a score, not-applicable ones apart; it only tightens."""
    table = score_table({"exact": [1, 1, 1, "na"]})
    gate = GateSpec(id="g", metric="exact", min=0.5, min_scored=least)
    (result,) = decide(table, plan_for(table, gate), None)
    assert result.outcome == outcome
    if outcome != "pass":
        assert result.reason == "only 3 cases of 4 have a score, and this gate needs 4"


def test_decide__min_scored_counts_what_is_compared() -> None:
    """X-21: enough on this side is not enough on both."""
    table = score_table({"exact": [1] * 12}, ids=[f"q{n}" for n in range(12)])
    then = baseline_of(score_table({"exact": [1] * 10}, ids=[f"q{n}" for n in range(10)]))
    for least, outcome in ((10, "pass"), (11, "not_comparable"), (13, "blocked_missing")):
        gate = gate_of("point").model_copy(update={"min_scored": least})
        (result,) = decide(table, plan_for(table, gate), then)
        assert result.outcome == outcome


@pytest.mark.parametrize(
    ("share", "outcome"), [(0.3, "pass"), (0.29, "blocked_missing"), (0.0, "blocked_missing")]
)
def test_decide__max_not_applicable(share: float, outcome: Outcome) -> None:
    """X-21, G-10: exactly the share is allowed; 0.3 of 10 cases are 3, whatever floats say."""
    table = score_table({"exact": [1] * 7 + ["na"] * 3})
    gate = GateSpec(id="g", metric="exact", min=0.5, max_not_applicable=share)
    (result,) = decide(table, plan_for(table, gate), None)
    assert result.outcome == outcome
    if outcome != "pass":
        assert "judge exact is not applicable to 3 of 10 cases" in result.reason


def test_decide__max_not_applicable_is_exact() -> None:
    """0.29 of 100 cases are 29, and 28.999999999999996 to a float."""
    table = score_table({"exact": [1] * 71 + ["na"] * 29})
    for share, outcome in ((0.29, "pass"), (0.2899, "blocked_missing")):
        gate = GateSpec(id="g", metric="exact", min=0.5, max_not_applicable=share)
        (result,) = decide(table, plan_for(table, gate), None)
        assert result.outcome == outcome


# -- what cannot be seen


def test_decide__underpowered_is_said_or_refuses() -> None:
    """X-16: 20 noisy cases cannot tell a drop of 0.05 from none."""
    before = [1.0, 0.0] * 10
    for how in get_args(Decide):
        warned = compared(gate_of(how, 0.05), before, before)
        assert warned.outcome == ("block" if how == "non-inferior" else "pass")
        assert warned.resolvable_drop is not None
        assert warned.resolvable_drop > 0.05
        assert "cannot tell a drop of 0.05 from none" in warned.reason
        refused = compared(gate_of(how, 0.05, underpowered="refuse"), before, before)
        assert refused.outcome == "not_comparable"
        assert "no drop of 0.05 can be told from none" in refused.reason
        assert (refused.delta, refused.value, refused.compared) == (None, None, None)


def test_decide__a_drop_that_was_seen_is_not_said_to_be_too_small_to_see() -> None:
    """X-16: what 40 cases cannot see is of no interest where half of them broke, and of much where two did."""
    before = [1.0] * 20 + [0.0] * 20
    for how in get_args(Decide):
        seen = compared(gate_of(how, 0.02), [0.0] * 40, before)
        assert (seen.outcome, "cannot tell" in seen.reason) == ("block", False)
        assert seen.resolvable_drop is not None
        assert 0.02 < seen.resolvable_drop < 0.5
        small = compared(gate_of(how, 0.02), [0.0] * 2 + before[2:], before)
        assert "cannot tell a drop of 0.02 from none" in small.reason


def test_decide__enough_cases_are_not_underpowered() -> None:
    before = [1.0] * 400
    for how in get_args(Decide):
        gate = gate_of(how, 0.1, underpowered="refuse")
        result = compared(gate, before, before)
        assert (result.outcome, "cannot tell" in result.reason) == ("pass", False)


def test_decide__power_is_asked_of_the_baseline_alone() -> None:
    """A candidate opens no door by what it does: its noise changes nothing of the refusal."""
    before = [1.0] * 100
    gate = gate_of("point", 0.2, underpowered="refuse")
    assert compared(gate, before, before).outcome == "pass"
    assert compared(gate, [1.0, 0.0] * 50, before).outcome == "block"


def test_decide__several_tests_share_what_can_be_seen() -> None:
    """G-30: the level that power is asked at is the strictest that Holm may hold a gate to."""
    before = [1.0] * 58 + [0.0] * 2
    table, then = score_table({"exact": before}), baseline_of(score_table({"exact": before}))
    seen = []
    for count in (1, 6):
        gates = [gate_of("significant", 0.1, name=f"g{n}") for n in range(count)]
        for correction in ("holm", "none"):
            result = decide(table, plan_for(table, *gates, correction=correction), then)[0]
            assert result.resolvable_drop is not None
            seen.append(result.resolvable_drop)
    assert seen[0] == seen[1] == seen[3]
    assert seen[2] > seen[0]


# -- marks on values


def test_decide__pass_rate_of_a_judge_of_values() -> None:
    """X-23: verdicts by its own mark; values that move on one side of it change nothing."""
    gate = gate_of(metric="close", stat="pass_rate")
    result = compared(gate, [0.6] * 20, [0.9] * 20, judges=[MARKED])
    assert (result.outcome, result.p_value, result.delta) == ("pass", 1.0, 0.0)
    result = compared(gate, [0.4] * 20, [0.9] * 20, judges=[MARKED])
    assert result.outcome == "block"
    assert result.p_value == pytest.approx(mcnemar(20, 0), abs=1e-9)
