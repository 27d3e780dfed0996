"""When to ask again, and how long to wait first (X-03, B47, B49)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST_WAIT_S: Final = 60.0
"""Our own back-off never waits longer."""
LONGEST_RETRY_AFTER_S: Final = 300.0
"""A server that asks for more is not waited for; the failure says what it asked."""

MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_DATES: Final = (
    # Sun, 06 Nov 1994 08:49:37 GMT
    re.compile(
        r"[a-z]{3}, (?P<day>\d{2}) (?P<month>[a-z]{3}) (?P<year>\d{4}) (?P<time>\d\d:\d\d:\d\d) gmt"
    ),
    # Sunday, 06-Nov-94 08:49:37 GMT
    re.compile(
        r"[a-z]{6,9}, (?P<day>\d{2})-(?P<month>[a-z]{3})-(?P<year>\d{2}) (?P<time>\d\d:\d\d:\d\d) gmt"
    ),
    # Sun Nov  6 08:49:37 1994
    re.compile(
        r"[a-z]{3} (?P<month>[a-z]{3}) (?P<day>[ \d]\d) (?P<time>\d\d:\d\d:\d\d) (?P<year>\d{4})"
    ),
)


def parse_http_date(text: str, now: datetime) -> datetime | None:
    """A date in any of the three forms of RFC 9110 section 5.6.7; None when it is none of them."""
    text = text.strip().lower()
    match = next((found for form in _DATES if (found := form.fullmatch(text))), None)
    if match is None or match["month"] not in MONTHS:
        return None
    year = int(match["year"])
    if len(match["year"]) == 2:
        # The RFC: a year that seems more than 50 years ahead is the latest one with these digits.
        year += (now.year + 50) // 100 * 100
        if year > now.year + 50:
            year -= 100
    hour, minute, second = (int(part) for part in match["time"].split(":"))
    try:
        return datetime(
            year,
            MONTHS.index(match["month"]) + 1,
            int(match["day"]),
            hour,
            minute,
            min(second, 59),  # a leap second has no place in datetime
            tzinfo=UTC,
        )
    except ValueError:
        return None


def parse_retry_after(text: str | None, *, now: str, date: str | None = None) -> float | None:
    """Seconds that a `Retry-After` asks for; None when there is none that the RFC allows.

    Args:
        text: The header's value: digits, or a date.
        now: Our own time, RFC 3339.
        date: The answer's `Date`; a date is measured from it, so that clocks need not agree.
    """
    if text is None:
        return None
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:12])
    ours = datetime.fromisoformat(now)
    until = parse_http_date(text, ours)
    if until is None:
        return None
    theirs = parse_http_date(date, ours) if date else None
    return max(0.0, (until - (theirs or ours)).total_seconds())


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before another attempt."""

    jitter: Callable[[], float]
    """A seeded source of numbers in [0, 1)."""
    base_s: float = 1.0

    def wait_s(self, failed: int, asked_s: float | None) -> float:
        """Seconds to wait after `failed` attempts.

        Full jitter: callers that failed together must not come back together. A server's own wish
        is a floor, and the jitter comes on top.
        """
        if asked_s is not None:
            return asked_s + self.jitter() * min(self.base_s, asked_s)
        ceiling = self.base_s * failed * 2.0 ** (failed - 1)
        return self.jitter() * min(ceiling, LONGEST_WAIT_S)
