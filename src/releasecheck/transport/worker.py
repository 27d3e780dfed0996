"""Calls a user's Python function, in the user's own interpreter: one JSON line in, one JSON line out.

    python worker.py MODULE:FUNCTION CONCURRENCY MAX_BYTES

Standard library only and Python 3.8 syntax, since it runs where nothing of releasecheck is installed.
The first line out says what was loaded, or why nothing could be. Whatever the function prints goes to
standard error; the descriptor of the protocol is known to this file alone (B44).
"""
# ruff: noqa: E402 - the search path must be mended before anything is imported

from __future__ import annotations

import os
import sys

# Our own folder must not shadow the user's modules, nor the standard library's `http`. No import may
# come before this, so no pathlib either.
OURS = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
if __name__ == "__main__" and sys.path[:1] == [OURS]:
    del sys.path[0]

import hashlib
import importlib
import inspect
import json
import queue
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Value = Any
"""What goes in and out of a user's function."""
END_S = 2.0  # seconds that a call may still run once nobody listens any more
LONGEST = 2000  # characters of an error's text that are sent


class Channel:
    """The two descriptors of the protocol, taken away from everybody else."""

    def __init__(self, max_bytes: int) -> None:
        self._in = os.fdopen(os.dup(0), "rb")
        self._out = os.dup(1)
        self._lock = threading.Lock()
        self._max_bytes = max_bytes
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)
        # A wrapper around this interpreter may have begun a line of its own.
        os.write(self._out, b"\n")
        streams: list[Any] = [sys.stdout, sys.stderr]
        for stream in streams:
            # A print must not fail for a character that the locale does not know (B41).
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)

    def lines(self) -> Iterator[bytes]:
        """What is asked, until the other side closes."""
        return iter(self._in.readline, b"")

    def send(self, message: dict[str, Any]) -> None:
        """Write one line."""
        self._write(json.dumps(message, ensure_ascii=True, allow_nan=False))

    def _write(self, text: str) -> None:
        with self._lock:
            view = memoryview(text.encode("ascii") + b"\n")
            while view:
                view = view[os.write(self._out, view) :]

    def answer(self, number: int, value: Value) -> None:
        """Send a function's result, or say why it cannot be sent."""
        try:
            text = json.dumps(value, ensure_ascii=True, allow_nan=False, default=plain)
        except (TypeError, ValueError, RecursionError) as error:
            self.send({"id": number, "unusable": short(f"{type(error).__name__}: {error}")})
            return
        if len(text) > self._max_bytes:
            self.send({"id": number, "too_large": len(text)})
            return
        self._write(f'{{"id": {number}, "ok": {text}}}')


def plain(value: Value) -> Value:
    """Numbers and arrays of numpy and its kin, as their own plain form."""
    tolist = getattr(value, "tolist", None)
    if callable(tolist):
        return tolist()
    message = f"{type(value).__name__} is not JSON"
    raise TypeError(message)


def short(text: str) -> str:
    """Cut, keeping the end, where the reason of a traceback stands."""
    return text if len(text) <= LONGEST else "..." + text[-LONGEST:]


def told(error: BaseException) -> dict[str, str]:
    """An exception as text, even when its own `str` raises."""
    try:
        message = str(error)
    except Exception as worse:  # noqa: BLE001 - somebody else's class
        message = f"<no message: {type(worse).__name__}>"
    try:
        trace = traceback.format_exception(type(error), error, error.__traceback__)
        where = "".join(trace)
    except Exception:  # noqa: BLE001 - a broken __str__ breaks tracebacks too
        where = ""
    return {"type": type(error).__name__, "message": short(message), "trace": short(where)}


def load(name: str) -> tuple[Callable[[Any], Any], dict[str, Any]]:
    """The function, and what identifies the code it stands in."""
    module_name, _, path = name.partition(":")
    module = importlib.import_module(module_name)
    found: Any = module
    for part in path.split("."):
        found = getattr(found, part)
    if not callable(found):
        message = f"{name} is {type(found).__name__}, not something to call"
        raise TypeError(message)
    file = getattr(module, "__file__", None)
    digest = None
    if file and Path(file).is_file():
        digest = "sha256:" + hashlib.sha256(Path(file).read_bytes()).hexdigest()
    return found, {"file": file, "digest": digest}


class Work:
    """Runs calls: in the main thread, in several threads, or on one event loop."""

    def __init__(self, function: Callable[[Any], Any], channel: Channel, concurrency: int) -> None:
        self._function = function
        self._channel = channel
        self._concurrency = concurrency
        self._ending = False
        call = getattr(function, "__call__", None)  # noqa: B004 - an object may have an async one
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)

    def _reply(self, number: int, error: BaseException) -> None:
        if self._ending:
            return
        if isinstance(error, MemoryError):
            self._channel.send({"id": number, "out_of_memory": True})
        else:
            self._channel.send({"id": number, "error": told(error)})

    def run(self) -> None:
        """Work until the other side closes."""
        if self.is_async:
            import asyncio

            asyncio.run(self._on_loop())
            return
        todo: queue.Queue[Any] = queue.Queue()
        reader = threading.Thread(target=self._read, args=(todo.put,), daemon=True)
        reader.start()
        if self._concurrency == 1:
            self._drain(todo)  # in the main thread, which some libraries insist on
            return
        threads = [
            threading.Thread(target=self._drain, args=(todo,), daemon=True)
            for _ in range(self._concurrency)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _read(self, put: Callable[[Any], None]) -> None:
        for line in self._channel.lines():
            asked = json.loads(line.decode("utf-8"))
            put((asked["id"], asked["call"]))
        for _ in range(self._concurrency):
            put(None)
        # Whoever asked is gone: a call that never ends must not keep this process alive.
        time.sleep(END_S)
        os._exit(0)

    def _drain(self, todo: queue.Queue[Any]) -> None:
        for number, call in iter(todo.get, None):
            try:
                result = self._function(call)
                if inspect.isawaitable(result):
                    import asyncio

                    result = asyncio.run(_awaited(result))
                self._channel.answer(number, result)
            except BaseException as error:  # noqa: BLE001 - sys.exit() too is an error of the case
                self._reply(number, error)

    async def _on_loop(self) -> None:
        import asyncio

        loop = asyncio.get_running_loop()
        todo: asyncio.Queue[Any] = asyncio.Queue()

        def put(item: Value) -> None:
            loop.call_soon_threadsafe(todo.put_nowait, item)

        threading.Thread(target=self._read, args=(put,), daemon=True).start()
        running = set()
        while True:
            item = await todo.get()
            if item is None:
                break
            task = loop.create_task(self._one(*item))
            running.add(task)
            task.add_done_callback(running.discard)
        self._ending = True  # what is still running is cancelled, and nobody wants to hear of it

    async def _one(self, number: int, call: Value) -> None:
        # Caught here, before the task sees it: SystemExit in a task would end the loop.
        try:
            self._channel.answer(number, await self._function(call))
        except BaseException as error:  # noqa: BLE001
            self._reply(number, error)


async def _awaited(value: Value) -> Value:
    return await value


def main() -> None:
    """Load, say so, work."""
    name, concurrency, max_bytes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    sys.path.insert(0, str(Path.cwd()))
    sys.argv = [name]
    channel = Channel(max_bytes)
    try:
        function, origin = load(name)
    except BaseException as error:  # noqa: BLE001 - a module may call sys.exit() on import
        channel.send({"failed": told(error), "python": sys.version.split()[0]})
        return
    work = Work(function, channel, concurrency)
    origin.update(ready=True, python=sys.version.split()[0], is_async=work.is_async)
    channel.send(origin)
    work.run()


if __name__ == "__main__":
    main()
