"""`releasecheck run`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click

from releasecheck.cli.options import FOLDER, Duration, PlanOptions, json_option, plan_options


@click.command("run")
@plan_options
@click.option("--out", type=FOLDER, default=Path("out"), show_default=True, help="The bundle.")
@click.option(
    "--repair", type=click.IntRange(0), default=0, help="Ask missing trials again, at most N."
)
@click.option("--final", "close", is_flag=True, help="Decide for good on what is there.")
@click.option("--time-budget", type=Duration(), help="Stop between batches after this long.")
@click.option("--approved-by", help="Who approved calling a target with irreversible effects.")
@json_option
def command(
    *,
    out: Path,
    repair: int,
    close: bool,
    time_budget: float | None,
    approved_by: str | None,
    as_json: bool,
    **options: Any,  # noqa: ANN401 - the options of `plan`, checked by PlanOptions
) -> int:
    """Plan, run every shard and finish, in one process.

    Replaces a finalized bundle in OUT; an open one is carried on with `resume`.

    Exit codes: 0 every gate passed or is neutral, 1 measured and blocked, 2 no verdict.
    """
    from releasecheck.cli.report import show_scorecard
    from releasecheck.drivers.local.run import RunOptions, run
    from releasecheck.drivers.local.world import local_world

    request = PlanOptions(**options).request()
    world = local_world()
    try:
        result = asyncio.run(
            run(request, out, RunOptions(close, repair, approved_by, time_budget), world)
        )
    finally:
        world.progress.close()
    show_scorecard(result.scorecard, out, as_json=as_json)
    return result.scorecard.exit_code
