"""Ledger files as columns, in precedence order; strangers refused."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, NoReturn, Protocol

from releasecheck.errors import CorruptLedger, ForeignRecord, Untrusted
from releasecheck.merge.models import model_in
from releasecheck.merge.rows import (
    AFTER_DEADLINE,
    ASKED_AGAIN,
    CARRIED_OUTPUT,
    CARRIED_SCORE,
    HAS_OUTPUT,
    RETRYABLE,
    WHY_MISSING,
    Rows,
)
from releasecheck.model.bridge import NO_BRIDGE
from releasecheck.model.judge import is_yes_no, sentinel_ids, value_range
from releasecheck.model.record import (
    FIRST_REVISION,
    OUTPUT_LOST,
    RESUMED,
    UNKNOWN_CODE,
    BridgeRecord,
    DeadlineRecord,
    LateRecord,
    OutputRecord,
    ScoreRecord,
    SentinelRecord,
)
from releasecheck.model.score import JudgeFailed, Missing, NotApplicable, Pending, Scored
from releasecheck.model.table import FAILED, MISSING, NOT_APPLICABLE, PENDING, SCORED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from releasecheck.model.bridge import Bridge
    from releasecheck.model.plan import Plan
    from releasecheck.model.record import Code, FileHeader, Record
    from releasecheck.model.table import CaseRow

NAN: Final = float("nan")


class RecordSource(Protocol):
    """One ledger file to merge; `ended`, `torn` and `digest` are complete after iterating."""

    name: str
    header: FileHeader | None
    torn: bool

    @property
    def ended(self) -> bool:
        """Whether its end record was there and held."""
        ...

    @property
    def ended_at(self) -> str | None:
        """When its end record was written."""
        ...

    @property
    def stopped(self) -> str | None:
        """Why its shard ended early, from the end record; None when it did not, or has none."""
        ...

    @property
    def digest(self) -> str:
        """Purge-stable digest over its records."""
        ...

    def __iter__(self) -> Iterator[tuple[int, Record]]:
        """Yield (byte offset, record)."""
        ...


@dataclass(frozen=True, slots=True)
class FileSeen:
    """What one file brought, for the manifest and the scorecard."""

    name: str
    shard: int | None
    """None for what `finish` itself recorded."""
    attempt: int
    records: int
    digest: str
    ended: bool
    torn: bool
    stopped: str | None
    """Why the shard ended early: `time_budget`, `cost_budget`, `interrupted`, `target_unusable`."""
    source: int
    """Index into the sources as they were given."""
    approved_by: str | None = None
    """Who approved calling a target with irreversible effects."""
    started_at: str = ""
    """RFC 3339, of its header."""
    ended_at: str | None = None
    """RFC 3339, of its end record; None when it has none."""
    code: Code = UNKNOWN_CODE
    """What the target's code was when it was begun."""
    revision: int = FIRST_REVISION
    """Of its scores."""


class Reader:
    """Reads sources into columns and refuses strangers."""

    def __init__(
        self,
        plan: Plan,
        cases: Sequence[CaseRow],
        shard_of: Sequence[int],
        bridge: Bridge | None = NO_BRIDGE,
    ) -> None:
        """Take what is expected; None as `bridge` leaves records of earlier runs' outputs unread."""
        self.plan = plan
        self.bridge = bridge
        self.rows = Rows()
        self.case_index = {case.id: index for index, case in enumerate(cases)}
        self.judge_index = {judge.id: index for index, judge in enumerate(plan.judges)}
        self.shard_of = shard_of
        self._ranges = [value_range(judge.spec) for judge in plan.judges]
        self._yes_no = [is_yes_no(judge.spec) for judge in plan.judges]

    def check_header(self, source: RecordSource, header: FileHeader) -> None:
        """Refuse a file of another run, plan or shard layout (ForeignRecord)."""
        plan = self.plan
        for what, found, expected in (
            ("run", header.run_id, plan.run_id),
            ("plan digest", header.plan_digest, plan.plan_digest),
            ("revision", header.revision, plan.revision),
            ("number of shards", header.shards, len(plan.shards)),
        ):
            if found != expected:
                message = (
                    f"{source.name}: it belongs to another {what} ({str(found)[:80]!r}, this plan has "
                    f"{expected!r}); give only the result files of this run"
                )
                raise ForeignRecord(message)
        if header.revision != FIRST_REVISION and header.shard is not None:
            message = (
                f"{source.name}: scores of revision {header.revision} are of no shard, it is of one"
            )
            raise ForeignRecord(message)
        if header.shard is not None and header.shard >= len(plan.shards):
            message = f"{source.name}: it is of shard {header.shard}, the plan has {header.shards}"
            raise ForeignRecord(message)

    def read(self, source: RecordSource, index: int, header: FileHeader) -> tuple[int, int]:
        """Read one file into the columns; returns its records, and how many hold purgeable content."""
        count = unpurged = 0
        for offset, record in source:
            count += 1
            match record:
                case OutputRecord():
                    if header.revision != FIRST_REVISION:
                        self._no_output(record, source)
                    self._output(record, self._case(record, header, source), index, offset)
                    unpurged += record.output is not None
                case ScoreRecord():
                    case = self._case(record, header, source)
                    judge = self._judge(record, source)
                    if isinstance(record.score, Scored):
                        self._value(record.score.value, judge, record, source)
                    self._score(record, case, judge, index, offset)
                    if _was_sent(record, header):
                        self._sent(record.judge, record.at)
                    unpurged += isinstance(record.score, Scored) and record.score.reason is not None
                case SentinelRecord():
                    self._sentinel(record, header, source)
                    self.rows.sentinels.append(record)
                case BridgeRecord():
                    if self.bridge is not None:
                        self._bridged(record, header, source, self.bridge, (index, offset))
                    unpurged += isinstance(record.score, Scored) and record.score.reason is not None
                case LateRecord() if record.side is not None:
                    if self.bridge is not None:
                        self._cell(record, header, source, self.bridge)
                        self.rows.of_bridge().late.append(record)
                case DeadlineRecord():
                    self._judge(record, source)
                    self.rows.deadlines.append(record)
                case LateRecord():
                    self._case(record, header, source)
                    judge = self._judge(record, source)
                    if record.value is not None:
                        self._value(record.value, judge, record, source)
                    self.rows.late.append(record)
        return count, unpurged

    def _no_output(self, record: OutputRecord, source: RecordSource) -> NoReturn:
        message = (
            f"{source.name}: it holds an output of case {record.case[:80]!r}; a revision judges the outputs "
            "that the run recorded, and brings none"
        )
        raise ForeignRecord(message)

    def _case(
        self,
        record: OutputRecord | ScoreRecord | LateRecord,
        header: FileHeader,
        source: RecordSource,
    ) -> int:
        index = self.case_index.get(record.case)
        if index is None or not 0 <= record.trial < self.plan.trials:
            message = (
                f"{source.name}: it holds a record of case {record.case[:80]!r}, trial {record.trial}, "
                "which the plan does not name; give only the result files of this run"
            )
            raise ForeignRecord(message)
        if header.shard is not None and self.shard_of[index] != header.shard:
            message = (
                f"{source.name}: it holds a record of case {record.case[:80]!r}, which the plan gives "
                f"to shard {self.shard_of[index]}, not to shard {header.shard}"
            )
            raise ForeignRecord(message)
        return index

    def _bridged(
        self,
        record: BridgeRecord,
        header: FileHeader,
        source: RecordSource,
        bridge: Bridge,
        place: tuple[int, int],
    ) -> None:
        judge = self._judge(record, source)
        cell = self._cell(record, header, source, bridge)
        if isinstance(record.score, Scored):
            self._value(record.score.value, judge, record, source)
        pair = cell * len(self.plan.judges) + judge
        self._append(self.rows.of_bridge(), record, pair, *place)
        if _was_sent(record, header):
            self._sent(record.judge, record.at)

    def _cell(
        self,
        record: BridgeRecord | LateRecord,
        header: FileHeader,
        source: RecordSource,
        bridge: Bridge,
    ) -> int:
        """Which output of an earlier run a record is about, counted over all of them."""
        side = bridge.side(str(record.side))
        case = self.case_index.get(record.case)
        there = -1 if side is None or case is None else int(side.partner[case])
        if side is None or case is None or there < 0 or record.judge not in side.judges:
            what = "which this plan does not have judged anew"
        elif not record.trial < side.trials:
            what = f"which has {side.trials} trials of each case"
        elif header.shard is not None and self.shard_of[case] != header.shard:
            what = f"in a file of shard {header.shard}; the plan gives it to shard {self.shard_of[case]}"
        elif side.digests[there * side.trials + record.trial] != record.output_digest:
            what = "which has another output there"
        else:
            return bridge.start_of(side.side) + there * side.trials + record.trial
        message = (
            f"{source.name}: it holds a score of {record.judge[:80]!r} of case {record.case[:80]!r}, trial "
            f"{record.trial}, of the {record.side}, {what}; give only the result files of this run"
        )
        raise ForeignRecord(message)

    def _sent(self, judge: str, at: str) -> None:
        # As text: every record of ours has its moment in the same form. What is none says nothing.
        if at <= self.rows.sent.get(judge, ""):
            return
        with suppress(ValueError):
            datetime.fromisoformat(at)
            self.rows.sent[judge] = at

    def _sentinel(self, record: SentinelRecord, header: FileHeader, source: RecordSource) -> None:
        judge = self._judge(record, source)
        if record.sentinel not in sentinel_ids(self.plan.judges[judge].spec):
            message = (
                f"{source.name}: it holds a record of the sentinel {record.sentinel[:80]!r}, which judge "
                f"{record.judge} of the plan does not have; give only the result files of this run"
            )
            raise ForeignRecord(message)
        if header.shard not in (None, record.shard) or record.shard >= len(self.plan.shards):
            message = (
                f"{source.name}: it holds a record of a sentinel of shard {record.shard}; give only the "
                "result files of this run"
            )
            raise ForeignRecord(message)
        if isinstance(record.score, Scored):
            self._value(record.score.value, judge, record, source)

    def _judge(
        self,
        record: ScoreRecord | LateRecord | DeadlineRecord | SentinelRecord | BridgeRecord,
        source: RecordSource,
    ) -> int:
        judge = self.judge_index.get(record.judge)
        if judge is None:
            message = (
                f"{source.name}: it holds a record of judge {record.judge[:80]!r}, which the plan does "
                "not name; give only the result files of this run"
            )
            raise ForeignRecord(message)
        if isinstance(record, ScoreRecord) and record.revision != self.plan.revision:
            message = (
                f"{source.name}: it holds a score of revision {record.revision}; expected revision "
                f"{self.plan.revision}, as the file says itself"
            )
            raise ForeignRecord(message)
        return judge

    def _value(
        self,
        value: float,
        judge: int,
        record: ScoreRecord | LateRecord | SentinelRecord | BridgeRecord,
        source: RecordSource,
    ) -> None:
        limits = self._ranges[judge]
        if limits is None:
            return
        if limits[0] <= value <= limits[1] and (not self._yes_no[judge] or value in (0.0, 1.0)):
            return
        expected = (
            "1 or 0" if self._yes_no[judge] else f"a number from {limits[0]:g} to {limits[1]:g}"
        )
        to = (
            f"sentinel {record.sentinel[:80]!r}"
            if isinstance(record, SentinelRecord)
            else f"case {record.case[:80]!r}, trial {record.trial}"
        )
        message = (
            f"{source.name}: judge {record.judge!r} gave {value!r} to {to}; expected {expected}. The file was changed after it was written: get the "
            "original again, or run its shard anew"
        )
        raise CorruptLedger(message)

    def _output(self, record: OutputRecord, case: int, source: int, offset: int) -> None:
        rows = self.rows
        flags = 0
        if record.failure is None:
            flags = HAS_OUTPUT if record.output is not None else 0
        elif record.failure.retryable:
            flags = RETRYABLE
        if OUTPUT_LOST in record.notes:
            flags |= ASKED_AGAIN
        if record.carried_from is not None:
            flags |= CARRIED_OUTPUT
        rows.out_at.append(case * self.plan.trials + record.trial)
        rows.out_digest.append(
            -1 if record.output_digest is None else rows.intern(record.output_digest)
        )
        rows.out_flags.append(flags)
        usage = record.usage
        for number in (record.latency_ms, usage.cost_usd, usage.tokens):
            rows.out_numbers.append(NAN if number is None else number)
        rows.out_place.append(source)
        rows.out_place.append(offset)
        model = record.fingerprint
        rows.out_model.append(-1 if model is None else rows.intern(model))

    def _score(self, record: ScoreRecord, case: int, judge: int, source: int, offset: int) -> None:
        pair = (case * self.plan.trials + record.trial) * len(self.plan.judges) + judge
        self._append(self.rows, record, pair, source, offset)

    def _append(
        self, rows: Rows, record: ScoreRecord | BridgeRecord, pair: int, source: int, offset: int
    ) -> None:
        score = record.score
        rows.pair.append(pair)
        rows.digest.append(rows.intern(record.output_digest))
        rows.state.append(_STATE_OF[type(score)])
        rows.value.append(score.value if isinstance(score, Scored) else NAN)
        flags = RETRYABLE if isinstance(score, JudgeFailed) and score.failure.retryable else 0
        if isinstance(score, Missing):
            flags = WHY_MISSING.get(score.reason, 0)
        if record.carried_from is not None or record.carried_from_revision is not None:
            flags |= CARRIED_SCORE
        rows.flags.append(flags | (AFTER_DEADLINE if RESUMED in record.notes else 0))
        ticket = score.ticket if isinstance(score, Pending) else record.ticket
        rows.ticket.append(-1 if ticket is None else rows.intern(ticket))
        rows.place.append(source)
        rows.place.append(offset)
        usage = record.usage
        rows.used.append(NAN if usage.cost_usd is None else usage.cost_usd)
        rows.used.append(NAN if usage.tokens is None else usage.tokens)
        model = model_in(record.notes) if record.notes else None
        rows.score_model.append(-1 if model is None else rows.intern(model))


_STATE_OF: Final = {
    Scored: SCORED,
    NotApplicable: NOT_APPLICABLE,
    Pending: PENDING,
    JudgeFailed: FAILED,
    Missing: MISSING,
}


def _was_sent(record: ScoreRecord | BridgeRecord, header: FileHeader) -> bool:
    """Whether a record tells when its judge was sent an output, and not when a ticket of it was answered."""
    if header.revision == FIRST_REVISION:
        return header.shard is not None
    fresh = isinstance(record.score, Pending) or record.ticket is None
    return fresh and record.carried_from_revision is None and not isinstance(record.score, Missing)


def read_all(
    reader: Reader, sources: Sequence[RecordSource | None]
) -> tuple[tuple[FileSeen, ...], tuple[str, ...], tuple[str, ...]]:
    """Read every file once, in precedence order: (files, re-delivered, unreadable)."""
    ordered: list[tuple[tuple[int, bool, int, str, int], FileHeader]] = []
    unreadable = []
    for index, source in enumerate(sources):
        if source is None:  # of another revision; places stay what they are
            continue
        header = source.header
        if header is None:
            unreadable.append(source.name)
            continue
        reader.check_header(source, header)
        place = -1 if header.shard is None else header.shard
        ordered.append(((header.attempt, header.shard is None, place, source.name, index), header))
    ordered.sort(key=lambda item: item[0])
    seen: dict[tuple[int | None, int], FileSeen] = {}
    redelivered = []
    last_mark, last_unpurged = reader.rows.mark(), 0
    for (_, _, _, _, index), header in ordered:
        source = sources[index]
        assert source is not None  # noqa: S101 - left out above
        mark = reader.rows.mark()
        count, unpurged = reader.read(source, index, header)
        found = FileSeen(
            source.name, header.shard, header.attempt, count, source.digest, source.ended, source.torn,
            source.stopped, index, header.approved_by, header.started_at, source.ended_at, header.code,
            header.revision,
        )  # fmt: skip
        earlier = seen.get((header.shard, header.attempt))
        if earlier is not None:
            _require_same(earlier, found)
            # Deliveries of one attempt follow each other here. The one that was purged less stays.
            if unpurged <= last_unpurged:
                reader.rows.drop(mark, reader.rows.mark())
                redelivered.append(source.name)
                continue
            reader.rows.drop(last_mark, mark)
            redelivered.append(earlier.name)
            mark = last_mark
        seen[header.shard, header.attempt] = found
        last_mark, last_unpurged = mark, unpurged
    return tuple(seen.values()), tuple(sorted(redelivered)), tuple(sorted(unreadable))


def _require_same(earlier: FileSeen, found: FileSeen) -> None:
    if (earlier.digest, earlier.ended) != (found.digest, found.ended):
        who = "finish" if found.shard is None else f"shard {found.shard}"
        if found.revision != FIRST_REVISION:
            who = f"revision {found.revision}"
        message = (
            f"{found.name}: attempt {found.attempt} of {who} came twice with different content (also as "
            f"{earlier.name}); keep the file that the attempt really wrote"
        )
        raise Untrusted(message)
