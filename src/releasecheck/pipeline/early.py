"""Runs that end before every case was asked, since nothing can save them any more (`stop_when_decided`).

Whether a run ended so is derived from plan and ledger like everything else about it: it lacks records, and a
gate blocks whatever they would have brought.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
from typing_extensions import override

from releasecheck.gates.certain import Foresight
from releasecheck.model.judge import sentinel_held, sentinel_ids, value_passes, value_range
from releasecheck.model.record import OutputRecord, ScoreRecord, SentinelRecord
from releasecheck.model.score import JudgeFailed, Missing, NotApplicable, Pending, Scored
from releasecheck.model.table import (
    ANSWERED,
    FAILED,
    MISSING,
    NO_OUTPUT,
    NOT_APPLICABLE,
    PENDING,
    SCORED,
    TARGET_FAILED,
    SentinelSeen,
)
from releasecheck.pipeline.baselines import open_compared
from releasecheck.pipeline.bridge_outcome import bridge_mendable, bridged_to
from releasecheck.ports import LedgerWriter
from releasecheck.stats import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from releasecheck.gates.certain import Certain
    from releasecheck.model.judge import Judge as JudgeSpec
    from releasecheck.model.plan import Plan
    from releasecheck.model.record import Record
    from releasecheck.model.scorecard import GateResult
    from releasecheck.model.table import Compared, ScoreTable
    from releasecheck.pipeline.folders import PlanFolder
    from releasecheck.pipeline.remaining import Recorded

LOOKS: Final = 25
"""How often a run is looked at, at most: a look costs milliseconds, and more in a large run."""


def unasked(table: ScoreTable) -> int:
    """(case, trial)s with something left to do that is not waiting for a judge."""
    todo = table.undone.any(axis=2)
    return int(np.count_nonzero(todo | (table.target == NO_OUTPUT)))


def decided_early(plan: Plan, table: ScoreTable, compared: Compared) -> tuple[Certain, ...]:
    """The gates that ended a run before every case was asked; none where it has to go on, or went to its end."""
    if not _lacks(plan, table):
        return ()
    return Foresight(plan, table.cases, bridged_to(plan, table, compared)).blocks(table)


def _lacks(plan: Plan, table: ScoreTable) -> bool:
    """Whether a run that may end early has not come to its end."""
    return plan.stop_when_decided and (unasked(table) > 0 or bridge_mendable(table) > 0)


def decided_in(folder: PlanFolder, recorded: Recorded) -> tuple[Certain, ...]:
    """The same of records under a plan, read only as far as the plan asks for it."""
    if not _lacks(folder.plan, recorded.merged.table):
        return ()
    return decided_early(folder.plan, recorded.merged.table, open_compared(folder))


def blocking(gates: Sequence[GateResult], certain: Sequence[Certain]) -> tuple[GateResult, ...]:
    """Gate results with those that are certain as blocked; one whose cases are all there stands as it is."""
    known = {one.gate: one for one in certain}
    return tuple(
        gate.model_copy(
            update={
                "outcome": "block",
                "reason": known[gate.id].reason,
                "compared": known[gate.id].compared,
            }
        )
        if gate.outcome == "blocked_missing" and gate.id in known
        else gate
        for gate in gates
    )


def early_notices(table: ScoreTable, certain: Sequence[Certain]) -> Iterator[str]:
    """What a reviewer must know of a run that ended so."""
    if not certain:
        return
    left = (table.mendable | (table.target == NO_OUTPUT)[..., None]).any(axis=(1, 2))
    cases = int(np.count_nonzero(left))
    were = "was" if cases == 1 else "were"
    yield (
        f"decided early: {cases} of {count(len(table.cases), 'case')} {were} not asked to the end, since "
        f"{_surely(certain)} whatever they bring (stop_when_decided); such a run is never promoted"
    )


def early_words(certain: Sequence[Certain]) -> str:
    """Why nothing more is asked, for whoever watches."""
    return f"decided: {_surely(certain)} whatever the rest brings ({certain[0].reason})"


def _surely(certain: Sequence[Certain]) -> str:
    gates = ", ".join(one.gate for one in certain)
    return f"gate {gates} blocks" if len(certain) == 1 else f"gates {gates} block"


class Watch:
    """What a process knows of its run while it goes on, and whether that is enough to end it.

    It follows the records as they are written, so that no file is read again. It may know less than the
    ledgers do, never more; whoever finishes the run derives the same from those.
    """

    def __init__(self, folder: PlanFolder, table: ScoreTable) -> None:
        plan, cases = folder.plan, folder.rows[0]
        self.certain: tuple[Certain, ...] = ()
        """Gates that end the run; none until `decided` found some."""
        self._specs = {judge.id: judge.spec for judge in plan.judges}
        self._judges = {judge.id: at for at, judge in enumerate(plan.judges)}
        self._cases = {case.id: at for at, case in enumerate(cases)}
        compared = bridged_to(plan, table, open_compared(folder))
        self._foresight = Foresight(plan, cases, compared)
        self._sentinels = {(s.judge, s.sentinel, s.shard): s for s in table.sentinels}
        self.table = replace(
            table,
            target=table.target.copy(),
            latency_ms=table.latency_ms.copy(),
            cost_usd=table.cost_usd.copy(),
            tokens=table.tokens.copy(),
            state=table.state.copy(),
            value=table.value.copy(),
            passed=table.passed.copy(),
            mendable=table.mendable.copy(),
        )
        step = plan.cases // LOOKS
        # In records; a small run is looked at between any two batches.
        self._every = 0 if step <= plan.batch else step * plan.trials * (1 + len(plan.judges))
        self._since = self._every
        self._news = True

    def decided(self) -> bool:
        """Whether the run can end; asked between batches, and answered from the last look most of the time."""
        if self.certain:
            return True
        if self._news and self._since >= self._every:
            self._news, self._since = False, 0
            table = replace(self.table, sentinels=tuple(self._sentinels.values()))
            self.certain = self._foresight.blocks(table)
        return bool(self.certain)

    def saw(self, record: Record, shard: int) -> None:
        """Take note of a record of one shard."""
        self._since += 1
        match record:
            case OutputRecord():
                self._saw_output(record)
            case ScoreRecord():
                self._saw_score(record, shard)
            case SentinelRecord():
                self._saw_sentinel(record)
            case _:
                pass  # of earlier runs, and of waiting: nothing that a gate counts here

    def _saw_output(self, record: OutputRecord) -> None:
        table, at = self.table, (self._cases[record.case], record.trial)
        failed = record.failure
        self._news |= self._foresight.measures_calls or (
            failed is not None and not failed.retryable
        )
        table.target[at] = ANSWERED if failed is None else TARGET_FAILED
        usage = record.usage
        table.latency_ms[at] = _number(record.latency_ms)
        table.cost_usd[at] = _number(usage.cost_usd)
        table.tokens[at] = _number(usage.tokens)
        # Scores of an answer that this one replaces count no more.
        table.state[at] = MISSING if failed is None else FAILED
        table.value[at], table.passed[at] = np.nan, -1
        table.mendable[at] = failed is None or failed.retryable

    def _saw_score(self, record: ScoreRecord, shard: int) -> None:
        table, spec = self.table, self._specs[record.judge]
        at = (self._cases[record.case], record.trial, self._judges[record.judge])
        state, value, mendable = MISSING, np.nan, False
        match record.score:
            case Scored(number):
                state, value = SCORED, number
            case NotApplicable():
                state = NOT_APPLICABLE
            case Pending():
                state, mendable = PENDING, True
            case JudgeFailed(failed):
                state, mendable = FAILED, failed.retryable
            case Missing():
                pass
        table.state[at], table.value[at], table.mendable[at] = state, value, mendable
        if state == SCORED:
            passes = value_passes(spec, value)
            table.passed[at] = -1 if passes is None else int(passes)
            self._news |= passes is False or not _at_its_best(spec, value)
            if spec.sentinels:
                self._owe_sentinels(spec, shard)

    def _owe_sentinels(self, spec: JudgeSpec, shard: int) -> None:
        for name in sentinel_ids(spec):
            owed = SentinelSeen(
                spec.id, name, shard, MISSING, None, None, "", None, "", None, mendable=True
            )
            self._sentinels.setdefault((spec.id, name, shard), owed)

    def _saw_sentinel(self, record: SentinelRecord) -> None:
        spec, score = self._specs[record.judge], record.score
        self._owe_sentinels(spec, record.shard)
        key = (record.judge, record.sentinel, record.shard)
        self._news = True
        held, value = None, None
        if isinstance(score, Scored):
            asked = dict(zip(sentinel_ids(spec), spec.sentinels, strict=True))[record.sentinel]
            held, value = sentinel_held(spec, asked, score.value), score.value
        self._sentinels[key] = replace(self._sentinels[key], held=held, value=value)


def _number(said: float | None) -> float:
    return np.nan if said is None else float(said)


def _at_its_best(spec: JudgeSpec, value: float) -> bool:
    known = value_range(spec)
    return known is not None and value == (known[1] if spec.better == "higher" else known[0])


class WatchedLedger(LedgerWriter):
    """A shard's ledger whose records a watch is shown once they are written."""

    def __init__(self, inner: LedgerWriter, watch: Watch, shard: int) -> None:
        self._inner = inner
        self._watch = watch
        self._shard = shard

    @override
    def append(self, record: Record) -> None:
        self._inner.append(record)
        self._watch.saw(record, self._shard)

    @override
    def sync(self) -> None:
        self._inner.sync()

    @override
    def close(self, stopped: str | None) -> None:
        self._inner.close(stopped)


def watch_for(folder: PlanFolder, recorded: Recorded) -> Watch | None:
    """Who watches for the end of a run that may come early; nobody where the plan does not ask for it."""
    if not folder.plan.stop_when_decided:
        return None
    return Watch(folder, recorded.merged.table)
