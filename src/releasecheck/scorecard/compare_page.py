"""`compare --html`: runs side by side on one page."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.scorecard.numbers import NOTHING, change, moment, shown
from releasecheck.scorecard.standalone import render_page
from releasecheck.scorecard.trend import run_tone, run_word
from releasecheck.scorecard.verdict import SIGNS
from releasecheck.stats import count, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.model.scorecard import Metric
    from releasecheck.scorecard.side_by_side import CaseAcross, MetricDifference, RunSeen, Several
    from releasecheck.scorecard.verdict import Tone

STYLES: Final = ("page.css", "pictures.css", "compare.css")
SCRIPTS: Final = ("compare.js",)
MOST_CASES: Final = 2000
"""Rows of the page; the rest are counted."""
_TONES: Final[dict[str, Tone]] = {
    "pass": "good",
    "fail": "bad",
    "no score": "warn",
    "absent": "neutral",
}
_UNITS: Final = ("latency_ms", "cost_usd", "tokens")


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run."""

    label: str
    run_id: str
    at: str
    commit: str
    word: str
    tone: Tone
    cases: str
    models: tuple[str, ...]
    path: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A value with its interval on the scale of its metric; places from 0 to 200."""

    value: float
    low: float | None
    high: float | None
    base: float | None
    words: str


@dataclass(frozen=True, slots=True)
class MetricCell:
    """One metric of one run."""

    label: str
    value: str
    interval: str
    n: str
    complete: bool
    picture: Picture | None
    delta: str
    delta_interval: str
    over: str
    why: str
    """Why there is no difference; empty for the first run, and where there is one."""


@dataclass(frozen=True, slots=True)
class MetricBlock:
    """One metric of every run."""

    metric: str
    what: str
    cells: tuple[MetricCell, ...]
    start: str
    end: str
    """What the ends of its scale stand for."""

    @property
    def measured(self) -> bool:
        """Whether any run has a value."""
        return any(cell.value != NOTHING for cell in self.cells)


def render_compare(found: Several) -> bytes:
    """The page."""
    rows = found.cases.rows[:MOST_CASES]
    blocks = metric_blocks(found)
    said = [
        (f"{run.label} against {found.runs[0].label}", tuple(pair.said()))
        for run, pair in zip(found.runs[1:], found.pairs, strict=True)
    ]
    return render_page(
        "compare.html.j2",
        STYLES,
        SCRIPTS,
        runs=[run_row(run) for run in found.runs],
        said=[one for one in said if one[1]],
        metrics=[block for block in blocks if block.measured],
        silent=[f"{block.metric} ({block.what})" for block in blocks if not block.measured],
        rows=rows,
        more=len(found.cases.rows) - len(rows),
        passing=found.cases.passing,
        flipped=sum(row.flipped for row in found.cases.rows),
        judges=_judges(rows),
        tones=_TONES,
        signs=SIGNS,
        nothing=NOTHING,
        count=count,
    )


def _judges(rows: Sequence[CaseAcross]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.judge for row in rows))


def run_row(run: RunSeen) -> RunRow:
    """A run in words."""
    return RunRow(
        label=run.label,
        run_id=run.run_id,
        at=moment(run.at) if run.at else "not final",
        commit=(run.commit or "")[:7] or NOTHING,
        word=run_word(run),
        tone=run_tone(run),
        cases=f"{run.cases:,}" + ("" if run.mode == "full" else f" ({run.mode})"),
        models=run.models,
        path=run.path,
    )


def metric_blocks(found: Several) -> tuple[MetricBlock, ...]:
    """Every metric that any run has; statistics that say the same share a block."""
    by_run = [{(m.metric, m.split, m.stat): m for m in run.metrics} for run in found.runs]
    pairs = [
        {(d.some.metric, d.some.split, d.some.stat): d for d in pair.metrics}
        for pair in found.pairs
    ]
    blocks: dict[object, MetricBlock] = {}
    for key in dict.fromkeys(key for metrics in by_run for key in metrics):
        block = _block(
            key,
            [metrics.get(key) for metrics in by_run],
            [None, *(pair.get(key) for pair in pairs)],
            [run.label for run in found.runs],
        )
        same = (key[0], key[1], block.cells)
        twin = blocks.get(same)
        if twin is None:
            blocks[same] = block
            continue
        stats, _, split = twin.what.partition(" in ")
        what = f"{stats}, {key[2]} in {split}"
        blocks[same] = MetricBlock(twin.metric, what, twin.cells, twin.start, twin.end)
    return tuple(blocks.values())


def _block(
    key: tuple[str, str, str],
    metrics: Sequence[Metric | None],
    pairs: Sequence[MetricDifference | None],
    labels: Sequence[str],
) -> MetricBlock:
    scale = _scale(key[0], metrics)
    base = None if metrics[0] is None else metrics[0].value
    cells = [
        _cell(label, metric, pair, scale, base, first=not at)
        for at, (label, metric, pair) in enumerate(zip(labels, metrics, pairs, strict=True))
    ]
    start, end = ("", "") if scale is None else (show(scale[0]), show(scale[1]))
    return MetricBlock(key[0], f"{key[2]} in {key[1]}", tuple(cells), start, end)


def _scale(name: str, metrics: Sequence[Metric | None]) -> tuple[float, float] | None:
    """The same for all runs; None where there is nothing to draw, or no room for it."""
    numbers = [
        number
        for metric in metrics
        if metric is not None and metric.value is not None
        for number in (metric.value, metric.ci_low, metric.ci_high)
        if number is not None
    ]
    if not numbers:
        return None
    start, end = min(0.0, *numbers), max(0.0, *numbers)
    if start == 0.0 and end <= 1.0 and name not in _UNITS:
        end = 1.0
    if end <= start:
        end = start + 1.0
    return (start, end) if math.isfinite(200 * (end - start)) else None


def _cell(
    label: str,
    metric: Metric | None,
    pair: MetricDifference | None,
    scale: tuple[float, float] | None,
    base: float | None,
    *,
    first: bool,
) -> MetricCell:
    if metric is None:
        why = "" if first else "the run has no such metric"
        return MetricCell(label, NOTHING, "", "no such metric", True, None, "", "", "", why)  # noqa: FBT003
    name = metric.metric
    interval = ""
    if metric.ci_low is not None and metric.ci_high is not None:
        interval = f"{shown(name, metric.ci_low)} to {shown(name, metric.ci_high)}"
    delta, around, over = "", "", ""
    if pair is not None and pair.delta is not None:
        delta = change(name, pair.delta)
        if pair.around is not None:
            around = f"{change(name, pair.around[0])} to {change(name, pair.around[1])}"
        if pair.over is not None:
            over = f"over {count(pair.over, 'score')} in common: " + (
                f"{shown(name, pair.base_over)}, then {shown(name, pair.candidate_over)}"
            )
    return MetricCell(
        label=label,
        value=shown(name, metric.value, (None if metric.value == base else base,)),
        interval=interval,
        n=f"{metric.n_scored:,} of {metric.n_expected:,}",
        complete=metric.n_scored == metric.n_expected > 0,
        picture=_picture(metric, scale, base, interval, first=first),
        delta=delta,
        delta_interval=around,
        over=over,
        why="" if first or pair is None else pair.why,
    )


def _picture(
    metric: Metric,
    scale: tuple[float, float] | None,
    base: float | None,
    interval: str,
    *,
    first: bool,
) -> Picture | None:
    if scale is None or metric.value is None:
        return None
    start, end = scale

    def place(number: float | None) -> float | None:
        return None if number is None else round(200 * (number - start) / (end - start), 2)

    value = place(metric.value)
    assert value is not None  # noqa: S101 - a value was given
    words = shown(metric.metric, metric.value) + (f", interval {interval}" if interval else "")
    mark = None if first else place(base)
    return Picture(value, place(metric.ci_low), place(metric.ci_high), mark, words)
