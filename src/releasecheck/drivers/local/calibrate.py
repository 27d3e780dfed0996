"""`judge calibrate`: ask a judge about labelled outputs in this process, stoppable by a signal."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from releasecheck.drivers.local.signals import leaving_on_interrupt, stopping_on_signals
from releasecheck.drivers.local.waiting import waiting_in
from releasecheck.errors import Interrupted
from releasecheck.pipeline.calibrating import ask_judge
from releasecheck.pipeline.calibration import calibration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.pipeline.calibrating import Chosen
    from releasecheck.pipeline.calibration import Calibration
    from releasecheck.pipeline.labels import Label
    from releasecheck.pipeline.world import World


async def run_calibration(chosen: Chosen, labels: Sequence[Label], world: World) -> Calibration:
    """Ask for every label, wait for what comes later, and report.

    Raises:
        Interrupted: a signal came; nothing is kept of it.
    """
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine always runs in a task
    with leaving_on_interrupt():
        try:
            with stopping_on_signals(world.stop, task, world.progress, grace_s=0.0):
                outcomes = await ask_judge(chosen, labels, world, waiting_in(world, None))
        except asyncio.CancelledError:
            if world.stop.reason != "interrupted":
                raise
            task.uncancel()
            message = "interrupted; nothing was written, run the same command again"
            raise Interrupted(message) from None
    return calibration(chosen.planned, outcomes)
