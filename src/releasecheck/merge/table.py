"""What counts as dense arrays, and as names for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from releasecheck.merge.rows import HAS_OUTPUT, RETRYABLE
from releasecheck.model.judge import pass_mark
from releasecheck.model.scorecard import Conflict
from releasecheck.model.table import (
    ANSWERED,
    FAILED,
    MISSING,
    NO_OUTPUT,
    NOT_APPLICABLE,
    PENDING,
    SCORED,
    TARGET_FAILED,
    CaseRow,
    ScoreTable,
)

if TYPE_CHECKING:
    from array import array
    from collections.abc import Sequence

    import numpy.typing as npt

    from releasecheck.merge.choose import Outputs, Scores
    from releasecheck.merge.rows import Rows
    from releasecheck.model.plan import Plan, PlannedJudge

S = TypeVar("S", bound=np.generic)


def score_table(
    plan: Plan, cases: tuple[CaseRow, ...], rows: Rows, outputs: Outputs, scores: Scores
) -> tuple[ScoreTable, npt.NDArray[np.bool_]]:
    """The dense table, and whether each counting output is stored."""
    shape = (len(cases), plan.trials)
    cells = (*shape, len(plan.judges))
    row, digest = outputs.row, outputs.digest
    has_row = row >= 0
    numbers = take(np.asarray(rows.out_numbers, dtype=np.float64).reshape(-1, 3), row, np.nan)
    flags = take(np.asarray(rows.out_flags, dtype=np.int8), row, 0)
    target = np.where(digest >= 0, ANSWERED, np.where(has_row, TARGET_FAILED, NO_OUTPUT))
    numbers[digest < 0, 0] = np.nan  # the latency of a call that failed says nothing
    best = scores.row.reshape(-1, len(plan.judges))
    state = take(np.asarray(rows.state, dtype=np.int8), best, MISSING)
    value = take(np.asarray(rows.value, dtype=np.float64), best, np.nan)
    retryable = (take(np.asarray(rows.flags, dtype=np.int8), best, 0) & RETRYABLE) > 0
    failed = (target == TARGET_FAILED)[:, None]
    unsure = _of_shared_tickets(plan, rows, best, state)
    state = np.where(failed | unsure, FAILED, state).astype(np.int8)
    value[unsure] = np.nan
    no_record = (best < 0) & ~failed
    target_again = failed & ((flags & RETRYABLE) > 0)[:, None]
    mendable = no_record | (state == PENDING) | retryable | target_again
    table = ScoreTable(
        cases=cases,
        judges=tuple(judge.id for judge in plan.judges),
        trials=plan.trials,
        target=target.astype(np.int8).reshape(shape),
        latency_ms=numbers[:, 0].reshape(shape),
        cost_usd=numbers[:, 1].reshape(shape),
        tokens=numbers[:, 2].reshape(shape),
        state=state.reshape(cells),
        value=value.reshape(cells),
        passed=passed_by(plan.judges, state, value).reshape(cells),
        mendable=mendable.reshape(cells),
    )
    stored = ((flags & HAS_OUTPUT) > 0) & (digest >= 0)
    return table, stored.reshape(shape)


def _of_shared_tickets(
    plan: Plan, rows: Rows, best: npt.NDArray[np.int64], state: npt.NDArray[np.int8]
) -> npt.NDArray[np.bool_]:
    """Measurements that came under a ticket which the judge gave for another output or a sentinel too.

    The other output may be one of an earlier run.

    Each could be the other one's. Shards that asked before they ended could not know of each other.
    """
    ticket = take(np.asarray(rows.ticket, dtype=np.int64), best, -1)
    given = ticket * best.shape[1] + np.arange(best.shape[1])
    _, group, counts = np.unique(given[ticket >= 0], return_inverse=True, return_counts=True)
    shared = np.zeros(state.shape, dtype=np.bool_)
    shared[ticket >= 0] = counts[group] > 1
    index = {judge.id: number for number, judge in enumerate(plan.judges)}
    of_sentinels = [
        rows.names[one.ticket] * best.shape[1] + index[one.judge]
        for one in rows.sentinels
        if one.ticket in rows.names
    ]
    shared |= (ticket >= 0) & np.isin(given, of_sentinels)
    if rows.bridge is not None:
        shared |= (ticket >= 0) & np.isin(given, given_for(rows.bridge, best.shape[1]))
    measured: npt.NDArray[np.bool_] = (state == SCORED) | (state == NOT_APPLICABLE)
    return shared & measured


def given_for(rows: Rows, judges: int) -> npt.NDArray[np.int64]:
    """Every ticket in some columns with its judge, as one number: ticket x judges + judge."""
    ticket = np.asarray(rows.ticket, dtype=np.int64)
    judge = np.asarray(rows.pair, dtype=np.int64) % judges
    found: npt.NDArray[np.int64] = (ticket * judges + judge)[ticket >= 0]
    return found


def shared_tickets(plan: Plan, rows: Rows) -> frozenset[tuple[str, str]]:
    """(judge, ticket)s that the judge gave for more than one answer, of whichever run, or sentinel."""
    judges = len(plan.judges)
    index = {judge.id: number for number, judge in enumerate(plan.judges)}
    given, holder = [], []
    for at, columns in enumerate((rows, rows.bridge)):
        if columns is not None:
            ticket = np.asarray(columns.ticket, dtype=np.int64)
            pair = np.asarray(columns.pair, dtype=np.int64)
            given.append((ticket * judges + pair % judges)[ticket >= 0])
            holder.append((pair // judges * 3 + at)[ticket >= 0])
    names: dict[str, int] = {}
    shown = [one for one in rows.sentinels if one.ticket is not None]
    tickets = [rows.intern(one.ticket or "") * judges + index[one.judge] for one in shown]
    given.append(np.array(tickets, dtype=np.int64))
    numbers = [names.setdefault(one.sentinel, len(names)) * 3 + 2 for one in shown]
    holder.append(np.array(numbers, dtype=np.int64))
    each = np.unique(np.stack([np.concatenate(given), np.concatenate(holder)]), axis=1)
    codes, counts = np.unique(each[0], return_counts=True)
    texts = list(rows.names)
    return frozenset(
        (plan.judges[code % judges].id, texts[code // judges])
        for code in codes[counts > 1].tolist()
    )


def take(column: npt.NDArray[S], index: npt.NDArray[np.int64], absent: float) -> npt.NDArray[S]:
    """`column[index]`, with `absent` where the index is -1; also for an empty column."""
    padded = np.concatenate([column, np.full((1, *column.shape[1:]), absent, dtype=column.dtype)])
    taken: npt.NDArray[S] = padded[index]
    return taken


def passed_by(
    judges: Sequence[PlannedJudge],
    state: npt.NDArray[np.int8],
    value: npt.NDArray[np.float64],
) -> npt.NDArray[np.int8]:
    """Whether each value passes by its judge's mark: 1, 0, or -1 where nobody can say."""
    passed = np.full(state.shape, -1, dtype=np.int8)
    for index, judge in enumerate(judges):
        mark = pass_mark(judge.spec)
        if mark is None:
            continue
        scored = state[:, index] == SCORED
        column = value[scored, index]
        passed[scored, index] = column >= mark if judge.spec.better == "higher" else column <= mark
    return passed


def places_of(
    chosen: npt.NDArray[np.int64], places: array[int], shape: tuple[int, ...]
) -> npt.NDArray[np.int64]:
    """(source, byte offset) of each chosen row, -1 where there is none."""
    pairs = np.asarray(places, dtype=np.int64).reshape(-1, 2)
    return take(pairs, chosen, -1).reshape(*shape, 2)


def flagged(
    chosen: npt.NDArray[np.int64], flags: array[int], flag: int, shape: tuple[int, ...]
) -> npt.NDArray[np.bool_]:
    """Whether each chosen row has a flag; False where there is none."""
    found = take(np.asarray(flags, dtype=np.int8), chosen, 0) & flag
    return np.asarray(found > 0).reshape(shape)


def usage_of(
    chosen: npt.NDArray[np.int64], used: array[float], shape: tuple[int, ...]
) -> npt.NDArray[np.float64]:
    """(cost in USD, tokens) of each chosen row, NaN where nobody said."""
    pairs = np.asarray(used, dtype=np.float64).reshape(-1, 2)
    return take(pairs, chosen, np.nan).reshape(*shape, 2)


def name_conflicts(
    plan: Plan, cases: Sequence[CaseRow], rows: Rows, scores: Scores
) -> tuple[Conflict, ...]:
    """Every contradicting measurement by its case, trial and judge."""

    def value_of(row: int) -> float | None:
        return rows.value[row] if rows.state[row] == SCORED else None

    found = []
    for pair, counted, other in scores.conflicts:
        at, judge = divmod(pair, len(plan.judges))
        case, trial = divmod(at, plan.trials)
        found.append(
            Conflict(
                case=cases[case].id,
                trial=trial,
                judge=plan.judges[judge].id,
                counted=value_of(counted),
                other=value_of(other),
            )
        )
    return tuple(found)


def open_tickets(table: ScoreTable, rows: Rows, scores: Scores) -> dict[tuple[int, int, int], str]:
    """(case, trial, judge) index -> ticket, for the pairs that are pending."""
    texts = {number: text for text, number in rows.names.items()}
    trials, judges = table.trials, len(table.judges)
    found = {}
    for case, trial, judge in np.argwhere(table.state == PENDING).tolist():
        row = scores.row[(case * trials + trial) * judges + judge]
        found[case, trial, judge] = texts[rows.ticket[row]]
    return found
