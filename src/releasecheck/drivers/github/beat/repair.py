"""Start the failed jobs of a run again, once, whoever else may be about to (trap 29)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from releasecheck.drivers.github.beat.options import MOST_RERUNS, RERUN_DAYS
from releasecheck.drivers.github.beat.runs import get_run
from releasecheck.drivers.github.errors import (
    Conflict,
    Forbidden,
    GitHubError,
    ServerFailed,
    Unreachable,
    quoted,
)

if TYPE_CHECKING:
    from releasecheck.drivers.github.beat.runs import WatchedRun
    from releasecheck.drivers.github.rest import GitHubClient


@dataclass(frozen=True, slots=True)
class Started:
    """The next attempt was started by this sweep, or the answer was lost and it is there."""

    attempt: int


@dataclass(frozen=True, slots=True)
class Busy:
    """The run is running, or has been started by somebody else."""

    why: str


@dataclass(frozen=True, slots=True)
class Refused:
    """GitHub runs nothing of this run again, ever."""

    why: str


Repair: TypeAlias = Started | Busy | Refused


def rerun_failed(client: GitHubClient, repository: str, run: WatchedRun) -> Repair:
    """Have GitHub run the failed jobs of a run again, if it is still as it was seen.

    Raises:
        GitHubError: it is not allowed, or GitHub failed.
    """
    moved = _moved(client, repository, run)
    if moved is not None:
        return moved
    path = f"/repos/{repository}/actions/runs/{run.id}/rerun-failed-jobs"
    try:
        client.post(path)
    except (Forbidden, Conflict) as error:
        return _refused(client, repository, run, error)
    except (Unreachable, ServerFailed):
        # The answer was lost; whether the work was done is there to be read.
        after = get_run(client, repository, run.id)
        if after.attempt == run.attempt:
            raise
        return Started(after.attempt)
    return Started(run.attempt + 1)


def _moved(client: GitHubClient, repository: str, run: WatchedRun) -> Busy | None:
    now = get_run(client, repository, run.id)
    if now.attempt != run.attempt:
        return Busy(f"somebody has started attempt {now.attempt} meanwhile")
    if now.status != "completed":
        return Busy(f"it is {now.status}")
    if now.conclusion == "success":
        return Busy("it has succeeded meanwhile")
    return None


def _refused(
    client: GitHubClient, repository: str, run: WatchedRun, error: GitHubError
) -> Busy | Refused:
    """What GitHub's 403 means: it says the same number for running, too old, too often and forbidden."""
    moved = _moved(client, repository, run)
    if moved is not None:
        return moved
    said = str(error).casefold()
    if "already running" in said or isinstance(error, Conflict):
        return Busy("GitHub says that it is running")
    if "month" in said:
        return Refused(f"GitHub runs nothing again after {RERUN_DAYS} days")
    if "retried" in said:
        return Refused(f"it was run again {MOST_RERUNS} times, the most that GitHub allows")
    if "no failed jobs" in said:
        return Refused(
            "no job of it failed, so that none can be run again; see what masks the failure"
        )
    message = (
        f"{quoted(str(error), 400)}; the job needs `actions: write`, and re-running must be allowed "
        "in the repository"
    )
    raise Forbidden(message, status=error.status) from None
