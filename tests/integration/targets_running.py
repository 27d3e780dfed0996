"""Open a target as a run does, over the real client and real processes, and ask it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from releasecheck.ports import Answered, Clock, Target, TargetAnswer, TargetFailed
from releasecheck.redact import Redactor
from releasecheck.targets import open_target
from releasecheck.transport import open_client
from tests.processes import environment as our_environment
from tests.unit.targets.opened import call_of, spec_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from releasecheck.ports import TargetCall


class QuickClock(Clock):
    """A clock that runs a hundred times too fast, so that back-off takes no time to test."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    @override
    def now(self) -> str:
        return "2026-01-05T09:00:00.000Z"

    @override
    def monotonic(self) -> float:
        return time.monotonic() * 100

    @override
    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(seconds / 100)


@contextlib.asynccontextmanager
async def running(
    root: Path,
    written: Mapping[str, Any],
    *,
    clock: Clock | None = None,
    secrets: Mapping[str, str] | None = None,
    log_folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[Target]:
    """The open target."""
    known = our_environment(**(environment or {}), **(secrets or {}))
    async with open_client(known) as client:
        target = await open_target(
            spec_of(written),
            client=client,
            root=root,
            environment=known,
            clock=clock or QuickClock(),
            redactor=Redactor(dict(secrets or {})),
            log_folder=log_folder,
        )
        try:
            yield target
        finally:
            await target.aclose()


async def ask_all(target: Target, calls: Sequence[TargetCall]) -> list[TargetAnswer]:
    """Every answer, asked at once."""
    return await asyncio.gather(*[target.answer(call) for call in calls])


def ask(root: Path, written: Mapping[str, Any], given: object = "hi", **more: Any) -> TargetAnswer:
    """Open, ask once, close."""

    async def run() -> TargetAnswer:
        async with running(root, written, **more) as target:
            return await target.answer(call_of(given))

    return asyncio.run(run())


def output_of(answer: TargetAnswer) -> Any:
    """The output; a failure fails the test with its message."""
    assert isinstance(answer, Answered), answer
    return answer.output


def code_of(answer: TargetAnswer) -> str:
    """The failure's code."""
    assert isinstance(answer, TargetFailed), answer
    return answer.failure.code


def message_of(answer: TargetAnswer) -> str:
    """The failure's message."""
    assert isinstance(answer, TargetFailed), answer
    return str(answer.failure.message)
