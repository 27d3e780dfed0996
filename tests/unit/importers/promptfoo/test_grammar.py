"""The short form of assertions in CSV cells (users-want, promptfoo tests)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from releasecheck.importers.promptfoo.grammar import Misspelt, read_cell
from releasecheck.importers.promptfoo.kinds import KNOWN


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ("Paris", {"type": "equals", "value": "Paris"}),
        ("equals: 4", {"type": "equals", "value": "4"}),
        ("contains:Paris", {"type": "contains", "value": "Paris"}),
        ("not-contains: Rome", {"type": "not-contains", "value": "Rome"}),
        ("similar(0.8):Hello there", {"type": "similar", "value": "Hello there", "threshold": 0.8}),
        ("levenshtein(5): abc", {"type": "levenshtein", "value": "abc", "threshold": 5.0}),
        ("contains-any: <b>,</span>", {"type": "contains-any", "value": ["<b>", "</span>"]}),
        (
            'contains-all: "1,000", in stock',
            {"type": "contains-all", "value": ["1,000", "in stock"]},
        ),
        ("fn: output.length > 3", {"type": "javascript", "value": "output.length > 3"}),
        ("grade: is polite", {"type": "llm-rubric", "value": "is polite"}),
        ("python: len(output) > 3", {"type": "python", "value": "len(output) > 3"}),
        ("file://check.py:fn", {"type": "python", "value": "file://check.py:fn"}),
        ("file://check.js", {"type": "javascript", "value": "file://check.js"}),
        ("is-json", {"type": "is-json"}),
        ("regex: ^a:b$", {"type": "regex", "value": "^a:b$"}),
        ("https://example.org", {"type": "equals", "value": "https://example.org"}),
        ("Note: see below", {"type": "equals", "value": "Note: see below"}),
        ("contains:two\nlines", {"type": "contains", "value": "two\nlines"}),
    ],
)
def test_read_cell__is_the_assertion_it_stands_for(cell: str, found: dict[str, Any]) -> None:
    assert read_cell(cell) == found


@pytest.mark.parametrize(
    "cell", ["contians: x", "icontain:x", "not-contain: x", "levenstein(3): x"]
)
def test_read_cell__refuses_what_is_nearly_an_assertion(cell: str) -> None:
    # Taken for a text to equal, it would be another check than was meant.
    with pytest.raises(Misspelt, match="did you mean"):
        read_cell(cell)


@given(st.sampled_from(["contains", "icontains", "equals", "regex"]), st.text(min_size=1))
def test_read_cell__keeps_every_value(kind: str, value: str) -> None:
    found = read_cell(f"{kind}:{value}")
    assert found == {"type": kind, "value": value.strip()} or not value.strip()


@given(st.text().filter(lambda text: ":" not in text and text.lower() not in KNOWN))
def test_read_cell__takes_any_other_text_as_it_is(cell: str) -> None:
    if read_cell(cell)["type"] == "equals":
        assert read_cell(cell)["value"] == cell
