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

    from releasecheck.model.plan import Plan
    from releasecheck.pipeline.remaining import Recorded


def sentinels_in(paths: Sequence[Path]) -> Iterator[SentinelRecord]:
    """The measurement that counts of each sentinel, judge and shard: the first one on record."""
    seen: set[tuple[str, str, int, str]] = set()
    readers = open_ledgers(paths)
    readers.sort(key=lambda one: (one.header is None or one.header.attempt, one.name))
    for reader in readers:
        for _, record in reader:
            if not isinstance(record, SentinelRecord):
                continue
            key = record.judge, record.sentinel, record.shard, record.digest
            if isinstance(record.score, Scored | NotApplicable) and key not in seen:
                seen.add(key)
                yield record


def bridged_in(
    paths: Sequence[Path], recorded: Recorded, judges: Collection[str]
) -> Iterator[BridgeRecord]:
    """Measured scores of a baseline's outputs by some judges, of cells that `recorded` has none of."""
    cases = {case.id: at for at, case in enumerate(recorded.merged.table.cases)}
    sides = {seen.side: seen for seen in recorded.merged.table.bridged}
    seen_already: set[tuple[str, int, int, str]] = set()
    readers = open_ledgers(paths) if sides else []
    readers.sort(key=lambda one: (one.header is None or one.header.attempt, one.name))
    for reader in readers:
        for _, record in reader:
            if not isinstance(record, BridgeRecord) or record.judge not in judges:
                continue
            side = sides.get(record.side)
            if side is None or record.judge not in side.judges or record.case not in cases:
                continue
            there = int(side.partner[cases[record.case]])
            key = record.side, there, record.trial, record.judge
            judge = side.judges.index(record.judge)
            if there < 0 or not record.trial < side.state.shape[1] or key in seen_already:
                continue
            done = side.state[there, record.trial, judge] in (SCORED, NOT_APPLICABLE)
            if isinstance(record.score, Scored | NotApplicable) and not done:
                seen_already.add(key)
                yield record


def measured_sentinels(
    plan: Plan,
    recorded: Recorded,
    paths: Sequence[Path],
    judges: Collection[str],
    revision: int,
) -> Iterator[SentinelRecord]:
    """What of `paths` some judges of a revision need not be shown again."""
    done = {
        (one.judge, one.sentinel, one.shard)
        for one in recorded.merged.table.sentinels
        if one.state in (SCORED, NOT_APPLICABLE)
    }
    known = {judge.id: sentinel_ids(judge.spec) for judge in plan.judges}
    for record in sentinels_in(paths):
        key = record.judge, record.sentinel, record.shard
        if record.judge in judges and record.sentinel in known[record.judge] and key not in done:
            yield record._replace(carried_from_revision=revision)
