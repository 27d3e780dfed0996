"""`releasecheck rescore`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from releasecheck.cli.options import EXISTING, Duration, json_option


@click.command("rescore")
@click.argument("out", type=EXISTING)
@click.option("--config", type=EXISTING, required=True, help="Judges and gates come from here.")
@click.option("--profile", help="Overlay of the config to use.")
@click.option(
    "--missing",
    is_flag=True,
    help="Keep what was measured with the same judges, and take scores that came too late.",
)
@click.option("--final", "close", is_flag=True, help="Decide for good on what is there.")
@click.option(
    "--time-budget", type=Duration(), help="Stop between batches, or waiting, after this long."
)
@click.option(
    "--no-wait", is_flag=True, help="Ask judges that answer later once, and do not wait for them."
)
@json_option
def command(
    *,
    out: Path,
    config: Path,
    profile: str | None,
    missing: bool,
    close: bool,
    time_budget: float | None,
    no_wait: bool,
    as_json: bool,
) -> int:
    """Judge the stored outputs of a decided run again, as a new revision; the target is never called.

    The decision before it stays in OUT/revisions. Exit codes: those of `run`.
    """
    from releasecheck.cli.report import show_scorecard
    from releasecheck.drivers.local.rescore import rescore
    from releasecheck.drivers.local.run import RunOptions
    from releasecheck.drivers.local.world import local_world
    from releasecheck.pipeline.revisions import RescoreRequest

    world = local_world()
    options = RunOptions(close=close, time_budget_s=time_budget, wait=not no_wait)
    try:
        result = asyncio.run(rescore(out, RescoreRequest(config, profile, missing), options, world))
    finally:
        world.progress.close()
    show_scorecard(result.scorecard, out, as_json=as_json)
    return result.scorecard.exit_code
