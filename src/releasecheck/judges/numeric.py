"""`numeric`: the output is the expected number, within a tolerance that is compared exactly."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from releasecheck.judges.normalize import text_of
from releasecheck.judges.numbers import Unread, find_number, read_number
from releasecheck.judges.outcome import (
    YES,
    ImmediateJudge,
    cannot,
    no,
    no_expected,
    not_text,
    shown,
    too_long,
)

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.model.judge import NumericJudge
    from releasecheck.model.score import JudgeAnswer
    from releasecheck.ports import JudgeCase

LONGEST_TEXT: Final = 100_000
"""Characters that are read: reading more would hold up everything else."""
_MISMATCH: Final = ("not_a_number", "beyond_range")
"""What a wrong answer looks like; everything else that is not read is a failure of the judge."""


class Numeric(ImmediateJudge):
    """Passes when the distance to the expected number is at most the tolerance."""

    def __init__(self, spec: NumericJudge) -> None:
        self._tolerance = spec.tolerance
        self._read = find_number if spec.extract else read_number

    @override
    def score(self, output: Json, case: JudgeCase) -> JudgeAnswer:
        expected = number_of(case.expected)
        if expected is None:
            return no_expected(case.expected, "a number")
        found = self._found(output)
        if isinstance(found, Unread):
            if found.code in _MISMATCH:
                return no(found.message)
            return cannot(found.code, found.message)
        if not isinstance(found, Fraction):
            return found
        if abs(found - expected) <= self._allowed(expected):
            return YES
        return no(f"expected {shown(case.expected)}, found {_short(found)}")

    def _found(self, output: Json) -> Fraction | Unread | JudgeAnswer:
        if isinstance(output, bool):
            return Unread("not_a_number", "true and false are not numbers")
        if isinstance(output, int | float):
            return Fraction(repr(output))
        text = text_of(output)
        if text is None:
            return not_text(output)
        if len(text) > LONGEST_TEXT:
            return too_long(len(text), LONGEST_TEXT)
        return self._read(text)

    def _allowed(self, expected: Fraction) -> Fraction:
        if isinstance(self._tolerance, str):
            return Fraction(self._tolerance.removesuffix("%")) / 100 * abs(expected)
        return Fraction(repr(self._tolerance))


def number_of(expected: Json) -> Fraction | None:
    """The expected number: a JSON number, or a text that is one (CSV has nothing else)."""
    if isinstance(expected, bool):
        return None
    if isinstance(expected, int | float):
        return Fraction(repr(expected))
    if isinstance(expected, str):
        number = read_number(expected)
        return number if isinstance(number, Fraction) else None
    return None


def _short(number: Fraction) -> str:
    return f"{Decimal(number.numerator) / Decimal(number.denominator):.17g}"
