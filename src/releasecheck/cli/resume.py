"""`releasecheck resume`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click

from releasecheck.cli.options import (
    EXISTING,
    CarryOptions,
    carry_options,
    json_option,
    policy_root_option,
)


@click.command("resume")
@click.argument("out", type=EXISTING)
@carry_options
@policy_root_option
@json_option
def command(
    *,
    out: Path,
    policy_root: Path | None,
    as_json: bool,
    **options: Any,  # noqa: ANN401 - see CarryOptions
) -> int:
    """Carry on a run that was interrupted, has retryable failures, or waits for scores.

    It keeps the plan that the run was started with. Exit codes: those of `run`.
    """
    from releasecheck.cli.report import show_scorecard
    from releasecheck.drivers.local.run import resume
    from releasecheck.drivers.local.world import local_world

    world = local_world(policy_root=policy_root)
    try:
        result = asyncio.run(resume(out, CarryOptions(**options).options(), world))
    finally:
        world.progress.close()
    show_scorecard(result.scorecard, out, as_json=as_json)
    return result.scorecard.exit_code
