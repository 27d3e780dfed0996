"""Each case of this run beside itself in the baseline, judge by judge: who flipped, and who moved."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from releasecheck.model.judge import YesNoJudge, pass_mark
from releasecheck.scorecard.numbers import shown
from releasecheck.scorecard.scale import Scale, Tick, scale_of
from releasecheck.stats import Column, column, count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.model.judge import Judge
    from releasecheck.model.table import Flags, Floats, Indices, ScoreTable
    from releasecheck.scorecard.measured import Measured

SIDE: Final = 300.0
"""Width and height of a plot."""
MOST_POINTS: Final = 400
"""Different points that are drawn one by one; more are counted on a grid."""
CELLS: Final = 24
"""Rows and columns of that grid."""
Change: TypeAlias = Literal["stayed", "worse", "better"]
_SMALLEST: Final = 3.0
_LARGEST: Final = 11.0


@dataclass(frozen=True, slots=True)
class Four:
    """Cases by their verdict on both sides."""

    passing: int
    """Passed and pass."""
    failing: int
    """Failed and fail."""
    new_failures: int
    new_passes: int
    undecided: int
    """Compared, but without a verdict on one side."""
    words: str


@dataclass(frozen=True, slots=True)
class Mark:
    """Cases with the same numbers, or in the same cell of the grid."""

    x: float
    y: float
    size: float
    change: Change
    words: str


@dataclass(frozen=True, slots=True)
class Plot:
    """Baseline across, this run upwards."""

    marks: tuple[Mark, ...]
    """Flips last, so that nothing lies over them."""
    binned: bool
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    pass_at: Tick | None
    above: int
    below: int
    same: int
    words: str


@dataclass(frozen=True, slots=True)
class Paired:
    """One judge's comparison, case by case."""

    compared: int
    """Cases measured on both sides."""
    left: tuple[str, ...]
    """What is not compared, by reason."""
    four: Four | None
    plot: Plot | None


def paired(data: Measured, judge: Judge) -> Paired | None:
    """The pairs of a judge; None where both sides do not compare."""
    if data.before is None or data.apart(judge.id):
        return None
    now, before = column(data.now, judge.id), column(data.before, judge.id)
    assert now is not None  # noqa: S101 - a judge of the plan
    assert before is not None  # noqa: S101 - its table has every judge of the plan
    rows = np.flatnonzero(data.matched >= 0)
    there = data.matched[rows]
    both = now.has_value[rows] & before.has_value[there]
    at = data.now.judges.index(judge.id)
    here, then = data.passes[rows, at][both], data.passes_before[there, at][both]
    compared = int(both.sum())
    graded = not isinstance(judge, YesNoJudge) or data.now.trials > 1
    plot = None
    if graded and compared:
        plot = _plot(judge, _means(now, rows[both]), _means(before, there[both]), here, then)
    four = _four(here, then) if pass_mark(judge) is not None and compared else None
    return Paired(compared, tuple(_left(data.now, now, rows, both, before, there)), four, plot)


def _means(col: Column, rows: Indices) -> Floats:
    """Each case's mean over its measured trials, the same on every machine."""
    values, scored = col.value[rows], col.scored[rows]
    if values.shape[1] == 1:
        means: Floats = values[:, 0]
        return means
    found = (value[there].tolist() for value, there in zip(values, scored, strict=True))
    # Divided first, as the sum of floats may be none.
    return np.array([math.fsum(one / len(case) for one in case) for case in found])


def _left(
    table: ScoreTable, now: Column, rows: Indices, both: Flags, before: Column, there: Indices
) -> Iterator[str]:
    """Why cases of this run are not among the pairs; each is counted once."""
    other = len(table.cases) - len(rows)
    if other:
        yield f"{count(other, 'case')} new or changed since the baseline"
    outside = ~both & (~now.expected[rows].any(axis=1) | ~before.expected[there].any(axis=1))
    if outside.any():
        yield f"{count(int(outside.sum()), 'case')} to which the judge does not apply"
    lost_now = ~both & ~outside & ~now.has_value[rows]
    if lost_now.any():
        yield f"{count(int(lost_now.sum()), 'case')} not measured now"
    lost_then = ~both & ~outside & now.has_value[rows]
    if lost_then.any():
        yield f"{count(int(lost_then.sum()), 'case')} not measured in the baseline"


def _four(here: Floats, then: Floats) -> Four:
    def number(now: int, before: int) -> int:
        return int(((here == now) & (then == before)).sum())

    passing, failing = number(1, 1), number(0, 0)
    worse, better = number(0, 1), number(1, 0)
    undecided = len(here) - passing - failing - worse - better
    words = (
        f"{passing:,} passed and pass, {worse:,} newly failing, {better:,} newly passing, "
        f"{failing:,} failed and fail"
    )
    return Four(passing, failing, worse, better, undecided, words)


def _plot(judge: Judge, now: Floats, before: Floats, here: Floats, then: Floats) -> Plot | None:
    mark = pass_mark(judge)
    marked = () if mark is None else (mark,)
    scale = scale_of([*now.tolist(), *before.tolist(), *marked], SIDE)
    if scale is None:
        return None
    changes = np.select([(then == 1) & (here == 0), (then == 0) & (here == 1)], [1, 2], 0)
    found = Counter(zip(before.tolist(), now.tolist(), changes.tolist(), strict=True))
    binned = len({(x, y) for x, y, _ in found}) > MOST_POINTS
    points = _binned(found, scale) if binned else _single(judge.id, found, scale)
    above, below = int((now > before).sum()), int((now < before).sum())
    same = len(now) - above - below
    # Sizes grow with the number of cases by area, as far as the largest.
    most = max(number for *_, number in points)
    marks = [
        Mark(x, y, _size(number, most, binned=binned), _CHANGES[change], words)
        for x, y, change, words, number in points
    ]
    marks.sort(key=lambda one: (one.change != "stayed", one.change == "worse", one.x, one.y))
    ticks = scale.ticks()
    return Plot(
        marks=tuple(marks),
        binned=binned,
        x_ticks=ticks,
        y_ticks=tuple(Tick(round(SIDE - tick.at, 1), tick.text) for tick in ticks),
        pass_at=None if mark is None else Tick(scale.place(mark), shown(judge.id, mark)),
        above=above,
        below=below,
        same=same,
        words=(
            f"{judge.id}, baseline across and this run upwards, {count(len(now), 'case')}: {above:,} higher now, "
            f"{below:,} lower now, {same:,} the same; {int((changes == 1).sum()):,} newly failing, "
            f"{int((changes == 2).sum()):,} newly passing"
        ),
    )


_CHANGES: Final[tuple[Change, ...]] = ("stayed", "worse", "better")
_Point: TypeAlias = tuple[float, float, int, str, int]
"""x, y, change, words, cases."""


def _single(judge: str, found: Counter[tuple[float, float, int]], scale: Scale) -> list[_Point]:
    return [
        (
            scale.place(x),
            round(SIDE - scale.place(y), 1),
            change,
            f"{count(number, 'case')}: {shown(judge, x)} in the baseline, {shown(judge, y)} now",
            number,
        )
        for (x, y, change), number in found.items()
    ]


def _binned(found: Counter[tuple[float, float, int]], scale: Scale) -> list[_Point]:
    cells: Counter[tuple[int, int, int]] = Counter()
    for (x, y, change), number in found.items():
        cells[_cell(x, scale), _cell(y, scale), change] += number
    step = SIDE / CELLS
    return [
        (
            round((x + 0.5) * step, 1),
            round(SIDE - (y + 0.5) * step, 1),
            change,
            count(number, "case"),
            number,
        )
        for (x, y, change), number in cells.items()
    ]


def _cell(value: float, scale: Scale) -> int:
    return min(CELLS - 1, max(0, int(CELLS * ((value - scale.start) / (scale.end - scale.start)))))


def _size(number: int, most: int, *, binned: bool) -> float:
    largest = SIDE / CELLS / 2 if binned else _LARGEST
    smallest = 1.2 if binned else _SMALLEST
    if most <= 1:
        return _SMALLEST + 1
    share_of_most = (number - 1) / (most - 1)
    return round(smallest + (largest - smallest) * math.sqrt(share_of_most), 1)
