"""The HTTP client over a transport that needs no network."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib
from typing import TYPE_CHECKING

import httpx
import pytest
from typing_extensions import override

from releasecheck.transport import open_client
from releasecheck.transport.client import RunClient
from releasecheck.transport.exceptions import IncompleteBody, RefusedAnswer
from releasecheck.transport.http import HttpAnswer, HttpClient, headers_with, origin

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

URL = httpx.URL("http://a.test/x")
PLAIN = b'{"answer": "Oslo"}' * 10


class Chunks(httpx.AsyncByteStream):
    def __init__(self, chunks: list[bytes]) -> None:
        self._chunks = chunks
        self.given = 0
        self.closed = False

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            self.given += 1
            yield chunk

    @override
    async def aclose(self) -> None:
        self.closed = True


def ask(handler: Callable[[httpx.Request], httpx.Response], max_body: int = 1000) -> HttpAnswer:
    async def run() -> HttpAnswer:
        client = HttpClient(httpx.MockTransport(handler), max_body=max_body)
        try:
            return await client.request(
                "POST", URL, headers=headers_with({"X-A": "1"}), content=b"{}", within_s=5
            )
        finally:
            await client.aclose()

    return asyncio.run(run())


def packed(encoding: str, body: bytes) -> Callable[[httpx.Request], httpx.Response]:
    headers = {"content-encoding": encoding}
    return lambda _: httpx.Response(200, headers=headers, stream=Chunks([body]))


def test_request__whole_answer_whatever_the_status() -> None:
    found = ask(
        lambda _: httpx.Response(404, headers={"X-Trace": "t"}, stream=Chunks([b"a", b"b"]))
    )
    assert (found.status, found.body, found.headers["x-trace"]) == (404, b"ab", "t")


def test_request__our_headers_below_the_given_ones() -> None:
    seen: dict[str, str] = {}

    def handler(request: httpx.Request) -> httpx.Response:
        seen.update(request.headers)
        return httpx.Response(200, stream=Chunks([]))

    ask(handler)
    assert seen["x-a"] == "1"
    assert seen["accept-encoding"] == "identity"
    assert headers_with({"Accept-Encoding": "br", "USER-AGENT": "me"})[:1] == [
        (b"user-agent", b"me")
    ]


def test_request__a_body_over_the_cap_is_not_read_to_its_end() -> None:
    stream = Chunks([b"x" * 400] * 100)
    with pytest.raises(RefusedAnswer) as caught:
        ask(lambda _: httpx.Response(200, stream=stream))
    assert caught.value.code == "output_too_large"
    assert (stream.given, stream.closed) == (3, True)


def test_request__a_body_of_exactly_the_cap_is_taken() -> None:
    assert len(ask(lambda _: httpx.Response(200, stream=Chunks([b"x" * 1000]))).body) == 1000


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(PLAIN, mtime=0)),
        ("x-gzip", gzip.compress(PLAIN[:50], mtime=0) + gzip.compress(PLAIN[50:], mtime=0)),
        ("deflate", zlib.compress(PLAIN)),
        ("deflate", zlib.compress(PLAIN, wbits=-15)),
        ("GZIP, identity", gzip.compress(PLAIN, mtime=0)),
        ("deflate, gzip", gzip.compress(zlib.compress(PLAIN), mtime=0)),
        ("identity", PLAIN),
    ],
)
def test_request__unpacks_what_a_server_packs_unasked(encoding: str, body: bytes) -> None:
    assert ask(packed(encoding, body)).body == PLAIN


def test_request__an_empty_packed_body_is_empty() -> None:
    assert ask(packed("gzip", b"")).body == b""


def test_request__a_decompression_bomb_stops_at_the_cap() -> None:
    bomb = packed("gzip", gzip.compress(bytes(50_000_000)))
    tracemalloc.start()
    try:
        with pytest.raises(RefusedAnswer) as caught:
            ask(bomb, max_body=100_000)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert caught.value.code == "output_too_large"
    assert most < 5_000_000  # it was never unpacked whole


@pytest.mark.parametrize(("encoding", "body"), [("br", b"x"), ("gzip", b"not gzip at all")])
def test_request__what_cannot_be_unpacked_is_named(encoding: str, body: bytes) -> None:
    with pytest.raises(RefusedAnswer) as caught:
        ask(packed(encoding, body))
    assert caught.value.code == "unsupported_encoding"


def test_request__a_packed_body_that_ends_early_is_incomplete() -> None:
    with pytest.raises(IncompleteBody):
        ask(packed("gzip", gzip.compress(PLAIN, mtime=0)[:-9]))


def test_request__out_of_time_is_a_time_out_with_the_limit_in_it() -> None:
    async def never(_: httpx.Request) -> httpx.Response:
        await asyncio.sleep(60)
        raise AssertionError

    async def run() -> None:
        client = HttpClient(httpx.MockTransport(never))
        with pytest.raises(httpx.ReadTimeout, match=r"within 0\.01 s"):
            await client.request("GET", URL, headers=[], within_s=0.01)
        await client.aclose()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:pw@a.test/secret?key=1", "https://a.test"),
        ("http://a.test:8080/x", "http://a.test:8080"),
        ("http://[::1]:80/x", "http://[::1]"),
    ],
)
def test_origin__shows_no_credentials_path_or_query(url: str, shown: str) -> None:
    assert origin(httpx.URL(url)) == shown


def test_open_client__one_client_made_when_wanted() -> None:
    async def run() -> None:
        made: list[HttpClient] = []

        def make(environment: object) -> HttpClient:
            made.append(HttpClient(httpx.MockTransport(lambda _: httpx.Response(200))))
            return made[-1]

        async with RunClient({}, make) as client:
            assert made == []
            assert client.http() is client.http()
        assert len(made) == 1
        async with open_client({}):
            pass  # closing what was never opened is fine

    asyncio.run(run())
