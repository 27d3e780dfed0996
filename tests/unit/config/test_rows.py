"""JSON Lines and JSON arrays with the lines of their rows (B07, B08, B11, B13, B14)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from releasecheck.config.rows import Row, read_json, read_jsonl
from tests.strategies import json_values, texts

objects = st.dictionaries(texts, json_values, max_size=4)
spaces = st.text(" \t\r\n", max_size=3)


def test_read_jsonl__blank_lines_are_skipped_and_counted() -> None:
    """B07."""
    found = read_jsonl('{"id":"c1"}\r\n\r\n   \t\n{"id":"c2"}\n\n', "f.jsonl")

    assert found.rows == [Row({"id": "c1"}, 1), Row({"id": "c2"}, 4)]
    assert not found.problems


def test_read_jsonl__every_bad_row_at_its_own_line() -> None:
    """B08: and nothing of the rows is shown."""
    found = read_jsonl(
        '{"id":"c1","input":"a"}\n\n{"id":"c2"}\n\n{"id":"c3","input":"secret" "expected":"c"}\n'
        '{"id":"c4","input":"d","expected":\'d\'}\n[1]\n',
        "f.jsonl",
    )

    assert [str(problem) for problem in found.problems] == [
        "f.jsonl:5:29: not a JSON row: Expecting ',' delimiter",
        "f.jsonl:6:35: not a JSON row: Expecting value (JSON has no single quotes)",
        "f.jsonl:7:1: expected a JSON object, found a list",
    ]
    assert [row.line for row in found.rows] == [1, 3]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("NaN", "NaN is not JSON; expected a finite number"),
        ("-Infinity", "-Infinity is not JSON; expected a finite number"),
        ("1e999", "the number 1e999 is too large; expected a finite number"),
        ("9" * 5000, "the integer 999999999999999999999999... is beyond 2^53 - 1"),
        ("9007199254740993", "the integer 9007199254740993 is beyond 2^53 - 1"),
        ("[" * 20000 + "]" * 20000, "nested deeper than 200 levels"),
        ('{"a": 1, "a": 2}', "the key 'a' is given twice in one object"),
    ],
)
@pytest.mark.parametrize("kind", ["jsonl", "json"])
def test_read_rows__what_is_no_strict_json(kind: str, value: str, message: str) -> None:
    """B13, B14: in both kinds of file, the other rows are read."""
    rows = ['{"id": "c1"}', f'{{"id": "c2", "weight": {value}}}', '{"id": "c3"}']
    if kind == "jsonl":
        found = read_jsonl("\n".join(rows), "f")
    else:
        found = read_json("[" + ",\n".join(rows) + "]", "f")

    assert [problem.line for problem in found.problems] == [2]
    assert message in found.problems[0].message
    if value != "[" * 20000 + "]" * 20000 or kind == "jsonl":
        assert [row.line for row in found.rows] == [1, 3]


def test_read_jsonl__an_array_is_named() -> None:
    found = read_jsonl('[\n  {"id": "c1"}\n]\n', "f.jsonl")

    assert [str(problem) for problem in found.problems] == [
        "f.jsonl:1: this is a JSON array; name the file .json, or write one object on each line"
    ]


def test_read_json__rows_have_the_line_they_start_in() -> None:
    found = read_json('[\n {"id": 1,\n  "x": 2},\n\n {"id": 3}, {"id": 4}\n]\n', "f.json")

    assert [(row.fields["id"], row.line) for row in found.rows] == [(1, 2), (3, 5), (4, 5)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[{"a": 1} {"b": 2}]', "f.json:1:11: expected `,` or `]` after this entry"),
        ('[{"a": 1},\n {"b" 2}]', "f.json:2:7: not JSON: Expecting ':' delimiter"),
        ('[{"a": 1}', "f.json:1:10: the array is never closed; expected `]` at the end"),
        ('[{"a": 1}]\n{', "f.json:2:1: found more after the array"),
        ('[{"a": 1},\n\n 5]', "f.json:3:2: expected a JSON object, found a number"),
        ('[{"a": 1},\n\n  {"b": "\\x"}]', "f.json:3:10: not JSON: Invalid \\escape"),
        ('{"cases": []}', "f.json:1: no cases: expected an array of objects, found an object; write "
         "the list under 'cases' as the whole file"),
        ("{}", "f.json:1: no cases: expected an array of objects, found an object; one object on each "
         "line is a .jsonl file"),
        ("\nnull", "f.json:2: no cases: expected an array of objects, found null"),
        ('{"a": 1}\n{"a": 2}', "f.json:2:1: not JSON: Extra data"),
    ],
)  # fmt: skip
def test_read_json__files_that_are_no_array_of_objects(text: str, problem: str) -> None:
    assert [str(found) for found in read_json(text, "f.json").problems] == [problem]


@given(st.lists(st.tuples(spaces, objects, spaces), min_size=1, max_size=5), spaces, spaces)
def test_read_json__reads_what_a_writer_wrote(
    rows: list[tuple[str, dict[str, object], str]], before: str, after: str
) -> None:
    text = before + "[" + ",".join(a + json.dumps(row) + b for a, row, b in rows) + "]" + after

    found = read_json(text, "f.json")

    assert not found.problems
    assert [row.fields for row in found.rows] == [row for _, row, _ in rows]


@given(st.lists(objects, min_size=1, max_size=5), st.booleans())
def test_read_jsonl__reads_what_a_writer_wrote(
    rows: list[dict[str, object]], ascii_only: bool
) -> None:
    """Also where a text holds U+2028, which other readers take for the end of a line."""
    text = "".join(json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in rows)

    found = read_jsonl(text, "f.jsonl")

    assert not found.problems
    assert [row.fields for row in found.rows] == rows
    assert [row.line for row in found.rows] == list(range(1, len(rows) + 1))


@given(st.text(max_size=60))
def test_read_rows__never_raise(text: str) -> None:
    """Any text brings rows or problems, for every line of it that is not blank."""
    for read in (read_json, read_jsonl):
        found = read(text, "f")
        assert found.rows or found.problems or not text.strip() or text.strip("[] \t\r\n") == ""
