"""Metrics of a score table: every number with how much was measured, and an interval where there is one.

A metric describes; it never decides. Where scores are missing it still says what arrived, with
`n_scored` below `n_expected`, and shows no difference to the baseline: a number that may not be used
should not be read (G-09, S1-09). What was not measured is None, never 0 (X-12).

Trials are averaged within a case first, and cases that share a cluster count as fewer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias, get_args

import numpy as np

from releasecheck.model.gate import BUILTIN_METRICS, Stat
from releasecheck.model.judge import has_pass_mark, metric_range
from releasecheck.model.scorecard import Metric
from releasecheck.stats import (
    QUANTILES,
    Column,
    aggregate,
    case_means,
    case_passes,
    chosen,
    clipped,
    clusters_of,
    column,
    judge_specs,
    match_cases,
    mean_interval,
    paired_interval,
    quantile_interval,
    rows_of,
    share_interval,
    to_float,
    verdicts,
    yes_or_no,
)

if TYPE_CHECKING:
    from releasecheck.model.judge import Judge
    from releasecheck.model.plan import Measurable
    from releasecheck.model.table import Baseline, Indices, ScoreTable

__all__ = ["case_passes", "measure"]

_STATS: Final[tuple[Stat, ...]] = get_args(Stat)
_BUILTIN_STATS: Final[tuple[tuple[str, Stat], ...]] = (
    ("latency_ms", "p50"),
    ("latency_ms", "p95"),
    ("cost_usd", "sum"),
    ("tokens", "sum"),
    ("target_errors", "sum"),
)
Wanted: TypeAlias = tuple[str, str, Stat]
"""(metric, split, stat)."""
Ends: TypeAlias = tuple[float, float] | None
"""The smallest and the largest value; None where they are not known."""


def measure(table: ScoreTable, plan: Measurable, baseline: Baseline | None) -> tuple[Metric, ...]:
    """Every metric of the run, judges in plan order, then the built-in ones.

    For each judge the mean, and the pass rate where it has a pass mark, over all cases and over each
    split that has any; for the run its latency, cost, tokens and errors; and whatever a gate asks for.
    The difference to the baseline has an interval, over pairs, where it is one of means or pass rates and
    both runs scored all of the same cases with the same content.
    """
    specs = judge_specs(plan)
    here = _Side(table, specs)
    there = None
    matched: Indices | None = None
    same: set[str] = set(BUILTIN_METRICS)
    if baseline is not None and baseline.finalized:
        there = _Side(baseline.table, specs)
        matched = match_cases(table.cases, baseline.table.cases)
        same |= {j.id for j in plan.judges if baseline.judge_digests.get(j.id) == j.digest}
        # What two judges scored, the one of then and the one of now, has no mean.
        same -= {judge for judge, anew in baseline.rejudged.items() if anew.mixed}
    return tuple(
        _metric(wanted, here, there if wanted[0] in same else None, matched, plan)
        for wanted in _wanted(table, plan, specs)
    )


def _wanted(table: ScoreTable, plan: Measurable, specs: dict[str, Judge]) -> list[Wanted]:
    splits = ["all", *sorted({row.split for row in table.cases})]
    wanted: set[Wanted] = {(gate.metric, gate.split, gate.stat) for gate in plan.gates}
    for judge, spec in specs.items():
        wanted |= {(judge, split, "mean") for split in splits}
        if has_pass_mark(spec):
            wanted |= {(judge, split, "pass_rate") for split in splits}
    wanted |= {(metric, "all", stat) for metric, stat in _BUILTIN_STATS}
    order = {metric: place for place, metric in enumerate((*specs, *BUILTIN_METRICS))}
    return sorted(wanted, key=lambda w: (order[w[0]], w[1] != "all", w[1], _STATS.index(w[2])))


@dataclass(frozen=True, slots=True)
class _Side:
    """One run's columns, each split and each cut found once."""

    table: ScoreTable
    specs: dict[str, Judge]
    rows: dict[str, Indices] = field(default_factory=dict)
    cut: dict[tuple[str, str], Column | None] = field(default_factory=dict)
    grouped: dict[str, Indices | None] = field(default_factory=dict)

    def column(self, metric: str, split: str) -> Column | None:
        """The metric in one split; None where this run has no such judge."""
        key = (metric, split)
        if key not in self.cut:
            whole = column(self.table, metric)
            self.cut[key] = None if whole is None else whole.take(self.cases(split))
        return self.cut[key]

    def cases(self, split: str) -> Indices:
        """The cases of a split, as indices into the table."""
        if split not in self.rows:
            self.rows[split] = rows_of(self.table, split)
        return self.rows[split]

    def clusters(self, split: str) -> Indices | None:
        """The clusters of the cases of a split; None where each case is one of its own."""
        if split not in self.grouped:
            rows = self.cases(split).tolist()
            self.grouped[split] = clusters_of([self.table.cases[row].cluster for row in rows])
        return self.grouped[split]

    def ends(self, metric: str) -> Ends:
        """What values a metric can have."""
        return metric_range(metric, self.specs.get(metric))

    def pass_rule(self, metric: str) -> str:
        """How a case passes by this metric."""
        return self.specs[metric].pass_rule if metric in self.specs else "majority"


def _metric(
    wanted: Wanted, here: _Side, there: _Side | None, matched: Indices | None, plan: Measurable
) -> Metric:
    metric, split, stat = wanted
    col = here.column(metric, split)
    if col is None:
        message = f"metric {metric}: the score table has no such judge"
        raise ValueError(message)
    rule = here.pass_rule(metric)
    value = aggregate(stat, col, rule)
    before = there.column(metric, split) if there is not None else None
    baseline_value = aggregate(stat, before, rule) if before is not None else None
    interval = None
    if value is not None:
        interval = _interval(wanted, col, here, plan.confidence)
    delta = around = None
    if (
        value is not None
        and baseline_value is not None
        and before is not None
        and plan.mode == "full"
        and _complete(col)
        and _complete(before)
    ):
        delta = value - baseline_value
        if there is not None and matched is not None:
            pairs = _pairs(wanted, here, there, matched)
            around = pairs and _delta_interval(wanted, pairs, here, plan.confidence)
    if stat == "mean" and here.ends(metric) == (0.0, 1.0):
        # No share lies outside of 0 to 1, and an interval that says so is only hard to believe.
        interval = interval and (max(0.0, interval[0]), min(1.0, interval[1]))
        around = around and (max(-1.0, around[0]), min(1.0, around[1]))
    return Metric(
        metric=metric,
        split=split,
        stat=stat,
        value=_float(value),
        n_scored=int(col.scored.sum()),
        n_expected=int(col.expected.sum()),
        ci_low=interval[0] if interval else None,
        ci_high=interval[1] if interval else None,
        confidence=plan.confidence,
        baseline_value=_float(baseline_value),
        delta=_float(delta),
        delta_ci_low=around[0] if around else None,
        delta_ci_high=around[1] if around else None,
    )


def _complete(col: Column) -> bool:
    return bool((col.scored == col.expected).all())


def _float(value: Fraction | None) -> float | None:
    return None if value is None else to_float(value)


def _interval(
    wanted: Wanted, col: Column, here: _Side, confidence: float
) -> tuple[float, float] | None:
    """Two-sided; None for one value, for totals and extremes, and where too little was measured."""
    metric, split, stat = wanted
    rule, ends, clusters = here.pass_rule(metric), here.ends(metric), here.clusters(split)
    match stat:
        case "pass_rate":
            passed = verdicts(col, rule)
            rows = np.flatnonzero(passed >= 0)
            return share_interval((passed[rows] == 1) * 1.0, chosen(clusters, rows), confidence)
        case "mean":
            means = case_means(col)
            clusters = chosen(clusters, np.flatnonzero(col.has_value))
            if yes_or_no(col, ends):
                return share_interval(means, clusters, confidence)
            return mean_interval(means, confidence, clusters)
        case "p50" | "p90" | "p95" | "p99":
            scored = col.scored
            cases, _ = np.nonzero(scored)  # trials of a case share it, as cases share a cluster
            groups = chosen(cases if clusters is None else clusters[cases], np.arange(cases.size))
            return quantile_interval(col.value[scored], QUANTILES[stat], confidence, groups)
        case "min" | "max" | "sum":
            return None


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Both sides of a split, case by case."""

    now: Column
    before: Column
    clusters: Indices | None


def _pairs(wanted: Wanted, here: _Side, there: _Side, matched: Indices) -> _Pairs | None:
    """The same cases with the same content, measured on both sides; None where these are not all cases."""
    metric, split, _ = wanted
    now, before = here.column(metric, split), there.column(metric, split)
    partners = matched[here.cases(split)]
    theirs = there.cases(split)
    if now is None or before is None or partners.size != theirs.size:
        return None
    place = np.full(len(there.table.cases), -1, dtype=np.intp)
    place[theirs] = np.arange(theirs.size)
    # -1 reads the last place, so it is asked for first.
    if bool((partners < 0).any()) or bool((place[partners] < 0).any()):
        return None
    before = before.take(place[partners])
    if bool((now.has_value != before.has_value).any()):
        return None
    rows = np.flatnonzero(now.has_value)
    return _Pairs(now.take(rows), before.take(rows), chosen(here.clusters(split), rows))


def _delta_interval(
    wanted: Wanted, pairs: _Pairs, here: _Side, confidence: float
) -> tuple[float, float] | None:
    """Two-sided, of candidate minus baseline; None for quantiles, totals and extremes."""
    metric, _, stat = wanted
    rule, ends = here.pass_rule(metric), here.ends(metric)
    if stat == "pass_rate":
        now, before = verdicts(pairs.now, rule), verdicts(pairs.before, rule)
        if bool((now < 0).any() | (before < 0).any()):
            return None
        differences = now.astype(np.float64) - before
        return paired_interval(differences, pairs.clusters, confidence, yes_no=True)
    if stat != "mean":
        return None
    yes_no = yes_or_no(pairs.now, ends) and yes_or_no(pairs.before, ends)
    differences = clipped(case_means(pairs.now)) - clipped(case_means(pairs.before))
    return paired_interval(differences, pairs.clusters, confidence, yes_no=yes_no)
