"""Run one shard's trials: ask the target, put the answer on record, then let the judges read it.

An output is on disk before any judge sees it (G-06), and every judge of a trial reads the same bytes. A
batch is a few cases: the unit of syncing to disk and of stopping. Memory grows with the trials in flight.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from releasecheck.canonical import JsonProblem, digest
from releasecheck.model.failure import Failure, failure
from releasecheck.model.record import (
    FIRST_REVISION,
    OUTPUT_LOST,
    BridgeRecord,
    OutputRecord,
    ScoreRecord,
    SentinelRecord,
)
from releasecheck.model.score import JudgeFailed, NotApplicable, Pending, Scored
from releasecheck.ports import (
    Answered,
    BulkJudge,
    JudgeAsk,
    JudgeCase,
    TargetCall,
    TargetFailed,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from releasecheck.canonical import Json
    from releasecheck.model.bridge import Side
    from releasecheck.model.case import Case
    from releasecheck.model.score import JudgeAnswer
    from releasecheck.ports import Clock, Judge, Judged, LedgerWriter, Progress, Target
    from releasecheck.redact import Redactor

StopReason: TypeAlias = Literal[
    "interrupted", "time_budget", "cost_budget", "target_unusable", "decided"
]
HOPELESS: Final = 10
"""The same failure that retrying cannot mend, this many times in a row, ends the shard early."""


class Stored(NamedTuple):
    """An answer that is on record already."""

    output: Json
    digest: str


class Trial(NamedTuple):
    """What is left to do for one (case, trial)."""

    case: Case
    trial: int
    batch: int
    """Its batch in the shard, 0-based; stopping happens between batches."""
    stored: Stored | None
    """None: the target must be asked."""
    judges: tuple[str, ...]
    """Who has not scored yet."""
    output_lost: bool = False
    """The target answered before, but that answer was not kept and cannot be judged."""


class ToRejudge(NamedTuple):
    """A stored output of an earlier run that judges of this one are to score."""

    side: Side
    case: Case
    """As it stands in this plan: of the same content there, maybe by another id."""
    trial: int
    """Of the earlier run."""
    batch: int
    """As of a trial; no trial of this run has the same."""
    stored: Stored
    judges: tuple[str, ...]


@dataclass(slots=True)
class Stop:
    """A request to take no more trials; the first reason stays, but an interruption outranks all."""

    reason: StopReason | None = None

    def request(self, reason: StopReason) -> None:
        """Ask to stop."""
        if self.reason is None or reason == "interrupted":
            self.reason = reason


@dataclass(slots=True)
class Spent:
    """What the shards of this process, and earlier attempts, have cost so far."""

    cost_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    """When a shard stops by itself, between batches."""

    until: float | None = None
    """On the clock's monotonic scale; None is no limit."""
    cost_usd: float | None = None
    """Against `Shard.spent`; None is no limit."""


class ToShow(NamedTuple):
    """A sentinel that is to be shown to its judge."""

    judge: str
    sentinel: str
    case: JudgeCase
    output: Json
    digest: str


@dataclass(frozen=True, slots=True)
class Shard:
    """Everything a shard needs to run."""

    run_id: str
    index: int
    attempt: int
    trials: Iterator[Trial]
    total: int
    """Number of `trials`, and of outputs to `rejudge`."""
    target: Target | None
    """None: only stored outputs are judged."""
    judges: Mapping[str, Judge]
    ledger: LedgerWriter
    clock: Clock
    redactor: Redactor
    progress: Progress
    stop: Stop
    limits: Limits
    spent: Spent
    workers: int
    """Trials in flight; the target and judges keep their own limits below it."""
    sentinels: tuple[ToShow, ...] = ()
    """Not measured yet in this shard."""
    bulk: frozenset[str] = frozenset()
    """Judges that take many outputs at once: they are left to `run_bulk`."""
    revision: int = FIRST_REVISION
    """Of the scores; a judge that is asked again in a later one is asked something new."""
    rejudge: Iterator[ToRejudge] | None = None
    """Outputs of earlier runs, judged once this run's own trials are done."""
    decided: Callable[[], bool] = lambda: False
    """Whether the run need not go on; asked between batches."""
    drained: Callable[[], None] = lambda: None
    """Called when the last trial was taken: workers fall idle from here on. May be called again."""


@dataclass(slots=True)
class Tally:
    """What a shard did."""

    done: int = 0
    failed: int = 0
    """Trials whose target call failed."""
    calls: int = 0
    """Target calls, retries included."""
    codes: dict[str, int] = field(default_factory=dict)
    """Failures by code."""


async def run_shard(shard: Shard) -> Tally:
    """Work through the trials until they are done or a stop is asked for.

    The caller closes the ledger. Errors of the ledger end everything at once: a record that cannot
    be written must not be worked around.
    """
    run = _Run(shard)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(run.sync_batches())
            async with asyncio.TaskGroup() as workers:
                workers.create_task(run.show_sentinels())
                for _ in range(max(1, min(shard.workers, shard.total))):
                    workers.create_task(run.work())
            run.finish()
    except BaseExceptionGroup as errors:
        # One cause is enough to act on; the rest are its echoes in other workers.
        raise first_cause(errors) from None
    return run.tally


async def run_bulk(
    shard: Shard, trials: Iterator[Trial], rejudge: Iterable[ToRejudge] = ()
) -> None:
    """Hand the outputs of `trials` and of earlier runs, and sentinels, to the judges that take many at once.

    Each judge gets requests of at most as many as it takes; its tickets are on record before the next one.
    """
    run = _Run(shard)
    for judge in sorted(shard.bulk):
        await run.submit_sentinels(judge)
    waiting: dict[str, list[tuple[JudgeAsk, Trial | ToRejudge]]] = {
        judge: [] for judge in shard.bulk
    }
    for trial in chain[Trial | ToRejudge](trials, rejudge):
        if shard.stop.reason is not None:
            return
        if trial.stored is None:
            continue
        for judge in trial.judges:
            if judge not in waiting:
                continue
            waiting[judge].append((run.ask_for(trial, trial.stored, judge), trial))
            if len(waiting[judge]) >= run.bulk_judge(judge).most:
                await run.submit(judge, waiting[judge])
                waiting[judge] = []
    for judge, asks in waiting.items():
        if asks:
            await run.submit(judge, asks)


def first_cause(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first of several errors that one cause had, out of all its groups."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


class _Run:
    """State shared by the workers of one shard; all in one thread."""

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self.tally = Tally()
        self._batch = -1
        self._open: dict[int, int] = {}
        self._wake = asyncio.Event()
        self._unsynced = self._finished = False
        self._hopeless: tuple[str, int] = ("", 0)
        later = shard.revision != FIRST_REVISION
        self._judged_in = f"{shard.run_id}/r{shard.revision}" if later else shard.run_id

    async def work(self) -> None:
        while (trial := self._next()) is not None:
            await self._do(trial)
            self._open[trial.batch] -= 1
            if not self._open[trial.batch]:
                del self._open[trial.batch]
                self._unsynced = True
                self._wake.set()
            self.tally.done += 1
            self.shard.progress.case_done(
                self.shard.index, self.tally.done, self.shard.total, self.tally.failed
            )

    def _take(self) -> Trial | ToRejudge | None:
        trial = next(self.shard.trials, None)
        if trial is None and self.shard.rejudge is not None:
            return next(self.shard.rejudge, None)
        return trial

    def _next(self) -> Trial | ToRejudge | None:
        stop = self.shard.stop
        trial = None if stop.reason is not None else self._take()
        if trial is None:
            self.shard.drained()
            return None
        if trial.batch != self._batch:
            reason = self._limit_reached()
            if reason is not None:
                stop.request(reason)
                return None
            self._batch = trial.batch
        self._open[trial.batch] = self._open.get(trial.batch, 0) + 1
        return trial

    def _limit_reached(self) -> StopReason | None:
        limits = self.shard.limits
        if self.shard.decided():
            return "decided"
        if limits.until is not None and self.shard.clock.monotonic() >= limits.until:
            return "time_budget"
        if limits.cost_usd is not None and self.shard.spent.cost_usd >= limits.cost_usd:
            return "cost_budget"
        return None

    def finish(self) -> None:
        """Nothing more will be recorded: end `sync_batches`; closing the ledger syncs the rest."""
        self._finished = True
        self._wake.set()

    async def sync_batches(self) -> None:
        """Put finished batches on the disk, one sync at a time, without holding up the trials."""
        while not self._finished:
            await self._wake.wait()
            self._wake.clear()
            if self._unsynced:
                self._unsynced = False
                await asyncio.to_thread(self.shard.ledger.sync)

    async def _do(self, trial: Trial | ToRejudge) -> None:
        stored = trial.stored
        if stored is None and isinstance(trial, Trial):
            stored = await self._ask(trial)
        if stored is None:
            return
        for judge in trial.judges:
            if judge not in self.shard.bulk:
                await self._judge(trial, stored, judge)

    async def _ask(self, trial: Trial) -> Stored | None:
        shard, case = self.shard, trial.case
        if shard.target is None:
            return None
        key = f"{shard.run_id}:{case.id}#t{trial.trial}"
        call = TargetCall(case.id, trial.trial, case.input, case.tags, case.metadata, key)
        answer = await shard.target.answer(call)
        self.tally.calls += answer.calls
        shard.spent.cost_usd += answer.usage.cost_usd or 0.0
        match answer:
            case Answered():
                return self._record_answer(trial, answer)
            case TargetFailed():
                self._record_failure(trial, answer.failure, answer)
                return None

    def _record_answer(self, trial: Trial, answer: Answered) -> Stored | None:
        shard = self.shard
        output, notes = answer.output, answer.notes
        if shard.redactor.active:
            redacted = shard.redactor.value(output)
            if redacted != output:
                output, notes = redacted, (*notes, "redacted")
        if trial.output_lost:
            notes = (*notes, OUTPUT_LOST)
        try:
            output_digest = digest(output, from_json=True)
        except JsonProblem as problem:
            broken = failure("target", "target", "not_json", str(problem))
            self._record_failure(trial, broken, TargetFailed(broken, answer.usage, answer.calls))
            return None
        self._hopeless = ("", 0)
        trace_id, model = answer.trace_id, answer.fingerprint
        shard.ledger.append(
            OutputRecord(
                case=trial.case.id,
                trial=trial.trial,
                attempt=shard.attempt,
                output=output,
                output_digest=output_digest,
                failure=None,
                latency_ms=round(answer.latency_ms, 3),
                usage=answer.usage,
                trace_id=None if trace_id is None else shard.redactor.text(trace_id),
                at=shard.clock.now(),
                calls=answer.calls,
                notes=notes,
                fingerprint=None if model is None else shard.redactor.text(model),
            )
        )
        return Stored(output, output_digest)

    def _record_failure(self, trial: Trial, failed: Failure, answer: TargetFailed) -> None:
        shard, tally = self.shard, self.tally
        tally.failed += 1
        tally.codes[failed.code] = tally.codes.get(failed.code, 0) + 1
        if tally.codes[failed.code] == 1:
            shard.progress.note(f"first {failed.code} ({failed.cls}): {failed.message}")
        shard.ledger.append(
            OutputRecord(
                case=trial.case.id,
                trial=trial.trial,
                attempt=shard.attempt,
                output=None,
                output_digest=None,
                failure=failed,
                latency_ms=None,
                usage=answer.usage,
                trace_id=None,
                at=shard.clock.now(),
                calls=answer.calls,
            )
        )
        hopeless = failed.cls == "config" and not failed.retryable
        code, run = self._hopeless
        self._hopeless = (
            (failed.code, run + 1 if code == failed.code else 1) if hopeless else ("", 0)
        )
        if self._hopeless[1] >= HOPELESS:
            shard.stop.request("target_unusable")

    def ask_for(self, trial: Trial | ToRejudge, stored: Stored, judge: str) -> JudgeAsk:
        """What a judge is asked about one output.

        An output of an earlier run is another question than the same output of this one: whoever answers later
        must give a ticket of its own for it.
        """
        case, run_id = trial.case, self.shard.run_id
        shown = JudgeCase(case.id, case.input, case.expected, case.metadata, case.tags, case.split)
        of = f"{trial.side}-" if isinstance(trial, ToRejudge) else ""
        key = f"{self._judged_in}:{case.id}#{of}t{trial.trial}:{judge}:{stored.digest}"
        return JudgeAsk(shown, trial.trial, stored.output, stored.digest, run_id, judge, key)

    async def _judge(self, trial: Trial | ToRejudge, stored: Stored, judge: str) -> None:
        ask = self.ask_for(trial, stored, judge)
        self._record_score(trial, ask, await self.shard.judges[judge].judge(ask))

    def _record_score(self, trial: Trial | ToRejudge, ask: JudgeAsk, judged: Judged) -> None:
        shard, answer = self.shard, judged.answer
        shard.spent.cost_usd += judged.usage.cost_usd or 0.0
        if isinstance(trial, ToRejudge):
            self._record_bridge(trial.side, ask, judged)
            return
        shard.ledger.append(
            ScoreRecord(
                case=ask.case.id,
                trial=ask.trial,
                judge=ask.judge,
                output_digest=ask.output_digest,
                score=self._redacted(answer),
                ticket=answer.ticket if isinstance(answer, Pending) else None,
                usage=judged.usage,
                revision=shard.revision,
                at=shard.clock.now(),
                notes=judged.notes,
            )
        )

    def _record_bridge(self, side: Side, ask: JudgeAsk, judged: Judged) -> None:
        answer = judged.answer
        self.shard.ledger.append(
            BridgeRecord(
                side=side,
                case=ask.case.id,
                trial=ask.trial,
                judge=ask.judge,
                output_digest=ask.output_digest,
                score=self._redacted(answer),
                ticket=answer.ticket if isinstance(answer, Pending) else None,
                usage=judged.usage,
                at=self.shard.clock.now(),
                notes=judged.notes,
            )
        )

    def bulk_judge(self, judge: str) -> BulkJudge:
        """One of the judges that take many outputs at once."""
        found = self.shard.judges[judge]
        assert isinstance(found, BulkJudge)  # noqa: S101 - `Shard.bulk` names no other
        return found

    async def submit(self, judge: str, asks: Sequence[tuple[JudgeAsk, Trial | ToRejudge]]) -> None:
        """One request of a judge that takes many, each answer recorded."""
        answers = await self.bulk_judge(judge).submit([ask for ask, _ in asks])
        for (ask, trial), judged in zip(asks, answers, strict=True):
            self._record_score(trial, ask, judged)
        self.shard.ledger.sync()

    async def show_sentinels(self) -> None:
        """Ask the judges about answers whose score is known, one after the other."""
        for shown in self.shard.sentinels:
            if shown.judge in self.shard.bulk:
                continue
            reason = self.shard.stop.reason
            # A run that ends by what was judged so far needs to know that its judges can be believed.
            if reason is not None and not (reason == "decided" and self._batch >= 0):
                return
            judged = await self.shard.judges[shown.judge].judge(self._sentinel_ask(shown))
            self._record_sentinel(shown, judged)

    async def submit_sentinels(self, judge: str) -> None:
        """The sentinels of a judge that takes many, in one request."""
        mine = [shown for shown in self.shard.sentinels if shown.judge == judge]
        if not mine:
            return
        asks = [self._sentinel_ask(shown) for shown in mine]
        for shown, judged in zip(mine, await self.bulk_judge(judge).submit(asks), strict=True):
            self._record_sentinel(shown, judged)

    def _sentinel_ask(self, shown: ToShow) -> JudgeAsk:
        shard = self.shard
        key = f"{self._judged_in}:{shown.case.id}#s{shard.index}:{shown.judge}:{shown.digest}"
        return JudgeAsk(shown.case, 0, shown.output, shown.digest, shard.run_id, shown.judge, key)

    def _record_sentinel(self, shown: ToShow, judged: Judged) -> None:
        shard, answer = self.shard, judged.answer
        shard.spent.cost_usd += judged.usage.cost_usd or 0.0
        shard.ledger.append(
            SentinelRecord(
                judge=shown.judge,
                sentinel=shown.sentinel,
                shard=shard.index,
                digest=shown.digest,
                score=self._redacted(answer),
                ticket=answer.ticket if isinstance(answer, Pending) else None,
                usage=judged.usage,
                at=shard.clock.now(),
            )
        )

    def _redacted(self, answer: JudgeAnswer) -> JudgeAnswer:
        redactor = self.shard.redactor
        if not redactor.active:
            return answer
        match answer:
            case Scored(value, reason) if reason is not None:
                return Scored(value, redactor.text(reason))
            case NotApplicable(reason):
                return NotApplicable(redactor.text(reason))
            case JudgeFailed(failed) if failed.message is not None:
                text = redactor.text(failed.message)
                return JudgeFailed(failure(failed.cls, failed.stage, failed.code, text,
                                           retryable=failed.retryable))  # fmt: skip
        return answer
