"""How small a drop a gate can see: told before a run from its baseline, and after it from its pairs.

The smallest true drop at which a gate blocks with 80 % probability is said of its own rule. Whether it
can see its own `max_drop` is asked of a test alone: see `resolvable_drop`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, assert_never

import numpy as np

from releasecheck.stats.binomial import at_least, probabilities
from releasecheck.stats.intervals import t_quantile
from releasecheck.stats.paired import mcnemar, not_inferior
from releasecheck.stats.spread import Spread, Values, YesNo, from_baseline, from_pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from releasecheck.model.gate import Decide
    from releasecheck.model.table import Indices

__all__ = [
    "Spread",
    "Values",
    "YesNo",
    "detectable_drop",
    "from_baseline",
    "from_pairs",
    "resolvable_drop",
]

_EXACT: Final = 1_000
"""Pairs up to which every number of flips is looked at."""
_STEPS: Final = 16
"""Halvings until a detectable drop is known to two units in the fifth digit."""
_NORMAL: Final = NormalDist()


def detectable_drop(
    decide: Decide, max_drop: float, spread: Spread, alpha: float, power: float = 0.8
) -> float | None:
    """The smallest true drop at which the gate blocks with that power.

    Args:
        decide: How the gate decides.
        max_drop: The drop it allows.
        spread: By how much a comparison differs though nothing changed.
        alpha: 1 - confidence.
        power: The probability.

    Returns:
        0 where it blocks with that power though nothing dropped; None where no drop makes it block so often.
    """
    match spread:
        case YesNo():
            return _detectable_flips(
                decide, max_drop, spread.pairs, spread.flips_share, alpha, power
            )
        case Values():
            return _detectable_mean(decide, max_drop, spread, alpha, power)
        case _:
            assert_never(spread)


def resolvable_drop(spread: Spread, alpha: float, power: float = 0.8) -> float | None:
    """The smallest drop that a test at `alpha` tells from none with that power, whatever a gate decides.

    A gate whose `max_drop` is smaller cannot see it. None where no drop can be told from none.
    """
    return detectable_drop("significant", 0.0, spread, alpha, power)


def _detectable_mean(
    decide: Decide, max_drop: float, spread: Values, alpha: float, power: float
) -> float | None:
    sure = t_quantile(spread.freedom, abs(2 * power - 1)) * math.copysign(spread.error, power - 0.5)
    told = t_quantile(spread.freedom, 1 - 2 * alpha) * spread.error
    match decide:
        case "point":
            return max(0.0, max_drop + sure)
        case "significant":
            # By flipping signs: of so few clusters even the rarest pattern is not rare enough.
            if 0.5 ** (spread.freedom + 1) >= alpha:
                return None
            return max(max_drop, told) + sure
        case "non-inferior":
            return max(0.0, max_drop - told + sure)
        case _:
            assert_never(decide)


@lru_cache(maxsize=4096)
def _detectable_flips(
    decide: Decide, max_drop: float, pairs: int, share: float, alpha: float, power: float
) -> float | None:
    blocks = (_exact if pairs <= _EXACT else _by_normal)(decide, max_drop, pairs, share, alpha)
    if blocks(0.0) >= power:
        return 0.0
    low, high = 0.0, 1.0 - share / 2
    if blocks(high) < power:
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if blocks(middle) >= power else (middle, high)
    return high


def _exact(
    decide: Decide, max_drop: float, pairs: int, share: float, alpha: float
) -> Callable[[float], float]:
    """The probability to block at a true drop: over each number of new passes, that of enough failures."""
    first, chances = probabilities(pairs, share / 2)
    kept = np.flatnonzero(chances > 1e-7)
    passes = first + kept
    needed = _fewest_failures(decide, max_drop, pairs, passes, alpha)

    def blocks(drop: float) -> float:
        chance = min(1.0, (share / 2 + drop) / (1 - share / 2))
        return math.fsum(
            weight * at_least(pairs - count, chance, least)
            for weight, count, least in zip(
                chances[kept].tolist(), passes.tolist(), needed, strict=True
            )
        )

    return blocks


def _fewest_failures(
    decide: Decide, max_drop: float, pairs: int, passes: Indices, alpha: float
) -> list[int]:
    """For each number of new passes, how many new failures make the gate block."""
    found: list[int] = []
    least = 0
    for count in passes.tolist():
        # One pass more never needs fewer failures.
        while least <= pairs and not _blocks(decide, max_drop, pairs, least, count, alpha):
            least += 1
        found.append(least)
    return found


def _blocks(
    decide: Decide, max_drop: float, pairs: int, failures: int, passes: int, alpha: float
) -> bool:
    over = failures - passes > pairs * max_drop + 1e-9
    match decide:
        case "point":
            return over
        case "significant":
            return over and mcnemar(failures, passes) < alpha
        case "non-inferior":
            return not_inferior(failures, passes, pairs, max_drop) > alpha
        case _:
            assert_never(decide)


def _by_normal(
    decide: Decide, max_drop: float, pairs: int, share: float, alpha: float
) -> Callable[[float], float]:
    """The same for many pairs, whose difference of flips is about normal."""
    z = _NORMAL.inv_cdf(1 - alpha)

    def blocks(drop: float) -> float:
        flips = share + drop
        error = math.sqrt(max(flips - drop * drop, 1e-300) / pairs)
        match decide:
            case "point":
                least = max_drop
            case "significant":
                least = max(max_drop, z * math.sqrt(flips / pairs))
            case "non-inferior":
                under = share + max_drop
                least = max_drop - z * math.sqrt(max(0.0, under - max_drop * max_drop) / pairs)
            case _:
                assert_never(decide)
        return 1 - _NORMAL.cdf((least - drop) / error)

    return blocks
