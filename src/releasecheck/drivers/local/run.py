"""`run` and `resume`: the whole way of the data in one process, safe to kill anywhere."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from releasecheck.config import load_suite
from releasecheck.drivers.local.memory import few_collections
from releasecheck.drivers.local.signals import leaving_on_interrupt, stopping_on_signals
from releasecheck.drivers.local.waiting import waiting_in
from releasecheck.engine import Spent
from releasecheck.errors import Interrupted, NotResumable, ReleaseCheckError
from releasecheck.pipeline.asking import no_wait
from releasecheck.pipeline.bridging import count_to_rejudge
from releasecheck.pipeline.early import decided_in, early_words, watch_for
from releasecheck.pipeline.execute import ShardDone, ShardRequest, cost_so_far, execute_shard
from releasecheck.pipeline.failing import failure_recorded
from releasecheck.pipeline.finish import Driving, FinishRequest, finish, is_expired
from releasecheck.pipeline.folders import Bundle, ledger_files, open_bundle, open_plan
from releasecheck.pipeline.freezing import make_plan
from releasecheck.pipeline.holding import locked, shard_locked
from releasecheck.pipeline.preflight import check_approval, preflight
from releasecheck.pipeline.remaining import asked_for, merge_files, open_trials
from releasecheck.pipeline.replacing import NEW_PLAN, REPLACING, check_replaceable, make_room
from releasecheck.pipeline.rescoring import judge_outputs
from releasecheck.pipeline.roots import find_roots
from releasecheck.pipeline.tools import limits_of, open_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from releasecheck.pipeline.failing import At
    from releasecheck.pipeline.finish import FinishResult
    from releasecheck.pipeline.folders import PlanFolder
    from releasecheck.pipeline.freezing import PlanRequest
    from releasecheck.pipeline.remaining import JudgesAsked
    from releasecheck.pipeline.world import World


REPLACED: Final = (
    "{out}: its run was being replaced by another one; give that `releasecheck run` again"
)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to carry a run through."""

    close: bool = False
    repair: int = 0
    approved_by: str | None = None
    time_budget_s: float | None = None
    wait: bool = True
    """Whether judges that answer later are waited for; False asks them once."""


async def run(request: PlanRequest, out: Path, options: RunOptions, world: World) -> FinishResult:
    """Plan, run every shard, and finish, into the bundle `out`.

    Raises:
        NotResumable: `out` holds an open run, or something that is no bundle.
        Interrupted: a signal came; what was recorded can be resumed.
        ReleaseCheckError: as its class says; `out/failure.json` says it too once there is a plan.
    """
    bundle = Bundle(out)
    check_replaceable(bundle)
    with leaving_on_interrupt(), locked(out):
        check_replaceable(bundle)
        folder = _plan_into(bundle, request, options, world)
        with failure_recorded(bundle, folder, world) as at, resumable(bundle):
            return await carry_through(bundle, folder, options, world, at)


async def resume(out: Path, options: RunOptions, world: World) -> FinishResult:
    """Carry an interrupted run on from its ledger; a final one is only read again.

    Raises:
        NotResumable: there is no run in `out`.
    """
    open_bundle(out)
    with leaving_on_interrupt(), locked(out):
        bundle, folder = open_bundle(out)
        if (out / REPLACING).exists():
            raise NotResumable(REPLACED.format(out=out))
        if bundle.finalized:
            world.progress.note("this run is closed: nothing was asked, here is what it came to")
            return await finish(_finish_request(bundle, options), world)
        asked = _asked(bundle, folder)
        if asked == "all":
            check_approval(folder.plan, options.approved_by)
        _note_changed_config(folder, world)
        with failure_recorded(bundle, folder, world) as at, resumable(bundle):
            if not is_expired(folder, world.clock.now()):
                preflight(folder.plan, find_roots(folder, world), world.environment, asked)
            return await carry_through(bundle, folder, options, world, at)


def _asked(bundle: Bundle, folder: PlanFolder) -> JudgesAsked:
    """Whether the target may be called: no revision does, and a retry only where an answer is to be had."""
    if folder.earlier:
        return "only"
    if folder.plan.retry_of is None or not bundle.results.is_dir():
        return "all"
    return asked_for(merge_files(folder, ledger_files([bundle.results])))


def _note_changed_config(folder: PlanFolder, world: World) -> None:
    """Say that a plan keeps what it froze, when the config beside it says something else by now."""
    plan, root = folder.plan, find_roots(folder, world).policy
    if root is None:
        return
    name = (plan.policy_root or plan.root).config
    try:
        now = load_suite(root / name).digest
    except ReleaseCheckError:
        now = ""
    if now != plan.policy.digest:
        world.progress.note(
            f"{name} changed since this run was planned; the run keeps the settings and "
            "cases it was planned with"
        )


def _plan_into(
    bundle: Bundle, request: PlanRequest, options: RunOptions, world: World
) -> PlanFolder:
    """Freeze and check the plan beside an old bundle, which makes room only when both succeeded."""
    waiting_room = bundle.path / NEW_PLAN
    shutil.rmtree(waiting_room, ignore_errors=True)
    try:
        planned = make_plan(request, world, waiting_room, check=preflight, placed_at=bundle.plan)
        check_approval(planned.plan, options.approved_by)
        for problem in planned.loaded.notes:
            world.progress.note(f"note: {problem}")
    except BaseException:
        shutil.rmtree(waiting_room, ignore_errors=True)
        raise
    make_room(bundle)
    waiting_room.replace(bundle.plan)
    return open_plan(bundle.plan)


async def carry_through(
    bundle: Bundle, folder: PlanFolder, options: RunOptions, world: World, at: At
) -> FinishResult:
    """Do what is left of a run, or of its latest revision, and decide."""
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine always runs in a task

    def while_asking() -> AbstractContextManager[None]:
        return stopping_on_signals(world.stop, task, world.progress)

    def while_settling() -> AbstractContextManager[None]:
        return stopping_on_signals(world.stop, task, world.progress, grace_s=0.0)

    budget = options.time_budget_s
    until = None if budget is None else world.clock.monotonic() + budget
    wait = waiting_in(world, until) if options.wait else no_wait
    driving = Driving(while_asking, while_settling, wait, until)
    result = None
    try:
        if not is_expired(folder, world.clock.now()):
            with while_asking():
                if folder.earlier:
                    await judge_outputs(bundle, folder, world, until)
                else:
                    await run_shards(bundle, folder, options, world)
        at.stage = "merge"
        if world.stop.reason != "interrupted":
            result = await finish(_finish_request(bundle, options), world, driving)
    except asyncio.CancelledError:
        if world.stop.reason != "interrupted":
            raise
        task.uncancel()
    if world.stop.reason != "interrupted" and result is not None:
        return result
    # What there is, decided as far as it goes; a signal from here on ends even that.
    await finish(replace(_finish_request(bundle, RunOptions()), ask=False), world)
    raise _interrupted(bundle)


def _interrupted(bundle: Bundle) -> Interrupted:
    return Interrupted(
        f"interrupted; what was recorded is in {bundle.path} - carry on with "
        f"`releasecheck resume {bundle.path}`"
    )


@contextmanager
def resumable(bundle: Bundle) -> Iterator[None]:
    """Say how to go on when a signal ends the work at once."""
    try:
        yield
    except KeyboardInterrupt:
        raise _interrupted(bundle) from None


def _finish_request(bundle: Bundle, options: RunOptions) -> FinishRequest:
    return FinishRequest(
        plan=bundle.plan,
        results=(),
        out=bundle.path,
        close=options.close,
        repair=options.repair,
        approved_by=options.approved_by,
    )


class _Turns:
    """One shard after the other; the next begins when the workers of the one before fall idle.

    So a slow last case does not leave the target idle, and no two shards crowd its slots.
    """

    def __init__(self) -> None:
        self._gate = asyncio.Semaphore(1)

    async def next(self) -> Callable[[], None]:
        """Wait for a turn; calling the answer (any number of times) ends it."""
        await self._gate.acquire()
        over = False

        def end() -> None:
            nonlocal over
            if not over:
                over = True
                self._gate.release()

        return end


async def run_shards(
    bundle: Bundle, folder: PlanFolder, options: RunOptions, world: World
) -> list[ShardDone]:
    """Run what is left of every shard, the target and the judges opened once."""
    plan = folder.plan
    limits = limits_of(plan, None)
    seconds = [limit for limit in (options.time_budget_s, limits.time_s) if limit is not None]
    until = world.clock.monotonic() + min(seconds) if seconds else None
    turns = _Turns()

    async with AsyncExitStack() as stack:
        for shard in plan.shards:
            stack.enter_context(shard_locked(bundle.results, shard.index))
        # Merged once, before anything is timed: what is on record, what it cost, what is left.
        recorded = merge_files(folder, ledger_files([bundle.results]))
        if certain := decided_in(folder, recorded):
            world.progress.note(early_words(certain))
            return []
        watch = watch_for(folder, recorded)
        spent = Spent(cost_so_far(recorded, np.arange(plan.cases)))
        asked: JudgesAsked = "all" if plan.retry_of is None else asked_for(recorded)
        todo = int(np.count_nonzero(open_trials(recorded, asked)))
        world.progress.begin(todo + count_to_rejudge(recorded, np.arange(plan.cases), asked))
        tools = await stack.enter_async_context(
            open_tools(folder, world, asked, shard=None, logs=bundle.results)
        )
        stack.enter_context(few_collections())

        async def one(index: int) -> ShardDone:
            turn = await turns.next()
            try:
                return await execute_shard(
                    folder,
                    ShardRequest(
                        index, bundle.results, judges=asked, approved_by=options.approved_by
                    ),
                    world,
                    tools,
                    recorded=recorded,
                    until=until,
                    spent=spent,
                    cost_usd=limits.cost_usd,
                    watch=watch,
                    drained=turn,
                    while_quick=None,
                )
            finally:
                turn()

        tasks = [asyncio.create_task(one(shard.index)) for shard in plan.shards]
        try:
            done = await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise
    if watch is not None and watch.certain:
        world.progress.note(early_words(watch.certain))
    return done
