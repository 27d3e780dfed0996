"""Regular expressions of JavaScript in the words of Python."""

from __future__ import annotations

import re
from typing import Final

import regex

_DIGIT: Final = "0-9"
_WORD: Final = "A-Za-z0-9_"
_ESCAPES: Final = {"d": _DIGIT, "w": _WORD, "D": f"^{_DIGIT}", "W": f"^{_WORD}"}
_REFUSED: Final = re.compile(r"\(\?[aiLmsuxfbe-]+[:)]|\[\^?\]|\\c[A-Za-z]|\\u\{|\\[pP]\{")


def check_pattern(pattern: str) -> tuple[str, str | None]:
    r"""The pattern as Python reads it, and why it cannot be had.

    `$` is the end alone there and may stand before a last newline here; `\d` and `\w` are ASCII there.
    """
    strange = _REFUSED.search(pattern)
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
    for char in pattern:
        if escaped:
            made.append(_escape(char, inside=inside))
            escaped = False
        elif char == "\\":
            escaped = True
        elif inside:
            inside = char != "]"
            # A bracket or brace in a class is itself there; here `[:` and `${` would begin something.
            made.append("\\" + char if char in "[{" else char)
        else:
            inside = char == "["
            made.append(r"\Z" if char == "$" else char)
    return "".join(made) + ("\\" if escaped else "")


def _escape(char: str, *, inside: bool) -> str:
    if char == "/":
        return "/"
    if char not in _ESCAPES or (inside and char in "DW"):
        return "\\" + char
    return _ESCAPES[char] if inside else f"[{_ESCAPES[char]}]"
