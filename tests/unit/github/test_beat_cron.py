"""When a schedule is due (P-12)."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from releasecheck.drivers.github.beat.cron import parse_cron

FRIDAY = datetime(2026, 3, 13, 12, 0, tzinfo=UTC)


def due(text: str, days: int = 7, zone: str | None = None) -> list[str]:
    cron = parse_cron(text, ZoneInfo(zone) if zone else UTC)
    until = FRIDAY.replace(day=FRIDAY.day + days)
    return [moment.strftime("%d %H:%M") for moment in cron.between(FRIDAY, until)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("17 3 * * *", ["14 03:17", "15 03:17"]),
        ("0 12 * * *", ["14 12:00", "15 12:00"]),
        ("5,50 3 * * sat", ["14 03:05", "14 03:50"]),
        ("0 3 14 * 0", ["14 03:00", "15 03:00"]),
        ("0 3 14 * *", ["14 03:00"]),
        ("0 3 * * 7", ["15 03:00"]),
        ("0 3 * MAR mon-fri", []),
        ("0 3 * 4 *", []),
        ("30 */12 * * *", ["13 12:30", "14 00:30", "14 12:30", "15 00:30"]),
        ("0 20/2 14 * *", ["14 20:00", "14 22:00"]),
        ("0 1-7/3 14 * *", ["14 01:00", "14 04:00", "14 07:00"]),
    ],
)
def test_between__is_later_than_the_start_and_not_than_the_end(
    text: str, expected: list[str]
) -> None:
    assert due(text, days=2) == expected


def test_between__counts_in_its_zone() -> None:
    assert due("30 1 * * *", days=1, zone="Asia/Tokyo") == ["13 16:30"]


@pytest.mark.parametrize(
    "text",
    ["", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "*/0 * * * *", "a * * * *",
     "5-1 * * * *", "@daily", "* * * * xyz"],
)  # fmt: skip
def test_parse_cron__refuses_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_cron(text)
