"""The program that is the target, started by us: on a free port, and stopped with all it started."""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from releasecheck.errors import ConfigError, InfrastructureError, Problem
from releasecheck.references import PORT, resolve_text
from releasecheck.transport.classify import signal_name
from releasecheck.transport.process import Program, ProgramNotFound, start_child

if TYPE_CHECKING:
    from releasecheck.model.target import StartSpec
    from releasecheck.transport.classify import Classifier
    from releasecheck.transport.context import Context
    from releasecheck.transport.process import Child

GRACE_S: Final = 5.0
"""Seconds it may take to shut down after TERM."""
FIRST_LOOK_S: Final = 0.02
LONGEST_LOOK_S: Final = 0.5
TAIL: Final = 8192
"""Bytes of the end of a log that are read."""
SHOWN: Final = 1000
"""Characters of it that an error shows."""


@dataclass(slots=True)
class Started:
    """A running program on its port."""

    port: int
    log: Path
    """Everything it printed; kept after the run."""
    child: Child
    classify: Classifier
    _closed: bool = field(default=False)

    def explain(self, message: str) -> str:
        """A failure's message, with the cause in front when the program is gone."""
        if self.child.code is None:
            return message
        return f"the started program has ended ({ended(self.child.code)}); {message}"

    def tail(self) -> str:
        """The end of its log on one line, without secrets."""
        with self.log.open("rb") as stream:
            stream.seek(max(0, self.log.stat().st_size - TAIL))
            text = stream.read().decode("utf-8", "replace")
        return self.classify.clean(text)[-SHOWN:]

    async def aclose(self) -> None:
        """Stop the whole process group; idempotent."""
        if not self._closed:
            self._closed = True
            await self.child.stop(GRACE_S)


async def start_target(
    spec: StartSpec, context: Context, classify: Classifier, name: str
) -> Started:
    """Start the program and wait until it is ready.

    Raises:
        ConfigError: there is no such program.
        EnvironmentMissing: a reference has no value.
        InfrastructureError: it ended, or was not ready in time; with the end of its log.
    """
    port = free_port()
    environment = {**context.environment, PORT: str(port)}
    argv = tuple(resolve_text(part, environment) for part in spec.run)
    log, descriptor = _open_log(context.log_folder, name)
    program = Program(argv, context.root, environment, dies_with_us=True)
    try:
        child = await start_child(program, lambda _: None, log=descriptor)
    except ProgramNotFound as error:
        message = classify.clean(str(error))
        raise ConfigError([Problem(message, key="target.start.run")]) from None
    except OSError as error:
        message = classify.clean(f"target.start: {argv[0]} could not be started: {error}")
        raise InfrastructureError(message) from None
    finally:
        os.close(descriptor)
    started = Started(port, log, child, classify)
    try:
        await _until_ready(spec, context, started)
    except BaseException:
        await started.aclose()
        raise
    return started


def free_port() -> int:
    """A port of the loopback interface that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _open_log(folder: Path | None, name: str) -> tuple[Path, int]:
    if folder is None:
        descriptor, path = tempfile.mkstemp(prefix=f"releasecheck-{name}-", suffix=".log")
        return Path(path), descriptor
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{name}.log"
    return log, os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)


async def _until_ready(spec: StartSpec, context: Context, started: Started) -> None:
    until = context.clock.monotonic() + spec.timeout
    pause = FIRST_LOOK_S
    seen = "its port does not accept connections"
    while True:
        if started.child.code is not None:
            message = (
                f"target.start: {spec.run[0]} ended with {ended(started.child.code)} before it was "
                f"ready. {_log_of(started)}"
            )
            raise InfrastructureError(message)
        left = until - context.clock.monotonic()
        if left <= 0:
            message = (
                f"target.start: {spec.run[0]} was not ready within {spec.timeout:g} s ({seen}). "
                f"{_log_of(started)}"
            )
            raise InfrastructureError(message)
        problem = await _look(spec.ready, context, started.port, min(left, 5.0))
        if problem is None:
            return
        seen = problem
        await context.clock.sleep(min(pause, left))
        pause = min(pause * 1.5, LONGEST_LOOK_S)


async def _look(ready: str | None, context: Context, port: int, within_s: float) -> str | None:
    """None when it is ready, else what was seen."""
    if ready is None:
        return await _accepts(port, within_s)
    import httpx

    from releasecheck.transport.http import headers_with

    url = httpx.URL(f"http://127.0.0.1:{port}/{ready.lstrip('/')}")
    try:
        answer = await context.client.http().request(
            "GET", url, headers=headers_with({}), within_s=within_s
        )
    except Exception as error:  # noqa: BLE001 - whatever it is, it is not ready yet
        return f"GET {url.path}: {error}"
    return None if 200 <= answer.status < 300 else f"GET {url.path}: answered {answer.status}"


async def _accepts(port: int, within_s: float) -> str | None:
    try:
        async with asyncio.timeout(within_s):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
    except (OSError, TimeoutError):
        return "its port does not accept connections"
    writer.close()
    return None


def ended(code: int) -> str:
    """An exit in words."""
    return f"exit code {code}" if code >= 0 else signal_name(-code)


def _log_of(started: Started) -> str:
    tail = started.tail()
    return f"Its log ends: {tail}" if tail else "Its log is empty."
