"""Implementations of our ports for tests: real behaviour, nothing outside the process."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from typing_extensions import override

from releasecheck.ports import Clock, Progress

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


class FakeClock(Clock):
    """Time that passes only when somebody sleeps or a test says so."""

    def __init__(self, start: datetime = START) -> None:
        self._start = start
        self._passed = 0.0
        self.slept: list[float] = []
        """Seconds of every sleep, in order."""

    @override
    def now(self) -> str:
        moment = self._start + timedelta(seconds=self._passed)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    @override
    def monotonic(self) -> float:
        return self._passed

    @override
    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(max(seconds, 0.0))
        await asyncio.sleep(0)  # others get their turn, as in a real sleep

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._passed += seconds


class HeardProgress(Progress):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.done: list[tuple[int, int, int, int]] = []
        self.notes: list[str] = []

    @override
    def begin(self, total: int) -> None:
        return None

    @override
    def close(self) -> None:
        return None

    @override
    def case_done(self, shard: int, done: int, total: int, failed: int) -> None:
        self.done.append((shard, done, total, failed))

    @override
    def note(self, text: str) -> None:
        self.notes.append(text)
