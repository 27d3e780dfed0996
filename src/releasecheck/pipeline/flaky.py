"""Cases whose verdict changes though the target does not, from the runs there are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

from releasecheck.errors import ReleaseCheckError, UsageError
from releasecheck.model.judge import has_pass_mark
from releasecheck.pipeline.baselines import FILES, read_baseline
from releasecheck.pipeline.flaky_report import Flaky, LeftOut, Report
from releasecheck.stats import column, verdicts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from releasecheck.pipeline.baselines import BaselineFiles

DEEPEST: Final = 4
"""Folders below the named one that are looked into."""
Key: TypeAlias = tuple[str, str, str, str]
"""Digest of a case's content, its id where several share that, judge, digest of the judge."""


@dataclass(frozen=True, slots=True)
class _Run:
    """One run that was read."""

    folder: Path
    files: BaselineFiles

    @property
    def id(self) -> str:
        """Its run id."""
        return self.files.manifest.run_id

    @property
    def at(self) -> str:
        """When its last record was made."""
        return self.files.manifest.completed_at or self.files.manifest.created_at

    @property
    def target(self) -> str:
        """Digest of the target as it is set up."""
        return str(self.files.manifest.target.get("digest"))

    @property
    def commit(self) -> str | None:
        """What the code was at; None where that is not known, or files differed from it."""
        context = self.files.manifest.context
        found = context.get("commit")
        return found if isinstance(found, str) and not context.get("dirty") else None


@dataclass(frozen=True, slots=True)
class _Seen:
    """One case in one run."""

    run: _Run
    case: str
    passed: bool
    disagree: bool
    """Whether some of its trials passed and others failed."""


@dataclass(slots=True)
class _Reading:
    """What was found below the named paths."""

    runs: list[_Run] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def leave(self, folder: Path, why: str) -> None:
        """Name what takes no part."""
        self.left_out.append(LeftOut(folder.as_posix(), why))


def find_flaky(paths: Sequence[Path], min_runs: int) -> Report:
    """Read every run below the paths and compare what it said of the same cases.

    Raises:
        UsageError: a path is not there.
    """
    reading = _Reading()
    for path in paths:
        if not path.is_dir():
            message = (
                f"{path}: there is no such folder; name bundles, or folders with bundles in them"
            )
            raise UsageError(message)
        _read_below(path, reading)
    runs = sorted(_once(reading), key=lambda run: (run.at, run.id))
    seen = _observations(runs, reading)
    comparable, judged = _comparable(seen.values(), min_runs)
    found = [one for key, row in seen.items() if (one := _flaky(key, row, min_runs)) is not None]
    return Report(
        runs=tuple(run.id for run in runs),
        comparable=comparable,
        judged=judged,
        min_runs=min_runs,
        cases=tuple(sorted(found, key=lambda one: one.order)),
        left_out=tuple(reading.left_out),
    )


def _read_below(path: Path, reading: _Reading) -> None:
    known = len(reading.runs) + len(reading.left_out)
    for folder in _bundles(path, 0):
        try:
            files = read_baseline(folder, "history")
        except (ReleaseCheckError, OSError) as error:
            reading.leave(folder, str(error).partition("\n")[0])
            continue
        manifest = files.manifest
        if manifest.finalized_at is None:
            reading.leave(folder, f"run {manifest.run_id} is not finalized")
        elif files.scorecard.code_changed:
            reading.leave(
                folder, f"run {manifest.run_id} holds answers of several versions of the target"
            )
        else:
            reading.runs.append(_Run(folder, files))
    if known == len(reading.runs) + len(reading.left_out):
        reading.leave(path, "there is no run in it")


def _bundles(folder: Path, depth: int) -> list[Path]:
    """Folders that hold a run, or what there is of one; a plan's own copy of its baseline is none."""
    if any((folder / name).exists() for name in FILES):
        return [folder]
    found: list[Path] = []
    if depth < DEEPEST and not (folder / "plan.json").exists():  # a plan is no run
        for below in sorted(folder.iterdir()):
            if below.is_dir() and not below.is_symlink() and not below.name.startswith("."):
                found += _bundles(below, depth + 1)
    if not found and (folder / "plan" / "plan.json").exists():
        return [folder]  # planned, and not decided
    return found


def _once(reading: _Reading) -> list[_Run]:
    """Every run once, in its last revision; what a retry carries on counts there alone."""
    latest: dict[str, _Run] = {}
    for run in reading.runs:
        other = latest.get(run.id)
        if other is None:
            latest[run.id] = run
            continue
        newer = run.files.scorecard.revision > other.files.scorecard.revision
        kept, left = (run, other) if newer else (other, run)
        latest[run.id] = kept
        reading.leave(
            left.folder, f"run {run.id} is in {kept.folder.as_posix()} too, and counts once"
        )
    carried = {run.files.manifest.retry_of: run.id for run in latest.values()}
    for name in [name for name in latest if name in carried]:
        reading.leave(
            latest.pop(name).folder, f"what run {name} measured is carried on in {carried[name]}"
        )
    return list(latest.values())


def _observations(runs: Sequence[_Run], reading: _Reading) -> dict[Key, list[_Seen]]:
    """What each run said of each case by each judge, the earliest run first."""
    doubled: set[str] = set()
    for run in runs:
        counts = Counter(case.digest for case in run.files.baseline.table.cases)
        doubled |= {digest for digest, count in counts.items() if count > 1}
    found: dict[Key, list[_Seen]] = {}
    for run in runs:
        baseline = run.files.baseline
        for judge in run.files.measured.judges:
            if judge.id in baseline.unproven:
                reading.leave(
                    run.folder,
                    f"judge {judge.id} of run {run.id} did not prove itself by its sentinels",
                )
                continue
            col = column(baseline.table, judge.id)
            if col is None or not has_pass_mark(judge.spec):
                continue
            verdict = verdicts(col, judge.spec.pass_rule)
            mixed = ((col.passed == 1).any(axis=1)) & ((col.passed == 0).any(axis=1))
            for at, case in enumerate(baseline.table.cases):
                if verdict[at] < 0:
                    continue
                name = case.id if case.digest in doubled else ""
                key = (case.digest, name, judge.id, judge.digest)
                one = _Seen(run, case.id, bool(verdict[at] == 1), bool(mixed[at]))
                found.setdefault(key, []).append(one)
    return found


def _by_target(row: Sequence[_Seen]) -> list[list[_Seen]]:
    """Runs of the same target together, each in the order of time."""
    ordered = sorted(row, key=lambda one: one.run.target)  # stable
    return [list(group) for _, group in groupby(ordered, key=lambda one: one.run.target)]


def _comparable(rows: Iterable[list[_Seen]], min_runs: int) -> tuple[int, int]:
    """How many runs, and how many verdicts over runs, could be compared with others."""
    runs: set[str] = set()
    judged = 0
    for row in rows:
        groups = [group for group in _by_target(row) if len(group) >= min_runs]
        judged += bool(groups)
        runs |= {one.run.id for group in groups for one in group}
    return len(runs), judged


def _flaky(key: Key, row: Sequence[_Seen], min_runs: int) -> Flaky | None:
    """What is unstable about a case; None where nothing is."""
    same = other = 0
    for group in _by_target(row):
        if len(group) < min_runs:
            continue
        other += sum(
            one.passed != then.passed
            for then, one in pairwise(group)
            if one.run.commit is None or one.run.commit != then.run.commit
        )
        known = sorted(
            (one for one in group if one.run.commit), key=lambda one: one.run.commit or ""
        )
        for _, at_commit in groupby(known, key=lambda one: one.run.commit):
            same += sum(one.passed != then.passed for then, one in pairwise(list(at_commit)))
    disagree = sum(one.disagree for one in row)
    if same == other == disagree == 0:
        return None
    last = row[-1]
    return Flaky(
        case=last.case,
        case_digest=key[0],
        judge=key[2],
        judge_digest=key[3],
        runs=len(row),
        passes=sum(one.passed for one in row),
        flips_same_commit=same,
        flips_other_commit=other,
        trials_disagree=disagree,
        last_seen=last.run.at,
        last_run=last.run.id,
        verdicts=tuple((one.run.id, one.passed) for one in row),
    )
