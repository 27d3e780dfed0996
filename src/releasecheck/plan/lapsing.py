"""Quarantines and waivers end: what is in force on a day, and what no longer is."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from releasecheck.model.plan import Plan
    from releasecheck.model.suite import Quarantined, Suite, Waiver


class InForce(NamedTuple):
    """What a plan made on some day takes from its suite."""

    quarantine: tuple[Quarantined, ...]
    waivers: tuple[Waiver, ...]
    lapsed: tuple[str, ...]
    """What was over, or about nothing, a sentence each."""


def in_force(suite: Suite, now: str, cases: Collection[str] | None) -> InForce:
    """What holds at `now` (RFC 3339, UTC); the last day counts in full.

    `cases` are the ids of the whole suite, None where only a part is known. A quarantine of a case that is not
    there is told and not refused: a change that removes the case could never pass otherwise, since its
    quarantine stands in the config of the base.
    """
    day = now[:10]
    return InForce(
        tuple(one for one in suite.quarantine if one.until >= day),
        tuple(one for one in suite.waivers if one.until >= day),
        tuple(told for _, told in lapsed(suite, now, cases)),
    )


def lapsed(
    suite: Suite, now: str, cases: Collection[str] | None
) -> Iterator[tuple[tuple[str, int], str]]:
    """(place in the suite, sentence) of everything that is over, or about nothing."""
    yield from _ended(suite, now[:10])
    for position, one in enumerate(suite.quarantine):
        if cases is not None and one.case not in cases:
            yield (
                ("quarantine", position),
                f"the quarantine of case {one.case!r} (owner {one.owner}) does nothing: there is no such case",
            )


def _ended(holder: Suite | Plan, day: str) -> Iterator[tuple[tuple[str, int], str]]:
    for position, one in enumerate(holder.quarantine):
        if one.until < day:
            yield (
                ("quarantine", position),
                f"the quarantine of case {one.case!r} (owner {one.owner}) ended on {one.until}: the case counts "
                "again",
            )
    for position, waiver in enumerate(holder.waivers):
        if waiver.until < day:
            yield (
                ("waivers", position),
                f"the waiver for gate {waiver.gate} (by {waiver.who}) ended on {waiver.until}: the gate stops a "
                "release again",
            )


def over_by(plan: Plan, now: str) -> str | None:
    """What held when a plan was made and no longer does at `now`; None where all of it still holds."""
    return next((told.partition(": ")[0] for _, told in _ended(plan, now[:10])), None)


def holding(plan: Plan, now: str) -> Plan:
    """A plan with what still holds where its run is decided at `now`.

    What was in force when the plan was made is so for as long as its run may be open. A plan that is used
    later than that, or again, carries no exception beyond its own last day.
    """
    if not _is_past(plan, now):
        return plan
    day = now[:10]
    changes = {
        "quarantine": tuple(one for one in plan.quarantine if not one.until < day),
        "waivers": tuple(one for one in plan.waivers if not one.until < day),
        "lapsed": (*plan.lapsed, *(told for _, told in _ended(plan, day))),
    }
    return plan.model_copy(update=changes)


def _is_past(plan: Plan, now: str) -> bool:
    """Whether a run of this plan is over by then; not known of a moment that is none."""
    with suppress(ValueError, TypeError):
        end = datetime.fromisoformat(plan.created_at) + timedelta(seconds=plan.expires_s)
        return datetime.fromisoformat(now) > end
    return False
