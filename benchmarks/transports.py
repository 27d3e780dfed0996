"""HTTP transports under httpx's API, side by side: how fast they are, and what they do when HTTP goes wrong.

    python benchmarks/transports.py [speed|faults] [--requests 5000] [--concurrency 50] [--rounds 3]

Candidates that are not installed are named and left out. They are no dependencies of releasecheck; to compare all:

    pip install httpx2 httpx-aiohttp pyreqwest pyqwest h2 trustme

`speed` posts to a server in another process that answers at once. Candidates take turns, so that whatever else the
machine does falls on all of them; the figure shown is the median of the rounds. `faults` prints what each candidate
did beside what is wanted of it. The choice made from these figures is docs/decisions/0003-http-transport.md.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx

BODY = json.dumps({"question": "what is the capital of Norway?"}).encode()
HEADERS = {"content-type": "application/json", "authorization": "Bearer none"}
ANSWER = b'{"answer": "Oslo"}'
OK = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Trace-Id: t1\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(ANSWER), ANSWER)
)


# --- the server that answers at once ---------------------------------------------------------------------------------


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """One request, head and body; empty when the client has gone."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""
    at = head.lower().find(b"content-length:")
    if at < 0:
        return head
    return head + await reader.readexactly(int(head[at + 15 : head.index(b"\r\n", at)]))


async def answer_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Keep-alive loop."""
    while await read_request(reader):
        writer.write(OK)
    writer.close()


async def serve() -> None:
    """Serve until the parent closes our standard input."""
    asyncio.get_running_loop().set_exception_handler(
        lambda *_: None
    )  # clients may leave as they like
    server = await asyncio.start_server(answer_at_once, "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)


# --- candidates ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """What a run's client needs to be told."""

    # Proxy for http:// and https://, or none.
    proxy: str | None = None
    # PEM file of a further authority, or none.
    ca_file: str | None = None


def httpx_own(settings: Settings) -> Any:
    """httpx 0.28 with its own pool."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    return httpx.AsyncClient(
        limits=limits, proxy=settings.proxy, verify=_context(settings), trust_env=False
    )


def httpx2_own(settings: Settings) -> Any:
    """httpx2 with its own pool."""
    httpx2 = importlib.import_module("httpx2")
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    return httpx2.AsyncClient(
        limits=limits, proxy=settings.proxy, verify=_context(settings), trust_env=False
    )


def httpx_aiohttp(settings: Settings) -> Any:
    """httpx over aiohttp."""
    module = importlib.import_module("httpx_aiohttp")
    return httpx.AsyncClient(
        transport=module.AiohttpTransport(
            verify=_context(settings),
            proxy=httpx.Proxy(settings.proxy) if settings.proxy else None,
            limits=httpx.Limits(max_connections=None),
        )
    )


def pyreqwest(settings: Settings) -> Any:
    """httpx over pyreqwest (reqwest, hyper, rustls)."""
    client = importlib.import_module("pyreqwest.client")
    proxies = importlib.import_module("pyreqwest.proxy")
    compatibility = importlib.import_module("pyreqwest.compatibility.httpx")
    # no_proxy() first: without it reqwest reads the process's own environment.
    builder = client.ClientBuilder().no_proxy().follow_redirects(enable=False).referer(enable=False)
    if settings.proxy:
        builder = builder.proxy(proxies.ProxyBuilder.all(settings.proxy))
    if settings.ca_file:
        builder = builder.add_root_certificate_pem(Path(settings.ca_file).read_bytes())
    builder = builder.connect_timeout(timedelta(seconds=10))
    return httpx.AsyncClient(transport=compatibility.HttpxTransport(builder.build()))


def pyqwest(settings: Settings) -> Any:
    """httpx over pyqwest (reqwest, hyper, rustls)."""
    module = importlib.import_module("pyqwest")
    compatibility = importlib.import_module("pyqwest.httpx")
    transport = module.HTTPTransport(
        tls_ca_cert=Path(settings.ca_file).read_bytes() if settings.ca_file else None,
        tls_include_system_certs=True,
        proxy=settings.proxy,
        follow_redirects=False,
        enable_otel=False,
    )
    return httpx.AsyncClient(transport=compatibility.AsyncPyqwestTransport(transport))


def aiohttp(settings: Settings) -> Any:
    """httpx over aiohttp, by the adapter of this project."""
    from releasecheck.transport.wire import AiohttpTransport

    transport = AiohttpTransport(
        tls=lambda: _context(settings), proxy=lambda scheme, host, port: settings.proxy
    )
    return httpx.AsyncClient(transport=transport)


def _context(settings: Settings) -> Any:
    import ssl

    context = ssl.create_default_context()
    if settings.ca_file:
        context.load_verify_locations(settings.ca_file)
    return context


CANDIDATES: dict[str, Callable[[Settings], Any]] = {
    "httpx": httpx_own,
    "httpx2": httpx2_own,
    "httpx-aiohttp": httpx_aiohttp,
    "pyqwest": pyqwest,
    "pyreqwest": pyreqwest,
    "aiohttp": aiohttp,
}


# --- speed -----------------------------------------------------------------------------------------------------------

Call = Callable[[], Awaitable[object]]


def through_client(client: Any, url: str) -> Call:
    """The whole of httpx: client, then transport."""

    async def call() -> None:
        response = await client.post(url, content=BODY, headers=HEADERS)
        assert response.content == ANSWER

    return call


def through_transport(client: Any, url: str) -> Call:
    """The transport alone, by httpx's own interface for transports: no cookies, no hooks, no redirects."""
    transport = client._transport  # noqa: SLF001 - there is no public way to it
    module = importlib.import_module(type(client).__module__.split(".")[0])
    address = module.URL(url)

    async def call() -> None:
        request = module.Request("POST", address, headers=HEADERS, content=BODY)
        response = await transport.handle_async_request(request)
        try:
            body = b"".join([chunk async for chunk in response.stream])
        finally:
            await response.aclose()
        assert body == ANSWER

    return call


async def drive(call: Call, requests: int, concurrency: int) -> tuple[float, float]:
    """Requests per second, and microseconds of this process's CPU per request (all threads)."""
    turns = iter(range(requests))

    async def worker() -> None:
        for _ in turns:
            await call()

    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    await asyncio.gather(*[worker() for _ in range(concurrency)])
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return requests / seconds, cpu / requests * 1e6


async def speed(names: list[str], requests: int, concurrency: int, rounds: int) -> None:
    """Print the table of rates."""
    server = subprocess.Popen(  # noqa: ASYNC220 - before anything runs on the loop
        [sys.executable, __file__, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdout is not None
    url = f"http://127.0.0.1:{int(server.stdout.readline())}/answer"
    clients = {name: CANDIDATES[name](Settings()) for name in names}
    ways = {f"{name}, client": through_client(clients[name], url) for name in names}
    ways |= {f"{name}, transport": through_transport(clients[name], url) for name in names}
    taken: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    try:
        for _ in range(rounds):
            for way, call in ways.items():
                await drive(call, concurrency * 2, concurrency)
                taken[way].append(await drive(call, requests, concurrency))
    finally:
        for client in clients.values():
            await client.aclose()
        server.communicate()
    median = {
        way: (statistics.median(r for r, _ in runs), statistics.median(c for _, c in runs))
        for way, runs in taken.items()
    }
    base = median["httpx, client"][0]
    line(f"{requests} POSTs, concurrency {concurrency}, median of {rounds} rounds")
    line(f"{'through':26}{'requests/s':>12}{'x httpx':>9}{'CPU us/request':>16}")
    for way, (rate, cpu) in sorted(median.items(), key=lambda item: item[1][0]):
        line(f"{way:26}{rate:12.0f}{rate / base:9.1f}{cpu:16.0f}")


# --- faults ----------------------------------------------------------------------------------------------------------


@dataclass
class Stub:
    """A server that reads one request and then does what its script says; it keeps what it saw."""

    script: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        self.connections += 1
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            while request := await read_request(reader):
                self.requests.append(request)
                await self.script(reader, writer)
        self.closed.set()
        writer.close()

    @contextlib.asynccontextmanager
    async def open(self, tls: Any = None) -> AsyncIterator[str]:
        """Listen; gives the address."""
        server = await asyncio.start_server(self.handle, "127.0.0.1", 0, ssl=tls)
        port = server.sockets[0].getsockname()[1]
        try:
            yield f"{'https' if tls else 'http'}://{'localhost' if tls else '127.0.0.1'}:{port}/"
        finally:
            server.close()


def says(raw: bytes, *, close: bool = False) -> Any:
    """A script that writes `raw`."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(raw)
        await writer.drain()
        if close:
            writer.close()

    return script


async def hangs(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer nothing, and notice when the client leaves."""
    await reader.read(1)


async def outcome(call: Awaitable[Any]) -> str:
    """`200` or the exception, with the names of its bases that httpx defines."""
    try:
        response = await asyncio.wait_for(call, 5)
    except Exception as error:  # noqa: BLE001 (naming every exception is the point)
        kinds = [k.__name__ for k in type(error).__mro__ if k.__module__.startswith("httpx")]
        return kinds[0] if kinds else f"{type(error).__module__}.{type(error).__name__}"
    return str(response.status_code)


Probe = Callable[[Callable[[Settings], Any]], Awaitable[str]]


def answers(raw: bytes) -> Probe:
    """What the client makes of these bytes, after which the server hangs up."""

    async def probe(make: Callable[[Settings], Any]) -> str:
        stub = Stub(says(raw, close=True))
        async with stub.open() as url, make(Settings()) as client:
            told = await outcome(client.post(url, content=BODY))
        return f"{told}, {len(stub.requests)} sent"

    return probe


async def reuse(make: Callable[[Settings], Any]) -> str:
    """Ten calls, one after the other."""
    stub = Stub(says(OK))
    async with stub.open() as url, make(Settings()) as client:
        for _ in range(10):
            await client.post(url, content=BODY)
    return f"{stub.connections} connection(s)"


async def stale(make: Callable[[Settings], Any]) -> str:
    """The server closes the kept connection between two calls."""
    stub = Stub(says(OK, close=True))
    async with stub.open() as url, make(Settings()) as client:
        first = await outcome(client.post(url, content=BODY))
        await asyncio.sleep(0.1)
        return f"{first} then {await outcome(client.post(url, content=BODY))}"


async def untrusted(make: Callable[[Settings], Any]) -> str:
    """A certificate of an authority nobody knows."""
    with tempfile.TemporaryDirectory() as folder:
        context, _ = certificate(folder)
        stub = Stub(says(OK))
        async with stub.open(context) as url, make(Settings()) as client:
            try:
                await asyncio.wait_for(client.post(url, content=BODY), 5)
            except Exception as error:  # noqa: BLE001
                chain: list[str] = []
                cause: BaseException | None = error
                while cause is not None:
                    chain.append(f"{cause} {getattr(cause, 'details', '')}")
                    cause = cause.__cause__ or cause.__context__
                named = any("certificate" in text.lower() for text in chain)
                return f"{type(error).__name__}, cause {'named' if named else 'hidden'}"
    return "accepted"


async def own_authority(make: Callable[[Settings], Any]) -> str:
    """The same, with its authority given as a file."""
    with tempfile.TemporaryDirectory() as folder:
        context, authority = certificate(folder)
        async with (
            Stub(says(OK)).open(context) as url,
            make(Settings(ca_file=authority)) as client,
        ):
            return await outcome(client.post(url, content=BODY))


def certificate(folder: str) -> tuple[Any, str]:
    """A server context for localhost, and the file of its authority."""
    import ssl

    import trustme

    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    path = Path(folder, "ca.pem")
    authority.cert_pem.write_to_path(str(path))
    return context, str(path)


async def proxied(make: Callable[[Settings], Any]) -> str:
    """A plain request through a proxy."""
    stub = Stub(says(OK))
    async with stub.open() as url, make(Settings(proxy=url)) as client:
        told = await outcome(client.post("http://nowhere.invalid/answer", content=BODY))
    first = stub.requests[0].split(b"\r\n")[0].decode() if stub.requests else "not used"
    return f"{told} {first}"


async def cancelled(make: Callable[[Settings], Any]) -> str:
    """A call that is cancelled must let the connection go."""
    stub = Stub(hangs)
    async with stub.open() as url, make(Settings()) as client:
        task = asyncio.ensure_future(client.post(url, content=BODY))
        await asyncio.sleep(0.2)
        task.cancel()
        (told,) = await asyncio.gather(task, return_exceptions=True)
        try:
            await asyncio.wait_for(stub.closed.wait(), 2)
        except TimeoutError:
            return f"{type(told).__name__}, connection kept"
    return f"{type(told).__name__}, connection closed"


async def timed_out(make: Callable[[Settings], Any]) -> str:
    """A server that never answers."""
    async with Stub(hangs).open() as url, make(Settings()) as client:
        return await outcome(client.post(url, content=BODY, timeout=0.3))


async def capped(make: Callable[[Settings], Any]) -> str:
    """An endless body, of which we take 1 MiB."""

    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for sent in range(100_000):
            stub.requests.append(b"") if sent % 16 == 0 else None
            writer.write(b"10000\r\n" + bytes(65536) + b"\r\n")
            await writer.drain()

    stub = Stub(endless)
    async with stub.open() as url, make(Settings()) as client:
        taken = 0
        async with client.stream("POST", url, content=BODY) as response:
            async for chunk in response.aiter_raw():
                taken += len(chunk)
                if taken > 2**20:
                    break
        await asyncio.wait_for(stub.closed.wait(), 5)
    return f"stopped, server had sent {len(stub.requests) - 1} MiB"


async def headers(make: Callable[[Settings], Any]) -> str:
    """Repeated headers, and bytes that are not UTF-8."""
    raw = OK.replace(b"X-Trace-Id: t1", b"X-Trace-Id: a\r\nX-Trace-Id: b\r\nX-Odd: \xe9\xff")
    async with Stub(says(raw)).open() as url, make(Settings()) as client:
        try:
            response = await client.post(url, content=BODY)
        except Exception as error:  # noqa: BLE001
            return type(error).__name__
        return f"{response.headers.get_list('x-trace-id')} {response.headers.get('x-odd')!r}"


PROBES: dict[str, tuple[str, Probe]] = {
    "body shorter than its length": (
        "error, 1 sent",
        answers(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + ANSWER),
    ),
    "chunked body cut off": (
        "error, 1 sent",
        answers(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n" + ANSWER),
    ),
    "hangs up before the answer": ("error, 1 sent", answers(b"")),
    "answers in no HTTP": ("error, 1 sent", answers(b"220 mail.example ESMTP\r\n\r\n")),
    "redirect": (
        "302, 1 sent",
        answers(b"HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n"),
    ),
    "ten calls in a row": ("1 connection(s)", reuse),
    "kept connection closed by server": ("200 then 200", stale),
    "untrusted certificate": ("error, cause named", untrusted),
    "authority from a file": ("200", own_authority),
    "proxy": ("200 POST http://nowhere.invalid/answer", proxied),
    "no answer": ("a time-out", timed_out),
    "cancelled": ("CancelledError, connection closed", cancelled),
    "endless body, capped": ("stopped", capped),
    "odd headers": ("both values", headers),
}


async def faults(names: list[str]) -> None:
    """Print what each candidate did."""
    for title, (wanted, probe) in PROBES.items():
        line(f"{title} (wanted: {wanted})")
        for name in names:
            try:
                told = await asyncio.wait_for(probe(CANDIDATES[name]), 20)
            except Exception as error:  # noqa: BLE001
                told = f"probe failed: {type(error).__name__}: {error}"
            line(f"    {name:16}{told}")


# --- command line ----------------------------------------------------------------------------------------------------


def line(text: str) -> None:
    """Print one line now."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def installed(name: str) -> bool:
    """Whether the candidate's package can be imported."""
    try:
        importlib.import_module(name.replace("-", "_"))
    except ImportError:
        line(f"{name}: not installed, left out")
        return False
    return True


def main() -> None:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "what", nargs="?", choices=["speed", "faults", "serve", "all"], default="all"
    )
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--concurrency", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.what == "serve":
        asyncio.run(serve())
        return
    names = [name for name in CANDIDATES if installed(name)]
    if options.what in ("speed", "all"):
        asyncio.run(speed(names, options.requests, options.concurrency, options.rounds))
    if options.what in ("faults", "all"):
        asyncio.run(faults(names))


if __name__ == "__main__":
    main()
