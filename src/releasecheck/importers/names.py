"""Names of other tools as ids of ours: lower case, short, unique."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from releasecheck.canonical import clean_text
from releasecheck.model.gate import BUILTIN_METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST: Final = 48
"""Characters: room is left for what a gate's id adds."""


def slug(text: str, otherwise: str = "imported") -> str:
    """Letters, digits and `-` only."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:_LONGEST].strip("-") or otherwise


def case_id(text: str) -> str:
    """An id as the suite's reader takes it, so that answers and scores are found under it again."""
    return unicodedata.normalize("NFC", clean_text(text))


def judge_ids(names: Iterable[str]) -> dict[str, str]:
    """An id for each name; the order of the names does not matter, so that two logs get the same ones."""
    found: dict[str, str] = {}
    for name in sorted(set(names)):
        plain = slug(name, "score")
        wanted = f"score-{plain}" if plain.replace("-", "_") in BUILTIN_METRICS else plain
        given, number = wanted, 1
        while given in found.values():
            number += 1
            given = f"{wanted}-{number}"
        found[name] = given
    return found
