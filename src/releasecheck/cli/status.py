"""`releasecheck status`."""

from __future__ import annotations

from pathlib import Path

import click

from releasecheck.cli.options import EXISTING, json_option


@click.command("status")
@click.argument("out", type=EXISTING)
@json_option
def command(*, out: Path, as_json: bool) -> int:
    """Say how far a run is, worked out from its plan and ledger."""
    from releasecheck.cli.output import document, say
    from releasecheck.drivers.local.world import local_world
    from releasecheck.model.scorecard import Waiting
    from releasecheck.pipeline.status import status
    from releasecheck.scorecard.lacking import owing

    found = status(out, local_world(quiet=True))
    if as_json:
        document(found.to_json())
        return 0
    say(
        f"{found.state}: {found.done} of {found.total} scores on record, {found.failed} failed"
        + (f", {found.given_up} given up" if found.given_up else "")
    )
    if found.verdict is not None:
        say(
            f"verdict: {found.verdict}"
            + (", overridden by a waiver" if found.overridden else "")
            + ("" if found.finalized_at else " (provisional)")
        )
    for one in found.waiting:
        say(owing(Waiting.model_validate(one)))
    for line in found.missing:
        say(line)
    if found.next_step:
        say(found.next_step)
    return 0
