"""`releasecheck compare`."""

from __future__ import annotations

from pathlib import Path

import click

from releasecheck.cli.options import EXISTING, json_option


@click.command("compare")
@click.argument("base", type=EXISTING)
@click.argument("candidate", type=EXISTING)
@json_option
def command(*, base: Path, candidate: Path, as_json: bool) -> int:
    """Compare two bundles or baselines: flipped cases and metric differences. Decides nothing."""
    from releasecheck.cli.output import document, say
    from releasecheck.pipeline.comparing import compare

    found = compare(base, candidate)
    if as_json:
        document(found.to_json())
        return 0
    say(f"base       {found.base}")
    say(f"candidate  {found.candidate}")
    for line in found.lines():
        say(line)
    return 0
