"""A target behind an OpenAI-compatible chat completions API (B43)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import override

from releasecheck.canonical import JsonProblem
from releasecheck.errors import ConfigError, Problem
from releasecheck.references import resolve, resolve_text
from releasecheck.targets.answer import AnswerReader
from releasecheck.targets.ask import Asker, Attempt, Got, Lost
from releasecheck.targets.endpoint import Endpoint, not_json
from releasecheck.targets.http import names_of
from releasecheck.targets.reading import read_json
from releasecheck.targets.template import TemplateProblem, compile_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from releasecheck.canonical import Json
    from releasecheck.model.suite import OpenAITarget
    from releasecheck.ports import Clock, TargetCall
    from releasecheck.transport.classify import Classifier, Trouble
    from releasecheck.transport.http import HttpAnswer, HttpClient
    from releasecheck.transport.limits import Gate

OURS: Final = ("model", "messages", "stream")
"""Keys of the request that `params` may not set."""


class OpenAIAsker(Asker):
    """Sends the rendered messages and takes the text of the first choice."""

    def __init__(
        self,
        spec: OpenAITarget,
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
        wrong = [name for name in OURS if name in spec.params]
        if wrong:
            message = f"params may not set {', '.join(wrong)}; found in target {spec.id!r}"
            raise ConfigError([Problem(message, key="target.params")])
        headers = {name: resolve_text(value, environment) for name, value in spec.headers.items()}
        headers.setdefault("content-type", "application/json")
        if spec.api_key is not None:
            headers["authorization"] = "Bearer " + resolve_text(spec.api_key, environment)
        self._endpoint = Endpoint(
            client,
            classify,
            clock,
            method="POST",
            url=resolve_text(spec.base_url, environment).rstrip("/") + "/chat/completions",
            headers=headers,
            timeout_s=spec.timeout,
        )
        self.gate: Gate | None = self._endpoint.gate
        self._messages = compile_value(list(spec.messages), environment)
        self._fixed: dict[str, Any] = resolve({**spec.params, "model": spec.model}, environment)
        self._reader = AnswerReader(spec, classify)

    @override
    async def ask(self, call: TargetCall) -> Attempt:
        try:
            messages = self._messages(names_of(call))
            body = {**self._fixed, "messages": messages}
            content = json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8")
        except (TemplateProblem, TypeError, ValueError) as problem:
            return Lost(self.classify.config("template", str(problem)))
        answer = await self._endpoint.send(content, call.idempotency_key)
        return answer if isinstance(answer, Lost) else self._read(answer)

    def _read(self, answer: HttpAnswer) -> Attempt:
        doing = self._endpoint.doing
        try:
            read = read_json(answer.body)
        except JsonProblem as problem:
            return Lost(not_json(self.classify, answer, problem, doing))
        usage, notes = self._reader.usage.read(read.value)
        completion = Completion(read.value, self.classify, doing)
        trouble = completion.trouble(needs_text=self._reader.whole)
        if trouble is not None:
            return Lost(trouble, usage)
        if not self._reader.whole:
            return self._reader.take(read, doing, answer.headers)
        text = completion.text()
        if text is None:
            return Lost(self._reader.none(f"{doing}: the message has no content"), usage)
        trace = self._reader.trace_of(read.value, answer.headers)
        return Got(text, usage, trace, (*read.notes, *notes))

    @override
    async def aclose(self) -> None:
        return None


class Completion:
    """A chat completion, however it looks."""

    def __init__(self, body: Json, classify: Classifier, doing: str) -> None:
        self._body = body if isinstance(body, dict) else {}
        choices = self._body.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        self._choice: dict[str, Any] | None = first if isinstance(first, dict) else None
        message = (self._choice or {}).get("message")
        self._message: dict[str, Any] = message if isinstance(message, dict) else {}
        self._classify = classify
        self._doing = doing

    def trouble(self, *, needs_text: bool) -> Trouble | None:
        """Why this is no answer; None when it is one."""
        classify, doing = self._classify, self._doing
        error = self._body.get("error")
        if error and self._choice is None:
            said = error.get("message") if isinstance(error, dict) else error
            said = classify.start_of(str(said))
            return classify.infra("error_in_body", f"{doing}: answered 2xx with an error: {said}")
        if self._choice is None:
            return classify.broken("no_choices", f"{doing}: the answer has no choices")
        reason = self._choice.get("finish_reason")
        if reason == "content_filter":
            return classify.outcome("filtered", f"{doing}: a content filter withheld the answer")
        if reason == "length":
            return classify.outcome(
                "truncated",
                f"{doing}: the answer was cut at the token limit; raise max_tokens in params",
            )
        refusal = self._message.get("refusal")
        if refusal:
            said = classify.start_of(str(refusal))
            return classify.outcome("refused", f"{doing}: the model refused: {said}")
        if needs_text and self.text() is None and self._calls_tools(reason):
            return classify.outcome(
                "tool_calls", f"{doing}: the model called a tool instead of answering"
            )
        return None

    def _calls_tools(self, reason: Json) -> bool:
        called = self._message.get("tool_calls") or self._message.get("function_call")
        return bool(called) or reason in ("tool_calls", "function_call")

    def text(self) -> str | None:
        """The content of the message: a text, or the text parts of a list, joined."""
        content = self._message.get("content")
        if isinstance(content, str):
            return content
        if not isinstance(content, list):
            return None
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        texts = [part for part in parts if isinstance(part, str)]
        return "".join(texts) if texts else None
