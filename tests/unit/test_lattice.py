"""The exact p of flipped signs where values lie on a grid (G-30, X-24)."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from releasecheck.stats.lattice import lattice_p, p_no_drop
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
def test_lattice_p__is_the_share_of_all_patterns(grid: tuple[float, ...], units: int) -> None:
    drops = np.random.default_rng(units).choice(grid, units)
    assert lattice_p(drops) == pytest.approx(every_pattern(drops.tolist()), abs=1e-12)


def test_lattice_p__agrees_with_scipys_permutation_test() -> None:
    drops = np.array([0.5, 0.25, -0.25, 1.0, 0.75, -0.5, 0.25, 0.25, 0.5, -0.25])
    found = scipy_stats.permutation_test(
        (drops,), np.sum, permutation_type="samples", alternative="greater", n_resamples=np.inf
    )
    assert lattice_p(drops) == pytest.approx(found.pvalue, abs=1e-9)


@given(st.integers(0, 3_000), st.integers(0, 3_000), st.integers(0, 50))
def test_lattice_p__of_yes_and_no_is_mcnemars(failures: int, passes: int, same: int) -> None:
    drops = np.repeat([1.0, -1.0, 0.0], [failures, passes, same])
    assert lattice_p(drops) == mcnemar(failures, passes)


@given(
    st.lists(
        st.sampled_from([-1.0, -0.5, -0.1, 0.0, 0.1, 0.3, 0.75, 1.0]), min_size=1, max_size=60
    ),
    st.data(),
)
def test_lattice_p__a_worse_case_never_raises_it(drops: list[float], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(drops) - 1))
    worse = [
        *drops[:at],
        drops[at] + data.draw(st.sampled_from([0.05, 0.25, 1.0])),
        *drops[at + 1 :],
    ]
    before, after = lattice_p(np.array(drops)), lattice_p(np.array(worse))
    assert before is not None
    assert after is not None
    assert after <= before + 1e-12


def test_lattice_p__of_nothing_that_differs_is_1() -> None:
    assert lattice_p(np.zeros(20)) == 1.0
    assert lattice_p(np.zeros(0)) == 1.0


def test_p_no_drop__off_every_coarse_grid_looks_at_many_patterns() -> None:
    drops = np.random.default_rng(3).normal(0.1, 1.0, 400)
    assert lattice_p(drops) is None
    assert p_no_drop(drops, 7) == sign_flip(drops, 7)
    fine = np.random.default_rng(3).choice(np.arange(-100, 101) / 100, 20_000)
    assert lattice_p(fine) is None  # on a grid, but too many sums to look at


@pytest.mark.parametrize("value", [1e300, 1e-300, float(2**60)])
def test_p_no_drop__of_numbers_of_any_size(value: float) -> None:
    drops = np.array([value, value, -value, value, 0.0])
    assert p_no_drop(drops, 0) == pytest.approx(every_pattern([1, 1, -1, 1, 0]), abs=1e-12)


def test_lattice_p__is_never_0() -> None:
    assert 0 < (lattice_p(np.tile([1.0, 0.5], 5_000)) or 0) <= 1e-12
