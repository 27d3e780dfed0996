"""The HTTP client of a run: one for targets and judges alike, over any transport of httpx's interface.

It sends one request and reads one whole answer of bounded size. It follows no redirect, keeps no
cookie and repeats nothing: what to do about a failure is decided elsewhere.
"""

from __future__ import annotations

import asyncio
import zlib
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import httpx

from releasecheck.transport.egress import proxy_rule, trust
from releasecheck.transport.exceptions import IncompleteBody, RefusedAnswer
from releasecheck.transport.limits import Gates
from releasecheck.transport.wire import AiohttpTransport

if TYPE_CHECKING:
    from collections.abc import Mapping

RawHeaders: TypeAlias = list[tuple[bytes, bytes]]
"""Names and values as they are sent."""
MAX_BODY: Final = 16 * 2**20
"""Bytes of an answer that are read; a larger one is no answer."""
DEFAULT_HEADERS: Final = {
    "user-agent": "releasecheck",
    "accept": "*/*",
    # Answers are small, and an answer that is not compressed cannot be a decompression bomb.
    "accept-encoding": "identity",
}


class HttpAnswer(NamedTuple):
    """One complete answer of a server, whatever its status."""

    status: int
    headers: httpx.Headers
    """Names in any case; repeated ones through `get_list`."""
    body: bytes
    """Decompressed, not larger than the cap."""


class HttpClient:
    """Sends requests over one pool of connections; made once per run."""

    def __init__(self, transport: httpx.AsyncBaseTransport, *, max_body: int = MAX_BODY) -> None:
        """Take the transport (closed with the client) and the largest body that is read."""
        self._transport = transport
        self._max_body = max_body
        self.gates = Gates()
        """Whoever calls a host goes through that host's gate, target and judge alike."""

    async def request(
        self,
        method: str,
        url: httpx.URL,
        *,
        headers: RawHeaders,
        content: bytes = b"",
        within_s: float,
        max_body: int | None = None,
    ) -> HttpAnswer:
        """Send one request and read its whole answer.

        Args:
            method: In capitals.
            url: Absolute.
            headers: As `headers_with` made them.
            content: The body; empty for none.
            within_s: Seconds for everything, from connecting to the last byte.
            max_body: Bytes that are read, where they are known to be many; None is the client's limit.

        Raises:
            httpx.TransportError: nothing, or nothing complete, came back in time.
            RefusedAnswer: the answer is too large or packed in a way we do not read.
        """
        request = httpx.Request(method, url, headers=headers, content=content or None)
        limit = self._max_body if max_body is None else max_body
        try:
            async with asyncio.timeout(within_s):
                response = await self._transport.handle_async_request(request)
                body = await self._read(response, limit)
        except TimeoutError:
            message = f"no complete answer within {within_s:g} s"
            raise httpx.ReadTimeout(message) from None
        packed = response.headers.get("content-encoding")
        if packed:
            body = _unpack(body, packed, limit)
        return HttpAnswer(response.status_code, response.headers, body)

    async def _read(self, response: httpx.Response, limit: int) -> bytes:
        stream = response.stream
        assert isinstance(stream, httpx.AsyncByteStream)  # noqa: S101 - so for an async transport
        chunks: list[bytes] = []
        size = 0
        try:
            async for chunk in stream:
                chunks.append(chunk)
                size += len(chunk)
                if size > limit:
                    raise _too_large(limit)
        finally:
            await stream.aclose()
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    async def aclose(self) -> None:
        """Close every connection; idempotent."""
        await self._transport.aclose()


def http_client(environment: Mapping[str, str], *, max_body: int = MAX_BODY) -> HttpClient:
    """A client with proxies and authorities as the environment names them.

    Raises:
        ConfigError: the environment names a proxy or an authority that cannot be used.
    """
    transport = AiohttpTransport(tls=trust(environment), proxy=proxy_rule(environment))
    return HttpClient(transport, max_body=max_body)


def headers_with(headers: Mapping[str, str]) -> RawHeaders:
    """The given headers over our default ones; made once, used for many requests."""
    return httpx.Headers({**httpx.Headers(DEFAULT_HEADERS), **httpx.Headers(headers)}).raw


def origin(url: httpx.URL) -> str:
    """`https://host:port`: what a message may show of an address, and what shares one limit."""
    port = f":{url.port}" if url.port is not None else ""
    host = f"[{url.host}]" if ":" in url.host else url.host
    return f"{url.scheme}://{host}{port}"


def _too_large(limit: int) -> RefusedAnswer:
    message = f"the answer is larger than {limit} bytes and was not read to its end"
    return RefusedAnswer("output_too_large", message)


def _not_unpacked(packing: str, *, why: str) -> RefusedAnswer:
    message = f"the answer is packed as {packing[:40]!r}, which cannot be unpacked: {why}"
    return RefusedAnswer("unsupported_encoding", message)


def _unpack(body: bytes, packed: str, limit: int) -> bytes:
    for name in reversed([part.strip().lower() for part in packed.split(",")]):
        if name in ("gzip", "x-gzip", "deflate"):
            body = _inflate(body, name, limit)
        elif name not in ("identity", ""):
            raise _not_unpacked(name, why="only identity was asked for")
    return body


def _inflate(body: bytes, packing: str, limit: int) -> bytes:
    """Unpack gzip, zlib or bare deflate, never to more than the limit."""
    # 47 recognises gzip and zlib headers; some servers send deflate without either.
    bare = body[:2] != b"\x1f\x8b" and (len(body) < 2 or (body[0] << 8 | body[1]) % 31)
    out = bytearray()
    while body:
        unpacker = zlib.decompressobj(-15 if bare else 47)
        try:
            out += unpacker.decompress(body, limit + 1 - len(out))
        except zlib.error as error:
            raise _not_unpacked(packing, why=str(error)) from None
        if len(out) > limit:
            raise _too_large(limit)
        if not unpacker.eof:
            message = "the compressed answer ends early"
            raise IncompleteBody(message)
        body = unpacker.unused_data
    return bytes(out)
