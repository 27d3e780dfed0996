"""Runs of workflows that may hold a baseline, newest first, and what rules each of them out (trap 23)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.drivers.github.ancestry import SHA
from releasecheck.drivers.github.context import ForeignText
from releasecheck.drivers.github.errors import BadAnswer, TooManyPages
from releasecheck.drivers.github.rest import segment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.canonical import Json
    from releasecheck.drivers.github.refusals import Reason
    from releasecheck.drivers.github.rest import GitHubClient

ON_BASE: Final = ("push", "schedule", "workflow_dispatch", "repository_dispatch")
"""Their branch is the one they ran on."""
BESIDE: Final = ("merge_group", "release")
"""Their branch is a queue's or a tag; whether the base holds their commit is what tells."""
QUEUE: Final = "gh-readonly-queue/"
_NEVER_RAN: Final = frozenset(
    {"cancelled", "skipped", "stale", "startup_failure", "action_required"}
)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateRun:
    """What GitHub tells of one run."""

    id: int
    attempt: int
    path: str
    """`.github/workflows/file.yml`."""
    event: str
    head_sha: str
    head_branch: ForeignText | None
    own: bool
    """Its code is this repository's, not a fork's; False when GitHub does not tell."""
    status: str
    conclusion: str | None
    created_at: str
    """Of its first attempt; UTC. Ids do not grow with time."""

    @property
    def what(self) -> str:
        """It on one line."""
        return f"run {self.id} ({self.event}, {self.head_sha[:7]}, {self.created_at})"


@dataclass(frozen=True, slots=True)
class Listed:
    """Candidates, newest first."""

    runs: tuple[CandidateRun, ...]
    more: bool
    """GitHub has older ones that were not listed."""


def list_candidates(
    client: GitHubClient, repository: str, branch: str, workflow: str | None
) -> Listed:
    """Runs of a workflow, or of all, whose event and branch may make a baseline.

    Each event is asked for by itself: somebody who opens a hundred pull requests from a branch called as
    the base is called must not push the base's own runs out of the list.

    Raises:
        NotFound: GitHub knows no workflow of this name.
        GitHubError: as for any request.
    """
    at = "" if workflow is None else f"/workflows/{segment(workflow.rpartition('/')[2])}"
    path = f"/repos/{repository}/actions{at}/runs"
    found: dict[int, CandidateRun] = {}
    more = False
    for params in _questions(branch):
        try:
            for item in client.pages(path, "workflow_runs", params, most=1):
                run = _run(path, item)
                found[run.id] = run
        except TooManyPages:
            more = True
    runs = sorted(found.values(), key=lambda run: (run.created_at, run.id), reverse=True)
    return Listed(tuple(runs), more)


def _questions(branch: str) -> Iterator[dict[str, str | int]]:
    for event in ON_BASE:
        yield {"event": event, "branch": branch}
    for event in BESIDE:
        yield {"event": event}


def unfit_run(run: CandidateRun, branch: str, own_run: int | None) -> tuple[Reason, str] | None:
    """What rules a run out before anything of it is read; None when nothing does."""
    if run.id == own_run:
        return "itself", "a run is no baseline of itself"
    if run.event not in (*ON_BASE, *BESIDE):
        return "event", f"runs of {run.event} make no baselines"
    if not run.own:
        return "fork", "its code comes from another repository, whatever its branch is called"
    if not _on_base(run, branch):
        where = run.head_branch or "no branch"
        return "branch", f"it is on {where}; expected {ForeignText(branch)}"
    if run.status != "completed":
        return "running", f"it is {run.status}; what it decides may still change"
    if run.conclusion in _NEVER_RAN:
        return "cancelled", f"it ended as {run.conclusion}"
    return None


def _on_base(run: CandidateRun, branch: str) -> bool:
    head = "" if run.head_branch is None else run.head_branch.raw
    if run.event == "merge_group":
        return head.startswith(f"{QUEUE}{branch}/")
    return run.event == "release" or head == branch


def _run(path: str, item: Json) -> CandidateRun:
    try:
        branch, conclusion = item.get("head_branch"), item.get("conclusion")
        head, own = item.get("head_repository") or {}, item["repository"]
        run = CandidateRun(
            id=_number(item["id"]),
            attempt=_number(item.get("run_attempt", 1)),
            # GitHub may add `@ref` to the file.
            path=_matching(item["path"], ".*").partition("@")[0],
            event=_matching(item["event"], "[a-z_]{1,60}"),
            head_sha=_matching(item["head_sha"], SHA.pattern),
            head_branch=None if branch is None else ForeignText(_matching(branch, "(?s).*")),
            own=head.get("id") is not None and head["id"] == own["id"],
            status=_matching(item["status"], "[a-z_]{1,60}"),
            conclusion=None if conclusion is None else _matching(conclusion, "[a-z_]{1,60}"),
            created_at=_matching(item["created_at"], _TIME.pattern),
        )
    except (KeyError, TypeError, AttributeError) as error:
        message = f"GET {path}: a run without what GitHub tells of each ({error!r:.200})"
        raise BadAnswer(message, status=200) from None
    return run


def _number(value: Json) -> int:
    if type(value) is not int or value < 1:
        message = f"{value!r:.60} is no number"
        raise TypeError(message)
    return value


def _matching(value: Json, pattern: str) -> str:
    if not isinstance(value, str) or not re.fullmatch(pattern, value):
        message = f"{value!r:.60} is not as expected"
        raise TypeError(message)
    return value
