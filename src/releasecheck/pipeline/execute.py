"""Run one shard of a plan: find what earlier attempts recorded, do the rest, close the file."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from releasecheck.canonical import digest
from releasecheck.engine import Limits, Shard, Spent, Tally, ToShow, run_bulk
from releasecheck.errors import UsageError
from releasecheck.ledger.jsonl import JsonlWriter, shard_file_name
from releasecheck.model.judge import sentinel_ids
from releasecheck.model.table import ANSWERED, PENDING
from releasecheck.pipeline.bridging import (
    bridge_cost,
    count_to_rejudge,
    scores_open,
    to_rejudge,
)
from releasecheck.pipeline.early import WatchedLedger, decided_in, watch_for
from releasecheck.pipeline.folders import LEDGER_FILE, ledger_files
from releasecheck.pipeline.forgetting import forget_outputs
from releasecheck.pipeline.owing import owed_by
from releasecheck.pipeline.recording import header_of, run_recording
from releasecheck.pipeline.remaining import merge_files, open_trials, remaining
from releasecheck.pipeline.settling import settle_quickly
from releasecheck.ports import BulkJudge, DeferredJudge, JudgeCase

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from releasecheck.gates.certain import Certain
    from releasecheck.model.judge import Judge as JudgeSpec
    from releasecheck.model.judge import Sentinel
    from releasecheck.model.plan import Plan
    from releasecheck.model.table import Flags, Indices
    from releasecheck.pipeline.early import Watch
    from releasecheck.pipeline.folders import PlanFolder
    from releasecheck.pipeline.remaining import JudgesAsked, Recorded
    from releasecheck.pipeline.tools import Tools
    from releasecheck.pipeline.world import World


@dataclass(frozen=True, slots=True)
class ShardRequest:
    """What a driver asks for."""

    index: int
    results: Path
    """Where the result file goes; what is recorded there counts as done."""
    resume: tuple[Path, ...] = ()
    """Folders with earlier attempts' files."""
    attempt: int | None = None
    """None: the highest seen + 1."""
    judges: JudgesAsked = "all"
    approved_by: str | None = None


@dataclass(frozen=True, slots=True)
class ShardDone:
    """What became of it."""

    index: int
    path: Path | None
    """The new result file; None when there was nothing to do."""
    attempt: int | None
    tally: Tally
    total: int
    """Trials there was something to do for."""
    stopped: str | None
    """Why trials were left undone; None when none were."""


async def execute_shard(
    folder: PlanFolder,
    request: ShardRequest,
    world: World,
    tools: Tools,
    *,
    recorded: Recorded | None = None,
    until: float | None = None,
    spent: Spent | None = None,
    cost_usd: float | None = None,
    watch: Watch | None = None,
    drained: Callable[[], None] = lambda: None,
    while_quick: Callable[[], AbstractContextManager[None]] | None = nullcontext,
) -> ShardDone:
    """Run what is left of one shard.

    Args:
        folder: the plan.
        request: which shard, and where its records are.
        world: clock, environment, progress, stop.
        tools: target and judges, open.
        recorded: what is on record, where the caller has merged it; None merges the shard's own files.
        until: monotonic time after which no further batch starts.
        spent: what the run has cost so far, shared by the shards of a process; None counts this shard's.
        cost_usd: what it may cost.
        watch: who sees whether the run need not go on, shared by the shards of a process; None watches this
            shard alone, where the plan asks for it.
        drained: called when its last trial was taken and its workers fall idle.
        while_quick: entered around the one question to judges that answer later, before the shard ends; it can
            be broken off at once. None asks nothing.

    Raises:
        UsageError: no such shard, or the attempt is recorded already.
        Untrusted: earlier records are not this plan's, or were changed.
        InfrastructureError: a record could not be written.
    """
    plan = folder.plan
    if not 0 <= request.index < len(plan.shards):
        message = f"there is no shard {request.index}; the plan has 0 to {len(plan.shards) - 1}"
        raise UsageError(message)
    paths = _earlier_files(request)
    recorded = recorded or merge_files(folder, paths)
    own = _own_cases(folder, request.index)
    total = int(np.count_nonzero(open_trials(recorded, request.judges)[own]))
    total += count_to_rejudge(recorded, own, request.judges)
    sentinels = unshown(folder.plan, recorded, request.index, request.judges, fresh=bool(total))
    attempts = [int(found[2]) for path in paths if (found := _of_shard(path, request.index))]
    if not total and not sentinels and attempts:
        _forget_own(folder, request, recorded)  # a kill may have come before it was done
        return ShardDone(request.index, None, None, Tally(), 0, None)
    attempt = request.attempt or max(attempts, default=0) + 1
    path = request.results / shard_file_name(request.index, attempt)
    spent = spent or Spent(cost_so_far(recorded, own))
    writer = JsonlWriter(
        path,
        header_of(plan, world, request.index, attempt, request.approved_by, tools.code),
        world.clock,
    )
    if watch is None and request.judges != "none":
        watch = watch_for(folder, recorded)
    shard = Shard(
        run_id=plan.run_id,
        index=request.index,
        attempt=attempt,
        trials=remaining(folder, recorded, folder.cases(request.index), request.judges),
        total=total,
        target=tools.target,
        judges=tools.judges,
        ledger=writer if watch is None else WatchedLedger(writer, watch, request.index),
        clock=world.clock,
        redactor=tools.redactor,
        progress=world.progress,
        stop=world.stop,
        limits=Limits(until, cost_usd),
        spent=spent,
        workers=tools.workers,
        sentinels=sentinels,
        rejudge=to_rejudge(folder, recorded, folder.cases(request.index), request.judges),
        bulk=frozenset(n for n, judge in tools.judges.items() if isinstance(judge, BulkJudge)),
        decided=(lambda: False) if watch is None else watch.decided,
        drained=drained,
    )

    async def judge_the_rest() -> None:
        await _after_trials(
            folder, request, world, tools, shard, writer, [*paths, path], while_quick
        )

    tally = await run_recording(shard, writer, judge_the_rest)
    if plan.store_outputs != "full":
        _forget_own(folder, request, merge_files(folder, [*paths, path.resolve()]))
    stopped = world.stop.reason if tally.done < total else None
    return ShardDone(request.index, path, attempt, tally, total, stopped)


async def _after_trials(
    folder: PlanFolder,
    request: ShardRequest,
    world: World,
    tools: Tools,
    shard: Shard,
    writer: JsonlWriter,
    paths: Sequence[Path],
    while_quick: Callable[[], AbstractContextManager[None]] | None,
) -> None:
    """What is done with outputs once all are there: judges that take many, and one question for tickets."""
    if not tools.judges or request.judges == "none" or world.stop.reason is not None:
        return
    deferring = any(isinstance(judge, DeferredJudge) for judge in tools.judges.values())
    if shard.bulk:
        recorded = merge_files(folder, paths)
        trials = remaining(folder, recorded, folder.cases(request.index), "only")
        earlier = to_rejudge(folder, recorded, folder.cases(request.index), "only")
        await run_bulk(shard, trials, earlier)
    if while_quick is not None and deferring:
        recorded = merge_files(folder, paths)
        with while_quick():
            await settle_quickly(
                owed_by(recorded), tools.judges, folder.plan, recorded, writer.append, world
            )


def unshown(
    plan: Plan, recorded: Recorded, shard: int, asked: JudgesAsked, *, fresh: bool
) -> tuple[ToShow, ...]:
    """Sentinels that a shard still has to show; `fresh`: there are outputs to be judged, too."""
    if asked == "none":
        return ()
    done = {
        (one.judge, one.sentinel)
        for one in recorded.merged.table.sentinels
        if one.shard == shard and (not one.mendable or one.state == PENDING)
    }
    owing = {one.judge for one in recorded.merged.table.sentinels if one.shard == shard}
    found = []
    for judge in plan.judges:
        spec = judge.spec
        if not fresh and judge.id not in owing:
            continue
        for name, sentinel in zip(sentinel_ids(spec), spec.sentinels, strict=True):
            if (judge.id, name) not in done:
                found.append(_shown(spec, name, sentinel))
    return tuple(found)


def _shown(spec: JudgeSpec, name: str, sentinel: Sentinel) -> ToShow:
    # Of the cases that the judge applies to, whatever its `when` says.
    when = spec.when
    tags = () if when is None or when.tags is None else tuple(when.tags)
    split = "main" if when is None or when.split in (None, "all") else str(when.split)
    case = JudgeCase(name, sentinel.input, sentinel.expected, sentinel.metadata, tags, split)
    return ToShow(spec.id, name, case, sentinel.output, digest(sentinel.output))


class StillOpen(NamedTuple):
    """What is left of a shard."""

    undone: int
    """Pairs, sentinels and outputs of earlier runs without a record, or with a retryable failure: what a re-run has to do."""
    pending: int
    """Scores that judges owe: `finish` waits for them, no re-run of the shard has to."""
    certain: tuple[Certain, ...] = ()
    """Gates that block whatever is left, where the plan has such a run end: nothing is left to do then."""


def still_open(folder: PlanFolder, request: ShardRequest) -> StillOpen:
    """What is left of a shard, by its files."""
    recorded = merge_files(folder, _earlier_files(request))
    certain = decided_in(folder, recorded) if request.judges != "none" else ()
    sentinels = unshown(folder.plan, recorded, request.index, request.judges, fresh=False)
    own = _own_cases(folder, request.index)
    pending = int(np.count_nonzero(recorded.merged.table.state[own] == PENDING))
    undone = _open_pairs(recorded, own, request.judges) + len(sentinels)
    bridged = scores_open(recorded, own)
    if request.judges != "none":
        undone += bridged.undone
    return StillOpen(0 if certain else undone, pending + bridged.pending, certain)


def decided_before(folder: PlanFolder, request: ShardRequest) -> StillOpen | None:
    """What is left of a shard that need not be begun, since its records decide the run; else None."""
    if not folder.plan.stop_when_decided:
        return None
    left = still_open(folder, request)
    return left if left.certain else None


def _of_shard(path: Path, index: int) -> Sequence[str] | None:
    match = LEDGER_FILE.fullmatch(path.name)
    if match is None or match[1] is None or int(match[1]) != index:
        return None
    return [match[0], match[1], match[2]]


def _earlier_files(request: ShardRequest) -> list[Path]:
    folders = [*request.resume]
    if request.results.is_dir():
        folders.append(request.results)
    found = ledger_files(folders)
    return [
        path for path in found if path.name.startswith("finish") or _of_shard(path, request.index)
    ]


def _own_cases(folder: PlanFolder, shard: int) -> Indices:
    """Plan indices of a shard's cases."""
    return np.flatnonzero(np.asarray(folder.rows[1], dtype=np.int64) == shard)


def _open_pairs(recorded: Recorded, own: Indices, asked: JudgesAsked) -> int:
    table = recorded.merged.table
    # A ticket is no work for a shard: whoever finishes the run asks for its score.
    mendable: Flags = table.mendable[own] & np.not_equal(table.state[own], PENDING)
    if asked == "none":
        # Judges come later: open is only what the target has not answered, and may yet.
        unanswered: Flags = np.not_equal(table.target[own], ANSWERED).reshape(-1, table.trials, 1)
        mendable = mendable & unanswered
    return int(np.count_nonzero(mendable))


def cost_so_far(recorded: Recorded, own: Indices, *, target: bool = True) -> float:
    """What the records of some cases say they have cost this run, in USD; of judges alone without `target`.

    What is carried from a run that this one retries was spent there.
    """
    merged = recorded.merged
    asked = np.where(merged.carried_output, np.nan, merged.table.cost_usd)[own]
    judged = np.where(merged.carried_score, np.nan, merged.judge_usage[..., 0])[own]
    total = float(np.nansum(judged)) + (float(np.nansum(asked)) if target else 0.0)
    total += bridge_cost(recorded, own)
    return total if math.isfinite(total) else 0.0


def _forget_own(folder: PlanFolder, request: ShardRequest, recorded: Recorded) -> None:
    """Null what was judged in every attempt of the shard that lies in its own folder."""
    if folder.plan.store_outputs == "full":
        return
    here = request.results.resolve()
    own = [path for path in recorded.paths if path.is_relative_to(here)]
    forget_outputs(folder, recorded, [path for path in own if _of_shard(path, request.index)])
