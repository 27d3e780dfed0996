"""Gates and metrics as rows of a table, with their numbers already in words."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from releasecheck.model.gate import BUILTIN_METRICS
from releasecheck.scorecard.numbers import NOTHING, change, share, shown
from releasecheck.scorecard.verdict import OUTCOME_TONES, SIGNS, gate_tone, gate_word
from releasecheck.stats import count, plain, show

if TYPE_CHECKING:
    from collections.abc import Iterable

    from releasecheck.model.scorecard import GateResult, Metric, Scorecard
    from releasecheck.scorecard.verdict import Tone


@dataclass(frozen=True, slots=True)
class GateRow:
    """One gate."""

    id: str
    outcome: str
    """As in the JSON."""
    word: str
    tone: Tone
    sign: str
    what: str
    """`exact, mean in hard`."""
    rule: str
    value: str
    baseline: str
    delta: str
    compared: str
    """`84 of 84`, or `82 cases` where two runs were compared."""
    reason: str
    waived: bool


@dataclass(frozen=True, slots=True)
class Bar:
    """An interval as a picture; every number is a place from 0 to 100."""

    low: float | None
    high: float | None
    value: float
    baseline: float | None
    thresholds: tuple[float, ...]
    start: str
    """What 0 stands for."""
    end: str
    """What 100 stands for."""
    words: str
    """The same for who cannot see it."""


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One metric."""

    metric: str
    split: str
    stat: str
    value: str
    interval: str
    confidence: str
    n: str
    """`84 of 84`, or `not reported`."""
    complete: bool
    """False where a score that should be there is not."""
    baseline: str
    delta: str
    delta_interval: str
    """Of the change, low to high; an empty text where there is none."""
    bar: Bar | None


def gate_rows(scorecard: Scorecard) -> tuple[GateRow, ...]:
    """Every gate, the worst outcome first, otherwise in the order of the suite."""
    places = {outcome: place for place, outcome in enumerate(reversed(OUTCOME_TONES))}
    ordered = sorted(scorecard.gates, key=lambda gate: places[gate.outcome])
    whole = {(m.metric, m.split, m.stat): m for m in scorecard.metrics}
    return tuple(
        _gate_row(gate, _compared(gate, whole.get((gate.metric, gate.split, gate.stat)), scorecard))
        for gate in ordered
    )


def _gate_row(gate: GateResult, compared: str) -> GateRow:
    tone = gate_tone(gate)
    now, before = _told_apart(gate.value, gate.baseline_value)
    return GateRow(
        id=gate.id,
        outcome=gate.outcome,
        word=gate_word(gate),
        tone=tone,
        sign=SIGNS[tone],
        what=f"{gate.metric}, {gate.stat} in {gate.split}",
        rule=gate.rule,
        value=shown(gate.metric, gate.value, (gate.threshold, before)),
        baseline=shown(gate.metric, gate.baseline_value, (now,)),
        delta=change(gate.metric, gate.delta, (gate.threshold,)),
        compared=compared,
        reason=gate.reason,
        waived=gate.waived,
    )


def _compared(gate: GateResult, whole: Metric | None, scorecard: Scorecard) -> str:
    """How much a gate rests on: cases on both sides, or scores of all that there should be."""
    if gate.compared is None:
        return NOTHING
    if gate.decide is not None:
        return count(gate.compared, "case")
    if whole is not None and gate.compared == whole.n_scored:
        return f"{whole.n_scored:,} of {whole.n_expected:,}"
    # A gate over fewer cases than the metric decides once all of them are there, or foresees how it ends.
    return f"{gate.compared:,}" + ("" if scorecard.decided_early else f" of {gate.compared:,}")


def _told_apart(value: float | None, other: float | None) -> tuple[float | None, float | None]:
    """Both as marks for each other; equal numbers are none, and are rounded alike."""
    return (None, None) if value == other else (value, other)


def metric_rows(scorecard: Scorecard) -> tuple[MetricRow, ...]:
    """Every metric, in the order of the scorecard.

    Statistics that say the same, as the mean and the pass rate of a yes/no judge do, share a row.
    """
    rows: list[MetricRow] = []
    for metric in scorecard.metrics:
        row = _metric_row(metric, scorecard.gates)
        twin = next((at for at, other in enumerate(rows) if _same_numbers(row, other)), None)
        if twin is None:
            rows.append(row)
        else:
            stat = f"{rows[twin].stat}, {row.stat}"
            bar = row.bar if row.bar is not None and row.bar.thresholds else rows[twin].bar
            rows[twin] = replace(rows[twin], stat=stat, bar=bar)
    return tuple(rows)


def _same_numbers(row: MetricRow, other: MetricRow) -> bool:
    numbers = ("metric", "split", "value", "interval", "n", "baseline", "delta", "delta_interval")
    return row.value != NOTHING and all(
        getattr(row, name) == getattr(other, name) for name in numbers
    )


def _metric_row(metric: Metric, gates: Iterable[GateResult]) -> MetricRow:
    # A threshold beside the bar only where the gate looks at this very number, not at a filter of it.
    thresholds = [
        gate.threshold
        for gate in gates
        if (gate.metric, gate.split, gate.stat) == (metric.metric, metric.split, metric.stat)
        and gate.threshold is not None
        and gate.value == metric.value
        and gate.baseline_value is None
    ]
    name = metric.metric
    now, before = _told_apart(metric.value, metric.baseline_value)
    # Most targets say no cost, and that is nothing to repair; a gate on it refuses, and says so.
    unsaid = name in BUILTIN_METRICS and not metric.n_scored and metric.n_expected > 0
    interval = NOTHING
    if metric.ci_low is not None and metric.ci_high is not None:
        low, high = shown(name, metric.ci_low, thresholds), shown(name, metric.ci_high, thresholds)
        interval = f"{low} to {high}"
    return MetricRow(
        metric=name,
        split=metric.split,
        stat=metric.stat,
        value=shown(name, metric.value, (*thresholds, before)),
        interval=interval,
        confidence=share(round(metric.confidence * 10_000), 10_000),
        n="not reported" if unsaid else f"{metric.n_scored:,} of {metric.n_expected:,}",
        complete=unsaid or metric.n_scored == metric.n_expected > 0,
        baseline=shown(name, metric.baseline_value, (now,)),
        delta=change(name, metric.delta),
        delta_interval=_around(metric),
        bar=_bar(metric, thresholds, interval),
    )


def _around(metric: Metric) -> str:
    low, high = metric.delta_ci_low, metric.delta_ci_high
    if metric.delta is None or low is None or high is None:
        return ""
    return f"{change(metric.metric, low)} to {change(metric.metric, high)}"


_MARGIN: Final = 1.1


def _bar(metric: Metric, thresholds: list[float], interval: str) -> Bar | None:
    if metric.value is None:
        return None
    drawn = [metric.ci_low, metric.ci_high, metric.value, metric.baseline_value, *thresholds]
    numbers = [number for number in drawn if number is not None]
    start, end = min(0.0, *numbers), max(0.0, *numbers)
    end = 1.0 if start == 0.0 and end <= 1.0 and not _has_unit(metric.metric) else end * _MARGIN
    if end <= start:
        end = start + 1.0
    if not math.isfinite(100 * (end - start)):
        return None  # numbers at the end of what floats hold leave no room for a scale

    def place(number: float | None) -> float | None:
        return None if number is None else round(100 * (number - start) / (end - start), 2)

    value = place(metric.value)
    assert value is not None  # noqa: S101 - a value was given
    words = shown(metric.metric, metric.value, thresholds)
    if interval != NOTHING:
        words += f", interval {interval}"
    if metric.baseline_value is not None:
        words += f", baseline {shown(metric.metric, metric.baseline_value)}"
    if thresholds:
        words += f", threshold {' and '.join(plain(mark) for mark in thresholds)}"
    return Bar(
        low=place(metric.ci_low),
        high=place(metric.ci_high),
        value=value,
        baseline=place(metric.baseline_value),
        thresholds=tuple(p for p in map(place, thresholds) if p is not None),
        start=show(start),
        end=show(end),
        words=words,
    )


def _has_unit(metric: str) -> bool:
    return metric in ("latency_ms", "cost_usd", "tokens")


def counted(scorecard: Scorecard) -> str:
    """`252 of 252 scores measured (100 %) for 84 cases`."""
    counts = scorecard.counts
    if not counts.pairs:
        return "No score was planned"
    text = (
        f"{counts.scored:,} of {count(counts.pairs, 'score')} measured "
        f"({share(counts.scored, counts.pairs)}) for {count(counts.cases, 'case')}"
    )
    if counts.trials != counts.cases:
        text += f" and {count(counts.trials, 'trial')}"
    return text
