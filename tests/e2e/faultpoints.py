"""A signal at a chosen moment: every change that the program makes on disk is a numbered point.

Nothing of the program knows about this. Files that are opened to be written, renames and removals are
seen by an audit hook, ledger lines by a wrapper around the writer's public methods. A full disk may come
instead of the signal, and the pauses of the program may be made to take no time.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from releasecheck.drivers.local.clock import SystemClock
from releasecheck.ledger.jsonl import JsonlWriter
from releasecheck.model.record import BridgeRecord, LateRecord, SentinelRecord

if TYPE_CHECKING:
    from collections.abc import Callable

WATCHED = {"os.rename": 1, "os.remove": 0}
"""Audit event -> which of its arguments names the file."""
PATIENCE_S = 0.4
"""Time that calls under way get before a pause beside them is over."""
WRITING = os.O_WRONLY | os.O_RDWR


class Points:
    """Counts the points of a process, and sends it a signal before one of them."""

    def __init__(self, fault: dict[str, Any]) -> None:
        """Take `{"record": PATH}`, or `{"before": NUMBER or NAME, "signal": NAME}`.

        With `"largest": BYTES` no file can be written beyond that size from there on, in place of the signal.
        """
        self._log: str | None = fault.get("record")
        self._before: int | str | None = fault.get("before")
        self._signal = signal.Signals[f"SIG{fault.get('signal', 'KILL')}"]
        self._largest: int | None = fault.get("largest")
        self._count = 0
        self._busy = False

    def passed(self, name: str) -> None:
        """One more change is about to be made."""
        if self._busy:
            return
        self._busy = True
        if self._log is not None:
            with Path(self._log).open("a", encoding="utf-8") as file:
                file.write(name + "\n")
        self._busy = False
        count, self._count = self._count, self._count + 1
        if self._before not in (count, name):
            return
        if self._largest is None:
            os.kill(os.getpid(), self._signal)
        else:
            _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (self._largest, hard))


def arm(fault: dict[str, Any]) -> None:
    """Watch this process from now on."""
    points = Points(fault)
    if fault.get("hasten"):
        hasten(fault.get("ahead_s", 0.0))

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str) and arguments[2] & WRITING:
            points.passed(f"write {Path(arguments[0]).name}")
        elif event in WATCHED:
            path = str(arguments[WATCHED[event]])
            points.passed(f"{event.removeprefix('os.')} {Path(path).name}")

    import sys

    sys.addaudithook(hook)
    append, close = JsonlWriter.append, JsonlWriter.close

    def named_append(self: JsonlWriter, record: Any) -> None:
        points.passed(f"append {_name(record)}")
        append(self, record)

    def named_close(self: JsonlWriter, stopped: str | None) -> None:
        points.passed("end")
        close(self, stopped)

    _replace(JsonlWriter, "append", named_append)
    _replace(JsonlWriter, "close", named_close)


def _name(record: Any) -> str:
    judge = getattr(record, "judge", "")
    if hasattr(record, "case"):
        kind = "late " if isinstance(record, LateRecord) else ""
        if isinstance(record, BridgeRecord):
            kind = f"{record.side} "
        return f"{kind}{record.case}#{record.trial} {judge}".rstrip()
    if isinstance(record, SentinelRecord):
        return f"sentinel {record.sentinel} {judge}"
    return f"deadline {judge}"


def hasten(ahead_s: float) -> None:
    """Let pauses take no time, though the clock goes on as if they had; `ahead_s`: it is that late already."""
    ahead = ahead_s
    monotonic, now = SystemClock.monotonic, SystemClock.now

    def hastened_monotonic(self: SystemClock) -> float:
        return monotonic(self) + ahead

    def hastened_now(self: SystemClock) -> str:
        moment = datetime.fromisoformat(now(self)) + timedelta(seconds=ahead)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    async def hastened_sleep(self: SystemClock, seconds: float) -> None:
        nonlocal ahead
        until = self.monotonic() + seconds
        await asyncio.sleep(0)  # others that begin to sleep now sleep at the same time
        patience = monotonic(self) + PATIENCE_S
        while len(asyncio.all_tasks()) > 2 and monotonic(self) < patience:
            # What is under way takes less than a pause; whoever hears of its end may want no pause any more.
            while len(asyncio.all_tasks()) > 2 and monotonic(self) < patience:  # noqa: ASYNC110
                await asyncio.sleep(0.002)
            await asyncio.sleep(0.01)
        ahead += max(0.0, until - self.monotonic())

    _replace(SystemClock, "monotonic", hastened_monotonic)
    _replace(SystemClock, "now", hastened_now)
    _replace(SystemClock, "sleep", hastened_sleep)


def _replace(owner: type, name: str, function: Callable[..., Any]) -> None:
    setattr(owner, name, function)
