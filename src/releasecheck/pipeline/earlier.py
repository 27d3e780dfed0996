"""What earlier attempts of `finish` recorded, taken over only as answers to tickets that shards were given.

A finish file that travels as an artifact could have been written by whoever runs code in the same workflow
run, and fill in what no judge said. It may close what a shard left open, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from releasecheck.ledger.jsonl import LedgerReader
from releasecheck.model.record import (
    BridgeRecord,
    DeadlineRecord,
    LateRecord,
    ScoreRecord,
    SentinelRecord,
)
from releasecheck.model.score import Pending

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from releasecheck.model.record import Record

Ticket: TypeAlias = tuple[str, str, str, int, str, str]
"""Kind of record, judge, case or sentinel, trial or shard, digest of the output, ticket."""


def tickets_given(paths: Iterable[Path]) -> set[Ticket]:
    """Every ticket that judges gave to the shards whose result files these are.

    Raises:
        CorruptLedger, DigestMismatch: a file is damaged.
    """
    found = set()
    for path in paths:
        reader = LedgerReader(path)
        if reader.header is None:
            continue
        for _, record in reader:
            if isinstance(record, ScoreRecord | SentinelRecord | BridgeRecord) and isinstance(
                record.score, Pending
            ):
                found.add(_ticket(record, record.score.ticket))
    return found


def foreign_in(path: Path, given: set[Ticket]) -> str | None:
    """What of a finish file answers no ticket of `given`; None when all of it does."""
    reader = LedgerReader(path)
    if reader.header is None:
        return None
    for _, record in reader:
        if not _answers(record, given):
            return f"{path.name} says something that answers no ticket a shard was given ({reader})"
    return None


def _answers(record: Record, given: set[Ticket]) -> bool:
    match record:
        case ScoreRecord() | SentinelRecord() | BridgeRecord():
            return record.ticket is not None and _ticket(record, record.ticket) in given
        case DeadlineRecord() | LateRecord():
            return True
        case _:
            return False


def _ticket(record: ScoreRecord | SentinelRecord | BridgeRecord, ticket: str) -> Ticket:
    if isinstance(record, SentinelRecord):
        return "sentinel", record.judge, record.sentinel, record.shard, record.digest, ticket
    kind = record.side if isinstance(record, BridgeRecord) else "score"
    return kind, record.judge, record.case, record.trial, record.output_digest, ticket
