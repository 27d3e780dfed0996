"""`releasecheck resume`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from releasecheck.cli.options import EXISTING, Duration, json_option


@click.command("resume")
@click.argument("out", type=EXISTING)
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
) -> int:
    """Carry an interrupted run, or one with retryable failures, on from its ledger."""
    from releasecheck.cli.report import show_scorecard
    from releasecheck.drivers.local.run import RunOptions, resume
    from releasecheck.drivers.local.world import local_world

    world = local_world()
    try:
        result = asyncio.run(
            resume(out, RunOptions(close, repair, approved_by, time_budget), world)
        )
    finally:
        world.progress.close()
    show_scorecard(result.scorecard, out, as_json=as_json)
    return result.scorecard.exit_code
