"""Servers on loopback that answer as a script says, byte by byte, and remember what they saw."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable


@dataclass(frozen=True)
class Request:
    """One request as it came."""

    line: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Raw:
    """Bytes to write, and whether to hang up after them."""

    data: bytes
    close: bool = False


Hang: TypeAlias = None
"""Answer nothing, ever."""
Reply: TypeAlias = "Raw | Hang"


def reply(status: int = 200, body: object = b"", headers: dict[str, str] | None = None) -> Raw:
    """A whole answer; a body that is not bytes is sent as JSON."""
    sent = {"content-type": "application/json"} if not isinstance(body, bytes) else {}
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent |= headers or {}
    lines = [f"HTTP/1.1 {status} Stub", f"content-length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in sent.items()]
    return Raw("\r\n".join([*lines, "", ""]).encode("latin-1") + data)


class Stub:
    """A scripted server."""

    def __init__(self, script: Callable[[Request], Awaitable[Reply]]) -> None:
        self._script = script
        self.requests: list[Request] = []
        self.connections = 0
        self.in_flight = 0
        self.most_in_flight = 0
        self.url = ""
        self.arrived = asyncio.Event()
        """Set by the first request."""
        self.left = asyncio.Event()
        """Set when a client has left."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.connections += 1
        try:
            while (request := await _read(reader)) is not None:
                self.requests.append(request)
                self.arrived.set()
                self.in_flight += 1
                self.most_in_flight = max(self.most_in_flight, self.in_flight)
                try:
                    answer = await self._script(request)
                finally:
                    self.in_flight -= 1
                if answer is None:
                    await reader.read()  # until the client leaves
                    return
                writer.write(answer.data)
                await writer.drain()
                if answer.close:
                    return
        except (ConnectionError, asyncio.CancelledError):
            return
        finally:
            self.left.set()
            writer.close()

    @contextlib.asynccontextmanager
    async def open(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[Stub]:
        """Listen on a free port."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls)
        port = server.sockets[0].getsockname()[1]
        self.url = f"https://localhost:{port}" if tls else f"http://127.0.0.1:{port}"
        try:
            yield self
        finally:
            server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    line, *rest = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    pairs = (part.partition(":") for part in rest)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(line, headers, body)


def always(answer: Reply) -> Stub:
    """The same to everybody."""

    async def script(_: Request) -> Reply:
        return answer

    return Stub(script)


def in_turn(answers: Iterable[Reply]) -> Stub:
    """One after the other, in the order of the requests."""
    left = iter(answers)

    async def script(_: Request) -> Reply:
        return next(left)

    return Stub(script)


def at_most(limit: int, answer: Raw, *, takes_s: float = 0.01) -> Stub:
    """Answers while no more than `limit` are in flight, 429 otherwise (B47)."""

    async def script(_: Request) -> Reply:
        if stub.in_flight > limit:
            return reply(429, b"slow down")
        await asyncio.sleep(takes_s)
        return answer

    stub = Stub(script)
    return stub


@dataclass
class Pids:
    """Processes that wrote their number into a folder, and whether they live."""

    folder: Path
    seen: set[int] = field(default_factory=set)

    def read(self) -> set[int]:
        """Every number written so far."""
        self.seen |= {int(path.name) for path in self.folder.iterdir() if path.name.isdigit()}
        return self.seen

    def left(self, within_s: float = 5.0) -> set[int]:
        """Those still alive after at most that time."""
        until = time.monotonic() + within_s
        while (alive := {pid for pid in self.read() if is_alive(pid)}) and time.monotonic() < until:
            time.sleep(0.02)
        return alive

    def kill(self) -> None:
        """Leave nothing behind when a test failed."""
        for pid in self.read():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie that nobody has waited for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    with contextlib.suppress(OSError):
        return stat.read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    return True
