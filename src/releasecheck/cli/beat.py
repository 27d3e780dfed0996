"""`releasecheck beat --github`."""

from __future__ import annotations

import click

from releasecheck.cli.options import json_option
from releasecheck.errors import UsageError


@click.command("beat")
@click.option("--github", is_flag=True, help="Sweep the runs of a repository's workflows.")
@click.option(
    "--workflow",
    "workflows",
    metavar="FILE",
    multiple=True,
    help="Look at the runs of this workflow; may be repeated. All of ours by default.",
)
@click.option(
    "--badge-branch", metavar="NAME", help="Have badges on this branch turn stale when it is time."
)
@click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
@json_option
def command(
    *,
    github: bool,
    workflows: tuple[str, ...],
    badge_branch: str | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Find runs that nobody finishes, and have their own failed jobs run again.

    The repository is that of GITHUB_REPOSITORY, the token that of GITHUB_TOKEN or GH_TOKEN.
    """
    import time

    from releasecheck.cli.output import document, say
    from releasecheck.drivers.github.beat import BeatOptions
    from releasecheck.drivers.github.beat.report import lines
    from releasecheck.drivers.github.beat.stage import sweep_by_hand
    from releasecheck.drivers.local.world import local_world

    if not github:
        message = "name what to sweep: this version sweeps the runs of a repository, with --github"
        raise UsageError(message)
    world = local_world(quiet=True)
    options = BeatOptions(workflows=workflows, badge_branch=badge_branch, dry_run=dry_run)
    swept = sweep_by_hand(world.environment, options, world.clock, time.sleep)
    if as_json:
        document(swept.to_json())
        return swept.exit_code
    for line in lines(swept):
        say(line)
    return swept.exit_code
