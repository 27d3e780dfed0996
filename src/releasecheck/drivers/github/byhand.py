"""A search for a baseline asked for by a person: what a job would be told is read from options and GitHub."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.drivers.github.ancestry import Ancestry
from releasecheck.drivers.github.baseline import find_baseline
from releasecheck.drivers.github.committed import fetch_committed
from releasecheck.drivers.github.errors import NotFound
from releasecheck.drivers.github.found import FromRepository
from releasecheck.drivers.github.rest import GitHubClient, segment
from releasecheck.drivers.github.wanted import Wanted
from releasecheck.errors import UsageError
from releasecheck.pipeline.baselines import FILES, PROMOTION, promote
from releasecheck.pipeline.files import read_bytes, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from releasecheck.drivers.github.found import Chosen, NoneFound
    from releasecheck.pipeline.world import World

_REPOSITORY: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}")
DEFAULT_API: Final = "https://api.github.com"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a person asks for."""

    suite: str
    repository: str | None
    """`owner/name`; None: as GITHUB_REPOSITORY says."""
    ref: str | None
    """A commit, branch or tag; None: the tip of the default branch."""
    workflow: str | None
    """The name of a file below .github/workflows; None: all of them."""
    place: str | None
    """Where the suite keeps its baseline in the repository; None where that is not known."""


def ask(
    asked: Asked, into: Path, world: World, sleep: Callable[[float], None]
) -> Chosen | NoneFound:
    """Find a baseline as `auto` would for a change on top of a reference.

    The token is that of GITHUB_TOKEN or GH_TOKEN, the interface that of GITHUB_API_URL.

    Raises:
        UsageError: no repository or no such reference.
        GitHubError: GitHub did not answer.
    """
    environment = world.environment
    repository = asked.repository or environment.get("GITHUB_REPOSITORY", "")
    if not _REPOSITORY.fullmatch(repository):
        message = (
            f"found {repository[:100]!r} as repository; name it with --repository owner/name, or in "
            "GITHUB_REPOSITORY"
        )
        raise UsageError(message)
    token = environment.get("GITHUB_TOKEN") or environment.get("GH_TOKEN") or ""
    api = environment.get("GITHUB_API_URL") or DEFAULT_API
    with GitHubClient(
        api, token, clock=world.clock, sleep=sleep, environment=environment
    ) as client:
        wanted = _wanted(client, repository, asked, into)
        return find_baseline(client, wanted, into, world)


def keep(found: Chosen, target: Path, now: str) -> None:
    """Put what was found where a suite keeps its baseline.

    Raises:
        UsageError: the run may not be promoted.
    """
    if not isinstance(found.source, FromRepository):
        promote(found.folder, target, accept=None, now=now)
        return
    # It was promoted once, with a reason perhaps; that stays as it was written.
    (target / "manifest.json").unlink(missing_ok=True)
    for name in (*(one for one in FILES if one != "manifest.json"), PROMOTION, "manifest.json"):
        if (found.folder / name).is_file():
            write_whole(target / name, [read_bytes(found.folder / name)])


def _wanted(client: GitHubClient, repository: str, asked: Asked, into: Path) -> Wanted:
    ref = asked.ref or "HEAD"
    is_branch = False
    try:
        base = Ancestry(client, repository).commit(segment(ref)).sha
        if asked.ref is not None:
            is_branch = _exists(client, f"/repos/{repository}/git/ref/heads/{segment(ref)}")
    except (NotFound, ValueError) as error:
        message = (
            f"{repository} has no commit, branch or tag {ref[:100]!r}, or this token may not read it; "
            f"set GITHUB_TOKEN where the repository is private ({error})"
        )
        raise UsageError(message) from None
    committed = None
    if asked.place is not None:
        committed = fetch_committed(client, repository, asked.place, base, into / "committed")
    return Wanted(
        repository=repository,
        suite=asked.suite,
        base=base,
        branch=ref if is_branch else None,
        workflow=asked.workflow,
        committed=committed,
    )


def _exists(client: GitHubClient, path: str) -> bool:
    try:
        client.get(path)
    except NotFound:
        return False
    return True
