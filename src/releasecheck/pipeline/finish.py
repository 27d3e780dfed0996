"""Merge, mend what may be mended inline, decide, and write the bundle: terminal state first."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal, TypeAlias

from releasecheck.engine import Limits, Shard, Spent
from releasecheck.errors import DigestMismatch, NotResumable, Untrusted
from releasecheck.ledger.jsonl import JsonlWriter, finish_file_name, stable_file_digest
from releasecheck.pipeline.asking import no_wait
from releasecheck.pipeline.baselines import open_compared
from releasecheck.pipeline.bridging import to_rejudge
from releasecheck.pipeline.bundle import (
    Finish,
    complete_badge,
    ledger_digest,
    read_decision,
    write_bundle,
)
from releasecheck.pipeline.decide import decide_run, finality
from releasecheck.pipeline.early import decided_early, decided_in
from releasecheck.pipeline.files import file_digest, write_whole
from releasecheck.pipeline.finish_file import next_attempt
from releasecheck.pipeline.folders import Bundle, ledger_files, open_plan
from releasecheck.pipeline.forgetting import forget_outputs
from releasecheck.pipeline.keeping import keep_decision
from releasecheck.pipeline.owing import owes
from releasecheck.pipeline.preflight import check_approval, preflight
from releasecheck.pipeline.recording import header_of, run_recording
from releasecheck.pipeline.remaining import Recorded, merge_files, remaining
from releasecheck.pipeline.roots import find_roots
from releasecheck.pipeline.settling import settle
from releasecheck.pipeline.tools import open_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from releasecheck.model.scorecard import Scorecard
    from releasecheck.pipeline.asking import Wait
    from releasecheck.pipeline.folders import PlanFolder
    from releasecheck.pipeline.remaining import JudgesAsked
    from releasecheck.pipeline.world import World
    from releasecheck.settle import Closing


@dataclass(frozen=True, slots=True)
class FinishRequest:
    """What a driver asks for."""

    plan: Path
    results: tuple[Path, ...]
    out: Path
    close: bool = False
    """Decide now, for good, on what is there (`--final`)."""
    repair: int = 0
    """Ask at most this many missing (case, trial)s inline, those of earlier runs after this run's own."""
    approved_by: str | None = None
    provenance: Literal["local", "ci"] = "local"
    ask: bool = True
    """Whether judges that owe scores are asked; False decides on what is there."""


@dataclass(frozen=True, slots=True)
class Driving:
    """How a driver does what the core may not: wait, and be stopped while it calls."""

    while_asking: Callable[[], AbstractContextManager[None]] = nullcontext
    """Entered around calls to target and judges whose answers are worth a moment's patience."""
    while_settling: Callable[[], AbstractContextManager[None]] = nullcontext
    """Entered around waiting for judges that answer later, which can be broken off at once."""
    wait: Wait = no_wait
    """How to wait until something is due."""
    until: float | None = None
    """Monotonic time after which no judge is asked, and an open question is broken off; None is no limit."""


@dataclass(frozen=True, slots=True)
class Done:
    """Decided."""

    scorecard: Scorecard
    final: bool
    """False: provisional, another attempt has something to do."""

    @property
    def exit_code(self) -> int:
        """The scorecard's."""
        return self.scorecard.exit_code


@dataclass(frozen=True, slots=True)
class WaitingForScores:
    """Undecided: judges still owe scores."""

    scorecard: Scorecard
    tickets: int
    not_before: str | None
    """When it is worth asking again; RFC 3339."""


FinishResult: TypeAlias = Done | WaitingForScores


async def finish(
    request: FinishRequest, world: World, driving: Driving = Driving()
) -> FinishResult:
    """Finish a run as far as its records allow.

    Safe to repeat: the same records give the same bytes, and a bundle that is final already is only
    read again.

    Raises:
        UsageError: the plan or results are not there, or `out` holds something else.
        Untrusted: plan, baseline or records contradict their digests or each other.
    """
    folder = open_plan(request.plan)
    bundle = Bundle(request.out)
    check_ours(bundle)
    paths = ledger_files([*request.results, *_own_results(bundle, folder)])
    recorded = merge_files(folder, _once(paths))
    if (settled := _already_final(bundle, folder, recorded)) is not None:
        return settled
    # No revision calls the target, and what is decided needs no more answers.
    if request.repair and not folder.earlier and not decided_in(folder, recorded):
        with driving.while_asking():
            recorded = await _repair(folder, recorded, request, world)
    if request.ask and owes(recorded):
        # All that is recorded goes in first, so that a kill from here on leaves a bundle to resume.
        recorded = gather(folder, recorded, bundle)
        closing = _closing(request, folder, recorded, world)
        with driving.while_settling():
            recorded = await settle(
                folder, recorded, bundle.results, world, driving.wait, closing, driving.until
            )
    return conclude(folder, recorded, request, world)


def conclude(
    folder: PlanFolder, recorded: Recorded, request: FinishRequest, world: World
) -> FinishResult:
    """Decide on merged records and write the bundle."""
    plan, now = folder.plan, world.clock.now()
    table, compared = recorded.merged.table, open_compared(folder)
    over = finality(
        table,
        close=request.close,
        expired=is_expired(folder, now),
        decided=bool(decided_early(plan, table, compared)),
    )
    scorecard = decide_run(plan, recorded.merged, compared, over, now=now)
    bundle = Bundle(request.out)
    recorded = gather(folder, recorded, bundle)
    if plan.store_outputs != "full":
        # A file without an end may still be written to by a shard that lives; it waits until the end.
        ended = {seen.source for seen in recorded.merged.files if seen.ended}
        paths = [p for n, p in enumerate(recorded.paths) if over.final or n in ended]
        forget_outputs(folder, recorded, paths, closed=over.final)
        recorded = merge_files(folder, recorded.paths)
    if folder.earlier:
        keep_decision(bundle, plan.revision)
    write_bundle(
        bundle,
        folder,
        recorded,
        scorecard,
        world,
        Finish(over.final, request.provenance),
    )
    if scorecard.verdict is None:
        due = [one.not_before for one in scorecard.waiting if one.not_before is not None]
        return WaitingForScores(scorecard, over.pending, min(due, default=None))
    return Done(scorecard, over.final)


def _closing(
    request: FinishRequest, folder: PlanFolder, recorded: Recorded, world: World
) -> Closing | None:
    # A run that need not go on waits for nobody either.
    if request.close or decided_in(folder, recorded):
        return "cancelled"
    return "interrupted" if is_expired(folder, world.clock.now()) else None


def is_expired(folder: PlanFolder, now: str) -> bool:
    """Whether the run's time is over."""
    made = datetime.fromisoformat(folder.plan.created_at)
    return datetime.fromisoformat(now) > made + timedelta(seconds=folder.plan.expires_s)


def _own_results(bundle: Bundle, folder: PlanFolder) -> list[Path]:
    """What the bundle holds of this very run already."""
    own = [bundle.results] if bundle.results.is_dir() else []
    if not bundle.exists():
        return own
    same = bundle.plan.resolve() == folder.path.resolve()
    held = folder.plan if same else open_plan(bundle.plan).plan
    if (held.run_id, held.plan_digest) != (folder.plan.run_id, folder.plan.plan_digest):
        message = (
            f"{bundle.path}: it holds another run ({held.run_id}); name an empty folder with --out"
        )
        raise NotResumable(message)
    return own


def check_ours(bundle: Bundle) -> None:
    """Refuse a folder with other things in it: a manifest vouches for all that a bundle holds.

    Raises:
        NotResumable: naming the first of them.
    """
    foreign = bundle.foreign()
    if foreign:
        message = (
            f"{bundle.path}: it holds {foreign[0]!r}, which is no part of a bundle; name an empty "
            "folder with --out"
        )
        raise NotResumable(message)


def _once(paths: list[Path]) -> list[Path]:
    """Copies of one file in several folders, once: the same name with the same bytes.

    Files that share a name and differ stay, so that the merge refuses them by name.
    """
    kept: dict[tuple[str, str], Path] = {}
    for path in paths:
        kept.setdefault((path.name, stable_file_digest(path)), path)
    return list(kept.values())


def _already_final(bundle: Bundle, folder: PlanFolder, recorded: Recorded) -> Done | None:
    if not bundle.exists() or not bundle.finalized:
        return None
    manifest, scorecard = read_decision(bundle)
    if manifest.ledger.get("set_digest") != ledger_digest(recorded):
        message = (
            f"{bundle.path}: run {folder.plan.run_id} was decided already, on other records than these; "
            "a decision is never changed by later files - name another folder with --out"
        )
        raise Untrusted(message)
    found, vouched = file_digest(bundle.path / "scorecard.json"), manifest.files["scorecard.json"]
    if found != vouched:
        raise DigestMismatch(str(bundle.path / "scorecard.json"), found=found, expected=vouched)
    complete_badge(bundle, manifest, scorecard)
    return Done(scorecard, final=True)


async def _repair(
    folder: PlanFolder, recorded: Recorded, request: FinishRequest, world: World
) -> Recorded:
    """Do at most `request.repair` missing trials here, into a ledger file of finish's own."""
    plan = folder.plan
    preflight(plan, find_roots(folder, world), world.environment)
    check_approval(plan, request.approved_by)
    todo = list(remaining(folder, recorded, folder.in_plan_order(), "all", at_most=request.repair))
    left = request.repair - len(todo)
    anew = list(to_rejudge(folder, recorded, folder.in_plan_order(), "all", at_most=left))
    if not todo and not anew:
        return recorded
    bundle = Bundle(request.out)
    # All that is recorded goes in first, so that a kill from here on leaves a bundle to resume.
    recorded = gather(folder, recorded, bundle)
    attempt = next_attempt(recorded, plan.revision)
    path = bundle.results / finish_file_name(attempt)
    asked: JudgesAsked = "all" if todo else "only"
    async with open_tools(folder, world, asked, shard=None, logs=bundle.results) as tools:
        writer = JsonlWriter(
            path,
            header_of(plan, world, None, attempt, request.approved_by, tools.code),
            world.clock,
        )
        shard = Shard(
            run_id=plan.run_id,
            index=-1,
            attempt=attempt,
            trials=iter(todo),
            total=len(todo) + len(anew),
            rejudge=iter(anew),
            target=tools.target,
            judges=tools.judges,
            ledger=writer,
            clock=world.clock,
            redactor=tools.redactor,
            progress=world.progress,
            stop=world.stop,
            limits=Limits(),
            spent=Spent(),
            workers=tools.workers,
        )
        await run_recording(shard, writer)
    return merge_files(folder, [*recorded.paths, path])


def gather(folder: PlanFolder, recorded: Recorded, bundle: Bundle) -> Recorded:
    """Copy plan and ledger files into the bundle, so that it is enough to verify itself."""
    bundle.results.mkdir(parents=True, exist_ok=True)
    inside = []
    for path in recorded.paths:
        copy = bundle.results / path.name
        if copy.resolve() != path.resolve():
            _copy_file(path, copy)
        inside.append(copy)
    # The plan comes last: a bundle without its records would be resumed from the beginning.
    if not bundle.exists():
        _copy_tree(folder.path, bundle.plan)
    return Recorded(recorded.merged, tuple(inside))


def _copy_tree(source: Path, target: Path) -> None:
    # plan.json last: a bundle is recognised by it, so it must not be there before the rest.
    files = [path for path in sorted(source.rglob("*")) if path.is_file()]
    for path in sorted(files, key=lambda path: path.name == "plan.json"):
        _copy_file(path, target / path.relative_to(source))


def _copy_file(source: Path, target: Path) -> None:
    def chunks() -> Iterator[bytes]:
        with source.open("rb") as file:
            while chunk := file.read(1 << 20):
                yield chunk

    write_whole(target, chunks())
