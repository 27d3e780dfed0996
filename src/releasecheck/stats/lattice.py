"""The exact distribution of flipped sums, where values lie on a grid: passes, grades, tenths, means of trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from releasecheck.stats.binomial import at_least
from releasecheck.stats.paired import sign_flip

if TYPE_CHECKING:
    import numpy.typing as npt

    from releasecheck.model.table import Floats

_SCALES: Final = (
    1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 16, 20, 24, 25, 30, 40, 50, 60, 100, 120, 150, 200, 250, 300, 400, 500, 600,
    1_000, 1_200, 2_000, 3_000, 10_000, 12_000, 30_000, 100_000,
)  # fmt: skip
"""Steps to the whole that are tried: decimals, and what a few trials make of them."""
_NEAR: Final = 1e-9
"""Part of a step by which rounding may move a value off its grid."""
_SMALLEST: Final = 1e-12
"""No p is said to be less: below it there is only rounding."""
_NOTHING: Final = 1e-12
"""Part of the largest difference that is no difference."""
_MOST: Final = 4_000_000
"""Terms of the distribution times distinct values: a fifth of a second, about."""


def p_no_drop(drops: Floats, seed: int) -> float:
    """One-sided p of "no drop" by flipping signs: over every pattern where that can be had, else over many.

    Args:
        drops: One for each case, or for each cluster the sum of its cases.
        seed: Of the patterns, where not all can be looked at.
    """
    p = lattice_p(drops)
    return sign_flip(drops, seed) if p is None else p


def lattice_p(drops: Floats) -> float | None:
    """One-sided p of "no drop" over every pattern of signs; None where no coarse grid holds the drops.

    Each drop of size v adds v or nothing to the sum of what is flipped, like a coin: the distribution of the
    sum is a product of cosines in the frequency domain. With one size alone it is McNemar's binomial.
    """
    steps = _on_grid(drops)
    if steps is None:
        return None
    sizes, counts = np.unique(np.abs(steps[steps != 0]), return_counts=True)
    if sizes.size == 0:
        return 1.0
    if sizes.size == 1:
        return at_least(int(counts[0]), 0.5, int(np.count_nonzero(steps > 0)))
    total = int((sizes * counts).sum())
    if total * sizes.size > _MOST:
        return None
    improved = int(-steps[steps < 0].sum())
    p = float(_chances(sizes, counts, total)[: improved + 1].sum())
    return min(1.0, max(_SMALLEST, p))


def _on_grid(drops: Floats) -> npt.NDArray[np.int64] | None:
    """The drops as multiples of the largest step that divides them all."""
    largest = float(np.abs(drops).max(initial=0.0))
    nothing = np.abs(drops) <= _NOTHING * largest  # what rounding leaves of a difference of 0
    for scale in _SCALES:
        if largest * scale > _MOST:
            return None
        scaled = drops * scale
        steps = np.rint(scaled)
        near = np.abs(scaled - steps) <= _NEAR
        if bool((near & ((steps != 0) | nothing)).all()):
            whole = steps.astype(np.int64)
            step = int(np.gcd.reduce(whole)) if whole.size else 0
            return whole // step if step > 1 else whole
    return None


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
