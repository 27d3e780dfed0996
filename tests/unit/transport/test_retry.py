"""Waiting before another attempt: Retry-After in every legal form, full jitter (B46, B47, X-03)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from releasecheck.transport.retry import LONGEST_WAIT_S, Backoff, parse_retry_after

NOW = "1994-11-06T08:49:30.000Z"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2", 2.0),
        (" 120 ", 120.0),
        ("0", 0.0),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 7.0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 7.0),
        ("Sun Nov  6 08:49:37 1994", 7.0),
        ("sun, 06 nov 1994 08:49:37 gmt", 7.0),
        ("Sun, 06 Nov 1994 08:49:00 GMT", 0.0),  # in the past: now
        ("Saturday, 31-Dec-44 23:59:60 GMT", 1_582_729_829.0),  # 50 years ahead is not past
        (None, None),
        ("", None),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("١٢", None),  # digits, but not ASCII
        ("Sun, 06 Foo 1994 08:49:37 GMT", None),
        ("Sun, 31 Feb 1994 08:49:37 GMT", None),
        ("Sun, 06 Nov 1994 08:49:37 CET", None),
        ("Sun, 06 Nov 1994 25:49:37 GMT", None),
    ],
)
def test_parse_retry_after__every_legal_form_and_nothing_else(
    text: str | None, seconds: float | None
) -> None:
    assert parse_retry_after(text, now=NOW) == seconds


def test_parse_retry_after__two_digit_year_is_never_51_years_ahead() -> None:
    found = parse_retry_after("Sunday, 06-Nov-45 08:49:37 GMT", now="1994-01-01T00:00:00.000Z")
    assert found == 0.0  # 1945


def test_parse_retry_after__a_date_is_measured_from_the_servers_own_clock() -> None:
    found = parse_retry_after(
        "Sun, 06 Nov 1994 08:49:37 GMT",
        now="2026-01-05T09:00:00.000Z",
        date="Sun, 06 Nov 1994 08:49:27 GMT",
    )
    assert found == 10.0


def test_parse_retry_after__a_number_beyond_all_measure_is_still_a_number() -> None:
    assert parse_retry_after("9" * 400, now=NOW) == 999_999_999_999.0


@given(st.integers(1, 60), st.floats(0, 1, exclude_max=True))
def test_backoff__full_jitter_below_a_growing_ceiling(failed: int, chance: float) -> None:
    wait = Backoff(lambda: chance).wait_s(failed, None)
    assert 0 <= wait <= min(failed * 2.0 ** (failed - 1), LONGEST_WAIT_S)


def test_backoff__the_ceiling_grows() -> None:
    backoff = Backoff(lambda: 0.5)
    assert [backoff.wait_s(failed, None) for failed in (1, 2, 3, 9)] == [0.5, 2.0, 6.0, 30.0]


@given(st.floats(0, 300), st.floats(0, 1, exclude_max=True))
def test_backoff__what_the_server_asked_is_a_floor(asked: float, chance: float) -> None:
    wait = Backoff(lambda: chance).wait_s(3, asked)
    assert asked <= wait <= asked + 1


def test_backoff__zero_means_now() -> None:
    assert Backoff(lambda: 0.9).wait_s(1, 0.0) == 0.0
