"""The real clock."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

from typing_extensions import override

from releasecheck.ports import Clock


class SystemClock(Clock):
    """Time of this machine."""

    def __init__(self) -> None:
        self._second = -1
        self._text = ""

    @override
    def now(self) -> str:
        # Every record asks; only the part below a second differs from one to the next.
        second, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
        if second != self._second:
            self._text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
            self._second = second
        return f"{self._text}.{nanoseconds // 1_000_000:03d}Z"

    @override
    def monotonic(self) -> float:
        return time.monotonic()

    @override
    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
