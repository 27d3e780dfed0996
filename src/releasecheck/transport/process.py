"""Run a program to its end: bounded in time, output and memory, and nothing of it left behind (B38).

The program leads its own session, so its whole process group can be ended with it. What puts itself
into a further session (`setsid`, a daemon) is beyond reach. On Windows the tree is ended by `taskkill`,
and a memory limit is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_STDOUT: Final = 16 * 2**20
"""Bytes of standard output that are taken."""
TAIL: Final = 4096
"""Bytes of the end of standard error that are kept."""
GRACE_S: Final = 2.0
"""Seconds between TERM and KILL."""
DRAIN_S: Final = 0.5
"""Seconds to wait for the rest of the output once the program has ended."""
LIMITED: Final = Path(__file__).with_name("limited.py")


class ProgramNotFound(Exception):
    """The program of an argument list does not exist or may not be run."""


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How a program ended."""

    code: int
    """Exit code, or minus the signal's number."""
    stdout: bytes
    stderr_tail: str
    """The last 4 KB."""
    timed_out_s: float | None = None
    """Its time limit, when that ended it."""
    too_large: int | None = None
    """The cap on its output, when that ended it."""
    memory_limited: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """What to run and in which surroundings."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    memory_limit: int | None = None
    """Bytes of address space; None is no limit."""
    dies_with_us: bool = False
    """Whether it gets a TERM when we are killed (Linux only)."""

    def command(self) -> list[str]:
        """The argument list to start, behind the wrapper that sets limits where one is needed.

        Raises:
            ProgramNotFound: naming what was looked for and where.
        """
        program = find_program(self.argv[0], self.cwd, self.environment)
        if self.memory_limit is None and not (self.dies_with_us and sys.platform == "linux"):
            return [program, *self.argv[1:]]
        if sys.platform == "win32":
            message = "memory_limit is not supported on Windows; leave it out there"
            raise ProgramNotFound(message)
        # A wrapper, not preexec_fn: that runs Python between fork and exec, which deadlocks
        # when another thread holds a lock at that moment.
        wrapper = [sys.executable, "-I", "-S", str(LIMITED), str(self.memory_limit or 0)]
        return [*wrapper, str(int(self.dies_with_us)), program, *self.argv[1:]]


def find_program(name: str, cwd: Path, environment: Mapping[str, str]) -> str:
    """The file that `name` stands for: on the given PATH, or relative to the given folder.

    Raises:
        ProgramNotFound: naming what was looked for and where.
    """
    path = environment.get("PATH", os.defpath)
    if os.path.dirname(name):  # noqa: PTH120 - asks about the text, "./x" must keep its dot
        # "." / "./x" is "x", which would be looked for on PATH.
        found = shutil.which(str(cwd.absolute() / name), path=path)
        where = f"in {cwd}"
    else:
        found = shutil.which(name, path=path)
        where = "on PATH"
        if found is None and name in ("python", "python3"):
            found = sys.executable
    if found is None:
        message = f"program {name!r} not found {where}, or not executable"
        raise ProgramNotFound(message)
    return found


def kill_group(pid: int, *, gently: bool) -> None:
    """Send TERM (or KILL) to everything in the group that `pid` leads; nothing left is fine.

    Windows has no TERM: there everything is killed, and that takes a while.
    """
    if sys.platform == "win32":
        subprocess.run(  # noqa: S603
            ["taskkill", "/F", "/T", "/PID", str(pid)],  # noqa: S607
            capture_output=True,
            check=False,
        )
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGTERM if gently else signal.SIGKILL)


class Tail:
    """The last bytes of a stream."""

    def __init__(self, size: int = TAIL) -> None:
        self._size = size
        self._bytes = bytearray()

    def add(self, data: bytes) -> None:
        """Take more, forget what is too old."""
        self._bytes += data[-self._size :]
        if len(self._bytes) > 2 * self._size:
            del self._bytes[: -self._size]

    def text(self) -> str:
        """What is kept, as text whatever it was."""
        return bytes(self._bytes[-self._size :]).decode("utf-8", "replace")


class GroupProtocol(asyncio.SubprocessProtocol):
    """Watches one child: its output, and its end even while somebody else holds its pipes open."""

    def __init__(self, on_stdout: Callable[[bytes], None]) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.drained: asyncio.Future[None] = loop.create_future()
        self.stderr = Tail()
        self._on_stdout = on_stdout
        self._open = {1, 2}

    @override
    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._on_stdout(data)
        else:
            self.stderr.add(data)

    @override
    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open and not self.drained.done():
            self.drained.set_result(None)

    @override
    def process_exited(self) -> None:
        if not self.exited.done():
            self.exited.set_result(None)


@dataclass(slots=True)
class Child:
    """A running process group."""

    transport: asyncio.SubprocessTransport
    protocol: GroupProtocol
    platform: str = sys.platform
    kill: Callable[..., None] = kill_group
    """Ends the group, in the way of `kill_group`."""

    @property
    def pid(self) -> int:
        """Of the leader, and so of the group."""
        return self.transport.get_pid()

    @property
    def code(self) -> int | None:
        """Exit code, or minus the signal's number; None while it runs."""
        return self.transport.get_returncode()

    def write(self, data: bytes, *, close: bool = False) -> None:
        """Put `data` on its standard input; a child that does not read is no error."""
        pipe: Any = self.transport.get_pipe_transport(0)
        if pipe is not None and not pipe.is_closing():
            pipe.write(data)
            if close:
                pipe.close()

    async def exited_within(self, seconds: float) -> bool:
        """Whether the leader ends in that time."""
        done, _ = await asyncio.wait([self.protocol.exited], timeout=seconds)
        return bool(done)

    async def stop(self, grace_s: float = GRACE_S) -> None:
        """End the whole group: TERM, then KILL for whatever is left; idempotent.

        On Windows there is no TERM to wait for, and what has ended leads nothing that could be found.
        """
        windows = self.platform == "win32"
        try:
            if self.code is None and not windows:
                self.kill(self.pid, gently=True)
                await self.exited_within(grace_s)
        finally:
            # Whatever interrupts us, nothing may be left running.
            if self.code is None or not windows:
                self.kill(self.pid, gently=False)
            self.transport.close()
        await self.exited_within(GRACE_S)


async def start_child(
    program: Program, on_stdout: Callable[[bytes], None], *, log: int | None = None
) -> Child:
    """Start a program as the leader of its own session, with pipes for its three streams.

    Args:
        program: What to run.
        on_stdout: Gets its standard output as it comes.
        log: A descriptor that both its outputs go to instead; it then has no input either.

    Raises:
        ProgramNotFound: there is no such program.
        OSError: the system could not start it now.
    """
    command = program.command()
    how: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        how = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    if log is not None:
        how |= {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
    starting = asyncio.ensure_future(
        asyncio.get_running_loop().subprocess_exec(
            lambda: GroupProtocol(on_stdout),
            command[0],
            *command[1:],
            cwd=program.cwd,
            env=dict(program.environment),
            **how,
        )
    )
    try:
        return Child(*await asyncio.shield(starting))
    except asyncio.CancelledError:
        # asyncio waits for ever on a start that is cut short between its pipes, and ends the leader alone.
        await asyncio.wait([starting])
        if not starting.cancelled() and starting.exception() is None:
            await Child(*starting.result()).stop()
        raise


async def run_program(
    program: Program, *, stdin: bytes, within_s: float, max_stdout: int = MAX_STDOUT
) -> ProcessEnd:
    """Run a program to its end, with everything it started.

    Its answer is complete when it has exited; a helper that it left behind with our pipe in hand is
    ended, and does not make us wait.

    Raises:
        ProgramNotFound: there is no such program.
        OSError: the system could not start it now.
    """
    out = bytearray()
    full = asyncio.get_running_loop().create_future()

    def take(data: bytes) -> None:
        out.extend(data[: max_stdout + 1 - len(out)])
        if len(out) > max_stdout and not full.done():
            full.set_result(None)

    child = await start_child(program, take)
    timed_out = False
    try:
        child.write(stdin, close=True)
        ends = [child.protocol.exited, full]
        done, _ = await asyncio.wait(ends, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
        timed_out = not done
        if child.protocol.exited in done:
            await asyncio.wait([child.protocol.drained], timeout=DRAIN_S)
    finally:
        await child.stop()
    return ProcessEnd(
        code=child.code if child.code is not None else -signal.SIGTERM,
        stdout=bytes(out),
        stderr_tail=child.protocol.stderr.text(),
        timed_out_s=within_s if timed_out else None,
        too_large=max_stdout if full.done() else None,
        memory_limited=program.memory_limit is not None,
    )
