"""The beat: a sweep that finds runs nobody finishes, and has their own failed jobs run again (trap 29).

Nothing is kept between two sweeps. What a run came to, whether an attempt brought it further and who
started that attempt are read each time from its artifacts and from GitHub's record of its attempts, so
that a sweep may be late, be lost, or meet another one.
"""

from __future__ import annotations

from releasecheck.drivers.github.beat.findings import Finding, ScheduleNote, Swept
from releasecheck.drivers.github.beat.options import BeatOptions, Where, where_of
from releasecheck.drivers.github.beat.stage import run_beat
from releasecheck.drivers.github.beat.sweep import sweep

__all__ = [
    "BeatOptions",
    "Finding",
    "ScheduleNote",
    "Swept",
    "Where",
    "run_beat",
    "sweep",
    "where_of",
]
