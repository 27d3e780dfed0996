"""What can go wrong with HTTP: our two exceptions beside httpx's, and the class of each (B49, B52, B53)."""

from __future__ import annotations

from typing import Final

import httpx

from releasecheck.transport.classify import Kind


class IncompleteBody(httpx.RemoteProtocolError):
    """The connection ended inside the body; what came of it is no answer (B53)."""


class RefusedAnswer(Exception):
    """An answer came that we do not take; `code` names why."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


_TIMEOUT: Final = Kind("infra", "timeout", again=True, retryable=True)

EXCEPTIONS: Final[tuple[tuple[type[Exception], Kind], ...]] = (
    # The first that fits counts, so subclasses stand before their bases.
    (httpx.ConnectTimeout, Kind("infra", "connect", again=True, retryable=True, sent=False)),
    (httpx.TimeoutException, _TIMEOUT),
    (TimeoutError, _TIMEOUT),
    (httpx.ProxyError, Kind("infra", "proxy", again=True, retryable=True, sent=False)),
    (httpx.ConnectError, Kind("infra", "connect", again=True, retryable=True, sent=False)),
    (httpx.NetworkError, Kind("infra", "connection_lost", again=True, retryable=True)),
    (IncompleteBody, Kind("infra", "incomplete_body", again=True, retryable=True)),
    (httpx.RemoteProtocolError, Kind("infra", "bad_http", again=True, retryable=True)),
    (httpx.UnsupportedProtocol, Kind("config", "bad_request_url", sent=False)),
    (httpx.InvalidURL, Kind("config", "bad_request_url", sent=False)),
    (httpx.LocalProtocolError, Kind("config", "bad_request_header", sent=False)),
    (httpx.TransportError, Kind("infra", "transport", again=True, retryable=True)),
)
