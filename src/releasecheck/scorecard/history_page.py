"""`history --html`: the runs of a folder on one page, suite by suite, with a line for each metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.scorecard.numbers import NOTHING, moment, shown
from releasecheck.scorecard.standalone import render_page
from releasecheck.scorecard.trend import chart, distinct, metric_of, run_tone, run_word
from releasecheck.scorecard.verdict import SIGNS
from releasecheck.stats import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from releasecheck.model.history import PastRun, Refused
    from releasecheck.scorecard.trend import Chart, Key
    from releasecheck.scorecard.verdict import Tone

STYLES: Final = ("page.css", "pictures.css", "trend.css")
MOST_CHARTS: Final = 40
"""For each suite; further metrics are counted."""
MOST_COLUMNS: Final = 3
"""Metrics in the table of runs; all of them have a line below."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One metric of one run."""

    value: str
    interval: str
    n: str


@dataclass(frozen=True, slots=True)
class Row:
    """One run."""

    at: str
    run_id: str
    path: str
    commit: str
    word: str
    tone: Tone
    mode: str
    blocked_by: tuple[str, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class SuiteHistory:
    """The runs of one suite."""

    name: str
    columns: tuple[str, ...]
    """Names of the metrics in `Row.cells`."""
    rows: tuple[Row, ...]
    """The latest first."""
    charts: tuple[Chart, ...]
    more_charts: int
    older: int
    """Runs that were not asked for."""


def suite_history(
    name: str, runs: Sequence[tuple[str, PastRun]], keys: Sequence[Key], older: int
) -> SuiteHistory:
    """The runs of a suite in words; `runs` are (place, run), the oldest first."""
    past = [run for _, run in runs]
    charts = distinct(chart(past, key) for key in keys)
    columns = [one.key for one in charts if one.measured][:MOST_COLUMNS]
    return SuiteHistory(
        name=name,
        columns=tuple(metric_name(key) for key in columns),
        rows=tuple(_row(path, run, columns) for path, run in reversed(runs)),
        charts=charts[:MOST_CHARTS],
        more_charts=max(0, len(charts) - MOST_CHARTS),
        older=older,
    )


def metric_name(key: Key) -> str:
    """`exact mean`, or `exact mean in hard` for a part of the dataset."""
    metric, split, stat = key
    return f"{metric} {stat}" + ("" if split == "all" else f" in {split}")


def _row(path: str, run: PastRun, columns: Iterable[Key]) -> Row:
    return Row(
        at=moment(run.at),
        run_id=run.run_id,
        path=path,
        commit=(run.commit or "")[:7] or NOTHING,
        word=run_word(run),
        tone=run_tone(run),
        mode=run.mode,
        blocked_by=run.blocked_by,
        cells=tuple(cell_of(run, key) for key in columns),
    )


def cell_of(run: PastRun, key: Key) -> Cell:
    """A metric of a run in words; what was not measured is no number."""
    found = metric_of(run, key)
    if found is None:
        return Cell(NOTHING, "", "no such metric")
    if found.value is None:
        return Cell(NOTHING, "", f"not measured: 0 of {found.n_expected:,}")
    interval = ""
    if found.ci_low is not None and found.ci_high is not None:
        interval = f"{shown(found.metric, found.ci_low)} to {shown(found.metric, found.ci_high)}"
    part = found.n_scored < found.n_expected
    n = f"{found.n_scored:,} of {found.n_expected:,}" if part else f"n = {found.n_scored:,}"
    return Cell(shown(found.metric, found.value), interval, n)


def key_metrics(runs: Sequence[PastRun], names: Sequence[str] = ()) -> tuple[Key, ...]:
    """The metrics of a suite, the latest run's own order first; `names` chooses some of them."""
    keys = dict.fromkeys(metric.key for run in reversed(runs) for metric in run.metrics)
    whole = sorted(keys, key=lambda key: key[1] != "all")
    return tuple(key for key in whole if not names or key[0] in names)


def render_history(
    folder: str,
    suites: Sequence[SuiteHistory],
    refused: Sequence[Refused],
    copies: Sequence[Refused],
    counted: Mapping[str, int],
) -> bytes:
    """The page."""
    return render_page(
        "history.html.j2",
        STYLES,
        (),
        folder=folder,
        suites=suites,
        refused=refused,
        copies=copies,
        counted=counted,
        signs=SIGNS,
        nothing=NOTHING,
        count=count,
    )
