"""Judge a run's own stored outputs under a later revision, for `rescore`: the target is never called (G-13, G-20)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from releasecheck.engine import Limits, Shard, Spent, run_bulk, run_shard
from releasecheck.model.record import (
    NO_USAGE,
    OUTPUT_NOT_STORED,
    TAKEN_LATE,
    ScoreRecord,
    read_record,
)
from releasecheck.model.score import Missing, NotApplicable, Scored
from releasecheck.model.table import ANSWERED, NOT_APPLICABLE, SCORED
from releasecheck.pipeline.bridging import count_to_rejudge, to_rejudge
from releasecheck.pipeline.execute import cost_so_far, unshown
from releasecheck.pipeline.finish_file import FinishFile
from releasecheck.pipeline.folders import ledger_files, revision_of
from releasecheck.pipeline.lines import Lines
from releasecheck.pipeline.preflight import preflight
from releasecheck.pipeline.remaining import merge_files, open_trials, remaining
from releasecheck.pipeline.roots import find_roots
from releasecheck.pipeline.sentinels import bridged_in, measured_sentinels
from releasecheck.pipeline.tools import limits_of, open_tools
from releasecheck.ports import BulkJudge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.engine import ToShow
    from releasecheck.model.record import LateRecord, Record
    from releasecheck.model.table import Flags
    from releasecheck.pipeline.folders import Bundle, PlanFolder
    from releasecheck.pipeline.remaining import Recorded
    from releasecheck.pipeline.tools import Tools
    from releasecheck.pipeline.world import World


async def judge_outputs(
    bundle: Bundle, folder: PlanFolder, world: World, until: float | None = None
) -> None:
    """Ask the judges of a revision for every score that it lacks, into a ledger file of its own.

    Safe to repeat after a kill: what the revision has on record is not asked again.

    Raises:
        UsageError, ConfigError, EnvironmentMissing: a judge cannot be asked from here.
        InfrastructureError: a score could not be recorded.
    """
    before = merge_files(folder, ledger_files([bundle.results]))
    ledger = FinishFile(folder, before, bundle.results, world)
    try:
        ledger.append_all(_kept(bundle, folder, before, world))
        recorded = _with(folder, before, ledger)
        ledger.append_all(_lost(recorded, world))
        recorded = _with(folder, recorded, ledger)
        left = await _ask(bundle, folder, recorded, ledger, world, until)
    except asyncio.CancelledError:
        ledger.close(world.stop.reason or "interrupted")
        raise
    except BaseException:
        ledger.abandon()
        raise
    ledger.close(world.stop.reason if left else None)


def _with(folder: PlanFolder, recorded: Recorded, ledger: FinishFile) -> Recorded:
    """What is on record by now."""
    if ledger.path is None:
        return recorded
    others = [path for path in recorded.paths if path != ledger.path]
    return merge_files(folder, [*others, ledger.path])


async def _ask(
    bundle: Bundle,
    folder: PlanFolder,
    recorded: Recorded,
    ledger: FinishFile,
    world: World,
    until: float | None,
) -> bool:
    """Whether something was left undone."""
    plan = folder.plan
    todo = open_trials(recorded, "only")
    own = np.asarray(folder.rows[1], dtype=np.int64)
    totals = [
        int(np.count_nonzero(todo[own == shard.index]))
        + count_to_rejudge(recorded, np.flatnonzero(own == shard.index), "only")
        for shard in plan.shards
    ]
    shown = [
        unshown(plan, recorded, shard.index, "only", fresh=bool(total))
        for shard, total in zip(plan.shards, totals, strict=True)
    ]
    judges = _needed(recorded, todo) | {one.judge for each in shown for one in each}
    if not judges:
        return False
    preflight(plan, find_roots(folder, world), world.environment, "only", only=judges)
    limits = limits_of(plan, None)
    seconds = [end for end in (until, _after(limits.time_s, world)) if end is not None]
    bounds = Limits(min(seconds, default=None), limits.cost_usd)
    spent = Spent(cost_so_far(recorded, np.arange(plan.cases), target=False))
    world.progress.begin(sum(totals))
    async with open_tools(
        folder, world, "only", shard=None, logs=bundle.results, only=judges
    ) as tools:
        asking = _Asking(folder, recorded, ledger, world, tools, bounds, spent)
        shards = [
            asking.shard(at, *each) for at, each in enumerate(zip(totals, shown, strict=True))
        ]
        for shard in shards:
            if world.stop.reason is None and (shard.total or shard.sentinels):
                await run_shard(shard)
        # Judges that take many outputs at once come last, so that what is on record by then is read once.
        bulk = [shard for shard in shards if shard.bulk]
        now = _with(folder, recorded, ledger) if bulk and world.stop.reason is None else recorded
        for shard in bulk:
            if world.stop.reason is None:
                trials = remaining(folder, now, folder.cases(shard.index), "only")
                earlier = to_rejudge(folder, now, folder.cases(shard.index), "only")
                await run_bulk(shard, trials, earlier)
    return world.stop.reason is not None


def _after(seconds: float | None, world: World) -> float | None:
    return None if seconds is None else world.clock.monotonic() + seconds


def _needed(recorded: Recorded, todo: Flags) -> set[str]:
    """Judges that have an output to read."""
    table = recorded.merged.table
    wanted = (table.mendable & todo[..., None]).any(axis=(0, 1))
    found = {table.judges[judge] for judge in np.flatnonzero(wanted).tolist()}
    for seen in table.bridged:
        open_ = seen.undone.any(axis=(0, 1))
        found |= {seen.judges[judge] for judge in np.flatnonzero(open_).tolist()}
    return found


@dataclass(frozen=True, slots=True)
class _Asking:
    """What the shards of a revision have in common."""

    folder: PlanFolder
    recorded: Recorded
    ledger: FinishFile
    world: World
    tools: Tools
    limits: Limits
    spent: Spent

    def shard(self, index: int, total: int, shown: tuple[ToShow, ...]) -> Shard:
        """One of them: its number, how many outputs are to be judged, and sentinels to be shown."""
        folder, recorded, world, tools = self.folder, self.recorded, self.world, self.tools
        plan = folder.plan
        return Shard(
            run_id=plan.run_id,
            index=index,
            attempt=1,
            trials=remaining(folder, recorded, folder.cases(index), "only"),
            total=total,
            target=None,
            judges=tools.judges,
            ledger=self.ledger,
            clock=world.clock,
            redactor=tools.redactor,
            progress=world.progress,
            stop=world.stop,
            limits=self.limits,
            spent=self.spent,
            workers=tools.workers,
            sentinels=shown,
            rejudge=to_rejudge(folder, recorded, folder.cases(index), "only"),
            bulk=frozenset(n for n, judge in tools.judges.items() if isinstance(judge, BulkJudge)),
            revision=plan.revision,
        )


def _lost(recorded: Recorded, world: World) -> Iterator[Record]:
    """What no judge can read any more is missing for good, and says why."""
    merged = recorded.merged
    gone = merged.table.mendable & ((merged.table.target == ANSWERED) & ~merged.stored)[..., None]
    gone &= merged.score_at[..., 0] < 0
    with Lines(recorded) as lines:
        for case, trial, judge in np.argwhere(gone).tolist():
            place = merged.output_at[case, trial].tolist()
            yield ScoreRecord(
                case=merged.table.cases[case].id,
                trial=trial,
                judge=merged.table.judges[judge],
                output_digest=lines.at(place)["output_digest"],
                score=Missing(OUTPUT_NOT_STORED),
                ticket=None,
                usage=NO_USAGE,
                revision=1,
                at=world.clock.now(),
            )


def _kept(bundle: Bundle, folder: PlanFolder, recorded: Recorded, world: World) -> Iterator[Record]:
    """With `--missing`: what the revision before measured with the same judges, and what came too late for it."""
    plan = folder.plan
    if not plan.keeps_measured:
        return
    *_, past = folder.past()
    source = merge_files(past, ledger_files([bundle.results]))
    same = {judge.digest: at for at, judge in enumerate(past.plan.judges)}
    pairs = [
        (here, same[judge.digest])
        for here, judge in enumerate(plan.judges)
        if judge.digest in same and past.plan.judges[same[judge.digest]].id == judge.id
    ]
    late = _late(source)
    with Lines(source) as lines:
        for here, there in pairs:
            open_ = recorded.merged.score_at[:, :, here, 0] < 0
            open_ &= recorded.merged.table.target == ANSWERED
            for case, trial in np.argwhere(open_).tolist():
                found = _measured(source, (case, trial, there), lines, late)
                if found is not None:
                    yield found._replace(carried_from_revision=past.plan.revision)
    files = [path for path in source.paths if revision_of(path) == past.plan.revision]
    judges = {plan.judges[here].id for here, _ in pairs}
    yield from measured_sentinels(plan, recorded, source, files, judges, past.plan.revision)
    for score in bridged_in(files, source, judges, recorded):
        yield score._replace(carried_from_revision=past.plan.revision)


def _measured(
    source: Recorded,
    at: tuple[int, int, int],
    lines: Lines,
    late: dict[tuple[str, int, str, str], LateRecord],
) -> ScoreRecord | None:
    merged = source.merged
    if merged.table.state[at] in (SCORED, NOT_APPLICABLE):
        record = read_record(lines.at(merged.score_at[at].tolist()), "score")
        assert isinstance(record, ScoreRecord)  # noqa: S101 - locators come from the merge
        return record
    case, trial, judge = at
    output = lines.at(merged.output_at[case, trial].tolist())["output_digest"]
    name = merged.table.judges[judge]
    found = late.get((merged.table.cases[case].id, trial, name, output))
    if found is None:
        return None
    score = (
        NotApplicable(found.reason or "")
        if found.value is None
        else Scored(found.value, found.reason)
    )
    return ScoreRecord(
        case=found.case,
        trial=trial,
        judge=name,
        output_digest=output,
        score=score,
        ticket=found.ticket,
        usage=NO_USAGE,
        revision=1,
        at=found.at,
        notes=(TAKEN_LATE,),
    )


def _late(source: Recorded) -> dict[tuple[str, int, str, str], LateRecord]:
    """The first score that came too late, for each pair and output."""
    found: dict[tuple[str, int, str, str], LateRecord] = {}
    for one in source.merged.late:
        if (one.judge, one.ticket) in source.merged.shared_tickets:
            continue  # it could be the score of the other answer
        found.setdefault((one.case, one.trial, one.judge, one.output_digest), one)
    return found
