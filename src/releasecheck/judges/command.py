"""`command`: a process per output; the question as JSON on stdin, the score as JSON on stdout."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from typing_extensions import override

from releasecheck.canonical import dump_line
from releasecheck.judges.answer import read_reply
from releasecheck.judges.question import question
from releasecheck.model.score import JudgeFailed
from releasecheck.ports import Judge, Judged
from releasecheck.transport.classify import Classifier
from releasecheck.transport.process import ProgramNotFound, run_program

if TYPE_CHECKING:
    from releasecheck.model.judge import CommandJudge
    from releasecheck.ports import JudgeAsk
    from releasecheck.redact import Redactor
    from releasecheck.transport.classify import Trouble
    from releasecheck.transport.process import ProcessEnd, Program


class Command(Judge):
    """Runs the program once for each output."""

    def __init__(self, spec: CommandJudge, program: Program, redactor: Redactor) -> None:
        self._program = program
        self._classify = Classifier("judge", redactor.text)
        self._redactor = redactor
        self._timeout_s = spec.timeout
        self._scale = spec.scale
        self._doing = spec.run[0]
        self._places = asyncio.Semaphore(spec.concurrency)

    @override
    async def judge(self, ask: JudgeAsk) -> Judged:
        async with self._places:
            end = await self._run(dump_line(question(ask)))
        if not isinstance(end, bytes):
            return Judged(JudgeFailed(end.failure))
        return read_reply(end, self._scale, self._redactor)

    async def _run(self, asked: bytes) -> bytes | Trouble:
        try:
            end: ProcessEnd = await run_program(
                self._program, stdin=asked, within_s=self._timeout_s
            )
        except ProgramNotFound as error:
            return self._classify.config("program_not_found", str(error))
        except OSError as error:
            return self._classify.infra("not_started", f"{self._doing}: {error}")
        return self._classify.exit(end, self._doing) or end.stdout

    @override
    async def aclose(self) -> None:
        return None
