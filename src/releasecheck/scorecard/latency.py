"""How long the target took: a histogram on an axis by factors, and the usual percentiles of both sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from releasecheck.model.table import ANSWERED, NO_OUTPUT, TARGET_FAILED
from releasecheck.scorecard.histogram import HIGH, Block, binned, outline
from releasecheck.scorecard.numbers import change, shown
from releasecheck.scorecard.scale import Tick
from releasecheck.stats import QUANTILES, Column, aggregate, column, count

if TYPE_CHECKING:
    from releasecheck.model.table import ScoreTable
    from releasecheck.scorecard.measured import Measured

WIDE: Final = 600.0
_STEPS: Final = (1.0, 1.25, 1.6, 2.0, 2.5, 3.15, 4.0, 5.0, 6.3, 8.0)
"""Ten bins from one power of ten to the next, written down so that no logarithm is computed."""
EDGES: Final = tuple(float(f"{step}e{exponent}") for exponent in range(-3, 10) for step in _STEPS)
"""From a microsecond to three months, in milliseconds."""
_FEWEST: Final = 10
"""Bins that are drawn at least."""


@dataclass(frozen=True, slots=True)
class Latency:
    """The latencies of both sides."""

    said: tuple[str, ...]
    """How many were measured, and what has none."""
    bars: tuple[Block, ...]
    outline: str
    ticks: tuple[Tick, ...]
    quantiles: tuple[tuple[str, str, str, str], ...]
    """(name, this run, baseline, change)."""
    rows: tuple[tuple[str, str, str], ...]
    """(range, this run, baseline)."""
    words: str


def latency(data: Measured) -> Latency | None:
    """None where neither side has any."""
    now = column(data.now, "latency_ms")
    before = None if data.before is None else column(data.before, "latency_ms")
    assert now is not None  # noqa: S101 - a metric of every table
    here = now.value[now.scored]
    there = np.zeros(0) if before is None else before.value[before.scored]
    said = [f"This run: {_counted(data.now, now)}"]
    if before is not None and data.before is not None:
        said.append(f"Baseline: {_counted(data.before, before)}")
    if not here.size and not there.size:
        return None
    quantiles = tuple(_quantile(name, now, before) for name in QUANTILES)
    first, last = _range(np.concatenate((here, there)).tolist())
    edges = EDGES[first : last + 1]
    bins, old = binned(here, edges), binned(there, edges)
    top = max(max(numbers) / max(1, sum(numbers)) for numbers in (bins, old))
    step = WIDE / len(bins)
    bars = tuple(
        Block(
            round(at * step + 1, 1),
            round(HIGH - (height := HIGH * number / here.size / top), 1),
            round(step - 2, 1),
            round(height, 1),
            "",
            f"{_between(edges, at)}: {count(number, 'answer')}",
        )
        for at, number in enumerate(bins)
        if number
    )
    rows = tuple(
        (_between(edges, at), f"{bins[at]:,}", f"{old[at]:,}" if there.size else "not measured")
        for at in range(len(bins))
        if bins[at] or old[at]
    )
    return Latency(
        said=tuple(said),
        bars=bars,
        outline=outline(old, top, WIDE, HIGH),
        ticks=_ticks(edges, step),
        quantiles=quantiles,
        rows=rows,
        words="Latency on an axis by factors: "
        + "; ".join(
            f"{name} {now_} now" + ("" if before is None else f", {then} in the baseline")
            for name, now_, then, _ in quantiles
        ),
    )


def _counted(table: ScoreTable, col: Column) -> str:
    failed, none = (int((table.target == code).sum()) for code in (TARGET_FAILED, NO_OUTPUT))
    answered = int((table.target == ANSWERED).sum())
    text = f"measured for {int(col.scored.sum()):,} of {count(answered, 'answer')}"
    if failed:
        text += f"; {count(failed, 'failure')} of the target not measured"
    if none:
        text += f"; {count(none, 'question')} without an answer"
    return text


def _quantile(name: str, now: Column, before: Column | None) -> tuple[str, str, str, str]:
    here = _of(name, now)
    there = None if before is None else _of(name, before)
    delta = None if here is None or there is None else here - there
    return (
        name,
        shown("latency_ms", here, (there if there != here else None,)),
        shown("latency_ms", there, (here if there != here else None,)),
        change("latency_ms", delta),
    )


def _of(name: str, col: Column) -> float | None:
    value = aggregate(name, col, "all")  # type: ignore[arg-type] # the keys of QUANTILES
    return None if value is None else float(value)


def _range(values: list[float]) -> tuple[int, int]:
    """The first and last edge to draw."""
    low, high = min(values), max(values)
    first = max((at for at, edge in enumerate(EDGES) if edge <= low), default=0)
    last = min((at for at, edge in enumerate(EDGES) if edge > high), default=len(EDGES) - 1)
    while last - first < _FEWEST:
        first, last = max(0, first - 1), min(len(EDGES) - 1, last + 1)
    return first, last


def _ticks(edges: tuple[float, ...], step: float) -> tuple[Tick, ...]:
    """At 1, 2 and 5 times a power of ten; fewer where that would be too many."""
    at = [place for place, edge in enumerate(edges) if f"{edge:e}"[0:4] in ("1.00", "2.00", "5.00")]
    if len(at) > 12:
        at = [place for place in at if f"{edges[place]:e}".startswith("1.00")]
    return tuple(Tick(round(place * step, 1), _time(edges[place])) for place in at)


def _between(edges: tuple[float, ...], at: int) -> str:
    return f"{_time(edges[at])} to {_time(edges[at + 1])}"


def _time(milliseconds: float) -> str:
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:g} s"
    return f"{milliseconds:g} ms"
