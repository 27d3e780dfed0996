"""Numbers as people read them: with their unit, and never rounded onto something they are not (B88)."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from releasecheck.stats import show

if TYPE_CHECKING:
    from collections.abc import Iterable

NOTHING: Final = "\N{EN DASH}"
"""Shown where nothing was measured; never 0."""
_MOMENT: Final = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z")


@lru_cache(maxsize=4096)
def _show(value: float, against: tuple[float | None, ...]) -> str:
    # Exact rounding costs 50 microseconds, and the scores of a run are mostly the same few numbers.
    return show(value, *against)


def shown(metric: str, value: float | None, against: Iterable[float | None] = ()) -> str:
    """A metric's value, on its own side of 0, 1 and each of `against`; `NOTHING` for no value."""
    if value is None:
        return NOTHING
    text = _show(value, tuple(against))
    match metric:
        case "latency_ms":
            return f"{text} ms"
        case "cost_usd":
            return f"-${text[1:]}" if text.startswith("-") else f"${text}"
        case _:
            return text


def change(metric: str, value: float | None, against: Iterable[float | None] = ()) -> str:
    """A difference, always signed; `against` holds sizes it must not be rounded onto."""
    if value is None:
        return NOTHING
    sign = "+" if value > 0 else "\N{MINUS SIGN}" if value < 0 else "±"
    return sign + shown(metric, abs(value), against)


def share(part: int, whole: int) -> str:
    """`part` of `whole` in percent: 100 only when all, 0 only when none."""
    return show(Fraction(part, whole), percent=True) if whole > 0 else NOTHING


def moment(written: str) -> str:
    """`2026-01-05T09:00:00.123Z` as people read it: `2026-01-05 09:00:00 UTC`."""
    match = _MOMENT.fullmatch(written)
    return written if match is None else f"{match[1]} {match[2]} UTC"
