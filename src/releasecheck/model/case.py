"""A case: one input, what is expected of it, and where it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from releasecheck.canonical import digest

if TYPE_CHECKING:
    from releasecheck.canonical import Json


@dataclass(frozen=True, slots=True)
class Source:
    """Where a case was written."""

    path: str
    """The dataset file, relative to the config file, with `/` between folders."""
    line: int
    """1-based line (for CSV and JSON arrays too: where the row starts)."""


@dataclass(frozen=True, slots=True)
class Case:
    """One input with what is expected of it."""

    id: str
    """Unique in the suite; any text without control characters."""
    input: Json
    """What the target gets."""
    expected: Json
    """What judges compare with; None when the case names none."""
    split: str
    """The part of the dataset it belongs to, besides `all`."""
    tags: tuple[str, ...]
    """For selecting cases in gates, judges and reports."""
    metadata: dict[str, Json]
    """Free; visible to templates and judges."""
    source: Source
    """For annotations that point at the dataset."""
    index: int
    """0-based position in plan order, the order of every report."""

    @property
    def digest(self) -> str:
        """Identity of the content: over input, expected and metadata only."""
        return digest({"input": self.input, "expected": self.expected, "metadata": self.metadata})

    def to_json(self) -> dict[str, Json]:
        """The line of a plan's case file."""
        return {
            "id": self.id,
            "input": self.input,
            "expected": self.expected,
            "split": self.split,
            "tags": list(self.tags),
            "metadata": self.metadata,
            "source": {"path": self.source.path, "line": self.source.line},
            "digest": self.digest,
            "index": self.index,
        }

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Case:
        """Read a line of a plan's case file (KeyError, TypeError when it is none)."""
        return cls(
            id=row["id"],
            input=row["input"],
            expected=row.get("expected"),
            split=row["split"],
            tags=tuple(row["tags"]),
            metadata=row["metadata"],
            source=Source(row["source"]["path"], row["source"]["line"]),
            index=row["index"],
        )
