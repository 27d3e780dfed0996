"""`releasecheck badge`."""

from __future__ import annotations

from pathlib import Path

import click

from releasecheck.cli.options import EXISTING, FOLDER, Duration, json_option
from releasecheck.errors import UsageError


@click.command("badge")
@click.argument("source", metavar="OUT|BASELINE", type=EXISTING)
@click.option("--out", type=FOLDER, help="Write there, and not beside the manifest.")
@click.option(
    "--stale-after",
    type=Duration(),
    default="30d",
    show_default=True,
    help="How long after its end a run may be shown as it ended.",
)
@click.option("--label", metavar="TEXT", help="For the left half; needs --out.")
@json_option
def command(
    *, source: Path, out: Path | None, stale_after: float, label: str | None, as_json: bool
) -> int:
    """Make the badge of a finished run again: as it was, or stale when it is too old.

    Only manifest, scorecard and results are read, which are checked against each other. An open or partial
    run makes no badge.
    """
    from releasecheck.cli.output import document, say
    from releasecheck.drivers.local.world import local_world
    from releasecheck.pipeline.badging import rebadge, write_badge

    if label is not None and (out is None or out.resolve() == source.resolve()):
        message = (
            "--label: the badge in a bundle has the suite's name; name another folder with --out"
        )
        raise UsageError(message)
    if label is not None and not label.strip():
        message = "--label: expected a text, found an empty one"
        raise UsageError(message)
    now = local_world(quiet=True).clock.now()
    made = rebadge(source, now, stale_after, label)
    folder = out or source
    changed = write_badge(made, folder)
    if as_json:
        document({**made.to_json(), "path": str(folder), "changed": list(changed)})
        return 0
    say(f"{made.endpoint['label']}: {made.endpoint['message']}")
    if made.no_claim is not None:
        say(f"claims nothing: {made.no_claim}")
    elif made.is_stale:
        say(f"stale since {made.stale_after}: no newer run has taken its place here")
    else:
        say(f"to be believed until {made.stale_after}")
    say(f"manifest {made.manifest_digest}")
    say(f"{'written' if changed else 'unchanged'}: {folder / 'badge.json'}, {folder / 'badge.svg'}")
    return 0
