"""`similarity`: a ratio in [0, 1] (issue step 1, item 4)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.judges.builders import answer, reason, said


@pytest.mark.parametrize(
    ("output", "expected", "said_"),
    [
        ("", "", 1.0),
        ("", "a", 0.0),
        ("abc", "abc", 1.0),
        ("abc", "xyz", 0.0),
        ("lewenstein", "levenshtein", 18 / 21),
        (0, "0", 1.0),  # B26
        ("x", None, "no_expected"),
        ("x", ["x"], "bad_expected"),
        (["x"], "x", "not_text"),
    ],
)
def test_similarity__ratio(output: Any, expected: Any, said_: float | str) -> None:
    found = said(answer("similarity", output, expected))
    assert found == (pytest.approx(said_, abs=1e-12) if isinstance(said_, float) else said_)


def test_similarity__normalized() -> None:
    assert said(answer("similarity", " ABC", "abc", normalize=["strip", "casefold"])) == 1.0


def test_similarity__too_long__fails() -> None:
    found = answer("similarity", "a" * 100_001, "a" * 100_000)
    assert said(found) == "too_large"
    assert "100001 and 100000" in reason(found)


@given(st.text("abc", max_size=12), st.text("abc", max_size=12))
def test_similarity__is_the_common_subsequence(left: str, right: str) -> None:
    """Against the definition, computed by the textbook table."""
    row = [0] * (len(right) + 1)
    for a in left:
        diagonal = 0
        for index, b in enumerate(right, start=1):
            above = row[index]
            row[index] = diagonal + 1 if a == b else max(above, row[index - 1])
            diagonal = above
    both = len(left) + len(right)
    ratio = 2 * row[-1] / both if both else 1.0
    assert said(answer("similarity", left, right)) == pytest.approx(ratio, abs=1e-12)
