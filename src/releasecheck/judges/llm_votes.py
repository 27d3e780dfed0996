"""Several answers of a judging model to one score: all of them, or none."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from releasecheck.judges.llm_reading import Verdict
from releasecheck.judges.outcome import cannot
from releasecheck.model.record import NO_USAGE, Usage
from releasecheck.model.score import JudgeFailed, Scored
from releasecheck.transport.reading import add

if TYPE_CHECKING:
    from collections.abc import Sequence


class Vote(NamedTuple):
    """What came of one call."""

    answer: Verdict | JudgeFailed
    usage: Usage = NO_USAGE
    notes: tuple[str, ...] = ()
    """`model=...` and `fingerprint=...` as the provider says them."""


class Counted(NamedTuple):
    """What all votes on one output come to."""

    answer: Scored | JudgeFailed
    usage: Usage
    notes: tuple[str, ...]


def count(votes: Sequence[Vote], combine: Literal["mean", "median", "majority"]) -> Counted:
    """One score of all votes; a vote that failed fails it, since the rest would be another judge."""
    usage = NO_USAGE
    for vote in votes:
        usage = add(usage, vote.usage)
    notes = tuple(dict.fromkeys(note for vote in votes for note in vote.notes))
    failed = [vote.answer for vote in votes if isinstance(vote.answer, JudgeFailed)]
    if failed:
        return Counted(_lost(failed, len(votes)), usage, notes)
    verdicts = [vote.answer for vote in votes if isinstance(vote.answer, Verdict)]
    return Counted(_combined(verdicts, combine), usage, notes)


def _lost(failed: list[JudgeFailed], n: int) -> JudgeFailed:
    # What cannot be mended by asking again decides whether there is something to do again.
    worst = next((one for one in failed if not one.failure.retryable), failed[0])
    if n == 1:
        return worst
    said = f"{n - len(failed)} of {n} votes came: {worst.failure.message or ''}"
    return JudgeFailed(replace(worst.failure, message=said))


def _combined(
    verdicts: list[Verdict], combine: Literal["mean", "median", "majority"]
) -> Scored | JudgeFailed:
    scores = [one.score for one in verdicts]
    if combine == "majority":
        (score, times), *_ = Counter(scores).most_common(1)
        if 2 * times <= len(scores):
            said = ", ".join(f"{one:g}" for one in scores)
            return cannot("no_majority", f"no score has more than half of the votes: {said}")
    elif combine == "median":
        score = statistics.median(scores)
    else:
        score = math.fsum(scores) / len(scores)
    nearest = min(verdicts, key=lambda one: abs(one.score - score))
    if len(verdicts) == 1:
        return Scored(score, nearest.reason)
    said = ", ".join(f"{one:g}" for one in scores)
    return Scored(score, f"{combine} of the votes {said}: {nearest.reason or 'no reason given'}")
