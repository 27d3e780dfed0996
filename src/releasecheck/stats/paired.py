"""Candidate and baseline over the same cases: tests of "no drop", bounds on the drop, Holm's correction.

A drop is how much worse the candidate is than the baseline for one case; positive is worse.

Values are tested by flipping signs and not by a bootstrap. Where nothing changed, each difference is as
likely as its negative, so the test is right at every number of cases and however the values are
distributed; a bootstrap is right only for many, and blocks too often for few. And a worse case can only
lower p, which no bootstrap promises: gates must not turn better because a case turned worse.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

from releasecheck.stats.binomial import at_least, at_most
from releasecheck.stats.clusters import clipped, cluster_sums, effective_size, robust_error
from releasecheck.stats.exact import exact
from releasecheck.stats.intervals import t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.model.table import Floats, Indices

__all__ = [
    "RESAMPLES",
    "drop_bound",
    "drop_bound_yes_no",
    "holm",
    "mcnemar",
    "not_inferior",
    "paired_interval",
    "robust_error",
    "sign_flip",
]

RESAMPLES: Final = 10_000
"""Patterns of signs to look at, at least; the next power of two is taken."""
_TIES: Final = 1e-9
"""Part of all improvements by which rounding may move a sum that is 0; it counts as reached."""
_WHOLE: Final = 1e-9
"""How far rounding may take a number from a whole one."""
_STEPS: Final = 60
"""Halvings until a bound is exact to the last digits."""
_NORMAL: Final = NormalDist()


def mcnemar(new_failures: int, new_passes: int) -> float:
    """One-sided exact p of "no drop": so many of the flips or more are failures (McNemar 1947)."""
    return at_least(new_failures + new_passes, 0.5, new_failures)


def sign_flip(drops: Floats, seed: int, resamples: int = RESAMPLES) -> float:
    """One-sided p of "no drop": how often flipping signs makes the sum no smaller (Fisher 1935).

    The patterns of signs are a group of 2**k: each unit has k bits of its own, and is flipped by those
    patterns of k bits with which it has an odd number of ones in common. Of a group that holds "nothing
    is flipped" the share of patterns that reach what was seen is an exact p (Hemerik and Goeman 2018,
    "Exact testing with random permutations"). The first k units have one bit each, so up to k units are
    enumerated completely; the others' bits are random, which makes any two patterns as good as
    independent. All sums come from k rounds of additions, whatever the number of units.

    A unit's bits hang on its place and the seed alone, and every sum is made of additions, in one fixed
    order: a larger drop never makes a sum smaller, rounding included, and so never p larger. Zeros keep
    their place for that.

    Args:
        drops: One for each case, or for each cluster the sum of its cases.
        seed: Of the bits.
        resamples: The least number of patterns, where there are so many.
    """
    drops = clipped(drops)
    # A sum of flipped drops of at most 0 is one that flipping does not lower. It can be 0 only if it holds
    # improvements, so rounding is measured by them; they shrink as the candidate gets worse.
    tie = _TIES * math.fsum((-drops[drops < 0]).tolist())
    bits = min(drops.size, max(1, math.ceil(math.log2(resamples + 1))))
    weights = np.zeros(1 << bits)
    weights += np.bincount(_codes(drops.size, bits, seed), weights=drops, minlength=1 << bits)
    reached = int(np.count_nonzero(_flipped_sums(weights) <= tie))
    return reached / (1 << bits)


def _codes(units: int, bits: int, seed: int) -> Indices:
    """The bits of each unit, never all 0. From the raw generator: its bits are the same in any NumPy."""
    codes = np.empty(units, dtype=np.intp)
    codes[:bits] = 1 << np.arange(min(units, bits))
    if units > bits:
        raw = np.random.PCG64(seed).random_raw(units - bits) >> np.uint64(11)
        codes[bits:] = 1 + (raw % np.uint64((1 << bits) - 1)).astype(np.intp)
    return codes


def _flipped_sums(weights: Floats) -> Floats:
    """For each pattern the sum of the weights of the codes it flips: those with odd parity in common.

    A Walsh-Hadamard transform that keeps both halves, of what is flipped and what is not, so that it
    adds where the usual one subtracts.
    """
    kept, flipped = weights, np.zeros_like(weights)
    span = 1
    while span < weights.size:
        k, f = kept.reshape(-1, 2, span), flipped.reshape(-1, 2, span)
        kept = np.stack((k[:, 0] + k[:, 1], k[:, 0] + f[:, 1]), axis=1).ravel()
        flipped = np.stack((f[:, 0] + f[:, 1], f[:, 0] + k[:, 1]), axis=1).ravel()
        span *= 2
    return flipped


def holm(p_values: Sequence[float]) -> list[float]:
    """The adjusted p of each of several tests, none smaller than it was (Holm 1979)."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


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
    alpha = float(1 - exact(confidence))  # 0.05 where 0.95 is written
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
    as so many as they are worth.

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
