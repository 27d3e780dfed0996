"""Badges on their branch that no newer run has replaced in time: turned stale, and never anything else (G-23)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal

from releasecheck.canonical import JsonProblem, dump_document, parse_json
from releasecheck.drivers.github.beat.cards import read_moment
from releasecheck.drivers.github.errors import quoted
from releasecheck.drivers.github.publishing.badge import RECORD_SCHEMA
from releasecheck.drivers.github.publishing.branch import Branch, update
from releasecheck.publish import stale
from releasecheck.scorecard.badge_svg import render_badge_svg

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from releasecheck.canonical import Json

_RECORD: Final = re.compile(r"([a-z0-9][a-z0-9-]{0,62})/published\.json")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_LONGEST: Final = 200
"""Characters of a label or message that are taken over."""


@dataclass(frozen=True, slots=True)
class BadgeNote:
    """What became of one badge."""

    suite: str
    kind: Literal["stale", "would_be_stale", "unreadable"]
    message: str

    def to_json(self) -> Json:
        """It as JSON."""
        return {"suite": self.suite, "kind": self.kind, "message": self.message}


def turn_stale(branch: Branch, now: datetime, *, dry_run: bool) -> tuple[BadgeNote, ...]:
    """Have every badge of a branch say that it is too old, where it is; in one commit.

    Raises:
        GitHubError: as for any request.
        NotPublished: others were faster on every try.
    """
    notes: list[BadgeNote] = []

    def decide(head: str | None) -> Mapping[str, bytes] | None:
        notes.clear()
        files: dict[str, bytes] = {}
        for note, changed in _all(branch, head, now):
            notes.append(note)
            files |= changed
        return files if files and not dry_run else None

    update(branch, decide, "Badges that no newer run has replaced are stale")
    if dry_run:
        return tuple(
            BadgeNote(
                note.suite, "would_be_stale" if note.kind == "stale" else note.kind, note.message
            )
            for note in notes
        )
    return tuple(notes)


def _all(
    branch: Branch, head: str | None, now: datetime
) -> Iterator[tuple[BadgeNote, dict[str, bytes]]]:
    for path in () if head is None else branch.paths(head):
        match = _RECORD.fullmatch(path)
        if match is not None and head is not None:
            found = _one(branch, head, match[1], now)
            if found is not None:
                yield found


def _one(
    branch: Branch, head: str, suite: str, now: datetime
) -> tuple[BadgeNote, dict[str, bytes]] | None:
    """What to write for one suite; None for a badge that is still to be believed, or stale already."""
    record = _document(branch.read(head, f"{suite}/published.json"))
    if record is None or record.get("schema") != RECORD_SCHEMA:
        return BadgeNote(suite, "unreadable", f"{suite}/published.json is no record of a badge"), {}
    moment = read_moment(_text(record.get("stale_after")))
    if moment is None:
        return BadgeNote(suite, "unreadable", f"{suite}/published.json: stale_after is no time"), {}
    if record.get("stale") is True or now <= moment:
        return None
    endpoint = _endpoint(_document(branch.read(head, f"{suite}/badge.json")))
    if endpoint is None:
        return BadgeNote(suite, "unreadable", f"{suite}/badge.json is no badge"), {}
    digest = _text(record.get("manifest_digest")) or ""
    old = stale(endpoint)
    why = f"no run of {suite} has replaced its badge since {str(record.get('at'))[:10]}"
    files = {
        f"{suite}/badge.json": dump_document(old),
        f"{suite}/badge.svg": render_badge_svg(old, digest if _DIGEST.fullmatch(digest) else None),
        f"{suite}/published.json": dump_document({**record, "stale": True}),
    }
    return BadgeNote(suite, "stale", quoted(f"{why}: it says stale now", 300)), files


def _endpoint(found: dict[str, Json] | None) -> dict[str, Json] | None:
    """A badge with the keys that shields allows and no others."""
    label, message = (_text((found or {}).get(name)) for name in ("label", "message"))
    if not label or not message:
        return None
    return {
        "schemaVersion": 1,
        "label": label[:_LONGEST],
        "message": message[:_LONGEST],
        "color": "lightgrey",
        "isError": True,
        "cacheSeconds": 300,
    }


def _document(data: bytes | None) -> dict[str, Json] | None:
    if data is None:
        return None
    try:
        found = parse_json(data)
    except JsonProblem:
        return None
    return found if isinstance(found, dict) else None


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None
