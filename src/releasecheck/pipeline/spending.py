"""What a spent budget left undone, told by the gates that lack it (X-21)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from releasecheck.gates.subject import Subject
from releasecheck.model.table import NO_OUTPUT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.merge import Merged
    from releasecheck.model.plan import Plan
    from releasecheck.model.scorecard import GateResult

SPENT: Final = {
    "cost_budget": "budget_exceeded: the cost budget was spent before every case was asked",
    "time_budget": "budget_exceeded: the time budget ended before every case was asked",
}
"""By the reason for which a shard stopped."""


def with_budgets(gates: Sequence[GateResult], plan: Plan, merged: Merged) -> tuple[GateResult, ...]:
    """Gate results; those that refuse for want of cases that no budget was left for say so."""
    stopped = {seen.stopped for seen in merged.files}
    spent = [text for reason, text in SPENT.items() if reason in stopped]
    unasked = np.any(merged.table.target == NO_OUTPUT, axis=1)
    if not spent or not unasked.any():
        return tuple(gates)
    told = []
    for gate, result in zip(plan.gates, gates, strict=True):
        subject, cases = Subject.of(gate, plan), merged.table.cases
        lacking = unasked & subject.selects(cases) & ~subject.quarantined(cases)
        if result.outcome == "blocked_missing" and lacking.any():
            reason = "; ".join([result.reason, *spent])
            told.append(result.model_copy(update={"reason": reason}))
        else:
            told.append(result)
    return tuple(told)
