"""Sentinels that an earlier run or revision measured, to be carried along with the scores of their judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.model.judge import sentinel_ids
from releasecheck.model.record import SentinelRecord
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
