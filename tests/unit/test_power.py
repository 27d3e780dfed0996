"""The smallest drop a gate can see: against enumeration, statsmodels, and what is not known."""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING

import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped]
from statsmodels.stats.power import TTestPower  # type: ignore[import-untyped]

from releasecheck.stats import (
    Column,
    Values,
    YesNo,
    column,
    detectable_drop,
    from_baseline,
    from_pairs,
    mcnemar,
    not_inferior,
    resolvable_drop,
    robust_error,
)
from tests.unit.tables import score_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.model.gate import Decide
    from releasecheck.stats import Spread
    from tests.unit.tables import Cell

DECIDES: tuple[Decide, ...] = ("point", "significant", "non-inferior")


def blocking(decide: Decide, max_drop: float, spread: YesNo, drop: float) -> float:
    """The probability to block, over all counts of new failures and passes."""
    n, half = spread.pairs, spread.flips_share / 2
    chances = scipy.stats.multinomial(n, [half + drop, half, 1 - 2 * half - drop])
    total = 0.0
    for failures in range(n + 1):
        for passes in range(n - failures + 1):
            over = failures - passes > n * max_drop
            if decide == "significant":
                over = over and mcnemar(failures, passes) < 0.05
            elif decide == "non-inferior":
                over = not_inferior(failures, passes, n, max_drop) > 0.05
            if over:
                total += chances.pmf([failures, passes, n - failures - passes])
    return total


@pytest.mark.parametrize("decide", DECIDES)
def test_detectable_drop__blocks_four_in_five(decide: Decide) -> None:
    """Issue of verdicts in small suites: counted, not approximated."""
    spread = YesNo(25, 0.1)
    found = detectable_drop(decide, 0.3, spread, 0.05)
    assert found is not None
    assert found > 0
    assert blocking(decide, 0.3, spread, found) == pytest.approx(0.8, abs=0.001)
    assert detectable_drop("non-inferior", 0.06, spread, 0.05) == 0
    assert blocking("non-inferior", 0.06, spread, 0.0) >= 0.8


def test_detectable_drop__of_many_verdicts_joins_the_exact_one() -> None:
    for decide in DECIDES:
        exact = detectable_drop(decide, 0.02, YesNo(1000, 0.1), 0.05)
        normal = detectable_drop(decide, 0.02, YesNo(1001, 0.1), 0.05)
        assert exact == pytest.approx(normal, rel=0.06)


@pytest.mark.parametrize("cases", [10, 50, 200, 5000])
def test_resolvable_drop__agrees_with_statsmodels_power(cases: int) -> None:
    """Its noncentral t and our two quantiles differ by less than a hundredth."""
    effect = TTestPower().solve_power(nobs=cases, alpha=0.05, power=0.8, alternative="larger")
    found = resolvable_drop(Values(1 / cases**0.5, cases - 1), 0.05)
    assert found == pytest.approx(effect, rel=0.01)


def test_detectable_drop__of_values_by_decision() -> None:
    spread = Values(0.01, 199)
    told = scipy.stats.t.ppf(0.95, 199) * 0.01
    sure = scipy.stats.t.ppf(0.8, 199) * 0.01
    assert detectable_drop("point", 0.05, spread, 0.05) == pytest.approx(0.05 + sure, abs=1e-9)
    assert detectable_drop("significant", 0.05, spread, 0.05) == pytest.approx(
        0.05 + sure, abs=1e-9
    )
    assert detectable_drop("significant", 0.0, spread, 0.05) == pytest.approx(told + sure, abs=1e-9)
    found = detectable_drop("non-inferior", 0.05, spread, 0.05)
    assert found == pytest.approx(0.05 - told + sure, abs=1e-9)
    assert detectable_drop("non-inferior", 0.001, spread, 0.05) == 0.0  # blocks what did not change


def test_resolvable_drop__too_few_cases_resolve_nothing() -> None:
    """Four clusters have sixteen patterns of signs: none is rarer than one in twenty."""
    assert resolvable_drop(Values(0.001, 3), 0.05) is None
    assert resolvable_drop(Values(0.001, 4), 0.05) is not None
    assert resolvable_drop(YesNo(4, 0.1), 0.05) is None
    assert resolvable_drop(YesNo(50, 0.1), 0.05) == pytest.approx(0.198, abs=0.001)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.4])
@pytest.mark.parametrize("pairs", [6, 30, 200])
def test_detectable_drop__more_cases_see_more(pairs: int, share: float) -> None:
    """Where it is more than discreteness: twelve times the cases."""
    few = resolvable_drop(YesNo(pairs, share), 0.05)
    many = resolvable_drop(YesNo(12 * pairs, share), 0.05)
    assert many is not None
    assert few is None or many < few
    for decide in DECIDES:
        found = detectable_drop(decide, 0.1, YesNo(pairs, share), 0.05)
        assert found is None or 0 <= found <= 1


# -- where the spread comes from


def assert_like(found: Spread | None, expected: Spread) -> None:
    assert type(found) is type(expected)
    assert found is not None
    assert astuple(found) == pytest.approx(astuple(expected), rel=1e-9)


def judged(*cells: Cell | Sequence[Cell], judge: str = "close") -> Column:
    found = column(score_table({judge: cells}), judge)
    assert found is not None
    return found


def test_from_pairs__of_verdicts() -> None:
    drops = np.array([1.0, -1.0, 1.0, 0, 0, 0, 0, 0, 0, 0])
    assert from_pairs(drops, None, yes_no=True, span=1.0) == YesNo(10, 0.3)
    assert from_pairs(drops[:1], None, yes_no=True, span=1.0) is None


def test_from_pairs__nothing_flipped_is_not_no_noise() -> None:
    """With 3 % of flips in every run a hundred cases show none in one run of twenty."""
    found = from_pairs(np.zeros(100), None, yes_no=True, span=1.0)
    assert_like(found, YesNo(100, 1 - 0.05**0.01))
    values = from_pairs(np.zeros(100), None, yes_no=False, span=2.0)
    assert_like(values, Values(2 * ((1 - 0.05**0.01) / 100) ** 0.5, 99))
    assert from_pairs(np.zeros(100), None, yes_no=False, span=None) is None


def test_from_pairs__by_cluster() -> None:
    values = np.random.default_rng(1).normal(size=40)
    clusters = np.arange(40) // 4
    error = robust_error(values, clusters)
    assert error is not None
    assert from_pairs(values, clusters, yes_no=False, span=None) == Values(*error)
    together = np.repeat([1.0, 0, -1.0, 0, 0, 0, 0, 0, 0, 0], 4)  # whole clusters flip
    found = from_pairs(together, clusters, yes_no=True, span=1.0)
    assert isinstance(found, YesNo)
    assert found.pairs < 11
    none = from_pairs(np.zeros(40), clusters, yes_no=True, span=1.0)
    assert_like(none, YesNo(10, 1 - 0.05**0.1))


def test_from_baseline__one_trial_is_taken_for_nothing_in_common() -> None:
    passed = judged(*[1] * 8, *[0] * 2, judge="exact")
    found = from_baseline(passed, None, pass_rule="majority", span=1.0)  # noqa: S106
    assert_like(found, YesNo(10, 0.32))
    values = np.linspace(0.1, 0.9, 12)
    found = from_baseline(judged(*values.tolist()), None, pass_rule=None, span=1.0)
    expected = 2**0.5 * scipy.stats.sem(values)
    assert_like(found, Values(expected, 11))


def test_from_baseline__trials_know_the_noise() -> None:
    """Easy and hard cases differ by much, runs by little: twice the variance between trials counts."""
    level = np.linspace(0.1, 0.9, 20)
    trials = level[:, None] + np.array([0.01, -0.01])
    found = from_baseline(judged(*trials.tolist()), None, pass_rule=None, span=1.0)
    expected = (2 * (2 * 0.01**2) / 2 / 20) ** 0.5
    assert_like(found, Values(expected, 19))
    stable = from_baseline(judged(*[[1, 1]] * 10, *[[0, 0]] * 10, judge="exact"), None, pass_rule="all", span=1.0)  # noqa: S106  # fmt: skip
    assert_like(stable, YesNo(20, 1 - 0.05**0.05))
    shaky = from_baseline(judged(*[[1, 1, 0]] * 10, judge="exact"), None, pass_rule="majority", span=1.0)  # noqa: S106  # fmt: skip
    assert isinstance(shaky, YesNo)
    chance = scipy.stats.binom.sf(
        1, 3, 2 / 3
    )  # all passed by two of three; it might have been otherwise
    assert shaky.flips_share == pytest.approx(2 * chance * (1 - chance))


def test_from_baseline__cases_of_a_cluster_may_wobble_together() -> None:
    shift = np.array([[0.1, -0.1], [-0.1, 0.1], [0.1, -0.1], [-0.1, 0.1]])
    together = 0.5 + np.repeat(shift, 5, axis=0)
    col = judged(*together.tolist())
    alone = from_baseline(col, None, pass_rule=None, span=1.0)
    grouped = from_baseline(col, np.arange(20) // 5, pass_rule=None, span=1.0)
    assert isinstance(alone, Values)
    assert isinstance(grouped, Values)
    assert grouped.error == pytest.approx(5**0.5 * alone.error)
    assert grouped.freedom == 3


def test_from_baseline__looks_at_measured_cases_only() -> None:
    col = judged(0.2, "na", 0.4, "na", 0.9)
    clusters = np.array([0, 1, 2, 0, 3])
    found = from_baseline(col, clusters, pass_rule=None, span=1.0)
    assert_like(found, Values(2**0.5 * scipy.stats.sem([0.2, 0.4, 0.9]), 2))
    for nothing in (judged("na", "na"), judged(0.5)):
        assert from_baseline(nothing, None, pass_rule=None, span=1.0) is None
        assert from_baseline(nothing, None, pass_rule="majority", span=1.0) is None  # noqa: S106
