"""What an earlier run or revision measured beside its own answers: sentinels, and outputs of a baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.model.judge import sentinel_ids
from releasecheck.model.record import BridgeRecord, SentinelRecord
from releasecheck.model.score import NotApplicable, Scored
from releasecheck.model.table import NOT_APPLICABLE, SCORED
from releasecheck.pipeline.folders import open_ledgers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from releasecheck.ledger.jsonl import LedgerReader
    from releasecheck.model.bridge import Bridged
    from releasecheck.model.plan import Plan
    from releasecheck.pipeline.remaining import Recorded


def sentinels_in(paths: Sequence[Path], source: Recorded) -> Iterator[SentinelRecord]:
    """The record of each sentinel, judge and shard that counts as measured in `source`: the first one."""
    table = source.merged.table
    measured = {
        (one.judge, one.sentinel, one.shard, one.digest)
        for one in table.sentinels
        if one.state in (SCORED, NOT_APPLICABLE)
    }
    for reader in _in_order(paths):
        for _, record in reader:
            if not isinstance(record, SentinelRecord):
                continue
            key = record.judge, record.sentinel, record.shard, record.digest
            if isinstance(record.score, Scored | NotApplicable) and key in measured:
                measured.remove(key)
                yield record


def _in_order(paths: Sequence[Path]) -> list[LedgerReader]:
    """As the merge reads them, since of several measurements the first counts: attempt, shard before finish."""

    def place(reader: LedgerReader) -> tuple[bool, int, bool, str]:
        header = reader.header
        if header is None:
            return True, 0, True, reader.name
        return False, header.attempt, header.shard is None, reader.name

    return sorted(open_ledgers(paths), key=place)


def bridged_in(
    paths: Sequence[Path],
    source: Recorded,
    judges: Collection[str],
    recorded: Recorded | None = None,
) -> Iterator[BridgeRecord]:
    """What counts as measured in `source` of a baseline's outputs by some judges.

    Without what `recorded` has measured already, or does not have judged anew.
    """
    cases = {case.id: at for at, case in enumerate(source.merged.table.cases)}
    sides = {seen.side: seen for seen in source.merged.table.bridged}
    own = sides if recorded is None else {s.side: s for s in recorded.merged.table.bridged}
    seen_already: set[tuple[str, int, int, str]] = set()
    for reader in _in_order(paths) if sides else ():
        for _, record in reader:
            if not isinstance(record, BridgeRecord) or record.judge not in judges:
                continue
            if not isinstance(record.score, Scored | NotApplicable):
                continue
            there = int(sides[record.side].partner[cases[record.case]])  # the merge knows both
            cell = there, record.trial, record.judge
            key = record.side, *cell
            wanted = key not in seen_already and _is_measured(sides[record.side], cell) is True
            wanted = wanted and (
                recorded is None or _is_measured(own.get(record.side), cell) is False
            )
            if wanted:
                seen_already.add(key)
                yield record


def _is_measured(side: Bridged | None, cell: tuple[int, int, str]) -> bool | None:
    """Whether a cell of a side has a measured score of a judge; None where it is not judged anew."""
    case, trial, judge = cell
    if side is None or judge not in side.judges or trial >= side.state.shape[1]:
        return None
    return bool(side.state[case, trial, side.judges.index(judge)] in (SCORED, NOT_APPLICABLE))


def measured_sentinels(
    plan: Plan,
    recorded: Recorded,
    source: Recorded,
    paths: Sequence[Path],
    judges: Collection[str],
    revision: int,
) -> Iterator[SentinelRecord]:
    """What of `paths`, which `source` was merged from, some judges of a revision need not be shown again."""
    done = {
        (one.judge, one.sentinel, one.shard)
        for one in recorded.merged.table.sentinels
        if one.state in (SCORED, NOT_APPLICABLE)
    }
    known = {judge.id: sentinel_ids(judge.spec) for judge in plan.judges}
    for record in sentinels_in(paths, source):
        key = record.judge, record.sentinel, record.shard
        if record.judge in judges and record.sentinel in known[record.judge] and key not in done:
            yield record._replace(carried_from_revision=revision)
