"""How small a drop one no-regression gate can see, from the run that it will be compared with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from releasecheck.model.gate import PAIRED_STATS
from releasecheck.stats import (
    Column,
    Values,
    clusters_of,
    detectable_drop,
    from_baseline,
    resolvable_drop,
    risk_of,
    verdicts,
    zeros_and_ones,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.gates.subject import Subject
    from releasecheck.model.gate import GateSpec, NoRegression
    from releasecheck.model.suite import Correction
    from releasecheck.model.table import Indices, ScoreTable

Basis: TypeAlias = Literal["trials", "one-trial"]
"""Where the noise between two runs is known from: that between trials of the same case, or, with one trial,
the worst case, in which two runs have nothing in common but their mean."""


@dataclass(frozen=True, slots=True)
class Power:
    """What a gate can see, in the units of its `max_drop`."""

    min_detectable_drop: float | None
    """The smallest true drop at which it blocks in four runs of five; None where none is large enough."""
    resolvable_drop: float | None
    """The smallest drop that a test tells from none as often, whatever the gate decides; None as above."""
    basis: Basis

    def too_weak_for(self, rule: NoRegression) -> bool:
        """Whether a drop of `max_drop` looks like none: nobody asks that of a `max_drop` of 0."""
        if rule.max_drop == 0:
            return False
        return self.resolvable_drop is None or self.resolvable_drop > rule.max_drop


def gate_power(
    subject: Subject,
    table: ScoreTable,
    rows: Indices,
    rule: NoRegression,
    alpha: float,
    *,
    trials: int | None = None,
    clusters: Sequence[str | None] | None = None,
    widened: float = 1.0,
) -> Power | None:
    """What a gate sees over some cases, when the candidate is as noisy as this run.

    Args:
        subject: The gate.
        table: Of the baseline.
        rows: The cases that will be compared, as indices into `table`.
        rule: Of the gate.
        alpha: The level it decides at: 1 - confidence, or a part of it where several gates share that.
        trials: Of the candidate; None is as many as in `table`. With fewer the candidate is noisier, so the
            baseline is looked at as if it had no more either.
        clusters: Of those cases as they are named today; None is as in `table`, which may be older than them.
        widened: By how much larger the error of a mean is than that of two such runs.

    Returns:
        None for a statistic other than mean, pass_rate and sum, whose noise is not that of a mean; where
        the table has no such judge; and where the cases are too few or too equal to say anything.
    """
    gate = subject.gate
    whole = subject.column(table)
    if whole is None or gate.stat not in PAIRED_STATS:
        return None
    col = _first(whole.take(rows), trials)
    if gate.stat == "pass_rate":
        pass_rule: str | None = subject.pass_rule
        kept = np.flatnonzero(verdicts(col, subject.pass_rule) >= 0)
    else:
        kept = np.flatnonzero(col.has_value)
        pass_rule = "majority" if _one_yes_or_no(subject, col.take(kept)) else None
    if kept.size == 0:
        return None
    col = col.take(kept)
    if gate.stat != "pass_rate" and pass_rule is not None:
        col = replace(col, passed=(col.value == 1).astype(np.int8))
    named = [table.cases[row].cluster for row in rows.tolist()] if clusters is None else clusters
    numbers = clusters_of([named[at] for at in kept.tolist()])
    spread = from_baseline(col, numbers, pass_rule=pass_rule, span=subject.span)
    if spread is None or (widened != 1.0 and not isinstance(spread, Values)):
        return None  # how a share of flips widens is not known
    if isinstance(spread, Values):
        spread = replace(spread, error=spread.error * widened)
    units = kept.size if gate.stat == "sum" else 1
    seen = detectable_drop(rule.decide, rule.max_drop / units, spread, alpha)
    told = resolvable_drop(spread, alpha)
    return Power(
        min_detectable_drop=None if seen is None else seen * units,
        resolvable_drop=None if told is None else told * units,
        basis="trials" if col.state.shape[1] > 1 and bool(col.scored.all()) else "one-trial",
    )


def level_of(
    rule: NoRegression, gates: Sequence[GateSpec], confidence: float, correction: Correction
) -> float:
    """The level a gate can count on: by Holm, the strictest that it may be held to."""
    most = risk_of(confidence)
    if rule.decide == "significant" and correction == "holm":
        rules = [gate.no_regression for gate in gates if gate.no_regression is not None]
        most /= max(1, sum(one.decide == "significant" for one in rules))
    return most


def _first(col: Column, trials: int | None) -> Column:
    return Column(
        col.state[:, :trials],
        col.value[:, :trials],
        col.passed[:, :trials],
        col.target_failed[:, :trials],
    )


def _one_yes_or_no(subject: Subject, col: Column) -> bool:
    """Whether each case has one value, a yes or a no: of several the noise between them is known."""
    single = bool((col.scored.sum(axis=1) <= 1).all())
    return single and zeros_and_ones(col, subject.ends)
