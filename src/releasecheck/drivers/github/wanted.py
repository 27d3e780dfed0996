"""What a search for a baseline is told: whose, up to which commit, and how far to look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.drivers.github.artifacts import LARGEST

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.drivers.github.context import GitHubContext


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a search goes."""

    runs: int = 100
    """Whose artifacts or ancestry are asked for."""
    downloads: int = 20
    bytes: int = LARGEST
    """Of one archive."""


DEFAULT: Final = Limits()


@dataclass(frozen=True, slots=True)
class Committed:
    """The folder where the suite keeps its accepted baseline."""

    folder: Path
    """On disk, as it is at the commit `at`; need not exist."""
    path: str
    """Relative to the repository, with `/`."""
    at: str | None = None
    """Whose history tells when it was accepted; None: that of the base commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which baseline is looked for."""

    repository: str
    """`owner/name`."""
    suite: str
    base: str
    """The commit; a baseline is at it or at one of its ancestors."""
    branch: str | None = None
    """Whose runs count; None: the repository's default branch."""
    workflow: str | None = None
    """Whose runs are looked at first, `.github/workflows/file.yml`; None: those of all at once."""
    own_run: int | None = None
    """The run that asks, which is no baseline of itself."""
    committed: Committed | None = None


def wanted_in(
    context: GitHubContext,
    suite: str,
    committed: Committed | None = None,
    *,
    branch: str | None = None,
    workflow: str | None = None,
) -> Wanted:
    """What a job looks for.

    Pull requests and merge groups compare with their base commit, everything else with the past of its own
    commit. A job that judges somebody else's run has a workflow whose runs are no baselines, so those of
    all workflows are looked at.

    Args:
        context: The job.
        suite: Its name.
        committed: Its own folder, as it is at the base commit.
        branch: The input `baseline-branch`; None: the base branch, else the default branch.
        workflow: Another workflow's path than the job's.
    """
    named = branch
    if not named:
        known = context.base_ref or context.default_branch
        named = None if known is None else known.raw
    aside = context.event in ("workflow_run", "pull_request_target")
    return Wanted(
        repository=context.repository,
        suite=suite,
        base=context.base_sha or context.sha,
        branch=named,
        workflow=workflow or (None if aside else context.workflow_path),
        own_run=context.run_id,
        committed=committed,
    )
