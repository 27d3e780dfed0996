"""A case: one input, what is expected of it, and where it came from."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

from releasecheck.canonical import Json, digest


class Source(Struct, frozen=True):
    """Where a case was written."""

    path: str
    """The dataset file, relative to the config file, with `/` between folders."""
    line: int
    """1-based line (for CSV and JSON arrays too: where the row starts)."""


class Case(Struct, frozen=True):
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
    def from_json(cls, row: Json) -> Case:
        """Read a line of a plan's case file that was parsed already.

        Raises:
            msgspec.ValidationError: it is none, and where.
        """
        return msgspec.convert(row, cls)

    @classmethod
    def from_line(cls, line: bytes) -> Case:
        """Read a line of a plan's case file, which `verify_plan` has looked at.

        Raises:
            msgspec.DecodeError: it is none.
        """
        return _lines.decode(line)


CLUSTER: Final = "cluster"
"""The metadata key that names what a case belongs to: a document, a conversation, a customer."""


def cluster_of(metadata: dict[str, Json]) -> str | None:
    """What a case's metadata names as its cluster, a text or a whole number; None where it names none."""
    found = metadata.get(CLUSTER)
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    return found if isinstance(found, str) and found else None


_lines = msgspec.json.Decoder(Case)
