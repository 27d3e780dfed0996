"""Whether anybody still waits for a run: its pull request, and newer runs of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.drivers.github.errors import BadAnswer, NotFound
from releasecheck.drivers.github.rest import segment

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.drivers.github.beat.runs import WatchedRun
    from releasecheck.drivers.github.rest import GitHubClient

ON_PULL: Final = frozenset({"pull_request", "pull_request_target"})


@dataclass(frozen=True, slots=True)
class OpenPull:
    """A pull request that is open."""

    number: int
    head_sha: str


@dataclass(frozen=True, slots=True)
class Awaited:
    """Somebody waits for the run."""

    pull_request: int | None
    """Where to say something about it; None where there is none."""


@dataclass(frozen=True, slots=True)
class Abandoned:
    """Nobody does."""

    why: str


class Pulls:
    """Pull requests of one repository, each asked for once."""

    def __init__(self, client: GitHubClient, repository: str) -> None:
        self._client, self._repository = client, repository
        self._by_head: dict[tuple[str, str], tuple[OpenPull, ...]] = {}
        self._branches: dict[str, bool] = {}

    def awaited(self, run: WatchedRun) -> Awaited | Abandoned:
        """Whether the run's check is on a pull request, queue or branch that still needs it.

        Raises:
            GitHubError: as for any request.
        """
        if run.event == "merge_group":
            branch = "" if run.head_branch is None else run.head_branch.raw
            gone = not (branch and self._branch_exists(branch))
            return Abandoned("its merge queue has gone on without it") if gone else Awaited(None)
        if run.event not in ON_PULL:
            return Awaited(None)
        if run.head_owner is None or run.head_branch is None:
            return Abandoned("the repository or branch of its pull request is gone")
        pulls = self._open_from(run.head_owner, run.head_branch.raw, run.head_repository_id)
        if not pulls:
            return Abandoned("its pull request is closed")
        at_head = [one for one in pulls if one.head_sha == run.head_sha]
        if not at_head and run.event == "pull_request":
            return Abandoned(f"its pull request is at {pulls[0].head_sha[:7]} now")
        mine = [one for one in at_head or pulls if one.number in run.pull_requests]
        return Awaited((mine or at_head or list(pulls))[0].number)

    def _open_from(
        self, owner: str, branch: str, repository_id: int | None
    ) -> tuple[OpenPull, ...]:
        """By its head: what a run tells of pull requests is empty for forks and for closed ones."""
        key = owner, branch
        if key not in self._by_head:
            path = f"/repos/{self._repository}/pulls"
            asked = {"state": "open", "head": f"{owner}:{branch}"}
            self._by_head[key] = tuple(
                pull
                for item in self._client.pages(path, None, asked)
                if (pull := _open_pull(item, branch, repository_id)) is not None
            )
        return self._by_head[key]

    def _branch_exists(self, branch: str) -> bool:
        if branch not in self._branches:
            path = "/".join(segment(part) for part in branch.split("/"))
            try:
                self._client.get(f"/repos/{self._repository}/git/ref/heads/{path}")
            except NotFound:
                self._branches[branch] = False
            else:
                self._branches[branch] = True
        return self._branches[branch]


def _open_pull(item: Json, branch: str, repository_id: int | None) -> OpenPull | None:
    try:
        head = item["head"]
        repository = head.get("repo") or {}
        # GitHub lists everything when it cannot read the filter.
        if head["ref"] != branch or repository.get("id") != repository_id:
            return None
        if item["state"] != "open":
            return None
        return OpenPull(int(item["number"]), str(head["sha"]))
    except (KeyError, TypeError, AttributeError) as error:
        message = f"GET pulls: a pull request without what GitHub tells of each ({error!r:.200})"
        raise BadAnswer(message, status=200) from None


def newer_of_same_pull(run: WatchedRun, runs: tuple[WatchedRun, ...]) -> tuple[WatchedRun, ...]:
    """Later runs of the same workflow for the same head branch of the same repository."""
    if run.event not in ON_PULL:
        return ()
    return tuple(
        one
        for one in runs
        if one.path == run.path
        and one.event == run.event
        and one.head_repository_id == run.head_repository_id
        and one.head_branch == run.head_branch
        and one.order > run.order
    )
