"""Standard streams that cannot take a run down: UTF-8, and a write never raises.

Somebody pipes the output into `head`, closes the terminal, fills the disk or runs under an old code
page. None of that may end a run half-way or change its verdict, so what cannot be written is dropped
and remembered, and the entry point decides what it means.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import TYPE_CHECKING, Final, TextIO, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from typing_extensions import Buffer, override
else:  # typing_extensions takes longer to import than all of this takes to run

    def override(method: T) -> T:
        """Mark nothing at run time."""
        return method


# Windows reports a closed pipe as an invalid argument.
_READER_LEFT: Final = {errno.EPIPE, errno.EINVAL} if sys.platform == "win32" else {errno.EPIPE}


class SteadyFile(io.FileIO):
    """A file descriptor to write to, whose failure is kept in `failure` and not raised."""

    failure: OSError | None = None
    """The first failed write; from then on everything is dropped."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._terminal = self.isatty()  # asked now: one that hung up no longer knows

    @override
    def write(self, data: Buffer, /) -> int:
        """Write some of `data`, or drop all of it once a write has failed."""
        view = memoryview(data).cast("B")
        while self.failure is None:
            try:
                # A pipe that its owner made non-blocking answers None when it is full.
                written: int | None = super().write(view)
            except OSError as error:
                self.failure = error
                break
            if written is not None:
                return written
            self._wait()
        return view.nbytes

    def _wait(self) -> None:
        import select

        select.select([], [self.fileno()], [])

    @property
    def lost(self) -> str | None:
        """What went wrong, in words; None when all was written or nobody wanted to read on."""
        if self.failure is None or self.failure.errno in _READER_LEFT:
            return None
        if self._terminal and self.failure.errno == errno.EIO:  # it hung up
            return None
        return self.failure.strerror or type(self.failure).__name__


def steady_streams() -> tuple[SteadyFile, ...]:
    """Put `sys.stdout` and `sys.stderr` on steady UTF-8 files; return those for stdout, stderr."""
    _open_missing_descriptors()
    files = []
    if sys.stdout is sys.__stdout__:  # else it was put there by whoever called us in process
        sys.stdout, out = _steady(sys.stdout, 1)
        files.append(out)
    if sys.stderr is sys.__stderr__:
        sys.stderr, err = _steady(sys.stderr, 2)
        files.append(err)
    return tuple(file for file in files if file is not None)


def _open_missing_descriptors() -> None:
    """Open the null device in place of closed standard descriptors.

    Otherwise the next file opened gets number 1, and whatever is printed lands in the ledger.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one


def _steady(stream: TextIO | None, descriptor: int) -> tuple[TextIO, SteadyFile | None]:
    if isinstance(stream, io.TextIOWrapper):
        stream.flush()
        if sys.platform == "win32" and stream.isatty():  # its console is no byte stream
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
            return stream, None
        line_buffering, write_through = stream.line_buffering, stream.write_through
    else:  # None: it was closed
        line_buffering, write_through = True, False
    file = SteadyFile(descriptor)
    text = io.TextIOWrapper(
        io.BufferedWriter(file),
        encoding="utf-8",
        errors="backslashreplace",
        line_buffering=line_buffering or descriptor == 2,
        write_through=write_through,
    )
    return text, file
