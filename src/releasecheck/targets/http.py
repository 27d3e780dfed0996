"""A target behind HTTP: one request per trial, the answer in its body."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import httpx
from typing_extensions import override

from releasecheck.canonical import JsonProblem
from releasecheck.references import resolve_text
from releasecheck.targets.answer import AnswerReader
from releasecheck.targets.ask import Asker, Attempt, Lost
from releasecheck.targets.template import Names, TemplateProblem, compile_url, compile_value
from releasecheck.transport.classify import Trouble
from releasecheck.transport.endpoint import Endpoint, not_json, read_body
from releasecheck.transport.http import origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from releasecheck.canonical import Json
    from releasecheck.model.target import HttpTarget
    from releasecheck.ports import Clock, TargetCall
    from releasecheck.transport.classify import Classifier
    from releasecheck.transport.http import HttpAnswer, HttpClient
    from releasecheck.transport.limits import Gate

# Made once: `json.dumps` with options makes one for each call. Keys stay in the suite's order.
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
DEFAULT_BODY: Final = {"input": "{{ input }}"}


def names_of(call: TargetCall) -> Names:
    """What a template may see of a case: never `expected`."""
    return {
        "input": call.input,
        "id": call.case,
        "tags": list(call.tags),
        "metadata": call.metadata,
    }


class HttpAsker(Asker):
    """Sends the rendered body and takes the answer from the response."""

    def __init__(
        self,
        spec: HttpTarget,
        client: HttpClient,
        classify: Classifier,
        clock: Clock,
        environment: Mapping[str, str],
    ) -> None:
        """Compile everything that is the same for every case.

        Raises:
            ConfigError: a part of the config cannot be used.
            TemplateProblem: a template cannot be compiled.
            EnvironmentMissing: a reference has no value.
        """
        self.classify = classify
        headers = {name: resolve_text(value, environment) for name, value in spec.headers.items()}
        lower = {name.lower(): value for name, value in headers.items()}
        self._raw_text = "json" not in lower.get("content-type", "json")
        has_body = spec.method != "GET" or spec.body is not None
        if has_body and "content-type" not in lower:
            headers["content-type"] = "application/json"
        self._render_url = compile_url(spec.url, environment) if "{{" in spec.url else None
        url = spec.url.partition("{{")[0] if self._render_url else spec.url
        self._endpoint = Endpoint(
            client,
            classify,
            clock,
            method=spec.method,
            url=resolve_text(url, environment),
            headers=headers,
            timeout_s=spec.timeout,
        )
        self.gate: Gate | None = self._endpoint.gate
        body = DEFAULT_BODY if spec.body is None else spec.body
        self._render = compile_value(body, environment) if has_body else None
        self._reader = AnswerReader(spec, classify)

    @override
    async def ask(self, call: TargetCall) -> Attempt:
        names = names_of(call)
        try:
            content = b"" if self._render is None else self._encode(self._render(names))
            url = None if self._render_url is None else self._url(self._render_url(names))
        except TemplateProblem as problem:
            return Lost(self.classify.config("template", str(problem)))
        answer = await self._endpoint.send(content, call.idempotency_key, url)
        if isinstance(answer, Trouble):
            return Lost(answer)
        return self._read(answer)

    def _read(self, answer: HttpAnswer) -> Attempt:
        doing = self._endpoint.doing
        if answer.status == 204 or (not answer.body and not self._reader.whole):
            none = self._reader.none(f"{doing}: answered {answer.status} with no body")
            return Lost(none)
        try:
            read = read_body(answer, text_too=self._reader.whole)
        except JsonProblem as problem:
            return Lost(not_json(self.classify, answer, problem, doing))
        return self._reader.take(read, doing, answer.headers)

    def _encode(self, body: Json) -> bytes:
        if self._raw_text and isinstance(body, str):
            return body.encode("utf-8")
        try:
            return _ENCODER.encode(body).encode("utf-8")
        except (TypeError, ValueError, RecursionError) as error:
            message = f"the rendered body is not JSON: {error}"
            raise TemplateProblem(message) from None

    def _url(self, rendered: str) -> httpx.URL:
        try:
            url = httpx.URL(rendered)
        except (httpx.InvalidURL, ValueError) as error:
            message = f"the rendered url is no address: {error}"
            raise TemplateProblem(message) from None
        if origin(url) != origin(self._endpoint.url):
            message = f"the rendered url leads to another host, {origin(url)}"
            raise TemplateProblem(message)
        return url

    @override
    async def aclose(self) -> None:
        return None
