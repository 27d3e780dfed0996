"""Numbers in texts, exactly, by one fixed grammar: no locale is guessed (B68).

A number is an optional sign (`+`, `-`, or the minus U+2212), ASCII digits, an optional point with
digits, an optional exponent. The full-width forms of all of these are read as the ASCII ones; digits of
other scripts are refused by name. `find_number` reads more: see there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final, Literal, TypeAlias

UnreadCode: TypeAlias = Literal[
    "not_a_number", "beyond_range", "ambiguous_number", "no_number", "several_numbers"
]

LONGEST_NUMBER: Final = 400
"""Characters of one number; a double has at most 309 digits before the point."""
MOST_NUMBERS: Final = 1_000
"""Numbers in one text that are looked at, even if they are all the same."""
_LARGEST_EXPONENT: Final = 308
_SMALLEST_EXPONENT: Final = -400

# U+FF01 to U+FF5E are ASCII at full width; U+3000 is their space.
_AS_ASCII: Final = {code + 0xFEE0: code for code in range(0x21, 0x7F)} | {
    0x2212: "-",
    0x3000: " ",
}
_PLAIN: Final = re.compile(
    r"(?P<mantissa>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?P<exponent>[eE][+-]?[0-9]+)?"
)
_SEPARATED: Final = re.compile(r"[+\-\u2010-\u2015]?[0-9](?:[0-9.,'\u2019_\s]*[0-9])?")
_FOUND: Final = re.compile(
    r"""
    (?P<sign>[+\-\u2010-\u2015])?
    (?:[$€£¥₹₩₽￥]\s?(?P<inner>[+-])?)?
    (?P<body>\.?[0-9][0-9.,'\u2019_]*)
    (?: (?P<exponent>[eE][+-]?[0-9]+)(?!\w) | (?P<tail>[^\W\d_]\w*) )?
    """,
    re.VERBOSE,
)
_GROUPED: Final = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_UNGROUPED: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?|\.[0-9]+")


@dataclass(frozen=True, slots=True)
class Unread:
    """No one number was read, and why."""

    code: UnreadCode
    message: str


def read_number(text: str) -> Fraction | Unread:
    """The number that the whole text is, outer white space aside."""
    plain = text.strip().translate(_AS_ASCII)
    if len(plain) > LONGEST_NUMBER:
        message = f"a text of {len(plain)} characters is not one number"
        return Unread("not_a_number", message)
    match = _PLAIN.fullmatch(plain)
    if match is not None:
        return _exact(match["mantissa"], match["exponent"])
    if _SEPARATED.fullmatch(plain):
        return _ambiguous(plain)
    if any(char.isdecimal() and not char.isascii() for char in plain):
        return Unread(
            "ambiguous_number", "only the digits 0 to 9 and their full-width forms are read"
        )
    return Unread("not_a_number", f"{_quoted(plain)} is not one number")


def find_number(text: str) -> Fraction | Unread:
    """The one number in a text; the same number twice is one number.

    Beyond `read_number`: commas between groups of three digits (`9,500.50`, TeX's `9{,}500`), a currency
    sign before, a percent sign, unit or word after it (`8.4%` is 8.4, `72kg` is 72). Digits that end a
    word are part of the word (`B12`); a sign after a word or number is a hyphen (`3-5`).
    """
    text = text.translate(_AS_ASCII).replace("{,}", ",")
    values: set[Fraction] = set()
    for count, match in enumerate(_FOUND.finditer(text)):
        if _ends_word(_char_before(text, match.start("body"))):
            continue
        after = text[match.end("body") : match.end("body") + 1]
        number = _found(match, _char_before(text, match.start()), after)
        if isinstance(number, Unread):
            return number
        values.add(number)
        if len(values) > 1 or count >= MOST_NUMBERS:
            return Unread("several_numbers", "found more than one number; expected exactly one")
    if not values:
        return Unread("no_number", f"found no number in {_quoted(text.strip())}")
    return values.pop()


def _char_before(text: str, index: int) -> str:
    return text[index - 1 : index] if index else ""


def _found(match: re.Match[str], before: str, after: str) -> Fraction | Unread:
    written = match["body"]
    body = written.rstrip(".,'\u2019_")
    hyphen = _ends_word(before) or before in tuple("0123456789)]%")
    signs = ("" if hyphen else match["sign"] or "") + (match["inner"] or "")
    cut = written != body
    if (
        not (_UNGROUPED.fullmatch(body) or _GROUPED.fullmatch(body))
        or len(body) > LONGEST_NUMBER
        # Dashes that may be meant as a minus; `5.e3`, `10²`, `1万`, `0x1F`: the digits alone are not it.
        or signs.strip("+-")
        or (cut and match["exponent"])
        or _is_numeral(before)
        or (not cut and _is_numeral(after))
        or any(char.isdigit() for char in match["tail"] or "")
    ):
        return _ambiguous(match[0].strip() + ("" if match["tail"] else after.strip()))
    sign = "-" if signs.count("-") == 1 else ""
    return _exact(sign + body.replace(",", ""), match["exponent"])


def _exact(mantissa: str, exponent: str | None) -> Fraction | Unread:
    digits = Decimal(mantissa)
    if not digits:
        return Fraction(0)
    power = _power(exponent)
    size = digits.adjusted() + power
    if size > _LARGEST_EXPONENT:
        return Unread(
            "beyond_range", f"{_quoted(mantissa + (exponent or ''))} is beyond any double"
        )
    if size < _SMALLEST_EXPONENT:
        # Nearer to zero than anything it can be compared with, and still not zero.
        return Fraction(1 if digits > 0 else -1, 10**400)
    return Fraction(digits) * Fraction(10) ** power


def _power(exponent: str | None) -> int:
    digits = (exponent or "e0")[1:]
    # One of a thousand digits need not be read: it is beyond either end.
    size = int(digits.lstrip("+-0")[:8] or "0") if len(digits.lstrip("+-0")) <= 8 else 10**8
    return -size if digits.startswith("-") else size


def _ends_word(char: str) -> bool:
    # Scripts without capitals put no space between word and number: 共72个.
    return char == "_" or char.lower() != char.upper()


def _is_numeral(char: str) -> bool:
    return char.isnumeric() and not ("0" <= char <= "9")


def _ambiguous(text: str) -> Unread:
    message = (
        f"{_quoted(text)} can be read in more than one way; expected plain digits with a point, such as "
        "1234.56"
    )
    return Unread("ambiguous_number", message)


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
