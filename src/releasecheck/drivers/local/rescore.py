"""`rescore`: the stored outputs of a run judged again, safe to kill anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.drivers.local.run import REPLACED, carry_through, resumable
from releasecheck.drivers.local.signals import leaving_on_interrupt
from releasecheck.errors import NotResumable
from releasecheck.pipeline.failing import failure_recorded
from releasecheck.pipeline.folders import open_bundle
from releasecheck.pipeline.holding import locked
from releasecheck.pipeline.replacing import REPLACING
from releasecheck.pipeline.revisions import begin_revision

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.drivers.local.run import RunOptions
    from releasecheck.pipeline.finish import FinishResult
    from releasecheck.pipeline.revisions import RescoreRequest
    from releasecheck.pipeline.world import World


async def rescore(
    out: Path, request: RescoreRequest, options: RunOptions, world: World
) -> FinishResult:
    """Append a revision to the run in `out`, or carry on the one that the same command began.

    Raises:
        NotResumable: there is no run in `out`, it is open, or a revision under other rules is.
        Interrupted: a signal came; what was recorded can be carried on.
        ReleaseCheckError: as its class says.
    """
    open_bundle(out)
    with leaving_on_interrupt(), locked(out):
        bundle, folder = open_bundle(out)
        if (out / REPLACING).exists():
            raise NotResumable(REPLACED.format(out=out))
        folder = begin_revision(bundle, folder, request, world)
        with failure_recorded(bundle, folder, world) as at, resumable(bundle):
            return await carry_through(bundle, folder, options, world, at)
