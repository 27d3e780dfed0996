"""`shard`: one slice of a plan in this process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from releasecheck.drivers.local.memory import few_collections
from releasecheck.drivers.local.signals import stopping_on_signals
from releasecheck.engine import Tally
from releasecheck.errors import UsageError
from releasecheck.pipeline.early import early_words
from releasecheck.pipeline.execute import (
    ShardDone,
    ShardRequest,
    decided_before,
    execute_shard,
    still_open,
)
from releasecheck.pipeline.folders import open_plan
from releasecheck.pipeline.holding import shard_locked
from releasecheck.pipeline.preflight import check_approval, preflight
from releasecheck.pipeline.roots import find_roots
from releasecheck.pipeline.taking import take_outputs
from releasecheck.pipeline.tools import limits_of, open_tools

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from releasecheck.pipeline.execute import StillOpen
    from releasecheck.pipeline.world import World


async def run_one_shard(
    plan: Path, request: ShardRequest, world: World, time_budget_s: float | None
) -> tuple[ShardDone, StillOpen]:
    """Run a shard; returns what was done and what is still open.

    Raises:
        UsageError: no such shard, missing variables, or an approval is needed; nothing was called.
        Interrupted: cancelled before the calls in flight had answered.
    """
    folder = open_plan(plan)
    if folder.earlier:
        message = (
            f"{plan}: the run of this plan was judged again (revision {folder.plan.revision}), and nothing is "
            "added to its answers any more; `releasecheck retry` makes a new run of what failed"
        )
        raise UsageError(message)
    if request.index >= len(folder.plan.shards):
        message = (
            f"there is no shard {request.index}; the plan has 0 to {len(folder.plan.shards) - 1}"
        )
        raise UsageError(message)
    if request.judges != "only":
        check_approval(folder.plan, request.approved_by)
    preflight(folder.plan, find_roots(folder, world), world.environment, request.judges)
    limits = limits_of(folder.plan, request.index)
    seconds = [limit for limit in (time_budget_s, limits.time_s) if limit is not None]
    until = world.clock.monotonic() + min(seconds) if seconds else None
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine always runs in a task

    def while_quick() -> AbstractContextManager[None]:
        return stopping_on_signals(world.stop, task, world.progress, grace_s=0.0)

    with (
        shard_locked(request.results, request.index),
        stopping_on_signals(world.stop, task, world.progress),
    ):
        request = take_outputs(folder, request, world)
        if (before := decided_before(folder, request)) is not None:
            world.progress.note(early_words(before.certain))
            return ShardDone(request.index, None, None, Tally(), 0, "decided"), before
        try:
            async with open_tools(
                folder, world, request.judges, shard=request.index, logs=request.results
            ) as tools:
                with few_collections():
                    done = await execute_shard(
                        folder,
                        request,
                        world,
                        tools,
                        until=until,
                        cost_usd=limits.cost_usd,
                        while_quick=while_quick,
                    )
        except asyncio.CancelledError:
            if world.stop.reason != "interrupted":
                raise
            task.uncancel()
            raise KeyboardInterrupt from None
    left = still_open(folder, request)
    if left.certain:
        world.progress.note(early_words(left.certain))
    return done, left
