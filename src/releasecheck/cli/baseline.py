"""`releasecheck baseline show|pull|promote`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from releasecheck.cli.options import EXISTING, FOLDER, json_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from releasecheck.drivers.github.found import Chosen, NoneFound
    from releasecheck.pipeline.baselines import BaselineFiles

F = TypeVar("F", bound="Callable[..., Any]")


@click.group("baseline")
def command() -> None:
    """Where the baseline comes from, and which run it is."""


def _remote_options(function: F) -> F:
    for option in (
        click.option("--workflow", metavar="FILE", help="Look at the runs of this workflow first."),
        click.option("--ref", help="Commit, branch or tag to compare with; the default branch."),
        click.option("--repository", metavar="OWNER/NAME", help="GITHUB_REPOSITORY by default."),
    ):
        function = option(function)
    return function


@command.command("show")
@click.argument("where", metavar="[CONFIG|DIR]", type=EXISTING, default=Path("releasecheck.yaml"))
@click.option("--profile", help="Overlay of the config to use.")
@click.option("--auto", is_flag=True, help="Say which one `auto` would take on GitHub, and why.")
@_remote_options
@json_option
def show(*, where: Path, profile: str | None, auto: bool, as_json: bool, **remote: Any) -> int:  # noqa: ANN401 - see _search
    """Say which run is the baseline of a suite, or in a folder; it is verified first."""
    import tempfile

    from releasecheck.cli.output import document, say
    from releasecheck.pipeline.baselines import locate_baseline

    if auto:
        with tempfile.TemporaryDirectory() as temporary:
            result = _search(where, profile, Path(temporary), **remote)
            return _shown(result, as_json=as_json)
    folder, found = locate_baseline(where, profile)
    if found is None:
        message = f"no baseline in {folder}"
        document({"folder": str(folder), "run_id": None}) if as_json else say(message)
        return 0
    if as_json:
        document({"folder": str(folder), **_facts(found)})
        return 0
    say(f"folder     {folder}")
    _say_files(found)
    return 0


def _facts(found: BaselineFiles) -> dict[str, Any]:
    card, manifest = found.scorecard, found.manifest
    return {
        "run_id": card.run_id,
        "verdict": card.verdict,
        "finalized_at": manifest.finalized_at,
        "commit": found.baseline.commit,
        "cases": card.counts.cases,
    }


def _say_files(found: BaselineFiles) -> None:
    from releasecheck.cli.output import say

    facts = _facts(found)
    say(f"run        {facts['run_id']}")
    say(f"verdict    {facts['verdict']}")
    say(f"finalized  {facts['finalized_at']}")
    say(f"commit     {facts['commit'] or 'not known'}")
    say(f"cases      {facts['cases']}")


@command.command("pull")
@click.argument("config", type=EXISTING)
@click.option("--profile", help="Overlay of the config to use.")
@click.option("--to", type=FOLDER, help="Folder to write; the suite's own by default.")
@_remote_options
@json_option
def pull(
    *,
    config: Path,
    profile: str | None,
    to: Path | None,
    as_json: bool,
    **remote: Any,  # noqa: ANN401 - see _search
) -> int:
    """Fetch the baseline that `auto` would take on GitHub, verified, into a folder."""
    import tempfile

    from releasecheck.config import load_suite
    from releasecheck.drivers.github.byhand import keep
    from releasecheck.drivers.github.found import NoneFound
    from releasecheck.drivers.local.clock import SystemClock

    loaded = load_suite(config, profile)
    target = to or loaded.root / loaded.suite.baseline.path
    with tempfile.TemporaryDirectory() as temporary:
        result = _search(config, profile, Path(temporary), **remote)
        if not isinstance(result, NoneFound):
            keep(result, target, SystemClock().now())
        return _shown(result, as_json=as_json, target=target)


def _search(
    config: Path,
    profile: str | None,
    into: Path,
    *,
    repository: str | None,
    ref: str | None,
    workflow: str | None,
) -> Chosen | NoneFound:
    import time

    from releasecheck.config import load_suite
    from releasecheck.drivers.github.byhand import Asked, ask
    from releasecheck.drivers.local.git import place_in_repository
    from releasecheck.drivers.local.world import local_world

    loaded = load_suite(config, profile)
    asked = Asked(
        suite=loaded.suite.suite,
        repository=repository,
        ref=ref,
        workflow=workflow,
        place=place_in_repository(loaded.root, loaded.suite.baseline.path),
    )
    return ask(asked, into, local_world(quiet=True), time.sleep)


def _shown(result: Chosen | NoneFound, *, as_json: bool, target: Path | None = None) -> int:
    """Print what was found; 2 when there is no baseline, as when nothing valid is there to compare with."""
    from releasecheck.cli.output import document, note, say
    from releasecheck.drivers.github.found import NoneFound
    from releasecheck.pipeline.baselines import read_baseline

    none = isinstance(result, NoneFound)
    if as_json:
        document(
            {
                "folder": None if none or target is None else str(target),
                "why": result.why,
                "context": dict(result.context()),
                "refused": [one.to_json() for one in result.refused.kept],
                "refused_total": result.refused.total,
                "run_id": None,
                **(
                    {}
                    if isinstance(result, NoneFound)
                    else _facts(read_baseline(result.folder, ""))
                ),
            }
        )
        return 2 if none else 0
    for line in result.refused.lines():
        note(line)
    if isinstance(result, NoneFound):
        say(f"no baseline: {result.why}")
        return 2
    if target is not None:
        say(f"folder     {target}")
    _say_files(read_baseline(result.folder, ""))
    say(f"from       {result.why}")
    return 0


@command.command("promote")
@click.argument("out", type=EXISTING)
@click.option("--to", type=FOLDER, help="Folder to write; the suite's own by default.")
@click.option(
    "--accept", metavar="REASON", help="Accept a run that is not comparable, and say why."
)
@json_option
def promote_command(*, out: Path, to: Path | None, accept: str | None, as_json: bool) -> int:
    """Make a finalized full run with verdict pass or bootstrap the baseline."""
    from releasecheck.cli.output import document, say
    from releasecheck.drivers.local.world import local_world
    from releasecheck.pipeline.promoting import promote_bundle

    card, folder = promote_bundle(out, to, accept, local_world(quiet=True))
    if as_json:
        document({"run_id": card.run_id, "folder": folder.as_posix(), "accepted": accept})
        return 0
    say(f"run {card.run_id} is now the baseline in {folder}")
    return 0
