"""The one classifier of failures (X-01, X-02): from an exception, a status or an exit to a `Failure`.

Everything that decides about trying again reads what is decided here. A failure's class says whose it
is, `retryable` whether another run of the shard has something to do, and `again` whether to ask again
at once: only for transport failures, 429 and 5xx.
"""

from __future__ import annotations

import signal
import socket
import ssl
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from releasecheck.canonical import clean_text
from releasecheck.model.failure import Failure, FailureClass, Stage, failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from releasecheck.transport.http import HttpAnswer
    from releasecheck.transport.process import ProcessEnd

EXCERPT: Final = 200
"""Characters of a foreign text that a message quotes."""
LOOKED_AT: Final = 4096
"""Characters of it that secrets are looked for in before the quote is cut."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """A failed attempt."""

    failure: Failure
    again: bool = False
    """Whether another attempt may help: transport, 429, 5xx."""
    sent: bool = True
    """Whether the other side may have acted on the request."""
    asked_s: float | None = None
    """What a `Retry-After` asked for."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A row of the tables."""

    cls: FailureClass | None
    """None: the thing that was asked broke (`target` or `judge`, by stage)."""
    code: str
    again: bool = False
    retryable: bool = False
    sent: bool = True


_UNKNOWN: Final = Kind("infra", "unexpected", retryable=True)

_STATUSES: Final[dict[int, Kind]] = {
    # Nobody asked for a part, and half an answer may look like a whole one.
    206: Kind("infra", "partial_content", retryable=True),
    # The target refuses this input; others may pass.
    400: Kind(None, "bad_request"),
    413: Kind(None, "input_too_large"),
    422: Kind(None, "bad_request"),
    401: Kind("config", "unauthorized"),
    403: Kind("config", "forbidden"),
    404: Kind("config", "not_found"),
    405: Kind("config", "method_not_allowed"),
    # The server did not act, or acts already; a later run may find it free (B49).
    408: Kind("infra", "request_timeout", retryable=True),
    409: Kind("infra", "conflict", retryable=True),
    425: Kind("infra", "too_early", retryable=True),
    429: Kind("infra", "rate_limited", again=True, retryable=True, sent=False),
}


@dataclass(frozen=True, slots=True)
class Classifier:
    """Turns what went wrong into `Trouble`, for one stage, with secrets removed from messages."""

    stage: Stage
    redact: Callable[[str], str]
    """Removes secret values; applied before the message is cut."""

    def trouble(self, kind: Kind, message: str, asked_s: float | None = None) -> Trouble:
        """A failed attempt of a known kind."""
        cls: FailureClass = kind.cls or (
            "judge" if self.stage in ("judge", "collect") else "target"
        )
        found = failure(cls, self.stage, kind.code, self.clean(message), retryable=kind.retryable)
        return Trouble(found, again=kind.again, sent=kind.sent, asked_s=asked_s)

    def clean(self, text: str) -> str:
        """One line without secrets, half surrogates and control characters."""
        return " ".join(printable(self.redact(clean_text(text))).split())

    def start_of(self, text: str) -> str:
        """The beginning of a foreign text; redacted first, since half a secret is not recognised."""
        line = self.clean(text[:LOOKED_AT])
        return line if len(line) <= EXCERPT else line[: EXCERPT - 3] + "..."

    def end_of(self, stderr: str) -> str:
        """`; stderr ends: ...`, or nothing for an empty one."""
        line = self.clean(stderr[-LOOKED_AT:])
        return f"; stderr ends: {line[-EXCERPT:]}" if line else ""

    def broken(self, code: str, message: str) -> Trouble:
        """The thing that was asked answered, but not with an answer; asking again changes nothing."""
        return self.trouble(Kind(None, code), message)

    def outcome(self, code: str, message: str) -> Trouble:
        """A legitimate end that is no answer: refused, filtered, cut at its own limit."""
        return self.trouble(Kind("outcome", code), message)

    def config(self, code: str, message: str) -> Trouble:
        """It cannot work as it is configured; nothing was sent."""
        return self.trouble(Kind("config", code, sent=False), message)

    def infra(self, code: str, message: str, *, again: bool = False) -> Trouble:
        """The way there broke; another run may find it mended."""
        return self.trouble(Kind("infra", code, again=again, retryable=True), message)

    def exception(self, error: Exception, doing: str) -> Trouble:
        """From an exception of the transport; `doing` says what was tried, e.g. `POST http://...`."""
        # Here, so that who calls no HTTP does not wait for its libraries.
        from releasecheck.transport.exceptions import EXCEPTIONS, RefusedAnswer

        if isinstance(error, RefusedAnswer):
            return self.broken(error.code, f"{doing}: {error}")
        chain = list(_causes(error))
        refused = next((c for c in chain if isinstance(c, ssl.SSLCertVerificationError)), None)
        if refused is not None:
            why = getattr(refused, "verify_message", "") or str(refused)
            return self.trouble(
                Kind("config", "certificate", sent=False),
                f"certificate not trusted: {why}. {doing}. If its authority is "
                "your own, name its PEM file in SSL_CERT_FILE",
            )
        kind = next((k for type_, k in EXCEPTIONS if isinstance(error, type_)), _UNKNOWN)
        if kind.code == "connect":
            if any(isinstance(c, socket.gaierror) for c in chain):
                kind = replace(kind, code="dns")
            elif any(isinstance(c, ssl.SSLError) for c in chain):
                kind = replace(kind, code="tls")
        said = str(error) or type(error).__name__
        if kind is _UNKNOWN:
            said = f"{type(error).__name__}: {said}"
        return self.trouble(kind, f"{doing}: {said}")

    def status(
        self, answer: HttpAnswer, doing: str, asked_s: float | None = None
    ) -> Trouble | None:
        """From a status; None when it is 2xx with a whole answer. Looked at before the body (B46)."""
        code = answer.status
        if 200 <= code < 300 and code not in _STATUSES:
            return None
        if 300 <= code < 400:
            where = self.start_of(answer.headers.get("location", "nowhere"))
            return self.trouble(
                Kind("config", "redirect"),
                f"{doing}: answered {code}, a redirect to {where!r}; redirects are not "
                "followed, so put the final address into the config",
            )
        if code >= 500:
            kind = Kind("infra", "server_error", again=True, retryable=True)
        else:
            kind = _STATUSES.get(code, Kind("config", "client_error"))
        text = self.start_of(answer.body[:LOOKED_AT].decode("utf-8", "replace"))
        said = f": {text}" if text else ""
        asked = (
            f" (Retry-After: {answer.headers['retry-after'][:40]})"
            if "retry-after" in answer.headers
            else ""
        )
        return self.trouble(kind, f"{doing}: answered {code}{asked}{said}", asked_s)

    def exit(self, end: ProcessEnd, doing: str) -> Trouble | None:
        """From how a process ended; None when it exited 0 within its limits."""
        if end.timed_out_s is not None:
            return self.timed_out(doing, end.timed_out_s, end.stderr_tail)
        if end.too_large is not None:
            message = f"{doing}: more than {end.too_large} bytes on stdout; stopped"
            return self.broken("output_too_large", message)
        if end.code == 0:
            return None
        return self.died(doing, end.code, end.stderr_tail, limited=end.memory_limited)

    def timed_out(self, doing: str, within_s: float, stderr: str) -> Trouble:
        """A process did not answer in time and was killed: no transport failed, so not again now."""
        message = f"{doing}: not finished within {within_s:g} s; stopped with all it had started"
        return self.trouble(Kind(None, "timeout", retryable=True), message + self.end_of(stderr))

    def died(self, doing: str, code: int, stderr: str, *, limited: bool) -> Trouble:
        """A process ended with a code other than 0 or (negative) by a signal."""
        if limited and (code in (-9, 137) or any(sign in stderr for sign in _NO_MEMORY)):
            return self.out_of_memory(doing, stderr)
        if code < 0:
            return self.broken(
                "signal", f"{doing}: ended by {signal_name(-code)}{self.end_of(stderr)}"
            )
        return self.broken("exit_code", f"{doing}: exit code {code}{self.end_of(stderr)}")

    def out_of_memory(self, doing: str, stderr: str = "") -> Trouble:
        """Fatal as it is (X-02): the same run would need the same memory again."""
        message = f"{doing}: out of memory under its memory_limit"
        return self.trouble(Kind("infra", "out_of_memory"), message + self.end_of(stderr))


_NO_MEMORY: Final = ("MemoryError", "bad_alloc", "Cannot allocate memory", "OutOfMemory")


def signal_name(number: int) -> str:
    """`SIGKILL` or the like."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    todo: list[BaseException | None] = [error]
    while todo:
        one = todo.pop(0)
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        # aiohttp keeps the operating system's error beside the chain.
        inner = getattr(one, "os_error", None) or getattr(one, "certificate_error", None)
        todo += [one.__cause__, one.__context__, inner]
        if isinstance(inner, BaseExceptionGroup):
            todo += inner.exceptions


def printable(text: str) -> str:
    """Control characters (colour codes, carriage returns, NUL) as spaces."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " for c in text)
