"""Quarantines and waivers end: what is in force on a day, and what no longer is."""

from __future__ import annotations

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
    lapsed = [
        f"the quarantine of case {one.case!r} (owner {one.owner}) ended on {one.until}: the case counts again"
        for one in suite.quarantine
        if one.until < day
    ]
    lapsed += [
        f"the waiver for gate {one.gate} (by {one.who}) ended on {one.until}: the gate stops a release again"
        for one in suite.waivers
        if one.until < day
    ]
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


def over_by(plan: Plan, now: str) -> str | None:
    """What held when a plan was made and no longer does at `now`; None where all of it still holds."""
    day = now[:10]
    for waiver in plan.waivers:
        if waiver.until < day:
            return f"the waiver for gate {waiver.gate} (by {waiver.who}) ended on {waiver.until}"
    for one in plan.quarantine:
        if one.until < day:
            return f"the quarantine of case {one.case!r} (owner {one.owner}) ended on {one.until}"
    return None
