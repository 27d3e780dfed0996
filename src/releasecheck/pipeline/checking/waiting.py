"""Asking for deferred scores until they are there or the time is over; through the clock, as callers do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from releasecheck.model.score import Pending

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.model.failure import Failure
    from releasecheck.ports import Arrived, Clock, DeferredJudge


@dataclass(slots=True)
class Waited:
    """What came of it."""

    scores: dict[str, Arrived] = field(default_factory=dict)
    """By ticket, without those that are still pending."""
    questions: int = 0
    longest_s: float = 0.0
    """Of one question."""
    took_s: float = 0.0
    left_out: bool = False
    """Whether the last answer left a ticket out, where it could have said `pending`."""
    failure: Failure | None = None
    """Of the last question that had time enough, where it failed."""
    violations: list[str] = field(default_factory=list)


async def wait_for(
    judge: DeferredJudge,
    tickets: Sequence[str],
    clock: Clock,
    *,
    interval_s: float,
    deadline_s: float,
) -> Waited:
    """Collect tickets (at most 50) every interval; whatever the judge does, it ends at the deadline."""
    waited = Waited()
    began = clock.monotonic()
    wanted = dict.fromkeys(tickets)
    while wanted and (left := began + deadline_s - clock.monotonic()) > 0:
        asked = clock.monotonic()
        found = await judge.collect(list(wanted), left)
        now = clock.monotonic()
        waited.questions += 1
        waited.longest_s = max(waited.longest_s, now - asked)
        cut = found.failure is not None and now >= began + deadline_s
        if not cut or waited.questions == 1:  # what the deadline cut off says nothing of the judge
            waited.failure = found.failure
            waited.left_out = any(ticket not in found.scores for ticket in wanted)
        waited.violations += found.violations
        for ticket, arrived in found.scores.items():
            if not isinstance(arrived.answer, Pending):
                waited.scores[ticket] = arrived
                wanted.pop(ticket, None)
        if found.failure is not None and found.failure.cls == "config":
            break  # the same for every question to come
        if wanted:
            pause = max(interval_s, found.again_s or 0.0)
            await clock.sleep(max(0.0, min(pause, began + deadline_s - now)))
    waited.took_s = clock.monotonic() - began
    return waited
