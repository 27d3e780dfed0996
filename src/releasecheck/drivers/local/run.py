"""`run` and `resume`: the whole way of the data in one process, safe to kill anywhere."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from filelock import FileLock, Timeout

from releasecheck.canonical import dump_document
from releasecheck.config import load_suite
from releasecheck.drivers.local.signals import leaving_on_interrupt, stopping_on_signals
from releasecheck.engine import Spent
from releasecheck.errors import (
    InfrastructureError,
    Interrupted,
    NotResumable,
    ReleaseCheckError,
    UsageError,
)
from releasecheck.pipeline.execute import (
    ShardDone,
    ShardRequest,
    check_approval,
    cost_so_far,
    execute_shard,
    limits_of,
    open_tools,
)
from releasecheck.pipeline.files import write_whole
from releasecheck.pipeline.finish import FinishRequest, check_ours, finish, is_expired
from releasecheck.pipeline.folders import Bundle, find_root, ledger_files, open_bundle, open_plan
from releasecheck.pipeline.freezing import make_plan
from releasecheck.pipeline.preflight import preflight
from releasecheck.pipeline.remaining import merge_files, open_trials
from releasecheck.publish import build_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from releasecheck.model.failure import Stage
    from releasecheck.pipeline.finish import FinishResult
    from releasecheck.pipeline.folders import PlanFolder
    from releasecheck.pipeline.freezing import PlanRequest
    from releasecheck.pipeline.world import World

LOCK: Final = ".lock"
REPLACING: Final = ".replacing"
"""Stands in `out/` while an old bundle makes room for a new one."""
NEW_PLAN: Final = ".new-plan"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to carry a run through."""

    close: bool = False
    repair: int = 0
    approved_by: str | None = None
    time_budget_s: float | None = None


async def run(request: PlanRequest, out: Path, options: RunOptions, world: World) -> FinishResult:
    """Plan, run every shard, and finish, into the bundle `out`.

    Raises:
        NotResumable: `out` holds an open run, or something that is no bundle.
        Interrupted: a signal came; what was recorded can be resumed.
        ReleaseCheckError: as its class says; `out/failure.json` says it too once there is a plan.
    """
    bundle = Bundle(out)
    _check_replaceable(bundle)
    with leaving_on_interrupt(), locked(out):
        _check_replaceable(bundle)
        folder = _plan_into(bundle, request, options, world)
        with failure_recorded(bundle, folder, world) as at, _resumable(bundle):
            return await _carry_through(bundle, folder, options, world, at)


async def resume(out: Path, options: RunOptions, world: World) -> FinishResult:
    """Carry an interrupted run on from its ledger; a final one is only read again.

    Raises:
        NotResumable: there is no run in `out`.
    """
    open_bundle(out)
    with leaving_on_interrupt(), locked(out):
        bundle, folder = open_bundle(out)
        if (out / REPLACING).exists():
            message = f"{out}: its run was being replaced by another one; give that `releasecheck run` again"
            raise NotResumable(message)
        if bundle.finalized:
            world.progress.note("this run is closed: nothing was asked, here is what it came to")
            return await finish(_finish_request(bundle, options), world)
        check_approval(folder.plan, options.approved_by)
        _note_changed_config(folder, world)
        with failure_recorded(bundle, folder, world) as at, _resumable(bundle):
            if not is_expired(folder, world.clock.now()):
                preflight(folder.plan, find_root(folder, world.cwd), world.environment)
            return await _carry_through(bundle, folder, options, world, at)


def _note_changed_config(folder: PlanFolder, world: World) -> None:
    """Say that a plan keeps what it froze, when the config beside it says something else by now."""
    root, policy = find_root(folder, world.cwd), folder.plan.policy
    if root is None:
        return
    try:
        now = load_suite(root / folder.plan.root.config).digest
    except ReleaseCheckError:
        now = ""
    if now != policy.digest:
        world.progress.note(
            f"{folder.plan.root.config} changed since this run was planned; the run keeps the settings and "
            "cases it was planned with"
        )


def _plan_into(
    bundle: Bundle, request: PlanRequest, options: RunOptions, world: World
) -> PlanFolder:
    """Freeze and check the plan beside an old bundle, which makes room only when both succeeded."""
    waiting_room = bundle.path / NEW_PLAN
    shutil.rmtree(waiting_room, ignore_errors=True)
    try:
        planned = make_plan(request, world, waiting_room, check=preflight, placed_at=bundle.plan)
        check_approval(planned.plan, options.approved_by)
        for problem in planned.loaded.notes:
            world.progress.note(f"note: {problem}")
    except BaseException:
        shutil.rmtree(waiting_room, ignore_errors=True)
        raise
    _make_room(bundle)
    waiting_room.replace(bundle.plan)
    return open_plan(bundle.plan)


async def _carry_through(
    bundle: Bundle, folder: PlanFolder, options: RunOptions, world: World, at: At
) -> FinishResult:
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine always runs in a task

    def while_asking() -> AbstractContextManager[None]:
        return stopping_on_signals(world.stop, task, world.progress)

    result = None
    try:
        if not is_expired(folder, world.clock.now()):
            with while_asking():
                await run_shards(bundle, folder, options, world)
        at.stage = "merge"
        if world.stop.reason != "interrupted":
            result = await finish(_finish_request(bundle, options), world, while_asking)
    except asyncio.CancelledError:
        if world.stop.reason != "interrupted":
            raise
        task.uncancel()
    if world.stop.reason != "interrupted" and result is not None:
        return result
    # What there is, decided as far as it goes; a signal from here on ends even that.
    await finish(_finish_request(bundle, RunOptions()), world)
    raise _interrupted(bundle)


def _interrupted(bundle: Bundle) -> Interrupted:
    return Interrupted(
        f"interrupted; what was recorded is in {bundle.path} - carry on with "
        f"`releasecheck resume {bundle.path}`"
    )


@contextmanager
def _resumable(bundle: Bundle) -> Iterator[None]:
    """Say how to go on when a signal ends the work at once."""
    try:
        yield
    except KeyboardInterrupt:
        raise _interrupted(bundle) from None


def _finish_request(bundle: Bundle, options: RunOptions) -> FinishRequest:
    return FinishRequest(
        plan=bundle.plan,
        results=(),
        out=bundle.path,
        close=options.close,
        repair=options.repair,
        approved_by=options.approved_by,
    )


class _Turns:
    """One shard after the other; the next begins when the workers of the one before fall idle.

    So a slow last case does not leave the target idle, and no two shards crowd its slots.
    """

    def __init__(self) -> None:
        self._gate = asyncio.Semaphore(1)

    async def next(self) -> Callable[[], None]:
        """Wait for a turn; calling the answer (any number of times) ends it."""
        await self._gate.acquire()
        over = False

        def end() -> None:
            nonlocal over
            if not over:
                over = True
                self._gate.release()

        return end


async def run_shards(
    bundle: Bundle, folder: PlanFolder, options: RunOptions, world: World
) -> list[ShardDone]:
    """Run what is left of every shard, the target and the judges opened once."""
    plan = folder.plan
    limits = limits_of(plan, None)
    seconds = [limit for limit in (options.time_budget_s, limits.time_s) if limit is not None]
    until = world.clock.monotonic() + min(seconds) if seconds else None
    turns = _Turns()

    async with AsyncExitStack() as stack:
        for shard in plan.shards:
            stack.enter_context(shard_locked(bundle.results, shard.index))
        # Merged once, before anything is timed: what is on record, what it cost, what is left.
        recorded = merge_files(folder, ledger_files([bundle.results]))
        spent = Spent(cost_so_far(recorded, np.arange(plan.cases)))
        world.progress.begin(int(np.count_nonzero(open_trials(recorded, "all"))))
        tools = await stack.enter_async_context(
            open_tools(folder, world, "all", shard=None, logs=bundle.results)
        )

        async def one(index: int) -> ShardDone:
            turn = await turns.next()
            try:
                return await execute_shard(
                    folder,
                    ShardRequest(index, bundle.results, approved_by=options.approved_by),
                    world,
                    tools,
                    recorded=recorded,
                    until=until,
                    spent=spent,
                    cost_usd=limits.cost_usd,
                    drained=turn,
                )
            finally:
                turn()

        tasks = [asyncio.create_task(one(shard.index)) for shard in plan.shards]
        try:
            return await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise


def _check_replaceable(bundle: Bundle) -> None:
    out = bundle.path
    if out.exists() and not out.is_dir():
        message = f"{out}: this is a file; name a folder with --out"
        raise UsageError(message)
    if not out.exists() or (out / REPLACING).exists():
        return
    if bundle.exists():
        if not bundle.finalized:
            message = (
                f"{out}: there is an open run in it; carry it on with `releasecheck resume {out}`, close it "
                f"as it is with `releasecheck resume {out} --final`, or name another folder with --out"
            )
            raise NotResumable(message)
        check_ours(bundle)  # a replaced bundle is removed whole
        return
    visible = sorted(path.name for path in out.iterdir() if path.name not in (LOCK, NEW_PLAN))
    if visible and visible != ["failure.json"]:
        message = (
            f"{out}: it holds {visible[0]!r} and no bundle, so it is not replaced; name an empty folder "
            "with --out (a bundle is carried on with `releasecheck resume`)"
        )
        raise NotResumable(message)


def _make_room(bundle: Bundle) -> None:
    """Remove a finalized bundle; killed in the middle, the marker tells the next run to go on."""
    marker = bundle.path / REPLACING
    marker.touch()
    for path in sorted(bundle.path.iterdir()):
        if path.name in (LOCK, NEW_PLAN, REPLACING):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    # Before the new plan comes in: nothing of that run may ever be taken for the old one's remains.
    marker.unlink()


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Hold a bundle against other processes (NotResumable when one is at work)."""
    lock = FileLock(out / LOCK)
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        message = f"{out}: another process is at work on this run; wait for it, or stop it"
        raise NotResumable(message) from None
    except (NotADirectoryError, FileNotFoundError, PermissionError) as error:
        message = (
            f"{out}: this folder cannot be used: {error.strerror}; name another one with --out"
        )
        raise UsageError(message) from None
    except OSError as error:
        message = f"{out}: cannot be written: {error.strerror}"
        raise InfrastructureError(message) from None
    try:
        yield
    finally:
        with suppress(OSError):
            if [path.name for path in out.iterdir()] == [LOCK]:  # nothing came of it
                (out / LOCK).unlink()
                out.rmdir()
        lock.release()


@contextmanager
def shard_locked(results: Path, index: int) -> Iterator[None]:
    """Hold one shard's files in a folder: two writers would ask everything twice (S0-12)."""
    lock = FileLock(results / f".shard-{index:04d}.lock")
    try:
        results.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        message = f"{results}: another process is at work on shard {index}; wait for it, or stop it"
        raise NotResumable(message) from None
    except OSError as error:
        message = (
            f"{results}: this folder cannot be used: {error.strerror}; name another one with --out"
        )
        raise UsageError(message) from None
    try:
        yield
    finally:
        lock.release()
        with suppress(OSError):
            Path(lock.lock_file).unlink()


@dataclass(slots=True)
class At:
    """Where a run is, for the record of a failure."""

    stage: Stage = "target"


@contextmanager
def failure_recorded(bundle: Bundle, folder: PlanFolder, world: World) -> Iterator[At]:
    """Write `failure.json` when an open run cannot be carried through (S2-46, S2-60)."""
    at = At()
    try:
        yield at
    except (Interrupted, NotResumable):  # the second says that the folder is not this run's
        raise
    except Exception as error:
        if bundle.finalized:  # what was decided stands, whatever was tried afterwards
            raise
        document = build_failure(
            error,
            at.stage,
            now=world.clock.now(),
            plan=folder.plan,
            recorded=_on_record(bundle, folder),
            redactor=world.redactor(folder.plan),
        )
        write_whole(bundle.path / "failure.json", [dump_document(document)])
        raise


def _on_record(bundle: Bundle, folder: PlanFolder) -> dict[str, int]:
    """How much the ledger holds, as far as it can be read."""
    try:
        merged = merge_files(folder, ledger_files([bundle.results])).merged
    except ReleaseCheckError:
        return {"expected_pairs": folder.plan.pairs}
    return {
        "outputs": int(np.count_nonzero(merged.table.target)),
        "recorded_pairs": merged.recorded_pairs,
        "expected_pairs": folder.plan.pairs,
    }
