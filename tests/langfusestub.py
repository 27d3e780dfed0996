"""A Langfuse on loopback: the public API's paths, shapes, errors and limits, and nothing else.

Kept in a thread, so that it serves tests in this process and programs that tests start alike::

    with LangfuseStub(evaluator=lambda trace: [numeric("tone", 0.8)]) as langfuse:
        ...  # langfuse.url, langfuse.environment
"""

from __future__ import annotations

import base64
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self, TypeAlias
from urllib.parse import parse_qs, urlsplit

from typing_extensions import override

Trace: TypeAlias = dict[str, Any]
Score: TypeAlias = dict[str, Any]
PUBLIC_KEY: Final = "pk-lf-0123456789"
SECRET_KEY: Final = "sk-lf-9876543210"
AT: Final = "2026-01-05T09:00:00.000Z"
LARGEST: Final = 3_500_000
MOST: Final = 100
"""Scores in one page; more is status 400."""


def numeric(name: str, value: float, **rest: Any) -> Score:
    """A score that is a number."""
    return {"name": name, "dataType": "NUMERIC", "value": value, **rest}


def boolean(name: str, value: bool, **rest: Any) -> Score:
    """A score that is true or false."""
    return {"name": name, "dataType": "BOOLEAN", "value": value, **rest}


def category(name: str, value: str, **rest: Any) -> Score:
    """A score that is one of some words."""
    return {"name": name, "dataType": "CATEGORICAL", "value": value, **rest}


@dataclass(frozen=True)
class Planned:
    """An answer that is given instead of the real one."""

    path: str
    """The start of the path it is for."""
    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Seen:
    """One request."""

    method: str
    path: str
    query: dict[str, str]
    body: Any


class LangfuseStub:
    """One project of one deployment."""

    def __init__(
        self,
        *,
        evaluator: Callable[[Trace], Iterable[Score]] | None = None,
        has_v3: bool = True,
        has_v2: bool = True,
        can_delete: bool = True,
        page: int = MOST,
        lag_s: float = 0.0,
        refuse: Callable[[Trace], tuple[int, str] | None] = lambda _: None,
    ) -> None:
        """Take what kind of deployment it is.

        Args:
            evaluator: Scores each new trace; None scores nothing by itself (see `score`).
            has_v3: Off before version 3.179.
            has_v2: Off from version 4.
            can_delete: Whether traces can be deleted.
            page: Scores in one page, where fewer than what is asked for.
            lag_s: Seconds until a trace and what is scored on it can be read.
            refuse: Status and message of an event that is not taken, although the request is.
        """
        self.evaluator = evaluator
        self.has_v3, self.has_v2, self.can_delete = has_v3, has_v2, can_delete
        self.page, self.lag_s, self.refuse = page, lag_s, refuse
        self.traces: dict[str, Trace] = {}
        self.scores: list[Score] = []
        """As version 3 shows them, with all groups of fields, `at` being our own clock."""
        self.deleted: list[str] = []
        self.requests: list[Seen] = []
        self.planned: deque[Planned] = deque()
        """Answered in their place, each once, in their order."""
        self._events: set[str] = set()
        self._lock = threading.RLock()
        stub = self

        class Handler(_Handler):
            langfuse = stub

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables that a judge reads by default."""
        return {
            "LANGFUSE_BASE_URL": self.url,
            "LANGFUSE_PUBLIC_KEY": PUBLIC_KEY,
            "LANGFUSE_SECRET_KEY": SECRET_KEY,
        }

    def __enter__(self) -> Self:
        """Listen."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()

    def score(self, trace: str, *scores: Score) -> None:
        """Give scores to a trace, as an evaluator, a person or a program would."""
        with self._lock:
            for one in scores:
                self.scores.append(
                    {
                        "id": f"score-{len(self.scores)}",
                        "projectId": "project",
                        "source": "EVAL",
                        "timestamp": AT,
                        "environment": "default",
                        "createdAt": AT,
                        "updatedAt": AT,
                        "comment": None,
                        "configId": None,
                        "metadata": {},
                        "subject": {"kind": "trace", "id": trace},
                        "at": time.monotonic(),
                        **one,
                    }
                )

    def plan(self, path: str, status: int, body: bytes = b"", **headers: str) -> None:
        """Answer the next request for this path so."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.planned.append(Planned(path, status, body, named))

    def to(self, path: str) -> list[Seen]:
        """Requests for a path."""
        return [seen for seen in self.requests if seen.path.startswith(path)]

    def ingest(self, batch: list[Any]) -> tuple[int, Any]:
        """Take events; each has a status of its own."""
        taken, refused = [], []
        for event in batch:
            body = event.get("body") or {}
            if event.get("type") != "trace-create" or not isinstance(body.get("id"), str):
                refused.append({"id": event.get("id"), "status": 400, "message": "Invalid event"})
                continue
            if (no := self.refuse(body)) is not None:
                refused.append({"id": event["id"], "status": no[0], "message": no[1]})
                continue
            taken.append({"id": event["id"], "status": 201})
            if event["id"] in self._events:
                continue
            self._events.add(event["id"])
            self.traces[body["id"]] = {**body, "at": time.monotonic()}
            if self.evaluator is not None:
                self.score(body["id"], *self.evaluator(body))
        return 207, {"successes": taken, "errors": refused}

    def _found(self, query: dict[str, str], traces: set[str]) -> list[Score]:
        until = time.monotonic() - self.lag_s
        names, sources = (query.get(key, "").split(",") for key in ("name", "source"))
        return [
            score
            for score in self.scores
            if score["at"] <= until
            and (not traces or {score["subject"]["id"], score["subject"].get("traceId")} & traces)
            and (names == [""] or score["name"] in names)
            and (sources == [""] or score["source"] in [one.upper() for one in sources])
        ]

    def v3(self, query: dict[str, str]) -> tuple[int, Any]:
        """The scores API as it is now."""
        groups = {"details", "subject", "annotation"}
        asked = set(filter(None, query.get("fields", "").split(",")))
        if not asked <= groups:
            return 400, {"message": "Invalid request data: unknown field group"}
        found = self._found(query, set(filter(None, query.get("traceId", "").split(","))))
        start = int(base64.urlsafe_b64decode(query["cursor"])) if "cursor" in query else 0
        size = min(int(query.get("limit", "50")), self.page)
        shown = [_shown(score, asked) for score in found[start : start + size]]
        meta: dict[str, Any] = {"limit": size}
        if start + size < len(found):
            meta["cursor"] = base64.urlsafe_b64encode(str(start + size).encode()).decode()
        return 200, {"data": shown, "meta": meta}

    def v2(self, query: dict[str, str]) -> tuple[int, Any]:
        """The scores API as it was: one trace, pages by number, categories as `stringValue`."""
        found = self._found(query, {query["traceId"]} if "traceId" in query else set())
        size = min(int(query.get("limit", "50")), self.page)
        page = int(query.get("page", "1"))
        total = -(-len(found) // size)
        meta = {"page": page, "limit": size, "totalItems": len(found), "totalPages": total}
        shown = [_flat(score) for score in found[(page - 1) * size : page * size]]
        return 200, {"data": shown, "meta": meta}

    def delete(self, traces: list[str]) -> tuple[int, Any]:
        """Delete traces and what is scored on them; unknown ones are no error."""
        self.deleted += [trace for trace in traces if self.traces.pop(trace, None) is not None]
        self.scores = [one for one in self.scores if one["subject"]["id"] not in traces]
        return 200, {"message": f"Traces deletion initiated for {len(traces)} traces"}

    def answer(self, seen: Seen, authorization: str) -> tuple[int, Any, dict[str, str]]:
        """Status, body and headers for one request."""
        with self._lock:
            self.requests.append(seen)
            for planned in self.planned:
                if seen.path.startswith(planned.path):
                    self.planned.remove(planned)
                    return planned.status, planned.body, planned.headers
            expected = base64.b64encode(f"{PUBLIC_KEY}:{SECRET_KEY}".encode()).decode()
            if authorization != f"Basic {expected}":
                said = {"error": "Unauthorized", "message": "Invalid credentials. Confirm the host"}
                return 401, said, {}
            return (*self._routed(seen), {})

    def _routed(self, seen: Seen) -> tuple[int, Any]:
        scores = {"/api/public/v3/scores": self.v3, "/api/public/v2/scores": self.v2}
        there = {"/api/public/v3/scores": self.has_v3, "/api/public/v2/scores": self.has_v2}
        match seen.method, seen.path:
            case "POST", "/api/public/ingestion":
                if not isinstance(seen.body, dict) or not isinstance(seen.body.get("batch"), list):
                    return 400, {"message": "Invalid request data"}
                return self.ingest(seen.body["batch"])
            case "GET", path if there.get(path):
                if int(seen.query.get("limit", "50")) > MOST:
                    return 400, {"message": "Invalid request data: limit"}
                return scores[path](seen.query)
            case "DELETE", "/api/public/traces" if self.can_delete:
                return self.delete(seen.body["traceIds"])
            case _:
                return 404, {"message": "Not Found", "error": "LangfuseNotFoundError"}


def _shown(score: Score, asked: set[str]) -> Score:
    hidden = {"at"}
    if "details" not in asked:
        hidden |= {"comment", "configId", "metadata"}
    if "subject" not in asked:
        hidden |= {"subject"}
    return {key: value for key, value in score.items() if key not in hidden}


def _flat(score: Score) -> Score:
    kind, value, subject = score["dataType"], score["value"], score["subject"]
    flat = {key: item for key, item in score.items() if key not in {"at", "subject"}}
    if kind == "CATEGORICAL":
        flat |= {"value": 0, "stringValue": value}
    elif kind == "BOOLEAN":
        flat |= {"value": int(value), "stringValue": str(bool(value))}
    trace = subject["id"] if subject["kind"] == "trace" else subject.get("traceId")
    return {**flat, "traceId": trace, "observationId": None, "sessionId": None}


class _Handler(BaseHTTPRequestHandler):
    langfuse: LangfuseStub
    protocol_version = "HTTP/1.1"

    def _serve(self) -> None:
        length = int(self.headers.get("content-length", "0"))
        data = self.rfile.read(length)
        parts = urlsplit(self.path)
        query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
        body = json.loads(data) if data else None
        seen = Seen(self.command, parts.path, query, body)
        said: Any = {"message": "Request body too large"}
        status, headers = 413, dict[str, str]()
        if length <= LARGEST:
            key = self.headers.get("authorization", "")
            status, said, headers = self.langfuse.answer(seen, key)
        raw = said if isinstance(said, bytes) else json.dumps(said).encode()
        kind = "text/html" if isinstance(said, bytes) else "application/json"
        self.send_response(status)
        for name, value in {
            "content-type": kind,
            "content-length": str(len(raw)),
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    do_GET = do_POST = do_DELETE = _serve  # noqa: N815 - names of the standard library

    @override
    def log_message(self, format: str, *args: object) -> None:
        return None
