"""A CSV writer (RFC 4180): commas, quotes where needed, CRLF, UTF-8; no text is taken for a formula.

A spreadsheet computes what begins with `=`, `+`, `-` or `@`, and a dataset or a model can write that. Such a
text gets an apostrophe before it, as does one that begins with apostrophes and then that, so that `plain`
gives every text back. Numbers are no texts, and stay as they are.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Final, TypeAlias

from releasecheck.canonical import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Cell: TypeAlias = "str | float | bool | None"
# Programs skip blanks before a formula, and take the wide forms of East Asian keyboards for the same signs.
_FORMULA: Final = re.compile("'*(?:[\t\r\n]|\\s*[=+\\-@\uff1d\uff0b\uff0d\uff20])")
_CHUNK: Final = 64 * 1024


def render_csv(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Iterator[bytes]:
    """The file in pieces."""
    held = io.StringIO(newline="")
    writer = csv.writer(held, lineterminator="\r\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([_written(cell) for cell in row])
        if held.tell() >= _CHUNK:
            yield held.getvalue().encode("utf-8")
            held.seek(0)
            held.truncate()
    yield held.getvalue().encode("utf-8")


def _written(cell: Cell) -> str:
    """Absence is an empty field; a number keeps every digit."""
    match cell:
        case None:
            return ""
        case bool():
            return "true" if cell else "false"
        case str():
            return defused(clean_text(cell))
        case _:
            return repr(cell)


def defused(text: str) -> str:
    """A text that no spreadsheet computes."""
    return f"'{text}" if _FORMULA.match(text) else text


def plain(text: str) -> str:
    """What `defused` was given."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def read_csv(pieces: Iterable[str]) -> Iterator[list[str]]:
    """The rows of a file that `render_csv` wrote, as a stream.

    Raises:
        csv.Error: it is no such file.
    """
    return csv.reader(_lines(pieces), strict=True)


def _lines(pieces: Iterable[str]) -> Iterator[str]:
    rest = ""
    for piece in pieces:
        *whole, rest = (rest + piece).split("\n")
        for line in whole:
            yield line + "\n"
    if rest:
        message = "its last line is not complete"
        raise csv.Error(message)
