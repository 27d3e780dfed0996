"""How small a drop a gate can see: told before a run from its baseline, and after it from its pairs.

The smallest true drop at which a gate blocks with 80 % probability is said of its own rule. Whether it
can see its own `max_drop` is asked of a test alone: see `resolvable_drop`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, TypeAlias, assert_never

import numpy as np

from releasecheck.stats.binomial import at_least, probabilities
from releasecheck.stats.clusters import chosen, effective_size, robust_error
from releasecheck.stats.columns import verdicts
from releasecheck.stats.intervals import t_quantile
from releasecheck.stats.paired import mcnemar, not_inferior, unseen_share

if TYPE_CHECKING:
    from collections.abc import Callable

    from releasecheck.model.gate import Decide
    from releasecheck.model.table import Floats, Indices
    from releasecheck.stats.columns import Column

_EXACT: Final = 1_000
"""Pairs up to which every number of flips is looked at."""
_STEPS: Final = 16
"""Halvings until a detectable drop is known to two units in the fifth digit."""
_SURE: Final = 0.95
"""What shows nothing is only said to be rarer than would have shown itself with this probability."""
_NORMAL: Final = NormalDist()


@dataclass(frozen=True, slots=True)
class YesNo:
    """Pairs of verdicts."""

    pairs: int
    """Independent ones; those that share clusters count as so many as they are worth."""
    flips_share: float
    """Share of the cases whose verdict differs between two runs without any drop."""


@dataclass(frozen=True, slots=True)
class Values:
    """A mean of differences of values."""

    error: float
    """Its standard error."""
    freedom: int
    """Clusters, less one."""


Spread: TypeAlias = YesNo | Values
"""By how much a comparison differs though nothing changed."""


def from_pairs(
    drops: Floats, clusters: Indices | None, *, yes_no: bool, span: float | None
) -> Spread | None:
    """The spread that a finished comparison showed.

    Flips that a drop caused count as noise too, which makes the detectable drop no smaller than it is.
    Where nothing differs, the noise is not 0: it is as large as could have shown nothing at all in so
    many clusters with a probability of 5 %.

    Args:
        drops: One for each case.
        clusters: Of the cases.
        yes_no: They are of verdicts, so each is -1, 0 or 1.
        span: The largest difference two values can have; None where it is not known.

    Returns:
        None for fewer than two clusters, and where nothing differs and the span is not known.
    """
    if yes_no:
        return _verdicts(drops, clusters, np.count_nonzero(drops) / max(1, drops.size))
    found = robust_error(drops, clusters)
    return None if found is None else _values(*found, span)


def from_baseline(
    col: Column, clusters: Indices | None, *, pass_rule: str | None, span: float | None
) -> Spread | None:
    """The spread to expect when the candidate is as good as the baseline, whose column this is.

    With several trials of every case the noise between two runs is known: it is that between trials.
    With one, the two runs are taken to have nothing in common but their mean, the worst case: a share p of
    passes then flips 2 p (1 - p) of the cases, and a variance of values counts twice.

    Args:
        col: The cases of the baseline that a gate looks at, scored or not.
        clusters: Of those cases.
        pass_rule: How trials make a case pass, for a gate over verdicts; None for one over values.
        span: The largest difference two values can have; None where it is not known.

    Returns:
        None where nothing can be said; see `from_pairs`.
    """
    known = verdicts(col, pass_rule) >= 0 if pass_rule is not None else col.has_value
    rows = np.flatnonzero(known)
    col, clusters = col.take(rows), chosen(clusters, rows)
    repeated = col.state.shape[1] >= 2 and bool(col.scored.all())
    if pass_rule is None:
        return _from_values(col, clusters, span, repeated=repeated)
    passed = (verdicts(col, pass_rule) == 1).astype(np.float64)
    if repeated and passed.size:
        return _verdicts(passed, clusters, _flips_of_trials(col, pass_rule))
    share = float(passed.mean()) if passed.size else 0.0
    return _verdicts(passed, clusters, 2 * share * (1 - share))


def _verdicts(values: Floats, clusters: Indices | None, flips: float) -> YesNo | None:
    found = effective_size(values, clusters)
    if found is None:
        return None
    pairs = int(found[0] + 1e-9)
    return YesNo(pairs, max(flips, unseen_share(pairs, _SURE)))


def _from_values(
    col: Column, clusters: Indices | None, span: float | None, *, repeated: bool
) -> Spread | None:
    values = col.value
    if not repeated:
        scored = col.scored
        with np.errstate(over="ignore", invalid="ignore"):
            values = (np.where(scored, values, 0.0).sum(axis=1) / scored.sum(axis=1))[:, None]
    means = values.mean(axis=1)
    found = robust_error(means, clusters)
    if found is None:
        return None
    error, freedom = found
    if not repeated:
        return _values(error * math.sqrt(2), freedom, span)
    # Cases of a cluster may wobble together, so it is the cluster's sums whose trials are compared.
    trials = values.shape[1]
    sums = values
    if clusters is not None:
        sums = np.zeros((freedom + 1, trials))
        np.add.at(sums, clusters, values)
    within = math.sqrt(2 * float(sums.var(axis=1, ddof=1).sum()) / trials) / means.size
    return _values(within, freedom, span)


def _flips_of_trials(col: Column, pass_rule: str) -> float:
    """Share of cases whose verdict differs between two runs of as many trials, from those trials.

    Each case's chance to pass a trial is taken to be the share it passed. That makes too little of it by
    one part in the number of trials, which is corrected, up to what runs with nothing in common would flip.
    """
    trials: int = col.state.shape[1]
    chance_of = np.array([_chance(pass_rule, trials, passes) for passes in range(trials + 1)])
    chance: Floats = chance_of[(col.passed == 1).sum(axis=1)]
    cases, share = chance.size, math.fsum(chance.tolist()) / chance.size
    flips = math.fsum((2 * chance * (1 - chance)).tolist()) / cases
    return min(2 * share * (1 - share), flips * trials / (trials - 1))


def _chance(pass_rule: str, trials: int, passes: int) -> float:
    needed = {"all": trials, "any": 1, "majority": trials // 2 + 1}
    least = needed.get(pass_rule) or int(pass_rule.partition("-")[0])
    return at_least(trials, passes / trials, least)


def _values(error: float, freedom: int, span: float | None) -> Values | None:
    if error > 0:
        return Values(error, freedom)
    if span is None:
        return None
    units = freedom + 1
    return Values(span * math.sqrt(unseen_share(units, _SURE) / units), freedom)


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
