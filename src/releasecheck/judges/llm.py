"""A judge that is a model behind an OpenAI-compatible chat API, with a rubric."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from typing_extensions import override

from releasecheck.errors import ConfigError, Problem
from releasecheck.judges.llm_api import LlmApi
from releasecheck.judges.llm_prompt import Prompt
from releasecheck.judges.llm_votes import count
from releasecheck.model.judge import Rubric
from releasecheck.model.score import JudgeFailed
from releasecheck.ports import Judge, Judged

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.judges.llm_votes import Vote
    from releasecheck.model.judge import LlmJudge
    from releasecheck.ports import JudgeAsk
    from releasecheck.transport.context import Context


def open_llm(spec: LlmJudge, context: Context) -> Judge:
    """The judge, by its `mode`; whoever wraps it redacts all that it says.

    Raises:
        ConfigError: a part of the config cannot be used, or the rubric is still a name.
        EnvironmentMissing: a reference has no value.
    """
    if not isinstance(spec.rubric, Rubric):
        message = f"judge {spec.id}: the rubric {spec.rubric!r} is not read yet; make a plan first"
        raise ConfigError([Problem(message, key="rubric")])
    prompt = Prompt(spec, spec.rubric)
    api = LlmApi(spec, context)
    if spec.mode == "batch":
        from releasecheck.judges.llm_batch import LlmBatch

        return LlmBatch(api, prompt)
    return LlmDirect(api, prompt)


class LlmDirect(Judge):
    """Asks for every vote by itself and answers at once."""

    def __init__(self, api: LlmApi, prompt: Prompt) -> None:
        self._api = api
        self._prompt = prompt
        self._places = asyncio.Semaphore(api.spec.concurrency)

    @override
    async def judge(self, ask: JudgeAsk) -> Judged:
        messages = self._prompt.messages(ask)
        if isinstance(messages, JudgeFailed):
            return Judged(messages)
        spec = self._api.spec
        votes = await asyncio.gather(
            *(self._vote(messages, number, ask) for number in range(spec.votes))
        )
        return Judged(*count(votes, spec.combine))

    async def _vote(self, messages: Json, number: int, ask: JudgeAsk) -> Vote:
        async with self._places:
            return await self._api.vote(messages, number, ask)

    @override
    async def aclose(self) -> None:
        return None
