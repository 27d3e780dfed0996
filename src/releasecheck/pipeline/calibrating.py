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
from releasecheck.model.record import NO_USAGE, ScoreRecord, Usage
from releasecheck.model.score import JudgeFailed, Missing, NotApplicable, Pending, Scored
from releasecheck.pipeline.asking import Moments, Rounds, calls_at_once
from releasecheck.pipeline.choosing import check_variables, judge_of_suite
from releasecheck.pipeline.ruling import rule_for
from releasecheck.ports import BulkJudge, DeferredJudge, JudgeAsk, JudgeCase
from releasecheck.settle import Owed, Pair, Settling

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from releasecheck.config import LoadedSuite
    from releasecheck.model.plan import PlannedJudge
    from releasecheck.model.record import Record
    from releasecheck.pipeline.asking import Wait
    from releasecheck.pipeline.labels import Label
    from releasecheck.pipeline.world import World
    from releasecheck.ports import Judge

Answer: TypeAlias = Scored | NotApplicable | JudgeFailed | Missing
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
            asking = _Asking(judge, chosen, world, wait)
            return await asking.all(labels)
        finally:
            await judge.aclose()


class _Asking:
    def __init__(self, judge: Judge, chosen: Chosen, world: World, wait: Wait) -> None:
        self._judge = judge
        self._chosen = chosen
        self._world = world
        self._wait = wait

    async def all(self, labels: Sequence[Label]) -> list[Outcome]:
        run = f"calibrate-{digest([one.content for one in labels])[7:19]}"
        asks = [self._ask(run, label) for label in labels]
        first = (
            await self._bulk(asks) if isinstance(self._judge, BulkJudge) else await self._each(asks)
        )
        open_ = [
            (ask, one.ticket)
            for ask, (one, _) in zip(asks, first, strict=True)
            if isinstance(one, Pending)
        ]
        came = await self._later(open_) if open_ else {}
        outcomes: list[Outcome] = []
        for label, (answer, usage) in zip(labels, first, strict=True):
            if isinstance(answer, Pending):
                ended = came[label.id]
                assert not isinstance(ended.score, Pending)  # noqa: S101 - such is never recorded
                outcomes.append(Outcome(label, ended.score, ended.usage))
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

    async def _later(self, open_: Sequence[tuple[JudgeAsk, str]]) -> dict[str, ScoreRecord]:
        """What comes for tickets until the deadline, by case; what has not come is missing, with why."""
        judge, planned = self._judge, self._chosen.planned
        if not isinstance(judge, DeferredJudge):
            message = f"judge {planned.id} answers later and cannot be asked then"
            raise UsageError(message)
        rule = rule_for(planned.spec, self._chosen.loaded.suite.settle)
        clock = Moments(self._world.clock)
        now = clock.now()
        pairs: dict[str, list[Pair]] = {}
        for ask, ticket in open_:
            pairs.setdefault(ticket, []).append(Pair(ask.case.id, 0, ask.output_digest))
        owed = [Owed(planned.id, ticket, tuple(found), now) for ticket, found in pairs.items()]
        until = {(planned.id, ticket): now + rule.deadline_s for ticket in pairs}
        came: dict[str, ScoreRecord] = {}

        def take(record: Record) -> None:
            if isinstance(record, ScoreRecord):
                came[record.case] = record

        settling = Settling({planned.id: rule})
        for record in settling.begin(owed, until, now):
            take(record)
        rounds = Rounds(
            settling, {planned.id: judge}, calls_at_once([planned]), take, self._world, clock
        )
        await rounds.until_settled(self._wait)
        return came


def used(outcomes: Sequence[Outcome]) -> Mapping[str, float | None]:
    """Tokens and cost over all calls; None where no call said it."""
    tokens = [one.usage.tokens for one in outcomes if one.usage.tokens is not None]
    cost = [one.usage.cost_usd for one in outcomes if one.usage.cost_usd is not None]
    return {"tokens": sum(tokens) if tokens else None, "cost_usd": sum(cost) if cost else None}
