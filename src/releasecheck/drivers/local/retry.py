"""`retry`: what failed in a run is done again, in a run of its own; the first one is only read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.drivers.local.run import carry_through, resumable
from releasecheck.drivers.local.signals import leaving_on_interrupt
from releasecheck.pipeline.failing import failure_recorded
from releasecheck.pipeline.finish import is_expired
from releasecheck.pipeline.folders import Bundle, ledger_files
from releasecheck.pipeline.holding import locked
from releasecheck.pipeline.preflight import check_approval, preflight
from releasecheck.pipeline.remaining import asked_for, merge_files
from releasecheck.pipeline.retrying import check_place, place_retry
from releasecheck.pipeline.roots import find_roots

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.drivers.local.run import RunOptions
    from releasecheck.pipeline.finish import FinishResult
    from releasecheck.pipeline.folders import PlanFolder
    from releasecheck.pipeline.retrying import RetryRequest
    from releasecheck.pipeline.world import World


def beside(source: Path) -> Path:
    """Where a retry goes unless told otherwise."""
    whole = source.resolve()
    name = f"{whole.name}-retry"
    return source.with_name(name) if source.name not in ("", "..") else whole.with_name(name)


async def retry(request: RetryRequest, options: RunOptions, world: World) -> FinishResult:
    """Make the new run, or find the one that the same command began, and carry it through.

    Raises:
        NotResumable: the source is open or counts for nothing, or the folder is taken.
        Interrupted: a signal came; what was recorded can be resumed.
        ReleaseCheckError: as its class says.
    """
    check_place(request)  # before even a lock is put there
    with leaving_on_interrupt(), locked(request.out):
        folder = place_retry(request, world)
        bundle = Bundle(request.out)
        with failure_recorded(bundle, folder, world) as at, resumable(bundle):
            _check(bundle, folder, options, world)
            return await carry_through(bundle, folder, options, world, at)


def _check(bundle: Bundle, folder: PlanFolder, options: RunOptions, world: World) -> None:
    """Once more from the new folder: the same command may carry on what was begun a while ago."""
    if is_expired(folder, world.clock.now()):
        return
    asked = asked_for(merge_files(folder, ledger_files([bundle.results])))
    if asked == "all":
        check_approval(folder.plan, options.approved_by)
    preflight(folder.plan, find_roots(folder, world), world.environment, asked)
