"""Hold a judge against labels that people gave: ask it for each, and say how far they agree."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from releasecheck.canonical import digest
from releasecheck.config import load_suite
from releasecheck.credentials import redactor_of
from releasecheck.errors import UsageError
from releasecheck.model.judge import LimitedJudge
from releasecheck.model.record import NO_USAGE, Usage
from releasecheck.model.score import JudgeFailed, Missing, NotApplicable, Pending, Scored
from releasecheck.pipeline.choosing import check_variables, judge_of_suite
from releasecheck.pipeline.ruling import rule_for
from releasecheck.ports import BulkJudge, DeferredJudge, JudgeAsk, JudgeCase

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from releasecheck.config import LoadedSuite
    from releasecheck.model.failure import Failure
    from releasecheck.model.plan import PlannedJudge
    from releasecheck.pipeline.labels import Label
    from releasecheck.pipeline.world import World
    from releasecheck.ports import Clock, Judge

Answer: TypeAlias = Scored | NotApplicable | JudgeFailed | Missing
Wait: TypeAlias = "Callable[[float], Awaitable[None]]"
"""Spends seconds; the core itself never does."""
_AT_ONCE: Final = 4
"""Outputs judged at once by a judge that does not say."""


class Outcome(NamedTuple):
    """What the judge says to one labelled output."""

    label: Label
    answer: Answer
    usage: Usage = NO_USAGE


@dataclass(frozen=True, slots=True)
class Chosen:
    """The judge of a suite that is to be calibrated."""

    planned: PlannedJudge
    loaded: LoadedSuite


def choose(config: Path, judge: str, profile: str | None, world: World) -> Chosen:
    """Find a judge of a suite and see that it can work.

    Raises:
        ConfigError, UsageError, EnvironmentMissing: it cannot, or there is none of this id.
    """
    loaded = load_suite(config, profile)
    found = judge_of_suite(judge, loaded, config, world.environment)
    check_variables(found.spec, world.environment)
    return Chosen(found, loaded)


async def ask_judge(
    chosen: Chosen, labels: Sequence[Label], world: World, wait: Wait
) -> list[Outcome]:
    """What the judge says to every labelled output, in their order; none is left out."""
    from releasecheck.judges import open_judges
    from releasecheck.transport import open_client

    spec = chosen.planned.spec
    written = spec.model_dump(mode="json", by_alias=True)
    async with open_client(world.environment) as client:
        judge = open_judges(
            [chosen.planned],
            root=chosen.loaded.policy_root,
            environment=world.environment,
            clock=world.clock,
            redactor=redactor_of([written], world.environment),
            client=client,
        )[spec.id]
        try:
            asking = _Asking(judge, chosen, world.clock, wait)
            return await asking.all(labels)
        finally:
            await judge.aclose()


class _Asking:
    def __init__(self, judge: Judge, chosen: Chosen, clock: Clock, wait: Wait) -> None:
        self._judge = judge
        self._chosen = chosen
        self._clock = clock
        self._wait = wait

    async def all(self, labels: Sequence[Label]) -> list[Outcome]:
        run = f"calibrate-{digest([one.content for one in labels])[7:19]}"
        asks = [self._ask(run, label) for label in labels]
        first = (
            await self._bulk(asks) if isinstance(self._judge, BulkJudge) else await self._each(asks)
        )
        arrived = await self._later([one[0].ticket for one in first if isinstance(one[0], Pending)])
        outcomes: list[Outcome] = []
        for label, (answer, usage) in zip(labels, first, strict=True):
            if isinstance(answer, Pending):
                came, used = arrived[answer.ticket]
                outcomes.append(Outcome(label, came, used))
            else:
                outcomes.append(Outcome(label, answer, usage))
        return outcomes

    def _ask(self, run: str, label: Label) -> JudgeAsk:
        case = JudgeCase(
            label.id, label.input, label.expected, label.metadata, label.tags, label.split
        )
        name, found = self._chosen.planned.id, digest(label.output)
        # A hash, since the key is sent in a header and an id is whatever somebody wrote.
        key = f"{run}:{digest([label.id, name, found, self._chosen.planned.digest])[7:39]}"
        return JudgeAsk(case, 0, label.output, found, run, name, key)

    async def _bulk(self, asks: Sequence[JudgeAsk]) -> list[tuple[Answer | Pending, Usage]]:
        judge = self._judge
        assert isinstance(judge, BulkJudge)  # noqa: S101 - asked by who looked
        found: list[tuple[Answer | Pending, Usage]] = []
        for start in range(0, len(asks), judge.most):
            judged = await judge.submit(asks[start : start + judge.most])
            found += [(one.answer, one.usage) for one in judged]
        return found

    async def _each(self, asks: Sequence[JudgeAsk]) -> list[tuple[Answer | Pending, Usage]]:
        spec = self._chosen.planned.spec
        places = asyncio.Semaphore(spec.concurrency if isinstance(spec, LimitedJudge) else _AT_ONCE)

        async def one(ask: JudgeAsk) -> tuple[Answer | Pending, Usage]:
            async with places:
                judged = await self._judge.judge(ask)
            return judged.answer, judged.usage

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(ask)) for ask in asks]
        return [task.result() for task in tasks]

    async def _later(self, tickets: list[str]) -> dict[str, tuple[Answer, Usage]]:
        """What comes for the tickets until the deadline; what has not come is missing, with why."""
        rule = rule_for(self._chosen.planned.spec, self._chosen.loaded.suite.settle)
        until = self._clock.monotonic() + rule.deadline_s
        found: dict[str, tuple[Answer, Usage]] = {}
        failed: Failure | None = None
        waiting = list(dict.fromkeys(tickets))
        while waiting:
            pause = rule.interval_s
            for start in range(0, len(waiting), rule.batch):
                left = until - self._clock.monotonic()
                if left <= 0:
                    break
                came, failure, again = await self._collect(
                    waiting[start : start + rule.batch], left
                )
                found |= came
                failed = failure or failed
                pause = max(pause, again)
            waiting = [one for one in waiting if one not in found]
            left = until - self._clock.monotonic()
            if not waiting or left <= 0:
                break
            await self._wait(min(pause, left))
        return found | {one: (Missing("deadline", failed), NO_USAGE) for one in waiting}

    async def _collect(
        self, tickets: Sequence[str], left: float
    ) -> tuple[dict[str, tuple[Answer, Usage]], Failure | None, float]:
        judge = self._judge
        if not isinstance(judge, DeferredJudge):
            message = f"judge {self._chosen.planned.id} answers later and cannot be asked then"
            raise UsageError(message)
        try:
            async with asyncio.timeout(left):
                found = await judge.collect(tickets, left)
        except TimeoutError:
            return {}, None, 0.0
        scores: dict[str, tuple[Answer, Usage]] = {}
        for ticket in tickets:
            one = found.scores.get(ticket)
            if one is not None and not isinstance(one.answer, Pending):
                scores[ticket] = one.answer, one.usage
        return scores, found.failure, found.again_s or 0.0


def used(outcomes: Sequence[Outcome]) -> Mapping[str, float | None]:
    """Tokens and cost over all calls; None where no call said it."""
    tokens = [one.usage.tokens for one in outcomes if one.usage.tokens is not None]
    cost = [one.usage.cost_usd for one in outcomes if one.usage.cost_usd is not None]
    return {"tokens": sum(tokens) if tokens else None, "cost_usd": sum(cost) if cost else None}
