"""What a reviewer must know about the rules of a run, in sentences: none of it decides anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from releasecheck.gates import NEUTRAL
from releasecheck.model.table import NO_OUTPUT
from releasecheck.pipeline.bridge_outcome import bridge_notices
from releasecheck.pipeline.folders import REVISIONS
from releasecheck.pipeline.models import mixtures
from releasecheck.scorecard.exceptions import quarantine_notice, waived_words, waiver_notice
from releasecheck.scorecard.policy import dataset_words, setting_words
from releasecheck.stats import count, names, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from releasecheck.merge import Merged
    from releasecheck.model.plan import Plan
    from releasecheck.model.policy import PolicyChanges, SettingChange
    from releasecheck.model.scorecard import GateResult

SHOWN: Final = 3
"""Changes that a sentence names; the others stand below it, and are counted here."""


def notices(plan: Plan, merged: Merged, changed: Sequence[str]) -> tuple[str, ...]:
    """Everything of a run that is not of its gates; `changed` is what of the target's code did not stay the same."""
    found = [*lineage_notices(plan, merged)]
    if changed:
        found.append(
            f"the target's code changed while the run was under way ({', '.join(changed)}): its answers are "
            "of several versions; never promoted - start a new run"
        )
    found += mixtures(merged)
    if merged.resumed:
        found.append(
            f"{count(merged.resumed, 'score')} came after the deadline and count, "
            "since the waiting had been interrupted (resumed_after_deadline)"
        )
    if merged.late:
        found.append(
            f"{count(len(merged.late), 'score')} came too late: kept in the ledger, never counted"
        )
    if plan.mode != "full":
        found.append(
            f"partial: {plan.mode} ({plan.selection.asked}), {plan.cases} of {plan.selection.of} cases; "
            "never promoted, no badge"
        )
    if plan.selection.note:
        found.append(plan.selection.note)
    found += policy_notices(plan)
    found += exception_notices(plan)
    found += plan.lapsed
    found += bridge_notices(merged.table)
    found += _unlimited(plan, merged)
    if plan.git is not None and plan.git.dirty:
        found.append("the working tree had uncommitted changes when the plan was made")
    if merged.conflicts:
        found.append(_conflicts(merged))
    if merged.outputs_lost:
        found.append(f"{merged.outputs_lost} outputs were not stored and were asked again")
    return tuple(found)


def _unlimited(plan: Plan, merged: Merged) -> Iterator[str]:
    """A cost budget over answers and scores that never say what they cost is no budget."""
    limit = None if plan.budget is None else plan.budget.cost_usd
    answered = merged.table.target != NO_OUTPUT
    if limit is None or not answered.any():
        return
    if (
        np.isnan(merged.table.cost_usd[answered]).all()
        and np.isnan(merged.judge_usage[..., 0]).all()
    ):
        yield (
            f"the budget of {plain(limit)} USD could stop nothing: neither target nor judges said what they cost "
            "(`usage: {cost_usd: ...}` of the target says where it stands in an answer)"
        )


def _conflicts(merged: Merged) -> str:
    """`1 measurement contradicts an earlier one ('exact of c3'); the first counts`."""
    number = len(merged.conflicts)
    what = "measurement contradicts an earlier one"
    if number > 1:
        what = "measurements contradict earlier ones"
    found = names([f"{conflict.judge} of {conflict.case}" for conflict in merged.conflicts])
    return f"{number} {what} ({found}); the first counts"


def policy_notices(plan: Plan) -> tuple[str, ...]:
    """Whose rules these are, what the change edits, and whose outputs were judged."""
    return tuple(_notices(plan))


def lineage_notices(plan: Plan, merged: Merged) -> Iterator[str]:
    """What this run took from an earlier one, and how often its outputs were judged."""
    if plan.retry_of is not None:
        outputs = count(int(merged.carried_output.sum()), "answer")
        redone = ", ".join(plan.retry_classes)
        yield (
            f"retry of {plan.retry_of} ({redone}): {outputs} and what was measured of them are carried from it, "
            "the rest was asked here"
        )
    if plan.revises is not None:
        kept = (
            "; what the one before measured with the same judges was kept"
            if plan.keeps_measured
            else ""
        )
        yield (
            f"revision {plan.revision}: the stored outputs were judged again under {plan.policy.file}{kept}. "
            f"The decision before it is in {REVISIONS}/{plan.revision - 1}"
        )


def exception_notices(plan: Plan) -> Iterator[str]:
    """What the suite lets pass for a while: whose, why, and until when."""
    yield from map(quarantine_notice, plan.quarantine)
    yield from map(waiver_notice, plan.waivers)


def waiver_lines(plan: Plan, gates: Sequence[GateResult]) -> Iterator[str]:
    """What each waiver did for a gate that blocked; one that was not needed is a notice alone."""
    waived = {gate.id for gate in gates if gate.waived}
    others = [gate.id for gate in gates if gate.outcome not in NEUTRAL and gate.id not in waived]
    for waiver in plan.waivers:
        if waiver.gate not in waived:
            continue
        line = waived_words(waiver)
        if others:
            line += f"; that releases nothing while {names(others)} stop it"
        yield line


def _notices(plan: Plan) -> Iterator[str]:
    policy, changes = plan.policy, plan.policy.changes
    if changes is not None and changes.expect_cases is not None:
        yield f"this change edits the number of cases that must be there: {setting_words(changes.expect_cases)}"
    if policy.introduced:
        yield (
            f"introduced: there is no {policy.file} at the base, so this change was checked by its own gates "
            "and judges; look at them"
        )
    elif policy.mode == "head":
        yield (
            "`policy: head` was asked for: this change was checked by its own gates and judges, not by those "
            "of the base"
        )
    if changes is not None:
        yield from _edits(changes, applies=policy.mode == "head")
    if plan.adopted is not None:
        yield (
            f"outputs were adopted from the untrusted run {plan.adopted.run_id}: answers, times and costs are "
            "as that job recorded them, and were judged here; never promoted, no badge"
        )


def _edits(changes: PolicyChanges, *, applies: bool) -> Iterator[str]:
    if changes.settings:
        which = "applies here" if applies else "does not apply until merged"
        more = changes.more_settings
        # First of all: what comes after a long list may be cut off.
        yield f"this change also edits its own policy, which {which}: {_some(changes.settings, more)}"
    if changes.dataset is not None and (words := dataset_words(changes.dataset)):
        yield f"this change edits the dataset: {words}"
    if changes.target:
        yield f"this change edits the target: {_some(changes.target, changes.more_target)}"
    if changes.notes:
        others = len(changes.notes) - 1
        rest = f" (and {others} more notes)" if others else ""
        yield f"what this change edits cannot all be shown: {changes.notes[0]}{rest}"


def _some(changes: Sequence[SettingChange], more: int) -> str:
    text = "; ".join(setting_words(change) for change in changes[:SHOWN])
    left = len(changes[SHOWN:]) + more
    return f"{text}; and {left} more" if left else text
