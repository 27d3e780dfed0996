"""`releasecheck run`."""

from __future__ import annotations

import asyncio
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from releasecheck.cli.options import (
    FOLDER,
    CarryOptions,
    PlanOptions,
    carry_options,
    json_option,
    plan_options,
)


@click.command("run")
@plan_options
@click.option("--out", type=FOLDER, default=Path("out"), show_default=True, help="The bundle.")
@carry_options
@json_option
def command(*, out: Path, as_json: bool, **options: Any) -> int:  # noqa: ANN401 - see the two classes
    """Plan, run every shard and finish, in one process.

    Replaces a finalized bundle in OUT; an open one is carried on with `resume`.

    Exit codes: 0 every gate passed or is neutral, 1 measured and blocked, 2 no verdict, 3 nothing was
    called, 4 could not run, 5 still waiting for scores.
    """
    from releasecheck.cli.report import show_scorecard
    from releasecheck.drivers.local.run import run
    from releasecheck.drivers.local.world import local_world

    carry = CarryOptions(**{field.name: options.pop(field.name) for field in fields(CarryOptions)})
    request = PlanOptions(**options).request()
    world = local_world()
    try:
        result = asyncio.run(run(request, out, carry.options(), world))
    finally:
        world.progress.close()
    show_scorecard(result.scorecard, out, as_json=as_json)
    return result.scorecard.exit_code
