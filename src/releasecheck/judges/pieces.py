"""JSON of which one bad piece does not spoil the others: what a judge answers for many at once (S1-33).

The strict reader refuses a whole document for one NaN or one key given twice. Here each of these becomes
a value of its own, which `flaw` finds in the piece it stands in.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.canonical import MAX_DEPTH, MAX_INTEGER, JsonProblem, decode_text

if TYPE_CHECKING:
    from releasecheck.canonical import Json


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A number that JSON has not, or that its readers disagree about."""

    why: str


class Repeated(dict[str, "Json"]):
    """An object with a key given more than once; as a dict it holds the last value of each."""

    def __init__(self, pairs: list[tuple[str, Json]]) -> None:
        super().__init__(pairs)
        self.pairs: Final = tuple(pairs)
        """All of it, in its order."""


def _constant(name: str) -> Unreadable:
    return Unreadable(f"{name} is not JSON; expected a finite number")


def _float(text: str) -> float | Unreadable:
    value = float(text)
    if math.isfinite(value):
        return value
    return Unreadable(f"the number {text[:40]} is too large; expected a finite number")


def _int(text: str) -> int | Unreadable:
    if len(text) > 17 or abs(int(text)) > MAX_INTEGER:
        return Unreadable(
            f"the integer {text[:24]} is beyond 2^53 - 1, where JSON readers disagree"
        )
    return int(text)


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else Repeated(pairs)


_decoder: Final = json.JSONDecoder(
    parse_constant=_constant, parse_float=_float, parse_int=_int, object_pairs_hook=_object
)


def parse_pieces(data: bytes) -> Json:
    """Read a document in which pieces may be flawed.

    Raises:
        JsonProblem: it is no JSON at all.
    """
    try:
        return _decoder.decode(decode_text(data))
    except UnicodeDecodeError as error:
        message = f"not UTF-8 at byte {error.start}"
        raise JsonProblem(message) from None
    except json.JSONDecodeError as error:
        raise JsonProblem(error.msg, line=error.lineno, column=error.colno) from None
    except RecursionError:
        message = f"nested deeper than {MAX_DEPTH} levels"
        raise JsonProblem(message, beyond_limits=True) from None


def flaw(piece: Json) -> str | None:
    """Why a piece is not the strict JSON that we read; None where it is."""
    level = [piece]
    for _ in range(MAX_DEPTH + 1):
        below: list[Json] = []
        for item in level:
            if isinstance(item, Unreadable):
                return item.why
            if isinstance(item, Repeated):
                return f"the key {_doubled(item)[:80]!r} is given twice in one object"
            if isinstance(item, dict):
                below += item.values()
            elif isinstance(item, list):
                below += item
        if not below:
            return None
        level = below
    return f"nested deeper than {MAX_DEPTH} levels"


def _doubled(found: Repeated) -> str:
    seen: set[str] = set()
    for key, _ in found.pairs:
        if key in seen:
            return key
        seen.add(key)
    return ""
