"""Many ledger files -> one verified set of scores (contract section 4, "Merge").

Per (case, trial) the output of the lowest attempt whose target call succeeded counts, and only scores of
that output. Among them measured beats `missing`, which beats its own ticket's `pending`, which beats
`failed`; among measured ones the first counts and a different one is a named conflict. "First" is
(attempt, shard before finish, earlier line). What was measured under a ticket that the judge gave for
another output too counts as failed: it could be the other one's. Nothing depends on the order in which files are read, on
their times, or on how often they were delivered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from releasecheck.canonical import digest_bytes
from releasecheck.merge.bridged import bridged, judged_anew
from releasecheck.merge.choose import choose_outputs, choose_scores
from releasecheck.merge.models import judge_models_of, models_of
from releasecheck.merge.records import FileSeen, Reader, RecordSource, read_all
from releasecheck.merge.rows import AFTER_DEADLINE, CARRIED_OUTPUT, CARRIED_SCORE, WHY_MISSING, Rows
from releasecheck.merge.sentinels import sentinels_seen
from releasecheck.merge.table import (
    flagged,
    name_conflicts,
    open_tickets,
    places_of,
    score_table,
    shared_tickets,
    usage_of,
)
from releasecheck.model.bridge import NO_BRIDGE
from releasecheck.model.record import FIRST_REVISION
from releasecheck.model.table import (
    ANSWERED,
    MISSING,
    NO_OUTPUT,
    TARGET_FAILED,
    CaseRow,
    ScoreTable,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from releasecheck.merge.choose import Outputs
    from releasecheck.model.bridge import Bridge
    from releasecheck.model.plan import Plan
    from releasecheck.model.record import LateRecord
    from releasecheck.model.scorecard import Conflict

__all__ = [
    "Deadline",
    "FileSeen",
    "Merged",
    "RecordSource",
    "judged_anew",
    "merge",
    "merge_revision",
]


@dataclass(frozen=True, slots=True)
class Deadline:
    """Until when a ticket is waited for."""

    judge: str
    ticket: str
    deadline: str


@dataclass(frozen=True, slots=True)
class Merged:
    """The verified set: C cases in plan order, T trials, J judges."""

    table: ScoreTable
    output_at: npt.NDArray[np.int64]
    """[C, T, 2]: (source, byte offset) of the output or failure that counts; -1 where there is none."""
    score_at: npt.NDArray[np.int64]
    """[C, T, J, 2]: (source, byte offset) of the score that counts; -1 where there is none."""
    stored: npt.NDArray[np.bool_]
    """[C, T]: whether the counting output's content is in the ledger."""
    conflicts: tuple[Conflict, ...]
    files: tuple[FileSeen, ...]
    """In precedence order, without re-deliveries."""
    redelivered: tuple[str, ...]
    """Names of files that came twice with the same bytes."""
    unreadable: tuple[str, ...]
    """Names of files whose header was never completed: their attempt died before its first record."""
    duplicates: int
    """Records that said again what was already recorded."""
    outputs_lost: int
    """Outputs that were not stored and therefore asked again before they were judged."""
    judge_usage: npt.NDArray[np.float64]
    """[C, T, J, 2]: cost in USD and tokens of the score that counts; NaN where nobody said."""
    tickets: dict[tuple[int, int, int], str]
    """(case, trial, judge) index -> ticket, for the pairs that are pending."""
    shared_tickets: frozenset[tuple[str, str]]
    """(judge, ticket)s that were given for more than one answer or sentinel: what comes under them is nobody's."""
    deadlines: tuple[Deadline, ...]
    last_sent: dict[str, str]
    """Judge -> when the last case was sent to it, by what shards recorded; whether it answered at once or not."""
    late: tuple[LateRecord, ...]
    """Scores that came after their deadline: evidence, never counted."""
    resumed: int
    """Scores that count and were taken after their deadline, since settling had been interrupted."""
    given_up: dict[tuple[str, str], int]
    """(judge, `deadline`, `interrupted` or `cancelled`) -> scores that did not come and were given up."""
    answered_in_shard: tuple[int, ...]
    """Per shard: (case, trial)s with an output or a failure on record."""
    observation: str
    """Digest over the identity of every output that counts, in plan order; no score is in it."""
    carried_output: npt.NDArray[np.bool_]
    """[C, T]: whether the counting output was recorded in the run that this one retries."""
    carried_score: npt.NDArray[np.bool_]
    """[C, T, J]: whether the counting score was recorded there, or by an earlier revision."""
    models: dict[str, int]
    """Model -> answers that count which it gave, as the target says it; the busiest first."""
    judge_models: dict[str, dict[str, int]]
    """Judge -> model -> measured scores that count."""

    @property
    def recorded_pairs(self) -> int:
        """Pairs that do not lack a record."""
        table = self.table
        answered = (self.score_at[..., 0] >= 0) | (table.target == TARGET_FAILED)[..., None]
        return int(np.count_nonzero(answered))


def merge(
    plan: Plan,
    cases: Sequence[CaseRow],
    shard_of: Sequence[int],
    sources: Sequence[RecordSource],
    bridge: Bridge = NO_BRIDGE,
) -> Merged:
    """Merge ledger files; `shard_of` gives each case's shard, `cases` are in plan order.

    `bridge` says which outputs of earlier runs are judged anew.

    Raises:
        ForeignRecord: a file or record belongs to another run, plan, shard, case or judge.
        Untrusted: one shard and attempt came twice with different bytes.
    """
    read = _read(plan, cases, shard_of, sources, bridge)
    outputs = choose_outputs(plan, len(cases), read.rows)
    return _merged(plan, cases, shard_of, read, outputs, bridge)


def merge_revision(
    first: Plan,
    plan: Plan,
    cases: Sequence[CaseRow],
    shard_of: Sequence[int],
    sources: Sequence[RecordSource],
    bridge: Bridge = NO_BRIDGE,
) -> Merged:
    """Merge ledger files under a later revision of a plan: outputs of the run, scores of the revision alone.

    What the target has not answered stays as it is: no revision calls it. `sources` may hold files of
    other revisions, of which nothing is read.

    Raises:
        ForeignRecord, Untrusted: as `merge`, of each file by the plan that it was written under.
    """
    # What judges of the first revision said of earlier runs is as little read as their other scores.
    base = _read(first, cases, shard_of, _of_revision(sources, first.revision), None)
    own = _read(plan, cases, shard_of, _of_revision(sources, plan.revision), bridge)
    outputs = choose_outputs(first, len(cases), base.rows)
    _take_outputs(own.rows, base.rows, outputs)
    chosen = replace(choose_outputs(plan, len(cases), own.rows), lost=outputs.lost)
    read = _Read(
        own.rows,
        base.files + own.files,
        tuple(sorted(base.redelivered + own.redelivered)),
        tuple(sorted(base.unreadable + own.unreadable)),
    )
    found = _merged(plan, cases, shard_of, read, chosen, bridge)
    answered = (found.table.target == ANSWERED)[..., None]
    return replace(found, table=replace(found.table, mendable=found.table.mendable & answered))


@dataclass(frozen=True, slots=True)
class _Read:
    """Files as columns."""

    rows: Rows
    files: tuple[FileSeen, ...]
    redelivered: tuple[str, ...]
    unreadable: tuple[str, ...]


def _read(
    plan: Plan,
    cases: Sequence[CaseRow],
    shard_of: Sequence[int],
    sources: Sequence[RecordSource | None],
    bridge: Bridge | None,
) -> _Read:
    reader = Reader(plan, cases, shard_of, bridge)
    files, redelivered, unreadable = read_all(reader, sources)
    return _Read(reader.rows, files, redelivered, unreadable)


def _of_revision(sources: Sequence[RecordSource], revision: int) -> list[RecordSource | None]:
    """The files of one revision at their places; one that never got a header is of the first."""
    return [
        source
        if revision == (FIRST_REVISION if source.header is None else source.header.revision)
        else None
        for source in sources
    ]


def _take_outputs(rows: Rows, base: Rows, outputs: Outputs) -> None:
    """Put the outputs that count into columns that hold none."""
    texts = list(base.names)  # in the order of their numbers
    for row in outputs.row[outputs.row >= 0].tolist():
        number = base.out_digest[row]
        rows.out_at.append(base.out_at[row])
        rows.out_digest.append(-1 if number < 0 else rows.intern(texts[number]))
        rows.out_flags.append(base.out_flags[row])
        rows.out_numbers.extend(base.out_numbers[3 * row : 3 * row + 3])
        rows.out_place.extend(base.out_place[2 * row : 2 * row + 2])
        model = base.out_model[row]
        rows.out_model.append(-1 if model < 0 else rows.intern(texts[model]))


def _merged(
    plan: Plan,
    cases: Sequence[CaseRow],
    shard_of: Sequence[int],
    read: _Read,
    outputs: Outputs,
    bridge: Bridge,
) -> Merged:
    rows = read.rows
    scores = choose_scores(plan, outputs, rows)
    table, stored = score_table(plan, tuple(cases), rows, outputs, scores)
    table = replace(table, bridged=bridged(plan, cases, bridge, rows))
    shared = shared_tickets(plan, rows)
    table = replace(table, sentinels=sentinels_seen(plan, table, rows, shard_of, shared))
    return Merged(
        table=table,
        output_at=places_of(outputs.row, rows.out_place, table.target.shape),
        score_at=places_of(scores.row, rows.place, table.state.shape),
        stored=stored,
        conflicts=name_conflicts(plan, cases, rows, scores),
        files=read.files,
        redelivered=read.redelivered,
        unreadable=read.unreadable,
        duplicates=scores.duplicates,
        outputs_lost=outputs.lost,
        judge_usage=usage_of(scores.row, rows.used, table.state.shape),
        tickets=open_tickets(table, rows, scores),
        shared_tickets=shared,
        deadlines=_deadlines(rows),
        last_sent=rows.sent,
        late=tuple(rows.late),
        resumed=_resumed(rows, scores.row),
        given_up=_given_up(plan, rows, scores.row),
        answered_in_shard=_answered(plan, table, shard_of),
        observation=_observation(rows, outputs),
        carried_output=flagged(outputs.row, rows.out_flags, CARRIED_OUTPUT, table.target.shape),
        carried_score=flagged(scores.row, rows.flags, CARRIED_SCORE, table.state.shape),
        models=models_of(rows, outputs),
        judge_models=judge_models_of(plan, rows, scores),
    )


def _observation(rows: Rows, outputs: Outputs) -> str:
    texts = list(rows.names)
    seen = ("" if number < 0 else texts[number] for number in outputs.digest.tolist())
    return digest_bytes("\n".join(seen).encode())


def _answered(plan: Plan, table: ScoreTable, shard_of: Sequence[int]) -> tuple[int, ...]:
    per_case = np.count_nonzero(table.target != NO_OUTPUT, axis=1)
    counted = np.bincount(
        np.asarray(shard_of, dtype=np.int64), weights=per_case, minlength=len(plan.shards)
    )
    return tuple(int(count) for count in counted)


def _resumed(rows: Rows, chosen: npt.NDArray[np.int64]) -> int:
    flags = np.asarray(rows.flags, dtype=np.int8)
    return int(np.count_nonzero(flags[chosen[chosen >= 0]] & AFTER_DEADLINE))


def _given_up(plan: Plan, rows: Rows, chosen: npt.NDArray[np.int64]) -> dict[tuple[str, str], int]:
    flags = np.asarray(rows.flags, dtype=np.int8)
    state = np.asarray(rows.state, dtype=np.int8)
    best = chosen.reshape(-1, len(plan.judges))
    found = {}
    for index, judge in enumerate(plan.judges):
        own = best[best[:, index] >= 0, index]
        own = own[state[own] == MISSING]
        for reason, flag in WHY_MISSING.items():
            count = int(np.count_nonzero(flags[own] & flag))
            if count:
                found[judge.id, reason] = count
    return found


def _deadlines(rows: Rows) -> tuple[Deadline, ...]:
    # A ticket's deadline is fixed when it is first seen, so the first record of each stands.
    first: dict[tuple[str, str], str] = {}
    for record in rows.deadlines:
        for ticket in record.tickets:
            first.setdefault((record.judge, ticket), record.deadline)
    return tuple(Deadline(judge, ticket, at) for (judge, ticket), at in sorted(first.items()))
