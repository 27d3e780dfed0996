"""The files of a bundle in the order in which they must reach the disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.canonical import dump_document
from releasecheck.publish.manifest import VOUCHED, manifest_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from releasecheck.canonical import Json
    from releasecheck.model.scorecard import Manifest, Scorecard

WITHDRAWN: Final = ("manifest.json", "badge.json", "badge.svg", "failure.json")
"""What an earlier attempt may have left: removed before the first write, so that no old claim stands
beside new records."""
OPENING: Final = VOUCHED
"""Written first, in this order; the digest of each goes into the manifest."""
CLOSING: Final = ("manifest.json", "badge.json", "badge.svg")
"""Written when everything else is on disk, in this order."""


@dataclass(frozen=True, slots=True)
class Write:
    """One file of the bundle, to be written whole or not at all."""

    path: str
    """Relative to the bundle, with `/` between folders."""
    chunks: Iterable[bytes]
    """Its bytes in pieces; read once."""


def opening_writes(scorecard: Scorecard, others: Mapping[str, Iterable[bytes]]) -> list[Write]:
    """The terminal state, then results and reports; `others` holds all of `OPENING` but the first."""
    first = dump_document(scorecard.model_dump(mode="json", by_alias=True))
    return _in_order(OPENING, {"scorecard.json": (first,), **others})


def closing_writes(manifest: Manifest, badge_json: Mapping[str, Json], svg: bytes) -> list[Write]:
    """Manifest, then badge; to be applied only after every opening write."""
    return _in_order(
        CLOSING,
        {
            "manifest.json": (manifest_bytes(manifest),),
            "badge.json": (dump_document(dict(badge_json)),),
            "badge.svg": (svg,),
        },
    )


def _in_order(names: tuple[str, ...], given: Mapping[str, Iterable[bytes]]) -> list[Write]:
    if set(names) != set(given):
        message = f"a bundle needs {', '.join(names)}; found {', '.join(sorted(given))}"
        raise ValueError(message)
    return [Write(name, given[name]) for name in names]
