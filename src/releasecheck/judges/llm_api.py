"""The OpenAI-compatible API that a judging model is behind: requests, their options, and answers."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, TypeVar

from releasecheck.canonical import JsonProblem
from releasecheck.judges.llm_prompt import response_format, text_of
from releasecheck.judges.llm_reading import read_verdict
from releasecheck.judges.llm_votes import Vote
from releasecheck.judges.outcome import cannot
from releasecheck.model.score import JudgeFailed
from releasecheck.references import resolve, resolve_text
from releasecheck.transport.attempts import attempts
from releasecheck.transport.chat import Completion
from releasecheck.transport.classify import Trouble
from releasecheck.transport.endpoint import Endpoint, not_json
from releasecheck.transport.reading import UsageReader, read_json
from releasecheck.transport.retry import Backoff

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from releasecheck.canonical import Json
    from releasecheck.model.judge import LlmJudge
    from releasecheck.ports import JudgeAsk
    from releasecheck.transport.context import Context
    from releasecheck.transport.http import HttpAnswer

T = TypeVar("T")
OURS: Final = ("model", "messages", "stream", "n", "seed", "temperature", "response_format")
"""Keys of the request that `params` may not set (`llm_problems`)."""
OPTIONAL: Final = ("seed", "temperature", "response_format")
"""Options that some APIs or models do not take, and that a judge can do without."""
_LONGEST_NAME: Final = 100
_REFUSES: Final = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed|extra",
    re.IGNORECASE,
)


class LlmApi:
    """One model behind one address."""

    def __init__(self, spec: LlmJudge, context: Context) -> None:
        """Resolve what the config refers to.

        Raises:
            ConfigError: a part of the config cannot be used.
            EnvironmentMissing: a reference has no value.
        """
        self.spec = spec
        self.classify = context.classifier("judge")
        self.clock = context.clock
        self.backoff = Backoff(context.jitter)
        environment = context.environment
        headers = {name: resolve_text(value, environment) for name, value in spec.headers.items()}
        if spec.api_key is not None:
            headers = {k: v for k, v in headers.items() if k.lower() != "authorization"}
            headers["authorization"] = "Bearer " + resolve_text(spec.api_key, environment)
        self._headers = {k: v for k, v in headers.items() if k.lower() != "content-type"}
        self._url = resolve_text(spec.base_url, environment).rstrip("/")
        self._context = context
        self._chat = self.endpoint("application/json").below("/chat/completions")
        params = {name: value for name, value in spec.params.items() if value is not None}
        self._fixed: dict[str, Any] = resolve({**params, "model": spec.model}, environment)
        self._usage = UsageReader(None)
        self.dropped: dict[str, None] = {}
        """Options that the API refused, for the rest of the process."""

    def endpoint(self, content_type: str | None = None) -> Endpoint:
        """The address itself; `below` it are files, batches and completions."""
        headers = dict(self._headers)
        if content_type is not None:
            headers["content-type"] = content_type
        return Endpoint(
            self._context.client.http(),
            self.classify,
            self.clock,
            method="POST",
            url=self._url,
            headers=headers,
            timeout_s=self.spec.timeout,
            key="judge",
        )

    def body(self, messages: Json, vote: int) -> dict[str, Json]:
        """The request of one vote, without what the API has refused."""
        spec = self.spec
        options: dict[str, Json] = {
            "seed": None if spec.seed is None else spec.seed + vote,
            "temperature": spec.temperature,
            "response_format": response_format(spec.answer_format, spec.scale),
        }
        taken = {
            name: value
            for name, value in options.items()
            if value is not None and name not in self.dropped
        }
        return {**self._fixed, **taken, "messages": messages}

    async def vote(self, messages: Json, vote: int, ask: JudgeAsk) -> Vote:
        """Ask for one vote."""
        while True:
            known = tuple(self.dropped)
            content = encoded(self.body(messages, vote))
            key = "-no-".join((f"{ask.idempotency_key}#v{vote}", *known))

            async def send(content: bytes = content, key: str = key) -> HttpAnswer | Trouble:
                return await self._chat.send(content, key)

            answer = await self.attempts(send, self._chat)
            if not isinstance(answer, Trouble):
                return self._read(answer, text_of(ask.output))
            name = self._refused(answer, known)
            if name is None:
                return Vote(JudgeFailed(answer.failure))
            self.dropped[name] = None

    async def attempts(
        self, send: Callable[[], Awaitable[T | Trouble]], endpoint: Endpoint
    ) -> T | Trouble:
        """At most three calls through the gate of the host."""
        return await attempts(send, gate=endpoint.gate, clock=self.clock, backoff=self.backoff)

    def _refused(self, trouble: Trouble, known: tuple[str, ...]) -> str | None:
        """The option that the API says it does not take; None without clear evidence."""
        if trouble.failure.code != "bad_request":
            return None
        # What follows is what the API wrote; before it is our address, which may hold any word.
        said = (trouble.failure.message or "").partition(" answered ")[2]
        if not _REFUSES.search(said):
            return None
        return next(
            (
                name
                for name in OPTIONAL
                if name not in known
                and name in self.body([], 0).keys() | self.dropped.keys()
                and re.search(rf"\b{name}\b", said)
            ),
            None,
        )

    def _read(self, answer: HttpAnswer, quoted: str) -> Vote:
        try:
            body = read_json(answer.body).value
        except JsonProblem as problem:
            trouble = not_json(self.classify, answer, problem, self._chat.doing)
            return Vote(JudgeFailed(trouble.failure))
        return self.read(body, self._chat.doing, quoted)

    def read(self, body: Json, doing: str, quoted: str | None) -> Vote:
        """The vote in a chat completion, with what it used and who gave it."""
        usage, _ = self._usage.read(body)
        notes = self._identity(body)
        completion = Completion(body, self.classify, doing)
        trouble = completion.trouble(needs_text=True)
        if trouble is not None:
            return Vote(JudgeFailed(trouble.failure), usage, notes)
        text = completion.text()
        if text is None:
            lost = cannot("unreadable_verdict", f"{doing}: the message has no content")
            return Vote(lost, usage, notes)
        return Vote(read_verdict(text, self.spec.scale, quoted), usage, notes)

    def _identity(self, body: Json) -> tuple[str, ...]:
        if not isinstance(body, dict):
            return ()
        said = (("model", body.get("model")), ("fingerprint", body.get("system_fingerprint")))
        notes = [
            f"{name}={self.classify.clean(value)[:_LONGEST_NAME]}"
            for name, value in said
            if isinstance(value, str) and value
        ]
        return (*notes, *(f"refused={name}" for name in self.dropped))


def encoded(body: Json) -> bytes:
    """A request as it is sent."""
    return json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8")
