"""Whether what a revision says it kept is what the one before it measured (X-16, G-20).

A score that was carried is no measurement of its own. It stands for one on record, so `verify` looks that up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from releasecheck.model.record import TAKEN_LATE, BridgeRecord, ScoreRecord, SentinelRecord
from releasecheck.model.score import NotApplicable, Scored
from releasecheck.model.table import NOT_APPLICABLE, SCORED
from releasecheck.pipeline.folders import open_ledgers, revision_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from releasecheck.model.plan import Plan
    from releasecheck.pipeline.remaining import Recorded

Kept: TypeAlias = ScoreRecord | BridgeRecord | SentinelRecord
Measurement: TypeAlias = tuple[int, float | None]
"""State, and the value of one that is `scored`."""


def unfounded(before: Plan, plan: Plan, source: Recorded, paths: Sequence[Path]) -> Iterator[str]:
    """Records of a revision that do not follow from the one before it, a sentence each.

    Args:
        before: Of the revision before.
        plan: Of the revision whose records are looked at.
        source: What `before` came to.
        paths: Ledger files of the run.
    """
    then = {judge.id: judge.digest for judge in before.judges}
    same = {judge.id for judge in plan.judges if then.get(judge.id) == judge.digest}
    measured = _Measured(source)
    for reader in open_ledgers([path for path in paths if revision_of(path) == plan.revision]):
        for _, record in reader:
            if not isinstance(record, ScoreRecord | BridgeRecord | SentinelRecord):
                continue
            if record.carried_from_revision is None:
                continue
            what = (
                f"results/{reader.name}: {record.judge} of {_about(record)} was kept from revision "
            )
            what += str(record.carried_from_revision)
            if not plan.keeps_measured:
                yield f"{what}, and this revision keeps nothing (--missing)"
            elif record.carried_from_revision != before.revision:
                yield f"{what}, expected from revision {before.revision}"
            elif record.judge not in same:
                yield f"{what}, where another judge of that name scored"
            elif _measurement(record) is None or _measurement(record) not in measured.of(record):
                yield f"{what}, which has not measured that"


def _about(record: Kept) -> str:
    if isinstance(record, SentinelRecord):
        return f"sentinel {record.sentinel[:80]!r}"
    side = f" of the {record.side}" if isinstance(record, BridgeRecord) else ""
    return f"case {record.case[:80]!r}{side}"


def _measurement(record: Kept) -> Measurement | None:
    match record.score:
        case Scored(value):
            return SCORED, value
        case NotApplicable():
            return NOT_APPLICABLE, None
        case _:
            return None


class _Measured:
    """What a merged revision measured, record by record."""

    def __init__(self, source: Recorded) -> None:
        merged = source.merged
        self._table = merged.table
        self._cases = {case.id: at for at, case in enumerate(merged.table.cases)}
        self._sides = {seen.side: seen for seen in merged.table.bridged}
        self._sentinels = {
            (one.judge, one.sentinel, one.shard, one.digest): (one.state, one.value)
            for one in merged.table.sentinels
        }
        self._late: dict[tuple[str, int, str, str], Measurement] = {}
        for one in merged.late:
            if (one.judge, one.ticket) in merged.shared_tickets:
                continue  # nobody's
            found = (NOT_APPLICABLE, None) if one.value is None else (SCORED, one.value)
            self._late.setdefault((one.case, one.trial, one.judge, one.output_digest), found)

    def of(self, record: Kept) -> tuple[Measurement, ...]:
        """What a record may say; nothing where nothing was measured."""
        if isinstance(record, SentinelRecord):
            key = record.judge, record.sentinel, record.shard, record.digest
            state, value = self._sentinels.get(key, (-1, None))
            return ((state, value if state == SCORED else None),)
        if isinstance(record, BridgeRecord):
            return self._of_bridge(record)
        if TAKEN_LATE in record.notes:
            found = self._late.get((record.case, record.trial, record.judge, record.output_digest))
            return () if found is None else (found,)
        table = self._table
        at = self._cases[record.case], record.trial, table.judges.index(record.judge)
        state = int(table.state[at])
        return ((state, float(table.value[at]) if state == SCORED else None),)

    def _of_bridge(self, record: BridgeRecord) -> tuple[Measurement, ...]:
        side = self._sides.get(record.side)
        if side is None or record.judge not in side.judges:
            return ()
        there = int(side.partner[self._cases[record.case]])
        if there < 0 or record.trial >= side.state.shape[1]:
            return ()
        at = there, record.trial, side.judges.index(record.judge)
        state = int(side.state[at])
        return ((state, float(side.value[at]) if state == SCORED else None),)
