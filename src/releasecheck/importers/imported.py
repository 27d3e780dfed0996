"""What every importer gives: files of a suite, and what became what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import yaml

from releasecheck.canonical import dump_line

if TYPE_CHECKING:
    from releasecheck.canonical import Json

CONFIG: Final = "releasecheck.yaml"


@dataclass(frozen=True, slots=True)
class Mapped:
    """One kind of thing that was found, and what it is now."""

    found: str
    """In the words of the other tool: `assert: icontains`."""
    became: str
    """In ours: `judge contains-2 (contains, normalize: lower)`."""
    times: int = 1
    """How often it stood in the file."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A suite that validates and runs where its files are written."""

    files: Mapping[str, bytes]
    """By path relative to the suite's folder, with `/`; `releasecheck.yaml` is one of them."""
    mapped: tuple[Mapped, ...]
    notes: tuple[str, ...] = ()
    """What somebody has to know or do: a default that was chosen, a thing of the other tool that has no meaning here."""


def config_bytes(suite: Mapping[str, Json], head: Iterable[str]) -> bytes:
    """`releasecheck.yaml`: `head` as comment lines, then the suite with its keys in their order."""
    comments = "".join(f"# {' '.join(line.split())}\n" for line in head)
    body = yaml.safe_dump(
        dict(suite), sort_keys=False, allow_unicode=True, default_flow_style=None, width=110
    )
    return (comments + body).encode("utf-8")


def lines_bytes(rows: Iterable[Mapping[str, Json]]) -> bytes:
    """JSON Lines, one row each."""
    return b"".join(dump_line(dict(row)) for row in rows)
