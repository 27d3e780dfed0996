"""Regular expressions of JavaScript in the words of Python."""

from __future__ import annotations

import re
from typing import Final

import regex

_DIGIT: Final = "0-9"
_WORD: Final = "A-Za-z0-9_"
_ESCAPES: Final = {"d": _DIGIT, "w": _WORD, "D": f"^{_DIGIT}", "W": f"^{_WORD}"}
_EDGE: Final = f"(?:(?<![{_WORD}])(?=[{_WORD}])|(?<=[{_WORD}])(?![{_WORD}]))"
_NO_EDGE: Final = f"(?:(?<![{_WORD}])(?![{_WORD}])|(?<=[{_WORD}])(?=[{_WORD}]))"
_ANY: Final = r"[^\n\r\u2028\u2029]"
_REFUSED: Final = re.compile(
    r"\(\?[aiLmsuxfbe-]+[:)]|\(\?P|\[\^?\]|\\c[A-Za-z]|\\u\{|\\[pP]\{|\{,\d*\}|\\[AZzGKQEXRhHN]"
)
_TIMES: Final = re.compile(r"\{\d+(?:,\d*)?\}")
_NEGATED_INSIDE: Final = re.compile(r"(?<!\\)\[(?:[^\]\\]|\\[^DW])*\\[DW]")
"""A class that holds a negated one cannot be written as ranges."""


def check_pattern(pattern: str) -> tuple[str, str | None]:
    r"""The pattern as Python reads it, and why it cannot be had.

    `$` is the end alone there and may stand before a last newline here; `\d`, `\w` and `\b` are ASCII there,
    and `.` is no end of a line of any kind.
    """
    strange = _REFUSED.search(pattern) or _NEGATED_INSIDE.search(pattern)
    if strange is not None:
        return (
            pattern,
            f"{strange[0]!r} in the pattern means something else to JavaScript; write it in another way",
        )
    made = _translated(pattern)
    try:
        regex.compile(made)
        re.compile(made)
    except (regex.error, re.error) as error:
        return pattern, f"the pattern {pattern[:60]!r} is no regular expression here: {error}"
    return made, None


def _translated(pattern: str) -> str:
    made: list[str] = []
    inside = escaped = False
    for at, char in enumerate(pattern):
        if escaped:
            made.append(_escape(char, inside=inside))
            escaped = False
        elif char == "\\":
            escaped = True
        elif inside:
            inside = char != "]"
            # A bracket or brace in a class is itself there; here `[:` and `${` would begin something.
            made.append("\\" + char if char in "[{" else char)
        elif char == "{" and not _TIMES.match(pattern, at):
            made.append(r"\{")  # which is itself there; here `{e}` would allow any error
        else:
            inside = char == "["
            made.append({"$": r"\Z", ".": _ANY}.get(char, char))
    return "".join(made) + ("\\" if escaped else "")


def _escape(char: str, *, inside: bool) -> str:
    if char == "/":
        return "/"
    if char in "bB" and not inside:
        return _EDGE if char == "b" else _NO_EDGE
    if char not in _ESCAPES:
        return "\\" + char
    return _ESCAPES[char] if inside else f"[{_ESCAPES[char]}]"
