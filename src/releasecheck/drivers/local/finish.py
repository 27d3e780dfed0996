"""`finish`: decide in this process, stoppable while it repairs."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from releasecheck.drivers.local.signals import leaving_on_interrupt, stopping_on_signals
from releasecheck.drivers.local.waiting import waiting_in
from releasecheck.errors import Interrupted, UsageError
from releasecheck.pipeline.asking import no_wait
from releasecheck.pipeline.failing import failure_recorded
from releasecheck.pipeline.finish import Driving, check_ours, finish
from releasecheck.pipeline.folders import Bundle, open_plan
from releasecheck.pipeline.holding import locked

if TYPE_CHECKING:
    from releasecheck.pipeline.finish import FinishRequest, FinishResult
    from releasecheck.pipeline.world import World


async def run_finish(
    request: FinishRequest, world: World, *, wait: bool = True, time_budget_s: float | None = None
) -> FinishResult:
    """Finish a run (see `releasecheck.pipeline.finish.finish`).

    Args:
        request: What to finish.
        world: Clock, environment, progress.
        wait: Whether judges that answer later are waited for; False asks them once.
        time_budget_s: How long they are waited for at most; None is until their deadlines.

    Raises:
        Interrupted: a signal came while asking or waiting; what was recorded is in the bundle.
    """
    folder = open_plan(request.plan)
    if folder.earlier:
        message = (
            f"{request.plan}: the run of this plan was judged again (revision {folder.plan.revision}); "
            "`releasecheck rescore` and `releasecheck resume` carry such a run on, in its bundle"
        )
        raise UsageError(message)
    check_ours(Bundle(request.out))  # before even a lock is put there
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine always runs in a task
    again = f"interrupted; run the same command again, what was recorded is in {request.out}"
    until = None if time_budget_s is None else world.clock.monotonic() + time_budget_s
    driving = Driving(
        lambda: stopping_on_signals(world.stop, task, world.progress),
        lambda: stopping_on_signals(world.stop, task, world.progress, grace_s=0.0),
        waiting_in(world, until) if wait else no_wait,
        until,
    )
    with (
        leaving_on_interrupt(),
        locked(request.out),
        failure_recorded(Bundle(request.out), folder, world) as at,
    ):
        at.stage = "merge"
        try:
            result = await finish(request, world, driving)
        except asyncio.CancelledError:
            if world.stop.reason != "interrupted":
                raise
            task.uncancel()
            # What there is, decided as far as it goes; a signal from here on ends even that.
            await finish(replace(request, ask=False, repair=0), world)
            raise Interrupted(again) from None
    if world.stop.reason == "interrupted":
        raise Interrupted(again)
    return result
