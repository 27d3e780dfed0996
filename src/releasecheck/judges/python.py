"""`python`: a function in the user's own interpreter, through the worker that targets use too."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from typing_extensions import override

from releasecheck.judges.answer import read_reply
from releasecheck.judges.question import question
from releasecheck.model.score import JudgeFailed
from releasecheck.ports import Judge, Judged

if TYPE_CHECKING:
    from releasecheck.model.judge import PythonJudge
    from releasecheck.ports import JudgeAsk
    from releasecheck.redact import Redactor
    from releasecheck.transport.pyworker import PythonWorker


class Python(Judge):
    """Calls the function with one mapping and reads the score that it returns."""

    def __init__(self, spec: PythonJudge, worker: PythonWorker, redactor: Redactor) -> None:
        self._redactor = redactor
        self._worker = worker
        self._timeout_s = spec.timeout
        self._scale = spec.scale
        # The time limit is the function's own: waiting for a free place must not use it up.
        self._places = asyncio.Semaphore(spec.concurrency)

    @override
    async def judge(self, ask: JudgeAsk) -> Judged:
        async with self._places:
            reply = await self._worker.call(question(ask), self._timeout_s)
        if not isinstance(reply, bytes):
            return Judged(JudgeFailed(reply.failure))
        return read_reply(reply, self._scale, self._redactor)

    @override
    async def aclose(self) -> None:
        await self._worker.aclose()
