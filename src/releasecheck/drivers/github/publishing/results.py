"""What became of each publication: a tagged result, and the document that records them all.

`published.json` is a record for people and for the next attempt's log, never a truth that decides: what
is published already is found where it is published.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from releasecheck.canonical import dump_document
from releasecheck.errors import InfrastructureError, ReleaseCheckError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from releasecheck.canonical import Json

SCHEMA: Final = "releasecheck/published@1"
FILE: Final = "published.json"
LONGEST_TEXT: Final = 1000

SurfaceName: TypeAlias = Literal[
    "summary", "annotations", "status", "comment", "badge", "asset", "attest", "promotion"
]
SURFACES: Final[tuple[SurfaceName, ...]] = (
    "summary", "annotations", "status", "comment", "badge", "asset", "attest", "promotion",
)  # fmt: skip
"""In the order in which they are published."""


@dataclass(frozen=True, slots=True)
class Done:
    """It is published, by us now or already."""

    change: Literal["created", "updated", "unchanged"]
    url: str | None = None
    """Where a person finds it; None for what is no page."""
    file: str | None = None
    """Relative to the output folder, for what a later step uploads or signs."""
    note: str | None = None
    """What must be said about it."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """It was not to be published here."""

    why: str


@dataclass(frozen=True, slots=True)
class Failed:
    """It should have been published and was not; running the job again tries again."""

    error: str


Result: TypeAlias = Done | Skipped | Failed


@dataclass(frozen=True, slots=True)
class Publication:
    """One surface and what became of it."""

    surface: SurfaceName
    result: Result

    def to_json(self) -> dict[str, Json]:
        """Its entry in `published.json`."""
        match self.result:
            case Done(change=change, url=url, file=file, note=note):
                said: dict[str, Json] = {"change": change, "url": url, "file": file, "note": note}
                return {"surface": self.surface, "state": "done", **said}
            case Skipped(why=why):
                return {"surface": self.surface, "state": "skipped", "why": why}
            case Failed(error=error):
                return {"surface": self.surface, "state": "failed", "error": error}


Trust: TypeAlias = Literal["verified", "open", "unverifiable", "absent"]
"""verified: recomputed and final. open: recomputed, and another attempt may change it. unverifiable: it
contradicts itself or is of another run. absent: there is no decision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Everything that one publish stage did."""

    trust: Trust
    verdict: str | None
    """As recomputed; None without one."""
    said: tuple[str, ...]
    """Why a bundle is unverifiable or absent; else what `verify` says besides."""
    records: tuple[Publication, ...]
    lines: tuple[str, ...] = ()
    """Workflow commands for the step's log; each is one line of its own."""
    outputs: Mapping[str, str]
    """For later steps, by name: folders to upload and files to sign."""

    @property
    def failed(self) -> tuple[Publication, ...]:
        """What a re-run has to do."""
        return tuple(one for one in self.records if isinstance(one.result, Failed))

    @property
    def exit_code(self) -> int:
        """4 for a bundle nobody can rely on, or for a publication that failed; never the verdict's."""
        return 4 if self.trust in ("unverifiable", "absent") or self.failed else 0


def document(published: Published, run: Mapping[str, Json]) -> bytes:
    """`published.json`."""
    return dump_document(
        {
            "schema": SCHEMA,
            **run,
            "trust": published.trust,
            "verdict": published.verdict,
            "said": list(published.said),
            "publications": [one.to_json() for one in published.records],
        }
    )


def failure_text(error: Exception) -> str:
    """What went wrong, in one bounded text."""
    if isinstance(error, ReleaseCheckError):
        return str(error)[:LONGEST_TEXT]
    if isinstance(error, OSError) and error.strerror:
        place = f": {error.filename}" if isinstance(error.filename, str) else ""
        return f"{type(error).__name__}: {error.strerror}{place}"[:LONGEST_TEXT]
    # A stranger's message may quote what it was given.
    return f"an error of ours, {type(error).__name__}; please report it"


class NotPublished(InfrastructureError):
    """A surface could not be published, for a reason of its own."""
