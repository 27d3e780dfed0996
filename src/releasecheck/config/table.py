"""CSV as RFC 4180 has it, strictly, with the line of every row.

Own reader, because Python's takes an unclosed quote as one long cell (B04) and has a limit on cells
that can only be changed for the whole process (B05). Here a cell may have `MAX_CELL` characters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.config.rows import Row, Rows
from releasecheck.model.nearest import listing

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_CELL: Final = 10_000_000
"""Characters in one cell."""
_QUOTE: Final = '"'
_CELL_END: Final = re.compile(r"[,\n]")


class _Broken(Exception):
    def __init__(self, message: str, line: int, column: int) -> None:
        self.message, self.line, self.column = message, line, column
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class _Line:
    """One record: cells (None where nothing at all stands) and its first line."""

    cells: list[str | None]
    line: int


def read_csv(text: str, path: str) -> Rows:
    """Rows by the names of the header; an empty cell without quotes is absent, `""` is a text."""
    found = Rows(path)
    if text and not text.strip():
        found.empty = "it holds only blank lines"
    records = _records(text if "\n" in text else text.replace("\r", "\n"))
    try:
        header = next(records, None)
        if header is None:
            return found
        names = _names(found, header)
        found.columns = tuple(names)
        found.empty = "there is only a header row"
        for record in records:
            if len(record.cells) != len(names):
                found.bad(
                    f"expected {len(names)} cells as in the header, found {len(record.cells)}; "
                    "a cell with a comma needs quotes",
                    record.line,
                )
                continue
            cells = zip(names, record.cells, strict=True)
            found.rows.append(
                Row({name: cell for name, cell in cells if cell is not None}, record.line)
            )
    except _Broken as error:
        found.bad(error.message, error.line, error.column)
    return found


def _names(found: Rows, header: _Line) -> list[str]:
    names = [(cell or "").strip() for cell in header.cells]
    if len(names) == 1 and (";" in names[0] or "\t" in names[0]):
        sign = "semicolons" if ";" in names[0] else "tabs"
        message = f"expected commas between the columns, found {sign}: {names[0][:80]!r}"
        raise _Broken(message, header.line, 1)
    if "" in names:
        message = f"column {names.index('') + 1} of the header has no name"
        raise _Broken(message, header.line, 1)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        message = f"the header names {listing(twice)} twice"
        raise _Broken(message, header.line, 1)
    return names


def _records(text: str) -> Iterator[_Line]:
    """Records that are not blank lines."""
    at, line = 0, 1
    while at < len(text):
        first, cells = line, []
        while True:
            cell, at, line = _cell(text, at, line)
            cells.append(cell)
            if text[at : at + 1] != ",":
                break
            at += 1
        at, line = _line_end(text, at), line + 1
        if cells != [None]:
            yield _Line(cells, first)


def _line_end(text: str, at: int) -> int:
    return at + (2 if text[at : at + 2] == "\r\n" else 1)


def _cell(text: str, at: int, line: int) -> tuple[str | None, int, int]:
    """A cell, where it ends, and the line that is in."""
    if text[at : at + 1] == _QUOTE:
        return _quoted(text, at, line)
    match = _CELL_END.search(text, at)
    end = match.start() if match else len(text)
    if text[end : end + 1] != "," and text[at:end].endswith("\r"):
        end -= 1
    cell = text[at:end]
    _limit(cell, text, at, line)
    return cell if cell.strip() else None, end, line


def _quoted(text: str, start: int, line: int) -> tuple[str, int, int]:
    parts: list[str] = []
    at = start + 1
    while True:
        end = text.find(_QUOTE, at)
        if end < 0:
            message = "the quote that opens here is never closed"
            raise _Broken(message, *_place(text, start, line))
        parts.append(text[at:end])
        if text[end + 1 : end + 2] != _QUOTE:
            break
        parts.append(_QUOTE)
        at = end + 2
    after = text[end + 1 : end + 2]
    if after not in {"", ",", "\n"} and text[end + 1 : end + 3] != "\r\n":
        message = (
            f"the quote that opens here ends in line {line + text.count(chr(10), start, end)} before "
            f"{after!r}, where only a comma or the end of the line can follow; a quote inside of a "
            "cell is written twice"
        )
        raise _Broken(message, *_place(text, start, line))
    cell = "".join(parts)
    _limit(cell, text, start, line)
    return cell, end + 1, line + text.count("\n", start, end)


def _place(text: str, at: int, line: int) -> tuple[int, int]:
    return line, at - text.rfind("\n", 0, at)


def _limit(cell: str, text: str, at: int, line: int) -> None:
    if len(cell) > MAX_CELL:
        message = f"a cell has {len(cell)} characters; the limit is {MAX_CELL}"
        raise _Broken(message, *_place(text, at, line))
