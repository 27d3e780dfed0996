"""Which workflows a sweep looks at, and their runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from releasecheck.drivers.github.artifacts import Artifact, list_artifacts
from releasecheck.drivers.github.beat.evidence import suites_of
from releasecheck.drivers.github.beat.runs import WatchedRun, list_runs
from releasecheck.drivers.github.errors import NotFound
from releasecheck.errors import UsageError

if TYPE_CHECKING:
    from datetime import datetime

    from releasecheck.drivers.github.beat.options import BeatOptions, Where
    from releasecheck.drivers.github.rest import GitHubClient

PROBED: Final = 10
"""Runs of a workflow that are looked into to see whether it is one of ours."""
_FILE: Final = re.compile(r"(?:\.github/workflows/)?([^/\x00-\x1f\\]{1,200}\.ya?ml)")


class Artifacts:
    """Artifacts of runs, each listed once."""

    def __init__(self, client: GitHubClient, repository: str) -> None:
        self._client, self._repository = client, repository
        self._known: dict[int, tuple[Artifact, ...]] = {}

    def of(self, run: WatchedRun) -> tuple[Artifact, ...]:
        """All of a run, of all its attempts.

        Raises:
            GitHubError: as for any request.
        """
        if run.id not in self._known:
            self._known[run.id] = list_artifacts(self._client, self._repository, run.id)
        return self._known[run.id]


def watched_runs(
    client: GitHubClient,
    where: Where,
    options: BeatOptions,
    artifacts: Artifacts,
    since: datetime,
) -> tuple[dict[str, tuple[WatchedRun, ...]], list[str]]:
    """Runs by the path of their workflow, newest first, and what was not seen.

    Raises:
        UsageError: a workflow that was named is not there.
        GitHubError: as for any request.
    """
    notes: list[str] = []
    if options.workflows:
        found = [_named(client, where, text, since, notes) for text in options.workflows]
        return dict(found), notes
    listed = list_runs(client, where.repository, since)
    if listed.more:
        notes.append(_more("all workflows"))
    by_path: dict[str, list[WatchedRun]] = {}
    for run in listed.runs:
        if run.id != where.own_run:
            by_path.setdefault(run.path, []).append(run)
    ours = {path: tuple(runs) for path, runs in by_path.items() if _is_ours(runs, artifacts)}
    return ours, notes


def _named(
    client: GitHubClient, where: Where, text: str, since: datetime, notes: list[str]
) -> tuple[str, tuple[WatchedRun, ...]]:
    match = _FILE.fullmatch(text)
    if match is None:
        message = (
            f"found {text[:100]!r} as workflow; expected the name of a file, such as check.yml"
        )
        raise UsageError(message)
    try:
        listed = list_runs(client, where.repository, since, match[1])
    except NotFound:
        message = (
            f"{where.repository} has no workflow {match[1]!r}, or this token may not read it; name a "
            "file below .github/workflows"
        )
        raise UsageError(message) from None
    if listed.more:
        notes.append(_more(match[1]))
    runs = tuple(run for run in listed.runs if run.id != where.own_run)
    return f".github/workflows/{match[1]}", runs


def _is_ours(runs: list[WatchedRun], artifacts: Artifacts) -> bool:
    return any(suites_of(artifacts.of(run)) for run in runs[:PROBED])


def _more(what: str) -> str:
    return (
        f"more runs of {what} than are listed; the oldest were not looked at. Name the workflows to "
        "see all of theirs"
    )
