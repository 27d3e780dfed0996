"""Real-world faults of HTTP, through the command line (B46 to B53).

B47 asks for judges on the same host: judges over HTTP are not part of this version; the gate that they
will share is tested in `tests/unit/transport`. The early end of a run after the same refusal again and
again (B49) is in `test_resume.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from typing import TYPE_CHECKING, Any

import pytest
import trustme

from tests.e2e.faulty import (
    asks,
    calls,
    cli,
    decided,
    failure_of,
    not_measured,
    order,
    rows,
    served,
    state_of,
    suite_of,
)
from tests.e2e.suites import ledger
from tests.stubs import Raw, Reply, Request, Stub, always, at_most, in_turn, reply

if TYPE_CHECKING:
    from pathlib import Path

REFUND = {"id": "refund", "type": "contains", "value": "30 da"}
CLEAN = {"id": "clean", "type": "contains", "value": "password", "negate": True}
GATES = [
    {"id": "all-refund", "metric": "refund", "require": "all"},
    {"id": "all-clean", "metric": "clean", "require": "all"},
]
GOOD = reply(200, {"output": "within 30 days"})


def http(stub: Stub, path: str = "/chat", **spec: Any) -> dict[str, Any]:
    """A target in front of a scripted server."""
    return {"type": "http", "url": stub.url + path, "output": "output", **spec}


def both_failed(out: Path, case: str = "c0") -> None:
    """Neither the judge that a stump may please nor the negated one saw anything."""
    assert state_of(out, case, "refund") == ("failed", None)
    assert state_of(out, case, "clean") == ("failed", None)
    assert rows(out)[case]["output"] is None


@pytest.mark.parametrize("retries", [0, 1])
def test_b46__rate_limit_is_told_from_its_status(tmp_path: Path, retries: int) -> None:
    """B46: the body is no JSON; code, attempts made and the last Retry-After are on record."""
    limited = [reply(429, b"slow down", {"Retry-After": str(n)}) for n in range(retries + 1)]
    with served(in_turn(limited)) as stub:
        suite = suite_of(
            tmp_path, asks("x"), http(stub, retries=retries), REFUND, CLEAN, gates=GATES
        )
        done = cli("run", suite.path, cwd=tmp_path)
        not_measured(done, suite)
        assert len(stub.requests) == retries + 1
    assert failure_of(suite.out, "c0") == ("infra", "rate_limited", True)
    assert calls(suite.out) == {"c0": retries + 1}
    message = rows(suite.out)["c0"]["failure"]["message"]
    assert f"Retry-After: {retries}" in message
    assert "slow down" in message
    assert message.startswith("after 2 attempts: ") == bool(retries)
    assert "rate_limited" in done.err
    both_failed(suite.out)


def test_b47__burst_of_429_loses_no_verdict(tmp_path: Path) -> None:
    """B47: 40 cases, 8 at once, and a server that takes 2: all are answered and judged, in order."""
    with served(at_most(2, reply(200, {"output": "x"}))) as stub:
        suite = suite_of(tmp_path, asks(*range(40)), http(stub, concurrency=8, retries=1))
        card = decided(cli("run", suite.path, cwd=tmp_path), suite, code=0)
        asked = len(stub.requests)
        # What was refused was asked again, once each at most.
        assert 40 < asked <= 80
        keys = [request.headers["idempotency-key"] for request in stub.requests]
    assert len(set(keys)) == 40
    assert max(keys.count(key) for key in keys) <= 2
    assert card["counts"]["scored"] == 40
    assert sum(calls(suite.out).values()) == asked
    assert order(suite.out) == [f"c{n}" for n in range(40)]


def test_b47__unresolved_429_is_no_verdict(tmp_path: Path) -> None:
    """B47: one of many stays limited: the run is not measured, and a shard has something to redo."""

    async def script(request: Request) -> Reply:
        return reply(429, b"no") if request.json()["input"] == 3 else reply(200, {"output": "x"})

    with served(Stub(script)) as stub:
        suite = suite_of(tmp_path, asks(*range(6)), http(stub, concurrency=3))
        card = not_measured(cli("run", suite.path, cwd=tmp_path), suite)
        assert len(stub.requests) == 6
    assert (card["counts"]["scored"], card["counts"]["failed"]) == (5, 1)
    assert "1 of 6" in card["incomplete"][0]["message"]
    assert card["metrics"][0]["n_scored"] == 5


@pytest.mark.parametrize(
    ("status", "failure"),
    [
        (400, ("target", "bad_request", False)),
        (401, ("config", "unauthorized", False)),
        (403, ("config", "forbidden", False)),
        (404, ("config", "not_found", False)),
        (418, ("config", "client_error", False)),
        (422, ("target", "bad_request", False)),
    ],
)
def test_b49__a_refusal_is_never_asked_again(
    tmp_path: Path, status: int, failure: tuple[str, str, bool]
) -> None:
    """B49: one call per case whatever `retries` says; the reason is told at the first."""
    with served(always(reply(status, b"no such key"))) as stub:
        suite = suite_of(
            tmp_path, asks("x", "y", "z"), http(stub, retries=4), REFUND, CLEAN, gates=GATES
        )
        done = cli("run", suite.path, cwd=tmp_path)
        not_measured(done, suite)
        assert len(stub.requests) == 3
    for case in ("c0", "c1", "c2"):
        assert failure_of(suite.out, case) == failure
        both_failed(suite.out, case)
    assert f"answered {status}" in done.err
    assert "no such key" in done.err
    assert cli("resume", suite.out, cwd=tmp_path).code == 2  # final: nothing a re-run could mend
    assert len(stub.requests) == 3


@pytest.mark.parametrize(("retries", "asked"), [(0, 1), (1, 2)])
@pytest.mark.parametrize("status", [500, 503])
def test_b49__retries_are_what_they_are_told_to_be(
    tmp_path: Path, status: int, retries: int, asked: int
) -> None:
    """B49: 0 is one call, not the default; a 5xx is worth another run."""
    with served(always(reply(status, b"", {"Retry-After": "0"}))) as stub:
        suite = suite_of(tmp_path, asks("x"), http(stub, retries=retries))
        not_measured(cli("run", suite.path, cwd=tmp_path), suite)
        assert len(stub.requests) == asked
    assert failure_of(suite.out, "c0") == ("infra", "server_error", True)
    assert calls(suite.out) == {"c0": asked}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_b50__redirect_is_not_followed(tmp_path: Path, status: int) -> None:
    """B50: the landing page would please the judge; it is never asked for, and the key stays home."""

    async def welcome(_: Request) -> Reply:
        return reply(200, {"output": "Welcome! Our refund policy is 30 days."})

    with (
        served(Stub(welcome)) as page,
        served(always(reply(status, b"", {"Location": f"{page.url}/login"}))) as stub,
    ):
        target = http(stub, retries=2, headers={"Authorization": "Bearer here-only"})
        suite = suite_of(tmp_path, asks("x"), target, REFUND, CLEAN, gates=GATES)
        not_measured(cli("run", suite.path, cwd=tmp_path), suite)
        assert (len(stub.requests), page.connections) == (1, 0)
        location = f"{page.url}/login"
    assert failure_of(suite.out, "c0") == ("config", "redirect", False)
    assert location in rows(suite.out)["c0"]["failure"]["message"]
    both_failed(suite.out)


class Untrusted:
    """A server with a certificate that nobody vouches for; counts what it accepts."""

    def __init__(self) -> None:
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trustme.CA().issue_cert("localhost").configure_cert(self._tls)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://localhost:{self._listener.getsockname()[1]}"
        self.accepted = 0
        self.read = b""
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed
                return
            self.accepted += 1
            with (
                contextlib.suppress(OSError),
                connection,
                self._tls.wrap_socket(connection, server_side=True) as wrapped,
            ):
                self.read += wrapped.recv(1)

    def close(self) -> None:
        """Stop listening."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)


def test_b52__certificate_is_refused_once(tmp_path: Path) -> None:
    """B52: exactly one connection, the cause first, and where to name an own authority."""
    server = Untrusted()
    try:
        target = {"type": "http", "url": server.url, "output": "output", "retries": 4}
        suite = suite_of(tmp_path, asks("x"), target, REFUND, CLEAN, gates=GATES)
        done = cli("run", suite.path, cwd=tmp_path)
        not_measured(done, suite)
    finally:
        server.close()
    assert (server.accepted, server.read) == (1, b"")
    assert failure_of(suite.out, "c0") == ("config", "certificate", False)
    message = rows(suite.out)["c0"]["failure"]["message"]
    assert message.startswith("certificate not trusted: ")
    assert "SSL_CERT_FILE" in message
    assert "certificate not trusted" in done.err
    assert calls(suite.out) == {"c0": 1}
    both_failed(suite.out)


def test_b52__own_authority_is_trusted_when_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B52: the way out that the message names works."""
    authority = trustme.CA()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(tls)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    with served(always(GOOD), tls) as stub:
        suite = suite_of(tmp_path, asks("x"), http(stub), REFUND, CLEAN, gates=GATES)
        decided(cli("run", suite.path, cwd=tmp_path), suite, code=0)
    assert calls(suite.out) == {"c0": 1}


CUT = {
    "shorter than its length": (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n"
        b'{"output":"The refund window is 30 days"}'
    ),
    "cut off between chunks": (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        b'14\r\n{"output":"30 days"}\r\n'
    ),
    "cut off in a chunk": (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        b'40\r\n{"output":"30 days"}'
    ),
    "plain text": b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 500\r\n\r\n30 days",
    "cut off in the head": b"HTTP/1.1 200 OK\r\nContent-Type: applica",
    "nothing at all": b"",
}


@pytest.mark.parametrize("cut", CUT)
def test_b53__incomplete_body_is_no_answer(tmp_path: Path, cut: str) -> None:
    """B53: even where the stump is JSON by itself; a re-run has something to do."""
    with served(always(Raw(CUT[cut], close=True))) as stub:
        spec: dict[str, Any] = {"output": None} if cut == "plain text" else {}
        suite = suite_of(tmp_path, asks("x"), http(stub, **spec), REFUND, CLEAN, gates=GATES)
        not_measured(cli("run", suite.path, cwd=tmp_path), suite)
        assert len(stub.requests) == 1
    cls, _, retryable = failure_of(suite.out, "c0")
    assert (cls, retryable) == ("infra", True)
    assert calls(suite.out) == {"c0": 1}
    both_failed(suite.out)


def test_b53__retry_after_a_cut_is_counted_once(tmp_path: Path) -> None:
    """B53: the server may have acted: the same key again, one answer, one score, two calls on record."""
    with served(in_turn([Raw(CUT["cut off in a chunk"], close=True), GOOD, GOOD])) as stub:
        suite = suite_of(
            tmp_path, asks("x", "y"), http(stub, retries=1), REFUND, CLEAN, gates=GATES
        )
        card = decided(cli("run", suite.path, cwd=tmp_path), suite, code=0)
        keys = [request.headers["idempotency-key"] for request in stub.requests]
    assert len(keys) == 3
    assert len(set(keys)) == 2
    assert calls(suite.out) == {"c0": 2, "c1": 1}
    outputs = [record for record in ledger(suite.out / "results") if record["record"] == "output"]
    assert len(outputs) == 2
    assert card["counts"]["scored"] == 4


def test_b53__reset_while_others_are_answered(tmp_path: Path) -> None:
    """B53: the case that was cut off is missing a score; its neighbours on other connections have theirs."""

    async def script(request: Request) -> Reply:
        await asyncio.sleep(0.01)
        if request.json()["input"] == 2:
            return Raw(CUT["shorter than its length"], close=True)
        return GOOD

    with served(Stub(script)) as stub:
        target = http(stub, concurrency=4)
        suite = suite_of(tmp_path, asks(*range(8)), target, REFUND, CLEAN, gates=GATES)
        card = not_measured(cli("run", suite.path, cwd=tmp_path), suite)
        assert len(stub.requests) == 8
    assert (card["counts"]["scored"], card["counts"]["failed"]) == (14, 2)
    both_failed(suite.out, "c2")
