"""A new run out of an old one: what succeeded is carried, what failed is left to be done (X-05, G-18 to G-20).

Everything is put together in a hidden folder first. Ledger files come to their place before the plan does, so
that a folder with a plan is a run that `resume` carries on, and one without is begun again by the same command.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from releasecheck.canonical import dump_document
from releasecheck.errors import DigestMismatch, NotResumable, UsageError
from releasecheck.model.plan import Plan, plan_digest
from releasecheck.model.record import (
    FIRST_REVISION,
)
from releasecheck.model.table import NOT_APPLICABLE, SCORED
from releasecheck.pipeline.carrying import Carried, Carrying
from releasecheck.pipeline.files import read_bytes, read_document, write_whole
from releasecheck.pipeline.folders import (
    Bundle,
    PlanFolder,
    ledger_files,
    open_bundle,
    open_plan,
    revised_plan,
    revision_of,
)
from releasecheck.pipeline.holding import LOCK
from releasecheck.pipeline.lines import Lines
from releasecheck.pipeline.preflight import check_approval, preflight
from releasecheck.pipeline.remaining import merge_files
from releasecheck.pipeline.retry_files import Origin, RetryFiles
from releasecheck.pipeline.revisions import check_source, root_of
from releasecheck.pipeline.roots import find_roots
from releasecheck.pipeline.sentinels import bridged_in, sentinels_in
from releasecheck.pipeline.tools import code_of
from releasecheck.pipeline.verify import require_verified
from releasecheck.plan import PLAN_FILE, over_by
from releasecheck.stats import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.model.record import SentinelRecord
    from releasecheck.pipeline.remaining import JudgesAsked, Recorded
    from releasecheck.pipeline.roots import Roots
    from releasecheck.pipeline.world import World

CLASSES: Final = ("infra", "config", "target", "judge", "outcome", "cancelled")
"""Classes of failures, all of them redone unless some are named."""
NEW_RUN: Final = ".new-run"
"""Where a new run waits until it is whole."""


@dataclass(frozen=True, slots=True)
class RetryRequest:
    """What a driver asks for."""

    source: Path
    out: Path
    classes: tuple[str, ...]
    """Whose failures are redone."""
    unique: str
    """Makes the run id unique."""
    approved_by: str | None = None
    context: Mapping[str, str] | None = None


def place_retry(request: RetryRequest, world: World) -> PlanFolder:
    """Put the new run into its folder, or find the one that the same command began.

    Raises:
        NotResumable: the source is open or counts for nothing, or the folder is taken.
        UsageError: there is nothing to redo, or the new run could not be carried through.
        Untrusted: the source contradicts itself, or a judge or the target is another one by now.
    """
    check_place(request)
    source = open_bundle(request.source)
    bundle = Bundle(request.out)
    staged = bundle.path / NEW_RUN
    if bundle.exists():
        shutil.rmtree(staged, ignore_errors=True)
        bundle.results.mkdir(exist_ok=True)
        return open_plan(bundle.plan)
    if not (staged / "plan" / PLAN_FILE).is_file():
        shutil.rmtree(staged, ignore_errors=True)
        try:
            _Retry(*source, request, world).stage(staged)
        except BaseException:
            shutil.rmtree(staged, ignore_errors=True)
            raise
    if (staged / "results").is_dir():
        (staged / "results").replace(bundle.results)
    bundle.results.mkdir(exist_ok=True)  # nothing at all may have been carried
    (staged / "plan").replace(bundle.plan)
    shutil.rmtree(staged, ignore_errors=True)
    return open_plan(bundle.plan)


def check_place(request: RetryRequest) -> None:
    """Refuse a folder that holds anything but what the same command left there; nothing is written.

    Raises:
        UsageError: it is the source itself.
        NotResumable: it is taken, or another retry was begun in it.
    """
    (source, folder), bundle = open_bundle(request.source), Bundle(request.out)
    if bundle.path.resolve() == source.path.resolve():
        message = f"{request.out}: a retry is a run of its own; name another folder with --out"
        raise UsageError(message)
    staged = bundle.path / NEW_RUN / "plan"
    if bundle.exists():
        found = open_plan(bundle.plan).plan
        if found.retry_of != folder.plan.run_id or bundle.finalized:
            message = f"{bundle.path}: there is a run in it already ({found.run_id}); name another folder with --out"
            raise NotResumable(message)
        _require_ours(bundle, found, folder.plan, request)
    elif (staged / PLAN_FILE).is_file():
        _check_free(bundle, {"results"})
        _require_ours(bundle, open_plan(staged).plan, folder.plan, request)
    else:
        _check_free(bundle, set())


def _require_ours(bundle: Bundle, found: Plan, source: Plan, request: RetryRequest) -> None:
    if (found.retry_of, found.retry_classes) != (source.run_id, request.classes):
        message = (
            f"{bundle.path}: another retry was begun in it (of {found.retry_of}, --class "
            f"{','.join(found.retry_classes)}); carry that on with `releasecheck resume {bundle.path}`, or name "
            "another folder with --out"
        )
        raise NotResumable(message)


def _check_free(bundle: Bundle, ours: set[str]) -> None:
    if not bundle.path.is_dir():
        return
    known = {LOCK, NEW_RUN, "failure.json", *ours}
    visible = sorted(path.name for path in bundle.path.iterdir() if path.name not in known)
    if visible:
        message = f"{bundle.path}: it holds {visible[0]!r}; name an empty folder with --out"
        raise NotResumable(message)


@dataclass(frozen=True, slots=True)
class _Retry:
    """The source, and what is made of it."""

    bundle: Bundle
    folder: PlanFolder
    request: RetryRequest
    world: World

    def stage(self, staged: Path) -> None:
        """Write ledger files and plan of the new run; `plan.json` comes last."""
        self._check_source()
        recorded = merge_files(self.folder, ledger_files([self.bundle.results]))
        document = self._document()
        files = RetryFiles(staged / "results", Plan.model_validate(document), self.world)
        try:
            tally = self._carry(recorded, files)
        except BaseException:
            files.abandon()
            raise
        files.close()
        self._check_work(recorded, tally)
        for path in sorted(self.folder.path.rglob("*")):
            name = path.relative_to(self.folder.path)
            if path.is_file() and not _is_plan(name.as_posix(), self.folder):
                write_whole(staged / "plan" / name, [read_bytes(path)])
        write_whole(staged / "plan" / PLAN_FILE, [dump_document(document)])

    def _check_source(self) -> None:
        check_source(self.bundle)
        if self.folder.plan.adopted is not None:
            message = (
                f"{self.bundle.path}: its run judged outputs of an untrusted run, whose target is not asked from "
                "here; have that run done again"
            )
            raise UsageError(message)
        over = over_by(self.folder.plan, self.world.clock.now())
        if over is not None:
            # It is a new run, and no run of today is let through by what ended before.
            message = (
                f"{self.bundle.path}: {over}, and a retry decides by the rules of its run; start a new run, or "
                "`releasecheck rescore` it under the rules of today and retry that"
            )
            raise UsageError(message)
        require_verified(self.bundle.path, self.world)

    def _carry(self, recorded: Recorded, files: RetryFiles) -> Carried:
        plan, tally = self.folder.plan, Carried()
        rows, shard_of = self.folder.rows
        origins = {
            seen.source: Origin(seen.code, seen.approved_by) for seen in recorded.merged.files
        }
        with Lines(recorded) as lines:
            carrying = Carrying(
                plan, recorded, self.request.classes, lines, tally, self.world.clock.now()
            )
            for case in range(len(rows)):
                for trial in range(plan.trials):
                    source = int(recorded.merged.output_at[case, trial, 0])
                    files.add(shard_of[case], origins.get(source), carrying.records(case, trial))
        for sentinel in self._sentinels(recorded):
            files.add(sentinel.shard, None, [sentinel])
        self._carry_bridge(recorded, files, tally)
        return tally

    def _carry_bridge(self, recorded: Recorded, files: RetryFiles, tally: Carried) -> None:
        """Scores of the baseline's outputs: what was measured is carried, the rest is asked for in any case."""
        plan = self.folder.plan
        rows, shard_of = self.folder.rows
        shard_by_case = {case.id: shard for case, shard in zip(rows, shard_of, strict=True)}
        sides = recorded.merged.table.bridged
        for seen in sides:
            lacking = seen.asked[..., None] & ~np.isin(seen.state, (SCORED, NOT_APPLICABLE))
            tally.to_judge += int(np.count_nonzero(lacking))
            tally.judges.update(
                seen.judges[judge] for judge in np.flatnonzero(lacking.any(axis=(0, 1))).tolist()
            )
        if not sides:
            return
        own = [path for path in recorded.paths if revision_of(path) == plan.revision]
        for record in bridged_in(own, recorded, {judge.id for judge in plan.judges}):
            carried = record._replace(
                carried_from=record.carried_from or plan.run_id, carried_from_revision=None
            )
            files.add(shard_by_case[record.case], None, [carried])

    def _sentinels(self, recorded: Recorded) -> Iterator[SentinelRecord]:
        plan = self.folder.plan
        own = [path for path in recorded.paths if revision_of(path) == plan.revision]
        judges = {judge.id for judge in plan.judges}
        for record in sentinels_in(own, recorded):
            if record.judge in judges:
                yield record._replace(
                    carried_from=record.carried_from or plan.run_id, carried_from_revision=None
                )

    def _check_work(self, recorded: Recorded, tally: Carried) -> None:
        """Refuse what could not be done, before anything is written."""
        classes = ",".join(self.request.classes)
        if tally.lost:
            self.world.progress.note(
                f"{count(tally.lost, 'score')} cannot be had again: the outputs were purged or not stored "
                "(output_not_stored)"
            )
        if not tally.redone:
            message = (
                f"{self.bundle.path}: nothing in it failed that could be redone (--class {classes})"
            )
            raise UsageError(message)
        plan, world = self.folder.plan, self.world
        roots = find_roots(self.folder, world)
        asked: JudgesAsked = "all" if tally.to_ask else "only"
        preflight(
            plan, roots, world.environment, asked, only=None if tally.to_ask else tally.judges
        )
        if tally.to_ask:
            check_approval(plan, self.request.approved_by)
            self._check_target(recorded, roots)
        self.world.progress.note(
            f"carried from {plan.run_id}: {count(tally.answers, 'answer')} with {count(tally.scores, 'score')}; "
            f"to do: {count(tally.to_ask, 'answer')}, and {count(tally.to_judge, 'score')} of what is there"
        )

    def _check_target(self, recorded: Recorded, roots: Roots) -> None:
        """Answers of two versions of a target are no run (G-18)."""
        now = dict(code_of(self.folder, roots.config, self.world).files)
        plugin = self.folder.plan.target_plugin
        known = [seen.code.files for seen in recorded.merged.files if seen.code.files]
        before = dict(known[0]) if known else dict(plugin.files) if plugin is not None else {}
        for files in (*map(dict, known[1:]), now):
            for name in sorted(before.keys() | files.keys()) if before else ():
                found, expected = files.get(name, "no file"), before.get(name, "no file")
                if found != expected:
                    what = (
                        f"target {self.folder.plan.target.id} is not the one that was asked, start a new run or "
                        f"undo the change: {name}"
                    )
                    raise DigestMismatch(what, found=found, expected=expected)

    def _document(self) -> dict[str, Json]:
        """The plan of the new run: as it stands there, so that its digest is the same."""
        plan, request = self.folder.plan, self.request
        first = plan.revision == FIRST_REVISION
        name = PLAN_FILE if first else revised_plan(plan.revision)
        document = read_document(self.folder.path / name)
        if not first:
            document |= {"revision": FIRST_REVISION, "revises": None, "keeps_measured": False}
            document["plan_digest"] = plan_digest(document)
        twelve = str(document["plan_digest"]).removeprefix("sha256:")[:12]
        document |= {
            "run_id": f"rc-{twelve}-{request.unique}",
            "created_at": self.world.clock.now(),
            "tool": self.world.tool,
            "retry_of": plan.run_id,
            "retry_classes": list(request.classes),
            "context": dict(request.context or {}),
        }
        roots = find_roots(self.folder, self.world)
        place = Bundle(request.out).plan
        for key, root, here in (
            ("root", plan.root, roots.config),
            ("policy_root", plan.policy_root, roots.policy),
        ):
            if root is None:
                continue
            moved = root.model_copy(update={"from_plan": None})
            if here is not None:
                moved = root_of(here / root.config, self.world.cwd, place)
            document[key] = moved.model_dump(mode="json")
        return document


def _is_plan(name: str, folder: PlanFolder) -> bool:
    later = {revised_plan(number) for number in range(2, folder.plan.revision + 1)}
    return name == PLAN_FILE or name in later or name.startswith(".")
