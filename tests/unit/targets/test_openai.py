"""A 200 that contains no answer is a named failure (B43)."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from releasecheck.errors import ConfigError
from releasecheck.model.record import Usage
from releasecheck.ports import Answered, TargetAnswer, TargetCall, TargetFailed
from tests.unit.targets.opened import call_of, opened

if TYPE_CHECKING:
    from collections.abc import Callable

SPEC: dict[str, Any] = {
    "type": "openai",
    "base_url": "http://model.test/v1/",
    "model": "m-1",
    "api_key": "${KEY}",
    "messages": [{"role": "user", "content": "{{ input }}"}],
    "params": {"temperature": 0},
    "retries": 0,
}


def ask(
    handler: Callable[[httpx.Request], httpx.Response], call: TargetCall | None = None, **spec: Any
) -> TargetAnswer:
    return asyncio.run(
        opened({**SPEC, **spec}, handler, {"KEY": "k-secret-1"}, call or call_of("why?"))
    )


def answers(body: object) -> Callable[[httpx.Request], httpx.Response]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda _: httpx.Response(200, headers={"x-trace": "t9"}, content=data)


def choice(reason: str = "stop", **message: Any) -> dict[str, Any]:
    return {"choices": [{"finish_reason": reason, "message": message or None}]}


@pytest.mark.parametrize(
    ("body", "cls", "code"),
    [
        ({"choices": []}, "target", "no_choices"),
        ({}, "target", "no_choices"),
        ([], "target", "no_choices"),
        ({"choices": [None]}, "target", "no_choices"),
        (choice("content_filter"), "outcome", "filtered"),
        (choice("length", role="assistant", content=""), "outcome", "truncated"),
        (choice("length", role="assistant", content="half an ans"), "outcome", "truncated"),
        (choice(role="assistant", content=None, refusal="I can't"), "outcome", "refused"),
        (choice("tool_calls", content=None, tool_calls=[{"id": "t1"}]), "outcome", "tool_calls"),
        (choice("function_call", content=None, function_call={}), "outcome", "tool_calls"),
        (choice(content=None), "target", "no_answer"),
        (choice(), "target", "no_answer"),
        (choice(content=[]), "target", "no_answer"),
        ({"error": {"message": "model overloaded", "code": None}}, "infra", "error_in_body"),
        ({"error": "overloaded"}, "infra", "error_in_body"),
        (b"<html><body>502 from the proxy, status 200</body></html>", "target", "not_json"),
        (b'{"choices": [', "target", "not_json"),
        (b"", "target", "not_json"),
        (b'{"choices": [{"message": {"content": "x"}}], "x": NaN}', "target", "not_json"),
    ],
)
def test_ask__200_without_an_answer_is_named(body: object, cls: str, code: str) -> None:
    answer = ask(answers(body))
    assert isinstance(answer, TargetFailed)
    assert (answer.failure.cls, answer.failure.code) == (cls, code)
    assert "http://model.test" in str(answer.failure.message)


@pytest.mark.parametrize(
    ("content", "output"),
    [
        ("Oslo", "Oslo"),
        ("", ""),
        (
            [{"type": "text", "text": "par"}, {"type": "image"}, {"type": "text", "text": "ts"}],
            "parts",
        ),
    ],
)
def test_ask__the_text_of_the_first_choice(content: object, output: str) -> None:
    body = {**choice(content=content), "usage": {"total_tokens": 12}}
    answer = ask(answers(body), trace_id="header:x-trace")
    assert answer == Answered(output, 0.0, Usage(12, None), "t9")


def test_ask__what_a_useless_answer_used_is_counted() -> None:
    answer = ask(answers({**choice("length", content=""), "usage": {"total_tokens": 512}}))
    assert answer.usage == Usage(512, None)


def test_ask__output_reads_the_whole_answer() -> None:
    called = choice("tool_calls", content=None, tool_calls=[{"function": {"name": "f"}}])
    path = "choices[0].message.tool_calls[0].function.name"
    answer = ask(answers(called), output=path)
    assert isinstance(answer, Answered)
    assert answer.output == "f"


def test_ask__sends_messages_params_key_and_idempotency_key() -> None:
    seen: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=choice(content="x"))

    ask(handler, call_of("{{ 7*7 }}"))
    (request,) = seen
    assert str(request.url) == "http://model.test/v1/chat/completions"
    assert request.headers["authorization"] == "Bearer k-secret-1"
    assert request.headers["idempotency-key"] == "rc-1:c1#t0"
    assert json.loads(request.content) == {
        "model": "m-1",
        "temperature": 0,
        "messages": [{"role": "user", "content": "{{ 7*7 }}"}],
    }


def test_ask__takes_a_whole_conversation_from_the_case() -> None:
    # Issue 6: suites of other tools bring conversations of any length; their texts are data, not templates.
    seen: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=choice(content="x"))

    talk = [
        {"role": "system", "content": "{{ 7*7 }}"},
        {"role": "user", "content": "hi", "name": "a"},
    ]
    ask(handler, call_of(talk), messages="{{ input }}")
    assert json.loads(seen[0].content)["messages"] == talk


@pytest.mark.parametrize("talk", ["hi", [], ["hi"], {"role": "user"}])
def test_ask__sends_nothing_where_a_case_makes_no_conversation(talk: object) -> None:
    answer = ask(answers({}), call_of(talk), messages="{{ input }}")
    assert isinstance(answer, TargetFailed)
    assert answer.failure.code == "template"
    assert "no list of messages" in str(answer.failure.message)


def test_open__params_may_not_replace_what_the_suite_says() -> None:
    with pytest.raises(ConfigError, match="params may not set stream"):
        ask(answers({}), params={"stream": True})
