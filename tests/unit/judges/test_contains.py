"""`contains`: texts hold, lists have (issue step 1, item 4)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.judges.builders import answer, reason, said


@pytest.mark.parametrize(
    ("value", "output", "said_"),
    [
        ("https://", "see https://x.example", 1.0),
        ("https://", "see http://x.example", 0.0),
        ("a", "", 0.0),
        (0, "0 errors", 1.0),  # B26: 0 is a value
        (0, "none", 0.0),
        (0, 0, 1.0),  # B26
        (0, False, 0.0),  # B26: the text of false holds no 0
        ("false", False, 1.0),
        (1.5, "1.5 m", 1.0),
        (0, [0, 1], 1.0),
        (0, [False, ""], 0.0),
        (0, ["0"], 0.0),
        ("a", ["ab"], 0.0),  # a member, not a part of one
        ("{0.__class__}", "x {0.__class__}", 1.0),  # B35
        ("a", {"a": "a"}, "not_text"),
    ],
)
def test_contains__value(value: Any, output: Any, said_: float | str) -> None:
    assert said(answer("contains", output, value=value)) == said_


@pytest.mark.parametrize(
    ("expected", "output", "said_"),
    [
        ("Paris", "It is Paris.", 1.0),
        (["Paris", "Seine"], "Paris on the Seine", 1.0),
        (["Paris", "Seine"], "Paris on the Rhine", 0.0),
        ([1, "b"], ["b", 1.0, "c"], 1.0),
        (42, "it is 42", 1.0),
        (None, "x", "no_expected"),
        ("", "x", "bad_expected"),  # an empty text is in every text
        (["a", ""], "a", "bad_expected"),
        ([], "a", "bad_expected"),
        ({"a": 1}, "a", "bad_expected"),
    ],
)
def test_contains__expected(expected: Any, output: Any, said_: float | str) -> None:
    assert said(answer("contains", output, expected)) == said_


def test_contains__normalized() -> None:
    assert said(answer("contains", "It is PARIS", "paris", normalize=["casefold"])) == 1.0
    assert said(answer("contains", ["PARIS"], "paris", normalize=["casefold"])) == 1.0
    assert said(answer("contains", "x", "...", normalize=["punctuation"])) == "bad_expected"


def test_contains__says_what_is_absent() -> None:
    assert reason(answer("contains", "Rhine", ["Seine", "Rhine"])) == 'not found: "Seine"'
