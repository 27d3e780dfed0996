"""`releasecheck shard`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from releasecheck.cli.options import (
    FOLDER,
    Duration,
    approval_option,
    json_option,
    policy_root_option,
)


@click.command("shard")
@click.option("--plan", "plan", type=FOLDER, required=True, help="The plan folder.")
@click.option("--index", type=click.IntRange(0), required=True, help="Which shard, from 0.")
@click.option(
    "--out", type=FOLDER, default=Path("results"), show_default=True, help="For the result file."
)
@click.option("--attempt", type=click.IntRange(1), help="Number of this attempt; highest seen + 1.")
@click.option("--resume", type=FOLDER, multiple=True, help="Folder with earlier attempts' files.")
@click.option("--time-budget", type=Duration(), help="Stop between batches after this long.")
@click.option(
    "--judges", type=click.Choice(["all", "none", "only"]), default="all", show_default=True,
    help="none: only call the target. only: judge stored outputs.",
)  # fmt: skip
@policy_root_option
@approval_option
@json_option
def command(
    *,
    plan: Path,
    index: int,
    out: Path,
    attempt: int | None,
    resume: tuple[Path, ...],
    time_budget: float | None,
    judges: str,
    policy_root: Path | None,
    approved_by: str | None,
    as_json: bool,
) -> int:
    """Run one shard of a plan; what is recorded is skipped, retryable failures are redone."""
    from typing import Literal, cast

    from releasecheck.cli.output import document, say
    from releasecheck.drivers.local.shard import run_one_shard
    from releasecheck.drivers.local.world import local_world
    from releasecheck.pipeline.execute import ShardRequest

    world = local_world(policy_root=policy_root)
    asked = cast("Literal['all', 'none', 'only']", judges)
    request = ShardRequest(index, out, resume, attempt, asked, approved_by)
    try:
        done, left = asyncio.run(run_one_shard(plan, request, world, time_budget))
    finally:
        world.progress.close()
    report = {
        "shard": index,
        "attempt": done.attempt,
        "file": None if done.path is None else str(done.path),
        "trials": done.total,
        "done": done.tally.done,
        "target_failures": done.tally.failed,
        "open_pairs": left.undone,
        "pending": left.pending,
        "stopped": done.stopped,
    }
    if as_json:
        document(report)
    else:
        say(
            f"shard {index}: {done.tally.done} of {done.total} trials done, {done.tally.failed} target "
            f"failures, {left.undone} scores open"
            + (f", {left.pending} to come from judges that answer later" if left.pending else "")
            + (f" (stopped: {done.stopped})" if done.stopped else "")
        )
        if done.path is None:
            decided = "nothing is left to do: the run is decided"
            say(decided if left.certain else "everything was on record already")
    return 130 if done.stopped == "interrupted" else 2 if left.undone else 0
