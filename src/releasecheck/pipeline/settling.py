"""Wait for what judges still owe: ask when it is due, record what comes, say `Waiting` in between.

The core never sleeps: a driver hands in how to wait, and may answer that it will not.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from releasecheck.model.failure import failure
from releasecheck.model.judge import DeferringJudge
from releasecheck.model.record import ScoreRecord, SentinelRecord
from releasecheck.model.score import JudgeFailed, Missing
from releasecheck.pipeline.finish_file import FinishFile
from releasecheck.pipeline.owing import deadlines_fixed, owed_by
from releasecheck.pipeline.preflight import preflight
from releasecheck.pipeline.remaining import merge_files
from releasecheck.pipeline.roots import find_roots
from releasecheck.pipeline.ruling import rules_for
from releasecheck.pipeline.tools import open_tools
from releasecheck.ports import Arrived, Collected, DeferredJudge
from releasecheck.settle import LAST_LOOK_S, SKEW_S, Settling, moment_of, text_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from releasecheck.model.plan import Plan
    from releasecheck.model.record import Record
    from releasecheck.pipeline.folders import PlanFolder
    from releasecheck.pipeline.remaining import Recorded
    from releasecheck.pipeline.world import World
    from releasecheck.ports import Clock, Judge
    from releasecheck.settle import Ask, Closing, Owed, Pause, Rule

PAUSED: Final = "waiting"
"""How a finish file ends whose settling was paused as planned."""
DEFAULT_CALLS: Final = 4
"""Questions at once to a judge that names no concurrency."""


class JudgeWaits(NamedTuple):
    """What one judge still owes."""

    judge: str
    pending: int
    deadline: str
    not_before: str
    """When it is asked again."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Nothing is due now."""

    tickets: int
    for_s: float
    """Seconds until something is."""
    not_before: str
    """The same as a moment."""
    judges: tuple[JudgeWaits, ...]


Wait: TypeAlias = "Callable[[Waiting], Awaitable[bool]]"
"""Waits until something is due; False: it will not, and the run is left waiting."""


async def no_wait(waiting: Waiting) -> bool:
    """Ask once and leave the rest to whoever comes back."""
    del waiting
    return False


class Moments:
    """The time in seconds since the epoch, by a clock that nobody sets back while we wait."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._base = moment_of(clock.now()) - clock.monotonic()

    def now(self) -> float:
        """The moment."""
        return self._base + self._clock.monotonic()


async def settle(
    folder: PlanFolder,
    recorded: Recorded,
    results: Path,
    world: World,
    wait: Wait,
    closing: Closing | None = None,
) -> Recorded:
    """Ask for every open ticket until it is answered, its time is over, or nobody waits.

    Args:
        folder: The plan.
        recorded: What is on record, in files that stay where they are.
        results: Where the finish file goes.
        world: Clock, environment, progress.
        wait: How to wait.
        closing: Why what is open is closed after one question; None waits as was promised.

    Raises:
        UsageError, ConfigError, EnvironmentMissing: a judge cannot be asked from here; nothing was.
        InfrastructureError: a score that came could not be recorded (S1-28).
    """
    plan = folder.plan
    owed = list(owed_by(recorded))
    judges = {one.judge for one in owed}
    preflight(plan, find_roots(folder, world), world.environment, "only", only=judges)
    async with open_tools(folder, world, "only", shard=None, logs=results, only=judges) as tools:
        ledger = FinishFile(folder, recorded, results, world)
        try:
            judges_asked = _deferred(tools.judges)
            settling = Settling(rules_for(plan, judges), closing)
            clock = Moments(world.clock)
            rounds = _Rounds(settling, judges_asked, _calls(plan), ledger.append, world, clock)
            ledger.append_all(
                settling.begin(
                    owed, deadlines_fixed(recorded.merged), clock.now(), _pause(recorded)
                )
            )
            paused = await rounds.until_settled(wait)
        except asyncio.CancelledError:
            ledger.close(world.stop.reason or "interrupted")
            raise
        except BaseException:
            ledger.abandon()
            raise
        ledger.close(PAUSED if paused else None)
    if ledger.path is None:
        return recorded
    return merge_files(folder, [*recorded.paths, ledger.path])


class _Rounds:
    """Asks whatever is due, many questions at once, and records each answer as it comes."""

    def __init__(
        self,
        settling: Settling,
        judges: Mapping[str, DeferredJudge],
        calls: Mapping[str, int],
        record: Callable[[Record], None],
        world: World,
        clock: Moments,
    ) -> None:
        self._clock = clock
        self._settling = settling
        self._judges = judges
        self._places = {judge: asyncio.Semaphore(count) for judge, count in calls.items()}
        self._record = record
        self._world = world
        self._violations: set[str] = set()

    async def until_settled(self, wait: Wait) -> bool:
        """Whether somebody chose not to wait for what is still open.

        Each judge has its own rounds, so that one that hangs costs no other one its scores.
        """
        settling = self._settling
        rounds: dict[str, asyncio.Task[None]] = {}
        paused = False
        try:
            while True:
                now = self._clock.now()
                if not paused:
                    self._begin_rounds(rounds, now)
                for record in settling.expire(now, rounds.keys()):
                    self._record(record)
                due = None if paused else settling.next_at(now, rounds.keys())
                if due is None and not rounds:
                    return paused and settling.open > 0
                paused |= not await self._until_something(wait, due, now, rounds)
                for judge in [judge for judge, task in rounds.items() if task.done()]:
                    rounds.pop(judge).result()
        finally:
            await _ended(rounds.values())

    def _begin_rounds(self, rounds: dict[str, asyncio.Task[None]], now: float) -> None:
        asks: dict[str, list[Ask]] = {}
        for ask in self._settling.asks(now, rounds.keys()):
            asks.setdefault(ask.judge, []).append(ask)
        for judge, due in asks.items():
            rounds[judge] = asyncio.create_task(self._round(due))

    async def _until_something(
        self, wait: Wait, due: float | None, now: float, rounds: Mapping[str, asyncio.Task[None]]
    ) -> bool:
        """Until a round is over or something else is due; False: nobody waits for that."""
        if due is None:
            await asyncio.wait(rounds.values(), return_when=asyncio.FIRST_COMPLETED)
            return True
        pause = asyncio.ensure_future(wait(_waiting(self._settling, now, due)))
        try:
            await asyncio.wait({pause, *rounds.values()}, return_when=asyncio.FIRST_COMPLETED)
            return pause.result() if pause.done() else True
        finally:
            await _ended([pause])

    async def ask_all(self) -> None:
        """Every question that is due now."""
        await self._round(self._settling.asks(self._clock.now()))

    async def _round(self, asks: Sequence[Ask]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for ask in asks:
                    group.create_task(self._ask(ask))
        except BaseExceptionGroup as errors:
            raise _first(errors) from None

    async def _ask(self, ask: Ask) -> None:
        async with self._places[ask.judge]:
            found = await self._answer(ask)
        for violation in found.violations:
            self._say_once(f"judge {ask.judge}: {violation}")
        if found.failure is not None:
            self._say_once(f"judge {ask.judge}: {found.failure.message or found.failure.code}")
        for record in self._settling.fold(ask, found, self._clock.now()):
            self._record(record)

    async def _answer(self, ask: Ask) -> Collected:
        # Only the call is caught: what it brought and cannot be recorded must fail the run (S1-28).
        left = ask.within_s if ask.last else ask.deadline - self._clock.now()
        if left <= 0:
            return Collected()
        judge = self._judges.get(ask.judge)
        if judge is None:
            return _never(ask)
        try:
            async with asyncio.timeout(left):
                return await self._collect(judge, ask, left)
        except TimeoutError:
            message = f"no answer to a question for {len(ask.tickets)} scores before their deadline"
            return Collected(
                failure=failure("infra", "collect", "timeout", message, retryable=True)
            )

    async def _collect(self, judge: DeferredJudge, ask: Ask, left: float) -> Collected:
        """One question; the last chance of a ticket is not used up by "come back in a second"."""
        clock = self._world.clock
        until = clock.monotonic() + left
        while True:
            found = await judge.collect(ask.tickets, left)
            if not ask.last or found.scores or found.again_s is None:
                return found
            pause = max(found.again_s, LAST_LOOK_S)
            left = until - clock.monotonic() - pause
            if left <= 0:
                return found
            await clock.sleep(pause)

    def _say_once(self, text: str) -> None:
        if text not in self._violations and len(self._violations) < 1000:
            self._violations.add(text)
            self._world.progress.note(text)


def _never(ask: Ask) -> Collected:
    """A ticket of a judge that answers at once was never given by it."""
    message = f"judge {ask.judge} always answers at once, and a ticket of it is on record; it did not give that"
    failed = JudgeFailed(failure("judge", "collect", "contract_violation", message))
    return Collected({ticket: Arrived(failed) for ticket in ask.tickets})


async def settle_quickly(
    owed: Iterable[Owed],
    judges: Mapping[str, Judge],
    plan: Plan,
    recorded: Recorded,
    record: Callable[[Record], None],
    world: World,
) -> None:
    """One question for each open ticket, before a shard ends: what has come needs no wait later.

    No deadline is fixed here: `finish` does that, when it first sees a ticket (contract section 5).
    """
    clock = Moments(world.clock)
    now = clock.now()
    tickets = [one for one in owed if len(one.owing) == 1]
    deferred = _deferred({one.judge: judges[one.judge] for one in tickets if one.judge in judges})
    rules = rules_for(plan, deferred.keys())
    fixed = deadlines_fixed(recorded.merged)
    # As if each had been fixed already, so that nothing about deadlines is recorded.
    until = {
        (one.judge, one.ticket): _quick_until(one, rules[one.judge], fixed, now)
        for one in tickets
        if one.judge in deferred
    }
    still = [one for one in tickets if until.get((one.judge, one.ticket), now) > now]
    settling = Settling(rules)
    for first in settling.begin(still, until, now):
        record(first)

    def record_answer(found: Record) -> None:
        # Only `finish` may say that a score is late: the deadline it fixes lies after ours.
        if isinstance(found, ScoreRecord | SentinelRecord) and not isinstance(found.score, Missing):
            record(found)

    await _Rounds(settling, deferred, _calls(plan), record_answer, world, clock).ask_all()


def _quick_until(
    one: Owed, rule: Rule, fixed: Mapping[tuple[str, str], float], now: float
) -> float:
    """Until when a shard may take a score: never longer than `finish` would, in files not seen from here."""
    sent = min(one.sent_at, now + SKEW_S)
    return min(fixed.get((one.judge, one.ticket), sent + rule.deadline_s), now + QUICK_S)


QUICK_S: Final = 30.0
"""Seconds that a shard gives one question for its scores."""


def _pause(recorded: Recorded) -> Pause:
    """How the latest settling before this one ended."""
    finishes = [seen for seen in recorded.merged.files if seen.shard is None]
    latest = max(finishes, key=lambda seen: seen.attempt, default=None)
    return "planned" if latest is not None and latest.stopped == PAUSED else "interrupted"


def _calls(plan: Plan) -> dict[str, int]:
    return {
        judge.id: judge.spec.concurrency
        if isinstance(judge.spec, DeferringJudge)
        else DEFAULT_CALLS
        for judge in plan.judges
    }


def _deferred(judges: Mapping[str, Judge]) -> dict[str, DeferredJudge]:
    return {name: judge for name, judge in judges.items() if isinstance(judge, DeferredJudge)}


def _waiting(settling: Settling, now: float, due: float) -> Waiting:
    judges = tuple(
        JudgeWaits(judge, count, text_of(deadline), text_of(again))
        for judge, (count, deadline, again) in settling.waiting().items()
    )
    return Waiting(settling.open, due - now, text_of(due), judges)


async def _ended(tasks: Collection[asyncio.Future[Any]]) -> None:
    """Cancel what still runs, and wait until it has ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
