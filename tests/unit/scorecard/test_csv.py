"""`results.csv`: every value reads back, absence is no number, and no text is a formula."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from releasecheck.model.failure import Failure
from releasecheck.model.record import Usage
from releasecheck.model.results import RowScore
from releasecheck.scorecard.csv_file import Cell, defused, plain, read_csv, render_csv
from releasecheck.scorecard.results_csv import COLUMNS, LONGEST_TEXT, render_results_csv
from tests.unit.scorecard import samples

DANGEROUS = (
    "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "'=1", "''=1", "=cmd|' /C calc'!A0",
    "\uff1d1+1", "\uff0b1", "- item", "\t", "' @x",
)  # fmt: skip
HARMLESS = ("", "'", "it's", "a=b", "1-1", "'quoted'", "  text", "mail@example.com", '"=1"')


def rows_of(sample: samples.Sample) -> list[dict[str, str]]:
    """The file as Python's own reader gives it."""
    data = b"".join(render_results_csv(sample.report)).decode("utf-8")
    return list(csv.DictReader(io.StringIO(data, newline=""), strict=True))


def test_render__one_row_for_each_case_trial_and_judge() -> None:
    lost = Failure("target", "target", "timeout", True, "no answer within 30 s")
    views = [
        samples.row(
            samples.case(0),
            scores={"exact": samples.scored(1.0), "top5": samples.scored(0.1 + 0.2, "near")},
            usage=Usage(7, 1e-7), latency_ms=0.1,
        ),
        samples.row(
            samples.case(1), None,
            scores={"exact": RowScore("failed", None, "target_failed"), "top5": RowScore("missing", None, None)},
            failure=lost, usage=Usage(), latency_ms=None,
        ),
    ]  # fmt: skip
    found = rows_of(samples.sample(views))
    assert tuple(found[0]) == COLUMNS
    assert [(row["case"], row["judge"], row["state"]) for row in found] == [
        ("q001", "exact", "scored"), ("q001", "top5", "scored"),
        ("q002", "exact", "failed"), ("q002", "top5", "missing"),
    ]  # fmt: skip
    near = found[1]
    assert (float(near["value"]), float(near["cost_usd"])) == (0.1 + 0.2, 1e-7)
    assert (near["passed"], near["reason"], near["tokens"]) == ("", "near", "7")
    assert found[0]["passed"] == "true"
    assert json.loads(near["tags"]) == ["smoke"]
    assert (near["source"], near["line"], near["latency_ms"]) == ("cases/main.jsonl", "1", "0.1")
    assert near["case_digest"] == views[0].case.digest
    # Absence beside the state that says why, never 0.
    gone = ("value", "passed", "latency_ms", "tokens", "cost_usd", "tags")
    assert {found[2][name] for name in gone} == {""}
    assert (found[2]["failure"], found[2]["message"]) == ("timeout", "no answer within 30 s")


def test_render__is_rfc_4180() -> None:
    rows: list[tuple[Cell, ...]] = [
        ("a,b", 'say "x"', "two\r\nlines", None),
        (-0.5, 10, True, "\u00fc"),
    ]
    data = b"".join(render_csv(("one", "two", "three", "four"), rows))
    assert data == (
        b'one,two,three,four\r\n"a,b","say ""x""","two\r\nlines",\r\n'
        b"-0.5,10,true,\xc3\xbc\r\n"
    )  # fmt: skip


@pytest.mark.parametrize("text", DANGEROUS)
def test_defused__a_formula_is_none(text: str) -> None:
    assert defused(text) == f"'{text}"
    assert plain(defused(text)) == text


@pytest.mark.parametrize("text", HARMLESS)
def test_defused__other_text_is_as_it_was(text: str) -> None:
    assert defused(text) == plain(text) == text


Cells = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text())


@given(rows=st.lists(st.tuples(Cells, Cells), max_size=8))
@example(rows=[(text, text) for text in DANGEROUS])
@example(rows=[("\x00", "'\x00"), ("\ud800", "\ud83d=")])
def test_render__reads_back_to_the_same_values(rows: list[tuple[Any, Any]]) -> None:
    """Whatever the texts; only half a character cannot be written."""
    data = b"".join(render_csv(("one", "two"), rows)).decode("utf-8")
    header, *found = read_csv([data])
    assert header == ["one", "two"]
    for fields, row in zip(found, rows, strict=True):
        for field, value in zip(fields, row, strict=True):
            match value:
                case None:
                    assert field == ""
                case bool():
                    assert field == str(value).lower()
                case str():
                    clean = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
                    assert plain(field) == clean
                    assert not field.startswith(tuple("=+-@\t\r\n"))
                case _:
                    assert type(value)(field) == value


def test_render__what_is_too_long_for_a_cell_is_counted() -> None:
    reason = "x" * (LONGEST_TEXT + 5)
    of = samples.row(samples.case(0), scores={"exact": samples.scored(0.0, reason)})
    (row,) = rows_of(samples.sample([of]))
    assert row["reason"].startswith("x" * LONGEST_TEXT + " [5 more characters, sha256:")


def test_render__every_kind_of_run_reads_back() -> None:
    """B107: with Python's own limit on a field, and nothing in it that has no glyph."""
    for name in samples.NAMES:
        sample = samples.named(name)
        found = rows_of(sample)
        assert len(found) == sample.report.scorecard.counts.pairs
        expected = [(view.row.case, judge) for view in sample.views for judge in view.row.scores]
        if name != "strange":
            assert [(plain(row["case"]), row["judge"]) for row in found] == expected
        assert not any("\x1b" in row["reason"] or "\x00" in row["reason"] for row in found)
