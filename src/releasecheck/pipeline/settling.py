"""Settle what judges still owe: `finish` until it is answered or over, a shard with one question before it ends."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from releasecheck.model.record import BridgeRecord, ScoreRecord, SentinelRecord
from releasecheck.model.score import Missing
from releasecheck.pipeline.asking import Moments, Rounds, calls_at_once, deferred
from releasecheck.pipeline.finish_file import FinishFile
from releasecheck.pipeline.owing import deadlines_fixed, owed_by
from releasecheck.pipeline.preflight import preflight
from releasecheck.pipeline.remaining import merge_files
from releasecheck.pipeline.roots import find_roots
from releasecheck.pipeline.ruling import rules_for
from releasecheck.pipeline.tools import open_tools
from releasecheck.settle import SKEW_S, Settling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from releasecheck.model.plan import Plan
    from releasecheck.model.record import Record
    from releasecheck.pipeline.asking import Wait
    from releasecheck.pipeline.folders import PlanFolder
    from releasecheck.pipeline.remaining import Recorded
    from releasecheck.pipeline.world import World
    from releasecheck.ports import Judge
    from releasecheck.settle import Closing, Owed, Pause, Rule

PAUSED: Final = "waiting"
"""How a finish file ends whose settling was paused as planned."""
QUICK_S: Final = 30.0
"""Seconds that a shard gives one question for its scores."""


async def settle(
    folder: PlanFolder,
    recorded: Recorded,
    results: Path,
    world: World,
    wait: Wait,
    closing: Closing | None = None,
    until: float | None = None,
) -> Recorded:
    """Ask for every open ticket until it is answered, its time is over, or nobody waits.

    Args:
        folder: The plan.
        recorded: What is on record, in files that stay where they are.
        results: Where the finish file goes.
        world: Clock, environment, progress.
        wait: How to wait.
        closing: Why what is open is closed after one question; None waits as was promised.
        until: Monotonic time after which nobody is asked; None is no limit.

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
            judges_asked = deferred(tools.judges)
            settling = Settling(rules_for(plan, judges), closing)
            clock = Moments(world.clock)
            rounds = Rounds(
                settling,
                judges_asked,
                calls_at_once(plan.judges),
                ledger.append,
                world,
                clock,
                until,
            )
            ledger.append_all(
                settling.begin(
                    owed, deadlines_fixed(recorded.merged), clock.now(), _pause(recorded, plan)
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
    asked = deferred({one.judge: judges[one.judge] for one in tickets if one.judge in judges})
    rules = rules_for(plan, asked.keys())
    fixed = deadlines_fixed(recorded.merged)
    # As if each had been fixed already, so that nothing about deadlines is recorded.
    until = {
        (one.judge, one.ticket): _quick_until(one, rules[one.judge], fixed, now)
        for one in tickets
        if one.judge in asked
    }
    still = [one for one in tickets if until.get((one.judge, one.ticket), now) > now]
    settling = Settling(rules)
    for first in settling.begin(still, until, now):
        record(first)

    def record_answer(found: Record) -> None:
        # Only `finish` may say that a score is late: the deadline it fixes lies after ours.
        if isinstance(found, ScoreRecord | SentinelRecord | BridgeRecord) and not isinstance(
            found.score, Missing
        ):
            record(found)

    await Rounds(settling, asked, calls_at_once(plan.judges), record_answer, world, clock).ask_all()


def _quick_until(
    one: Owed, rule: Rule, fixed: Mapping[tuple[str, str], float], now: float
) -> float:
    """Until when a shard may take a score: never longer than `finish` would, in files not seen from here."""
    sent = min(one.sent_at, now + SKEW_S)
    return min(fixed.get((one.judge, one.ticket), sent + rule.deadline_s), now + QUICK_S)


def _pause(recorded: Recorded, plan: Plan) -> Pause:
    """How the latest settling before this one ended."""
    files = recorded.merged.files
    finishes = [seen for seen in files if seen.shard is None and seen.revision == plan.revision]
    latest = max(finishes, key=lambda seen: seen.attempt, default=None)
    return "planned" if latest is not None and latest.stopped == PAUSED else "interrupted"
