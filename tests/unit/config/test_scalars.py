"""Unquoted words of YAML (B17, B19)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from releasecheck.config.scalars import Unclear, read_plain


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("-3", -3), ("+5", 5), ("0", 0), ("1.5", 1.5), (".5", 0.5), ("5.", 5.0),
        ("1e-3", 0.001), ("9e-1", 0.9), ("1E5", 1e5), ("-1.5e+2", -150.0),
        ("true", True), ("False", False), ("null", None), ("~", None), ("", None),
        ("y", "y"), ("n", "n"), ("yes please", "yes please"), ("1.2.3", "1.2.3"), ("v1", "v1"),
        ("127.0.0.1:8080", "127.0.0.1:8080"), ("600/min", "600/min"), ("1h30m", "1h30m"),
        ("2024-01", "2024-01"), ("-", "-"), ("a: b"[:1], "a"), ("..", ".."), ("+", "+"), ("1e", "1e"),
    ],
)  # fmt: skip
def test_read_plain__what_all_readers_agree_on(text: str, value: object) -> None:
    found = read_plain(text)

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("no", "boolean"), ("Yes", "boolean"), ("ON", "boolean"), ("off", "boolean"),
        ("1:30", "base-60 number"), ("12:30:45", "base-60 number"), ("2024-01-01", "date"),
        ("2024-01-01 10:00:00", "date"), ("010", "octal number"), ("0o17", "octal number"),
        ("08", "octal number"), ("0x1F", "number"), ("0b11", "number"), ("1_000", "number"),
    ],
)  # fmt: skip
def test_read_plain__what_they_disagree_on(text: str, kind: str) -> None:
    with pytest.raises(Unclear, match=f"expected text, found the YAML 1.1 {kind} `.+`; quote it"):
        read_plain(text)


@pytest.mark.parametrize("text", [".nan", ".NaN", ".inf", "-.INF", "1e999", "9" * 400])
def test_read_plain__numbers_that_json_cannot_hold(text: str) -> None:
    """B28: NaN and infinity never become a threshold."""
    with pytest.raises(Unclear, match=r"finite number|beyond 2\^53"):
        read_plain(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_read_plain__every_float_that_python_writes_is_a_number(number: float) -> None:
    assert read_plain(repr(number)) == number


@given(st.integers(-(2**53) + 1, 2**53 - 1))
def test_read_plain__every_integer_is_itself(number: int) -> None:
    assert read_plain(str(number)) == number
