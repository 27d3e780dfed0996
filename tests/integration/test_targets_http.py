"""Targets behind HTTP against real servers on loopback that do what servers do to people."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme

from releasecheck.errors import ConfigError
from releasecheck.ports import Answered, TargetAnswer, TargetFailed
from tests.fakes import FakeClock
from tests.integration.targets_running import (
    QuickClock,
    ask_all,
    code_of,
    message_of,
    output_of,
    running,
)
from tests.stubs import Raw, Reply, Request, Stub, always, at_most, in_turn, reply
from tests.unit.targets.opened import call_of

HERE = Path()
OK = reply(200, {"output": "Oslo"})


def asked(
    stub: Stub, given: object = "hi", *, path: str = "/answer", tls: Any = None, **spec: Any
) -> TargetAnswer:
    """What a target in front of this server answers."""
    return run(stub, [given], path=path, tls=tls, **spec)[0]


def run(
    stub: Stub,
    inputs: list[Any],
    *,
    path: str = "/answer",
    tls: ssl.SSLContext | None = None,
    clock: Any = None,
    secrets: dict[str, str] | None = None,
    environment: dict[str, str] | None = None,
    **spec: Any,
) -> list[TargetAnswer]:
    async def inside() -> list[TargetAnswer]:
        async with stub.open(tls):
            written = {"type": "http", "url": stub.url + path, "timeout": 5, **spec}
            written.setdefault("output", "output")
            async with running(
                HERE, written, clock=clock, secrets=secrets, environment=environment
            ) as target:
                calls = [call_of(given, case=f"c{n}") for n, given in enumerate(inputs)]
                return await ask_all(target, calls)

    return asyncio.run(inside())


# --- what is sent -----------------------------------------------------------------------------------


def test_request__body_headers_and_idempotency_key() -> None:
    """S2-48: the key is that of contract section 4."""
    stub = always(OK)
    answer = asked(
        stub,
        {"q": "{{ 7*7 }}"},
        body={"question": "{{ input.q }}", "all": "{{ input }}", "lang": "{{ metadata.lang }}"},
        headers={"Authorization": "Bearer ${TOKEN}", "Idempotency-Key": "mine"},
        secrets={"TOKEN": "abcdefgh-secret"},
    )
    assert output_of(answer) == "Oslo"
    (request,) = stub.requests
    assert request.line == "POST /answer HTTP/1.1"
    assert request.json() == {"question": "{{ 7*7 }}", "all": {"q": "{{ 7*7 }}"}, "lang": "nb"}
    assert request.headers["authorization"] == "Bearer abcdefgh-secret"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["idempotency-key"] == "rc-1:c0#t0"


def test_request__idempotency_key_is_the_same_over_all_attempts() -> None:
    """C-06."""
    stub = in_turn([reply(503, b""), Raw(b"", close=True), OK])
    answer = asked(stub, retries=2)
    assert isinstance(answer, Answered)
    assert answer.calls == 3
    assert [r.headers["idempotency-key"] for r in stub.requests] == ["rc-1:c0#t0"] * 3


def test_request__defaults_to_the_input() -> None:
    stub = always(OK)
    asked(stub, ["a", 1, None])
    assert stub.requests[0].json() == {"input": ["a", 1, None]}


def test_request__get_has_no_body_and_a_rendered_address() -> None:
    stub = always(OK)
    asked(stub, "a b&c", method="GET", path="/s?q={{ input | urlencode }}")
    (request,) = stub.requests
    assert request.line == "GET /s?q=a%20b%26c HTTP/1.1"
    assert request.body == b""


@pytest.mark.parametrize(
    ("path", "given", "line"),
    [
        ("/items/{{ input }}?q=1", "../../admin", "/items/..%2F..%2Fadmin?q=1"),
        ("/items/{{ input | urlencode }}", "../admin", "/items/..%2Fadmin"),
        ("/items/{{ input }}", "a?role=admin#x", "/items/a%3Frole%3Dadmin%23x"),
        ("/items/{{ input }}", "%2e%2e", "/items/%252e%252e"),
        ("/items/{{ input }}", "a\\b\r\nc", "/items/a%5Cb%0D%0Ac"),
        ("/s?q={{ input }}", "x&role=admin", "/s?q=x%26role%3Dadmin"),
        ("/s?q={{ input }}", "..", "/s?q=.."),
        ("/s?q={{ input }}", "blå bær", "/s?q=bl%C3%A5%20b%C3%A6r"),
        ("/s?q={{ 'x' ~ input }}&n={{ input | length }}", "&", "/s?q=x%26&n=1"),
        ("/s?q={{ input | raw_url }}", "x&role=admin", "/s?q=x&role=admin"),
        ("/{{ input | raw_url }}", "a/b", "/a/b"),
        ("/s?{{ {'q': input} | urlencode }}", "a&b", "/s?q=a%26b"),
        ("${MORE}?q={{ input }}", "&", "/given/path?q=%26"),
        ("/s?q={{ input }}&{{ '' }}${MORE}", "&", "/s?q=%26&/given/path"),
    ],
)
def test_request__text_of_a_case_stays_in_its_place_in_the_address(
    path: str, given: str, line: str
) -> None:
    """B34: no other path and no other parameter, but where the suite says that it means it."""
    stub = always(OK)
    asked(stub, given, method="GET", path=path, environment={"MORE": "/given/path"})
    (request,) = stub.requests
    assert request.line == f"GET {line} HTTP/1.1"


@pytest.mark.parametrize("given", ["..", "."])
@pytest.mark.parametrize("path", ["/items/{{ input }}/x", "/items/{{ input | urlencode }}"])
def test_request__text_of_a_case_is_no_step_in_the_path(path: str, given: str) -> None:
    stub = always(OK)
    assert code_of(asked(stub, given, method="GET", path=path)) == "template"
    assert stub.requests == []


@pytest.mark.parametrize("path", ["{{ input }}", "{{ input | raw_url }}"])
@pytest.mark.parametrize("given", ["@evil.test/", ".evil.test/", "0/", ":1/", "\\@evil.test/"])
def test_request__a_rendered_address_cannot_leave_the_host(path: str, given: str) -> None:
    stub = always(OK)
    answer = asked(stub, given, method="GET", path=path)
    assert code_of(answer) == "template"
    assert stub.requests == []


def test_request__raw_url_is_for_urls_only() -> None:
    with pytest.raises(ConfigError, match="raw_url"):
        asked(always(OK), body={"q": "{{ input | raw_url }}"})


def test_request__text_is_sent_as_it_is_when_the_suite_says_so() -> None:
    stub = always(OK)
    asked(stub, "blåbær", body="{{ input }}", headers={"content-type": "text/plain"})
    assert stub.requests[0].body == "blåbær".encode()


def test_request__an_id_that_is_not_ascii_still_makes_a_header() -> None:
    async def inside() -> None:
        stub = always(OK)
        async with stub.open():
            written = {"type": "http", "url": stub.url}
            async with running(HERE, written) as target:
                output_of(await target.answer(call_of(case="blå bær")))
        assert stub.requests[0].headers["idempotency-key"] == "rc-1:bl%C3%A5 b%C3%A6r#t0"

    asyncio.run(inside())


def test_request__a_template_that_does_not_fit_the_case_sends_nothing() -> None:
    stub = always(OK)
    answer = asked(stub, body={"q": "{{ metadata.missing }}"})
    assert code_of(answer) == "template"
    assert "missing" in message_of(answer)
    assert stub.requests == []


def test_request__credentials_in_the_address_are_sent_as_basic() -> None:
    async def inside() -> None:
        stub = always(OK)
        async with stub.open():
            url = stub.url.replace("http://", "http://me:${TOKEN}@")
            written = {"type": "http", "url": url}
            async with running(HERE, written, secrets={"TOKEN": "p-ssw-rd"}) as target:
                output_of(await target.answer(call_of()))
        given = base64.b64encode(b"me:p-ssw-rd").decode()
        assert stub.requests[0].headers["authorization"] == f"Basic {given}"

    asyncio.run(inside())


def test_connections__are_kept() -> None:
    stub = always(OK)
    run(stub, [1, 2, 3, 4, 5], concurrency=1)
    assert stub.connections == 1


def test_cookies__do_not_travel_from_case_to_case() -> None:
    async def inside() -> None:
        stub = always(reply(200, {"output": 1}, {"set-cookie": "session=1"}))
        async with stub.open():
            # Not an address, for which cookie jars keep nothing.
            url = stub.url.replace("127.0.0.1", "localhost")
            async with running(HERE, {"type": "http", "url": url, "concurrency": 1}) as target:
                await ask_all(target, [call_of(case=case) for case in "abc"])
        assert [request.headers.get("cookie") for request in stub.requests] == [None] * 3

    asyncio.run(inside())


# --- what is an answer ------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [False, 0, "", [], {}])
def test_answer__false_zero_and_empty_are_answers(value: object) -> None:
    """B26."""
    found = output_of(asked(always(reply(200, {"output": value}))))
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    "answer", [reply(200, {"output": None}), reply(200, {}), reply(204), reply(200, b"")]
)
def test_answer__null_and_absent_are_none(answer: Raw) -> None:
    """B26."""
    assert code_of(asked(always(answer))) == "no_answer"


@pytest.mark.parametrize(
    ("kind", "body", "output"),
    [
        ("application/json", b'{"a": 1}', {"a": 1}),
        ("application/problem+json; charset=utf-8", b"[1]", [1]),
        ("text/plain", b"[1]", "[1]"),
        ("text/plain", b"", ""),
        ("text/plain; charset=latin-1", b"caf\xe9", "café"),
        ("", b'{"a": 1}', {"a": 1}),
        ("", b"plain words", "plain words"),
        ("application/json", b"\xef\xbb\xbf1", 1),
    ],
)
def test_answer__the_whole_body_is_read_by_its_type(kind: str, body: bytes, output: object) -> None:
    answer = asked(always(reply(200, body, {"content-type": kind} if kind else {})), output=None)
    assert output_of(answer) == output


@pytest.mark.parametrize(
    "body",
    [
        b"<html><body>502 from the proxy, status 200</body></html>",
        b'{"output": NaN}',
        b'{"output": -Infinity}',
        b'{"output": 1e999}',
        b"[" * 20_000 + b"]" * 20_000,
        b'{"output":' + b"9" * 5000 + b"}",
        b'{"output": 1, "output": 2}',
        b'{"output": "cut',
        b"\xff\xfe",
    ],
)
def test_answer__what_is_not_strict_json_is_one_named_failure(body: bytes) -> None:
    """B13, B14, B43."""
    answer = asked(always(reply(200, body, {"content-type": "text/html"})))
    assert code_of(answer) == "not_json"
    assert "text/html" in message_of(answer)
    assert len(message_of(answer)) <= 500


def test_answer__html_is_no_answer_even_without_a_path() -> None:
    """B50: a login page with status 200 must not reach a `contains` judge."""
    page = reply(200, b"<p>refund policy is 30 days</p>", {"content-type": "text/html"})
    assert code_of(asked(always(page), output=None)) == "not_json"


def test_answer__half_surrogates_are_replaced_and_noted() -> None:
    """B40."""
    body = rb'{"output": "ok \ud83d done \udc00"}'
    answer = asked(always(reply(200, body)))
    assert isinstance(answer, Answered)
    assert answer.output == "ok \ufffd done \ufffd"
    assert answer.notes == ("surrogates_replaced",)


def test_answer__usage_trace_and_latency() -> None:
    body = {"output": 1, "usage": {"total_tokens": 11}, "cost": 0.002, "id": "r-7"}
    by_header = asked(always(reply(200, body, {"X-Trace-Id": "t-9"})), trace_id="header:x-trace-id")
    assert isinstance(by_header, Answered)
    assert (by_header.usage.tokens, by_header.usage.cost_usd) == (11, 0.002)
    assert by_header.trace_id == "t-9"
    assert by_header.latency_ms > 0
    by_path = asked(always(reply(200, body)), trace_id="id")
    assert isinstance(by_path, Answered)
    assert by_path.trace_id == "r-7"
    assert by_path.fingerprint is None


def test_answer__says_its_model_by_a_header_or_in_its_body() -> None:
    body = {"output": 1, "model": " gpt-x\n"}
    header = asked(always(reply(200, body, {"X-Model": "m-2"})), fingerprint="header:x-model")
    path = asked(always(reply(200, body)), fingerprint="model")
    none = asked(always(reply(200, body)), fingerprint="meta.model")
    found = [one.fingerprint for one in (header, path, none) if isinstance(one, Answered)]
    assert found == ["m-2", "gpt-x", None]


def test_answer__more_than_the_cap_is_named() -> None:
    answer = asked(always(reply(200, b'"' + b"x" * (17 * 2**20) + b'"')))
    assert code_of(answer) == "output_too_large"


def test_answer__odd_header_bytes_do_no_harm() -> None:
    raw = b'HTTP/1.1 200 OK\r\nX-Odd: \xe9\xff\r\nContent-Length: 13\r\n\r\n{"output": 1}'
    assert output_of(asked(always(Raw(raw)))) == 1


# --- what goes wrong --------------------------------------------------------------------------------


def test_429__is_rate_limited_whatever_the_body_says() -> None:
    """B46: attempts made and the last Retry-After are in the record."""
    clock = QuickClock()
    answer = asked(always(reply(429, b"slow down", {"Retry-After": "2"})), retries=2, clock=clock)
    assert code_of(answer) == "rate_limited"
    assert message_of(answer).startswith("after 3 attempts: ")
    assert "429 (Retry-After: 2): slow down" in message_of(answer)
    assert answer.calls == 3
    assert min(clock.slept) > 1.9


def test_429__a_burst_loses_no_answer() -> None:
    """B47: two at once, eight at once from us, and no retries to spare; a judge on the same host."""
    stub = at_most(2, OK)

    async def inside() -> list[TargetAnswer]:
        async with stub.open():
            written = {"type": "http", "url": stub.url, "concurrency": 8, "retries": 1}
            async with running(HERE, written) as target:
                return await ask_all(target, [call_of(case=f"c{n}") for n in range(40)])

    answers = asyncio.run(inside())
    assert [type(answer) for answer in answers] == [Answered] * 40


def test_429__two_who_share_a_host_share_its_gate() -> None:
    """B47: target and judge; here two targets over one client."""
    stub = at_most(2, OK)

    async def inside() -> list[TargetAnswer]:
        from releasecheck.redact import Redactor
        from releasecheck.targets import open_target
        from releasecheck.transport import open_client
        from tests.unit.targets.opened import spec_of

        async with stub.open(), open_client({}) as client:
            targets = [
                await open_target(
                    spec_of({"type": "http", "url": stub.url + path, "concurrency": 8}),
                    client=client,
                    root=HERE,
                    environment={},
                    clock=QuickClock(),
                    redactor=Redactor({}),
                    seed=seed,
                )
                for seed, path in enumerate(("/answer", "/score"))
            ]
            calls = [call_of(case=f"c{n}") for n in range(30)]
            both = await asyncio.gather(*[ask_all(target, calls) for target in targets])
            return [answer for answers in both for answer in answers]

    assert [type(answer) for answer in asyncio.run(inside())] == [Answered] * 60


def test_retry_after__zero_is_now_and_a_date_is_measured_from_the_servers_clock() -> None:
    clock = FakeClock()
    dated = {
        "Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT",
        "Date": "Sun, 06 Nov 1994 08:49:07 GMT",
    }
    stub = in_turn([reply(503, b"", {"Retry-After": "0"}), reply(503, b"", dated), OK])
    assert output_of(asked(stub, retries=2, clock=clock)) == "Oslo"
    assert clock.slept[0] == 0.0
    assert 30 <= sum(clock.slept) <= 31


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 422, 425])
def test_4xx__is_asked_once(status: int) -> None:
    """B49; contract section 3: transport failures, 429 and 5xx only."""
    stub = always(reply(status, {"detail": "no"}))
    answer = asked(stub, retries=5)
    assert isinstance(answer, TargetFailed)
    assert len(stub.requests) == 1
    assert '{"detail": "no"}' in message_of(answer)


def test_5xx__without_retries_is_asked_once() -> None:
    """B49: `retries: 0` means it."""
    stub = always(reply(500, b"boom"))
    answer = asked(stub, retries=0)
    assert (code_of(answer), answer.calls, len(stub.requests)) == ("server_error", 1, 1)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect__is_not_followed_and_says_where_it_leads(status: int) -> None:
    """B50."""
    stub = in_turn([reply(status, b"", {"Location": "/login"}), OK])
    answer = asked(stub, retries=3)
    assert code_of(answer) == "redirect"
    assert "'/login'" in message_of(answer)
    assert len(stub.requests) == 1


def authority(tmp_path: Path) -> tuple[ssl.SSLContext, str]:
    made = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.issue_cert("localhost").configure_cert(context)
    made.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    return context, str(tmp_path / "ca.pem")


def test_certificate__is_permanent_cause_first_and_one_connection(tmp_path: Path) -> None:
    """B52."""
    context, _ = authority(tmp_path)
    opened: list[int] = []

    async def inside() -> TargetAnswer:
        async def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            # Raw TCP in front of the TLS server: a failed handshake reaches no handler behind it.
            opened.append(1)
            port = int(stub.url.rpartition(":")[2])
            try:
                back, forth = await asyncio.open_connection("127.0.0.1", port)
                await asyncio.wait(
                    [
                        asyncio.ensure_future(pump(reader, forth)),
                        asyncio.ensure_future(pump(back, writer)),
                    ]
                )
            finally:
                writer.close()

        async with stub.open(context):
            front = await asyncio.start_server(count, "127.0.0.1", 0)
            port = front.sockets[0].getsockname()[1]
            written = {"type": "http", "url": f"https://localhost:{port}/", "retries": 4}
            async with running(HERE, written) as target:
                answer = await target.answer(call_of())
            front.close()
            return answer

    stub = always(OK)
    answer = asyncio.run(inside())
    assert code_of(answer) == "certificate"
    assert message_of(answer).startswith("certificate not trusted: ")
    assert "SSL_CERT_FILE" in message_of(answer)
    assert opened == [1]


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


def test_certificate__of_an_own_authority_is_trusted_when_it_is_named(tmp_path: Path) -> None:
    context, file = authority(tmp_path)
    answer = asked(always(OK), tls=context, environment={"SSL_CERT_FILE": file})
    assert output_of(answer) == "Oslo"


CUT = {
    "shorter than its length": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    b'Content-Length: 500\r\n\r\n{"output":"The refund window is 30 days',
    "chunks cut off": b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{"output":"30 da\r\n',
    "a chunk cut off": b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"output":"30 da',
}


@pytest.mark.parametrize("raw", CUT.values(), ids=CUT.keys())
def test_incomplete_body__is_a_transport_failure_and_never_an_answer(raw: bytes) -> None:
    """B53."""
    stub = always(Raw(raw, close=True))
    answer = asked(stub, retries=2, output=None)
    assert code_of(answer) == "incomplete_body"
    assert isinstance(answer, TargetFailed)
    assert (answer.failure.cls, answer.failure.retryable) == ("infra", True)
    assert (len(stub.requests), answer.calls) == (3, 3)


def test_incomplete_body__the_next_attempt_may_answer() -> None:
    stub = in_turn([Raw(CUT["shorter than its length"], close=True), OK])
    assert output_of(asked(stub)) == "Oslo"


@pytest.mark.parametrize(
    ("raw", "code"),
    [(b"", "connection_lost"), (b"220 mail.example ESMTP\r\n\r\n", "bad_http")],
)
def test_no_http__is_a_transport_failure(raw: bytes, code: str) -> None:
    assert code_of(asked(always(Raw(raw, close=True)), retries=0)) == code


def test_refused__is_a_transport_failure() -> None:
    async def inside() -> TargetAnswer:
        stub = always(OK)
        async with stub.open():
            url = stub.url
        async with running(HERE, {"type": "http", "url": url, "retries": 1}) as target:
            return await target.answer(call_of())

    answer = asyncio.run(inside())
    assert (code_of(answer), answer.calls) == ("connect", 2)


def test_timeout__ends_the_call_and_lets_the_connection_go() -> None:
    async def inside() -> None:
        stub = always(None)
        async with stub.open():
            written = {"type": "http", "url": stub.url, "timeout": "100ms", "retries": 0}
            async with running(HERE, written) as target:
                answer = await target.answer(call_of())
                assert code_of(answer) == "timeout"
                assert "within 0.1 s" in message_of(answer)
                async with asyncio.timeout(5):
                    await stub.left.wait()

    asyncio.run(inside())


def test_cancelled__lets_the_connection_go() -> None:
    async def inside() -> None:
        stub = always(None)
        async with stub.open(), running(HERE, {"type": "http", "url": stub.url}) as target:
            call = asyncio.ensure_future(target.answer(call_of()))
            async with asyncio.timeout(5):
                await stub.arrived.wait()
                call.cancel()
                await asyncio.gather(call, return_exceptions=True)
                await stub.left.wait()
            assert call.cancelled()

    asyncio.run(inside())


def test_proxy__is_used_as_the_mapping_says() -> None:
    async def inside() -> None:
        stub = always(OK)
        async with stub.open():
            written = {"type": "http", "url": "http://target.test/answer"}
            async with running(
                HERE, written, environment={"HTTP_PROXY": stub.url, "NO_PROXY": ""}
            ) as target:
                output_of(await target.answer(call_of()))
            assert stub.requests[0].line == "POST http://target.test/answer HTTP/1.1"
            written = {"type": "http", "url": stub.url}  # loopback: never through a proxy
            proxy = "http://127.0.0.1:9"
            async with running(HERE, written, environment={"HTTP_PROXY": proxy}) as target:
                output_of(await target.answer(call_of()))

    asyncio.run(inside())


def test_secrets__are_in_no_message() -> None:
    """A secret in the address, in a header, and echoed by the server."""
    secret = "s3cr3t/with+odd=characters"

    async def echo(request: Request) -> Reply:
        said = {"you": request.headers["authorization"], "at": request.line}
        return reply(401, said)

    answer = asked(
        Stub(echo),
        path="/hook/${TOKEN}?key=${TOKEN}",
        headers={"authorization": "Bearer ${TOKEN}"},
        secrets={"TOKEN": secret},
    )
    assert code_of(answer) == "unauthorized"
    text = json.dumps(message_of(answer)) + message_of(answer)
    assert "s3cr3t" not in text
    assert "odd" not in text


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"url": "ftp://a/"}, "no http:// or https://"),
        ({"url": "localhost:8080/x"}, "no http:// or https://"),
        ({"url": "http://a:port/"}, "is no address"),
        ({"url": "http://a/", "headers": {"x": "a\nb"}}, "line break"),
        ({"url": "http://a/", "body": "{{ input"}, r"target\.body: template"),
        (
            {"url": "http://a/", "body": ["{{ expected }}"]},
            r"target\.body: `expected`.*may not see",
        ),
        ({"url": "http://a/", "body": {"q": "x {{ inptu }}"}}, r"`inptu`.*no such name"),
        ({"url": "http://a/{{ inptu }}"}, r"target\.url: `inptu`.*no such name"),
        ({"url": "http://a/", "output": "a["}, r"target\.output"),
    ],
)
def test_open__what_cannot_work_is_said_before_the_first_call(
    spec: dict[str, Any], says: str
) -> None:
    async def inside() -> None:
        async with running(HERE, {"type": "http", **spec}):
            raise AssertionError

    with pytest.raises(ConfigError, match=says):
        asyncio.run(inside())
