"""Asks judges for what they owe, each in rounds of its own, and records what comes; who waits is a driver's affair.

The core never sleeps between rounds: it says `Waiting`, and is told whether somebody waited.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from releasecheck.engine import first_cause
from releasecheck.model.failure import failure
from releasecheck.model.judge import DeferringJudge
from releasecheck.model.score import JudgeFailed
from releasecheck.ports import Arrived, Collected, DeferredJudge
from releasecheck.settle import LAST_LOOK_S, moment_of, text_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

    from releasecheck.model.failure import Failure
    from releasecheck.model.plan import PlannedJudge
    from releasecheck.model.record import Record
    from releasecheck.pipeline.world import World
    from releasecheck.ports import Clock, Judge
    from releasecheck.settle import Ask, Settling

TIMEOUT: Final = "timeout"
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


def calls_at_once(judges: Iterable[PlannedJudge]) -> dict[str, int]:
    """Questions that each judge is asked at the same time, by its id."""
    return {
        judge.id: judge.spec.concurrency
        if isinstance(judge.spec, DeferringJudge)
        else DEFAULT_CALLS
        for judge in judges
    }


def deferred(judges: Mapping[str, Judge]) -> dict[str, DeferredJudge]:
    """Those that can be asked for a ticket."""
    return {name: judge for name, judge in judges.items() if isinstance(judge, DeferredJudge)}


class Rounds:
    """Asks whatever is due, many questions at once, and records each answer as it comes."""

    def __init__(
        self,
        settling: Settling,
        judges: Mapping[str, DeferredJudge],
        calls: Mapping[str, int],
        record: Callable[[Record], None],
        world: World,
        clock: Moments,
        until: float | None = None,
    ) -> None:
        """Take whom to ask; nobody is after `until`, which is monotonic (None: their deadlines alone count)."""
        self._clock = clock
        self._until = math.inf if until is None else until
        self._settling = settling
        self._judges = judges
        self._places = {judge: asyncio.Semaphore(count) for judge, count in calls.items()}
        self._record = record
        self._world = world
        self._violations: set[str] = set()
        self._gone: dict[str, Failure] = {}
        """Judges that let the last question for some tickets run out: they get none for the rest."""

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
                paused = paused or self._budget() <= 0
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
            raise first_cause(errors) from None

    async def _ask(self, ask: Ask) -> None:
        async with self._places[ask.judge]:
            found = await self._answer(ask)
        if found is None:
            return
        for violation in found.violations:
            self._say_once(f"judge {ask.judge}: {violation}")
        if found.failure is not None:
            self._say_once(f"judge {ask.judge}: {found.failure.message or found.failure.code}")
        for record in self._settling.fold(ask, found, self._clock.now()):
            self._record(record)

    def _budget(self) -> float:
        """Seconds in which judges may still be asked."""
        return self._until - self._world.clock.monotonic()

    async def _answer(self, ask: Ask) -> Collected | None:
        """What it brought; None when there was no time to ask, though its tickets have some."""
        # Only the call is caught: what it brought and cannot be recorded must fail the run (S1-28).
        left = ask.within_s if ask.last else ask.deadline - self._clock.now()
        if left <= 0:
            return Collected()
        judge = self._judges.get(ask.judge)
        if judge is None:
            return _never(ask)
        budget = self._budget()
        if budget <= 0:
            return None
        if ask.last and ask.judge in self._gone:
            return Collected(failure=self._gone[ask.judge])
        try:
            async with asyncio.timeout(min(left, budget)):
                found = await self._collect(judge, ask, left)
        except TimeoutError:
            if budget < left:
                return None
            message = f"no answer to a question for {len(ask.tickets)} scores before their deadline"
            found = Collected(failure=failure("infra", "collect", TIMEOUT, message, retryable=True))
        if ask.last and found.failure is not None and found.failure.code == TIMEOUT:
            # Many overdue tickets of a judge that hangs would be waited for one question after the other.
            self._gone[ask.judge] = found.failure
        return found

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
