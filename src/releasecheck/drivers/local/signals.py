"""Ctrl-C, SIGTERM and SIGHUP alike: first stop taking work, then cancel what is in flight, then leave.

Where no call is in flight (planning, deciding, writing a bundle) the first one ends the process at once:
nothing there needs time to answer, and what is half-done is done again by the next command.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from releasecheck.engine import Stop
    from releasecheck.ports import Progress

GRACE_S: Final = 3.0
"""Time that calls in flight get to answer after the first signal; GitHub kills after 7.5 s."""
INTERRUPTED_EXIT: Final = 130
_SIGNALS: Final = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


@contextmanager
def stopping_on_signals(
    stop: Stop, task: asyncio.Task[Any], progress: Progress, grace_s: float = GRACE_S
) -> Iterator[None]:
    """While inside, a signal asks `stop`; a second one (or the grace's end) cancels `task`.

    Without a grace the first one cancels it: waiting for scores loses nothing (S1-27).

    A signal that whoever started us has told us to ignore (`nohup`) stays ignored.
    """
    loop = asyncio.get_running_loop()
    received = 0
    timer: asyncio.TimerHandle | None = None

    def act() -> None:
        nonlocal received, timer
        received += 1
        if received == 1:
            if not grace_s:
                task.cancel()
                return
            progress.note("stopping: letting calls in flight answer; again to cancel them")
            timer = loop.call_later(grace_s, task.cancel)
        elif received == 2:
            task.cancel()
        else:
            os._exit(INTERRUPTED_EXIT)

    def heard(_number: int, _frame: FrameType | None) -> None:
        # At once, so that not even the step of the loop that is under way takes more work.
        stop.request("interrupted")
        loop.call_soon_threadsafe(act)  # and the loop must wake up for the rest

    previous = {number: signal.signal(number, heard) for number in _heeded()}
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def leaving_on_interrupt() -> Iterator[None]:
    """While inside, Ctrl-C raises KeyboardInterrupt where it lands, as SIGTERM and SIGHUP do anyway.

    asyncio's own handler only cancels the task at its next await, and deciding has none.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        yield
        return
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def _heeded() -> list[int]:
    return [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
