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
from releasecheck.targets.http import names_of
from releasecheck.targets.template import TemplateProblem, compile_value
from releasecheck.transport.chat import Completion
from releasecheck.transport.classify import Trouble
from releasecheck.transport.endpoint import Endpoint, not_json
from releasecheck.transport.reading import fingerprint, read_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from releasecheck.canonical import Json
    from releasecheck.model.target import OpenAITarget
    from releasecheck.ports import Clock, TargetCall
    from releasecheck.transport.classify import Classifier
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
        written = spec.messages
        # A text is one expression that gives the list: conversations differ in length.
        whole = isinstance(written, str)
        self._messages = compile_value(written if whole else list(written), environment)
        self._fixed: dict[str, Any] = resolve({**spec.params, "model": spec.model}, environment)
        self._reader = AnswerReader(spec, classify)

    @override
    async def ask(self, call: TargetCall) -> Attempt:
        try:
            messages = _conversation(self._messages(names_of(call)))
            body = {**self._fixed, "messages": messages}
            content = json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8")
        except (TemplateProblem, TypeError, ValueError) as problem:
            return Lost(self.classify.config("template", str(problem)))
        answer = await self._endpoint.send(content, call.idempotency_key)
        return Lost(answer) if isinstance(answer, Trouble) else self._read(answer)

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
        model = _model_of(read.value)
        if not self._reader.whole:
            taken = self._reader.take(read, doing, answer.headers)
            return taken._replace(fingerprint=model) if isinstance(taken, Got) else taken
        text = completion.text()
        if text is None:
            return Lost(self._reader.none(f"{doing}: the message has no content"), usage)
        trace = self._reader.trace_of(read.value, answer.headers)
        return Got(text, usage, trace, (*read.notes, *notes), model)

    @override
    async def aclose(self) -> None:
        return None


def _conversation(rendered: Json) -> Json:
    """What goes out as messages.

    Raises:
        TemplateProblem: this case makes no list of messages.
    """
    if isinstance(rendered, list) and rendered and all(isinstance(m, dict) for m in rendered):
        return rendered
    message = "`messages` gives no list of messages ({role, content}) for this case"
    raise TemplateProblem(message)


def _model_of(answer: Json) -> str | None:
    """Which model a completion names, with the build of it where that is said."""
    if not isinstance(answer, dict):
        return None
    return fingerprint(answer.get("model"), answer.get("system_fingerprint"))
