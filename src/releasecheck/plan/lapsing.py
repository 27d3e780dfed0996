"""Quarantines and waivers end: what is in force on a day, and what no longer is."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

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
    lapsed = _ended(suite, day)
    lapsed += [
        f"the quarantine of case {one.case!r} (owner {one.owner}) does nothing: there is no such case"
        for one in suite.quarantine
        if cases is not None and one.case not in cases
    ]
    return InForce(
        tuple(one for one in suite.quarantine if one.until >= day),
        tuple(one for one in suite.waivers if one.until >= day),
        tuple(lapsed),
    )


def _ended(holder: Suite | Plan, day: str) -> list[str]:
    found = [
        f"the quarantine of case {one.case!r} (owner {one.owner}) ended on {one.until}: the case counts again"
        for one in holder.quarantine
        if one.until < day
    ]
    return found + [
        f"the waiver for gate {one.gate} (by {one.who}) ended on {one.until}: the gate stops a release again"
        for one in holder.waivers
        if one.until < day
    ]


def over_by(plan: Plan, now: str) -> str | None:
    """What held when a plan was made and no longer does at `now`; None where all of it still holds."""
    return next((told.partition(": ")[0] for told in _ended(plan, now[:10])), None)


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
        "lapsed": (*plan.lapsed, *_ended(plan, day)),
    }
    return plan.model_copy(update=changes)


def _is_past(plan: Plan, now: str) -> bool:
    """Whether a run of this plan is over by then; not known of a moment that is none."""
    with suppress(ValueError, TypeError):
        end = datetime.fromisoformat(plan.created_at) + timedelta(seconds=plan.expires_s)
        return datetime.fromisoformat(now) > end
    return False
