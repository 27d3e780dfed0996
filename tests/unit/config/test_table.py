"""CSV, strictly (B01, B04, B05)."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from releasecheck.config.rows import Row
from releasecheck.config.table import MAX_CELL, read_csv


def test_read_csv__quotes_line_breaks_and_lines() -> None:
    found = read_csv(
        'id,input,note\r\nc1,"two\r\nlines, ""quoted""",\r\n\r\nc2,5\' 10",""\r\n', "f.csv"
    )

    assert found.columns == ("id", "input", "note")
    assert found.rows == [
        Row({"id": "c1", "input": 'two\r\nlines, "quoted"'}, 2),
        Row({"id": "c2", "input": "5' 10\"", "note": ""}, 5),
    ]
    assert not found.problems


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        # B04
        ('id,input\nc1,"what,hello\nc2,second\nc3,third\n',
         "f.csv:2:4: the quote that opens here is never closed"),
        ('id,input\nc1,"what,hello\nc2,second\nc3,"third"\n',
         "f.csv:2:4: the quote that opens here ends in line 4 before 't', where only a comma or the end "
         "of the line can follow; a quote inside of a cell is written twice"),
        ('id,input\nc1,ok\nc2,"a"b\n', "f.csv:3:4: the quote that opens here ends in line 3 before 'b', "
         "where only a comma or the end of the line can follow; a quote inside of a cell is written twice"),
        # headers
        ("id;input\nc1;x\n", "f.csv:1:1: expected commas between the columns, found semicolons: 'id;input'"),
        ("id\tinput\nc1\tx\n", "f.csv:1:1: expected commas between the columns, found tabs: 'id\\tinput'"),
        ("id,input,id\nc1,x,c1\n", "f.csv:1:1: the header names 'id' twice"),
        ("id,,input\nc1,,x\n", "f.csv:1:1: column 2 of the header has no name"),
        # rows
        ("id,input\nc1\n", "f.csv:2: expected 2 cells as in the header, found 1; a cell with a comma "
         "needs quotes"),
        ("id,input\nc1,a,b\n", "f.csv:2: expected 2 cells as in the header, found 3; a cell with a comma "
         "needs quotes"),
    ],
)  # fmt: skip
def test_read_csv__what_is_no_table(text: str, problem: str) -> None:
    assert [str(found) for found in read_csv(text, "f.csv").problems] == [problem]


def test_read_csv__long_cells_and_the_limit_of_pythons_reader() -> None:
    """B05: up to our own limit, and the limit of the process is untouched."""
    before = csv.field_size_limit()

    found = read_csv('id,input\nc1,"' + "lorem " * 30_000 + '"\n', "f.csv")

    assert len(found.rows[0].fields["input"]) == 180_000
    assert csv.field_size_limit() == before


@pytest.mark.parametrize("quote", ["", '"'])
def test_read_csv__cells_beyond_our_limit(quote: str) -> None:
    text = f"id,input\nc1,x\nc2,{quote}{'x' * (MAX_CELL + 1)}{quote}\n"

    (problem,) = read_csv(text, "f.csv").problems

    assert str(problem) == "f.csv:3:4: a cell has 10000001 characters; the limit is 10000000"


def test_read_csv__old_line_ends() -> None:
    assert [row.line for row in read_csv("id,input\rc1,a\rc2,b\r", "f.csv").rows] == [2, 3]


# Python 3.11 writes a lone carriage return without quotes, where it is the end of a line.
cells = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=8
).filter(lambda text: text.strip())


@given(
    st.lists(st.lists(cells, min_size=3, max_size=3), max_size=5),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_read_csv__reads_what_pythons_writer_writes(
    rows: list[list[str]], end: str, quoting: int
) -> None:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator=end, quoting=quoting)  # type: ignore[arg-type]
    writer.writerows([["a", "b", "c"], *rows])

    found = read_csv(file.getvalue(), "f.csv")

    assert not found.problems
    assert [list(row.fields.values()) for row in found.rows] == rows


@given(st.text('ab,"\r\n ', max_size=40))
def test_read_csv__never_loses_a_line_silently(text: str) -> None:
    """Every line that is not blank is in the header, in a row, or in a problem."""
    found = read_csv(text, "f.csv")

    assert found.columns or found.problems or not text.strip()
