"""Values of Inspect's scores as numbers: its letters, its words for yes and no, and what is no number.

The meaning of each is that of Inspect's own `value_to_float`, but for what that takes for 0 in its
despair: an unknown word is refused here, and `NaN`, by which a scorer says that it could not judge, is no value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from releasecheck.config.rows import kind
from releasecheck.importers.tolerant import Strange

if TYPE_CHECKING:
    from releasecheck.canonical import Json

LETTERS: Final = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Correct, partly correct, incorrect, no answer."""
_WORDS: Final = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


@dataclass(frozen=True, slots=True)
class Number:
    """A value that can be counted."""

    value: float | bool
    judged: bool
    """Whether it was said as right or wrong, not as a number."""


@dataclass(frozen=True, slots=True)
class Unscored:
    """The scorer gave no value."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody knows what the value would count."""

    shown: str


Value: TypeAlias = Number | Unscored | Unknown


def parts_of(name: str, value: Json) -> dict[str, Json]:
    """A scorer's value by name: one that is a mapping has a value under each of its keys."""
    if isinstance(value, dict):
        return {f"{name}/{key}": item for key, item in value.items()}
    return {name: value}


def read_value(value: Json) -> Value:
    """What one value counts."""
    if value is None or isinstance(value, Strange):
        return Unscored()
    if isinstance(value, bool):
        return Number(value, judged=True)
    if isinstance(value, int | float):
        return Number(value, judged=False)
    if not isinstance(value, str):
        return Unknown(kind(value))
    if value in LETTERS:
        return Number(LETTERS[value], judged=True)
    if value.lower() in _WORDS:
        return Number(_WORDS[value.lower()], judged=True)
    try:
        number = float(value)
    except ValueError:
        return Unknown(repr(value[:40]))
    return Number(number, judged=False) if math.isfinite(number) else Unscored()
