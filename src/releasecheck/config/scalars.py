"""What an unquoted YAML word is: YAML 1.2 where all readers agree, a refusal where they do not.

`no`, `1:30`, `010` or `2024-01-01` are a boolean, a base-60 number, an octal number and a date to
YAML 1.1 readers and something else to YAML 1.2 readers. Nobody can know which was meant (B17).
"""

from __future__ import annotations

import math
import re
from typing import Final

from releasecheck.canonical import MAX_INTEGER

_NULL: Final = {"", "~", "null", "Null", "NULL"}
_BOOLEAN: Final = {
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_INTEGER: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_UNCLEAR: Final = {
    "boolean": re.compile(r"(?:yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF)"),
    "base-60 number": re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"),
    "date": re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9].*)?"),
    "octal number": re.compile(r"[-+]?0[0-9]+|[-+]?0o[0-7]+"),
    "number": re.compile(r"[-+]?0[xb][0-9a-fA-F_]+|[-+]?[0-9][0-9_]*_[0-9_]*(?:\.[0-9_]*)?"),
}


class Unclear(ValueError):
    """An unquoted word that readers disagree about; `str()` says what to write instead."""


def read_plain(text: str) -> str | float | bool | None:
    """The value of an unquoted word.

    Raises:
        Unclear: YAML 1.1 and 1.2 differ on it, or it is no number that JSON can hold.
    """
    if text in _NULL:
        return None
    if text in _BOOLEAN:
        return _BOOLEAN[text]
    if not text[0].isalnum() and text[0] not in "+-.":
        return text
    if _INTEGER.fullmatch(text):
        if len(text) > 18 or abs(int(text)) > MAX_INTEGER:
            message = f"the integer {text[:24]} is beyond 2^53 - 1; quote it if it is text"
            raise Unclear(message)
        return int(text)
    if _FLOAT.fullmatch(text):
        number = float(text)
        if not math.isfinite(number):
            message = f"expected a finite number, found {text[:24]}, which is too large"
            raise Unclear(message)
        return number
    if _NOT_FINITE.fullmatch(text):
        message = f"expected a finite number, found {text}"
        raise Unclear(message)
    for kind, pattern in _UNCLEAR.items():
        if pattern.fullmatch(text):
            instead = "true or false" if kind == "boolean" else "a plain decimal number"
            message = f"expected text, found the YAML 1.1 {kind} `{text[:40]}`; quote it" + (
                "" if kind == "date" else f" (or write {instead}, if that was meant)"
            )
            raise Unclear(message)
    return text
