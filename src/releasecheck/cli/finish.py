"""`releasecheck finish`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from releasecheck.cli.options import (
    EXISTING,
    FOLDER,
    Duration,
    approval_option,
    json_option,
    policy_root_option,
)


@click.command("finish")
@click.option("--plan", "plan", type=FOLDER, required=True, help="The plan folder.")
@click.option(
    "--results", type=EXISTING, multiple=True, required=True, help="Folder with result files."
)
@click.option("--out", type=FOLDER, default=Path("out"), show_default=True, help="The bundle.")
@click.option(
    "--no-wait", is_flag=True, help="Ask judges that answer later once, and do not wait for them."
)
@click.option(
    "--repair", type=click.IntRange(0), default=0, help="Ask missing trials here, at most N."
)
@click.option(
    "--time-budget",
    type=Duration(),
    help="Wait at most this long for judges that answer later.",
)
@click.option("--final", "close", is_flag=True, help="Decide for good on what is there.")
@policy_root_option
@approval_option
@json_option
def command(
    *,
    plan: Path,
    results: tuple[Path, ...],
    out: Path,
    no_wait: bool,
    repair: int,
    time_budget: float | None,
    close: bool,
    policy_root: Path | None,
    approved_by: str | None,
    as_json: bool,
) -> int:
    """Merge the results of all shards, decide, and write the bundle.

    Exit codes: 0 every gate passed or is neutral, 1 measured and blocked, 2 no verdict, 5 still waiting
    for scores.
    """
    from releasecheck.cli.report import show_scorecard
    from releasecheck.drivers.local.finish import run_finish
    from releasecheck.drivers.local.world import local_world
    from releasecheck.pipeline.finish import FinishRequest

    world = local_world(policy_root=policy_root)
    request = FinishRequest(plan, results, out, close, repair, approved_by)
    try:
        result = asyncio.run(
            run_finish(request, world, wait=not no_wait, time_budget_s=time_budget)
        )
    finally:
        world.progress.close()
    show_scorecard(result.scorecard, out, as_json=as_json)
    return result.scorecard.exit_code
