"""`releasecheck judge calibrate`."""

from __future__ import annotations

from pathlib import Path

import click

from releasecheck.cli.options import EXISTING, json_option


@click.command("calibrate", short_help="Hold a judge against labels of people.")
@click.argument("config", type=EXISTING)
@click.argument("judge")
@click.option(
    "--labels",
    type=EXISTING,
    required=True,
    help="JSONL with id, output, label and the case's parts.",
)
@click.option("--profile", help="Overlay of the config to use.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the JSON report here, too.",
)
@json_option
def command(
    *,
    config: Path,
    judge: str,
    labels: Path,
    profile: str | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Ask a judge about outputs that people have labelled, and say how far they agree.

    Exit codes: 0 done, 2 some labels got no score, 3 usage or data, 4 the judge cannot be reached.
    """
    import asyncio

    from releasecheck.canonical import dump_document
    from releasecheck.cli.output import document, note, notes, say
    from releasecheck.drivers.local.calibrate import run_calibration
    from releasecheck.drivers.local.world import local_world
    from releasecheck.pipeline.calibrating import choose
    from releasecheck.pipeline.files import write_whole
    from releasecheck.pipeline.labels import read_labels

    world = local_world(quiet=True)
    read = read_labels(labels)
    chosen = choose(config, judge, profile, world)
    notes(chosen.loaded.notes)
    found = asyncio.run(run_calibration(chosen, read, world))
    if out is not None:
        write_whole(out, [dump_document(found.to_json())])
    if as_json:
        document(found.to_json())
    else:
        for line in found.lines():
            say(line)
    if found.unreachable is not None:
        note(f"the judge cannot be reached: {found.unreachable}")
    return found.exit_code
