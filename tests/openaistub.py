"""An OpenAI-like API on loopback: chat completions as a script says, files, and batches."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

from tests.stubs import Raw, Reply, Request, Stub, reply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Said: TypeAlias = "str | dict[str, Any] | Raw | None"
"""A message's content, a whole body, a whole answer, or nothing ever."""


def verdict(score: object = 1, reasoning: str = "because") -> str:
    """What a model that does as it is told writes."""
    return json.dumps({"reasoning": reasoning, "score": score})


def completion(content: object, *, finish: str = "stop", **message: object) -> dict[str, Any]:
    """A chat completion with this content."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "judge-1-2026-01-05",
        "system_fingerprint": "fp_77",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
        "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25},
    }


def refused_parameter(name: str) -> Raw:
    """The 400 for an option that a model does not take."""
    said = f"Unsupported parameter: '{name}' is not supported with this model."
    error = {"message": said, "type": "invalid_request_error", "param": name}
    return reply(400, {"error": error})


@dataclass
class OpenAiStub:
    """The API; `say` answers every chat request, also those in batches."""

    say: Callable[[dict[str, Any]], Said] = lambda _: verdict()
    at_once: bool = True
    """Whether a batch is done when it is first asked for."""
    lose: Callable[[Request], Reply | bool] = lambda _: False
    """A request that this answers for is acted on and its answer replaced; `False` leaves it."""
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: list[dict[str, Any]] = field(default_factory=list)
    """Bodies of chat requests that came by themselves, in their order."""
    seen: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stub = Stub(self._answer)

    @property
    def url(self) -> str:
        """What a config calls `base_url`."""
        return self._stub.url + "/v1"

    def open(self) -> contextlib.AbstractAsyncContextManager[Stub]:
        """Listen."""
        return self._stub.open()

    def lines(self) -> list[str]:
        """Method and path of every request."""
        return [one.line.rpartition(" ")[0] for one in self.seen]

    def finish(self, batch: str, status: str = "completed") -> None:
        """Do the batch's requests, or end it without."""
        made = self.batches[batch]
        made |= {"status": status, "completed_at": 1_767_603_600}
        if status == "completed":
            requests = map(json.loads, self.files[made["input_file_id"]].splitlines())
            lines = [self._line(one) for one in requests]
            made["output_file_id"] = self._keep(b"".join(lines))

    def _line(self, one: dict[str, Any]) -> bytes:
        said = self.say(one["body"])
        status, body = 200, said
        if isinstance(said, Raw):
            status, body = int(said.data[9:12]), json.loads(said.data.partition(b"\r\n\r\n")[2])
        elif not isinstance(said, dict):
            body = completion(said)
        answer = {"status_code": status, "request_id": "r", "body": body}
        row = {"id": "b", "custom_id": one["custom_id"], "response": answer, "error": None}
        return json.dumps(row).encode() + b"\n"

    def _keep(self, data: bytes) -> str:
        name = f"file-{len(self.files) + 1}"
        self.files[name] = data
        return name

    async def _answer(self, request: Request) -> Reply:
        self.seen.append(request)
        answer = self._act(request)
        other = self.lose(request)
        return answer if isinstance(other, bool) else other

    def _act(self, request: Request) -> Reply:
        method, target, _ = request.line.split(" ")
        parts = urlsplit(target)
        path = parts.path.removeprefix("/v1")
        if (method, path) == ("POST", "/chat/completions"):
            return self._chat(request.json())
        if (method, path) == ("POST", "/files"):
            return self._upload(request)
        if path == "/batches":
            return self._create(request.json()) if method == "POST" else self._list(parts.query)
        if (method, path.count("/")) == ("GET", 2) and path.startswith("/batches/"):
            return self._batch(path.removeprefix("/batches/"))
        return self._file(method, path)

    def _chat(self, body: dict[str, Any]) -> Reply:
        self.asked.append(body)
        said = self.say(body)
        if said is None or isinstance(said, Raw):
            return said
        return reply(200, said if isinstance(said, dict) else completion(said))

    def _upload(self, request: Request) -> Reply:
        mark = request.headers["content-type"].partition("boundary=")[2].strip('"').encode()
        fields: dict[str, bytes] = {}
        for part in request.body.split(b"--" + mark)[1:-1]:
            head, _, data = part.partition(b"\r\n\r\n")
            found = re.search(rb'name="(\w+)"', head)
            assert found
            fields[found[1].decode()] = data.removesuffix(b"\r\n")
        assert fields["purpose"] == b"batch"
        return reply(200, {"id": self._keep(fields["file"]), "object": "file"})

    def _create(self, body: dict[str, Any]) -> Reply:
        assert body["endpoint"] == "/v1/chat/completions"
        assert body["completion_window"] == "24h"
        name = f"batch_{len(self.batches) + 1}"
        self.batches[name] = {"id": name, "object": "batch", "status": "in_progress", **body}
        return reply(200, self.batches[name])

    def _list(self, query: str) -> Reply:
        after = parse_qs(query).get("after", [None])[0]
        newest = list(reversed(self.batches.values()))
        start = 1 + [one["id"] for one in newest].index(after) if after else 0
        page = newest[start : start + 100]
        more = len(newest) > start + 100
        return reply(200, {"object": "list", "data": page, "has_more": more})

    def _batch(self, name: str) -> Reply:
        if name not in self.batches:
            return reply(404, {"error": {"message": f"No such batch {name}"}})
        if self.at_once and self.batches[name]["status"] == "in_progress":
            self.finish(name)
        return reply(200, self.batches[name])

    def _file(self, method: str, path: str) -> Reply:
        name = path.removeprefix("/files/").removesuffix("/content")
        if name not in self.files:
            return reply(404, {"error": {"message": f"No such file {name}"}})
        if method == "DELETE":
            del self.files[name]
            return reply(200, {"id": name, "deleted": True})
        return reply(200, self.files[name], {"content-type": "application/octet-stream"})


@contextlib.contextmanager
def serving(stub: OpenAiStub) -> Iterator[OpenAiStub]:
    """The API on a thread of its own, for who runs the program."""
    ready, loop = threading.Event(), asyncio.new_event_loop()
    over = asyncio.Event()

    async def serve() -> None:
        async with stub.open():
            ready.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(5)
        yield stub
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()
