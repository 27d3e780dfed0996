"""The hidden lines by which a comment of ours is found again, and which run wrote it (C-20)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.drivers.github.context import ForeignText

if TYPE_CHECKING:
    from releasecheck.drivers.github.context import GitHubContext

_WRITTEN: Final = re.compile(
    r"<!-- releasecheck-run number=([1-9][0-9]{0,17}) attempt=([1-9][0-9]{0,17}) head=([0-9a-f]{40,64}) -->"
)


@dataclass(frozen=True, slots=True)
class WrittenBy:
    """The run that wrote a comment."""

    number: int
    attempt: int
    head: str

    @property
    def order(self) -> tuple[int, int]:
        """Grows with time inside one workflow."""
        return self.number, self.attempt

    def line(self) -> str:
        """As it stands in the comment."""
        return f"<!-- releasecheck-run number={self.number} attempt={self.attempt} head={self.head} -->"


def marker(suite: str, context: GitHubContext) -> str:
    """The first line of our comment for one suite and one workflow."""
    # A file name may hold what would end an HTML comment.
    workflow = ForeignText(context.workflow_path or context.workflow.raw)
    return f"<!-- releasecheck suite={suite} workflow={workflow} -->"


def written_by(context: GitHubContext) -> WrittenBy:
    """This run."""
    return WrittenBy(context.run_number, context.run_attempt, context.head_sha)


def is_marked(body: str, first: str) -> bool:
    """Whether a comment starts with exactly this marker."""
    return body.partition("\n")[0].rstrip("\r") == first


def read_writer(body: str) -> WrittenBy | None:
    """Who wrote a marked comment; None when its second line was edited away."""
    lines = body.split("\n", 2)
    match = _WRITTEN.fullmatch(lines[1].rstrip("\r")) if len(lines) > 1 else None
    return WrittenBy(int(match[1]), int(match[2]), match[3]) if match else None
