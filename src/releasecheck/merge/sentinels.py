"""What became of the sentinels: answers with a known score, shown to a judge by every shard.

Measured beats missing, which beats pending, which beats failed, as for scores; the first measurement
stands. A shard in which a judge scored anything owes a score for each of its sentinels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from releasecheck.canonical import digest
from releasecheck.model.judge import sentinel_held, sentinel_ids
from releasecheck.model.score import JudgeFailed, Missing, NotApplicable, Pending, Scored
from releasecheck.model.table import (
    FAILED,
    MISSING,
    NOT_APPLICABLE,
    PENDING,
    SCORED,
    SentinelSeen,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from releasecheck.merge.rows import Rows
    from releasecheck.model.judge import Judge, Sentinel
    from releasecheck.model.plan import Plan
    from releasecheck.model.record import SentinelRecord
    from releasecheck.model.table import Flags, ScoreTable


def sentinels_seen(
    plan: Plan,
    table: ScoreTable,
    rows: Rows,
    shard_of: Sequence[int],
    shared: Collection[tuple[str, str]],
) -> tuple[SentinelSeen, ...]:
    """Every sentinel that was shown, or should have been, in plan order.

    `shared` are (judge, ticket)s that were given for more than one answer or sentinel.
    """
    if not any(judge.spec.sentinels for judge in plan.judges):
        return ()
    recorded: dict[tuple[str, str, int], list[SentinelRecord]] = {}
    for record in rows.sentinels:
        recorded.setdefault((record.judge, record.sentinel, record.shard), []).append(record)
    shards = np.asarray(shard_of, dtype=np.int64)
    found = []
    for index, judge in enumerate(plan.judges):
        spec = judge.spec
        if not spec.sentinels:
            continue
        scored = (table.state[:, :, index] == SCORED).any(axis=1)
        owing = set(np.unique(shards[scored | _bridged(table, judge.id)]).tolist())
        for name, sentinel in zip(sentinel_ids(spec), spec.sentinels, strict=True):
            shown = {key[2] for key in recorded if key[:2] == (judge.id, name)}
            for shard in sorted(owing | shown):
                records = recorded.get((judge.id, name, shard), [])
                found.append(_seen(spec, name, sentinel, shard, records, shared))
    return tuple(found)


def _bridged(table: ScoreTable, judge: str) -> Flags:
    """[C]: cases of which the judge scored an output of an earlier run."""
    found = np.zeros(len(table.cases), dtype=np.bool_)
    for side in table.bridged:
        if judge in side.judges:
            scored = (side.state[:, :, side.judges.index(judge)] == SCORED).any(axis=1)
            known = side.partner >= 0
            found[known] |= scored[side.partner[known]]
    return found


def _seen(
    spec: Judge,
    name: str,
    sentinel: Sentinel,
    shard: int,
    records: Sequence[SentinelRecord],
    shared: Collection[tuple[str, str]],
) -> SentinelSeen:
    same = digest(sentinel.output)
    record = _that_counts([one for one in records if one.digest == same])
    if record is None:
        said = "it was never shown"
        return SentinelSeen(
            spec.id, name, shard, MISSING, None, None, same, None, "", said, mendable=True
        )

    def seen(
        state: int,
        *,
        value: float | None = None,
        held: bool | None = None,
        ticket: str | None = None,
        said: str | None = None,
        mendable: bool = False,
    ) -> SentinelSeen:
        return SentinelSeen(
            spec.id, name, shard, state, value, held, same, ticket, record.at, said, mendable
        )

    match record.score:
        case Scored() | NotApplicable() if (spec.id, record.ticket or "") in shared:
            # It could be the score of what else that ticket was given for.
            return seen(FAILED, said="contract_violation")
        case Scored(value):
            return seen(SCORED, value=value, held=sentinel_held(spec, sentinel, value))
        case NotApplicable():
            return seen(NOT_APPLICABLE, held=False, said="not applicable")
        case Pending(ticket):
            return seen(PENDING, ticket=ticket, mendable=True)
        case JudgeFailed(failed):
            # Its code, since purging takes the message away and must not change what a gate says.
            return seen(FAILED, said=failed.code, mendable=failed.retryable)
        case Missing(reason):
            return seen(MISSING, said=reason)


def _that_counts(records: Sequence[SentinelRecord]) -> SentinelRecord | None:
    for record in records:
        if isinstance(record.score, Scored | NotApplicable):
            return record
    ended = {record.ticket for record in records if isinstance(record.score, Missing)}
    waiting = dict(_waiting(records, ended))
    if waiting:
        return next(iter(waiting.values()))
    missing = [record for record in records if isinstance(record.score, Missing)]
    if missing:
        return missing[0]
    return records[-1] if records else None


def _waiting(
    records: Sequence[SentinelRecord], ended: set[str | None]
) -> Iterator[tuple[str, SentinelRecord]]:
    """Tickets that nothing has closed: neither `missing` for good, nor the failure that they brought."""
    open_: dict[str, SentinelRecord] = {}
    for record in records:
        if isinstance(record.score, Pending) and record.score.ticket not in ended:
            open_.setdefault(record.score.ticket, record)
        elif isinstance(record.score, JudgeFailed) and record.ticket is not None:
            open_.pop(record.ticket, None)
    yield from open_.items()
