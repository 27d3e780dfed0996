"""Numbers are never rounded onto something they are not: B88, contract section 6 ("Shown numbers")."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from releasecheck.scorecard.numbers import NOTHING, change, share, shown
from releasecheck.stats import count


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [
        (2499, 2500, "99.96 %"), (24999, 25000, "99.996 %"), (1, 2500, "0.04 %"), (0, 2500, "0 %"),
        (2500, 2500, "100 %"), (1, 3, "33.33 %"), (2, 3, "66.67 %"), (0, 0, NOTHING),
    ],
)  # fmt: skip
def test_share__catalogue(part: int, whole: int, expected: str) -> None:
    assert share(part, whole) == expected


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_share__hundred_only_when_all_and_zero_only_when_none(part: int, whole: int) -> None:
    part = min(part, whole)
    text = share(part, whole)
    assert (text == "100 %") == (part == whole)
    assert (text == "0 %") == (part == 0)


@given(st.floats(0, 2), st.floats(0, 2))
def test_shown__stays_on_its_side_of_a_threshold(value: float, threshold: float) -> None:
    text = shown("exact", value, [threshold])
    if text.startswith("just"):
        return  # said in words
    left, right = Fraction(text), Fraction(repr(threshold))
    exact = Fraction(repr(value))
    assert (left > right, left < right) == (exact > right, exact < right)


@pytest.mark.parametrize(
    ("metric", "value", "expected"),
    [
        ("exact", None, NOTHING), ("latency_ms", 1999.96, "1999.96 ms"), ("cost_usd", 0.0004, "$0.0004"),
        ("cost_usd", -1.5, "-$1.5"), ("tokens", 120.0, "120"),
    ],
)  # fmt: skip
def test_shown__units(metric: str, value: float | None, expected: str) -> None:
    assert shown(metric, value, [2000.0]) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.02, "+0.02"), (-0.0200001, "\N{MINUS SIGN}0.0200001"), (0.0, "±0"), (None, NOTHING)],
)
def test_change__is_signed_and_never_rounded_onto_the_limit(
    value: float | None, expected: str
) -> None:
    assert change("exact", value, [0.02]) == expected


def test_count() -> None:
    assert (count(1, "case"), count(2500, "case"), count(2, "try", "tries")) == (
        "1 case",
        "2,500 cases",
        "2 tries",
    )
