"""A candidate that is worse by a known amount, to see whether a gate notices."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from releasecheck.model.judge import value_passes, value_range
from releasecheck.model.table import SCORED, TARGET_FAILED
from releasecheck.stats import case_means, verdicts, zeros_and_ones

if TYPE_CHECKING:
    from releasecheck.gates.subject import Subject
    from releasecheck.model.judge import Judge
    from releasecheck.model.table import Codes, Flags, Floats, Indices, ScoreTable
    from releasecheck.pipeline.selftest_ways import Bits
    from releasecheck.stats import Column

_STEPS: Final = 60
"""Halvings until what has to be subtracted is known."""


def plant(table: ScoreTable, subject: Subject, drop: float, bits: Bits) -> ScoreTable | str:
    """The table with a true drop in one gate's metric, or why there can be none of that size.

    Of yes and no, cases turn bad until so much is lost; of values each gets worse by the same amount, more
    where others cannot get any worse. `drop` is in the gate's unit.
    """
    gate = subject.gate
    mine = subject.selects(table.cases) & ~subject.quarantined(table.cases)
    col = subject.column(table)
    if col is None:
        return f"the baseline has no judge {gate.metric}"
    rows = np.flatnonzero(mine & col.has_value)
    if rows.size == 0:
        return "none of its cases has a value"
    cut = col.take(rows)
    if gate.stat == "pass_rate":
        return _turned(
            table, subject, rows, (verdicts(cut, subject.pass_rule) == 1) * 1.0, drop, bits
        )
    if gate.stat not in {"mean", "sum"}:
        if subject.judge is None and gate.metric != "target_errors":
            return _slower(table, gate.metric, rows, drop)
        return f"what makes {gate.stat} worse by so much is not settled"
    if gate.stat == "sum":
        drop /= rows.size
    if zeros_and_ones(cut, subject.ends):
        good = case_means(cut)
        return _turned(
            table, subject, rows, 1 - good if subject.lower_is_better else good, drop, bits
        )
    return _shifted(table, subject, rows, cut, drop)


def _turned(
    table: ScoreTable, subject: Subject, rows: Indices, good: Floats, drop: float, bits: Bits
) -> ScoreTable | str:
    """Cases turned bad in a random order, until `drop` of what is good is lost."""
    share = float(good.mean())
    if share < drop:
        return f"only {share:.4g} is there to be lost"
    order = np.argsort(bits.shares(rows.size))
    lost = np.cumsum(good[order]) / rows.size
    # The case that would go beyond is turned by chance, so that the drop is right on average.
    count = int(np.searchsorted(lost, drop, side="right"))
    before = float(lost[count - 1]) if count else 0.0
    if count < rows.size and bits.shares(1)[0] < (drop - before) / (float(lost[count]) - before):
        count += 1
    bad = rows[order[:count]]
    hit = np.zeros(len(table.cases), dtype=np.bool_)
    hit[bad] = True
    if subject.judge is None:
        target = np.where(hit[:, None], np.int8(TARGET_FAILED), table.target)
        return replace(table, target=target)
    low, high = value_range(subject.judge.spec) or (0.0, 1.0)
    worst = high if subject.judge.spec.better == "lower" else low
    at = table.judges.index(subject.gate.metric)
    scored = hit[:, None] & (table.state[:, :, at] == SCORED)
    values = np.where(scored, worst, table.value[:, :, at])
    return _with_values(table, subject.judge.spec, at, values, scored, failing=True)


def _shifted(
    table: ScoreTable, subject: Subject, rows: Indices, col: Column, drop: float
) -> ScoreTable | str:
    """Every value worse by so much that the mean over cases is worse by `drop`."""
    sign = 1.0 if subject.lower_is_better else -1.0
    limits = None if subject.judge is None else value_range(subject.judge.spec)
    low, high = limits or (-np.inf, np.inf)

    def worse(by: float) -> Floats:
        return np.clip(col.value + sign * by, low, high)

    def lost(by: float) -> float:
        moved = np.where(col.scored, np.abs(worse(by) - col.value), 0.0)
        return float((moved.sum(axis=1) / col.scored.sum(axis=1)).mean())

    by = drop
    if limits is not None:
        most = high - low
        if lost(most) < drop:
            return f"only {lost(most):.4g} is there to be lost"
        least = 0.0
        for _ in range(_STEPS):
            middle = (least + most) / 2
            least, most = (middle, most) if lost(middle) < drop else (least, middle)
        by = most
    if subject.judge is None:
        return _slower(table, subject.gate.metric, rows, by)
    at = table.judges.index(subject.gate.metric)
    values = table.value[:, :, at].copy()
    values[rows] = worse(by)
    touched = np.zeros(values.shape, dtype=np.bool_)
    touched[rows] = True
    touched &= table.state[:, :, at] == SCORED
    return _with_values(table, subject.judge.spec, at, values, touched, failing=False)


def _slower(table: ScoreTable, metric: str, rows: Indices, by: float) -> ScoreTable | str:
    """Every measurement of the target larger by so much."""
    more = np.zeros(table.target.shape)
    more[rows] = by
    match metric:
        case "latency_ms":
            return replace(table, latency_ms=table.latency_ms + more)
        case "cost_usd":
            return replace(table, cost_usd=table.cost_usd + more)
        case "tokens":
            return replace(table, tokens=table.tokens + more)
        case _:
            return f"how {metric} gets worse is not settled"


def _with_values(
    table: ScoreTable, spec: Judge, at: int, values: Floats, touched: Flags, *, failing: bool
) -> ScoreTable:
    """The table with other values of one judge, and the verdicts that follow from them.

    With `failing` what was touched fails, even where nobody knows how bad a value has to be for that.
    """
    value, passed = table.value.copy(), table.passed.copy()
    value[:, :, at] = np.where(touched, values, value[:, :, at])
    known: Codes = passed[:, :, at]
    if failing:
        said = np.zeros(known.shape, dtype=np.int8)
    else:
        found = [value_passes(spec, float(one)) for one in value[:, :, at][touched]]
        said = known.copy()
        said[touched] = [-1 if one is None else int(one) for one in found]
    passed[:, :, at] = np.where(touched & (known >= 0), said, known)
    return replace(table, value=value, passed=passed)
