"""`exact`: equality by JSON value, texts after normalization (issue step 1, item 4)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from releasecheck.judges.exact import same
from tests.strategies import json_values
from tests.unit.judges.builders import answer, reason, said


@pytest.mark.parametrize(
    ("output", "expected", "value"),
    [
        ("Paris", "Paris", 1.0),
        ("Paris ", "Paris", 0.0),
        ("", "", 1.0),  # B26: an empty text is a value
        ("   ", "", 0.0),
        (0, 0, 1.0),  # B26
        (False, False, 1.0),  # B26
        (1, 1.0, 1.0),
        (True, 1, 0.0),
        (1, True, 0.0),
        (False, 0, 0.0),
        (False, "", 0.0),
        ("1", 1, 0.0),
        ("null", False, 0.0),
        ({"a": 1, "b": [True]}, {"b": [True], "a": 1.0}, 1.0),
        ({"a": 1}, {"a": 1, "b": None}, 0.0),
        ([1, 2], [2, 1], 0.0),
        ([1, 2], [1, 2, 3], 0.0),
        ([], {}, 0.0),
        ([True], [1], 0.0),
        ("{0.__class__}", "{0.__class__}", 1.0),  # B35
        ("C:\\new\\1 and \\g<0>", "C:\\new\\1 and \\g<0>", 1.0),  # B35
        ("{{ 7*7 }}", "49", 0.0),  # B34: never rendered
    ],
)
def test_exact__by_value(output: Any, expected: Any, value: float) -> None:
    assert said(answer("exact", output, expected)) == value


@pytest.mark.parametrize(
    ("steps", "output", "expected", "value"),
    [
        (["strip"], " Paris\n", "Paris", 1.0),
        (["casefold"], "STRASSE", "straße", 1.0),
        (["spaces"], "a  b\n c", "a b c", 1.0),
        (["spaces"], " a", "a", 0.0),
        (["nfc"], "e\u0301", "\u00e9", 1.0),
        (["punctuation"], "Well, yes!", "Well yes", 1.0),
        (["punctuation"], "3 + 4", "3  4", 0.0),  # a plus is a symbol, no punctuation
        (["punctuation", "strip"], " a .", "a", 1.0),
        (["strip", "punctuation"], " a .", "a", 0.0),  # in the order in which they are written
        (["casefold"], {"Answer": ["PARIS"]}, {"Answer": ["paris"]}, 1.0),
        (["casefold"], {"Answer": "PARIS"}, {"answer": "paris"}, 0.0),
    ],
)
def test_exact__normalized(steps: list[str], output: Any, expected: Any, value: float) -> None:
    assert said(answer("exact", output, expected, normalize=steps)) == value


def test_exact__says_what_differs() -> None:
    assert reason(answer("exact", "Lyon", "Paris")) == 'expected "Paris", found "Lyon"'
    assert reason(answer("exact", "4", 4)) == 'expected a number, 4, found a text, "4"'
    assert len(reason(answer("exact", "x" * 10**6, ["y"] * 10**6))) < 250


def test_exact__without_expected__fails() -> None:
    """B65: nothing to compare with is neither a pass nor a 0."""
    found = answer("exact", "hi")
    assert said(found) == "no_expected"
    assert "when: {has: expected}" in reason(found)


@given(json_values)
def test_same__every_value_is_itself(value: Any) -> None:
    assert same(value, value, str)


@given(json_values, json_values)
def test_same__is_symmetric(left: Any, right: Any) -> None:
    assert same(left, right, str.casefold) == same(right, left, str.casefold)
