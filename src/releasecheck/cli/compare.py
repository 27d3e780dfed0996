"""`releasecheck compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from releasecheck.cli.options import EXISTING, json_option

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from releasecheck.model.scorecard import Metric
    from releasecheck.scorecard.side_by_side import Comparison, MetricDifference, RunSeen


@click.command("compare")
@click.argument("base", type=EXISTING)
@click.argument("candidate", type=EXISTING)
@click.argument("more", type=EXISTING, nargs=-1)
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Write a page there.")
@json_option
def command(
    *, base: Path, candidate: Path, more: tuple[Path, ...], html: Path | None, as_json: bool
) -> int:
    """Compare bundles or baselines with the first: flipped cases and metric differences. Decides nothing."""
    from releasecheck.cli.output import document, say
    from releasecheck.pipeline.comparing import compare_all
    from releasecheck.pipeline.files import write_whole
    from releasecheck.scorecard.compare_page import render_compare

    found = compare_all((base, candidate, *more))
    if html is not None:
        write_whole(html, [render_compare(found)])
    if as_json:
        document(found.to_json())
        return 0
    _show_runs(found.runs)
    for run, pair in zip(found.runs[1:], found.pairs, strict=True):
        say()
        say(f"{run.label} against {found.runs[0].label}", "strong")
        _show_pair(pair, found.runs[0].label, run.label)
    if html is not None:
        say(f"page: {html}")
    return 0


def _show_runs(runs: tuple[RunSeen, ...]) -> None:
    from releasecheck.cli.output import table
    from releasecheck.scorecard.compare_page import run_row

    rows = [run_row(run) for run in runs]
    table(
        [
            (row.label, row.word, (run.at or "not final")[:10], row.commit, row.run_id, row.path)
            for run, row in zip(runs, rows, strict=True)
        ],
        [row.tone for row in rows],
    )


def _show_pair(pair: Comparison, base: str, candidate: str) -> None:
    from releasecheck.cli.output import say, table
    from releasecheck.scorecard.side_by_side import flip_lines

    measured = [one for one in pair.metrics if one.measured]
    rows = list(_metric_rows(measured))
    table([("metric", base, candidate, "change"), *rows], ["quiet", *[""] * len(rows)])
    silent = [f"{one.some.metric} {one.some.stat}" for one in pair.metrics if not one.measured]
    if silent:
        say(f"measured in neither: {', '.join(silent)}", "quiet")
    for line in flip_lines(pair):
        say(line)
    cases = pair.cases
    say(
        f"cases: {cases.same} the same, {len(cases.changed)} changed, {len(cases.added)} added, "
        f"{len(cases.removed)} removed, {len(cases.renamed)} renamed"
    )
    for line in pair.said():
        if not line.startswith("the cases differ"):
            say(line, "warn")


def _metric_rows(metrics: Iterable[MetricDifference]) -> Iterator[tuple[str, ...]]:
    """Statistics that say the same share a row."""
    rows: dict[tuple[str, ...], tuple[str, str]] = {}
    for one in metrics:
        some = one.some
        cells = (some.metric, some.split, _side(one.base), _side(one.candidate), _change(one))
        stats = f"{rows[cells][0]}, {some.stat}" if cells in rows else some.stat
        rows[cells] = (stats, some.split)
    for (metric, _, before, now, delta), (stats, split) in rows.items():
        where = "" if split == "all" else f" in {split}"
        yield f"{metric} {stats}{where}", before, now, delta


def _side(metric: Metric | None) -> str:
    from releasecheck.scorecard.numbers import shown

    if metric is None:
        return "absent"
    if metric.value is None:
        return "not measured"
    part = metric.n_scored < metric.n_expected
    n = f" ({metric.n_scored:,} of {metric.n_expected:,})" if part else ""
    return shown(metric.metric, metric.value) + n


def _change(one: MetricDifference) -> str:
    from releasecheck.scorecard.numbers import change

    if one.delta is None:
        return f"none: {one.why}"
    name = one.some.metric
    text = change(name, one.delta)
    if one.around is not None:
        text += f" ({change(name, one.around[0])} to {change(name, one.around[1])})"
    if one.over is not None:
        text += f", over {one.over:,} in common"
    return text
