"""What a spent budget left undone, told by the gates that lack it (X-21)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from releasecheck.gates.subject import Subject
from releasecheck.model.table import NO_OUTPUT
from releasecheck.scorecard.verdict import COST_SPENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from releasecheck.merge import Merged
    from releasecheck.model.plan import Plan
    from releasecheck.model.scorecard import GateResult

SPENT: Final = {
    "cost_budget": COST_SPENT,
    "time_budget": "the time budget ended",
}
"""By the reason for which a shard stopped."""
ASKED: Final = "every case was asked"


def budget_words(spent: Iterable[str], what: str) -> str:
    """`budget_exceeded: the cost budget was spent before every case was asked`."""
    return f"budget_exceeded: {' and '.join(spent)} before {what}"


def spent(merged: Merged) -> list[str]:
    """Which budgets stopped a shard, in words."""
    stopped = {seen.stopped for seen in merged.files}
    return [words for reason, words in SPENT.items() if reason in stopped]


def with_budgets(gates: Sequence[GateResult], plan: Plan, merged: Merged) -> tuple[GateResult, ...]:
    """Gate results; those that refuse for want of cases that no budget was left for say so."""
    over = spent(merged)
    unasked = np.any(merged.table.target == NO_OUTPUT, axis=1)
    if not over or not unasked.any():
        return tuple(gates)
    told = []
    for gate, result in zip(plan.gates, gates, strict=True):
        subject, cases = Subject.of(gate, plan), merged.table.cases
        lacking = unasked & subject.selects(cases) & ~subject.quarantined(cases)
        if result.outcome == "blocked_missing" and lacking.any():
            reason = f"{result.reason}; {budget_words(over, ASKED)}"
            told.append(result.model_copy(update={"reason": reason}))
        else:
            told.append(result)
    return tuple(told)


def with_bridge_budgets(
    gates: Sequence[GateResult], plan: Plan, merged: Merged
) -> tuple[GateResult, ...]:
    """Gate results; those that refuse since no budget was left to judge the earlier run anew say so (X-21)."""
    over = spent(merged)
    left = {
        (seen.side, judge)
        for seen in merged.table.bridged
        for at, judge in enumerate(seen.judges)
        if seen.undone[:, :, at].any()
    }
    if not over or not left:
        return tuple(gates)
    told = []
    for gate, result in zip(plan.gates, gates, strict=True):
        rule = gate.no_regression
        side = None if rule is None else rule.side
        if result.outcome != "blocked_missing" or (side, gate.metric) not in left:
            told.append(result)
            continue
        why = budget_words(over, f"every output of the {side} was judged anew")
        told.append(result.model_copy(update={"reason": f"{result.reason}; {why}"}))
    return tuple(told)
