"""Wait for judges in this process: sleep, say how it goes, and stop when there is no time left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from releasecheck.pipeline.asking import Wait, Waiting
    from releasecheck.pipeline.world import World

SAY_EVERY_S: Final = 60.0
"""Somebody who watches a log is told at least this often that nothing hangs."""


def waiting_in(world: World, until: float | None) -> Wait:
    """Sleep until something is due, unless that lies after the monotonic time `until`."""
    said: tuple[tuple[tuple[str, int], ...], float] | None = None

    async def wait(waiting: Waiting) -> bool:
        nonlocal said
        now = world.clock.monotonic()
        if until is not None and now + waiting.for_s > until:
            return False
        counts = tuple((one.judge, one.pending) for one in waiting.judges)
        if said is None or said[0] != counts or now - said[1] >= SAY_EVERY_S:
            said = counts, now
            world.progress.note(_words(waiting))
        await world.clock.sleep(waiting.for_s)
        return True

    return wait


def _words(waiting: Waiting) -> str:
    judges = "; ".join(
        f"{one.pending} of judge {one.judge} until {one.deadline[11:19]} UTC"
        for one in waiting.judges
    )
    return f"waiting for scores: {judges}"
