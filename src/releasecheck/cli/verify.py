"""`releasecheck verify`."""

from __future__ import annotations

from pathlib import Path

import click

from releasecheck.cli.options import EXISTING, json_option


@click.command("verify")
@click.argument("out", type=EXISTING)
@json_option
def command(*, out: Path, as_json: bool) -> int:
    """Recompute every digest, the merge, the metrics and the verdict from the bundle alone."""
    from releasecheck.cli.output import document, say
    from releasecheck.drivers.local.world import local_world
    from releasecheck.pipeline.verify import verify

    found = verify(out, local_world(quiet=True))
    if as_json:
        document(found.to_json())
    else:
        for line in found.said:
            say(line)
        for line in found.differences:
            say(f"differs: {line}")
        say(found.summary)
    return found.exit_code
