"""Metrics by split: a row for each, a column for each split, and the worst split named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from releasecheck.model.gate import BUILTIN_METRICS
from releasecheck.scorecard.tables import MetricRow, metric_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from releasecheck.model.scorecard import Metric
    from releasecheck.scorecard.report import Report


@dataclass(frozen=True, slots=True)
class SplitRow:
    """One statistic of one metric."""

    metric: str
    stat: str
    cells: tuple[MetricRow | None, ...]
    """One for each split, `all` first; None where it was not asked for."""
    worst: str
    """The split with the worst value; empty where none is worse than another."""
    word: str
    """`lowest` or `highest`."""


@dataclass(frozen=True, slots=True)
class Splits:
    """The table."""

    names: tuple[str, ...]
    rows: tuple[SplitRow, ...]


def split_context(report: Report) -> tuple[tuple[MetricRow, ...], Splits | None]:
    """Metrics over everything, and the table of those that are known by split; None where none is."""
    card = report.scorecard
    rows = metric_rows(card)
    names = tuple(dict.fromkeys(("all", *report.plan.splits, *(row.split for row in rows))))
    by_stat: dict[tuple[str, str], dict[str, MetricRow]] = {}
    for row in rows:
        for stat in row.stat.split(", "):
            by_stat.setdefault((row.metric, stat), {})[row.split] = row
    lower = {judge.id for judge in report.plan.judges if judge.spec.better == "lower"}
    lower |= {*BUILTIN_METRICS}
    values = {(one.metric, one.stat, one.split): one for one in card.metrics}
    found: dict[tuple[str, tuple[MetricRow | None, ...]], SplitRow] = {}
    for (metric, stat), cells in by_stat.items():
        if cells.keys() <= {"all"}:
            continue
        line = tuple(cells.get(name) for name in names)
        twin = found.get((metric, line))
        if twin is not None:
            stat = f"{twin.stat}, {stat}"  # noqa: PLW2901 - the same numbers under both names
        word = "highest" if metric in lower else "lowest"
        worst = _worst(names, values, metric, stat.split(", ")[-1], highest=metric in lower)
        found[metric, line] = SplitRow(metric, stat, line, worst, word)
    drawn = {(row.metric, cell.split) for row in found.values() for cell in row.cells if cell}
    whole = tuple(row for row in rows if row.split == "all" or (row.metric, row.split) not in drawn)
    if not found:
        return whole, None
    used = [name for at, name in enumerate(names) if any(row.cells[at] for row in found.values())]
    kept = [names.index(name) for name in used]
    return whole, Splits(
        tuple(used),
        tuple(
            SplitRow(row.metric, row.stat, tuple(row.cells[at] for at in kept), row.worst, row.word)
            for row in found.values()
        ),
    )


def _worst(
    names: Sequence[str],
    values: Mapping[tuple[str, str, str], Metric],
    metric: str,
    stat: str,
    *,
    highest: bool,
) -> str:
    """The worst of the parts; empty where fewer than two were measured, or all alike."""
    known = {
        name: one.value
        for name in names
        if name != "all"
        and (one := values.get((metric, stat, name))) is not None
        and one.value is not None
    }
    if len(set(known.values())) < 2:
        return ""
    pick = max if highest else min
    return pick(known, key=lambda name: known[name])
