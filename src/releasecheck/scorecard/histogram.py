"""How the scores of a judge are spread: this run as bars, the baseline as an outline over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from releasecheck.model.judge import YesNoJudge, pass_mark
from releasecheck.model.table import FAILED, MISSING, NOT_APPLICABLE, PENDING
from releasecheck.scorecard.numbers import share, shown
from releasecheck.scorecard.scale import Tick, scale_of
from releasecheck.stats import column, count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from releasecheck.model.judge import Judge
    from releasecheck.model.table import Floats
    from releasecheck.scorecard.measured import Measured
    from releasecheck.stats import Column

WIDE: Final = 300.0
HIGH: Final = 120.0
BINS: Final = 20


@dataclass(frozen=True, slots=True)
class Block:
    """A bar, or a part of one."""

    x: float
    y: float
    width: float
    height: float
    look: str
    """How it is filled; empty for a plain one."""
    words: str


@dataclass(frozen=True, slots=True)
class Spread:
    """The scores of one judge."""

    said: tuple[str, ...]
    """How many were measured on each side, and what became of the others."""
    bars: tuple[Block, ...]
    outline: str
    """Points of the baseline's outline; empty without one."""
    ticks: tuple[Tick, ...]
    top: str
    """What the full height stands for."""
    pass_at: Tick | None
    rows: tuple[tuple[str, str, str], ...]
    """(range, this run, baseline), for who reads numbers."""
    words: str
    labels: tuple[tuple[str, float, str], ...] = ()
    """(side, height, its numbers) over the bars of a yes/no judge."""


def spread(data: Measured, judge: Judge) -> Spread:
    """The scores of a judge on both sides; the baseline's only where they compare."""
    now = column(data.now, judge.id)
    assert now is not None  # noqa: S101 - a judge of the plan
    before = None
    if data.before is not None and not data.apart(judge.id):
        before = column(data.before, judge.id)
    said = [f"This run: {_counted(now)}"]
    if before is not None:
        said.append(f"Baseline: {_counted(before)}")
    values = now.value[now.scored]
    old = np.zeros(0) if before is None else before.value[before.scored]
    empty = Spread(tuple(said), (), "", (), "", None, (), "")
    if not values.size and not old.size:
        return empty
    if isinstance(judge, YesNoJudge):
        return _yes_no(judge, said, _verdicts(now), _verdicts(before))
    return _graded(judge, said, values, old) or empty


def _verdicts(col: Column | None) -> tuple[int, int]:
    """How many scores pass and fail."""
    if col is None:
        return 0, 0
    return int((col.scored & (col.passed == 1)).sum()), int((col.scored & (col.passed == 0)).sum())


def _counted(col: Column) -> str:
    """`81 of 84 scores measured, 3 failed`."""
    lacking = (
        (FAILED, "failed"),
        (MISSING, "missing"),
        (PENDING, "still to come"),
    )
    expected = int(col.expected.sum())
    parts = [f"{int(col.scored.sum()):,} of {count(expected, 'score')} measured"]
    parts += [
        f"{number:,} {word}" for code, word in lacking if (number := int((col.state == code).sum()))
    ]
    outside = int((col.state == NOT_APPLICABLE).sum())
    if outside:
        parts.append(f"{outside:,} not applicable")
    return ", ".join(parts)


def _shares(number: int, whole: int) -> str:
    return f"{number:,} ({share(number, whole)})" if whole else "not measured"


def _yes_no(judge: Judge, said: list[str], now: tuple[int, int], before: tuple[int, int]) -> Spread:
    """Two bars, one above the other, each all that was measured on its side."""
    bars: list[Block] = []
    words: list[str] = []
    labels: list[tuple[str, float, str]] = []
    for name, (good, bad) in (("This run", now), ("Baseline", before)):
        if not good + bad:
            continue
        width = round(WIDE * good / (good + bad), 1)
        y = 44.0 * len(labels)
        number = f"{good:,} pass, {bad:,} fail"
        words.append(f"{name}: {number}")
        labels.append((name, y + 10, number))
        if good:
            bars.append(Block(0, y + 14, width, 20, "good", f"{name}: {good:,} pass"))
        if bad:
            rest = round(WIDE - width, 1)
            bars.append(Block(width, y + 14, rest, 20, "bad", f"{name}: {bad:,} fail"))
    rows = [
        (word, _shares(now[at], sum(now)), _shares(before[at], sum(before)))
        for at, word in enumerate(("pass", "fail"))
    ]
    return Spread(
        tuple(said),
        tuple(bars),
        "",
        (),
        "",
        None,
        tuple(rows),
        f"{judge.id}: {'; '.join(words)}",
        tuple(labels),
    )


def _graded(judge: Judge, said: list[str], values: Floats, old: Floats) -> Spread | None:
    mark = pass_mark(judge)
    scale = scale_of([*values.tolist(), *old.tolist(), *(() if mark is None else (mark,))], WIDE)
    if scale is None:
        return None
    edges = [scale.start + (scale.end - scale.start) * (i / BINS) for i in range(BINS + 1)]
    here, there = binned(values, edges), binned(old, edges)
    top = max(_highest(here), _highest(there))
    step = WIDE / BINS
    bars = tuple(
        Block(
            round(at * step + 1, 1),
            round(HIGH - (height := HIGH * number / values.size / top), 1),
            round(step - 2, 1),
            round(height, 1),
            "",
            f"{shown(judge.id, edges[at])} to {shown(judge.id, edges[at + 1])}: {number:,}",
        )
        for at, number in enumerate(here)
        if number
    )
    rows = tuple(
        (
            f"{shown(judge.id, edges[at])} to {shown(judge.id, edges[at + 1])}",
            _shares(here[at], values.size),
            _shares(there[at], old.size),
        )
        for at in range(BINS)
        if here[at] or there[at]
    )
    return Spread(
        said=tuple(said),
        bars=bars,
        outline=outline(there, top, WIDE, HIGH),
        ticks=scale.ticks(),
        top=_percent(top),
        pass_at=None if mark is None else Tick(scale.place(mark), shown(judge.id, mark)),
        rows=rows,
        words=_words(judge.id, values, old),
    )


def binned(values: Floats, edges: Sequence[float]) -> list[int]:
    """How many values each bin holds: from its edge up to the next, which the last bin includes."""
    found = np.clip(np.searchsorted(np.array(edges), values, side="right") - 1, 0, len(edges) - 2)
    return [int(number) for number in np.bincount(found, minlength=len(edges) - 1)]


def _highest(numbers: Sequence[int]) -> float:
    return max(numbers) / sum(numbers) if sum(numbers) else 0.0


def outline(numbers: Sequence[int], top: float, wide: float, high: float) -> str:
    """The steps of a histogram as points of a line; empty where it counts nothing."""
    whole = sum(numbers)
    if not whole:
        return ""
    step = wide / len(numbers)
    return " ".join(_steps(numbers, whole, top, step, high))


def _steps(
    numbers: Sequence[int], whole: int, top: float, step: float, high: float
) -> Iterator[str]:
    yield f"0,{high:g}"
    for at, number in enumerate(numbers):
        y = round(high - high * number / whole / top, 1)
        yield f"{round(at * step, 1):g},{y:g}"
        yield f"{round((at + 1) * step, 1):g},{y:g}"
    yield f"{round(len(numbers) * step, 1):g},{high:g}"


def _percent(top: float) -> str:
    return f"{100 * top:.0f} %" if top >= 0.01 else f"{100 * top:.1f} %"


def _words(name: str, values: Floats, old: Floats) -> str:
    sides = [
        f"{who} from {shown(name, float(side.min()))} to {shown(name, float(side.max()))}, half at most "
        f"{shown(name, float(np.sort(side)[(side.size - 1) // 2]))}"
        for who, side in (("this run", values), ("baseline", old))
        if side.size
    ]
    return f"{name}: {'; '.join(sides)}"
