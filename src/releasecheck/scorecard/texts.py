"""Values of any size as short texts: what was cut is counted, and the digest says what it was."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from releasecheck.canonical import clean_text, digest_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from releasecheck.canonical import Json


@dataclass(frozen=True, slots=True)
class Cut:
    """The beginning of a text."""

    text: str
    more: int = 0
    """Characters left out."""
    digest: str = ""
    """Of the whole text in UTF-8; empty when nothing was left out."""


def cut(text: str, longest: int) -> Cut:
    """At most `longest` characters of `text`."""
    if len(text) <= longest:
        return Cut(text)
    whole = clean_text(text).encode("utf-8")
    return Cut(text[:longest].rstrip(), len(text) - longest, digest_bytes(whole))


def shorten(text: str, longest: int) -> str:
    """At most `longest` characters on one line, with an ellipsis where something is left out."""
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def as_text(value: Json, *, lines: bool = False) -> str:
    """A text as it is; any other JSON as JSON, several lines when it is no short list or mapping.

    With `lines` every list or mapping is laid out in lines, so that two of them can be compared by line.
    """
    if isinstance(value, str):
        return value
    short = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if not isinstance(value, dict | list) or (len(short) <= 80 and not lines):
        return short
    return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2)


def listing(items: Iterable[str], longest: int) -> tuple[tuple[str, ...], int]:
    """The first `longest` items, and how many more there are."""
    found = tuple(items)
    return found[:longest], max(0, len(found) - longest)
