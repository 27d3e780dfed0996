"""How far two raters agree, one of whom may be a judge with a pass mark to choose."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Kappa(NamedTuple):
    """Cohen's kappa: agreement beyond what chance would bring."""

    value: float
    error: float
    """Asymptotic standard error."""
    low: float | None
    """Ends of the interval; None where the error is 0, which says nothing about how sure it is."""
    high: float | None


def kappa(table: Sequence[Sequence[int]], confidence: float = 0.95) -> Kappa | None:
    """Cohen's kappa of a square table of counts, one rater's classes in rows, the other's in columns.

    The error is the one for kappas other than 0 (Fleiss, Cohen and Everitt, "Large sample standard errors of
    kappa and weighted kappa", 1969). None where it is undefined: nothing was rated, or one of the raters used one
    class only, so that there is nothing to agree about.
    """
    n = sum(map(sum, table))
    size = range(len(table))
    if n == 0:
        return None
    share = [[table[i][j] / n for j in size] for i in size]
    rows = [math.fsum(share[i]) for i in size]
    columns = [math.fsum(share[i][j] for i in size) for j in size]
    if sum(1 for i in size if sum(row[i] for row in table)) < 2:
        return None
    if sum(1 for row in table if sum(row)) < 2:
        return None
    observed = math.fsum(share[i][i] for i in size)
    chance = math.fsum(rows[i] * columns[i] for i in size)
    value = (observed - chance) / (1 - chance)
    alone = 1 - value
    on = math.fsum(share[i][i] * (1 - (rows[i] + columns[i]) * alone) ** 2 for i in size)
    off = math.fsum(share[i][j] * (columns[i] + rows[j]) ** 2 for i in size for j in size if i != j)
    variance = on + alone**2 * off - (value - chance * alone) ** 2
    error = math.sqrt(max(0.0, variance) / n) / (1 - chance)
    if observed == 1 or error == 0:
        return Kappa(value, 0.0, None, None)
    half = NormalDist().inv_cdf((1 + confidence) / 2) * error
    return Kappa(value, error, max(-1.0, value - half), min(1.0, value + half))


class Mark(NamedTuple):
    """A pass mark and with how many labels it agrees."""

    value: float
    agreed: int


def best_mark(
    values: Sequence[float],
    labels: Sequence[bool],
    better: Literal["higher", "lower"],
    present: float | None,
) -> Mark | None:
    """The pass mark under which the values agree with the labels most often.

    Only marks at which somebody passes are looked at: every value, and `present`. Of several that agree equally
    often, the nearest to `present` (without one, the strictest). None without values.
    """
    if not values:
        return None
    marks = sorted({*values, *(() if present is None else (present,))})
    sign = 1.0 if better == "higher" else -1.0
    # From the most lenient mark on: what leaves the passing side was right to leave it, or wrong.
    order = sorted(zip((sign * one for one in values), labels, strict=True))
    agreed = sum(labels)
    at = 0
    best: tuple[int, float, float] | None = None
    for mark in sorted(sign * one for one in marks):
        while at < len(order) and order[at][0] < mark:
            agreed += -1 if order[at][1] else 1
            at += 1
        distance = 0.0 if present is None else abs(mark - sign * present)
        rank = (agreed, -distance, mark)
        if best is None or rank > best:
            best = rank
    assert best is not None  # noqa: S101 - there is a value, and so a mark
    return Mark(sign * best[2] + 0.0, best[0])
