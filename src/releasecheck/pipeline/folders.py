"""The folders of contract section 4: a plan, the ledger files of a run, a bundle."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from releasecheck.canonical import parse_own
from releasecheck.errors import NotResumable, Untrusted, UsageError
from releasecheck.ledger.jsonl import (
    LedgerReader,
    finish_file_name,
    rescore_file_name,
    shard_file_name,
)
from releasecheck.model.case import Case, cluster_of
from releasecheck.model.record import FIRST_REVISION
from releasecheck.model.table import CaseRow
from releasecheck.pipeline.files import read_bytes, read_document
from releasecheck.plan import check_first, check_revision, verify_plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from releasecheck.model.plan import Plan, Root
    from releasecheck.pipeline.bridging import BridgeFiles

LEDGER_FILE: Final = re.compile(r"(?:shard-(\d{4})|finish|rescore-\d+)\.attempt-(\d+)\.jsonl")
_RESCORE_FILE: Final = re.compile(r"rescore-(\d+)\.attempt-\d+\.jsonl")
_REVISED_PLAN: Final = re.compile(r"plan\.r(\d+)\.json")
REVISIONS: Final = "revisions"
"""Folder of a bundle with the decisions that later revisions took the place of."""


OURS: Final = frozenset(
    {
        "plan",
        "results",
        REVISIONS,
        "failure.json",
        "scorecard.json",
        "results.jsonl",
        "scorecard.html",
        "summary.md",
        "junit.xml",
        "results.sarif",
        "results.csv",
        "manifest.json",
        "badge.json",
        "badge.svg",
    }
)
"""What a bundle may hold at its top."""


@dataclass(frozen=True)
class PlanFolder:
    """A plan on disk, verified when it was opened."""

    path: Path
    plan: Plan
    earlier: tuple[Plan, ...] = ()
    """Those that `plan` revises, the first one first."""

    @property
    def plans(self) -> tuple[Plan, ...]:
        """Of every revision up to this one."""
        return (*self.earlier, self.plan)

    def past(self) -> Iterator[PlanFolder]:
        """The same folder under the plan of each earlier revision, the first one first."""
        for at, plan in enumerate(self.earlier):
            yield PlanFolder(self.path, plan, self.earlier[:at])

    def cases(self, shard: int) -> Iterator[Case]:
        """The cases of one shard in plan order, one at a time."""
        with (self.path / self.plan.shards[shard].file).open("rb") as file:
            for line in file:
                yield Case.from_line(line)

    def in_plan_order(self) -> Iterator[Case]:
        """Every case, in plan order, holding one case per shard in memory."""
        import heapq

        streams = [self.cases(shard.index) for shard in self.plan.shards]
        return heapq.merge(*streams, key=lambda case: case.index)

    @cached_property
    def rows(self) -> tuple[tuple[CaseRow, ...], tuple[int, ...]]:
        """What gates and reports need of each case in plan order, and the shard of each."""
        found: list[tuple[int, CaseRow, int]] = []
        for shard in self.plan.shards:
            with (self.path / shard.file).open("rb") as file:
                for line in file:
                    row = parse_own(line)
                    source = row["source"]
                    case = CaseRow(
                        row["id"], row["digest"], row["split"], tuple(row["tags"]),
                        source["path"], source["line"], cluster_of(row["metadata"]),
                    )  # fmt: skip
                    found.append((row["index"], case, shard.index))
        found.sort(key=lambda item: item[0])
        return tuple(case for _, case, _ in found), tuple(shard for _, _, shard in found)

    @cached_property
    def bridge(self) -> BridgeFiles:
        """Which outputs of earlier runs are judged anew (see `read_bridge`)."""
        # Here, since only plans that have one need the engine's types that it brings.
        from releasecheck.pipeline.bridging import read_bridge

        return read_bridge(self)


def revised_plan(revision: int) -> str:
    """File name of a later revision's plan: `plan.r2.json`."""
    return f"plan.r{revision}.json"


def revision_of(path: Path) -> int:
    """The revision that a ledger file is of, by its name."""
    match = _RESCORE_FILE.fullmatch(path.name)
    return FIRST_REVISION if match is None else int(match[1])


def latest_revision(plan: Path) -> int:
    """How often the run of a plan folder was scored, by the names in it."""
    found = [int(match[1]) for name in _names(plan) if (match := _REVISED_PLAN.fullmatch(name))]
    return max(found, default=FIRST_REVISION)


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def open_plan(path: Path, revision: int | None = None) -> PlanFolder:
    """Read a plan folder and check every digest in it; `revision` is the latest unless one is named.

    Raises:
        UsageError: it is no plan folder.
        Untrusted: its revisions do not follow from each other.
        DigestMismatch: something in it was changed.
    """
    if not (path / "plan.json").is_file():
        message = f"{path}: there is no plan.json in it; make one with `releasecheck plan`"
        raise UsageError(message)
    document = read_document(path / "plan.json")
    files = {found.name: read_bytes(found) for found in sorted(path.glob("cases-[0-9]*.jsonl"))}
    plans = [verify_plan(document, files)]
    check_first(plans[0])
    for number in range(FIRST_REVISION + 1, latest_revision(path) + 1):
        name = revised_plan(number)
        if not (path / name).is_file():
            message = f"{path}: {name} is missing, and a later revision is there; get the whole folder again"
            raise Untrusted(message)
        plans.append(check_revision(plans[-1], read_document(path / name), name))
    at = len(plans) if revision is None else revision
    return PlanFolder(path, plans[at - 1], tuple(plans[: at - 1]))


def ledger_files(folders: Iterable[Path]) -> list[Path]:
    """Every ledger file below the folders, once each, in an order of their names.

    A folder that is not there is an error: a typing mistake must not read as "nothing recorded".
    """
    found: dict[Path, None] = {}
    for folder in folders:
        if folder.is_file():
            if not LEDGER_FILE.fullmatch(folder.name):
                message = (
                    f"{folder}: this is no name of a result file; expected shard-0000.attempt-1.jsonl or "
                    "finish.attempt-1.jsonl, as `shard` wrote it"
                )
                raise UsageError(message)
            found[folder.resolve()] = None
            continue
        if not folder.is_dir():
            message = f"{folder}: no such folder of result files"
            raise UsageError(message)
        for path in sorted(folder.rglob("*.jsonl")):
            if LEDGER_FILE.fullmatch(path.name):
                found[path.resolve()] = None
    return sorted(found, key=lambda path: (path.name, str(path)))


def open_ledgers(paths: Iterable[Path]) -> list[LedgerReader]:
    """Readers for ledger files, headers read.

    Raises:
        Untrusted: a file has the name of another shard or attempt; later steps go by the name.
    """
    readers = [LedgerReader(path) for path in paths]
    for reader in readers:
        if (header := reader.header) is None:
            continue
        name = (
            shard_file_name(header.shard, header.attempt)
            if header.shard is not None
            else finish_file_name(header.attempt)
            if header.revision == FIRST_REVISION
            else rescore_file_name(header.revision, header.attempt)
        )
        if reader.name != name:
            message = (
                f"{reader.path}: by its header this is {name}; give the file its own name again"
            )
            raise Untrusted(message)
    return readers


@dataclass(frozen=True, slots=True)
class Bundle:
    """An `out/` folder."""

    path: Path

    @property
    def plan(self) -> Path:
        """Its copy of the plan."""
        return self.path / "plan"

    @property
    def results(self) -> Path:
        """Its ledger files."""
        return self.path / "results"

    def exists(self) -> bool:
        """Whether there is a plan in it."""
        return (self.plan / "plan.json").is_file()

    def foreign(self) -> list[str]:
        """Names of what is in the folder and belongs to no bundle; hidden files are nobody's."""
        if not self.path.is_dir():
            return []
        names = sorted(path.name for path in self.path.iterdir())
        return [name for name in names if name not in OURS and not name.startswith(".")]

    def manifest(self) -> dict[str, object] | None:
        """The manifest, None when none was written (yet)."""
        path = self.path / "manifest.json"
        return read_document(path) if path.is_file() else None

    @property
    def finalized(self) -> bool:
        """Whether the decision in it is final, and of its latest revision."""
        manifest = self.manifest()
        if manifest is None or manifest.get("finalized_at") is None:
            return False
        return decided_revision(manifest) == latest_revision(self.plan)

    def of_revision(self, revision: int) -> Path:
        """Where the decision of an earlier revision is kept."""
        return self.path / REVISIONS / str(revision)


def decided_revision(manifest: Mapping[str, object]) -> int:
    """The revision whose decision a manifest vouches for."""
    scoring = manifest.get("scoring")
    found = scoring.get("revision") if isinstance(scoring, dict) else None
    return found if isinstance(found, int) else FIRST_REVISION


def open_bundle(path: Path) -> tuple[Bundle, PlanFolder]:
    """A bundle with its plan.

    Raises:
        NotResumable: the folder holds no bundle.
    """
    bundle = Bundle(path)
    if not bundle.exists():
        message = (
            f"{path}: there is no run in it (no plan/plan.json); name the folder that "
            "`releasecheck run --out` wrote"
        )
        raise NotResumable(message)
    return bundle, open_plan(bundle.plan)


def find_root(folder: PlanFolder, cwd: Path, root: Root | None = None) -> Path | None:
    """The folder of the plan's config (or of another one) on this machine, None when it is not here.

    The plan holds relative paths only. A folder is recognised by the config file in it.
    """
    root = root or folder.plan.root
    candidates = [cwd / root.from_cwd]
    if root.from_plan is not None:
        candidates.append(folder.path / root.from_plan)
    present = [found for found in candidates if (found / root.config).is_file()]
    return present[0].resolve() if present else None
