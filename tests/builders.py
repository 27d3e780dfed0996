"""Builders with defaults: a test names only what it is about."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from typing_extensions import override

from releasecheck.canonical import Json, canonical, digest
from releasecheck.merge import Merged, RecordSource, merge
from releasecheck.model.failure import Failure, failure
from releasecheck.model.judge import PythonJudge
from releasecheck.model.plan import Plan, PlannedJudge, Root, Selection, Shard
from releasecheck.model.policy import Policy
from releasecheck.model.record import (
    NO_USAGE,
    DeadlineRecord,
    FileHeader,
    LateRecord,
    OutputRecord,
    Record,
    ScoreRecord,
    Usage,
    purge_stable,
)
from releasecheck.model.score import JudgeFailed, Missing, NotApplicable, Pending, Score, Scored
from releasecheck.model.suite import BaselineRule, Settle, StoreOutputs
from releasecheck.model.table import CaseRow
from releasecheck.model.target import CommandTarget

AT = "2026-01-05T09:00:00.000Z"
RUN_ID = "rc-0123456789ab-test"
DIGEST = "sha256:" + "0" * 64
PLAN_DIGEST = "sha256:" + "1" * 64


@dataclass(frozen=True, slots=True)
class Frame:
    """A plan with its cases, as merge takes them."""

    plan: Plan
    cases: tuple[CaseRow, ...]
    shard_of: tuple[int, ...]

    def merge(self, *sources: RecordSource) -> Merged:
        """The sources under this plan."""
        return merge(self.plan, self.cases, self.shard_of, sources)

    def header(self, shard: int | None = 0, attempt: int = 1) -> FileHeader:
        """Of a file of this plan."""
        return header(shard, attempt, shards=len(self.plan.shards))


def make_frame(
    cases: int | Sequence[str] = 3,
    *,
    trials: int = 1,
    judges: Sequence[str] = ("exact",),
    shards: int = 1,
    store_outputs: StoreOutputs = "full",
) -> Frame:
    """Cases `c0`, `c1`, ... dealt to the shards in turn, judged by judges of any number that pass at 1."""
    ids = [f"c{index}" for index in range(cases)] if isinstance(cases, int) else list(cases)
    rows = tuple(
        CaseRow(name, digest(name), "main", (), "cases.jsonl", line)
        for line, name in enumerate(ids, start=1)
    )
    shard_of = tuple(index % shards for index in range(len(ids)))
    plan = make_plan(
        len(ids), trials, judges, [shard_of.count(shard) for shard in range(shards)], store_outputs
    )
    return Frame(plan, rows, shard_of)


def make_plan(
    cases: int = 3,
    trials: int = 1,
    judges: Sequence[str] = ("exact",),
    shards: Sequence[int] = (3,),
    store_outputs: StoreOutputs = "full",
) -> Plan:
    """A plan without gates; `shards` are numbers of cases."""
    return Plan(
        plan_digest=PLAN_DIGEST,
        run_id=RUN_ID,
        created_at=AT,
        tool="releasecheck/0.0.0",
        suite="suite",
        mode="full",
        seed=0,
        trials=trials,
        batch=10,
        target=CommandTarget(type="command", run=("cat",)),
        target_digest=DIGEST,
        judges=tuple(
            PlannedJudge(
                spec=PythonJudge(id=name, type="python", function="m:f", pass_at=1.0),
                contract="builtin@1",
                digest=DIGEST,
            )
            for name in judges
        ),
        gates=(),
        settle=Settle(),
        baseline_rule=BaselineRule(),
        confidence=0.95,
        store_outputs=store_outputs,
        expires_s=86_400.0,
        cases=cases,
        splits={"main": cases},
        cases_digest=DIGEST,
        selection=Selection(asked="all", of=cases),
        shards=tuple(
            Shard(index=index, cases=count, file=f"cases-{index:04d}.jsonl", digest=DIGEST)
            for index, count in enumerate(shards)
        ),
        policy=Policy(file="releasecheck.yaml", digest=DIGEST),
        root=Root(from_cwd=".", config="releasecheck.yaml"),
    )


def header(
    shard: int | None = 0,
    attempt: int = 1,
    *,
    shards: int = 1,
    run_id: str = RUN_ID,
    plan_digest: str = PLAN_DIGEST,
    started_at: str = AT,
) -> FileHeader:
    """Line 1 of a ledger file."""
    return FileHeader(run_id, plan_digest, shard, shards, attempt, started_at, "releasecheck/0.0.0")


def output(
    case: str = "c0",
    content: Json = "answer",
    *,
    trial: int = 0,
    attempt: int = 1,
    stored: bool = True,
    latency_ms: float | None = 10.0,
    usage: Usage = NO_USAGE,
    notes: tuple[str, ...] = (),
) -> OutputRecord:
    """The target answered; with `stored=False` only the digest is kept."""
    return OutputRecord(
        case=case,
        trial=trial,
        attempt=attempt,
        output=content if stored else None,
        output_digest=digest(content),
        failure=None,
        latency_ms=latency_ms,
        usage=usage,
        trace_id=None,
        at=AT,
        notes=notes,
    )


def no_output(
    case: str = "c0", *, trial: int = 0, attempt: int = 1, retryable: bool = True
) -> OutputRecord:
    """The target failed."""
    return OutputRecord(
        case=case,
        trial=trial,
        attempt=attempt,
        output=None,
        output_digest=None,
        failure=failure("target", "target", "exit_code", "it broke", retryable=retryable),
        latency_ms=None,
        usage=NO_USAGE,
        trace_id=None,
        at=AT,
    )


def score(
    case: str = "c0",
    result: Score | float = 1.0,
    *,
    judge: str = "exact",
    trial: int = 0,
    of: Json = "answer",
    ticket: str | None = None,
    at: str = AT,
    usage: Usage = NO_USAGE,
    revision: int = 1,
) -> ScoreRecord:
    """What a judge said about the output `of`; a number is a measured value."""
    return ScoreRecord(
        case=case,
        trial=trial,
        judge=judge,
        output_digest=digest(of),
        score=Scored(result) if isinstance(result, int | float) else result,
        ticket=result.ticket if isinstance(result, Pending) else ticket,
        usage=usage,
        revision=revision,
        at=at,
    )


def judge_failed(*, retryable: bool = True, code: str = "timeout") -> JudgeFailed:
    """A judge that could not score."""
    cause: Failure = failure("judge", "judge", code, "it broke", retryable=retryable)
    return JudgeFailed(cause)


def late(
    case: str = "c0", *, judge: str = "exact", trial: int = 0, value: float = 1.0
) -> LateRecord:
    """A score after its deadline."""
    return LateRecord(case, trial, judge, digest("answer"), "t1", value, None, AT)


def deadline(judge: str = "exact", *tickets: str, at: str = AT) -> DeadlineRecord:
    """Until when tickets are waited for."""
    return DeadlineRecord(judge, tickets, at)


NOT_APPLICABLE = NotApplicable("no expected")
DEADLINE = Missing("deadline")


class MemoryFile(RecordSource):
    """A ledger file that never saw a disk."""

    def __init__(
        self,
        head: FileHeader | None,
        *records: Record,
        name: str | None = None,
        ended: bool = True,
        torn: bool = False,
    ) -> None:
        where = "unreadable" if head is None else f"{head.shard}.attempt-{head.attempt}"
        self.name = name or where
        self.header = head
        self.torn = torn
        self._records = records
        self._ended = ended

    @property
    @override
    def ended(self) -> bool:
        return self._ended

    @property
    @override
    def ended_at(self) -> str | None:
        return AT if self._ended else None

    @property
    @override
    def stopped(self) -> str | None:
        return None

    @property
    @override
    def digest(self) -> str:
        state = hashlib.sha256()
        for record in (self.header, *self._records):
            if record is not None:
                state.update(canonical(purge_stable(record.to_json())))
        return "sha256:" + state.hexdigest()

    @override
    def __iter__(self) -> Iterator[tuple[int, Record]]:
        return enumerate(self._records, start=1)
