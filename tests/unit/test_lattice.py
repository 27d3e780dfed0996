"""The exact p of flipped signs where values lie on a grid (G-30, X-24)."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats  # type: ignore[import-untyped]

from releasecheck.stats.lattice import exact_p, p_no_drop, steps_for
from releasecheck.stats.paired import mcnemar, sign_flip

GRIDS = ((0.0, 0.5, -0.25, 1.0), (1 / 3, -2 / 3, 0.0, 1.0), (0.01, 0.37, -0.22), (3.0, -1.0, 2.0))


def every_pattern(drops: list[float]) -> float:
    """The share of all flips that leave the sum no smaller, counted one by one."""
    sums = [
        sum(drop for drop, flipped in zip(drops, pattern, strict=True) if flipped)
        for pattern in product((False, True), repeat=len(drops))
    ]
    return sum(total <= 1e-9 for total in sums) / len(sums)


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("units", [1, 2, 5, 11])
def test_p_no_drop__is_the_share_of_all_patterns(grid: tuple[float, ...], units: int) -> None:
    drops = np.random.default_rng(units).choice(grid, units)
    assert p_no_drop(drops, 0) == pytest.approx(every_pattern(drops.tolist()), abs=1e-12)


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("seed", [0, 5])
def test_p_no_drop__on_a_grid_hangs_on_no_seed(grid: tuple[float, ...], seed: int) -> None:
    drops = np.random.default_rng(2).choice(grid, 50)
    assert p_no_drop(drops, seed) == pytest.approx(p_no_drop(drops, 99), abs=1e-12)


def test_p_no_drop__agrees_with_scipys_permutation_test() -> None:
    drops = np.array([0.5, 0.25, -0.25, 1.0, 0.75, -0.5, 0.25, 0.25, 0.5, -0.25, 0.01])
    found = scipy_stats.permutation_test(
        (drops,), np.sum, permutation_type="samples", alternative="greater", n_resamples=np.inf
    )
    assert p_no_drop(drops, 0) == pytest.approx(found.pvalue, abs=1e-9)


@given(st.integers(0, 3_000), st.integers(0, 3_000), st.integers(0, 50))
def test_p_no_drop__of_yes_and_no_is_mcnemars(failures: int, passes: int, same: int) -> None:
    drops = np.repeat([1.0, -1.0, 0.0], [failures, passes, same])
    assert p_no_drop(drops, 0) == pytest.approx(mcnemar(failures, passes), abs=2e-12)
    assert p_no_drop(-drops, 3, span=1.0) == pytest.approx(mcnemar(passes, failures), abs=2e-12)


def test_p_no_drop__is_not_just_below_what_it_is() -> None:
    """Contract section 6: comparisons at a threshold are exact, 1/4 is not below 0.25."""
    assert p_no_drop(np.array([2.0, 3.0]), 0) == p_no_drop(np.array([1.0, 1.0]), 0) == 0.25


@given(
    st.lists(
        st.sampled_from([-1.0, -0.5, -0.1, 0.0, 0.1, 0.3, 0.75, 1.0, 0.123456, -0.0001, 0.7 - 0.1]),
        min_size=1,
        max_size=60,
    ),
    st.data(),
)
def test_p_no_drop__a_worse_case_never_raises_it(drops: list[float], data: st.DataObject) -> None:
    """On the grid, off it, and from the one to the other."""
    at = data.draw(st.integers(0, len(drops) - 1))
    more = data.draw(st.sampled_from([1e-7, 0.05, 0.2500001, 1.0]))
    worse = [*drops[:at], drops[at] + more, *drops[at + 1 :]]
    largest = data.draw(st.sampled_from([1, 7]))
    before, after = (
        p_no_drop(np.array(found), 0, span=2.0, largest=largest) for found in (drops, worse)
    )
    assert after <= before + 1e-12


def test_p_no_drop__of_nothing_that_differs_is_1() -> None:
    assert p_no_drop(np.zeros(20), 0) == 1.0
    assert p_no_drop(np.zeros(0), 0) == 1.0


def test_p_no_drop__off_the_grid_is_held_between_the_steps_around_it() -> None:
    drops = np.random.default_rng(3).normal(0.1, 1.0, 400)
    steps = drops * (steps_for(400) or 0)
    low = exact_p(np.ceil(steps).astype(np.int64))
    high = exact_p(np.floor(steps).astype(np.int64))
    assert low is not None
    assert high is not None
    assert low <= p_no_drop(drops, 7) <= high
    assert high - low < 0.1


def test_p_no_drop__of_what_no_grid_can_hold_looks_at_many_patterns() -> None:
    drops = np.random.default_rng(3).normal(1e5, 1e6, 400)
    assert p_no_drop(drops, 7) == sign_flip(drops, 7)


@pytest.mark.parametrize("value", [1e300, 1e-300, float(2**60)])
def test_p_no_drop__of_numbers_of_any_size(value: float) -> None:
    drops = np.array([value, value, -value, value, 0.0])
    assert p_no_drop(drops, 0) == pytest.approx(every_pattern([1, 1, -1, 1, 0]), abs=1e-12)


@pytest.mark.parametrize(
    ("units", "largest"), [(1, 1), (14, 3), (1_000, 1), (100_000, 1), (500, 30)]
)
def test_exact_p__of_the_grid_that_was_chosen_is_never_too_much(units: int, largest: int) -> None:
    """Whether p is exact hangs on how many cases there are, and not on how they turned out."""
    steps = (steps_for(units, largest) or 0) * largest
    drops = np.random.default_rng(1).integers(-steps, steps + 1, units)
    assert exact_p(drops) is not None


def test_p_no_drop__of_clusters_too_large_for_any_grid_looks_at_many_patterns() -> None:
    drops = np.random.default_rng(1).integers(-9, 10, 500).astype(np.float64)
    assert steps_for(500, 2_000) is None
    assert p_no_drop(drops, 4, largest=2_000) == sign_flip(drops, 4)


def test_p_no_drop__is_never_0() -> None:
    assert 0 < p_no_drop(np.tile([1.0, 0.5], 5_000), 0) <= 1e-12
