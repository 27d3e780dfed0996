"""aiohttp as a transport under httpx's interface (why: docs/decisions/0003-http-transport.md).

httpx's own pool costs time quadratic in open connections. aiohttp carries the bytes here, and every way
it can fail is mapped to the httpx exception that means the same, so callers know httpx only.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import aiohttp
import httpx
from typing_extensions import override
from yarl import URL

from releasecheck.transport.exceptions import IncompleteBody

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Callable, Iterator

LONGEST_HEADER: Final = 65_536
"""Bytes of one header line that are read; aiohttp's own 8 KiB is too little for some gateways."""
_NO_LIMIT: Final = aiohttp.ClientTimeout(total=None)
KEEP_ALIVE_S: Final = 4.0
"""Seconds an idle connection is kept. Many servers close theirs after 5, and a request that meets that
close is lost; a POST is not repeated for it."""


_MEANS: Final[tuple[tuple[type[Exception], type[httpx.TransportError]], ...]] = (
    # The first that fits counts, so subclasses stand before their bases.
    (aiohttp.ClientProxyConnectionError, httpx.ProxyError),
    (aiohttp.ClientHttpProxyError, httpx.ProxyError),
    (aiohttp.ConnectionTimeoutError, httpx.ConnectTimeout),
    (aiohttp.ServerTimeoutError, httpx.ReadTimeout),
    (aiohttp.ClientConnectorError, httpx.ConnectError),
    (aiohttp.ClientSSLError, httpx.ConnectError),
    (aiohttp.ServerConnectionError, httpx.ReadError),
    (aiohttp.ClientOSError, httpx.ReadError),
    (aiohttp.ClientPayloadError, IncompleteBody),
    (aiohttp.InvalidURL, httpx.UnsupportedProtocol),
    (aiohttp.ClientConnectionError, httpx.ReadError),
    (aiohttp.ClientError, httpx.RemoteProtocolError),
    (ConnectionError, httpx.ReadError),
    # aiohttp refuses line breaks in headers with a bare ValueError, before anything is sent.
    (ValueError, httpx.LocalProtocolError),
)


@contextmanager
def httpx_errors() -> Iterator[None]:
    """Raise what aiohttp raises as the httpx exception of the same meaning, the original as its cause."""
    try:
        yield
    except Exception as error:
        for theirs, ours in _MEANS:
            if isinstance(error, theirs):
                raise ours(_said(error)) from error
        raise


def _said(error: Exception) -> str:
    """Its words. Those that quote a whole address, with a proxy's password in it, are our own."""
    if isinstance(error, aiohttp.ClientHttpProxyError):
        proxy = _origin(error.request_info.real_url)
        return f"the proxy {proxy} answered {error.status} {error.message}".rstrip()
    if isinstance(error, aiohttp.ClientResponseError):
        return error.message or type(error).__name__
    if isinstance(error, aiohttp.InvalidURL):
        return f"{_origin(error.url)} is no address that can be asked"
    return str(error) or type(error).__name__


def _origin(address: str | URL) -> str:
    try:
        url = URL(address)
        return str(url.origin())
    except ValueError:
        return "the address"


@lru_cache(maxsize=256)
def _address(url: str) -> URL:
    # httpx has encoded it already; encoding it again would change it.
    return URL(url, encoded=True)


def _time_limits(request: httpx.Request) -> aiohttp.ClientTimeout:
    # Our own client bounds the whole request instead; these come from an httpx client above us.
    given = request.extensions.get("timeout")
    if not given:
        return _NO_LIMIT
    return aiohttp.ClientTimeout(
        total=None, sock_connect=given.get("connect"), sock_read=given.get("read")
    )


class _Body(httpx.AsyncByteStream):
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        content = self._response.content
        with httpx_errors():
            while chunk := await content.readany():
                yield chunk

    @override
    async def aclose(self) -> None:
        # A body that was read to its end has given its connection back; any other is cut off here.
        self._response.close()


class AiohttpTransport(httpx.AsyncBaseTransport):
    """Sends requests through one aiohttp session: no redirects, no cookies, no environment."""

    def __init__(
        self,
        *,
        tls: Callable[[], ssl.SSLContext],
        proxy: Callable[[str, str, int | None], str | None],
    ) -> None:
        """Take the trust and the way out.

        Args:
            tls: Gives the context for https; asked at the first https request, since reading
                authorities takes time.
            proxy: The proxy for (scheme, host, port), or None for a direct connection.
        """
        self._tls = tls
        self._proxy = proxy
        self._context: ssl.SSLContext | None = None
        self._session: aiohttp.ClientSession | None = None

    def _open(self) -> aiohttp.ClientSession:
        # Made here because a session needs the running loop.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            requote_redirect_url=False,
            max_line_size=LONGEST_HEADER,
            max_field_size=LONGEST_HEADER,
            skip_auto_headers=("User-Agent", "Accept-Encoding", "Accept", "Content-Type"),
        )
        return self._session

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        session = self._session or self._open()
        url = request.url
        secure = url.scheme == "https"
        if secure and self._context is None:
            self._context = self._tls()
        with httpx_errors():
            response = await session.request(
                request.method,
                _address(str(url)),
                headers=request.headers,
                data=request.content or None,
                allow_redirects=False,
                proxy=self._proxy(url.scheme, url.host, url.port),
                timeout=_time_limits(request),
                ssl=self._context if secure and self._context is not None else True,
            )
        return httpx.Response(response.status, headers=response.raw_headers, stream=_Body(response))

    @override
    async def aclose(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()
