"""p of "no drop" by flipping signs: over every pattern where values lie on a grid, else close to that.

Passes, grades, tenths and means of a few trials lie on a coarse grid, and then the distribution of the flipped
sum can be written down. What lies between two steps of the grid is held between the p of both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from releasecheck.stats.binomial import at_least
from releasecheck.stats.paired import sign_flip

if TYPE_CHECKING:
    import numpy.typing as npt

    from releasecheck.model.table import Floats

_STEPS: Final = (300, 120, 60, 30, 12, 10, 6, 4, 2, 1)
"""Steps to the whole: hundredths and thirds for few cases, and coarser ones for many."""
_COST: Final = 1_000_000
"""Sums times sizes that the grid of a comparison may have: it hangs on the number of cases alone."""
_MOST: Final = 4_000_000
"""The same, of one distribution: a fifth of a second, about."""
_NEAR: Final = 1e-9
"""Part of a step by which rounding may move a value off its grid."""
_TINY: Final = 1e-6
"""Steps that the largest drop has at least: smaller ones are rounding, or in a unit that no grid is for."""
_DIGITS: Final = 12
"""Decimals of p that are more than rounding."""
_SMALLEST: Final = 1e-12
"""No p is said to be less."""


def p_no_drop(drops: Floats, seed: int, *, span: float | None = None, largest: int = 1) -> float:
    """One-sided p of "no drop": how often flipping signs makes the sum no smaller (Fisher 1935).

    Exact for drops on the grid: for yes and no it is McNemar's. Others are put to the next step below and
    above, and p is held between the exact ones of both; between them it is that of many patterns. So it is
    never raised by a case that got worse, on the grid, off it, or from the one to the other.

    Args:
        drops: One for each case, or for each cluster the sum of its cases.
        seed: Of the patterns.
        span: The largest difference that two values of a case can have; None is 1.
        largest: Cases of the largest cluster.
    """
    p = sign_flip(drops, seed)
    steps = steps_for(drops.size, largest)
    if steps is None:
        return p
    with np.errstate(over="ignore"):
        scaled = drops * (steps / (span or 1.0))
    if not _TINY < float(np.abs(scaled).max(initial=0.0)) < _MOST:
        return p  # in another unit than any grid
    high = exact_p(np.floor(scaled + _NEAR).astype(np.int64))
    low = exact_p(np.ceil(scaled - _NEAR).astype(np.int64))
    return p if high is None or low is None else min(max(p, low), high)


def steps_for(units: int, largest: int = 1) -> int | None:
    """Steps to the whole of the grid for so many units of at most so many cases; None where all cost too much."""
    for steps in _STEPS:
        sizes = steps * largest
        if units * sizes * min(sizes, units) <= _COST:
            return steps
    return None


def exact_p(steps: npt.NDArray[np.int64]) -> float | None:
    """p over every pattern of signs, for drops in whole steps; None where that would take too long.

    Each drop of size v adds v or nothing to the sum of what is flipped, like a coin: the distribution of the
    sum is a product of cosines in the frequency domain, and with one size alone a binomial.
    """
    sizes, counts = np.unique(np.abs(steps[steps != 0]), return_counts=True)
    if sizes.size == 0:
        return 1.0
    if sizes.size == 1:
        p = at_least(int(counts[0]), 0.5, int(np.count_nonzero(steps > 0)))
        return float(f"{p:.{_DIGITS}g}")  # as `_rounded`, of a number that is exact however small
    step = int(np.gcd.reduce(sizes))
    sizes = sizes // step
    total = int((sizes * counts).sum())
    if total * sizes.size > _MOST:
        return None
    improved = int(-steps[steps < 0].sum()) // step
    return _rounded(float(_chances(sizes, counts, total)[: improved + 1].sum()))


def _rounded(p: float) -> float:
    """Without what rounding did to it: 1/4 is 1/4, and not just below a threshold of 0.25."""
    return min(1.0, max(_SMALLEST, round(p, _DIGITS)))


def _chances(sizes: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], total: int) -> Floats:
    """Probability of each sum from 0 to `total`, each unit adding its size or nothing."""
    length = 1 << total.bit_length()
    k = np.arange(length // 2 + 1)
    spectrum = np.ones(k.size)
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        # Whole numbers up to the period, so that no angle is rounded.
        spectrum *= np.cos(np.pi * ((k * size) % (2 * length)) / length) ** count
    phase = np.exp(-1j * np.pi * ((k * total) % (2 * length)) / length)
    chances: Floats = np.fft.irfft(spectrum * phase, length)
    return chances
