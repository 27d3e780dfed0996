"""One row of a CSV file of tests: the columns that begin with `__`, and variables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from releasecheck.config.nodes import MapNode, Node, plain
from releasecheck.importers.promptfoo.grammar import Misspelt, read_cell
from releasecheck.importers.promptfoo.reading import Desk, node_of
from releasecheck.model.nearest import did_you_mean

if TYPE_CHECKING:
    from releasecheck.canonical import Json

_EXPECTED: Final = re.compile(r"__expected(\d*)")
_CONFIG: Final = re.compile(r"__config:__expected(\d*):([A-Za-z]+)")
_META: Final = re.compile(r"__metadata:([^\[\]]+)(\[\])?")
_PLAIN: Final = ("__description", "__prefix", "__suffix", "__metric", "__threshold")
_NAMES: Final = (*_PLAIN, "__expected", "__metadata:name", "__config:__expected1:threshold")
_SINGLE: Final = re.compile(r"_(?:expected\d*|prefix|suffix|description|metric|threshold)")
_COMMA: Final = re.compile(r"(?<!\\),")


def test_of_row(desk: Desk, row: Node) -> Node:
    """The test that a row stands for."""
    cells = plain(row)
    assert isinstance(cells, dict)  # noqa: S101 - rows of a table are mappings
    made = _Row(desk, row)
    for column, cell in cells.items():
        made.take(column, str(cell))
    return made.test()


test_of_row.__test__ = False  # type: ignore[attr-defined] # pytest collects functions by this name


class _Row:
    def __init__(self, desk: Desk, row: Node) -> None:
        self._desk, self._place = desk, row.place
        self._vars: dict[str, Json] = {}
        self._asserts: dict[str, dict[str, Any]] = {}
        self._settings: list[tuple[str, str, str]] = []
        self._metadata: dict[str, Json] = {}
        self._own: dict[str, str] = {}

    def take(self, column: str, cell: str) -> None:
        """One cell."""
        if column in _PLAIN:
            if cell.strip():
                self._own[column] = cell
        elif (found := _EXPECTED.fullmatch(column)) is not None:
            if cell.strip():
                self._expect(found[1], cell, column)
        elif (found := _CONFIG.fullmatch(column)) is not None:
            if cell.strip():
                self._settings.append((found[1], found[2], cell.strip()))
        elif (found := _META.fullmatch(column)) is not None:
            if cell.strip():
                self._metadata[found[1].strip()] = _many(cell) if found[2] else cell
        elif column.startswith("__"):
            self._desk.bad(
                self._place,
                f"unknown column {column[:60]!r}, which would check nothing{did_you_mean(column, _NAMES)}",
            )
        elif _SINGLE.fullmatch(column):
            self._desk.bad(
                self._place,
                f"the column {column!r} has one underscore and would be a variable; did you mean '_{column}'?",
            )
        else:
            self._vars[column] = cell

    def _expect(self, number: str, cell: str, column: str) -> None:
        try:
            self._asserts[number] = read_cell(cell)
        except Misspelt as error:
            self._desk.bad(self._place, str(error), column)

    def test(self) -> MapNode:
        """The row as a test."""
        for number, key, cell in self._settings:
            # A column without a number is the first one's; to take it for all would loosen the others.
            chosen = [number] if number or number in self._asserts else list(self._asserts)[:1]
            for one in chosen:
                if one not in self._asserts:
                    self._desk.bad(
                        self._place, f"__config:__expected{one}:{key} is about a cell that is empty"
                    )
                elif key != "threshold":
                    self._desk.bad(
                        self._place,
                        f"__config:__expected{number}:{key}: only `threshold` is converted",
                    )
                else:
                    self._asserts[one][key] = cell
        for made in self._asserts.values():
            if "__metric" in self._own:
                made["metric"] = self._own["__metric"].strip()
        options = {
            name: self._own[f"__{name}"]
            for name in ("prefix", "suffix")
            if f"__{name}" in self._own
        }
        test: dict[str, Json] = {"vars": self._vars, "assert": list(self._asserts.values())}
        if "__description" in self._own:
            test["description"] = self._own["__description"].strip()
        if "__threshold" in self._own:
            test["threshold"] = self._own["__threshold"].strip()
        test |= {
            name: value
            for name, value in (("metadata", self._metadata), ("options", options))
            if value
        }
        found = node_of(test, self._place)
        assert isinstance(found, MapNode)  # noqa: S101 - made of a mapping
        return found


def _many(cell: str) -> list[Json]:
    return [part.strip().replace("\\,", ",") for part in _COMMA.split(cell) if part.strip()]
