"""Stage `beat`: one sweep over the runs of this repository."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from releasecheck.drivers.github.beat import BeatOptions, run_beat, where_of

if TYPE_CHECKING:
    from releasecheck.cli.action.job import Job


def carry_out(job: Job) -> int:
    """Sweep; see `releasecheck.drivers.github.beat`."""
    with job.client() as client:
        return run_beat(
            client,
            where_of(job.context),
            BeatOptions(
                workflows=job.inputs.workflows, badge_branch=job.inputs.badge_branch or None
            ),
            job.world.clock,
            write=sys.stdout.write,
            summary_path=job.summary_path,
        )
