"""How numbers and untrusted names appear in sentences: never rounded across a threshold (B88)."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from releasecheck.stats.exact import exact

if TYPE_CHECKING:
    from collections.abc import Sequence

_DIGITS: Final = 4
_MOST_DIGITS: Final = 40
LONGEST_NAME: Final = 80
NAMES_SHOWN: Final = 5


def show(value: float | Fraction, *against: float | Fraction | None, percent: bool = False) -> str:
    """`value` to four significant digits, or as many as keep it on its side of every mark.

    Marks are the numbers in `against` (None is no mark) and the round ones, 0 and 1 (100 %): a number
    is shown as equal to a mark only if it is. With `percent` a share is shown in percent. Whole digits
    before the point are always kept.
    """
    scale = 100 if percent else 1
    number = exact(value) * scale
    marks = [exact(mark) * scale for mark in against if mark is not None]
    marks += [Fraction(0), Fraction(scale)]
    unit = " %" if percent else ""
    for digits in range(_DIGITS, _MOST_DIGITS + 1):
        rounded = _rounded(number, digits)
        if all(_sign(Fraction(rounded) - mark) == _sign(number - mark) for mark in marks):
            return _text(rounded) + unit
    if number in marks:
        # 17/21 has no decimal that is equal to it: two of it are rounded alike.
        others = [mark for mark in against if mark is not None and exact(mark) * scale != number]
        return show(value, *others, percent=percent)
    mark = min(marks, key=lambda mark: abs(mark - number))
    side = "below" if number < mark else "above"
    return f"just {side} {_text(_rounded(mark, _MOST_DIGITS))}{unit}"


def plain(number: float) -> str:
    """A number as it was written: its shortest decimal, without a trailing `.0`."""
    return _text(Decimal(repr(float(number))))


def two_digits(value: float, *, up: bool = True) -> str:
    """A number to two digits, never below it, or with `up` false never above it."""
    context = Context(prec=2, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    return plain(float(context.create_decimal(repr(value))))


def quote(name: str) -> str:
    """An untrusted name in quotes: control and format characters escaped, at most 80 characters."""
    escaped = repr(name)[1:-1]
    if len(escaped) > LONGEST_NAME:
        escaped = escaped[: LONGEST_NAME - 3] + "..."
    return f"'{escaped}'"


def names(ids: Sequence[str]) -> str:
    """The first five names, quoted, and how many more there are."""
    shown = ", ".join(quote(name) for name in ids[:NAMES_SHOWN])
    more = len(ids) - NAMES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def count(number: int, singular: str, plural: str | None = None) -> str:
    """`1 case`, `2,500 cases`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def count_of(number: int, total: int, noun: str = "case") -> str:
    """`3 of 84 cases`."""
    return f"{number:,} of {count(total, noun)}"


def _rounded(number: Fraction, digits: int) -> Decimal:
    whole = len(str(abs(int(number))))
    context = Context(prec=max(digits, whole if whole <= 15 else 0), rounding=ROUND_HALF_EVEN)
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def _text(decimal: Decimal) -> str:
    if decimal == 0:
        return "0"
    stripped = decimal.normalize(Context(prec=1000))
    return format(stripped, "f" if -6 <= stripped.adjusted() < 15 else "e")


def _sign(number: Fraction) -> int:
    return (number > 0) - (number < 0)
