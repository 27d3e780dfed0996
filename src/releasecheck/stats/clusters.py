"""Cases that share a cluster are not independent of each other: sums and errors by cluster.

A cluster is whatever its cases have in common beside the suite (one document, one conversation): what goes
wrong for one of them tends to go wrong for all, so they count as fewer cases than they are.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.model.table import Floats, Indices

_LARGEST: Final = 2.0**960
"""Beyond it a number counts as this large, so that no sum of such numbers overflows."""
_ROUNDING: Final = 1e-13
"""Part of the largest deviation that an error is if it comes from rounding alone."""


def clusters_of(names: Sequence[str | None]) -> Indices | None:
    """The cluster of each unit, numbered from 0 in order of appearance.

    A unit without a name is a cluster of its own. None where every unit is one, the usual case.
    """
    if not any(name is not None for name in names):
        return None
    numbers: dict[str, int] = {}
    found: list[int] = []
    count = 0
    for name in names:
        number = count if name is None else numbers.setdefault(name, count)
        found.append(number)
        if number == count:
            count += 1
    return None if count == len(names) else np.array(found, dtype=np.intp)


def chosen(clusters: Indices | None, rows: Indices) -> Indices | None:
    """The clusters of some of the units, numbered anew; None where each of these is a cluster of its own."""
    if clusters is None:
        return None
    distinct, first, numbers = np.unique(clusters[rows], return_index=True, return_inverse=True)
    if distinct.size == numbers.size:
        return None
    place = np.empty(distinct.size, dtype=np.intp)
    place[np.argsort(first)] = np.arange(distinct.size)  # in order of appearance, as `clusters_of`
    found: Indices = place[numbers]
    return found


def clipped(values: Floats) -> Floats:
    """The values, none larger than 2**960: sums of what a broken judge says stay numbers.

    Raises:
        ValueError: one of them is NaN.
    """
    if np.isnan(values).any():
        message = "expected numbers, found NaN"
        raise ValueError(message)
    return np.clip(values, -_LARGEST, _LARGEST)


def cluster_sums(values: Floats, clusters: Indices | None) -> Floats:
    """The sum of each cluster's values; the values themselves where every unit is its own cluster."""
    if clusters is None:
        return clipped(values)
    # One addition after the other, in the order of the units: a larger value never makes a smaller sum.
    return np.bincount(clusters, weights=clipped(values)).astype(np.float64)


def robust_error(values: Floats, clusters: Indices | None) -> tuple[float, int] | None:
    """Standard error of the mean and its degrees of freedom, one less than there are clusters.

    The error is the sandwich one with the correction G / (G - 1) (CR1; Liang and Zeger 1986); without
    clusters that is the usual one. None for fewer than two clusters and beyond the range of floats.
    """
    n = values.size
    if n < 2:
        return None
    values = clipped(values)
    apart = values - values.mean()
    sums = cluster_sums(apart, clusters)
    groups = sums.size
    if groups < 2:
        return None
    with np.errstate(over="ignore"):
        error = math.sqrt(groups / (groups - 1) * float((sums * sums).sum())) / n
    if not math.isfinite(error):
        return None
    # What rounding leaves of equal values, or of clusters that balance, is no spread.
    none = values.min() == values.max() or error <= _ROUNDING * float(np.abs(apart).max())
    return 0.0 if none else error, groups - 1


def effective_size(values: Floats, clusters: Indices | None) -> tuple[float, int] | None:
    """As how many independent units these count, and the degrees of freedom (Kish 1965).

    Never for more than there are: that clusters seem to even out is taken for chance. Where all values are
    equal nothing says how much clusters differ: each counts once. None for fewer than two clusters.
    """
    found = robust_error(values, clusters)
    if found is None:
        return None
    error, freedom = found
    n = values.size
    alone = float(clipped(values).var()) / (n - 1)
    if alone == 0:
        return float(freedom + 1), freedom
    return n / max(1.0, error * error / alone), freedom
