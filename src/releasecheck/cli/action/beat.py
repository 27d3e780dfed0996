"""Stage `beat`: one sweep over the runs of this repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from releasecheck.cli.action.job import Job


def carry_out(job: Job) -> int:
    """Sweep; see `releasecheck.drivers.github.beat`."""
    raise NotImplementedError
