"""What became of the stored outputs of earlier runs that this run's judges scored anew.

Which score counts is decided as for this run's own outputs. The outputs never change: they are those of
the files that the plan pins. A ticket that a judge gave for another output too, of whichever run, is worth
nothing here either.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from releasecheck.merge.choose import Outputs, choose_scores
from releasecheck.merge.rows import AFTER_DEADLINE, RETRYABLE, WHY_MISSING
from releasecheck.merge.table import given_for, passed_by, take, usage_of
from releasecheck.model.bridge import NOT_STORED, Bridged, OpenTicket, Rejudged
from releasecheck.model.table import (
    ANSWERED,
    FAILED,
    MISSING,
    NOT_APPLICABLE,
    PENDING,
    SCORED,
    TARGET_FAILED,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from releasecheck.merge.choose import Numbers, Scores
    from releasecheck.merge.rows import Rows
    from releasecheck.model.bridge import Bridge, Earlier
    from releasecheck.model.plan import Plan
    from releasecheck.model.table import Baseline, CaseRow, Codes, Flags, Floats, ScoreTable


def bridged(
    plan: Plan, cases: Sequence[CaseRow], bridge: Bridge, rows: Rows
) -> tuple[Bridged, ...]:
    """Each side of a bridge, complete or not."""
    if not bridge.sides:
        return ()
    own = rows.of_bridge()
    digests = np.array(
        [
            -1 if text == NOT_STORED else rows.intern(text)
            for side in bridge.sides
            for text in side.digests
        ],
        dtype=np.int64,
    )
    chosen = choose_scores(plan, Outputs(digests, digests, 0), own)
    shared = _shared(plan, rows, chosen)
    found = []
    for side in bridge.sides:
        start = bridge.start_of(side.side)
        found.append(_side(plan, cases, side, own, chosen, shared, start))
    return tuple(found)


def _shared(plan: Plan, rows: Rows, chosen: Scores) -> npt.NDArray[np.bool_]:
    """Scores under a ticket that the judge gave for another output, or a sentinel, too."""
    judges = len(plan.judges)
    own = rows.of_bridge()
    index = {judge.id: number for number, judge in enumerate(plan.judges)}
    ticket = take(np.asarray(own.ticket, dtype=np.int64), chosen.row, -1)
    given = ticket * judges + np.arange(len(chosen.row)) % judges
    _, group, counts = np.unique(given[ticket >= 0], return_inverse=True, return_counts=True)
    found = np.zeros(len(chosen.row), dtype=np.bool_)
    found[ticket >= 0] = counts[group] > 1
    elsewhere = given_for(rows, judges)
    sentinels = [
        rows.names[one.ticket] * judges + index[one.judge]
        for one in rows.sentinels
        if one.ticket in rows.names
    ]
    found |= (ticket >= 0) & (np.isin(given, elsewhere) | np.isin(given, sentinels))
    return found


def _side(
    plan: Plan,
    cases: Sequence[CaseRow],
    side: Earlier,
    own: Rows,
    chosen: Scores,
    shared: npt.NDArray[np.bool_],
    start: int,
) -> Bridged:
    judges = len(plan.judges)
    mine = [index for index, judge in enumerate(plan.judges) if judge.id in side.judges]
    cut = slice(start * judges, (start + side.cells) * judges)
    best = chosen.row[cut].reshape(side.cells, judges)
    unsure = shared[cut].reshape(side.cells, judges)
    matched = np.zeros(side.target.shape[0], dtype=np.bool_)
    matched[side.partner[side.partner >= 0]] = True
    state, value, mendable = _read(own, best, unsure)
    target = side.target.reshape(-1)
    there = np.array([text != NOT_STORED for text in side.digests], dtype=np.bool_)
    asked = np.repeat(matched, side.trials) & (target == ANSWERED)
    state = np.where((target == TARGET_FAILED)[:, None], np.int8(FAILED), state)
    mendable &= (asked & there)[:, None]
    passed = passed_by(plan.judges, state, value)
    shape = (*side.target.shape, len(mine))
    flags = np.asarray(own.flags, dtype=np.int8)
    given_up = {
        (plan.judges[index].id, reason): count
        for index in mine
        for reason, flag in WHY_MISSING.items()
        if (count := _given_up(best[:, index], state[:, index], flags, flag))
    }
    return Bridged(
        side=side.side,
        judges=side.judges,
        partner=side.partner,
        matched=matched,
        state=state[:, mine].astype(np.int8).reshape(shape),
        value=value[:, mine].reshape(shape),
        passed=passed[:, mine].reshape(shape),
        mendable=mendable[:, mine].reshape(shape),
        asked=(asked & there).reshape(side.target.shape),
        unstored=(asked & ~there).reshape(side.target.shape),
        used=usage_of(best[:, mine].reshape(-1), own.used, shape),
        open=tuple(_open(plan, cases, side, own, best, state)),
        given_up=given_up,
        late=sum(record.side == side.side for record in own.late),
        resumed=int(np.count_nonzero(take(flags, best, 0) & AFTER_DEADLINE)),
        conflicts=tuple(_conflicts(plan, cases, side, chosen, start)),
    )


def _read(own: Rows, best: Numbers, unsure: npt.NDArray[np.bool_]) -> tuple[Codes, Floats, Flags]:
    """State, value, and whether something is left to do, of each (cell, judge)."""
    state = take(np.asarray(own.state, dtype=np.int8), best, MISSING)
    value = take(np.asarray(own.value, dtype=np.float64), best, np.nan)
    retryable = (take(np.asarray(own.flags, dtype=np.int8), best, 0) & RETRYABLE) > 0
    unsure = unsure & ((state == SCORED) | (state == NOT_APPLICABLE))
    state = np.where(unsure, np.int8(FAILED), state)
    value[unsure] = np.nan
    return state, value, (best < 0) | (state == PENDING) | retryable


def _given_up(best: Numbers, state: Codes, flags: npt.NDArray[np.int8], flag: int) -> int:
    gone = best[(best >= 0) & (state == MISSING)]
    return int(np.count_nonzero(flags[gone] & flag))


def _case_of(cases: Sequence[CaseRow], side: Earlier) -> dict[int, str]:
    """Index there -> id in this plan."""
    here = np.flatnonzero(side.partner >= 0)
    return {int(side.partner[index]): cases[index].id for index in here.tolist()}


def _open(
    plan: Plan,
    cases: Sequence[CaseRow],
    side: Earlier,
    own: Rows,
    best: Numbers,
    state: Codes,
) -> list[OpenTicket]:
    pending = np.argwhere(state == PENDING).tolist()
    if not pending:
        return []
    names, texts = _case_of(cases, side), list(own.names)
    found = []
    for cell, judge in pending:
        row = int(best[cell, judge])
        case, trial = divmod(cell, side.trials)
        found.append(
            OpenTicket(
                judge=plan.judges[judge].id,
                ticket=texts[own.ticket[row]],
                case=names[case],
                trial=trial,
                digest=side.digests[cell],
                source=own.place[2 * row],
                offset=own.place[2 * row + 1],
            )
        )
    return found


def _conflicts(
    plan: Plan, cases: Sequence[CaseRow], side: Earlier, chosen: Scores, start: int
) -> list[str]:
    names = _case_of(cases, side)
    found = []
    for pair, _, _ in chosen.conflicts:
        cell, judge = divmod(pair, len(plan.judges))
        if start <= cell < start + side.cells:
            case = names[(cell - start) // side.trials]
            found.append(f"{plan.judges[judge].id} of {case}")
    return found


def judged_anew(plan: Plan, baseline: Baseline, seen: Bridged | None) -> Baseline:
    """A baseline with the columns of judges that scored its outputs anew.

    Cases that this plan does not hold keep what was scored then: they only count as what is no longer
    compared. Where the judge was not there at all, they count so if they were answered.
    """
    if seen is None:
        return baseline
    table, digests, said = baseline.table, dict(baseline.judge_digests), {}
    identity = {judge.id: judge.digest for judge in plan.judges}
    away = ~seen.matched
    for index, judge in enumerate(seen.judges):
        table = _with_column(table, judge, seen, index)
        digests[judge] = identity[judge]
        state = seen.state[:, :, index]
        said[judge] = Rejudged(
            outputs=int(np.count_nonzero((state == SCORED) | (state == NOT_APPLICABLE))),
            unstored=int(np.count_nonzero(seen.unstored)),
            mixed=bool(away.any()),
        )
    return replace(
        baseline,
        table=table,
        judge_digests=digests,
        # What the judge of then was worth does not matter any more.
        unproven=baseline.unproven - frozenset(seen.judges),
        rejudged=said,
    )


def _with_column(table: ScoreTable, judge: str, seen: Bridged, index: int) -> ScoreTable:
    away = ~seen.matched
    if judge in table.judges:
        at = table.judges.index(judge)
        judges = table.judges
        state, value, passed = table.state.copy(), table.value.copy(), table.passed.copy()
    else:
        at, judges = len(table.judges), (*table.judges, judge)
        answered = table.target == ANSWERED
        failed = np.where(table.target == TARGET_FAILED, np.int8(FAILED), np.int8(MISSING))
        none = np.full(table.target.shape, np.nan)
        state = np.dstack([table.state, np.where(answered, np.int8(SCORED), failed)])
        value = np.dstack([table.value, none])
        passed = np.dstack([table.passed, np.full(table.target.shape, -1, dtype=np.int8)])
    here = ~away
    state[here, :, at] = seen.state[here, :, index]
    value[here, :, at] = seen.value[here, :, index]
    passed[here, :, at] = seen.passed[here, :, index]
    return replace(
        table,
        judges=judges,
        state=state,
        value=value,
        passed=passed,
        mendable=np.zeros(state.shape, dtype=np.bool_),
    )
