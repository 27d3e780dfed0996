"""What was not measured, and what cannot be trusted, in sentences: the same in every report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.model.scorecard import GIVEN_UP
from releasecheck.scorecard.numbers import moment
from releasecheck.stats import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.model.scorecard import Incomplete, Scorecard, Sentinels, Waiting


def lacking(card: Scorecard) -> tuple[str, ...]:
    """Judges without a score for everything, those that still owe some, and those that fail their sentinels."""
    owed = {one.judge for one in card.waiting}
    return (
        *(_incomplete(one) for one in card.incomplete),
        *(owing(one) for one in card.waiting),
        *(line for one in card.sentinels for line in _sentinels(one, owes=one.judge in owed)),
    )


def _incomplete(one: Incomplete) -> str:
    why = [f"{number} {GIVEN_UP.get(reason, reason)}" for reason, number in one.given_up.items()]
    if one.failed:
        why.append(f"{one.failed} failed")
    return one.message + (f": {', '.join(why)}" if one.given_up else "")


def owing(one: Waiting) -> str:
    """Who owes how many, until when, and from when on it is asked again."""
    until = f", until {moment(one.deadline)}" if one.deadline else ", its deadline is not fixed yet"
    again = f", asked again from {moment(one.not_before)} on" if one.not_before else ""
    return f"{one.judge} still owes {count(one.pending, 'score')}{until}{again}"


def _sentinels(one: Sentinels, *, owes: bool) -> Iterator[str]:
    if one.missed:
        yield (
            f"{one.judge} held {one.held} of {count(one.shown, 'sentinel')}, answers whose score is known; "
            f"missed: {', '.join(one.missed)}"
        )
    if one.unscored and not owes:
        yield f"{one.judge} has no score for {one.unscored} of {count(one.shown, 'sentinel')}"
