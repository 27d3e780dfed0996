"""By how much two runs differ though nothing changed: what a drop has to stand out from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from releasecheck.stats.binomial import at_least
from releasecheck.stats.bounds import unseen_share
from releasecheck.stats.clusters import chosen, effective_size, robust_error
from releasecheck.stats.columns import case_means, verdicts

if TYPE_CHECKING:
    from releasecheck.model.table import Floats, Indices
    from releasecheck.stats.columns import Column

_SURE: Final = 0.95
"""What shows nothing is only said to be rarer than would have shown itself with this probability."""


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
    values = col.value if repeated else case_means(col)[:, None]
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
