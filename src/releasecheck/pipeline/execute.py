"""Run one shard of a plan: find what earlier attempts recorded, do the rest, close the file."""

from __future__ import annotations

import asyncio
import math
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from releasecheck.canonical import digest
from releasecheck.engine import Limits, Shard, Shown, Spent, Tally, run_bulk, run_shard
from releasecheck.errors import EnvironmentMissing, UsageError
from releasecheck.ledger.jsonl import JsonlWriter, purge_file, shard_file_name
from releasecheck.model.judge import sentinel_ids
from releasecheck.model.record import UNKNOWN_CODE, Code, FileHeader, OutputRecord
from releasecheck.model.table import ANSWERED, PENDING
from releasecheck.pipeline.files import write_whole
from releasecheck.pipeline.folders import LEDGER_FILE, ledger_files
from releasecheck.pipeline.remaining import merge_files, open_trials, remaining
from releasecheck.pipeline.roots import find_roots
from releasecheck.plan import ShardLimits, divide, whole_judge_concurrency
from releasecheck.ports import BulkJudge, DeferredJudge, JudgeCase
from releasecheck.references import missing_names

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
    from contextlib import AbstractContextManager

    from releasecheck.model.judge import Judge as JudgeSpec
    from releasecheck.model.judge import Sentinel
    from releasecheck.model.plan import Plan
    from releasecheck.model.table import Flags, Indices
    from releasecheck.pipeline.folders import PlanFolder
    from releasecheck.pipeline.remaining import JudgesAsked, Recorded
    from releasecheck.pipeline.world import World
    from releasecheck.ports import Judge, Target
    from releasecheck.redact import Redactor


LOG_KEPT: Final = 1 << 20
"""Characters of the end of a started program's log that are kept."""


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


@dataclass(frozen=True, slots=True)
class Tools:
    """Open connections to the target and the judges of a plan."""

    target: Target | None
    judges: Mapping[str, Judge]
    redactor: Redactor
    workers: int
    code: Code
    """What the target's code is now."""


def check_environment(
    plan: Plan,
    environment: Mapping[str, str],
    asked: JudgesAsked,
    only: Collection[str] | None = None,
) -> None:
    """Refuse to start when a variable is missing that the calls to come need.

    `only` names the judges that will be called; None is all of them.

    Raises:
        EnvironmentMissing: names every one; nothing was called.
    """
    specs: list[object] = []
    if asked != "only":
        specs.append(plan.target.model_dump(mode="json", by_alias=True))
    if asked != "none":
        specs += [
            judge.spec.model_dump(mode="json", by_alias=True)
            for judge in plan.judges
            if only is None or judge.id in only
        ]
    unset, empty = missing_names(specs, environment)
    if unset or empty:
        hint = ""
        if environment.get("GITHUB_EVENT_NAME") == "pull_request":
            hint = (
                "On pull requests from forks (and from Dependabot) secrets are not available; "
                "nothing was called."
            )
        raise EnvironmentMissing(unset, empty, hint)


def check_approval(plan: Plan, approved_by: str | None) -> None:
    """Refuse an irreversible target that nobody approved (S2-59).

    Raises:
        UsageError: nothing was called.
    """
    if plan.target.side_effects == "irreversible" and not (approved_by or "").strip():
        message = (
            f"target {plan.target.id!r} has side_effects: irreversible; say who approved calling it "
            "with --approved-by"
        )
        raise UsageError(message)


@asynccontextmanager
async def open_tools(
    folder: PlanFolder,
    world: World,
    asked: JudgesAsked,
    *,
    shard: int | None,
    logs: Path,
    only: Collection[str] | None = None,
) -> AsyncIterator[Tools]:
    """Open the target and the judges, and stop them again whatever happens.

    `shard` takes its share of the run's limits; None takes them whole, for the only process at work.
    What a started program printed is kept in the folder `logs`, without secrets. `only` names the judges
    that are wanted; None is all of them.
    """
    from releasecheck.judges import open_judges
    from releasecheck.targets import open_target
    from releasecheck.transport import open_client

    plan = folder.plan
    limits = limits_of(plan, shard)
    redactor = world.redactor(plan)
    for name in redactor.too_short:
        world.progress.note(
            f"the value of {name} is too short to be removed from outputs and messages"
        )
    roots = find_roots(folder, world)
    code = code_of(folder, roots.config, world)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(open_client(world.environment))
        raw = Path(stack.enter_context(TemporaryDirectory(prefix="releasecheck-")))
        stack.callback(_keep_logs, raw, logs, redactor)
        target = None
        judges: dict[str, Judge] = {}
        if asked != "none":
            judges = open_judges(
                plan.judges,
                root=roots.policy,
                environment=world.environment,
                clock=world.clock,
                redactor=redactor,
                client=client,
                seed=plan.seed,
                trials=plan.trials,
                concurrency=limits.judge_concurrency,
                only=only,
            )
            for judge in judges.values():
                stack.push_async_callback(judge.aclose)
        if asked != "only":
            target = await open_target(
                plan.target,
                client=client,
                root=roots.config or world.cwd,
                environment=world.environment,
                clock=world.clock,
                redactor=redactor,
                concurrency=limits.concurrency,
                rate_limit=limits.rate_per_s,
                seed=plan.seed,
                log_folder=raw,
            )
            stack.push_async_callback(target.aclose)
        yield Tools(target, judges, redactor, limits.concurrency, code)


def code_of(folder: PlanFolder, root: Path | None, world: World) -> Code:
    """What the target's code is now, as far as that can be seen from here."""
    from releasecheck.targets.identity import target_files

    if root is None:
        return UNKNOWN_CODE
    files = target_files(folder.plan.target, root)
    return Code(world.commit_of(root), tuple(files.items()))


def _keep_logs(raw: Path, logs: Path, redactor: Redactor) -> None:
    """Copy the end of every log, secrets removed, under a name that no earlier attempt took."""
    for path in sorted(raw.glob("*.log")):
        # Half a secret at the beginning of what is read is cut off after the redaction.
        text = path.read_bytes()[-2 * LOG_KEPT :].decode("utf-8", "replace")
        if not text:
            continue
        text = redactor.text(text)[-LOG_KEPT:]
        taken = len(list(logs.glob(f"{path.stem}.start-*.log")))
        write_whole(logs / f"{path.stem}.start-{taken + 1}.log", [text.encode("utf-8")])


def limits_of(plan: Plan, shard: int | None) -> ShardLimits:
    """What one shard may use, or the whole run."""
    if shard is not None:
        return divide(plan, shard)
    budget = plan.budget
    return ShardLimits(
        concurrency=plan.target.concurrency,
        rate_per_s=plan.target.rate_limit,
        cost_usd=None if budget is None else budget.cost_usd,
        time_s=None if budget is None else budget.time,
        judge_concurrency=whole_judge_concurrency(plan),
    )


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
    shard = Shard(
        run_id=plan.run_id,
        index=request.index,
        attempt=attempt,
        trials=remaining(folder, recorded, folder.cases(request.index), request.judges),
        total=total,
        target=tools.target,
        judges=tools.judges,
        ledger=writer,
        clock=world.clock,
        redactor=tools.redactor,
        progress=world.progress,
        stop=world.stop,
        limits=Limits(until, cost_usd),
        spent=spent,
        workers=tools.workers,
        sentinels=sentinels,
        bulk=frozenset(n for n, judge in tools.judges.items() if isinstance(judge, BulkJudge)),
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
        await run_bulk(shard, trials)
    if while_quick is not None and deferring:
        from releasecheck.pipeline.settling import owed_by, settle_quickly

        recorded = merge_files(folder, paths)
        with while_quick():
            await settle_quickly(
                owed_by(recorded), tools.judges, folder.plan, recorded, writer.append, world
            )


def unshown(
    plan: Plan, recorded: Recorded, shard: int, asked: JudgesAsked, *, fresh: bool
) -> tuple[Shown, ...]:
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


def _shown(spec: JudgeSpec, name: str, sentinel: Sentinel) -> Shown:
    # Of the cases that the judge applies to, whatever its `when` says.
    when = spec.when
    tags = () if when is None or when.tags is None else tuple(when.tags)
    split = "main" if when is None or when.split in (None, "all") else str(when.split)
    case = JudgeCase(name, sentinel.input, sentinel.expected, sentinel.metadata, tags, split)
    return Shown(spec.id, name, case, sentinel.output, digest(sentinel.output))


async def run_recording(
    shard: Shard, writer: JsonlWriter, then: Callable[[], Awaitable[None]] | None = None
) -> Tally:
    """Run a shard and end its file, with the reason when trials are left undone.

    Whatever breaks leaves the file as a kill would; calls cancelled by a signal leave it whole. `then` is
    done after the trials, while the file is still open.
    """
    try:
        tally = await run_shard(shard)
        if then is not None:
            await then()
    except asyncio.CancelledError:
        if shard.stop.reason is None:
            writer.abandon()
        writer.close(shard.stop.reason)
        raise
    except BaseException:
        writer.abandon()
        raise
    # Syncing takes milliseconds, in which another shard of this process has better things to do.
    await asyncio.to_thread(writer.close, shard.stop.reason if tally.done < shard.total else None)
    return tally


class StillOpen(NamedTuple):
    """What is left of a shard."""

    undone: int
    """Pairs and sentinels without a record, or with a retryable failure: what a re-run has to do."""
    pending: int
    """Scores that judges owe: `finish` waits for them, no re-run of the shard has to."""


def still_open(folder: PlanFolder, request: ShardRequest) -> StillOpen:
    """What is left of a shard, by its files."""
    recorded = merge_files(folder, _earlier_files(request))
    sentinels = unshown(folder.plan, recorded, request.index, request.judges, fresh=False)
    own = _own_cases(folder, request.index)
    pending = int(np.count_nonzero(recorded.merged.table.state[own] == PENDING))
    return StillOpen(_open_pairs(recorded, own, request.judges) + len(sentinels), pending)


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


def header_of(
    plan: Plan,
    world: World,
    shard: int | None,
    attempt: int,
    approved_by: str | None,
    code: Code = UNKNOWN_CODE,
) -> FileHeader:
    """The header of a ledger file to be written now."""
    return FileHeader(
        run_id=plan.run_id,
        plan_digest=plan.plan_digest,
        shard=shard,
        shards=len(plan.shards),
        attempt=attempt,
        started_at=world.clock.now(),
        tool=world.tool,
        approved_by=approved_by,
        code=code,
    )


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


def cost_so_far(recorded: Recorded, own: Indices) -> float:
    """What the records of some cases say they have cost, in USD."""
    target = np.nansum(recorded.merged.table.cost_usd[own]) if len(own) else 0.0
    judges = np.nansum(recorded.merged.judge_usage[own][..., 0]) if len(own) else 0.0
    total = float(target) + float(judges)
    return total if math.isfinite(total) else 0.0


def _forget_own(folder: PlanFolder, request: ShardRequest, recorded: Recorded) -> None:
    """Null what was judged in every attempt of the shard that lies in its own folder."""
    if folder.plan.store_outputs == "full":
        return
    here = request.results.resolve()
    own = [path for path in recorded.paths if path.is_relative_to(here)]
    forget_outputs(folder, recorded, [path for path in own if _of_shard(path, request.index)])


def forget_outputs(
    folder: PlanFolder, recorded: Recorded, paths: Sequence[Path], *, closed: bool = False
) -> None:
    """Null the outputs that every judge has read (`store_outputs: digest | none`) in some files.

    In a run that is `closed` no judge will read any more. Byte offsets in the files change. Nobody may
    be writing to the files: a purged file takes the place of the one that is open elsewhere.
    """
    table = recorded.merged.table
    index = {case.id: position for position, case in enumerate(table.cases)}
    unread: Flags = np.logical_or.reduce(table.mendable, axis=2)

    def keep(record: OutputRecord) -> bool:
        return not closed and bool(unread[index[record.case], record.trial])

    for path in paths:
        purge_file(path, keep, texts=folder.plan.store_outputs == "none")
