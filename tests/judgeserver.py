"""A judge on loopback that speaks evaluator@2, well or badly, as a test wants it.

::

    with JudgeServer(after=2) as judge:            # the score is there with the second question
        judge.faults["collect"] = [status(429, {"retry-after": "1"}), HTML]
        ... ask judge.url, in this process or from another one ...
        assert judge.collected == [...]

What it does may be changed while it runs. It keeps what it gave: the same idempotency key gets the same
ticket, and a score that was delivered is delivered again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias

from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

CONTRACT: Final = "evaluator@2"
Call: TypeAlias = Literal["identity", "judge", "collect", "purge"]


@dataclass(frozen=True)
class Fault:
    """What comes instead of an answer."""

    kind: Literal["hang", "die", "answer"] = "answer"
    """`hang`: nothing, until the client leaves. `die`: half an answer, then the connection is gone."""
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


HANG: Final = Fault("hang")
DIE: Final = Fault("die")
HTML: Final = Fault(
    body=b"<html><body>Sign in</body></html>", headers={"content-type": "text/html"}
)


def status(code: int, headers: Mapping[str, str] | None = None, body: bytes = b"") -> Fault:
    """An answer that is none."""
    return Fault(status=code, headers=headers or {}, body=body)


def answer(body: object, code: int = 200) -> Fault:
    """These bytes, or this as JSON, as they are."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Fault(status=code, body=data)


def by_equality(asked: Mapping[str, Any]) -> dict[str, Any]:
    """1 where the output is what was expected."""
    return {"value": asked["output"] == asked["case"]["expected"]}


class JudgeServer:
    """The server; every attribute may be set while it runs."""

    def __init__(
        self,
        *,
        after: int | None = 1,
        after_s: float = 0.0,
        score: Callable[[Mapping[str, Any]], Any] = by_equality,
        contract: str = CONTRACT,
    ) -> None:
        self.after = after
        """Questions for a ticket until its score is there; 0 answers at once, None never has one."""
        self.after_s = after_s
        """Seconds until it is there, beside that."""
        self.score = score
        """What is asked to the `Score` that is sent, whatever that is."""
        self.contract = contract
        self.omits: Collection[str] = ()
        """Cases whose tickets are left out of every answer."""
        self.withheld: Collection[str] = ()
        """Tickets that are left out of every answer."""
        self.ticket: Callable[[Mapping[str, Any]], str] | None = None
        """What is asked to its ticket; None: one of its own for each idempotency key."""
        self.twice: Mapping[str, Any] = {}
        """Cases whose ticket stands in the answer twice, with the second `Score`."""
        self.invents: Mapping[str, Any] = {}
        """Tickets nobody asked for, with their `Score`, in every answer."""
        self.faults: dict[Call, list[Fault]] = {}
        """Come first, one after the other."""
        self.always: dict[Call, Fault] = {}
        """Come every time."""

        self.asked: list[dict[str, Any]] = []
        """Bodies of all that was to be judged."""
        self.collected: list[list[str]] = []
        """Tickets of every question for scores."""
        self.purged: list[list[str]] = []
        self.headers: list[dict[str, str]] = []
        """Of every request; names in lower case."""
        self.calls: Counter[Call] = Counter()
        self.left = threading.Event()
        """Set when a client has left a call that hangs."""
        self.hanging = threading.Event()
        """Set when a call hangs."""
        self.most_in_flight = 0

        self._in_flight = 0
        self._lock = threading.Lock()
        self._tickets: dict[str, dict[str, Any]] = {}
        self._questions: Counter[str] = Counter()
        self._asked_at: dict[str, float] = {}
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )

    @property
    def url(self) -> str:
        """Where outputs are sent."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/score"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.hang_up()
        self._server.server_close()

    def ticket_of(self, case: str, trial: int = 0) -> str:
        """The ticket that was given for a case."""
        return next(
            ticket
            for ticket, asked in self._tickets.items()
            if (asked["case"]["id"], asked["trial"]) == (case, trial)
        )

    def fault(self, call: Call) -> Fault | None:
        """What comes instead of the answer to this call."""
        with self._lock:
            self.calls[call] += 1
            waiting = self.faults.get(call)
            return waiting.pop(0) if waiting else self.always.get(call)

    def flying(self, change: int) -> None:
        """Count the calls that are under way."""
        with self._lock:
            self._in_flight += change
            self.most_in_flight = max(self.most_in_flight, self._in_flight)

    def on_identity(self) -> Fault:
        """`GET`."""
        return answer({"contract": self.contract, "name": "scripted"})

    def on_judge(self, body: bytes) -> Fault:
        """`POST`."""
        try:
            asked = json.loads(body)
            key = asked["idempotency_key"]
            _ = asked["case"]["id"], asked["output"]
        except (ValueError, KeyError, TypeError) as error:
            return answer({"error": repr(error)}, 400)
        with self._lock:
            self.asked.append(asked)
            if self.after == 0 and not self.after_s:
                return answer({"score": self.score(asked)})
            ticket = "t-" + hashlib.sha256(key.encode()).hexdigest()[:16]
            if self.ticket is not None:
                ticket = self.ticket(asked)
            self._tickets.setdefault(ticket, asked)
            self._asked_at.setdefault(ticket, time.monotonic())
        return answer({"state": "pending", "ticket": ticket}, 202)

    def on_collect(self, body: bytes) -> Fault:
        """`POST .../collect`."""
        tickets = json.loads(body)["tickets"]
        if len(tickets) > 50:
            return answer({"error": "at most 50 tickets"}, 400)
        with self._lock:
            self.collected.append(tickets)
            pairs: list[tuple[str, Any]] = []
            for ticket in tickets:
                pairs += self._arrived(ticket)
        pairs += list(self.invents.items())
        # Written by hand: a dict could not hold a ticket twice.
        inside = ", ".join(f"{json.dumps(ticket)}: {json.dumps(score)}" for ticket, score in pairs)
        return answer(b'{"scores": {' + inside.encode() + b"}}")

    def _arrived(self, ticket: str) -> list[tuple[str, Any]]:
        asked = self._tickets.get(ticket)
        if asked is None:
            return [(ticket, {"state": "failed", "reason": "no such ticket"})]
        case = asked["case"]["id"]
        if case in self.omits or ticket in self.withheld:
            return []
        self._questions[ticket] += 1
        early = time.monotonic() - self._asked_at[ticket] < self.after_s
        if self.after is None or early or self._questions[ticket] < self.after:
            return [(ticket, {"state": "pending"})]
        pairs = [(ticket, self.score(asked))]
        if case in self.twice:
            pairs.append((ticket, self.twice[case]))
        return pairs

    def on_purge(self, body: bytes) -> Fault:
        """`DELETE .../traces`."""
        tickets = json.loads(body)["tickets"]
        with self._lock:
            self.purged.append(tickets)
            for ticket in tickets:
                self._tickets.pop(ticket, None)
        return answer({"deleted": len(tickets)})


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, *arguments: Any) -> None:
        self._connections: set[socket.socket] = set()
        super().__init__(*arguments)

    @override
    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    @override
    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        return None  # clients that leave are part of the tests

    def hang_up(self) -> None:
        """End every connection, so that no thread waits for a client any more."""
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def _handler(judge: JudgeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self._answer("identity", lambda _: judge.on_identity())

        def do_POST(self) -> None:
            if self.path.endswith("/collect"):
                self._answer("collect", judge.on_collect)
            else:
                self._answer("judge", judge.on_judge)

        def do_DELETE(self) -> None:
            self._answer("purge", judge.on_purge)

        def _answer(self, call: Call, make: Callable[[bytes], Fault]) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            judge.headers.append({name.lower(): value for name, value in self.headers.items()})
            judge.flying(1)
            try:
                made = judge.fault(call) or make(body)
                if made.kind == "hang":
                    judge.hanging.set()
                    self.connection.recv(1)
                    self.close_connection = True
                    judge.left.set()
                    return
                self._send(made)
            finally:
                judge.flying(-1)

        def _send(self, made: Fault) -> None:
            sent = {"content-type": "application/json", **made.headers}
            body = b'{"scores": {' if made.kind == "die" else made.body
            length = len(body) + (1000 if made.kind == "die" else 0)
            lines = [f"HTTP/1.1 {made.status} {'OK' if made.status < 400 else 'No'}"]
            lines += [f"{name}: {value}" for name, value in sent.items()]
            lines.append(f"content-length: {length}")
            self.wfile.write("\r\n".join([*lines, "", ""]).encode() + body)
            if made.kind == "die":
                self.close_connection = True

        @override
        def log_message(self, format: str, *args: Any) -> None:
            return None

    return Handler
