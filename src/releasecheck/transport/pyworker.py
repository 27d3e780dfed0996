"""Our side of `worker.py`: start it, call it, and end it when a call does not come back.

One process serves all calls of a target or judge. When a call runs out of time the whole group is
killed and started anew, and the other calls in flight are asked again. When the process dies by
itself with several calls in flight, each of them is asked again alone, so that the one that kills it
is found and only that one fails.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from releasecheck.canonical import JsonProblem, parse_json
from releasecheck.transport.process import (
    DRAIN_S,
    MAX_STDOUT,
    Child,
    Program,
    ProgramNotFound,
    Tail,
    start_child,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from releasecheck.canonical import Json
    from releasecheck.transport.classify import Classifier, Trouble
    from releasecheck.transport.limits import Gate

WORKER: Final = Path(__file__).with_name("worker.py")
START_S: Final = 300.0
"""Seconds for the user's module to be imported; some load a model there."""
FAREWELL_S: Final = 1.0
"""Seconds it may take to end by itself."""
MOST_SENDS: Final = 5
"""Times one call is sent when other calls keep taking the process down."""
_REPLY: Final = re.compile(rb'\{"id": (\d{1,15}), "ok": ')


class WorkerNotStarted(Exception):
    """The interpreter or the function could not be loaded; nothing was called."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a worker loaded."""

    python: str
    """Version of the user's interpreter."""
    file: str | None
    """The function's module."""
    digest: str | None
    """Over the bytes of that file."""


@dataclass(frozen=True, slots=True)
class _Lost:
    """The process ended while the call was in flight."""

    killed: bool
    """By us, for the sake of another call."""
    alone: bool
    code: int
    tail: str


class _Process:
    """One life of the worker."""

    def __init__(self, max_bytes: int) -> None:
        self.loaded: asyncio.Future[dict[str, Json]] = asyncio.get_running_loop().create_future()
        self.calls: dict[int, asyncio.Future[bytes | _Lost]] = {}
        self.killed = False
        self.child: Child | None = None
        self._stray = Tail()
        self._buffer = bytearray()
        self._searched = 0
        self._most = 2 * max_bytes + 2**20

    def feed(self, data: bytes) -> None:
        """Take bytes of the protocol; never raises, whoever wrote them."""
        self._buffer += data
        while (end := self._buffer.find(b"\n", self._searched)) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            self._searched = 0
            self._line(line)
        self._searched = len(self._buffer)
        if len(self._buffer) > self._most:
            # Somebody else writes here: nothing of it can be trusted.
            self._stray.add(bytes(self._buffer))
            self._buffer.clear()
            self._searched = 0
            if self.child is not None:
                self.child.transport.kill()

    def _line(self, line: bytes) -> None:
        match = _REPLY.match(line)
        message: dict[str, Any] = {"id": int(match[1]), "ok": None} if match else _message(line)
        if "id" in message:
            future = self.calls.pop(message["id"], None)
            if future is not None and not future.done():
                future.set_result(line)
        elif message and not self.loaded.done():
            self.loaded.set_result(message)
        else:  # of a wrapper around the interpreter, or of what it started
            self._stray.add(line + b"\n")

    def tail(self) -> str:
        """The end of what it said beside the protocol."""
        said = "" if self.child is None else self.child.protocol.stderr.text()
        return self._stray.text().lstrip("\n") + said

    async def watch(self, child: Child) -> None:
        """Wait for the end and tell every call that is still in flight."""
        await child.protocol.exited
        await asyncio.wait([child.protocol.drained], timeout=DRAIN_S)
        code = child.code if child.code is not None else 0
        tail = self.tail()
        lost = _Lost(self.killed, len(self.calls) == 1, code, tail)
        for future in self.calls.values():
            if not future.done():
                future.set_result(lost)
        self.calls.clear()
        if not self.loaded.done():
            self.loaded.set_result({"died": code})
        # What it had started may outlive it, and our ends of its pipes are still open.
        await child.stop()


def _message(line: bytes) -> dict[str, Any]:
    """A line of the worker's, but for results; empty when it is somebody else's."""
    try:
        found = parse_json(line)
    except JsonProblem:
        return {}
    match found:
        case (
            {"ready": True, "python": str(), "file": str() | None, "digest": str() | None}
            | {"failed": {"type": str(), "message": str()}, "python": str()}
            | {"id": int(), "error": {"type": str(), "message": str()}}
            | {"id": int(), "out_of_memory": True}
            | {"id": int(), "too_large": int()}
            | {"id": int(), "unusable": str()}
        ):
            return dict(found)
        case _:
            return {}


class PythonWorker:
    """A function in the user's interpreter, callable from here."""

    def __init__(
        self,
        program: Program,
        function: str,
        *,
        concurrency: int,
        classifier: Classifier,
        gate: Gate,
        resend: bool = True,
        max_bytes: int = MAX_STDOUT,
    ) -> None:
        """Describe the worker; `start` starts it.

        Args:
            program: The interpreter as its only argument, with folder and environment.
            function: `package.module:function`.
            concurrency: Calls at once.
            classifier: For what goes wrong.
            gate: Its own, to ask a suspected call alone.
            resend: Whether a call may be sent again after another one took the process down.
            max_bytes: The largest result, as JSON.
        """
        arguments = (str(WORKER), function, str(concurrency), str(max_bytes))
        self._program = Program(
            (*program.argv, *arguments), program.cwd, program.environment, program.memory_limit
        )
        self._function = function
        self._classify = classifier
        self._gate = gate
        self._resend = resend
        self._max_bytes = max_bytes
        self._numbers = itertools.count(1)
        self._starting = asyncio.Lock()
        self._process: _Process | None = None
        self._watching: set[asyncio.Task[None]] = set()

    async def start(self) -> Loaded:
        """Start the interpreter and import the function.

        Raises:
            WorkerNotStarted: naming what could not be found or imported.
        """
        process = _Process(self._max_bytes)
        try:
            child = await start_child(self._program, process.feed)
        except (ProgramNotFound, OSError) as error:
            raise WorkerNotStarted(str(error)) from None
        process.child = child
        watching = asyncio.ensure_future(process.watch(child))
        self._watching.add(watching)
        watching.add_done_callback(self._watching.discard)
        try:
            async with asyncio.timeout(START_S):
                first = await process.loaded
        except TimeoutError:
            await child.stop()
            message = (
                f"{self._function}: not imported within {START_S:g} s; {process.tail().strip()}"
            )
            raise WorkerNotStarted(message) from None
        except BaseException:
            await child.stop()
            raise
        if "ready" not in first:
            await child.stop()
            raise WorkerNotStarted(self._not_loaded(first, process.tail()))
        self._process = process
        return Loaded(first["python"], first["file"], first["digest"])

    def _not_loaded(self, first: Mapping[str, Json], tail: str) -> str:
        failed = first.get("failed")
        if failed is None:
            return (
                f"{self._function}: the interpreter ended with {first.get('died')}; {tail.strip()}"
            )
        where = f" (Python {first['python']}, started in {self._program.cwd})"
        return f"{self._function}: {failed['type']}: {failed['message']}{where}"

    async def call(self, argument: Mapping[str, Json], within_s: float) -> bytes | Trouble:
        """Call the function once; gives its result as JSON, or what went wrong."""
        suspected = False
        for _ in range(MOST_SENDS):
            admitted = await self._gate.enter(alone=suspected)
            try:
                reply = await self._once(argument, within_s)
            finally:
                self._gate.leave(admitted, told_to_slow=False, worked=True)
            if not isinstance(reply, _Lost):
                return reply
            if reply.alone and not reply.killed:
                return self._died(reply)
            if not self._resend:
                break
            suspected = suspected or not reply.killed
        return self._classify.infra(
            "worker_lost", f"{self._function}: another call took its process down"
        )

    async def _once(self, argument: Mapping[str, Json], within_s: float) -> bytes | Trouble | _Lost:
        try:
            process = await self._running()
        except WorkerNotStarted as error:
            return self._classify.infra("worker_not_started", str(error))
        number = next(self._numbers)
        future: asyncio.Future[bytes | _Lost] = asyncio.get_running_loop().create_future()
        process.calls[number] = future
        assert process.child is not None  # noqa: S101 - set before `loaded`
        line = json.dumps({"id": number, "call": argument}, separators=(",", ":"))
        process.child.write(line.encode("ascii") + b"\n")
        try:
            await asyncio.wait([future], timeout=within_s)
        finally:
            process.calls.pop(number, None)
        if future.done():
            reply = future.result()
            return reply if isinstance(reply, _Lost) else self._read(reply)
        process.killed = True
        tail = process.tail().strip()
        await process.child.stop()
        return self._classify.timed_out(self._function, within_s, tail)

    async def _running(self) -> _Process:
        async with self._starting:
            process = self._process
            if (
                process is None
                or process.killed
                or process.child is None
                or process.child.code is not None
            ):
                await self.start()
                process = self._process
            assert process is not None  # noqa: S101 - `start` sets it or raises
            return process

    def _read(self, line: bytes) -> bytes | Trouble:
        match = _REPLY.match(line)
        if match:
            return line[match.end() : -1]
        reply: dict[str, Any] = parse_json(line)
        if "error" in reply:
            error = reply["error"]
            text = f"{self._function} raised {error['type']}: {error['message']}"
            return self._classify.broken("exception", text)
        if "out_of_memory" in reply:
            return self._classify.out_of_memory(self._function)
        if "too_large" in reply:
            text = f"{self._function} returned {reply['too_large']} bytes; at most {self._max_bytes} are taken"
            return self._classify.broken("output_too_large", text)
        text = f"{self._function} returned something that is not JSON: {reply.get('unusable')}"
        return self._classify.broken("not_json", text)

    def _died(self, lost: _Lost) -> Trouble:
        return self._classify.died(
            self._function, lost.code, lost.tail, limited=self._program.memory_limit is not None
        )

    async def aclose(self) -> None:
        """End the process and all it started; idempotent."""
        process, self._process = self._process, None
        if process is not None and process.child is not None:
            process.killed = True
            # Closing its input lets it end by itself, with its exit handlers.
            process.child.write(b"", close=True)
            await process.child.exited_within(FAREWELL_S)
            await process.child.stop()
        if self._watching:
            await asyncio.wait(self._watching)
