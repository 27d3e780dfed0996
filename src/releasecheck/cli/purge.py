"""`releasecheck purge`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from releasecheck.cli.options import EXISTING, json_option, policy_root_option

if TYPE_CHECKING:
    from releasecheck.pipeline.purging import JudgePurged, PurgeDone


@click.command("purge")
@click.argument("out", type=EXISTING)
@click.option("--yes", is_flag=True, help="Do it: nothing brings back what is forgotten.")
@click.option("--no-judges", is_flag=True, help="Leave alone what judges kept.")
@policy_root_option
@json_option
def command(
    *, out: Path, yes: bool, no_judges: bool, policy_root: Path | None, as_json: bool
) -> int:
    """Forget the outputs, reasons and messages of a decided run, and have judges delete their traces.

    Digests, scores and the decision stay, and the bundle still verifies. Safe to repeat.
    Exit codes: 0 all is forgotten, 3 nothing was done, 4 a judge could not be asked: repeat it.
    """
    from releasecheck.cli.output import document
    from releasecheck.drivers.local.world import local_world
    from releasecheck.errors import UsageError
    from releasecheck.pipeline.holding import locked
    from releasecheck.pipeline.purging import open_purgeable, purge

    run = open_purgeable(out)
    if not yes:
        message = (
            f"this forgets the answers and the words of judges in {out} for good; say --yes to do it. "
            "Nothing was changed"
        )
        raise UsageError(message)
    world = local_world(quiet=True, policy_root=policy_root)
    with locked(out):
        done = asyncio.run(purge(open_purgeable(out), world, judges=not no_judges))
    if as_json:
        document(done.to_json())
    else:
        _show(done, run.folder.plan.baseline is not None)
    return done.exit_code


def _show(done: PurgeDone, has_baseline: bool) -> None:  # noqa: FBT001 - of one caller
    from releasecheck.cli.output import say

    say(f"purged: {done.run_id}: {done.outputs} outputs removed; digests, scores and verdict stay")
    if done.logs:
        say(f"removed: {len(done.logs)} logs of started programs")
    if has_baseline and done.baseline_outputs:
        say("kept: the plan's copy of its baseline holds outputs; its bytes are pinned by the plan")
    for judge in done.judges:
        say(f"judge {judge.judge}: {_counted(judge)}{judge.message and f' ({judge.message})'}")
    if done.exit_code:
        say("run the same command again to ask these judges once more")


def _counted(judge: JudgePurged) -> str:
    parts = (
        (judge.deleted, "deleted"),
        (judge.unsupported, "cannot be deleted there"),
        (judge.failed, "not deleted"),
    )
    shown = ", ".join(f"{count} {what}" for count, what in parts if count)
    return f"of {judge.tickets} traces {shown}"
