"""Progress with rate and time left: a live line on a terminal, a plain line every few seconds elsewhere."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final, TextIO

from typing_extensions import override

from releasecheck.ports import Progress
from releasecheck.scorecard.escape import terminal_line

if TYPE_CHECKING:
    from releasecheck.ports import Clock

PLAIN_EVERY_S: Final = 5.0
LIVE_EVERY_S: Final = 0.1


class ConsoleProgress(Progress):
    """Writes to a text stream, at most as often as somebody can read."""

    def __init__(
        self,
        stream: TextIO,
        clock: Clock,
        *,
        live: bool,
        quiet: bool = False,
        unit: str = "trials",
    ) -> None:
        """`live`: the stream is a terminal whose last line may be rewritten; `unit` is what is counted."""
        self._stream, self._clock = stream, clock
        self._live, self._quiet, self._unit = live, quiet, unit
        self._every = LIVE_EVERY_S if live else PLAIN_EVERY_S
        self._started = self._last = clock.monotonic()
        self._shards: dict[int, tuple[int, int, int]] = {}
        self._total: int | None = None
        self._width = 0

    @override
    def begin(self, total: int) -> None:
        self._total = total

    @override
    def case_done(self, shard: int, done: int, total: int, failed: int) -> None:
        self._shards[shard] = (done, total, failed)
        now = self._clock.monotonic()
        if self._quiet or now - self._last < self._every:
            return
        self._last = now
        self._line(self._status(now))

    @override
    def note(self, text: str) -> None:
        if self._quiet:
            return
        self._clear()
        self._stream.write(terminal_line(text) + "\n")
        self._stream.flush()

    @override
    def close(self) -> None:
        if self._live and not self._quiet:
            self._clear()
            self._stream.flush()

    def _status(self, now: float) -> str:
        done = sum(entry[0] for entry in self._shards.values())
        started = sum(entry[1] for entry in self._shards.values())
        total = started if self._total is None else self._total
        failed = sum(entry[2] for entry in self._shards.values())
        spent = max(now - self._started, 1e-9)
        rate = done / spent
        left = f", {_span((total - done) / rate)} left" if rate > 0 and done < total else ""
        failures = f", {failed} failed" if failed else ""
        shards = f" in {len(self._shards)} shards" if len(self._shards) > 1 else ""
        return f"{done}/{total} {self._unit}{shards}{failures}, {rate:.1f}/s{left}"

    def _line(self, text: str) -> None:
        if self._live:
            text = text[: shutil.get_terminal_size().columns - 1]
            self._stream.write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            self._stream.write(text + "\n")
        self._stream.flush()

    def _clear(self) -> None:
        if self._live and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._width = 0


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
