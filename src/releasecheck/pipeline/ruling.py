"""How long and how often a judge that answers later is asked: as it says itself, else as `settle` says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.model.judge import DeferringJudge, LlmJudge, PrecomputedJudge
from releasecheck.settle import Rule

if TYPE_CHECKING:
    from collections.abc import Collection

    from releasecheck.model.judge import Judge
    from releasecheck.model.plan import Plan, PlannedJudge
    from releasecheck.model.suite import Settle


def rule_for(spec: Judge, settle: Settle) -> Rule:
    """The rule for a judge of a suite."""
    own = spec if isinstance(spec, DeferringJudge | PrecomputedJudge) else None
    batch = spec.batch if isinstance(spec, DeferringJudge) else None
    return Rule(
        spec.id,
        settle.interval if own is None or own.interval is None else own.interval,
        settle.deadline if own is None or own.deadline is None else own.deadline,
        batch or settle.batch,
        settle.grace,
    )


def rule_of(plan: Plan, judge: PlannedJudge) -> Rule:
    """The rule for a judge of a plan."""
    return rule_for(judge.spec, plan.settle)


def may_answer_later(spec: Judge) -> bool:
    """Whether a judge may give a ticket instead of a score."""
    if isinstance(spec, PrecomputedJudge):
        return spec.wait
    if isinstance(spec, LlmJudge):
        return spec.mode == "batch"
    return isinstance(spec, DeferringJudge)


def rules_for(plan: Plan, judges: Collection[str]) -> dict[str, Rule]:
    """The rules of some judges, by id."""
    return {judge.id: rule_of(plan, judge) for judge in plan.judges if judge.id in judges}
