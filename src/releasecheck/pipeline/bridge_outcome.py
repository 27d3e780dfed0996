"""What became of a bridge: earlier runs as the judges of now see them, what is still open, and what to say of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from releasecheck.merge import judged_anew
from releasecheck.model.scorecard import GIVEN_UP
from releasecheck.model.table import NOT_APPLICABLE, PENDING, SCORED
from releasecheck.stats import count, names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.model.bridge import Bridged, Side
    from releasecheck.model.plan import Plan
    from releasecheck.model.scorecard import BaselineUsed
    from releasecheck.model.table import Baseline, Compared, Floats, ScoreTable


def bridged_to(plan: Plan, table: ScoreTable, compared: Compared) -> Compared:
    """The earlier runs as this run's judges see them."""

    def anew(found: Baseline | None, side: Side) -> Baseline | None:
        return None if found is None else judged_anew(plan, found, _seen(table, side))

    return replace(
        compared,
        baseline=anew(compared.baseline, "baseline"),
        anchor=anew(compared.anchor, "anchor"),
    )


def _seen(table: ScoreTable, side: Side) -> Bridged | None:
    return next((seen for seen in table.bridged if seen.side == side), None)


def with_rejudged(found: BaselineUsed | None, anew: Baseline | None) -> BaselineUsed | None:
    """What is said of the run compared with, and how many of its outputs were judged anew."""
    if found is None or anew is None or not anew.rejudged:
        return found
    said = {judge: one.outputs for judge, one in sorted(anew.rejudged.items())}
    return found.model_copy(update={"rejudged": said})


def bridge_mendable(table: ScoreTable) -> int:
    """Scores of earlier runs' outputs that another attempt, or waiting, could bring."""
    return sum(int(np.count_nonzero(seen.mendable)) for seen in table.bridged)


def bridge_pending(table: ScoreTable) -> int:
    """Scores of earlier runs' outputs that judges owe."""
    return sum(int(np.count_nonzero(seen.state == PENDING)) for seen in table.bridged)


def bridge_usage(table: ScoreTable, which: int) -> list[Floats]:
    """Cost in USD (0) or tokens (1) of every such score, side by side; NaN where nobody said."""
    return [seen.used[..., which].ravel() for seen in table.bridged]


def bridge_missing(table: ScoreTable) -> Iterator[str]:
    """What is still to be judged of earlier runs, and what never can be."""
    for seen in table.bridged:
        for at, judge in enumerate(seen.judges):
            left = int(np.count_nonzero(seen.undone[:, :, at]))
            if left:
                yield f"{count(left, 'output')} of the {seen.side} still to be judged anew by {judge}"
        gone = int(np.count_nonzero(seen.unstored))
        if gone:
            yield f"{count(gone, 'output')} of the {seen.side} not stored there, so that nobody can judge them anew"


def why_given_up(table: ScoreTable) -> Iterator[str]:
    """Scores of earlier runs' outputs that did not come."""
    for seen in table.bridged:
        for (judge, reason), number in seen.given_up.items():
            said = GIVEN_UP.get(reason, "did not come")
            yield f"{judge}: {count(number, 'score')} of the {seen.side}'s outputs {said} ({reason})"


def _anew(seen: Bridged) -> str:
    since = "since another judge scored them then"
    if np.isin(seen.state, (SCORED, NOT_APPLICABLE)).any():
        return f"its stored outputs were scored in this run, {since}"
    if not seen.asked.any():
        return f"none of its outputs is stored, and they had to be scored in this run, {since}"
    return f"none of its stored outputs has a score of this run, which they need {since}"


def bridge_notices(table: ScoreTable) -> Iterator[str]:
    """What a reviewer should know: with whose eyes the earlier run is seen, and what was odd about it."""
    for seen in table.bridged:
        yield f"{seen.side} judged anew by {names(seen.judges)}: {_anew(seen)}"
        if seen.resumed:
            yield (
                f"{count(seen.resumed, 'score')} of the {seen.side}'s outputs came after the deadline and count, "
                "since the waiting had been interrupted (resumed_after_deadline)"
            )
        if seen.late:
            yield (
                f"{count(seen.late, 'score')} of the {seen.side}'s outputs came too late: kept in the ledger, "
                "never counted"
            )
        if seen.conflicts:
            contradict = (
                "contradicts an earlier one"
                if len(seen.conflicts) == 1
                else "contradict earlier ones"
            )
            yield (
                f"{count(len(seen.conflicts), 'measurement')} of the {seen.side}'s outputs {contradict} "
                f"({names(seen.conflicts)}); the first counts"
            )
