"""`releasecheck retry`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click

from releasecheck.cli.options import (
    EXISTING,
    FOLDER,
    CarryOptions,
    carry_options,
    json_option,
    policy_root_option,
)
from releasecheck.errors import UsageError


@click.command("retry")
@click.argument("source", metavar="OUT", type=EXISTING)
@click.option(
    "--class",
    "classes",
    metavar="CLASS,...",
    help="Only failures of these classes: infra, target, judge, config, outcome, cancelled.",
)
@click.option("--out", type=FOLDER, help="The new bundle; OUT-retry by default.")
@carry_options
@policy_root_option
@json_option
def command(
    *,
    source: Path,
    classes: str | None,
    out: Path | None,
    policy_root: Path | None,
    as_json: bool,
    **options: Any,  # noqa: ANN401 - see CarryOptions
) -> int:
    """Redo what failed or is missing in a decided run, as a new run that carries what succeeded.

    OUT stays as it is. Nothing that was measured is measured again: a judge that failed is asked over the stored
    answer, and a failed call of the target is made again. Exit codes: those of `run`.
    """
    from releasecheck.cli.report import show_scorecard
    from releasecheck.drivers.local.retry import beside, retry
    from releasecheck.drivers.local.world import ci_context, local_world, unique_retry
    from releasecheck.pipeline.retrying import RetryRequest

    world = local_world(policy_root=policy_root)
    carry = CarryOptions(**options)
    target = out or beside(source)
    request = RetryRequest(
        source, target, _classes(classes), unique_retry(), carry.approved_by, ci_context()
    )
    world.progress.note(f"retry of {source} in {target}")
    try:
        result = asyncio.run(retry(request, carry.options(), world))
    finally:
        world.progress.close()
    show_scorecard(result.scorecard, target, as_json=as_json)
    return result.scorecard.exit_code


def _classes(text: str | None) -> tuple[str, ...]:
    from releasecheck.pipeline.retrying import CLASSES

    if text is None:
        return CLASSES
    named = [name.strip() for name in text.split(",")]
    unknown = [name for name in named if name not in CLASSES]
    if unknown:
        message = f"--class: {unknown[0][:40]!r} is no class of failures; expected some of {', '.join(CLASSES)}"
        raise UsageError(message)
    return tuple(name for name in CLASSES if name in named)
