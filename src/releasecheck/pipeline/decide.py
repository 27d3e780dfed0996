"""Merged records -> metrics, gates, verdict, scorecard: pure, so that `verify` can do it again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from releasecheck.canonical import MAX_INTEGER
from releasecheck.gates import (
    decide,
    flips,
    incomplete,
    overridden,
    sentinel_results,
    verdict,
)
from releasecheck.metrics import measure
from releasecheck.model.scorecard import (
    EXIT_CODES,
    Costs,
    Counts,
    Incomplete,
    Scorecard,
    ShardSeen,
)
from releasecheck.model.table import (
    FAILED,
    MISSING,
    NO_OUTPUT,
    NOT_APPLICABLE,
    PENDING,
    SCORED,
)
from releasecheck.pipeline.bridge_outcome import (
    bridge_mendable,
    bridge_pending,
    bridge_usage,
    bridged_to,
    with_rejudged,
)
from releasecheck.pipeline.comparability import baseline_used
from releasecheck.pipeline.early import blocking, decided_early, early_notices
from releasecheck.pipeline.models import models_seen
from releasecheck.pipeline.noticing import notices
from releasecheck.pipeline.owing import waiting_for
from releasecheck.pipeline.reasons import reasons
from releasecheck.pipeline.spending import with_bridge_budgets, with_budgets
from releasecheck.plan import holding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.merge import Merged
    from releasecheck.model.plan import Plan
    from releasecheck.model.scorecard import GateResult, Outcome, Status
    from releasecheck.model.table import Compared, ScoreTable

WAITING_EXIT = 5


@dataclass(frozen=True, slots=True)
class Finality:
    """Whether a run is over, and why."""

    status: Status
    """`completed`, `expired`, or `running` while another attempt has something to do."""
    mendable: int
    """Pairs that another attempt could mend."""
    pending: int
    """Pairs whose judge still owes the score."""

    @property
    def final(self) -> bool:
        """Whether the decision stands."""
        return self.status != "running"


def finality(table: ScoreTable, *, close: bool, expired: bool, decided: bool = False) -> Finality:
    """A run is over when nothing is mendable, when it expired, or when somebody closes it.

    So it is when it was `decided` early: what is left to mend could not change the decision.
    """
    mendable = int(np.count_nonzero(table.mendable))
    mendable += sum(one.mendable for one in table.sentinels) + bridge_mendable(table)
    pending = table.count(PENDING)
    pending += sum(one.state == PENDING for one in table.sentinels) + bridge_pending(table)
    status: Status = "running"
    if not mendable or close or (decided and not pending):
        status = "completed"
    elif expired:
        status = "expired"
    return Finality(status, mendable, pending)


def decide_run(
    plan: Plan, merged: Merged, compared: Compared, over: Finality, *, now: str
) -> Scorecard:
    """The scorecard of what is recorded."""
    plan = holding(plan, now)
    table, changed = merged.table, _code_changed(plan, merged)
    anew = bridged_to(plan, table, compared)
    baseline = anew.baseline
    gates = decide(table, plan, baseline, anew.anchor)
    certain = decided_early(plan, table, compared) if over.final and not over.pending else ()
    gates = with_budgets(blocking(gates, certain), plan, merged)
    gates = with_bridge_budgets(gates, plan, merged)
    owing = not over.final and over.pending > 0
    waiting = waiting_for(plan, merged, now) if owing else ()
    outcome = None if owing else _verdict(gates, plan, over)
    waived = outcome == "block" and overridden(gates, plan)
    return Scorecard(
        run_id=plan.run_id,
        plan_digest=plan.plan_digest,
        suite=plan.suite,
        mode=plan.mode,
        selection=plan.selection.asked,
        status=over.status,
        verdict=outcome,
        overridden=waived,
        exit_code=_exit_code(outcome, overridden=waived),
        reasons=reasons(plan, merged, gates, outcome, over, waiting),
        counts=_counts(table, len(merged.conflicts)),
        incomplete=_incomplete(plan, merged),
        metrics=measure(table, plan, baseline),
        gates=gates,
        # In the order in which it will be read back, so that reports are the same then.
        flips=dict(sorted(flips(table, plan, baseline).items())),
        waiting=waiting,
        sentinels=sentinel_results(table, plan),
        baseline=with_rejudged(
            baseline_used(plan, table, compared.baseline, merged.models), baseline
        ),
        anchor=with_rejudged(
            baseline_used(plan, table, compared.anchor, merged.models), anew.anchor
        ),
        waivers=plan.waivers,
        quarantine=plan.quarantine,
        decided_early=bool(certain),
        shards=_shards(plan, merged),
        conflicts=merged.conflicts,
        costs=_costs(merged),
        **models_seen(merged),
        code_changed=changed,
        policy=plan.policy,
        adopted=plan.adopted,
        notices=(*early_notices(table, certain), *notices(plan, merged, changed)),
        retry_of=plan.retry_of,
        revision=plan.revision,
        created_at=now,
    )


def _exit_code(outcome: Outcome | None, *, overridden: bool) -> int:
    if outcome is None:
        return WAITING_EXIT
    return 0 if overridden else EXIT_CODES[outcome]


def _verdict(gates: Sequence[GateResult], plan: Plan, over: Finality) -> Outcome:
    """The worst outcome, once the run is over; until then there is none that could stand.

    What is still open may be a score that no gate reads, or a failure that counts as the worst value
    until it is mended: an open run neither passes nor blocks (contract section 4, Finality).
    """
    return verdict(gates, plan) if over.final else "blocked_missing"


def _counts(table: ScoreTable, conflicts: int) -> Counts:
    return Counts(
        cases=len(table.cases),
        trials=len(table.cases) * table.trials,
        pairs=table.pairs,
        scored=table.count(SCORED),
        not_applicable=table.count(NOT_APPLICABLE),
        failed=table.count(FAILED),
        missing=table.count(MISSING),
        pending=table.count(PENDING),
        conflicts=conflicts,
    )


def _incomplete(plan: Plan, merged: Merged) -> tuple[Incomplete, ...]:
    given_up: dict[str, dict[str, int]] = {}
    for (judge, reason), number in merged.given_up.items():
        given_up.setdefault(judge, {})[reason] = number
    return tuple(
        one.model_copy(update={"given_up": given_up.get(one.judge, {})})
        for one in incomplete(merged.table, plan)
    )


def _shards(plan: Plan, merged: Merged) -> tuple[ShardSeen, ...]:
    attempts: dict[int, list[int]] = {shard.index: [] for shard in plan.shards}
    for seen in merged.files:
        if seen.shard is not None:
            attempts[seen.shard].append(seen.attempt)
    return tuple(
        ShardSeen(
            index=shard.index,
            cases=shard.cases,
            attempts=tuple(sorted(attempts[shard.index])),
            outputs=merged.answered_in_shard[shard.index],
        )
        for shard in plan.shards
    )


def _costs(merged: Merged) -> Costs:
    table = merged.table
    answered = table.target != NO_OUTPUT
    return Costs(
        target_usd=_sum(table.cost_usd),
        judges_usd=_sum(_of_judges(merged, 0)),
        target_tokens=_whole(_sum(table.tokens)),
        judges_tokens=_whole(_sum(_of_judges(merged, 1))),
        unknown=int(np.count_nonzero(answered & np.isnan(table.cost_usd))),
        outputs_lost=merged.outputs_lost,
    )


def _of_judges(merged: Merged, which: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Costs (0) or tokens (1) of every score that counts, those of earlier runs' outputs too."""
    return np.concatenate(
        [merged.judge_usage[..., which].ravel(), *bridge_usage(merged.table, which)]
    )


def _sum(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float | None:
    """The sum of what was said, None when nobody said anything."""
    said = values[~np.isnan(values)]
    try:
        return math.fsum(said.tolist()) if said.size else None
    except OverflowError:
        return None  # of amounts that no writer of ours would have recorded


def _whole(value: float | None) -> int | None:
    return None if value is None or value > MAX_INTEGER else int(value)


def _code_changed(plan: Plan, merged: Merged) -> tuple[str, ...]:
    """Files of the target, or the commit, that were not the same for all records."""
    commits = {seen.code.commit for seen in merged.files}
    if plan.git is not None:
        commits.add(plan.git.commit)
    commits.discard(None)
    changed = ["the commit"] if len(commits) > 1 else []
    recorded = [part for seen in merged.files for part in seen.code.files]
    if plan.target_plugin is not None:
        recorded += plan.target_plugin.files.items()
    versions: dict[str, set[tuple[str, str]]] = {}
    for name, found in recorded:
        # `plug-in shout: brief-checks 1.0.0`: another version of a package has another name.
        part = name.partition(": ")[0] if name.startswith("plug-in ") else name
        versions.setdefault(part, set()).add((name, found))
    return (*changed, *sorted(part for part, found in versions.items() if len(found) > 1))
