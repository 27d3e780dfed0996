"""Clusters: errors and intervals of cases that fail together, and the binomial tails behind them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped]
import statsmodels.api  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint  # type: ignore[import-untyped]

from releasecheck.stats import (
    chosen,
    clipped,
    cluster_sums,
    clusters_of,
    mean_interval,
    quantile_interval,
    quantile_ranks,
    robust_error,
    share_interval,
)
from releasecheck.stats.binomial import at_least, at_most
from releasecheck.stats.clusters import effective_size


def some_clusters(n: int, seed: int) -> np.ndarray:
    """Clusters of one to six units, each met twice."""
    rng = np.random.default_rng(seed)
    numbers = np.repeat(np.arange(n), rng.integers(1, 7, n))[:n]
    shuffled = rng.permutation(numbers)
    found = clusters_of([f"c{number}" for number in shuffled.tolist()])
    assert found is not None
    return found


# -- which units share a cluster


def test_clusters_of__numbers_them_as_they_come() -> None:
    found = clusters_of(["b", None, "a", "b", None, "a"])
    assert found is not None
    assert found.tolist() == [0, 1, 2, 0, 3, 2]


@pytest.mark.parametrize("names", [[], [None, None], ["a", "b"], ["a", None, "b"]])
def test_clusters_of__is_none_where_nothing_is_shared(names: list[str | None]) -> None:
    assert clusters_of(names) is None


def test_chosen__keeps_who_shares_with_whom() -> None:
    clusters = np.array([0, 1, 0, 2, 2, 3])
    found = chosen(clusters, np.array([3, 0, 4]))
    assert found is not None
    assert found.tolist() == [0, 1, 0]
    assert chosen(clusters, np.array([0, 1, 3])) is None
    assert chosen(None, np.array([0, 1])) is None


def test_cluster_sums__by_cluster() -> None:
    values = np.array([1.0, 2.0, 4.0])
    assert cluster_sums(values, np.array([1, 0, 1])).tolist() == [2.0, 5.0]
    assert cluster_sums(values, None).tolist() == values.tolist()
    assert np.isfinite(cluster_sums(np.full(50, 1.7e308), np.arange(50) // 25)).all()
    with pytest.raises(ValueError, match="NaN"):
        clipped(np.array([0.0, math.nan]))


# -- errors


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_robust_error__agrees_with_statsmodels(seed: int) -> None:
    """CR1: G / (G - 1), for a mean the same as its correction for the number of coefficients."""
    values = np.random.default_rng(seed).normal(0.5, 0.2, 57)
    clusters = some_clusters(57, seed)
    fit = statsmodels.api.OLS(values, np.ones(57)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": True}, use_t=True
    )
    found = robust_error(values, clusters)
    assert found is not None
    assert found[0] == pytest.approx(fit.bse[0], abs=1e-9)
    assert found[1] == clusters.max()
    interval = mean_interval(values, 0.95, clusters)
    assert interval == pytest.approx(fit.conf_int(0.05)[0], abs=1e-9)


def test_robust_error__without_clusters_is_the_usual_one() -> None:
    values = np.random.default_rng(9).normal(size=30)
    expected = scipy.stats.sem(values), 29
    assert robust_error(values, None) == pytest.approx(expected, abs=1e-12)
    assert robust_error(values, np.arange(30)) == pytest.approx(expected, abs=1e-12)


def test_robust_error__of_equal_values_is_zero() -> None:
    """0.1 has a rounded mean; what rounding leaves is no spread."""
    assert robust_error(np.full(7, 0.1), None) == (0.0, 6)
    balanced = np.tile([0.1, 0.3], 20)
    assert robust_error(balanced, np.arange(40) // 2) == (0.0, 19)


@pytest.mark.parametrize(
    ("values", "clusters"), [([], None), ([0.5], None), ([0.5, 0.7], [0, 0]), ([1.7e308, -1.7e308], None)]
)  # fmt: skip
def test_robust_error__is_absent_where_nothing_can_be_said(
    values: list[float], clusters: list[int] | None
) -> None:
    numbers = None if clusters is None else np.array(clusters)
    assert robust_error(np.array(values), numbers) is None
    assert mean_interval(np.array(values), 0.95, numbers) is None
    assert share_interval(np.clip(np.array(values), 0, 1), numbers, 0.95) is None or not clusters


def test_effective_size__clusters_that_agree_count_once() -> None:
    together = np.repeat([1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0], 5)
    found = effective_size(together, np.arange(40) // 5)
    assert found is not None
    assert found[0] == pytest.approx(8, rel=0.15)
    alone = effective_size(together, None)
    assert alone is not None
    assert alone[0] == pytest.approx(40)


# -- intervals


@pytest.mark.parametrize(("passes", "n"), [(0, 12), (3, 12), (81, 84), (84, 84)])
def test_share_interval__agrees_with_statsmodels(passes: int, n: int) -> None:
    ones = (np.arange(n) < passes).astype(float)
    oracle = proportion_confint(passes, n, alpha=0.05, method="wilson")
    assert share_interval(ones, None, 0.95) == pytest.approx(oracle, abs=1e-9)


def test_share_interval__is_wider_where_clusters_agree() -> None:
    together = np.repeat([1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0], 5)
    alone, grouped = (share_interval(together, c, 0.95) for c in (None, np.arange(40) // 5))
    assert alone is not None
    assert grouped is not None
    assert grouped[0] < alone[0] < alone[1] < grouped[1]
    mixed = share_interval(together, np.arange(40) % 8, 0.95)  # clusters that even out gain nothing
    assert mixed is not None
    assert mixed[0] <= alone[0]


def test_share_interval__of_nothing_but_passes_counts_clusters() -> None:
    found = share_interval(np.ones(40), np.arange(40) // 5, 0.95)
    oracle = proportion_confint(8, 8, alpha=0.05, method="wilson")
    assert found == pytest.approx(oracle, abs=1e-9)


def test_quantile_interval__without_clusters_is_of_order_statistics() -> None:
    values = np.random.default_rng(2).normal(size=84)
    ranks = quantile_ranks(84, Fraction(1, 2), 0.95)
    assert ranks is not None
    ordered = np.sort(values)
    expected = ordered[ranks[0] - 1], ordered[ranks[1] - 1]
    assert quantile_interval(values, Fraction(1, 2), 0.95) == expected


def test_quantile_interval__repeated_measurements_add_nothing() -> None:
    """Each of 60 values five times: as wide as of 60, where 300 would be less than half of it."""
    values = np.random.default_rng(3).normal(size=60)
    once = quantile_interval(values, Fraction(1, 2), 0.95)
    again = quantile_interval(np.repeat(values, 5), Fraction(1, 2), 0.95, np.arange(300) // 5)
    fooled = quantile_interval(np.repeat(values, 5), Fraction(1, 2), 0.95)
    assert once is not None
    assert again is not None
    assert fooled is not None
    assert again[0] <= once[0] < fooled[0] < fooled[1] < once[1] <= again[1]
    tail = quantile_interval(np.repeat(values, 5), Fraction(99, 100), 0.95, np.arange(300) // 5)
    assert tail is None  # sixty independent values say nothing of the rarest one


@pytest.mark.parametrize("clustered", [False, True])
def test_intervals__cover_what_they_say(clustered: bool) -> None:
    """95 % of 1,000 intervals hold the truth, within three errors of that count."""
    rng = np.random.default_rng(1)
    numbers = np.repeat(np.arange(40), 5) if clustered else None
    held = np.zeros(3)
    for _ in range(1000):
        noise = rng.normal(size=200)
        if numbers is not None:
            noise = math.sqrt(0.5) * (noise + rng.normal(size=40)[numbers])
        found = (
            (share_interval((noise < 0.5244005).astype(float), numbers, 0.95), 0.7),
            (mean_interval(noise, 0.95, numbers), 0.0),
            (quantile_interval(noise, Fraction(9, 10), 0.95, numbers), 1.2815516),
        )
        held += [pair is not None and pair[0] <= truth <= pair[1] for pair, truth in found]
    assert (held / 1000 > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 1000)).all()


# -- binomial tails


@given(st.integers(1, 3000), st.floats(0.0001, 0.9999), st.data())
def test_tails__agree_with_scipy(n: int, q: float, data: st.DataObject) -> None:
    count = data.draw(st.integers(-1, n + 1))
    beyond = scipy.stats.binom.sf(count - 1, n, q)
    assert at_least(n, q, count) == pytest.approx(beyond, rel=1e-9, abs=1e-29)
    assert at_most(n, q, count) == pytest.approx(
        scipy.stats.binom.cdf(count, n, q), rel=1e-9, abs=1e-29
    )


def test_tails__of_certain_things() -> None:
    assert [at_least(5, q, 1) for q in (0.0, 1.0)] == [0.0, 1.0]
    assert [at_most(5, q, 4) for q in (0.0, 1.0)] == [1.0, 0.0]
    assert [at_least(5, 0.5, 6), at_most(5, 0.5, -1), at_least(5, 0.5, 0), at_most(5, 0.5, 5)] == [
        0,
        0,
        1,
        1,
    ]
    assert at_least(100_000, 0.5, 90_000) > 0
