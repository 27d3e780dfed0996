"""`releasecheck gate self-test|flaky`."""

from __future__ import annotations

from pathlib import Path

import click

from releasecheck.cli.options import EXISTING, FOLDER, json_option


@click.group("gate")
def command() -> None:
    """Try the gates on runs without a change, or find cases whose verdict changes by itself."""


@command.command("self-test", short_help="Try the gates on runs without a change.")
@click.argument("config", type=EXISTING)
@click.option("--profile", help="Overlay of the config to use.")
@click.option("--baseline", type=FOLDER, metavar="DIR", help="The run; the suite's own by default.")
@click.option(
    "--runs",
    type=FOLDER,
    metavar="DIR",
    multiple=True,
    help="Another finished run of an unchanged target; may be repeated.",
)
@click.option(
    "--rounds",
    type=click.IntRange(10, 1_000_000),
    default=1000,
    show_default=True,
    help="How many.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the draws.")
@json_option
def self_test(
    *,
    config: Path,
    profile: str | None,
    baseline: Path | None,
    runs: tuple[Path, ...],
    rounds: int,
    seed: int,
    as_json: bool,
) -> int:
    """Say how often the suite's gates block though nothing changed, and how often they find a true drop.

    The baseline is set against itself, or --runs against each other; nothing is called. Exit codes: 0 it was
    tried, whatever came of it, 3 there is no baseline.
    """
    from releasecheck.cli.output import document, say
    from releasecheck.drivers.local.world import local_world
    from releasecheck.pipeline.selftest import TestRequest, self_test

    world = local_world(unit="rounds")
    request = TestRequest(config, profile, baseline, runs, rounds, seed)
    try:
        found = self_test(request, world)
    finally:
        world.progress.close()
    if as_json:
        document(found.to_json())
        return 0
    for line in found.lines():
        say(line)
    return 0


@command.command("flaky", short_help="Find cases whose verdict changes by itself.")
@click.argument("paths", type=EXISTING, nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--min-runs",
    type=click.IntRange(2),
    default=2,
    show_default=True,
    help="Runs of the same target that a verdict is followed over at least.",
)
@json_option
def flaky(*, paths: tuple[Path, ...], min_runs: int, as_json: bool) -> int:
    """Say which cases' verdicts change between finished runs though the target does not.

    PATHs are bundles, or folders with bundles in them. Exit codes: 0 they were compared, whatever was found,
    2 fewer than two of them can be compared.
    """
    from releasecheck.cli.output import document, say
    from releasecheck.pipeline.flaky import find_flaky

    found = find_flaky(paths, min_runs)
    if as_json:
        document(found.to_json())
        return found.exit_code
    for line in found.lines():
        say(line)
    return found.exit_code
