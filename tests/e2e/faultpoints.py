"""A signal at a chosen moment: every change that the program makes on disk is a numbered point.

Nothing of the program knows about this. Files that are opened to be written, renames and removals are
seen by an audit hook, ledger lines by a wrapper around the writer's public methods.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from releasecheck.ledger.jsonl import JsonlWriter

if TYPE_CHECKING:
    from collections.abc import Callable

WATCHED = {"os.rename": 1, "os.remove": 0}
"""Audit event -> which of its arguments names the file."""
WRITING = os.O_WRONLY | os.O_RDWR


class Points:
    """Counts the points of a process, and sends it a signal before one of them."""

    def __init__(self, fault: dict[str, Any]) -> None:
        """Take `{"record": PATH}`, or `{"before": NUMBER or NAME, "signal": NAME}`."""
        self._log: str | None = fault.get("record")
        self._before: int | str | None = fault.get("before")
        self._signal = signal.Signals[f"SIG{fault.get('signal', 'KILL')}"]
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
        if self._before in (count, name):
            os.kill(os.getpid(), self._signal)


def arm(fault: dict[str, Any]) -> None:
    """Watch this process from now on."""
    points = Points(fault)

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
        judge = getattr(record, "judge", "")
        points.passed(f"append {record.case}#{record.trial} {judge}".rstrip())
        append(self, record)

    def named_close(self: JsonlWriter, stopped: str | None) -> None:
        points.passed("end")
        close(self, stopped)

    _replace(JsonlWriter, "append", named_append)
    _replace(JsonlWriter, "close", named_close)


def _replace(owner: type, name: str, function: Callable[..., None]) -> None:
    setattr(owner, name, function)
