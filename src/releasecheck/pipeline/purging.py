"""Forget what a decided run holds of others' words, and have judges forget it too (S1-47).

Outputs, reasons and messages go; digests, values, metrics and the decision stay, and the bundle still
verifies. Killed anywhere, the decision stands, and purging again does what is left: whatever is to be
deleted at judges follows from the tickets on record, which stay.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from releasecheck.canonical import parse_own
from releasecheck.errors import NotResumable, UsageError
from releasecheck.judges.contract import MOST_TICKETS
from releasecheck.ledger.jsonl import purge_file
from releasecheck.model.judge import DeferringJudge
from releasecheck.pipeline.baselines import ANCHOR, BASELINE
from releasecheck.pipeline.bundle import complete_badge, read_decision, reports_of
from releasecheck.pipeline.files import file_digest, write_whole
from releasecheck.pipeline.folders import ledger_files, open_bundle, revision_of
from releasecheck.pipeline.remaining import merge_files
from releasecheck.pipeline.roots import find_roots
from releasecheck.pipeline.rows import results_file
from releasecheck.pipeline.tickets import tickets_of
from releasecheck.ports import DeferredJudge
from releasecheck.publish import manifest_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.model.plan import PlannedJudge
    from releasecheck.model.scorecard import Manifest, Scorecard
    from releasecheck.pipeline.folders import Bundle, PlanFolder
    from releasecheck.pipeline.world import World
    from releasecheck.ports import Judge
    from releasecheck.transport.client import RunClient


@dataclass(frozen=True, slots=True)
class JudgePurged:
    """What became of what one judge kept."""

    judge: str
    tickets: int
    """On record."""
    deleted: int
    unsupported: int
    """The judge does not offer to delete them."""
    failed: int
    """The judge could not be reached, or did not do it."""
    message: str
    """Its words, or why it was not asked."""


@dataclass(frozen=True, slots=True)
class PurgeDone:
    """What was forgotten."""

    run_id: str
    outputs: int
    """Outputs that were removed now."""
    logs: tuple[str, ...]
    """Logs of started programs that were removed now."""
    baseline_outputs: bool
    """Whether the plan's copy of its baseline holds outputs; the plan pins its bytes."""
    judges: tuple[JudgePurged, ...]

    @property
    def exit_code(self) -> int:
        """4 while a judge still has what it should have forgotten."""
        return 4 if any(one.failed for one in self.judges) else 0

    def to_json(self) -> dict[str, Json]:
        """The report as a document."""
        return {**asdict(self), "exit_code": self.exit_code}


@dataclass(frozen=True, slots=True)
class Purgeable:
    """A run whose words may be forgotten."""

    bundle: Bundle
    folder: PlanFolder
    manifest: Manifest
    scorecard: Scorecard
    paths: tuple[Path, ...]
    """Its ledger files."""


def open_purgeable(out: Path) -> Purgeable:
    """The decided run in a folder.

    Raises:
        NotResumable: there is no run in it, or one that is still open.
        Untrusted: its documents are damaged.
    """
    bundle, folder = open_bundle(out)
    if not bundle.finalized:
        message = (
            f"{out}: the run in it is still open, and its judges may need what would be forgotten; close it "
            f"first with `releasecheck resume {out} --final`"
        )
        raise NotResumable(message)
    manifest, scorecard = read_decision(bundle)
    return Purgeable(bundle, folder, manifest, scorecard, tuple(ledger_files([bundle.results])))


async def purge(run: Purgeable, world: World, *, judges: bool = True) -> PurgeDone:
    """Forget outputs, reasons and messages here and, with `judges`, what judges kept of them.

    Raises:
        Untrusted: plan or records contradict themselves; nothing was removed.
        InfrastructureError: a file cannot be written; purging again goes on.
    """
    merge_files(run.folder, run.paths)  # what contradicts itself is evidence, and stays
    removed = sum(purge_file(path, lambda _: False, texts=True) for path in run.paths)
    logs = _without_logs(run.bundle)
    _render_anew(run, world)
    asked = await _ask_judges(run, world) if judges else ()
    return PurgeDone(
        run_id=run.folder.plan.run_id,
        outputs=removed,
        logs=logs,
        baseline_outputs=_baseline_holds_outputs(run.folder),
        judges=asked,
    )


def _without_logs(bundle: Bundle) -> tuple[str, ...]:
    """Started programs print what they are asked and what they answer."""
    found = sorted(bundle.results.glob("*.log"))
    for path in found:
        path.unlink()
    return tuple(path.name for path in found)


def _render_anew(run: Purgeable, world: World) -> None:
    """Write results and reports from what is left; the manifest vouches for them, and for nothing new.

    There is a manifest with its time of decision at every moment; only the last write makes it agree.
    """
    bundle, folder, manifest = run.bundle, run.folder, run.manifest
    for past in folder.past():
        kept = bundle.of_revision(past.plan.revision) / "results.jsonl"
        write_whole(kept, results_file(merge_files(past, run.paths)))
    recorded = merge_files(folder, run.paths)
    write_whole(bundle.path / "results.jsonl", results_file(recorded))
    reports = reports_of(bundle, folder, run.scorecard)
    for name, chunks in reports.items():
        write_whole(bundle.path / name, chunks)
    others = {
        name: digest
        for name, digest in manifest.files.items()
        if not (name.startswith("results/") and name.endswith(".log"))
    }
    # Reports that an older version did not write are there from now on, and vouched for.
    files = others | {name: file_digest(bundle.path / name) for name in reports}
    environment = {**manifest.environment, "finished_by": world.tool}
    renewed = manifest.model_copy(update={"files": files, "environment": environment})
    write_whole(bundle.path / "manifest.json", [manifest_bytes(renewed)])
    complete_badge(bundle, renewed, run.scorecard)


def _baseline_holds_outputs(folder: PlanFolder) -> bool:
    """Whether the plan's copy of an earlier run, of its baseline or its anchor, holds any."""
    return any(_holds_outputs(folder.path / name / "results.jsonl") for name in (BASELINE, ANCHOR))


def _holds_outputs(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return any(parse_own(line).get("output") is not None for line in file if line.strip())


@dataclass(frozen=True, slots=True)
class _Held:
    """What one judge keeps, as a revision knew it."""

    planned: PlannedJudge
    within_s: float
    folder: PlanFolder
    tickets: dict[str, None]


def _held(run: Purgeable) -> list[_Held]:
    """Judges of every revision with the tickets that they gave; the same judge once.

    Tickets of the others are our own notes: nothing was sent anywhere.
    """
    found: dict[str, _Held] = {}
    for folder in (*run.folder.past(), run.folder):
        own = [path for path in run.paths if revision_of(path) == folder.plan.revision]
        tickets = tickets_of(own)
        for planned in folder.plan.judges:
            given = tickets.get(planned.id)
            if not given or not isinstance(planned.spec, DeferringJudge):
                continue
            held = _Held(planned, planned.spec.timeout, folder, {})
            held = found.setdefault(planned.model_dump_json(), held)
            held.tickets.update(dict.fromkeys(given))
    return list(found.values())


async def _ask_judges(run: Purgeable, world: World) -> tuple[JudgePurged, ...]:
    from releasecheck.transport import open_client

    async with open_client(world.environment) as client:
        done = [
            await _ask_judge(
                one.planned, one.within_s, one.folder, world, client, list(one.tickets)
            )
            for one in _held(run)
        ]
    return tuple(done)


async def _ask_judge(
    planned: PlannedJudge,
    within_s: float,
    folder: PlanFolder,
    world: World,
    client: RunClient,
    tickets: list[str],
) -> JudgePurged:
    try:
        judge = _opened(planned, folder, world, client)
    except UsageError as error:
        why = " ".join(str(error).split())
        return JudgePurged(planned.id, len(tickets), 0, 0, len(tickets), f"not asked: {why}")
    if not isinstance(judge, DeferredJudge):
        message = "this kind of judge keeps nothing that it could be asked to delete"
        return JudgePurged(planned.id, len(tickets), 0, len(tickets), 0, message)
    try:
        return await _purged(judge, planned.id, tickets, within_s)
    finally:
        await judge.aclose()


def _opened(planned: PlannedJudge, folder: PlanFolder, world: World, client: RunClient) -> Judge:
    from releasecheck.judges import open_judges

    return open_judges(
        [planned],
        root=find_roots(folder, world).policy,
        environment=world.environment,
        clock=world.clock,
        redactor=world.redactor(folder.plan),
        client=client,
        seed=folder.plan.seed,
        trials=folder.plan.trials,
    )[planned.id]


async def _purged(
    judge: DeferredJudge, name: str, tickets: list[str], within_s: float
) -> JudgePurged:
    deleted = unsupported = 0
    said = ""
    for start in range(0, len(tickets), MOST_TICKETS):
        batch = tickets[start : start + MOST_TICKETS]
        try:
            async with asyncio.timeout(within_s):
                answer = await judge.purge(batch, within_s)
        except TimeoutError:
            message = f"no answer within {within_s:g} s"
            return _failed(name, tickets, deleted, unsupported, message)
        said = answer.message
        if answer.state == "failed":
            # A judge that is down is not asked hundreds of times.
            return _failed(name, tickets, deleted, unsupported, said)
        if answer.state == "done":
            deleted += len(batch)
        else:
            unsupported += len(batch)
    return JudgePurged(name, len(tickets), deleted, unsupported, 0, said)


def _failed(
    name: str, tickets: list[str], deleted: int, unsupported: int, message: str
) -> JudgePurged:
    left = len(tickets) - deleted - unsupported
    return JudgePurged(name, len(tickets), deleted, unsupported, left, message)
