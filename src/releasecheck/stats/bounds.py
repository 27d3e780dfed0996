"""Bounds on the drop between two runs over the same cases: score tests for verdicts, Student's t for values.

A drop is how much worse the candidate is than the baseline for one case; positive is worse.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

from releasecheck.stats.binomial import at_most
from releasecheck.stats.clusters import clipped, cluster_sums, effective_size, robust_error
from releasecheck.stats.exact import risk_of
from releasecheck.stats.intervals import t_quantile

if TYPE_CHECKING:
    from releasecheck.model.table import Floats, Indices

_WHOLE: Final = 1e-9
"""How far rounding may take a number from a whole one."""
_STEPS: Final = 60
"""Halvings until a bound is exact to the last digits."""
_NORMAL: Final = NormalDist()


def tango(
    new_failures: float, new_passes: float, pairs: float, drop: float, correction: float = 0.0
) -> float:
    """The score statistic of "the drop is `drop`" for yes and no (Tango 1998); about standard normal.

    `correction` for whole counts is added to the difference of flips.
    """
    b, c, n = new_failures, new_passes, pairs
    over = b - c - n * drop + correction
    linear = (2 * n - b + c) * drop - b - c
    constant = -c * drop * (1 - drop)
    root = math.sqrt(max(0.0, linear * linear - 8 * n * constant))
    # Of the two ways to write the root, the one that does not subtract equal numbers.
    share = (root - linear) / (4 * n) if linear <= 0 else -2 * constant / (root + linear)
    variance = n * (2 * max(share, 0.0, -drop) + drop * (1 - drop))
    if variance <= 0:
        return math.copysign(math.inf, over) if over else 0.0
    return over / math.sqrt(variance)


def not_inferior(new_failures: float, new_passes: float, pairs: float, max_drop: float) -> float:
    """One-sided p of "the drop is `max_drop` or more" for yes and no; small means shown to be less.

    Tango's score test, corrected because flips are whole numbers: by half a flip, and by a whole one where
    every pair flips, since their difference then moves in steps of two. And not below the chance of so
    small a difference if every flip were a failure. Without the correction up to 13 % of candidates whose
    drop is `max_drop` would pass at 90 % confidence (200 pairs, no background flips, 0.01), and 5.6 % at
    95 %; with it no more than 1 - confidence, for 5 to 1,000 pairs and drops to 0.1, computed exactly.

    Counts of cases that share clusters are of as many independent ones, and need not be whole.
    """
    if max_drop >= 1:
        return 0.0 if new_failures - new_passes < pairs else 1.0
    correction = 0.5 + 0.5 * (new_failures + new_passes) / pairs
    score = _NORMAL.cdf(tango(new_failures, new_passes, pairs, max_drop, correction))
    least = math.ceil(new_failures - new_passes - _WHOLE)
    return max(score, at_most(max(1, int(pairs + _WHOLE)), max(0.0, max_drop), least))


@lru_cache(maxsize=1024)
def drop_bound_yes_no(new_failures: int, new_passes: int, pairs: int, confidence: float) -> float:
    """One-sided upper bound on the drop: the smallest that `not_inferior` excludes."""
    low, high = -1.0, 1.0
    alpha = risk_of(confidence)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if not_inferior(new_failures, new_passes, pairs, middle) <= alpha:
            high = middle
        else:
            low = middle
    return high


def drop_bound(
    drops: Floats, clusters: Indices | None, confidence: float, span: float | None
) -> float | None:
    """One-sided upper bound on the mean drop, by Student's t over clusters.

    Where a few cases drop by much, the mean of all is too small more often than t knows, so what the drops
    are skewed by is added (Johnson 1978). Where all drops are equal, their spread says nothing: then no
    more is claimed than that a drop of the whole `span` in a larger share of clusters would have shown
    itself in one of them. Verdicts of cases that share clusters are bounded like independent ones, counted
    as so many as they are worth. A drop of values that is rarer than one case in the suite, however large, is
    seen by no such bound.

    Args:
        drops: One for each case.
        clusters: Of the cases.
        confidence: One-sided.
        span: The largest difference two values of this metric can have; None where it is not known.

    Returns:
        None for fewer than two clusters, beyond the range of floats, and for equal drops of unknown span.
    """
    drops = clipped(drops)
    found = robust_error(drops, clusters)
    if found is None:
        return None
    error, freedom = found
    mean = float(drops.mean())
    if clusters is not None and span == 1 and bool(np.isin(drops, (-1.0, 0.0, 1.0)).all()):
        return _clustered_bound(drops, clusters, confidence)
    if error > 0:
        t = t_quantile(freedom, 2 * confidence - 1)
        bound = mean + (t + _skew(drops, clusters) * (1 + 2 * t * t) / 6) * error
    elif span is not None:
        bound = mean + span * unseen_share(freedom + 1, confidence)
    else:
        return None
    return bound if math.isfinite(bound) else None


def _skew(drops: Floats, clusters: Indices | None) -> float:
    """The skewness of a mean of that many clusters; 0 where improvements are the rare large ones."""
    sums = cluster_sums(drops - drops.mean(), clusters)
    sums = sums / np.abs(sums).max()
    third: float = float((sums**3).mean()) / math.pow(float((sums**2).mean()), 1.5)
    return max(0.0, third) / math.sqrt(sums.size)


def _clustered_bound(drops: Floats, clusters: Indices, confidence: float) -> float | None:
    found = effective_size(drops, clusters)
    if found is None:
        return None
    size, freedom = found
    if drops.any():
        size *= (_NORMAL.inv_cdf(confidence) / t_quantile(freedom, 2 * confidence - 1)) ** 2
    weight = size / drops.size
    worse, better = np.count_nonzero(drops > 0) * weight, np.count_nonzero(drops < 0) * weight
    return drop_bound_yes_no(worse, better, size, confidence)


def unseen_share(units: int, confidence: float) -> float:
    """The largest share of which none need show among so many units: 3 / n, about, at 95 %."""
    return -math.expm1(math.log1p(-confidence) / units)


def paired_interval(
    differences: Floats, clusters: Indices | None, confidence: float, *, yes_no: bool
) -> tuple[float, float] | None:
    """Two-sided interval of candidate minus baseline over pairs.

    Args:
        differences: One for each case.
        clusters: Of the cases.
        confidence: Two-sided.
        yes_no: The differences are of verdicts, so each is -1, 0 or 1: Tango's score interval, or
            by cluster like any other mean.

    Returns:
        None for fewer than two clusters, and for equal differences of values, whose spread says nothing.
    """
    found = robust_error(differences, clusters)
    if found is None:
        return None
    error, freedom = found
    if yes_no and (clusters is None or error == 0):
        pairs = freedom + 1
        share = pairs / differences.size
        up = float(np.count_nonzero(differences > 0)) * share
        down = float(np.count_nonzero(differences < 0)) * share
        return -_tango_end(up, down, pairs, confidence), _tango_end(down, up, pairs, confidence)
    if error == 0:
        return None
    half = t_quantile(freedom, confidence) * error
    centre = float(clipped(differences).mean())
    return centre - half, centre + half


def _tango_end(down: float, up: float, pairs: int, confidence: float) -> float:
    """The largest rise that the score test does not exclude."""
    z = _NORMAL.inv_cdf((1 + confidence) / 2)
    low, high = (up - down) / pairs, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if tango(up, down, pairs, middle) >= -z:
            low = middle
        else:
            high = middle
    return low
