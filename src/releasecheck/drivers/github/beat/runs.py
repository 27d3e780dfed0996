"""Runs as the beat sees them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from releasecheck.drivers.github.ancestry import SHA
from releasecheck.drivers.github.context import ForeignText
from releasecheck.drivers.github.errors import BadAnswer, TooManyPages
from releasecheck.drivers.github.rest import PER_PAGE, segment

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.drivers.github.rest import GitHubClient

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_WORD: Final = re.compile("[a-z_]{1,60}")
_LOGIN: Final = re.compile(r"[A-Za-z0-9_-]{1,100}(\[bot\])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedRun:
    """What GitHub tells of one run."""

    id: int
    number: int
    """Of the run among those of its workflow; grows with time, which ids do not."""
    attempt: int
    path: str
    """`.github/workflows/file.yml`."""
    event: str
    status: str
    conclusion: str | None
    head_sha: str
    head_branch: ForeignText | None
    head_owner: str | None
    """Of the repository the code comes from; None when that is gone."""
    head_repository_id: int | None
    own: bool
    """Its code is this repository's, not a fork's; False when GitHub does not tell."""
    pull_requests: tuple[int, ...]
    """Numbers; GitHub names none for forks."""
    created_at: str
    """Of its first attempt; UTC."""
    actor: str
    """Who started this attempt; empty when GitHub does not tell."""

    @property
    def created(self) -> datetime:
        """When its first attempt began."""
        return datetime.fromisoformat(self.created_at)

    @property
    def order(self) -> tuple[str, int]:
        """Grows with time inside one workflow."""
        return self.created_at, self.number

    @property
    def what(self) -> str:
        """It on one line."""
        where = self.path.rpartition("/")[2]
        return f"run {self.id}, attempt {self.attempt} ({ForeignText(where)}, {self.event}, {self.head_sha[:7]})"


@dataclass(frozen=True, slots=True)
class Listed:
    """Runs since some time, newest first."""

    runs: tuple[WatchedRun, ...]
    more: bool
    """There are others that were not listed."""


def list_runs(
    client: GitHubClient,
    repository: str,
    since: datetime,
    workflow: str | None = None,
    event: str | None = None,
) -> Listed:
    """All runs since a moment, of one workflow or of all.

    Raises:
        NotFound: GitHub knows no workflow of this name.
        GitHubError: as for any request.
    """
    at = "" if workflow is None else f"/workflows/{segment(workflow.rpartition('/')[2])}"
    path = f"/repos/{repository}/actions{at}/runs"
    found: dict[int, WatchedRun] = {}
    older = 0
    # Not `created=>...`: with it GitHub lists a thousand at most.
    params = {} if event is None else {"event": event}
    try:
        for item in client.pages(path, "workflow_runs", params):
            run = read_run(path, item)
            if run.created >= since:
                found[run.id] = run
                older = 0
                continue
            older += 1
            # A whole page of older ones: what comes after them is older still.
            if older >= PER_PAGE:
                break
    except TooManyPages:
        return Listed(_newest_first(found), more=True)
    return Listed(_newest_first(found), more=False)


def _newest_first(found: dict[int, WatchedRun]) -> tuple[WatchedRun, ...]:
    return tuple(sorted(found.values(), key=lambda run: (*run.order, run.id), reverse=True))


def get_run(
    client: GitHubClient, repository: str, run_id: int, attempt: int | None = None
) -> WatchedRun:
    """One run as it is now, or one attempt of it."""
    at = "" if attempt is None else f"/attempts/{attempt}"
    path = f"/repos/{repository}/actions/runs/{run_id}{at}"
    return read_run(path, client.get(path))


def read_run(path: str, item: Json) -> WatchedRun:
    """What GitHub tells of a run, checked for its shape."""
    try:
        branch, conclusion = item.get("head_branch"), item.get("conclusion")
        head, home = item.get("head_repository") or {}, item["repository"]
        actor = item.get("triggering_actor") or item.get("actor") or {}
        owner = str(head.get("full_name") or "").partition("/")[0]
        login = actor.get("login") if isinstance(actor, dict) else None
        return WatchedRun(
            id=_number(item["id"]),
            number=_number(item.get("run_number", 1)),
            attempt=_number(item.get("run_attempt", 1)),
            # GitHub may add `@ref` to the file.
            path=_text(item["path"]).partition("@")[0],
            event=_matching(item["event"], _WORD),
            status=_matching(item["status"], _WORD),
            conclusion=None if conclusion is None else _matching(conclusion, _WORD),
            head_sha=_matching(item["head_sha"], SHA),
            head_branch=None if branch is None else ForeignText(_text(branch)),
            head_owner=_matching(owner, _LOGIN) if owner else None,
            head_repository_id=head.get("id"),
            own=head.get("id") is not None and head["id"] == home["id"],
            pull_requests=tuple(_number(one["number"]) for one in item.get("pull_requests") or ()),
            created_at=_matching(item["created_at"], _TIME),
            actor=login if isinstance(login, str) and _LOGIN.fullmatch(login) else "",
        )
    except (KeyError, TypeError, AttributeError) as error:
        message = f"GET {path}: a run without what GitHub tells of each ({error!r:.200})"
        raise BadAnswer(message, status=200) from None


def _number(value: Json) -> int:
    if type(value) is not int or value < 0:
        message = f"{value!r:.60} is no number"
        raise TypeError(message)
    return value


def _text(value: Json) -> str:
    if not isinstance(value, str):
        message = f"{value!r:.60} is no text"
        raise TypeError(message)
    return value


def _matching(value: Json, pattern: re.Pattern[str]) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        message = f"{value!r:.60} is not as expected"
        raise TypeError(message)
    return value
