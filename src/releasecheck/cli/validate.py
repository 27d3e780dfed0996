"""`releasecheck validate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from releasecheck.cli.options import EXISTING, json_option, policy_option, policy_source

if TYPE_CHECKING:
    from releasecheck.pipeline.validate import Found


@click.command("validate")
@click.argument("config", type=EXISTING)
@click.option("--profile", help="Overlay of the config to use.")
@policy_option
@click.option("--check-env", is_flag=True, help="Variables that are not set are errors.")
@json_option
def command(
    *, config: Path, profile: str | None, policy: Path | None, check_env: bool, as_json: bool
) -> int:
    """Read config and cases as `plan` would, and say what was found; nothing is called."""
    from releasecheck.cli.output import document, notes
    from releasecheck.drivers.local.world import local_world
    from releasecheck.pipeline.validate import validate

    found = validate(
        config,
        profile,
        local_world(quiet=True),
        check_env=check_env,
        policy=policy_source(policy),
    )
    notes(found.notes)
    if as_json:
        document(found.to_json())
    else:
        _show(found)
    return 0


def _show(found: Found) -> None:
    from releasecheck.cli.output import say
    from releasecheck.scorecard.policy import change_lines

    say(f"suite     {found.suite}")
    for split, count in found.splits.items():
        say(f"cases     {count} in {split}")
    if found.clusters:
        say(f"clusters  {found.clusters}, whose cases are taken to vary together")
    say(f"trials    {found.trials} per case, {found.pairs} scores in all")
    say(f"target    {found.target}")
    for judge in found.judges:
        say(f"judge     {judge}")
    for gate in found.gates:
        say(f"gate      {gate}")
    for sight in found.power:
        say(f"power     {sight.line()}")
    say(f"policy    {found.policy}")
    for line in change_lines(found.changes):
        say(f"change    {line}")
    say(f"shards    {found.shards}")
    say(f"baseline  {found.baseline}")
    if found.anchor is not None:
        say(f"anchor    {found.anchor}")
    if found.variables:
        say(f"variables {', '.join(found.variables)}")
    if found.unset:
        say(f"unset     {', '.join(found.unset)}: set before a run, which checks it first", "warn")
    say("ok: nothing was called")
