"""What a sweep is asked for, and where it looks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from releasecheck.drivers.github.context import GitHubContext

RERUN_DAYS: Final = 30
"""After its first attempt, GitHub runs nothing of a run again (P-01)."""
MOST_RERUNS: Final = 50
"""Of one run, everybody's together (P-01)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeatOptions:
    """How a sweep works."""

    workflows: tuple[str, ...] = ()
    """Names of files below .github/workflows; empty: all whose runs carry artifacts of ours."""
    cron: tuple[str, ...] = ()
    """When the workflows are scheduled; empty: as their files on the default branch say."""
    badge_branch: str | None = None
    """Where badges lie that are to turn stale; None: none are looked at."""
    dry_run: bool = False
    """Say what would be done, and change nothing."""
    most_without_progress: int = 3
    """Attempts of the beat in a row that may bring nothing."""
    named_for: timedelta = timedelta(days=7)
    """How long a run that is too old to be run again is still named as lost."""
    late_after: timedelta = timedelta(hours=1)
    """A schedule may start so much later than it says."""

    @property
    def look_back(self) -> timedelta:
        """How old a run may be that is looked at."""
        return timedelta(days=RERUN_DAYS) + self.named_for


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """The repository, and the run that sweeps."""

    repository: str
    """`owner/name`."""
    server_url: str = "https://github.com"
    own_run: int | None = None
    """Never looked at; None outside of a job."""


def where_of(context: GitHubContext) -> Where:
    """As a job is told."""
    return Where(
        repository=context.repository, server_url=context.server_url, own_run=context.run_id
    )
