"""Which stored outputs of the baseline and the anchor are judged anew, and which of them still are to be.

`rejudge_baseline: true` bridges a change of judge: where another judge scored an earlier run than the one a
no-regression gate reads now, that run's outputs are scored by this one, and both sides of the comparison
then have the same judge. What is to be judged follows from the plan and the files that it pins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from releasecheck.canonical import (
    MAX_DEPTH,
    JsonProblem,
    digest,
    digest_bytes,
    digest_chunks,
    parse_json,
    parse_own,
)
from releasecheck.engine import Stored, ToRejudge
from releasecheck.errors import DigestMismatch, Untrusted
from releasecheck.model.bridge import NOT_STORED, SIDES, Bridge, Earlier
from releasecheck.model.judge import PrecomputedJudge
from releasecheck.model.results import ResultRow
from releasecheck.model.table import ANSWERED, PENDING, CaseRow
from releasecheck.pipeline.files import parse_document, read_bytes
from releasecheck.pipeline.rows import target_state
from releasecheck.stats import match_cases

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.model.bridge import Side
    from releasecheck.model.case import Case
    from releasecheck.model.plan import BaselinePin, Plan
    from releasecheck.model.table import Codes, Indices
    from releasecheck.pipeline.folders import PlanFolder
    from releasecheck.pipeline.remaining import JudgesAsked, Recorded


@dataclass(frozen=True, slots=True)
class BridgeFiles:
    """The bridge of a plan, and where its outputs lie."""

    bridge: Bridge
    paths: dict[Side, Path]
    """`results.jsonl` of each side."""
    offsets: dict[Side, Indices]
    """[E, U]: where the line of each (case, trial) begins."""


def read_bridge(folder: PlanFolder) -> BridgeFiles:
    """The bridge of a plan; without any side where nothing is judged anew, which is known without reading much.

    Raises:
        Untrusted: a pinned file is not the one that the plan pins, or its outputs are not those of its run.
    """
    plan = folder.plan
    found: list[Earlier] = []
    paths: dict[Side, Path] = {}
    offsets: dict[Side, Indices] = {}
    for side in SIDES:
        pin = plan.baseline if side == "baseline" else plan.anchor
        if not plan.baseline_rule.rejudge_baseline or pin is None:
            continue
        where = folder.path / side
        manifest = _pinned_manifest(where / "manifest.json", pin)
        judges = judged_anew_by(plan, side, manifest)
        if judges:
            lines = _Lines.of(where / "results.jsonl", pin)
            lines.check(manifest)
            found.append(lines.earlier(side, pin.run_id, judges, folder.rows[0]))
            paths[side], offsets[side] = lines.path, lines.offsets()
    return BridgeFiles(Bridge(tuple(found)), paths, offsets)


def judged_anew_by(plan: Plan, side: Side, manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Judges of the plan that score the outputs of an earlier run anew, in plan order.

    Those that a no-regression gate against that run reads, and that were others there, or were not there.
    Scores from a file are of this run's outputs, so no such judge can look back.
    """
    if manifest.get("finalized_at") is None:
        return ()  # nothing is compared with it in any case
    read = {
        gate.metric
        for gate in plan.gates
        if gate.no_regression is not None and gate.no_regression.side == side
    }
    then = {str(one["spec"]["id"]): one["digest"] for one in manifest["evaluators"]}
    return tuple(
        judge.id
        for judge in plan.judges
        if judge.id in read
        and then.get(judge.id) != judge.digest
        and not isinstance(judge.spec, PrecomputedJudge)
    )


def _pinned_manifest(path: Path, pin: BaselinePin) -> dict[str, Json]:
    data = read_bytes(path) if path.is_file() else b""
    _same(path, digest_bytes(data), pin.manifest_digest)
    return parse_document(data, str(path))


def _same(path: Path, found: str, expected: str) -> None:
    if found != expected:
        raise DigestMismatch(str(path), found=found, expected=expected)


@dataclass(frozen=True, slots=True)
class _Lines:
    """What a pinned `results.jsonl` holds, but for its outputs."""

    path: Path
    cases: tuple[CaseRow, ...]
    trials: int
    target: list[int]
    digests: list[str]
    starts: list[int]

    @classmethod
    def of(cls, path: Path, pin: BaselinePin) -> _Lines:
        """Read the file once, a line at a time."""
        cases: list[CaseRow] = []
        target, digests, starts = [], [], []
        at = 0
        with _opened(path) as file:
            _same(path, digest_chunks(iter(lambda: file.read(1 << 20), b"")), pin.results_digest)
            file.seek(0)
            for line in file:
                if line.strip():
                    row = ResultRow.from_json(parse_own(line))
                    if row.trial == 0:
                        cases.append(CaseRow(row.case, row.case_digest, row.split, row.tags, "", 0))
                    target.append(target_state(row))
                    digests.append(NOT_STORED if row.output is None else digest(row.output))
                    starts.append(at)
                at += len(line)
        return cls(path, tuple(cases), len(starts) // max(1, len(cases)), target, digests, starts)

    def check(self, manifest: Mapping[str, Any]) -> None:
        """Refuse outputs that are not those of the run, as far as its manifest tells.

        It tells by one digest over all of them. Where some were purged the others are taken as they are: the
        plan pins the bytes of the file.
        """
        scoring = manifest.get("scoring")
        vouched = scoring.get("observation") if isinstance(scoring, dict) else None
        gone = any(
            state == ANSWERED and text == NOT_STORED
            for state, text in zip(self.target, self.digests, strict=True)
        )
        if vouched is None or gone:
            return
        found = digest_bytes("\n".join(self.digests).encode())
        if found != vouched:
            what = f"{self.path}: its outputs"
            raise DigestMismatch(what, found=found, expected=str(vouched))

    def earlier(
        self, side: Side, run_id: str, judges: tuple[str, ...], rows: Sequence[CaseRow]
    ) -> Earlier:
        """The side of a bridge that this is."""
        shape = (len(self.cases), self.trials)
        target: Codes = np.array(self.target, dtype=np.int8).reshape(shape)
        partner = match_cases(rows, self.cases)
        return Earlier(side, run_id, judges, partner, self.trials, target, tuple(self.digests))

    def offsets(self) -> Indices:
        """[E, U]: where each line begins."""
        found: Indices = np.array(self.starts, dtype=np.intp).reshape(len(self.cases), self.trials)
        return found


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        message = f"{path}: the plan pins this file, and it cannot be read: {error.strerror}"
        raise Untrusted(message) from None


def count_to_rejudge(recorded: Recorded, own: Indices, asked: JudgesAsked) -> int:
    """(case, trial)s of earlier runs that judges have still to score, of some cases of the plan."""
    if asked == "none":
        return 0
    found = 0
    for seen in recorded.merged.table.bridged:
        there = seen.partner[own]
        found += int(np.count_nonzero(seen.undone[there[there >= 0]].any(axis=2)))
    return found


class ScoresOpen(NamedTuple):
    """Scores of earlier runs' outputs that are not there yet."""

    undone: int
    """That another attempt can mend."""
    pending: int
    """That judges owe."""


def scores_open(recorded: Recorded, own: Indices) -> ScoresOpen:
    """What is open of some cases of the plan."""
    undone = pending = 0
    for seen in recorded.merged.table.bridged:
        there = seen.partner[own]
        there = there[there >= 0]
        pending += int(np.count_nonzero(seen.state[there] == PENDING))
        undone += int(np.count_nonzero(seen.undone[there]))
    return ScoresOpen(undone, pending)


def bridge_cost(recorded: Recorded, own: Indices) -> float:
    """What the judges of earlier runs' outputs say they have cost, in USD, of some cases."""
    found = 0.0
    for seen in recorded.merged.table.bridged:
        there = seen.partner[own]
        found += float(np.nansum(seen.used[there[there >= 0], ..., 0]))
    return found


def to_rejudge(
    folder: PlanFolder,
    recorded: Recorded,
    cases: Iterable[Case],
    asked: JudgesAsked,
    *,
    at_most: int | None = None,
) -> Iterator[ToRejudge]:
    """Outputs of earlier runs that are still to be judged, in the order of `cases`, read one at a time."""
    sides = recorded.merged.table.bridged
    if asked == "none" or not sides:
        return
    files = folder.bridge
    given = 0
    undone = {seen.side: seen.undone for seen in sides}
    opened = {side: _opened(path) for side, path in files.paths.items()}
    try:
        for position, case in enumerate(cases):
            for seen in sides:
                there = int(seen.partner[case.index])
                if there < 0:
                    continue
                todo = undone[seen.side][there]
                for trial in np.flatnonzero(todo.any(axis=1)).tolist():
                    if at_most is not None and given >= at_most:
                        return
                    given += 1
                    judges = tuple(seen.judges[at] for at in np.flatnonzero(todo[trial]).tolist())
                    stored = _stored(files, opened, seen.side, there, trial)
                    # Below every batch of this run's own trials, which count from 0.
                    batch = -2 - position // folder.plan.batch
                    yield ToRejudge(seen.side, case, trial, batch, stored, judges)
    finally:
        for file in opened.values():
            file.close()


def _stored(
    files: BridgeFiles, opened: Mapping[Side, BinaryIO], side: Side, case: int, trial: int
) -> Stored:
    """An output of an earlier run, checked against the digest that it had when the plan was opened."""
    earlier = files.bridge.side(side)
    assert earlier is not None  # noqa: S101 - what was merged is a side of this bridge
    file = opened[side]
    file.seek(int(files.offsets[side][case, trial]))
    path = files.paths[side]
    try:
        row = parse_json(file.readline(), levels=MAX_DEPTH + 1)  # an output lies one level down
    except JsonProblem as problem:
        message = f"{path}: a line is no JSON any more ({problem}); get the plan again"
        raise Untrusted(message) from None
    expected = earlier.digests[case * earlier.trials + trial]
    found = digest(row["output"])
    _same(path, found, expected)
    return Stored(row["output"], found)
