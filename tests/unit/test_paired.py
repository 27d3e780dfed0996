"""Tests of "no drop" and bounds on the drop, against SciPy, statsmodels and published examples."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as oracle_mcnemar  # type: ignore[import-untyped]
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]

from releasecheck.stats import (
    RESAMPLES,
    cluster_sums,
    drop_bound,
    drop_bound_yes_no,
    holm,
    mcnemar,
    not_inferior,
    paired_interval,
    sign_flip,
)
from releasecheck.stats.bounds import tango

counts = st.integers(0, 400)
drops = st.lists(
    st.one_of(st.sampled_from([0.0, 1.0, -1.0, 0.1, -0.2, 0.3, 1 / 3]), st.floats(-1e9, 1e9)),
    min_size=1,
    max_size=30,
)


def flips(new_failures: int, new_passes: int, pairs: int) -> np.ndarray:
    """Drops of so many pairs of verdicts."""
    return np.repeat(
        [1.0, -1.0, 0.0], [new_failures, new_passes, pairs - new_failures - new_passes]
    )


# -- McNemar


@pytest.mark.parametrize("new_failures", [0, 1, 3, 7, 20, 150, 1000])
@pytest.mark.parametrize("new_passes", [0, 1, 2, 9, 20, 86, 1100])
def test_mcnemar__agrees_with_scipy(new_failures: int, new_passes: int) -> None:
    total = new_failures + new_passes
    expected = (
        scipy.stats.binomtest(new_failures, total, alternative="greater").pvalue if total else 1.0
    )
    assert mcnemar(new_failures, new_passes) == pytest.approx(expected, rel=1e-9, abs=1e-30)


def test_mcnemar__is_half_of_the_two_sided_test_of_statsmodels() -> None:
    for b, c in ((16, 6), (5, 1), (40, 20)):
        two_sided = oracle_mcnemar([[59, c], [b, 80]], exact=True).pvalue
        assert 2 * mcnemar(b, c) == pytest.approx(two_sided, abs=1e-9)


def test_mcnemar__published_example() -> None:
    """Fagerland, Lydersen and Laake, "Statistical Analysis of Contingency Tables", chapter 8.

    Complete response before and after consolidation therapy (Cavo et al. 2012): 59, 6, 16 and 80 of 161;
    the exact conditional test gives P = 0.052479, of both sides.
    """
    assert 2 * mcnemar(16, 6) == pytest.approx(0.052479, abs=5e-7)


@given(counts, counts)
def test_mcnemar__a_worse_case_never_raises_p(new_failures: int, new_passes: int) -> None:
    here = mcnemar(new_failures, new_passes)
    assert 0 < here <= 1
    assert mcnemar(new_failures + 1, new_passes) <= here  # a pass that fails now
    assert mcnemar(new_failures, new_passes + 1) >= here
    assert mcnemar(new_failures + 1, new_passes) <= mcnemar(new_failures, new_passes + 1)


# -- flipping signs


def test_sign_flip__published_example() -> None:
    """R. A. Fisher, "The Design of Experiments" (1935), section 21: Darwin's 15 pairs of maize.

    The differences in height of crossed and self-fertilized plants in eighths of an inch; all 32,768
    patterns of signs are looked at.
    """
    maize = np.array([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48], dtype=float)
    oracle = scipy.stats.permutation_test(
        (maize,), np.sum, permutation_type="samples", alternative="greater", n_resamples=np.inf
    )
    assert sign_flip(maize, 0, resamples=32_767) == pytest.approx(oracle.pvalue, abs=1e-12)
    assert sign_flip(maize, 0) == pytest.approx(oracle.pvalue, abs=0.003)  # every second pattern


@given(
    st.lists(st.sampled_from([0.0, 0.1, 0.2, -0.3, 0.7, 1 / 3, -1.0, 1.0]), min_size=1, max_size=9)
)
def test_sign_flip__enumerates_few_units(values: list[float]) -> None:
    """Sums that are equal but for rounding count as reached: 0.1 + 0.2 - 0.3 is 0."""
    found = sign_flip(np.array(values), 3)
    sums = [
        math.fsum(value for value, sign in zip(values, signs, strict=True) if sign)
        for signs in itertools.product((0, 1), repeat=len(values))
    ]
    assert found == sum(total <= 1e-12 for total in sums) / len(sums)


def test_sign_flip__of_verdicts_is_mcnemar() -> None:
    for b, c in ((5, 1), (7, 0), (3, 3), (2, 9)):
        assert sign_flip(flips(b, c, 14), 0) == pytest.approx(mcnemar(b, c), abs=1e-12)


@pytest.mark.parametrize("shift", [0.0, 0.1, 0.2, 0.3])
def test_sign_flip__many_units_are_as_good_as_sampled(shift: float) -> None:
    """Against independent signs, within four errors of both; the group is drawn anew by each seed."""
    rng = np.random.default_rng(11)
    some = rng.gamma(1.0, 1.0, 60) * rng.choice([-1, 1], 60) + shift
    signs = np.where(rng.random((100_000, 60)) < 0.5, -1.0, 1.0)
    sampled = float((signs @ some >= some.sum() - 1e-9).mean())
    error = math.sqrt(sampled * (1 - sampled) / RESAMPLES)
    for seed in range(5):
        assert sign_flip(some, seed) == pytest.approx(sampled, abs=4 * error + 1e-4)


def test_sign_flip__is_right_for_values_that_did_not_change() -> None:
    """Of 2,000 comparisons without any change at most 5 % have a p below 5 %, within its own error."""
    rng = np.random.default_rng(4)
    low = sum(sign_flip(rng.exponential(size=20) - rng.exponential(size=20), 7, 255) <= 0.05
              for _ in range(2000))  # fmt: skip
    assert abs(low / 2000 - 0.05) < 3 * math.sqrt(0.05 * 0.95 / 2000)


def test_sign_flip__decides_alike_with_any_library() -> None:
    """A stored decision is recomputed years later: the exact p of fixed drops, forever."""
    fixed = np.array([((7 * index * index) % 23 - 11) / 8 for index in range(40)])
    found = [sign_flip(fixed, seed) * 2**14 for seed in (0, 1, 20_260_101)]
    assert found == [50, 64, 53]


@given(drops, st.data())
def test_sign_flip__a_worse_unit_never_raises_p(values: list[float], data: st.DataObject) -> None:
    worse = list(values)
    place = data.draw(st.integers(0, len(values) - 1))
    worse[place] += data.draw(st.one_of(st.floats(0, 1e9), st.just(5e-324), st.just(1e-17)))
    for seed in (0, 99):
        here, there = sign_flip(np.array(values), seed, 500), sign_flip(np.array(worse), seed, 500)
        assert 0 < there <= here <= 1


def test_sign_flip__a_case_that_begins_to_differ_never_raises_p() -> None:
    """Zeros keep their place: left out, every later unit would be flipped by other patterns."""
    rng = np.random.default_rng(8)
    some = np.where(rng.random(40) < 0.4, 0.0, rng.normal(0.2, 1.0, 40))
    here = sign_flip(some, 0)
    for place in np.flatnonzero(some == 0).tolist():
        worse = some.copy()
        worse[place] = 1e-6
        assert sign_flip(worse, 0) <= here


@given(drops, st.data())
def test_sign_flip__a_worse_case_of_a_cluster_never_raises_p(
    values: list[float], data: st.DataObject
) -> None:
    numbers = st.lists(st.integers(0, 5), min_size=len(values), max_size=len(values))
    clusters = np.array(data.draw(numbers), dtype=np.intp)
    worse = np.array(values)
    worse[data.draw(st.integers(0, len(values) - 1))] += data.draw(st.floats(0, 1e9))
    here = sign_flip(cluster_sums(np.array(values), clusters), 0, 500)
    assert sign_flip(cluster_sums(worse, clusters), 0, 500) <= here


def test_sign_flip__nothing_differs_or_nothing_is_there() -> None:
    assert [sign_flip(np.zeros(n), 0) for n in (0, 1, 14, 300)] == [1.0] * 4


@pytest.mark.parametrize("huge", [1.7e308, math.inf])
def test_sign_flip__huge_values_overflow_nowhere(huge: float) -> None:
    """B59: a broken judge makes no NaN."""
    assert sign_flip(np.full(20, huge), 0) == 2.0**-14
    assert sign_flip(np.full(20, -huge), 0) == 1.0
    assert 0.4 < sign_flip(np.tile([huge, -huge], 10), 0) < 0.7
    with pytest.raises(ValueError, match="NaN"):
        sign_flip(np.array([0.5, math.nan]), 0)


# -- Holm


def test_holm__published_example() -> None:
    """Vallat, "Pingouin: statistics in Python" (2018): the example of its function `holm`."""
    adjusted = [0.64, 0.012, 0.64, 0.162, 0.0015]
    assert holm([0.50, 0.003, 0.32, 0.054, 0.0003]) == pytest.approx(adjusted, abs=1e-12)


p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_holm__agrees_with_statsmodels() -> None:
    rng = np.random.default_rng(2)
    for count in (1, 2, 3, 10, 40):
        values = (rng.random(count) ** 3).round(2)  # some equal
        expected = multipletests(values, method="holm")[1]
        assert holm(values.tolist()) == pytest.approx(expected, abs=1e-9)


@given(p_values, st.data())
def test_holm__a_smaller_p_raises_none(values: list[float], data: st.DataObject) -> None:
    smaller = list(values)
    smaller[data.draw(st.integers(0, len(values) - 1))] *= data.draw(st.floats(0, 1))
    assert all(there <= here for there, here in zip(holm(smaller), holm(values), strict=True))
    assert all(after >= before for after, before in zip(holm(values), values, strict=True))


def test_holm__of_nothing() -> None:
    assert holm([]) == []


# -- bounds of verdicts


def test_tango__published_example() -> None:
    """Fagerland, Lydersen and Laake, chapter 8, the same table: -0.0621 (95 % CI -0.1240 to -0.0054)."""
    low, high = interval_of(flips(6, 16, 161))
    assert (round(low, 4), round(high, 4)) == (-0.1240, -0.0054)


def interval_of(differences: np.ndarray, confidence: float = 0.95) -> tuple[float, float]:
    found = paired_interval(differences, None, confidence, yes_no=True)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("b", "c", "n"), [(6, 16, 161), (0, 0, 50), (3, 0, 40), (0, 5, 5), (7, 7, 14)]
)
def test_tango__the_interval_is_where_the_score_test_turns(b: int, c: int, n: int) -> None:
    z = scipy.stats.norm.ppf(0.975)
    low, high = interval_of(flips(b, c, n))
    assert low == pytest.approx(-1) or tango(b, c, n, low) == pytest.approx(z, abs=1e-6)
    assert high == pytest.approx(1) or tango(b, c, n, high) == pytest.approx(-z, abs=1e-6)


def test_tango__without_an_allowed_drop_is_mcnemars_statistic() -> None:
    """Tango 1998: McNemar's test is the special case of a difference of 0."""
    assert tango(16, 6, 161, 0.0) == pytest.approx((16 - 6) / math.sqrt(16 + 6), abs=1e-12)


@pytest.mark.parametrize("background", [0.0, 0.004, 0.03, 0.2, 0.4])
@pytest.mark.parametrize(
    ("pairs", "max_drop"), [(20, 0.1), (50, 0.02), (50, 0.1), (100, 0.02), (200, 0.01)]
)
def test_not_inferior__passes_no_more_drops_than_it_says(
    pairs: int, max_drop: float, background: float
) -> None:
    """Exactly, over every number of flips: the drop is `max_drop`, which is not less than it."""
    for alpha in (0.1, 0.05, 0.01):
        passing = 0.0
        for new_passes in range(pairs + 1):
            weight = scipy.stats.binom.pmf(new_passes, pairs, background)
            if weight < 1e-9:
                continue
            most = -1
            while (
                most < pairs - new_passes
                and not_inferior(most + 1, new_passes, pairs, max_drop) <= alpha
            ):
                most += 1
            chance = (background + max_drop) / (1 - background)
            passing += weight * scipy.stats.binom.cdf(most, pairs - new_passes, chance)
        assert passing <= alpha


@given(st.integers(2, 300), st.data())
def test_drop_bound_yes_no__is_where_not_inferior_turns(pairs: int, data: st.DataObject) -> None:
    failures = data.draw(st.integers(0, pairs))
    passes = data.draw(st.integers(0, pairs - failures))
    bound = drop_bound_yes_no(failures, passes, pairs, 0.95)
    assert (failures - passes) / pairs <= bound <= 1
    assert bound == 1 or not_inferior(failures, passes, pairs, bound) <= 0.05
    assert not_inferior(failures, passes, pairs, max(-1.0, bound - 1e-9)) > 0.05
    if failures + passes < pairs:
        assert drop_bound_yes_no(failures + 1, passes, pairs, 0.95) >= bound


def test_drop_bound_yes_no__no_flip_is_no_proof() -> None:
    """With nothing flipped in 50 cases a drop of 5 % is still possible: 0.95 ** 50 is 8 %."""
    assert 0.058 < drop_bound_yes_no(0, 0, 50, 0.95) < 0.07
    assert not_inferior(0, 0, 50, 0.05) > 0.05
    assert not_inferior(3, 0, 5, 1.0) == 0.0


# -- bounds of values


def test_drop_bound__is_students_for_drops_that_are_not_skewed() -> None:
    values = np.array([0.3, -0.3, 0.1, -0.1, 0.25, -0.25]) + 0.02
    oracle = 0.02 + scipy.stats.t.ppf(0.95, 5) * scipy.stats.sem(values)
    assert drop_bound(values, None, 0.95, 1.0) == pytest.approx(oracle, abs=1e-9)


def test_drop_bound__two_sided_end_of_scipys_test() -> None:
    """`ttest_1samp` gives the same end where improvements are the rare large ones."""
    values = np.array([0.1, 0.2, 0.15, -1.0, 0.1, 0.05, 0.12, 0.2])
    oracle = scipy.stats.ttest_1samp(values, 0).confidence_interval(0.9).high
    assert drop_bound(values, None, 0.95, 1.0) == pytest.approx(oracle, abs=1e-9)


def test_drop_bound__rare_large_drops_are_not_taken_for_noise() -> None:
    """Two of fifty lose everything: Student's t alone would say at most 8.7 %."""
    values = np.zeros(50)
    values[:2] = 1.0
    student = values.mean() + scipy.stats.t.ppf(0.95, 49) * scipy.stats.sem(values)
    bound = drop_bound(values, None, 0.95, 1.0)
    assert bound is not None
    assert bound > student + 0.015
    assert bound > scipy.stats.binomtest(2, 50).proportion_ci(0.9).high - 0.02


def test_drop_bound__equal_drops_say_nothing_of_spread() -> None:
    """Ten equal drops: one case in four might have lost the whole span unseen (0.74 ** 10 is 5 %)."""
    same = np.full(10, 0.1)
    assert drop_bound(same, None, 0.95, 2.0) == pytest.approx(0.1 + 2 * (1 - 0.05**0.1), abs=1e-12)
    assert drop_bound(same, None, 0.95, None) is None
    pairs = np.repeat(np.arange(5), 2)
    bound = drop_bound(same, pairs, 0.95, 2.0)
    assert bound == pytest.approx(0.1 + 2 * (1 - 0.05**0.2), abs=1e-12)  # of five clusters


@pytest.mark.parametrize("clusters", [None, np.array([0, 0, 0]), np.array([0])])
def test_drop_bound__is_absent_for_fewer_than_two_clusters(clusters: np.ndarray | None) -> None:
    size = 1 if clusters is None else clusters.size
    assert drop_bound(np.linspace(0, 0.5, size), clusters, 0.95, 1.0) is None
    assert paired_interval(np.linspace(0, 0.5, size), clusters, 0.95, yes_no=False) is None


def test_drop_bound__verdicts_in_clusters_count_for_less() -> None:
    verdicts, alone = flips(6, 2, 60), np.arange(60)
    free = drop_bound_yes_no(6, 2, 60, 0.95)
    together = drop_bound(verdicts, alone // 3, 0.95, 1.0)
    assert together is not None
    assert together > free
    none = drop_bound(np.zeros(60), alone // 3, 0.95, 1.0)
    assert none == drop_bound_yes_no(0, 0, 20, 0.95)  # nothing flipped: a cluster counts once


def test_drop_bound__huge_values_are_no_number() -> None:
    """B59."""
    assert drop_bound(np.array([1.7e308, -1.7e308, math.inf]), None, 0.95, None) is None


# -- intervals


def test_paired_interval__agrees_with_scipy() -> None:
    values = np.random.default_rng(3).normal(0.02, 0.2, 60)
    oracle = scipy.stats.ttest_1samp(values, 0).confidence_interval(0.95)
    found = paired_interval(values, None, 0.95, yes_no=False)
    assert found == pytest.approx((oracle.low, oracle.high), abs=1e-9)


def test_paired_interval__mirrors() -> None:
    for some, clusters, yes_no in (
        (flips(5, 2, 30), None, True),
        (flips(5, 2, 30), np.arange(30) // 3, True),
        (np.linspace(-0.2, 0.5, 30), np.arange(30) // 3, False),
    ):
        found = paired_interval(some, clusters, 0.95, yes_no=yes_no)
        mirrored = paired_interval(-some, clusters, 0.95, yes_no=yes_no)
        assert found is not None
        assert mirrored == pytest.approx((-found[1], -found[0]), abs=1e-9)


def test_paired_interval__nothing_flipped_is_not_certain() -> None:
    alone = paired_interval(np.zeros(60), None, 0.95, yes_no=True)
    assert alone is not None
    assert -0.07 < alone[0] < 0 < alone[1] < 0.07
    clustered = paired_interval(np.zeros(60), np.arange(60) // 3, 0.95, yes_no=True)
    assert clustered == interval_of(np.zeros(20))
    assert paired_interval(np.zeros(60), None, 0.95, yes_no=False) is None
