"""What judges outside were given under a ticket, by the ledger: what they must forget when a run is purged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.model.judge import DeferringJudge
from releasecheck.model.record import (
    BridgeRecord,
    DeadlineRecord,
    LateRecord,
    ScoreRecord,
    SentinelRecord,
)
from releasecheck.model.score import Pending
from releasecheck.pipeline.folders import open_ledgers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.model.plan import Plan


def tickets_of(paths: Sequence[Path]) -> dict[str, list[str]]:
    """Every ticket on record by judge, each once, in the order in which they were given.

    Raises:
        Untrusted: a file is no ledger of ours.
    """
    found: dict[str, dict[str, None]] = {}
    for reader in open_ledgers(paths):
        for _, record in reader:
            for judge, ticket in _tickets(record):
                found.setdefault(judge, {})[ticket] = None
    return {judge: list(tickets) for judge, tickets in found.items()}


def external_refs(plans: Sequence[Plan], paths: Sequence[Path]) -> tuple[dict[str, Json], ...]:
    """`{judge, trace_id}` of everything that judges over the network keep, for the manifest (S1-47).

    `plans` are those of every revision whose files these are.
    """
    judges = (judge for plan in plans for judge in plan.judges)
    outside = {judge.id for judge in judges if isinstance(judge.spec, DeferringJudge)}
    if not outside:  # nearly always, and reading a large ledger once more takes its time
        return ()
    held = tickets_of(paths)
    return tuple(
        {"judge": judge, "trace_id": ticket}
        for judge in sorted(outside & held.keys())
        for ticket in sorted(held[judge])
    )


def _tickets(record: object) -> Iterator[tuple[str, str]]:
    match record:
        case ScoreRecord() | SentinelRecord() | BridgeRecord():
            ticket = record.score.ticket if isinstance(record.score, Pending) else record.ticket
            if ticket:
                yield record.judge, ticket
        case LateRecord():
            yield record.judge, record.ticket
        case DeadlineRecord():
            yield from ((record.judge, ticket) for ticket in record.tickets)
        case _:
            return
