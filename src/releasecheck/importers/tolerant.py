"""JSON that other tools wrote: what no JSON number can hold is kept apart instead of refused.

Logs hold `NaN` where a scorer had no answer, and integers that only Python reads. They are read as
`Strange`, so that nobody takes them for a number by accident.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from releasecheck.canonical import MAX_DEPTH, MAX_INTEGER, clean_text
from releasecheck.errors import ConfigError, Problem

if TYPE_CHECKING:
    from releasecheck.canonical import Json

_DEEPEST: Final = MAX_DEPTH - 20
"""Levels of a value that is kept: it is written inside of a row, and judged inside of a question."""


_TOO_DEEP: Final = f"nested deeper than {MAX_DEPTH} levels: this is no log of an eval"


@dataclass(frozen=True, slots=True)
class Strange:
    """A number that JSON does not have: `NaN`, `Infinity`, one too large for a double or beyond 2^53 - 1."""

    text: str

    @property
    def whole(self) -> bool:
        """Whether it is an integer, only too large."""
        return self.text.lstrip("-").isdigit()


class _Twice(ValueError):
    """A key is given twice in one object."""


def parse_tolerant(text: str, path: str, line: int | None = None) -> Json:
    """Read one document; `line` is where it stands, for a file of many.

    Raises:
        ConfigError: it is no JSON at all, or nested too deep.
    """
    try:
        value = _decoder.decode(text)
    except json.JSONDecodeError as error:
        at = error.lineno if line is None else line + error.lineno - 1
        raise ConfigError([Problem(f"not JSON: {error.msg}", path, at, error.colno)]) from None
    except _Twice as error:
        raise ConfigError([Problem(str(error), path, line)]) from None
    except RecursionError:
        raise ConfigError([Problem(_TOO_DEEP, path, line)]) from None
    # Only a text with very many brackets can be too deep, so levels are rarely counted.
    if text.count("[") + text.count("{") > MAX_DEPTH and _too_deep(value):
        raise ConfigError([Problem(_TOO_DEEP, path, line)])
    return value


def _too_deep(value: Json) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            item
            for outer in level
            if isinstance(outer, list | dict)
            for item in (outer if isinstance(outer, list) else outer.values())
        ]
    return bool(level)


def _integer(text: str) -> int | Strange:
    if len(text) > 17 or abs(int(text)) > MAX_INTEGER:
        return Strange(text)
    return int(text)


def _float(text: str) -> float | Strange:
    value = float(text)
    return value if math.isfinite(value) else Strange(text[:40])


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        message = f"the key {twice[:80]!r} is given twice in one object"
        raise _Twice(message)
    return found


_decoder: Final = json.JSONDecoder(
    parse_constant=Strange, parse_int=_integer, parse_float=_float, object_pairs_hook=_unique
)


class TooDeep(ValueError):
    """A value has more levels than a suite can hold."""


@dataclass(slots=True)
class Plain:
    """Makes values that a suite can hold, and counts what they lost."""

    lost: dict[str, int] = field(default_factory=dict)
    """How often each kind of strange number was met."""

    def __call__(self, value: Json, level: int = 0) -> Json:
        """The value with null for what is no number, and text for integers that are too large.

        Raises:
            TooDeep: it is nested too deep.
        """
        if isinstance(value, str):
            return clean_text(value)
        if isinstance(value, Strange):
            kind = (
                "integers beyond 2^53 - 1, now text" if value.whole else f"{value.text}, now null"
            )
            self.lost[kind] = self.lost.get(kind, 0) + 1
            return value.text if value.whole else None
        if level > _DEEPEST:
            message = f"nested deeper than {_DEEPEST} levels"
            raise TooDeep(message)
        if isinstance(value, list):
            return [self(item, level + 1) for item in value]
        if isinstance(value, dict):
            return {clean_text(key): self(item, level + 1) for key, item in value.items()}
        return value

    def notes(self) -> tuple[str, ...]:
        """What to tell about it."""
        return tuple(
            f"outside of scores: {count} {'value' if count == 1 else 'values'} {kind}"
            for kind, count in sorted(self.lost.items())
        )
