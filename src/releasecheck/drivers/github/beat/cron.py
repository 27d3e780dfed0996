"""When a schedule of five fields is due, as GitHub reads them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Final

from releasecheck.transport.retry import MONTHS

if TYPE_CHECKING:
    from collections.abc import Iterator

_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_PART: Final = re.compile(r"(\*|[0-9a-z]{1,3}(?:-[0-9a-z]{1,3})?)(?:/([0-9]{1,2}))?")


@dataclass(frozen=True, slots=True)
class Cron:
    """A schedule."""

    text: str
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """0 is Sunday."""
    either_day: bool
    """Both kinds of days are limited, so that one of them is enough."""
    zone: tzinfo = UTC

    def between(self, after: datetime, until: datetime) -> Iterator[datetime]:
        """Every moment it is due, later than `after` and not later than `until`; UTC, in order."""
        day = after.astimezone(self.zone).date()
        last = until.astimezone(self.zone).date()
        while day <= last:
            if self._on(day.month, day.day, (day.weekday() + 1) % 7):
                for hour in sorted(self.hours):
                    for minute in sorted(self.minutes):
                        local = datetime(
                            day.year, day.month, day.day, hour, minute, tzinfo=self.zone
                        )
                        moment = local.astimezone(UTC)
                        if after < moment <= until:
                            yield moment
            day += timedelta(days=1)

    def _on(self, month: int, day: int, weekday: int) -> bool:
        if month not in self.months:
            return False
        in_month, in_week = day in self.days, weekday in self.weekdays
        return (in_month or in_week) if self.either_day else (in_month and in_week)


def parse_cron(text: str, zone: tzinfo = UTC) -> Cron:
    """Read five fields.

    Raises:
        ValueError: they are none.
    """
    fields = text.lower().split()
    if len(fields) != 5:
        message = f"{text[:80]!r} has {len(fields)} fields; expected five"
        raise ValueError(message)
    minutes, hours, days, months, weekdays = fields
    return Cron(
        text=text,
        minutes=_field(minutes, 0, 59),
        hours=_field(hours, 0, 23),
        days=_field(days, 1, 31),
        months=_field(months, 1, 12, MONTHS, 1),
        weekdays=frozenset(day % 7 for day in _field(weekdays, 0, 7, _DAYS)),
        either_day=not days.startswith("*") and not weekdays.startswith("*"),
        zone=zone,
    )


def _field(
    text: str, least: int, most: int, names: tuple[str, ...] = (), first: int = 0
) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            message = f"{part[:40]!r} is no part of a schedule"
            raise ValueError(message)
        step = int(match[2] or 1)
        low, _, high = match[1].partition("-")
        if low == "*":
            start, end = least, most
        else:
            start = _value(low, names, first)
            # `5/15` goes on to the end, `5` does not.
            end = _value(high, names, first) if high else most if match[2] else start
        if not least <= start <= end <= most or step < 1:
            message = f"{part[:40]!r} is not in {least}..{most}"
            raise ValueError(message)
        found.update(range(start, end + 1, step))
    return frozenset(found)


def _value(text: str, names: tuple[str, ...], first: int) -> int:
    if text in names:
        return names.index(text) + first
    if not text.isdigit():
        message = f"{text!r} is no number"
        raise ValueError(message)
    return int(text)
