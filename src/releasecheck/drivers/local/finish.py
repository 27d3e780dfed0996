"""`finish`: decide in this process, stoppable while it repairs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from releasecheck.drivers.local.signals import leaving_on_interrupt, stopping_on_signals
from releasecheck.errors import Interrupted
from releasecheck.pipeline.failing import failure_recorded
from releasecheck.pipeline.finish import check_ours, finish
from releasecheck.pipeline.folders import Bundle, open_plan
from releasecheck.pipeline.holding import locked

if TYPE_CHECKING:
    from releasecheck.pipeline.finish import FinishRequest, FinishResult
    from releasecheck.pipeline.world import World


async def run_finish(request: FinishRequest, world: World) -> FinishResult:
    """Finish a run (see `releasecheck.pipeline.finish.finish`).

    Raises:
        Interrupted: a signal came while repairing; what was recorded is in the bundle.
    """
    folder = open_plan(request.plan)
    check_ours(Bundle(request.out))  # before even a lock is put there
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine always runs in a task
    again = f"interrupted; run the same command again, what was recorded is in {request.out}"
    with (
        leaving_on_interrupt(),
        locked(request.out),
        failure_recorded(Bundle(request.out), folder, world) as at,
    ):
        at.stage = "merge"
        try:
            result = await finish(
                request, world, lambda: stopping_on_signals(world.stop, task, world.progress)
            )
        except asyncio.CancelledError:
            if world.stop.reason != "interrupted":
                raise
            task.uncancel()
            raise Interrupted(again) from None
    if world.stop.reason == "interrupted":
        raise Interrupted(again)
    return result
