"""Candidate and baseline over the same cases: tests of "no drop", and Holm's correction.

A drop is how much worse the candidate is than the baseline for one case; positive is worse.

Values are tested by flipping signs and not by a bootstrap. Where nothing changed, each difference is as
likely as its negative, so the test is right at every number of cases and however the values are
distributed; a bootstrap is right only for many, and blocks too often for few. And a worse case can only
lower p, which no bootstrap promises: gates must not turn better because a case turned worse.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from releasecheck.stats.binomial import at_least
from releasecheck.stats.bounds import (
    drop_bound,
    drop_bound_yes_no,
    not_inferior,
    paired_interval,
)
from releasecheck.stats.clusters import clipped, robust_error

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
