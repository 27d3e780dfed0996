"""The one classifier (X-01, X-02, B49): a table of what went wrong and what it means."""

from __future__ import annotations

import ssl

import httpx
import pytest

from releasecheck.model.failure import LONGEST_MESSAGE
from releasecheck.redact import Redactor
from releasecheck.transport.classify import Classifier
from releasecheck.transport.exceptions import IncompleteBody, RefusedAnswer
from releasecheck.transport.http import HttpAnswer
from releasecheck.transport.process import ProcessEnd

SECRET = "hunter2-hunter2"
CLASSIFY = Classifier("target", Redactor({"TOKEN": SECRET}).text)


def answer(status: int, body: bytes = b"", **headers: str) -> HttpAnswer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpAnswer(status, httpx.Headers(named), body)


@pytest.mark.parametrize(
    ("status", "cls", "code", "again", "retryable"),
    [
        # Part of an answer is no answer: half a list may still look like one.
        (206, "infra", "partial_content", False, True),
        (300, "config", "redirect", False, False),
        (302, "config", "redirect", False, False),
        (400, "target", "bad_request", False, False),
        (401, "config", "unauthorized", False, False),
        (403, "config", "forbidden", False, False),
        (404, "config", "not_found", False, False),
        (418, "config", "client_error", False, False),
        (408, "infra", "request_timeout", False, True),
        (409, "infra", "conflict", False, True),
        (425, "infra", "too_early", False, True),
        (413, "target", "input_too_large", False, False),
        (422, "target", "bad_request", False, False),
        (429, "infra", "rate_limited", True, True),
        (500, "infra", "server_error", True, True),
        (503, "infra", "server_error", True, True),
        (599, "infra", "server_error", True, True),
    ],
)
def test_status__only_429_and_5xx_are_asked_again_at_once(
    status: int, cls: str, code: str, again: bool, retryable: bool
) -> None:
    trouble = CLASSIFY.status(answer(status), "POST http://a")
    assert trouble is not None
    found = trouble.failure
    assert (found.cls, found.code, trouble.again, found.retryable) == (cls, code, again, retryable)
    assert found.stage == "target"


def test_status__2xx_is_no_trouble() -> None:
    assert CLASSIFY.status(answer(200), "x") is None
    assert CLASSIFY.status(answer(204), "x") is None


def test_status__says_the_status_before_the_body_and_what_retry_after_asked() -> None:
    """B46: a 429 must not come out as a parse error."""
    trouble = CLASSIFY.status(answer(429, b"slow down", retry_after="2"), "POST http://a", 2.0)
    assert trouble is not None
    assert trouble.failure.message == "POST http://a: answered 429 (Retry-After: 2): slow down"
    assert trouble.asked_s == 2.0


@pytest.mark.parametrize(
    ("error", "cls", "code", "again", "sent"),
    [
        (httpx.ReadTimeout("t"), "infra", "timeout", True, True),
        (httpx.ConnectTimeout("t"), "infra", "connect", True, False),
        (TimeoutError(), "infra", "timeout", True, True),
        (httpx.ConnectError("refused"), "infra", "connect", True, False),
        (httpx.ProxyError("no"), "infra", "proxy", True, False),
        (httpx.ReadError("reset"), "infra", "connection_lost", True, True),
        (IncompleteBody("short"), "infra", "incomplete_body", True, True),
        (httpx.RemoteProtocolError("garbage"), "infra", "bad_http", True, True),
        (httpx.LocalProtocolError("newline"), "config", "bad_request_header", False, False),
        (httpx.UnsupportedProtocol("ftp"), "config", "bad_request_url", False, False),
        (RefusedAnswer("output_too_large", "big"), "target", "output_too_large", False, True),
        (RuntimeError("what"), "infra", "unexpected", False, True),
    ],
)
def test_exception__table(error: Exception, cls: str, code: str, again: bool, sent: bool) -> None:
    trouble = CLASSIFY.exception(error, "POST http://a")
    found = trouble.failure
    assert (found.cls, found.code, trouble.again, trouble.sent) == (cls, code, again, sent)


def test_exception__a_certificate_anywhere_in_the_chain_is_permanent() -> None:
    """B52: the cause first, and never again."""
    error = httpx.ConnectError("failed")
    error.__cause__ = OSError("wrapped")
    error.__cause__.__context__ = ssl.SSLCertVerificationError(1, "self-signed")
    trouble = CLASSIFY.exception(error, "POST https://a")
    assert (trouble.failure.code, trouble.failure.cls) == ("certificate", "config")
    assert not trouble.again
    assert not trouble.failure.retryable
    assert str(trouble.failure.message).startswith("certificate not trusted")


@pytest.mark.parametrize(
    ("end", "cls", "code", "retryable"),
    [
        (ProcessEnd(3, b"partial", "Traceback"), "target", "exit_code", False),
        (ProcessEnd(-9, b"", ""), "target", "signal", False),
        (ProcessEnd(-9, b"", "", timed_out_s=2.0), "target", "timeout", True),
        (ProcessEnd(-9, b"x", "", too_large=10), "target", "output_too_large", False),
        (ProcessEnd(1, b"", "MemoryError", memory_limited=True), "infra", "out_of_memory", False),
        (ProcessEnd(-9, b"", "", memory_limited=True), "infra", "out_of_memory", False),
        (ProcessEnd(1, b"", "MemoryError"), "target", "exit_code", False),
    ],
)
def test_exit__table(end: ProcessEnd, cls: str, code: str, retryable: bool) -> None:
    trouble = CLASSIFY.exit(end, "command app")
    assert trouble is not None
    found = trouble.failure
    assert (found.cls, found.code, found.retryable) == (cls, code, retryable)
    assert not trouble.again


def test_exit__shows_code_signal_and_the_tail_of_stderr() -> None:
    """B37."""
    trouble = CLASSIFY.exit(ProcessEnd(3, b"", "loading\n  \x1b[31mboom\x1b[0m\n"), "command app")
    assert trouble is not None
    assert trouble.failure.message == "command app: exit code 3; stderr ends: loading [31mboom [0m"
    killed = CLASSIFY.exit(ProcessEnd(-11, b"", ""), "command app")
    assert killed is not None
    assert killed.failure.message == "command app: ended by SIGSEGV"


def test_exit__zero_is_no_trouble() -> None:
    assert CLASSIFY.exit(ProcessEnd(0, b"", "warning"), "x") is None


@pytest.mark.parametrize("before", range(0, 600, 7))
def test_messages__no_part_of_a_secret_survives_the_cut(before: int) -> None:
    """Redacted first, cut second: a cut through the middle would leave half a secret."""
    text = "x" * before + SECRET + "y" * 600
    made = [
        CLASSIFY.status(answer(500, text.encode()), "POST http://a"),
        CLASSIFY.status(answer(302, location=text), "POST http://a"),
        CLASSIFY.exit(ProcessEnd(1, b"", text), "command app"),
        CLASSIFY.exception(httpx.ReadError(text), "POST http://a"),
    ]
    for trouble in made:
        assert trouble is not None
        message = str(trouble.failure.message)
        assert len(message) <= LONGEST_MESSAGE
        assert "hunter2" not in message


def test_messages__half_surrogates_and_line_breaks_cannot_reach_a_file() -> None:
    """B40, B115."""
    message = CLASSIFY.broken("x", "a\n::error::b \ud83d \x00c").failure.message
    assert message == "a ::error::b \ufffd c"


def test_stage__a_broken_judge_is_not_the_target() -> None:
    trouble = Classifier("judge", str).broken("exception", "boom")
    assert (trouble.failure.cls, trouble.failure.stage) == ("judge", "judge")
