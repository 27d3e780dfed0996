"""`releasecheck baseline show|promote`."""

from __future__ import annotations

from pathlib import Path

import click

from releasecheck.cli.options import EXISTING, FOLDER, json_option


@click.group("baseline")
def command() -> None:
    """Where the baseline comes from, and which run it is."""


@command.command("show")
@click.argument("where", metavar="[CONFIG|DIR]", type=EXISTING, default=Path("releasecheck.yaml"))
@click.option("--profile", help="Overlay of the config to use.")
@json_option
def show(*, where: Path, profile: str | None, as_json: bool) -> int:
    """Say which run is the baseline of a suite, or in a folder; it is verified first."""
    from releasecheck.cli.output import document, say
    from releasecheck.pipeline.baselines import locate_baseline

    folder, found = locate_baseline(where, profile)
    if found is None:
        message = f"no baseline in {folder}"
        document({"folder": str(folder), "run_id": None}) if as_json else say(message)
        return 0
    card, manifest = found.scorecard, found.manifest
    if as_json:
        document(
            {
                "folder": str(folder),
                "run_id": card.run_id,
                "verdict": card.verdict,
                "finalized_at": manifest.finalized_at,
                "commit": found.baseline.commit,
                "cases": card.counts.cases,
            }
        )
        return 0
    say(f"folder     {folder}")
    say(f"run        {card.run_id}")
    say(f"verdict    {card.verdict}")
    say(f"finalized  {manifest.finalized_at}")
    say(f"commit     {found.baseline.commit or 'not known'}")
    say(f"cases      {card.counts.cases}")
    return 0


@command.command("promote")
@click.argument("out", type=EXISTING)
@click.option("--to", type=FOLDER, help="Folder to write; the suite's own by default.")
@click.option(
    "--accept", metavar="REASON", help="Accept a run that is not comparable, and say why."
)
def promote_command(*, out: Path, to: Path | None, accept: str | None) -> int:
    """Make a finalized full run with verdict pass or bootstrap the baseline."""
    from releasecheck.cli.output import say
    from releasecheck.drivers.local.world import local_world
    from releasecheck.pipeline.promoting import promote_bundle

    card, folder = promote_bundle(out, to, accept, local_world(quiet=True))
    say(f"run {card.run_id} is now the baseline in {folder}")
    return 0
