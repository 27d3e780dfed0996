"""Merged records -> metrics, gates, verdict, scorecard: pure, so that `verify` can do it again."""

from __future__ import annotations

import math
from collections import Counter
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
    unproven,
    verdict,
)
from releasecheck.metrics import measure
from releasecheck.model.scorecard import (
    EXIT_CODES,
    GIVEN_UP,
    Costs,
    Counts,
    Incomplete,
    Scorecard,
    ShardSeen,
    Waiting,
)
from releasecheck.model.table import (
    FAILED,
    MISSING,
    NO_OUTPUT,
    NOT_APPLICABLE,
    PENDING,
    SCORED,
)
from releasecheck.pipeline.comparability import baseline_used
from releasecheck.pipeline.early import blocking, decided_early, early_notices
from releasecheck.pipeline.judged_anew import (
    bridge_mendable,
    bridge_notices,
    bridge_pending,
    bridge_usage,
    bridged_to,
    why_given_up,
    with_bridge_budgets,
    with_rejudged,
)
from releasecheck.pipeline.models import mixtures, models_seen
from releasecheck.pipeline.noticing import (
    exception_notices,
    lineage_notices,
    policy_notices,
    waiver_lines,
)
from releasecheck.pipeline.owing import deadlines_fixed
from releasecheck.pipeline.ruling import rule_of
from releasecheck.pipeline.spending import SPENT, with_budgets
from releasecheck.scorecard.lacking import owing
from releasecheck.scorecard.numbers import count
from releasecheck.settle import moment_of, text_of
from releasecheck.stats import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    pending = int(np.count_nonzero(table.state == PENDING))
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
    table = merged.table
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
        reasons=_reasons(plan, merged, gates, outcome, over, waiting),
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
        code_changed=_code_changed(plan, merged),
        policy=plan.policy,
        adopted=plan.adopted,
        notices=(*early_notices(table, certain), *_notices(plan, merged)),
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


def _count(table: ScoreTable, state: int) -> int:
    return int(np.count_nonzero(table.state == state))


def _counts(table: ScoreTable, conflicts: int) -> Counts:
    return Counts(
        cases=len(table.cases),
        trials=len(table.cases) * table.trials,
        pairs=table.pairs,
        scored=_count(table, SCORED),
        not_applicable=_count(table, NOT_APPLICABLE),
        failed=_count(table, FAILED),
        missing=_count(table, MISSING),
        pending=_count(table, PENDING),
        conflicts=conflicts,
    )


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
    lost = any(_count(table, state) for state in (FAILED, MISSING, PENDING))
    refusing = [gate for gate in gates if gate.outcome == "blocked_missing"]
    return (
        outcome == "blocked_missing"
        and not lost
        and all(unproven(gate.metric, table) is not None for gate in refusing)
    )


def _why_waiting(table: ScoreTable, waiting: Sequence[Waiting]) -> Iterator[str]:
    pending = _count(table, PENDING)
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


def _reasons(
    plan: Plan,
    merged: Merged,
    gates: Sequence[GateResult],
    outcome: Outcome | None,
    over: Finality,
    waiting: Sequence[Waiting],
) -> tuple[str, ...]:
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
        lines.append(
            f"provisional: {over.mendable} scores can still be had; carry on with "
            "`releasecheck resume`, or close the run with `--final`"
        )
    elif over.status == "expired":
        lines.append(
            f"expired: the run was still open {_hours(plan.expires_s)} after it was planned"
        )
    return tuple(lines)


def _hours(seconds: float) -> str:
    hours = seconds / 3600
    return f"{hours:.0f} h" if hours >= 1 else f"{seconds:.0f} s"


_STOPPED = {
    **SPENT,
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


def _incomplete(plan: Plan, merged: Merged) -> tuple[Incomplete, ...]:
    given_up: dict[str, dict[str, int]] = {}
    for (judge, reason), number in merged.given_up.items():
        given_up.setdefault(judge, {})[reason] = number
    return tuple(
        one.model_copy(update={"given_up": given_up.get(one.judge, {})})
        for one in incomplete(merged.table, plan)
    )


def waiting_for(plan: Plan, merged: Merged, now: str) -> tuple[Waiting, ...]:
    """Every judge that owes scores, until when, and when to ask it again."""
    table = merged.table
    fixed = deadlines_fixed(merged)
    tickets: dict[str, set[str]] = {}
    for (_, _, at), ticket in merged.tickets.items():
        tickets.setdefault(table.judges[at], set()).add(ticket)
    pending = Counter(table.judges[at] for _, _, at in merged.tickets)
    for one in table.sentinels:
        if one.state == PENDING and one.ticket is not None:
            tickets.setdefault(one.judge, set()).add(one.ticket)
            pending[one.judge] += 1
    for open_ in (each for seen in table.bridged for each in seen.open):
        tickets.setdefault(open_.judge, set()).add(open_.ticket)
        pending[open_.judge] += 1
    found = []
    for judge in plan.judges:
        if judge.id not in tickets:
            continue
        ends = [fixed[judge.id, each] for each in tickets[judge.id] if (judge.id, each) in fixed]
        again = moment_of(now) + rule_of(plan, judge).interval_s
        found.append(
            Waiting(
                judge=judge.id,
                pending=pending[judge.id],
                deadline=text_of(max(ends)) if ends else None,
                not_before=text_of(min(again, *ends) if ends else again),
            )
        )
    return tuple(found)


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


def _notices(plan: Plan, merged: Merged) -> tuple[str, ...]:
    found = [*lineage_notices(plan, merged)]
    changed = _code_changed(plan, merged)
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
    if plan.git is not None and plan.git.dirty:
        found.append("the working tree had uncommitted changes when the plan was made")
    if merged.conflicts:
        found.append(_conflicts(merged))
    if merged.outputs_lost:
        found.append(f"{merged.outputs_lost} outputs were not stored and were asked again")
    return tuple(found)


def _conflicts(merged: Merged) -> str:
    """`1 measurement contradicts an earlier one ('exact of c3'); the first counts`."""
    number = len(merged.conflicts)
    what = "measurement contradicts an earlier one"
    if number > 1:
        what = "measurements contradict earlier ones"
    found = names([f"{conflict.judge} of {conflict.case}" for conflict in merged.conflicts])
    return f"{number} {what} ({found}); the first counts"
