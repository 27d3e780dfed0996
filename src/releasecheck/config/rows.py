"""Rows of dataset files with their lines: JSON Lines and JSON arrays, read strictly."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from releasecheck.canonical import Json, JsonProblem, parse_json
from releasecheck.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

_SPACE: Final = re.compile(r"[ \t\r\n]*")
# Finds where an element ends; its content is read strictly afterwards.
_scanner: Final = json.JSONDecoder(parse_int=len, parse_float=len)


@dataclass(frozen=True, slots=True)
class Row:
    """One row as it was written, before our fields are looked for."""

    fields: dict[str, Json]
    line: int
    """1-based line where it starts."""


@dataclass(slots=True)
class Rows:
    """What reading one file brought."""

    path: str
    """As the user would name it."""
    rows: list[Row] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    columns: tuple[str, ...] = ()
    """Names in the header, for CSV."""
    empty: str = "the file is empty"
    """Why there is no row, should there be none."""

    def bad(self, message: str, line: int | None = None, column: int | None = None) -> None:
        """Note a problem and go on."""
        self.problems.append(Problem(message, self.path, line, column))

    def take(self, text: str, line: int, column: int = 1) -> None:
        """Read one JSON object that starts at the place given."""
        try:
            value = parse_json(text)
        except JsonProblem as error:
            at = line + (error.line or 1) - 1
            inside = error.column and error.column + (column - 1 if at == line else 0)
            self.bad(f"not a JSON row: {error.message}{_quote_hint(text)}", at, inside)
            return
        if isinstance(value, dict):
            self.rows.append(Row(value, line))
        else:
            self.bad(f"expected a JSON object, found {kind(value)}", line, column)


def kind(value: Json) -> str:
    """What a JSON value is, without its content."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "a text" if value else "an empty text"
    if isinstance(value, list):
        return "a list"
    return "an object" if isinstance(value, dict) else "a number"


def read_jsonl(text: str, path: str) -> Rows:
    """One object on each line; blank lines are skipped and counted (B07, B08)."""
    found = Rows(path)
    lines = text.split("\n")
    if text.strip():
        found.empty = "there is no row in it"
    elif text:
        found.empty = "it holds only blank lines"
    if text.lstrip().startswith("[") and "\n" in text.strip():
        found.bad("this is a JSON array; name the file .json, or write one object on each line", 1)
        return found
    for number, line in enumerate(lines, start=1):
        start = line.lstrip(" \t\r")
        if start:
            found.take(line.rstrip("\r"), number)
    return found


def read_json(text: str, path: str) -> Rows:
    """One array of objects."""
    found = Rows(path)
    lines = _Lines(text)
    at = _skip(text, 0)
    if at == len(text):
        found.empty = "it holds only blank lines" if text else "the file is empty"
        return found
    if text[at] != "[":
        _refuse_document(found, text, at)
        return found
    found.empty = "the array has no entry"
    for start, end in _elements(found, text, at, lines):
        found.take(text[start:end], *lines.place(start))
    return found


def _refuse_document(found: Rows, text: str, at: int) -> None:
    line = text.count("\n", 0, at) + 1
    try:
        value = parse_json(text)
    except JsonProblem as error:
        found.bad(f"not JSON: {error.message}", error.line or line, error.column)
        return
    advice = ""
    if isinstance(value, dict):
        lists = [key for key, item in value.items() if isinstance(item, list)]
        advice = (
            f"; write the list under {lists[0][:40]!r} as the whole file" if lists else
            "; one object on each line is a .jsonl file"
        )  # fmt: skip
    found.bad(f"no cases: expected an array of objects, found {kind(value)}{advice}", line)


def _elements(found: Rows, text: str, at: int, lines: _Lines) -> Iterator[tuple[int, int]]:
    at = _skip(text, at + 1)
    first = True
    while at < len(text) and text[at] != "]":
        if not first:
            if text[at] != ",":
                found.bad("expected `,` or `]` after this entry", *lines.place(at))
                return
            at = _skip(text, at + 1)
        first = False
        try:
            _, end = _scanner.raw_decode(text, at)
        except json.JSONDecodeError as error:
            found.bad(f"not JSON: {error.msg}", *lines.place(error.pos))
            return
        except RecursionError:
            found.bad("nested deeper than 200 levels", *lines.place(at))
            return
        yield at, end
        at = _skip(text, end)
    if at >= len(text):
        found.bad("the array is never closed; expected `]` at the end", *lines.place(at))
    elif _skip(text, at + 1) < len(text):
        found.bad("found more after the array", *lines.place(_skip(text, at + 1)))


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _quote_hint(text: str) -> str:
    return " (JSON has no single quotes)" if re.search(r"[:\[,{]\s*'", text) else ""


class _Lines:
    """Places of rising offsets, counted once."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._line = text, 0, 1

    def place(self, offset: int) -> tuple[int, int]:
        """1-based line and column."""
        if offset < self._at:
            self._at, self._line = 0, 1
        self._line += self._text.count("\n", self._at, offset)
        self._at = offset
        return self._line, offset - self._text.rfind("\n", 0, offset)
