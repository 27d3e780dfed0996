"""Runs over time: one line for each metric, which never joins two runs that do not compare.

The line breaks where another judge scored, where the cases were others, and where nothing or not everything
was measured. Every number of a picture stands in a table beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from releasecheck.model.gate import BUILTIN_METRICS
from releasecheck.model.history import PastMetric, PastRun
from releasecheck.scorecard.numbers import NOTHING, shown
from releasecheck.scorecard.verdict import OUTCOME_TONES, OUTCOME_WORDS, SIGNS
from releasecheck.stats import count, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from releasecheck.scorecard.report import Report
    from releasecheck.scorecard.side_by_side import RunSeen
    from releasecheck.scorecard.verdict import Tone

WIDTH: Final = 640.0
HEIGHT: Final = 170.0
_LEFT: Final = 76.0
_RIGHT: Final = 20.0
_TOP: Final = 14.0
_BOTTOM: Final = 26.0
MOST_CHARTS: Final = 12
"""In a scorecard; further metrics are counted."""
_THAN: Final = " than the run before"
Key: TypeAlias = tuple[str, str, str]
"""(metric, split, stat)."""


@dataclass(frozen=True, slots=True)
class Point:
    """One metric of one run, in words and as a place."""

    run_id: str
    date: str
    commit: str
    word: str
    """The verdict."""
    tone: Tone
    sign: str
    value: str
    interval: str
    n: str
    note: str
    """Why it is not joined with the run before it; empty where it is."""
    now: bool
    """This run, of a page about one run."""
    apart: bool
    """It does not compare with this run."""
    x: float
    y: float | None
    """None where nothing was measured."""
    low: float | None
    high: float | None
    """Of its interval, as heights in the picture: `low` is the lower number."""

    @property
    def words(self) -> str:
        """All of it in a line."""
        parts = [
            self.date,
            self.value + (f" ({self.interval})" if self.interval != NOTHING else ""),
        ]
        parts += [self.word, self.run_id]
        return ", ".join(part for part in (*parts, self.note) if part)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Runs that compare with each other, next to each other."""

    line: str
    """Points of a polyline."""
    band: str
    """Points of a polygon around it; empty where a run has no interval."""
    apart: bool


@dataclass(frozen=True, slots=True)
class Tick:
    """A number beside the picture."""

    y: float
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """One metric over time."""

    key: Key
    """The first of the metrics that it is the line of."""
    metric: str
    what: str
    """`mean in all`."""
    points: tuple[Point, ...]
    stretches: tuple[Stretch, ...]
    breaks: tuple[float, ...]
    """Where the line is broken though both sides were measured."""
    ticks: tuple[Tick, ...]
    words: str
    """The picture for who cannot see it."""
    said: tuple[str, ...]
    """What must be known before the line is believed."""

    @property
    def measured(self) -> bool:
        """Whether any run has a value."""
        return any(point.value != NOTHING for point in self.points)


@dataclass(frozen=True, slots=True)
class Trend:
    """All of a page's charts."""

    charts: tuple[Chart, ...]
    more: int
    """Metrics that are not drawn."""
    said: tuple[str, ...]


def trend_context(report: Report) -> dict[str, Any]:
    """What `templates/scorecard/trend.html.j2` is rendered with: earlier runs, then this one."""
    history = report.history
    if history is None:
        return {"trend": None}
    this = this_run(report)
    runs = [run for run in history.runs if run.run_id != this.run_id]
    known = {metric.key for run in runs for metric in run.metrics if metric.value is not None}
    gated = [(gate.metric, gate.split, gate.stat) for gate in report.scorecard.gates]
    own = [metric.key for metric in this.metrics if metric.key in known]
    keys = dict.fromkeys([*(key for key in gated if key in own), *own])
    charts = distinct(chart((*runs, this), key, this) for key in keys)
    said = []
    if history.older:
        said.append(
            f"{count(history.older, 'earlier run')} before these {len(runs)} were left out."
        )
    if history.refused:
        said.append(
            f"{count(len(history.refused), 'folder')} of the history could not be taken for a finished run "
            "and is not drawn; plan/history.json names them."
            if len(history.refused) == 1
            else f"{len(history.refused)} folders of the history could not be taken for finished runs and are "
            "not drawn; plan/history.json names them."
        )
    drawn = charts[:MOST_CHARTS]
    return {"trend": Trend(drawn, len(charts) - len(drawn), tuple(said))}


def this_run(report: Report) -> PastRun:
    """The run of a report as a point beside earlier ones."""
    card, plan = report.scorecard, report.plan
    return PastRun(
        run_id=card.run_id,
        suite=card.suite,
        mode=card.mode,
        at=card.created_at or plan.created_at,
        commit=None if plan.git is None else plan.git.commit,
        verdict=card.verdict,
        overridden=card.overridden,
        revision=card.revision,
        judges={judge.id: judge.digest for judge in plan.judges},
        cases_digest=plan.cases_digest,
        metrics=tuple(
            PastMetric.model_validate(metric.model_dump(include=set(PastMetric.model_fields)))
            for metric in card.metrics
        ),
    )


def distinct(charts: Iterable[Chart]) -> tuple[Chart, ...]:
    """One chart for what says the same: mean and pass rate of a yes/no judge, a split that is everything."""
    found: dict[object, Chart] = {}
    for one in charts:
        stat, _, split = one.what.partition(" in ")
        _join(found, (one.metric, split, one.points), one, "{0}, " + stat + " in {1}")
    whole: dict[object, Chart] = {}
    for one in found.values():
        stats, _, split = one.what.partition(" in ")
        _join(whole, (one.metric, stats, one.points), one, "{0} in {1} and " + split)
    return tuple(whole.values())


def _join(found: dict[object, Chart], key: object, one: Chart, what: str) -> None:
    other = found.get(key)
    if other is None:
        found[key] = one
        return
    first, _, second = other.what.partition(" in ")
    joined = what.format(first, second)
    words = other.words.replace(other.what, joined, 1)
    found[key] = replace(other, what=joined, words=words)


def why_apart(metric: str, one: PastRun, other: PastRun) -> str:
    """Why the same metric of two runs does not compare; empty where it does."""
    reasons = []
    if metric not in BUILTIN_METRICS and one.judges.get(metric) != other.judges.get(metric):
        reasons.append("another judge")
    if one.cases_digest != other.cases_digest:
        reasons.append("other cases")
    return " and ".join(reasons)


def metric_of(run: PastRun, key: Key) -> PastMetric | None:
    """A metric of a run; None where it has none of that name."""
    return next((metric for metric in run.metrics if metric.key == key), None)


def chart(runs: Sequence[PastRun], key: Key, this: PastRun | None = None) -> Chart:
    """One metric over runs in the order given; `this` is the one that the page is about."""
    found = [metric_of(run, key) for run in runs]
    scale = _Scale(
        [
            number
            for metric in found
            if metric is not None
            for number in (metric.value, metric.ci_low, metric.ci_high)
            if number is not None
        ]
    )
    notes = list(_notes(runs, found, key[0]))
    wide = WIDTH - _LEFT - _RIGHT
    step = wide / (len(runs) - 1) if len(runs) > 1 else 0.0
    start = _LEFT if step else _LEFT + wide / 2
    points = tuple(
        _point(run, metric, note, scale, round(start + step * at, 2), this)
        for at, (run, metric, note) in enumerate(zip(runs, found, notes, strict=True))
    )
    breaks = tuple(
        round((points[at - 1].x + points[at].x) / 2, 2)
        for at in range(1, len(points))
        if notes[at].endswith(_THAN) and points[at].y is not None and points[at - 1].y is not None
    )
    what = f"{key[2]} in {key[1]}"
    return Chart(
        key=key,
        metric=key[0],
        what=what,
        points=points,
        stretches=tuple(_stretches(points)),
        breaks=breaks,
        ticks=scale.ticks(key[0]),
        words=_words(key[0], what, points, len(breaks)),
        said=tuple(_said(runs, key, this)),
    )


def _notes(runs: Sequence[PastRun], found: Sequence[PastMetric | None], name: str) -> Iterator[str]:
    """For each run, why it is not joined with the one before it."""
    for at, (run, metric) in enumerate(zip(runs, found, strict=True)):
        if metric is None:
            yield "no such metric"
        elif metric.value is None:
            yield "not measured"
        elif metric.n_scored < metric.n_expected and name not in BUILTIN_METRICS:
            yield f"only {metric.n_scored:,} of {metric.n_expected:,} scored"
        elif at and (why := why_apart(name, runs[at - 1], run)):
            yield why + _THAN
        else:
            yield ""


def _point(
    run: PastRun,
    metric: PastMetric | None,
    note: str,
    scale: _Scale,
    x: float,
    this: PastRun | None,
) -> Point:
    name = "" if metric is None else metric.metric
    value = None if metric is None else metric.value
    low, high = (None, None) if metric is None else (metric.ci_low, metric.ci_high)
    tone = run_tone(run)
    apart = this is not None and run is not this and bool(why_apart(name, run, this))
    return Point(
        run_id=run.run_id,
        date=run.at[:10],
        commit=(run.commit or "")[:7] or NOTHING,
        word=run_word(run),
        tone=tone,
        sign=SIGNS[tone],
        value=shown(name, value),
        interval=(
            NOTHING if low is None or high is None else f"{shown(name, low)} to {shown(name, high)}"
        ),
        n=NOTHING if metric is None else f"{metric.n_scored:,} of {metric.n_expected:,}",
        note=note,
        now=run is this,
        apart=apart,
        x=x,
        y=scale.place(value),
        low=scale.place(low),
        high=scale.place(high),
    )


def run_tone(run: PastRun | RunSeen) -> Tone:
    """How a run's verdict looks."""
    if run.verdict is None:
        return "wait"
    return "warn" if run.overridden else OUTCOME_TONES[run.verdict]


def run_word(run: PastRun | RunSeen) -> str:
    """A run's verdict for people."""
    if run.verdict is None:
        return "waiting for scores"
    return "blocked, waived" if run.overridden else OUTCOME_WORDS[run.verdict]


def _stretches(points: Sequence[Point]) -> Iterator[Stretch]:
    """What may be joined: neighbours without a note in between."""
    piece: list[Point] = []
    for point in points:
        joins = bool(piece) and not point.note and piece[-1].apart == point.apart
        if not joins:
            yield from _stretch(piece)
            piece = []
        if point.y is not None and not point.note.startswith("only "):
            piece.append(point)
    yield from _stretch(piece)


def _stretch(piece: Sequence[Point]) -> Iterator[Stretch]:
    if len(piece) < 2:
        return
    line = " ".join(f"{point.x},{point.y}" for point in piece)
    band = ""
    if all(point.low is not None and point.high is not None for point in piece):
        upper = [f"{point.x},{point.high}" for point in piece]
        lower = [f"{point.x},{point.low}" for point in reversed(piece)]
        band = " ".join((*upper, *lower))
    yield Stretch(line, band, piece[0].apart)


def _words(metric: str, what: str, points: Sequence[Point], breaks: int) -> str:
    measured = [point for point in points if point.y is not None]
    text = f"{metric}, {what}: {count(len(points), 'run')}"
    if not measured:
        return f"{text}, none of them measured"
    text += f" from {points[0].date} to {points[-1].date}, the latest value {measured[-1].value}"
    if len(measured) > 1:
        text += f", {measured[-2].value} before it"
    if len(measured) < len(points):
        text += f"; {len(points) - len(measured)} not measured"
    return f"{text}; the line is broken {count(breaks, 'time')}" if breaks else text


def _said(runs: Sequence[PastRun], key: Key, this: PastRun | None) -> Iterator[str]:
    if this is None:
        return
    earlier = [run for run in runs if run is not this]
    apart = [why for run in earlier if (why := why_apart(key[0], run, this))]
    if apart:
        told = ", ".join(f"{apart.count(why)} for {why}" for why in dict.fromkeys(apart))
        yield (
            f"{len(apart)} of {count(len(earlier), 'earlier run')} "
            f"{'does' if len(apart) == 1 else 'do'} not compare with this one ({told}); hollow marks, not joined "
            "with it."
        )


class _Scale:
    """Numbers as heights; nothing is drawn where floats leave no room for a scale."""

    def __init__(self, numbers: Sequence[float]) -> None:
        low, high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
        span = high - low
        if not math.isfinite(span * 2):
            self.start, self.end, self.drawn = 0.0, 1.0, False
            return
        if span <= 0:
            span = abs(high) * 0.2 or 1.0
            # Nothing that is counted or timed goes below zero.
            low, high = low - span / 2 if low < 0 else max(low - span / 2, 0.0), high + span / 2
        self.step = _nice(span / 2)
        self.start = math.floor(low / self.step) * self.step
        self.end = math.ceil(high / self.step) * self.step
        self.drawn = self.end > self.start

    def place(self, number: float | None) -> float | None:
        """From the top, in the units of the picture."""
        if number is None or not self.drawn:
            return None
        share = (number - self.start) / (self.end - self.start)
        return round(HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM), 2)

    def ticks(self, metric: str) -> tuple[Tick, ...]:
        """Round numbers from the lower end to the upper one."""
        if not self.drawn:
            return ()
        number = round((self.end - self.start) / self.step)
        values = [self.start + self.step * at for at in range(number + 1)]
        found = []
        for value in values:
            y = self.place(value)
            assert y is not None  # noqa: S101 - a number was given
            text = plain(float(f"{value:.10g}"))
            unit = {"latency_ms": " ms", "cost_usd": " $"}.get(metric, "")
            found.append(Tick(y, text + unit))
        return tuple(found)


def _nice(least: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is no smaller than half of `least`."""
    digits, _, exponent = f"{least:e}".partition("e")  # exact on every machine, which log10 is not
    first = next(nice for nice in (1, 2, 5, 10) if nice * 1.5 >= float(digits))
    return float(f"{first}e{exponent}")
