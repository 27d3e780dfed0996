"""`numeric`: one fixed grammar, exact arithmetic (issue step 1, item 4; B26, B61, B68)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from releasecheck.judges.numbers import LONGEST_NUMBER, Unread, find_number, read_number
from tests.strategies import floats, texts
from tests.unit.judges.builders import answer, reason, said


@pytest.mark.parametrize(
    ("output", "expected", "settings", "said_"),
    [
        # The rows of B68, in its order.
        ("The total is 72 clips, altogether.", 72, {"extract": True}, 1.0),
        ("$9,500", 9500, {"extract": True}, 1.0),
        ("\\boxed{8{,}000}", 8000, {"extract": True}, 1.0),
        ("29.00", 29, {}, 1.0),
        ("1.234,56", 1234.56, {}, "ambiguous_number"),
        ("\uff11\uff12", 12, {}, 1.0),  # decided: full-width forms are read as ASCII
        ("between 3 and 5", 5, {"extract": True}, "several_numbers"),
        ("NaN", 1, {}, 0.0),
        ("1e999", 1, {}, 0.0),
        ("true", 1, {}, 0.0),
        ("\u22125", -5, {}, 1.0),  # decided: U+2212 is a minus
        ("0.30000000000000004", 0.3, {"tolerance": 1e-9}, 1.0),
        ("100.1", 100, {"tolerance": "0.1%"}, 1.0),  # the edge passes
        # JSON numbers.
        (29.0, 29, {}, 1.0),
        (True, 1, {}, 0.0),
        (False, 0, {}, 0.0),
        (0, 0, {}, 1.0),  # B26
        (0, False, {}, "bad_expected"),  # B26
        ("", "", {}, "bad_expected"),  # B26
        ("", 0, {}, 0.0),
        ([5], 5, {}, "not_text"),
        ({"answer": 5}, 5, {}, "not_text"),
        (5, None, {}, "no_expected"),
        # The edge, exactly: floats would put 0.1 + 0.2 on either side of 0.3.
        (0.3, 0.1, {"tolerance": 0.2}, 1.0),
        (0.4, 0.1, {"tolerance": 0.3}, 1.0),  # as a double, 0.3 is a little less
        (0.30000000000000004, 0.1, {"tolerance": 0.2}, 0.0),
        (0.7999999999999999, 1, {"tolerance": "20%"}, 0.0),
        (-110, -100, {"tolerance": "10%"}, 1.0),
        (0.001, 0, {"tolerance": "10%"}, 0.0),  # a part of zero is zero
        ("9007199254740993", 9007199254740992, {}, 0.0),  # two numbers that are one double
        # CSV has texts only.
        (72, "72.0", {}, 1.0),
        (72, "1,072", {}, "bad_expected"),
    ],
)
def test_numeric__table(
    output: Any, expected: Any, settings: dict[str, Any], said_: float | str
) -> None:
    assert said(answer("numeric", output, expected, **settings)) == said_


@pytest.mark.parametrize("output", ["NaN", "nan", "Infinity", "-inf", "1e999", "-1e999"])
@pytest.mark.parametrize("tolerance", [0.1, "100%", 1e308])
def test_numeric__not_finite__never_passes(output: str, tolerance: float | str) -> None:
    """B61: `not (abs(nan - 1) > 0.1)` is true in floating point."""
    assert said(answer("numeric", output, 1, tolerance=tolerance)) == 0.0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        (" 5\n", 5),
        ("+.5", Fraction(1, 2)),
        ("5.", 5),
        ("-0", 0),
        ("2.5e-3", Fraction(1, 400)),
        ("1e000000000000005", 100_000),
        ("\uff0b\uff11\uff0e\uff15\uff45\uff13", 1500),
        ("-007", -7),
    ],
)
def test_read_number__value(text: str, value: Fraction | int) -> None:
    assert read_number(text) == value


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "not_a_number"),
        ("five", "not_a_number"),
        ("72 clips", "not_a_number"),
        ("8.4%", "not_a_number"),
        ("$5", "not_a_number"),
        ("0x10", "not_a_number"),
        ("1e", "not_a_number"),
        ("9" * (LONGEST_NUMBER + 1), "not_a_number"),
        ("1e309", "beyond_range"),
        ("1e" + "9" * 300, "beyond_range"),
        ("9" * 310, "beyond_range"),
        ("1,234", "ambiguous_number"),
        ("1.234.567", "ambiguous_number"),
        ("1 234", "ambiguous_number"),
        ("1\u202f234,5", "ambiguous_number"),
        ("1_000", "ambiguous_number"),
        ("\u20135", "ambiguous_number"),  # an en dash that may be meant as a minus
        ("\u0663", "ambiguous_number"),  # Arabic-Indic three: other digits are refused by name
    ],
)
def test_read_number__unread(text: str, code: str) -> None:
    found = read_number(text)
    assert isinstance(found, Unread)
    assert found.code == code


def test_read_number__tiny_is_not_zero() -> None:
    found = read_number("-1e-" + "9" * 300)
    assert isinstance(found, Fraction)
    assert -Fraction(1, 10**399) < found < 0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("72, and that is all", 72),
        ("It is **72**.", 72),
        ("-$9,500.50", Fraction(-19001, 2)),
        ("$-5", -5),
        ("USD 1,234,567", 1_234_567),
        ("- 5 apples", 5),
        ("(-5)", -5),
        ("temperature=-5°C", -5),
        ("\u22125 degrees", -5),
        ("8.4%", Fraction(42, 5)),
        ("72kg", 72),
        ("B12 is 7", 7),
        ("共72个。", 72),
        ("答案是-5", -5),
        ("5 and again 5.0", 5),
        ("about 1.5e3 m", 1500),
        ("total\u201472", 72),
    ],
)
def test_find_number__value(text: str, value: Fraction | int) -> None:
    assert find_number(text) == value


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("I do not know", "no_number"),
        ("NaN", "no_number"),
        ("B12", "no_number"),
        ("3-5", "several_numbers"),
        ("10:30", "several_numbers"),
        ("1/2", "several_numbers"),
        ("10^6", "several_numbers"),
        ("1. The answer is 5", "several_numbers"),
        ("9 500", "several_numbers"),
        ("5 " * 2000, "several_numbers"),
        ("1.234,56", "ambiguous_number"),
        ("3,4", "ambiguous_number"),
        ("0,500", "ambiguous_number"),
        ("1,2345", "ambiguous_number"),
        ("9'500", "ambiguous_number"),
        ("192.168.0.1", "ambiguous_number"),
        ("10²", "ambiguous_number"),
        ("3½", "ambiguous_number"),
        ("1万", "ambiguous_number"),
        ("\u06635", "ambiguous_number"),
        ("0x1F", "ambiguous_number"),
        ("5.e3", "ambiguous_number"),
        ("it is \u20135", "ambiguous_number"),
        ("9_500", "ambiguous_number"),
        ("1e999", "beyond_range"),
    ],
)
def test_find_number__unread(text: str, code: str) -> None:
    found = find_number(text)
    assert isinstance(found, Unread), found
    assert found.code == code


def test_numeric__unread__is_said() -> None:
    """B68: reported with what was found, not scored as a mismatch."""
    found = answer("numeric", "1.234,56 or so", 5, extract=True)
    assert said(found) == "ambiguous_number"
    assert "'1.234,56'" in reason(found)
    assert reason(answer("numeric", "4.5", 5)) == "expected 5, found 4.5"
    assert said(answer("numeric", "5" * 200_000, 5)) == "too_large"


@given(floats)
def test_read_number__reads_what_python_writes(value: float) -> None:
    assert read_number(repr(value)) == Fraction(repr(value))


@given(texts)
def test_find_number__any_text__gives_an_answer(text: str) -> None:
    assert isinstance(find_number(text), Fraction | Unread)
    assert isinstance(read_number(text), Fraction | Unread)


@given(st.integers(-(10**12), 10**12), st.integers(0, 99))
def test_find_number__reads_grouped_numbers_in_prose(whole: int, cents: int) -> None:
    found = find_number(f"The bill came to ${whole:,}.{cents:02}, they said.")
    assert found == Fraction(f"{whole}.{cents:02}")
