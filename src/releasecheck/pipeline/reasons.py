"""Why a run came to its verdict, in sentences: the first is the headline, the others name gates, judges and gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from releasecheck.gates import overridden, unproven
from releasecheck.model.scorecard import GIVEN_UP
from releasecheck.model.table import FAILED, MISSING, NO_OUTPUT, PENDING
from releasecheck.pipeline.bridge_outcome import bridge_pending, why_given_up
from releasecheck.pipeline.noticing import waiver_lines
from releasecheck.pipeline.spending import ASKED, SPENT, budget_words, spent
from releasecheck.scorecard.lacking import owing
from releasecheck.scorecard.verdict import COST_SPENT
from releasecheck.stats import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from releasecheck.merge import Merged
    from releasecheck.model.plan import Plan
    from releasecheck.model.scorecard import GateResult, Outcome, Waiting
    from releasecheck.model.table import ScoreTable
    from releasecheck.pipeline.decide import Finality

_HEADLINES = {
    "pass": "pass: every gate held",
    "bootstrap": "bootstrap: every other gate held, and there is no baseline yet",
    "not_selected": "not_selected: every gate with cases in this partial plan held",
    "not_comparable": "not_comparable: no verdict, for want of something valid to compare with",
    "blocked_missing": "blocked_missing: no verdict, because scores or cases are missing",
    "block": "block: measured, and a gate blocked",
}


_OVERRIDDEN = "block, overridden: measured, and every gate that blocked is waived"
_DOUBTED = "blocked_missing: no verdict, because a judge cannot be trusted"


def _only_doubted(table: ScoreTable, gates: Sequence[GateResult], outcome: Outcome) -> bool:
    """Whether every score is there, and gates refuse since a judge did not hold its sentinels."""
    lost = any(table.count(state) for state in (FAILED, MISSING, PENDING))
    refusing = [gate for gate in gates if gate.outcome == "blocked_missing"]
    return (
        outcome == "blocked_missing"
        and not lost
        and all(unproven(gate.metric, table) is not None for gate in refusing)
    )


def _why_waiting(table: ScoreTable, waiting: Sequence[Waiting]) -> Iterator[str]:
    pending = table.count(PENDING)
    sentinels = sum(one.state == PENDING for one in table.sentinels)
    what = count(pending, "score")
    if sentinels:
        what += f" and {count(sentinels, 'sentinel')}"
    earlier = bridge_pending(table)
    if earlier:
        what += f", and {count(earlier, 'score')} of outputs of earlier runs"
    yield f"waiting: {what} still to come"
    yield from map(owing, waiting)


def _why_given_up(merged: Merged) -> Iterator[str]:
    for (judge, reason), number in merged.given_up.items():
        yield f"{judge}: {count(number, 'score')} {GIVEN_UP[reason]} ({reason})"
    yield from why_given_up(merged.table)


def reasons(
    plan: Plan,
    merged: Merged,
    gates: Sequence[GateResult],
    outcome: Outcome | None,
    over: Finality,
    waiting: Sequence[Waiting],
) -> tuple[str, ...]:
    """What a scorecard says first; of a run that waits, for whom and until when.

    Args:
        plan: Of the run.
        merged: What is on record.
        gates: Their results.
        outcome: The verdict; None while judges owe scores.
        over: Whether the run is over.
        waiting: Judges that owe scores.
    """
    if outcome is None:
        return tuple(_why_waiting(merged.table, waiting))
    lines = [_DOUBTED if _only_doubted(merged.table, gates, outcome) else _HEADLINES[outcome]]
    if outcome == "block" and overridden(gates, plan):
        lines = [_OVERRIDDEN]
    lines += [
        f"{gate.id}: {gate.outcome}: {gate.reason}" for gate in gates if gate.outcome != "pass"
    ]
    lines += waiver_lines(plan, gates)
    lines += _why_given_up(merged)
    lines += _why_incomplete(plan, merged)
    if not over.final:
        how = "carry on with `releasecheck resume`, or close the run with `--final`"
        if COST_SPENT in spent(merged):
            how = f"{COST_SPENT}, so nothing more is asked for: close the run with `--final`"
        lines.append(f"provisional: {count(over.mendable, 'score')} can still be had; {how}")
    elif over.status == "expired":
        lines.append(
            f"expired: the run was still open {_hours(plan.expires_s)} after it was planned"
        )
    return tuple(lines)


def _hours(seconds: float) -> str:
    hours = seconds / 3600
    return f"{hours:.0f} h" if hours >= 1 else f"{seconds:.0f} s"


_STOPPED = {
    **{reason: budget_words([words], ASKED) for reason, words in SPENT.items()},
    "interrupted": "interrupted before every case was asked",
    "decided": "decided early: no case that is left could have saved the run from blocking",
    "target_unusable": "the target refused every call in the same way, so the rest was not asked",
}


def _why_incomplete(plan: Plan, merged: Merged) -> list[str]:
    # A later attempt that did the rest makes an earlier stop irrelevant, so only open shards count.
    if not np.any(merged.table.target == NO_OUTPUT):
        return []
    reasons = {seen.stopped for seen in merged.files if seen.stopped is not None}
    return [_STOPPED.get(reason, reason) for reason in sorted(reasons)]
