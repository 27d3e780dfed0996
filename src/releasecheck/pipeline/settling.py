"""Wait for what judges still owe: ask when it is due, record what comes, say `Waiting` in between.

The core never sleeps: a driver hands in how to wait, and may answer that it will not.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from releasecheck.ledger.jsonl import JsonlWriter, finish_file_name, read_line_at
from releasecheck.model.failure import failure
from releasecheck.model.judge import DeferringJudge
from releasecheck.model.score import JudgeFailed
from releasecheck.model.table import PENDING
from releasecheck.pipeline.execute import header_of, open_tools
from releasecheck.pipeline.folders import LEDGER_FILE
from releasecheck.pipeline.preflight import preflight
from releasecheck.pipeline.remaining import merge_files
from releasecheck.pipeline.roots import find_roots
from releasecheck.pipeline.ruling import rules_for
from releasecheck.ports import Arrived, Collected, DeferredJudge
from releasecheck.settle import Owed, Pair, Settling, Shown, moment_of, text_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import IO

    from releasecheck.model.plan import Plan
    from releasecheck.model.record import Record
    from releasecheck.pipeline.folders import PlanFolder
    from releasecheck.pipeline.remaining import Recorded
    from releasecheck.pipeline.world import World
    from releasecheck.ports import Clock, Judge
    from releasecheck.settle import Ask, Closing, Pause

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


def owes(recorded: Recorded) -> bool:
    """Whether any judge still owes a score."""
    merged = recorded.merged
    return bool(merged.tickets) or any(one.state == PENDING for one in merged.table.sentinels)


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
        ledger = _FinishFile(folder, recorded, results, world)
        try:
            judges_asked = _deferred(tools.judges)
            settling = Settling(rules_for(plan, judges), closing)
            clock = Moments(world.clock)
            rounds = _Rounds(settling, judges_asked, _calls(plan), ledger.append, world, clock)
            ledger.append_all(
                settling.begin(owed, _deadlines(recorded), clock.now(), _pause(recorded))
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
        """Whether somebody chose not to wait for what is still open."""
        settling = self._settling
        while True:
            await self.ask_all()
            now = self._clock.now()
            for record in settling.expire(now):
                self._record(record)
            due = settling.next_at(now)
            if due is None:
                return False
            if due > now and not await wait(_waiting(settling, now, due)):
                return True

    async def ask_all(self) -> None:
        """Every question that is due now."""
        asks = self._settling.asks(self._clock.now())
        if not asks:
            return
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
                return await judge.collect(ask.tickets, left)
        except TimeoutError:
            message = f"no answer to a question for {len(ask.tickets)} scores before their deadline"
            return Collected(
                failure=failure("infra", "collect", "timeout", message, retryable=True)
            )

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
    over = {key for key, deadline in _deadlines(recorded).items() if deadline <= now}
    tickets = [one for one in owed if (one.judge, one.ticket) not in over and len(one.owing) == 1]
    deferred = _deferred({one.judge: judges[one.judge] for one in tickets if one.judge in judges})
    rules = rules_for(plan, deferred.keys())
    settling = Settling(rules)
    # As if each had been fixed already, so that nothing about deadlines is recorded.
    far = {(one.judge, one.ticket): now + QUICK_S for one in tickets}
    for one in settling.begin([one for one in tickets if one.judge in deferred], far, now):
        record(one)
    await _Rounds(settling, deferred, _calls(plan), record, world, clock).ask_all()


QUICK_S: Final = 30.0
"""Seconds that a shard gives one question for its scores."""


class _FinishFile:
    """The ledger file of this finish, begun with its first record."""

    def __init__(self, folder: PlanFolder, recorded: Recorded, results: Path, world: World) -> None:
        self.path: Path | None = None
        self._folder = folder
        self._world = world
        self._results = results
        self._attempt = next_finish_attempt(recorded)
        self._writer: JsonlWriter | None = None

    def append(self, record: Record) -> None:
        if self._writer is None:
            self.path = self._results / finish_file_name(self._attempt)
            header = header_of(self._folder.plan, self._world, None, self._attempt, None)
            self._writer = JsonlWriter(self.path, header, self._world.clock)
        self._writer.append(record)

    def append_all(self, records: Iterable[Record]) -> None:
        """Record all of them, and put them on the disk before anything is asked."""
        for record in records:
            self.append(record)
        if self._writer is not None:
            self._writer.sync()

    def close(self, stopped: str | None) -> None:
        if self._writer is not None:
            self._writer.close(stopped)

    def abandon(self) -> None:
        if self._writer is not None:
            self._writer.abandon()


def next_finish_attempt(recorded: Recorded) -> int:
    """The number of the next finish file."""
    attempts = [
        int(found[2])
        for path in recorded.paths
        if (found := LEDGER_FILE.fullmatch(path.name)) and found[1] is None
    ]
    return max(attempts, default=0) + 1


def owed_by(recorded: Recorded) -> Iterator[Owed]:
    """Every open ticket, with when its judge was given the output."""
    merged = recorded.merged
    found: dict[tuple[str, str], tuple[list[Pair | Shown], float]] = {}
    places = sorted(
        (*merged.score_at[key].tolist(), key, ticket) for key, ticket in merged.tickets.items()
    )
    files: dict[int, IO[bytes]] = {}
    try:
        for source, offset, (case, trial, judge), ticket in places:
            if source not in files:
                files[source] = recorded.paths[source].open("rb")
            row = read_line_at(files[source], offset)
            pair = Pair(merged.table.cases[case].id, trial, row["output_digest"])
            key = merged.table.judges[judge], ticket
            owing, sent = found.setdefault(key, ([], 0.0))
            owing.append(pair)
            found[key] = owing, max(sent, moment_of(row["at"]))
    finally:
        for file in files.values():
            file.close()
    for one in merged.table.sentinels:
        if one.state == PENDING and one.ticket is not None:
            owing, sent = found.setdefault((one.judge, one.ticket), ([], 0.0))
            owing.append(Shown(one.sentinel, one.shard, one.digest))
            found[one.judge, one.ticket] = owing, max(sent, moment_of(one.at))
    for (judge, ticket), (owing, sent) in found.items():
        yield Owed(judge, ticket, tuple(owing), sent)


def _deadlines(recorded: Recorded) -> dict[tuple[str, str], float]:
    return {(one.judge, one.ticket): moment_of(one.deadline) for one in recorded.merged.deadlines}


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


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
