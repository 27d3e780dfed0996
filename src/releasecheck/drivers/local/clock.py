"""The real clock."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

from typing_extensions import override

from releasecheck.ports import Clock


class SystemClock(Clock):
    """Time of this machine."""

    @override
    def now(self) -> str:
        return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    @override
    def monotonic(self) -> float:
        return time.monotonic()

    @override
    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
