"""Tails of the binomial distribution, without SciPy, whose import would cost over a second."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from releasecheck.model.table import Floats

SMALLEST: Final = 1e-30
"""No tail that can occur is said to be less: probabilities below are not computed, and not 0."""


def probabilities(n: int, q: float) -> tuple[int, Floats]:
    """Probabilities of the counts from `first` on; what lies outside is below 1e-30.

    They come from the mode outwards, each from the one before, which keeps them exact to 1e-12.
    """
    mode = min(n, math.floor((n + 1) * q))
    reach = 40 + int(12 * math.sqrt(n * q * (1 - q)))
    first, last = max(0, mode - reach), min(n, mode + reach)
    if q >= 1:
        return n, np.ones(1)
    odds = q / (1 - q)
    up = np.arange(mode, last, dtype=np.float64)
    down = np.arange(mode, first, -1, dtype=np.float64)
    with np.errstate(under="ignore"):
        rising = np.cumprod((n - up) / (up + 1) * odds)
        falling = np.cumprod(down / ((n - down + 1) * odds)) if odds > 0 else down
        weights = np.concatenate((falling[::-1], [1.0], rising))
        return first, weights / weights.sum()


def at_least(n: int, q: float, count: int) -> float:
    """P(B >= count) of B ~ Bin(n, q); 0 only where it cannot occur."""
    if count <= 0:
        return 1.0
    if count > n or q <= 0:
        return 0.0
    first, chances = probabilities(n, q)
    # The tail beyond the mean is summed, smallest term first; the other is what is left of 1. So a
    # tail that should grow never shrinks by rounding.
    if count > n * q:
        return _sum(chances[max(0, count - first) :][::-1])
    return 1.0 - (_sum(chances[: max(0, count - first)]) if count > first else 0.0)


def at_most(n: int, q: float, count: int) -> float:
    """P(B <= count) of B ~ Bin(n, q); 0 only where it cannot occur."""
    if count >= n:
        return 1.0
    if count < 0 or q >= 1:
        return 0.0
    first, chances = probabilities(n, q)
    if count < n * q:
        return _sum(chances[: max(0, count - first + 1)])
    rest = chances[max(0, count - first + 1) :]
    return 1.0 - (_sum(rest[::-1]) if rest.size else 0.0)


def _sum(chances: Floats) -> float:
    return max(SMALLEST, float(np.cumsum(chances)[-1])) if chances.size else SMALLEST
