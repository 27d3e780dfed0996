"""`releasecheck resume`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click

from releasecheck.cli.options import EXISTING, CarryOptions, carry_options, json_option


@click.command("resume")
@click.argument("out", type=EXISTING)
@carry_options
@json_option
def command(*, out: Path, as_json: bool, **options: Any) -> int:  # noqa: ANN401 - see CarryOptions
    """Carry an interrupted run, or one with retryable failures, on from its ledger."""
    from releasecheck.cli.report import show_scorecard
    from releasecheck.drivers.local.run import resume
    from releasecheck.drivers.local.world import local_world

    world = local_world()
    try:
        result = asyncio.run(resume(out, CarryOptions(**options).options(), world))
    finally:
        world.progress.close()
    show_scorecard(result.scorecard, out, as_json=as_json)
    return result.scorecard.exit_code
