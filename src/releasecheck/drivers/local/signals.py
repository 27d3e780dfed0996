"""Ctrl-C, SIGTERM and SIGHUP alike: first stop taking work, then cancel what is in flight, then leave."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.engine import Stop
    from releasecheck.ports import Progress

GRACE_S: Final = 3.0
"""Time that calls in flight get to answer after the first signal; GitHub kills after 7.5 s."""
INTERRUPTED_EXIT: Final = 130
_SIGNALS: Final = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


@contextmanager
def stopping_on_signals(stop: Stop, task: asyncio.Task[Any], progress: Progress) -> Iterator[None]:
    """While inside, a signal asks `stop`; a second one (or the grace's end) cancels `task`."""
    loop = asyncio.get_running_loop()
    received = 0
    timer: asyncio.TimerHandle | None = None

    def act() -> None:
        nonlocal received, timer
        received += 1
        if received == 1:
            stop.request("interrupted")
            progress.note("stopping: letting calls in flight answer; again to cancel them")
            timer = loop.call_later(GRACE_S, task.cancel)
        elif received == 2:
            task.cancel()
        else:
            os._exit(INTERRUPTED_EXIT)

    previous: dict[int, Any] = {}
    for number in _SIGNALS:
        previous[number] = signal.signal(
            number, lambda _number, _frame: loop.call_soon_threadsafe(act)
        )
    # Python only sees a signal between two steps of the loop, so the loop must wake up for it.
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()
        for number, handler in previous.items():
            signal.signal(number, handler)
