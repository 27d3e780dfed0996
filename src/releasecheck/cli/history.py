"""`releasecheck history`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from releasecheck.cli.options import FOLDER, json_option
from releasecheck.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.canonical import Json
    from releasecheck.pipeline.history import Found, Kept
    from releasecheck.scorecard.trend import Key

SHOWN_METRICS = 4
"""Tables of a suite where no metric is named."""


@click.command("history")
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Write a page there.")
@click.option(
    "--metric", "metrics", metavar="M", multiple=True, help="Only this metric; may be repeated."
)
@click.option("--last", type=click.IntRange(1), help="Only the latest N runs of each suite.")
@json_option
def command(
    *, folder: Path, html: Path | None, metrics: tuple[str, ...], last: int | None, as_json: bool
) -> int:
    """List the finished runs below a folder: bundles and baselines. Decides nothing.

    Manifest and scorecard of each are held against each other; `verify` recomputes a whole bundle.
    """
    from releasecheck.cli.output import document, say
    from releasecheck.pipeline.files import write_whole
    from releasecheck.pipeline.history import find_runs

    found = find_runs(folder)
    if not found.kept and not found.refused:
        message = (
            f"{folder}: there is no bundle and no baseline in it; name a folder that holds some"
        )
        raise UsageError(message)
    chosen = {name: runs[-last:] if last else runs for name, runs in found.suites.items()}
    keys = {name: _keys(runs, metrics) for name, runs in chosen.items()}
    if metrics and not any(keys.values()):
        known = sorted({m.metric for one in found.kept for m in one.run.metrics})
        message = (
            f"--metric: no run has {', '.join(metrics)}; there are {', '.join(known) or 'none'}"
        )
        raise UsageError(message)
    if html is not None:
        write_whole(html, [_page(folder, found, chosen, keys)])
    if as_json:
        document(_document(found, chosen, keys))
        return 0
    for name, runs in chosen.items():
        _show_suite(name, runs, len(found.suites[name]) - len(runs), keys[name], all_=bool(metrics))
    for one in found.copies:
        say(f"counted once: {one.path}: {one.why}", "quiet")
    for one in found.refused:
        say(f"not taken: {one.path}: {one.why}", "warn")
    if html is not None:
        say(f"page: {html}")
    return 0


def _keys(runs: Sequence[Kept], names: tuple[str, ...]) -> tuple[Key, ...]:
    from releasecheck.scorecard.history_page import key_metrics

    return key_metrics([one.run for one in runs], names)


def _page(
    folder: Path,
    found: Found,
    chosen: dict[str, tuple[Kept, ...]],
    keys: dict[str, tuple[Key, ...]],
) -> bytes:
    from releasecheck.scorecard.history_page import render_history, suite_history

    suites = [
        suite_history(
            name,
            [(one.path, one.run) for one in runs],
            keys[name],
            len(found.suites[name]) - len(runs),
        )
        for name, runs in chosen.items()
    ]
    counted = {"runs": len(found.kept), "refused": len(found.refused)}
    name = folder.resolve().name or "/"
    return render_history(name, suites, found.refused, found.copies, counted)


def _document(
    found: Found, chosen: dict[str, tuple[Kept, ...]], keys: dict[str, tuple[Key, ...]]
) -> Json:
    return {
        "suites": [
            {
                "suite": name,
                "older": len(found.suites[name]) - len(runs),
                "runs": [_run(one, keys[name]) for one in runs],
            }
            for name, runs in chosen.items()
        ],
        "copies": [one.model_dump(mode="json") for one in found.copies],
        "refused": [one.model_dump(mode="json") for one in found.refused],
    }


def _run(one: Kept, keys: tuple[Key, ...]) -> Json:
    found = one.run.model_dump(mode="json")
    found["metrics"] = [m.model_dump(mode="json") for m in one.run.metrics if m.key in keys]
    return {"path": one.path, **found}


def _show_suite(
    name: str, runs: Sequence[Kept], older: int, keys: Sequence[Key], *, all_: bool
) -> None:
    from releasecheck.cli.output import say, table
    from releasecheck.scorecard.history_page import metric_name
    from releasecheck.scorecard.trend import chart, distinct, run_tone, run_word
    from releasecheck.stats import count

    say(
        f"{name}: {count(len(runs), 'run')}" + (f", {older} older left out" if older else ""),
        "strong",
    )
    tones = [run_tone(one.run) for one in runs]
    table(
        [
            (
                run_word(one.run) + ("" if one.run.mode == "full" else f" ({one.run.mode})"),
                one.run.at[:10],
                (one.run.commit or "")[:7] or "no commit",
                one.run.run_id,
                "by " + ", ".join(one.run.blocked_by) if one.run.blocked_by else "",
            )
            for one in runs
        ],
        tones,
    )
    charts = distinct(chart([one.run for one in runs], key) for key in keys)
    measured = [one for one in charts if one.measured]
    drawn = charts if all_ else measured[:SHOWN_METRICS]
    for one in drawn:
        say(f"{one.metric} {one.what}")
        table(
            [(point.date, point.value, point.interval, point.n, point.note) for point in one.points]
        )
    left = [one for one in charts if one not in drawn]
    if left:
        names = ", ".join(metric_name(one.key) for one in left[:SHOWN_METRICS])
        more = f" and {len(left) - SHOWN_METRICS} more" if len(left) > SHOWN_METRICS else ""
        say(f"also: {names}{more}; name one with --metric, or see them all with --html", "quiet")
