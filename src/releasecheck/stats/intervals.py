"""Two-sided intervals: Wilson for yes/no, t for means, order statistics for quantiles.

Where units share clusters, they count as fewer: as many independent ones as would have the same error.

SciPy is the oracle of the tests; importing it at run time would cost over a second.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

from releasecheck.stats.binomial import probabilities
from releasecheck.stats.clusters import effective_size, robust_error
from releasecheck.stats.exact import quantile_rank

if TYPE_CHECKING:
    from fractions import Fraction

    from releasecheck.model.table import Floats, Indices

_NORMAL: Final = NormalDist()
_MANY: Final = 1000
"""Degrees of freedom from which the expansion around the normal quantile is exact to 1e-12."""


def wilson(passes: int, n: int, confidence: float) -> tuple[float, float] | None:
    """Wilson's score interval for `passes` of `n`; None for fewer than two (Wilson 1927)."""
    return _wilson(passes / n, n, confidence) if n >= 2 else None


def share_interval(
    passed: Floats, clusters: Indices | None, confidence: float
) -> tuple[float, float] | None:
    """Wilson's interval for the share of ones among zeros and ones; None for fewer than two clusters."""
    if passed.size < 2:
        return None
    share = float(np.count_nonzero(passed)) / passed.size
    n = _effective(passed, clusters, confidence)
    return None if n is None else _wilson(share, n, confidence)


def _wilson(share: float, n: float, confidence: float) -> tuple[float, float]:
    z = _NORMAL.inv_cdf((1 + confidence) / 2)
    spread = z * z / n
    centre = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / n + spread / (4 * n)) / (1 + spread)
    # At the ends the bound is exactly 0 or 1; rounding must not put it beside them.
    return (0.0 if share == 0 else centre - half, 1.0 if share == 1 else centre + half)


def _effective(passed: Floats, clusters: Indices | None, confidence: float) -> float | None:
    """As how many independent units these count; None for fewer than two clusters.

    Few clusters know their own spread badly, for which Student's t stands in (Korn and Graubard 1998).
    """
    if clusters is None:
        return float(passed.size)
    found = effective_size(passed, clusters)
    if found is None:
        return None
    size, freedom = found
    if passed.min() == passed.max():
        return size
    return size * (_NORMAL.inv_cdf((1 + confidence) / 2) / t_quantile(freedom, confidence)) ** 2


def mean_interval(
    values: Floats, confidence: float, clusters: Indices | None = None
) -> tuple[float, float] | None:
    """Student's t interval for the mean; None for fewer than two clusters or beyond float range."""
    found = robust_error(values, clusters)
    if found is None:
        return None
    error, freedom = found
    half = t_quantile(freedom, confidence) * error
    with np.errstate(over="ignore"):
        centre = float(values.mean())
    low, high = centre - half + 0.0, centre + half + 0.0
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


@lru_cache(maxsize=1024)
def t_quantile(df: int, confidence: float) -> float:
    """The t with P(|T| <= t) = `confidence` for `df` degrees of freedom, to 1e-9.

    Below 1,000 degrees Newton's method on the closed form of the distribution for whole degrees
    (Abramowitz and Stegun 26.7.3 and 26.7.4, all terms positive); above, their expansion 26.7.5.
    """
    z = _NORMAL.inv_cdf((1 + confidence) / 2)
    if df >= _MANY:
        return _expanded(z, df)
    if df == 1:
        return math.tan(math.pi * confidence / 2)
    # The central probability is concave in t > 0 and z lies left of the root, so Newton's steps
    # climb towards it and never jump over it.
    t, log_scale = z, math.lgamma((df + 1) / 2) - math.lgamma(df / 2)
    for _ in range(200):
        density = math.exp(log_scale - (df + 1) / 2 * math.log1p(t * t / df))
        density /= math.sqrt(df * math.pi)
        step = (confidence - _central(t, df)) / (2 * density)
        t += step
        if abs(step) <= 1e-14 * t:
            break
    return t


def _central(t: float, df: int) -> float:
    """P(|T| <= t)."""
    angle = math.atan2(t, math.sqrt(df))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = df % 2
    term = cosine if odd else 1.0
    terms = [term] if df > 1 else []
    for k in range(3 if odd else 2, df - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        terms.append(term)
    total = math.fsum(terms) * sine
    return (angle + total) * 2 / math.pi if odd else total


def _expanded(z: float, df: int) -> float:
    z2 = z * z
    first = (z2 + 1) / 4
    second = ((5 * z2 + 16) * z2 + 3) / 96
    third = (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384
    fourth = ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160
    return z * (1 + (first + (second + (third + fourth / df) / df) / df) / df)


def quantile_ranks(n: int, q: Fraction, confidence: float) -> tuple[int, int] | None:
    """1-based ranks of the values that enclose the `q` quantile with at least `confidence`.

    How many of n values lie below the quantile is binomial, whatever the distribution of the values.
    None where n is too small for either side: no value is then extreme enough.
    """
    if n < 2:
        return None
    first, chances = probabilities(n, float(q))
    below = np.cumsum(chances)
    tail = (1 - confidence) / 2
    # Largest l with P(B <= l - 1) <= tail, smallest u with P(B <= u - 1) >= 1 - tail.
    low = first + int(np.searchsorted(below, tail, side="right"))
    high = first + int(np.searchsorted(below, 1 - tail, side="left")) + 1
    return (low, high) if low >= 1 and high <= n else None


def quantile_interval(
    values: Floats, q: Fraction, confidence: float, clusters: Indices | None = None
) -> tuple[float, float] | None:
    """Two of the values that enclose the `q` quantile; None where there are too few.

    Among units that share clusters the share of values below the quantile is less sure than it looks. Its
    error says as how many independent ones they count, and the ranks among those are taken to the ranks
    among all (after Woodruff 1952).
    """
    n = values.size
    if n < 2:
        return None
    ordered = np.sort(values) + 0.0
    below = (values <= ordered[quantile_rank(n, q) - 1]).astype(np.float64)
    units = _effective(below, clusters, confidence)
    if units is None:
        return None
    counted = min(n, math.floor(units))
    ranks = quantile_ranks(counted, q, confidence)
    if ranks is None:
        return None
    low, high = 1 + (ranks[0] - 1) * n // counted, -(-ranks[1] * n // counted)
    return float(ordered[low - 1]), float(ordered[high - 1])
