"""Ledger files as columns, in precedence order; strangers refused."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from releasecheck.errors import ForeignRecord, Untrusted
from releasecheck.model.record import DeadlineRecord, LateRecord, OutputRecord, ScoreRecord
from releasecheck.model.score import JudgeFailed, Missing, NotApplicable, Pending, Scored
from releasecheck.model.table import FAILED, MISSING, NOT_APPLICABLE, PENDING, SCORED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from releasecheck.model.plan import Plan
    from releasecheck.model.record import FileHeader, Record
    from releasecheck.model.table import CaseRow

FIRST_REVISION: Final = 1


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


@dataclass(slots=True)
class Rows:
    """Every record of interest as columns, in precedence order."""

    out_at: array[int] = field(default_factory=lambda: array("q"))
    out_digest: array[int] = field(default_factory=lambda: array("q"))
    out_flags: array[int] = field(default_factory=lambda: array("b"))
    out_numbers: array[float] = field(default_factory=lambda: array("d"))
    out_place: array[int] = field(default_factory=lambda: array("q"))
    pair: array[int] = field(default_factory=lambda: array("q"))
    digest: array[int] = field(default_factory=lambda: array("q"))
    state: array[int] = field(default_factory=lambda: array("b"))
    value: array[float] = field(default_factory=lambda: array("d"))
    retryable: array[int] = field(default_factory=lambda: array("b"))
    ticket: array[int] = field(default_factory=lambda: array("q"))
    place: array[int] = field(default_factory=lambda: array("q"))
    used: array[float] = field(default_factory=lambda: array("d"))
    deadlines: list[DeadlineRecord] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    """Digests and tickets, interned."""

    def intern(self, text: str) -> int:
        """The number of a digest or ticket."""
        return self.names.setdefault(text, len(self.names))

    def mark(self) -> tuple[int, int, int]:
        """How far the columns reach."""
        return len(self.out_at), len(self.pair), len(self.deadlines)

    def rewind(self, mark: tuple[int, int, int]) -> None:
        """Drop what came after a mark."""
        outputs, scores, deadlines = mark
        del self.out_at[outputs:], self.out_digest[outputs:], self.out_flags[outputs:]
        del self.out_numbers[3 * outputs :], self.out_place[2 * outputs :]
        del self.pair[scores:], self.digest[scores:], self.state[scores:], self.value[scores:]
        del self.retryable[scores:], self.ticket[scores:], self.place[2 * scores :]
        del self.used[2 * scores :]
        del self.deadlines[deadlines:]


HAS_OUTPUT, RETRYABLE = 1, 2


class Reader:
    """Reads sources into columns and refuses strangers."""

    def __init__(self, plan: Plan, cases: Sequence[CaseRow], shard_of: Sequence[int]) -> None:
        self.plan = plan
        self.rows = Rows()
        self.case_index = {case.id: index for index, case in enumerate(cases)}
        self.judge_index = {judge.id: index for index, judge in enumerate(plan.judges)}
        self.shard_of = shard_of

    def check_header(self, source: RecordSource, header: FileHeader) -> None:
        """Refuse a file of another run, plan or shard layout (ForeignRecord)."""
        plan = self.plan
        for what, found, expected in (
            ("run", header.run_id, plan.run_id),
            ("plan digest", header.plan_digest, plan.plan_digest),
            ("number of shards", header.shards, len(plan.shards)),
        ):
            if found != expected:
                message = (
                    f"{source.name}: it belongs to another {what} ({str(found)[:80]!r}, this plan has "
                    f"{expected!r}); give only the result files of this run"
                )
                raise ForeignRecord(message)
        if header.shard is not None and header.shard >= len(plan.shards):
            message = f"{source.name}: it is of shard {header.shard}, the plan has {header.shards}"
            raise ForeignRecord(message)

    def read(self, source: RecordSource, index: int, header: FileHeader) -> int:
        """Read one file into the columns; returns its number of records."""
        count = 0
        for offset, record in source:
            count += 1
            match record:
                case OutputRecord():
                    self._output(record, self._case(record, header, source), index, offset)
                case ScoreRecord():
                    self._score(record, self._case(record, header, source), index, offset, source)
                case DeadlineRecord():
                    self.rows.deadlines.append(record)
                case LateRecord():
                    self._case(record, header, source)
        return count

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

    def _output(self, record: OutputRecord, case: int, source: int, offset: int) -> None:
        rows = self.rows
        flags = 0
        if record.failure is None:
            flags = HAS_OUTPUT if record.output is not None else 0
        elif record.failure.retryable:
            flags = RETRYABLE
        rows.out_at.append(case * self.plan.trials + record.trial)
        rows.out_digest.append(
            -1 if record.output_digest is None else rows.intern(record.output_digest)
        )
        rows.out_flags.append(flags)
        usage = record.usage
        for number in (record.latency_ms, usage.cost_usd, usage.tokens):
            rows.out_numbers.append(np.nan if number is None else float(number))
        rows.out_place.append(source)
        rows.out_place.append(offset)

    def _score(
        self, record: ScoreRecord, case: int, index: int, offset: int, source: RecordSource
    ) -> None:
        judge = self.judge_index.get(record.judge)
        if judge is None or record.revision != FIRST_REVISION:
            message = (
                f"{source.name}: it holds a score of judge {record.judge[:80]!r}, revision "
                f"{record.revision}, which the plan does not name"
            )
            raise ForeignRecord(message)
        rows = self.rows
        score = record.score
        rows.pair.append((case * self.plan.trials + record.trial) * len(self.plan.judges) + judge)
        rows.digest.append(rows.intern(record.output_digest))
        rows.state.append(_STATE_OF[type(score)])
        rows.value.append(score.value if isinstance(score, Scored) else np.nan)
        rows.retryable.append(isinstance(score, JudgeFailed) and score.failure.retryable)
        ticket = score.ticket if isinstance(score, Pending) else record.ticket
        rows.ticket.append(-1 if ticket is None else rows.intern(ticket))
        rows.place.append(index)
        rows.place.append(offset)
        for number in (record.usage.cost_usd, record.usage.tokens):
            rows.used.append(np.nan if number is None else float(number))


_STATE_OF: Final = {
    Scored: SCORED,
    NotApplicable: NOT_APPLICABLE,
    Pending: PENDING,
    JudgeFailed: FAILED,
    Missing: MISSING,
}


def read_all(
    reader: Reader, sources: Sequence[RecordSource]
) -> tuple[tuple[FileSeen, ...], tuple[str, ...], tuple[str, ...]]:
    """Read every file once, in precedence order: (files, re-delivered, unreadable)."""
    ordered: list[tuple[tuple[int, bool, int, str, int], FileHeader]] = []
    unreadable = []
    for index, source in enumerate(sources):
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
    for (_, _, _, _, index), header in ordered:
        source = sources[index]
        mark = reader.rows.mark()
        count = reader.read(source, index, header)
        found = FileSeen(
            source.name, header.shard, header.attempt, count, source.digest, source.ended, source.torn,
            source.stopped, index, header.approved_by,
        )  # fmt: skip
        earlier = seen.get((header.shard, header.attempt))
        if earlier is None:
            seen[header.shard, header.attempt] = found
            continue
        if (earlier.digest, earlier.ended) != (found.digest, found.ended):
            who = "finish" if header.shard is None else f"shard {header.shard}"
            message = (
                f"{source.name}: attempt {header.attempt} of {who} came twice with different "
                f"content (also as {earlier.name}); keep the file that the attempt really wrote"
            )
            raise Untrusted(message)
        reader.rows.rewind(mark)
        redelivered.append(source.name)
    return tuple(seen.values()), tuple(sorted(redelivered)), tuple(sorted(unreadable))
