"""Metrics of a score table: every number with how much was measured, and an interval where there is one.

A metric describes; it never decides. Where scores are missing it still says what arrived, with
`n_scored` below `n_expected`, and shows no difference to the baseline: a number that may not be used
should not be read (G-09, S1-09). What was not measured is None, never 0 (X-12).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias, get_args

import numpy as np

from releasecheck.model.gate import BUILTIN_METRICS, Stat
from releasecheck.model.judge import has_pass_mark, value_range
from releasecheck.model.scorecard import Metric
from releasecheck.stats import (
    QUANTILES,
    Column,
    aggregate,
    case_passes,
    column,
    judge_specs,
    mean_interval,
    quantile_ranks,
    rows_of,
    to_float,
    verdicts,
    wilson,
)

if TYPE_CHECKING:
    from releasecheck.model.judge import Judge
    from releasecheck.model.plan import Measurable
    from releasecheck.model.table import Baseline, Floats, Indices, ScoreTable

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


def measure(table: ScoreTable, plan: Measurable, baseline: Baseline | None) -> tuple[Metric, ...]:
    """Every metric of the run, judges in plan order, then the built-in ones.

    For each judge the mean, and the pass rate where it has a pass mark, over all cases and over each
    split that has any; for the run its latency, cost, tokens and errors; and whatever a gate asks for.
    """
    specs = judge_specs(plan)
    here = _Side(table, specs)
    there = None
    same: set[str] = set(BUILTIN_METRICS)
    if baseline is not None and baseline.finalized:
        there = _Side(baseline.table, specs)
        same |= {j.id for j in plan.judges if baseline.judge_digests.get(j.id) == j.digest}
    return tuple(
        _metric(wanted, here, there if wanted[0] in same else None, plan)
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

    def column(self, metric: str, split: str) -> Column | None:
        """The metric in one split; None where this run has no such judge."""
        key = (metric, split)
        if key not in self.cut:
            if split not in self.rows:
                self.rows[split] = rows_of(self.table, split)
            whole = column(self.table, metric)
            self.cut[key] = None if whole is None else whole.take(self.rows[split])
        return self.cut[key]

    def is_share(self, metric: str) -> bool:
        """Whether every value lies between 0 and 1 by the nature of its judge."""
        return metric in self.specs and value_range(self.specs[metric]) == (0.0, 1.0)

    def pass_rule(self, metric: str) -> str:
        """How a case passes by this metric."""
        return self.specs[metric].pass_rule if metric in self.specs else "majority"


def _metric(wanted: Wanted, here: _Side, there: _Side | None, plan: Measurable) -> Metric:
    metric, split, stat = wanted
    col = here.column(metric, split)
    if col is None:
        message = f"metric {metric}: the score table has no such judge"
        raise ValueError(message)
    rule = here.pass_rule(metric)
    value = aggregate(stat, col, rule)
    before = there.column(metric, split) if there is not None else None
    baseline_value = aggregate(stat, before, rule) if before is not None else None
    interval = None if value is None else _interval(metric, stat, col, rule, plan.confidence)
    if interval is not None and stat == "mean" and here.is_share(metric):
        # No share lies outside of 0 to 1, and an interval that says so is only hard to believe.
        interval = max(0.0, interval[0]), min(1.0, interval[1])
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
        delta=(
            _float(value - baseline_value)
            if value is not None
            and baseline_value is not None
            and before is not None
            and plan.mode == "full"
            and _complete(col)
            and _complete(before)
            else None
        ),
    )


def _complete(col: Column) -> bool:
    return bool((col.scored == col.expected).all())


def _float(value: Fraction | None) -> float | None:
    return None if value is None else to_float(value)


def _interval(
    metric: str, stat: Stat, col: Column, rule: str, confidence: float
) -> tuple[float, float] | None:
    """Two-sided; None for one value, for totals and extremes, and where too little was measured."""
    scored = col.scored
    match stat:
        case "pass_rate":
            passed = verdicts(col, rule)
            return wilson(int((passed == 1).sum()), int((passed >= 0).sum()), confidence)
        case "mean":
            means = _case_means(col)
            # A share of yes and no has Wilson's interval; milliseconds and dollars are no share.
            if metric not in {"latency_ms", "cost_usd", "tokens"} and bool(
                np.isin(col.value[scored], (0.0, 1.0)).all() and np.isin(means, (0.0, 1.0)).all()
            ):
                return wilson(int(means.sum()), means.size, confidence)
            return mean_interval(means, confidence)
        case "p50" | "p90" | "p95" | "p99":
            values = np.sort(col.value[scored]) + 0.0
            ranks = quantile_ranks(values.size, QUANTILES[stat], confidence)
            return ranks and (float(values[ranks[0] - 1]), float(values[ranks[1] - 1]))
        case "min" | "max" | "sum":
            return None


def _case_means(col: Column) -> Floats:
    """Each measured case's mean over its trials, in floating point: for intervals only."""
    scored = col.scored
    counts = scored.sum(axis=1)
    with np.errstate(over="ignore"):
        totals = np.where(scored, col.value, 0.0).sum(axis=1)
    means: Floats = totals[counts > 0] / counts[counts > 0]
    return means
