"""Which output and which score count: the precedence rules, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from releasecheck.merge.records import HAS_OUTPUT
from releasecheck.model.table import FAILED, MISSING, NOT_APPLICABLE, PENDING, SCORED

if TYPE_CHECKING:
    from releasecheck.merge.records import Rows
    from releasecheck.model.plan import Plan

MEASURED = (SCORED, NOT_APPLICABLE)


@dataclass(frozen=True, slots=True)
class Outputs:
    """Which output counts, per (case, trial)."""

    row: list[int]
    """Per (case, trial): the row that counts, -1 for none."""
    digest: list[int]
    """Per (case, trial): the digest whose scores count, -1 for none."""
    lost: int


def choose_outputs(plan: Plan, cases: int, rows: Rows) -> Outputs:
    """The lowest attempt that succeeded, else the failure of the highest."""
    size = cases * plan.trials
    chosen, last_failure = [-1] * size, [-1] * size
    repeated: dict[int, list[int]] = {}
    for row, at in enumerate(rows.out_at):
        if rows.out_digest[row] < 0:
            last_failure[at] = row
        elif chosen[at] < 0:
            chosen[at] = row
        else:
            repeated.setdefault(at, [chosen[at]]).append(row)
    lost = 0
    judged = _judged(plan, repeated, rows) if repeated else {}
    for at, successes in repeated.items():
        chosen[at], was_lost = _usable(at, successes, judged, len(plan.judges), rows)
        lost += was_lost
    digests = [rows.out_digest[row] if row >= 0 else -1 for row in chosen]
    row_of = [row if row >= 0 else failed for row, failed in zip(chosen, last_failure, strict=True)]
    return Outputs(row_of, digests, lost)


def _judged(
    plan: Plan, repeated: dict[int, list[int]], rows: Rows
) -> dict[tuple[int, int], set[int]]:
    """(case-trial, output digest) -> judges that measured it, where outputs were repeated."""
    judges = len(plan.judges)
    found: dict[tuple[int, int], set[int]] = {}
    for row, pair in enumerate(rows.pair):
        at = pair // judges
        if at in repeated and rows.state[row] in MEASURED:
            found.setdefault((at, rows.digest[row]), set()).add(pair % judges)
    return found


def _usable(
    at: int, successes: list[int], judged: dict[tuple[int, int], set[int]], judges: int, rows: Rows
) -> tuple[int, bool]:
    """The first output that is stored or was judged by all; a lost one is passed over.

    A suite may store no outputs; one that was lost before it was judged is asked again, and then it is
    the new answer that can be judged. Without a usable one the first stands.
    """
    stored: dict[int, int] = {}
    for row in successes:
        if rows.out_flags[row] & HAS_OUTPUT:
            stored.setdefault(rows.out_digest[row], row)
    first = successes[0]
    for row in successes:
        digest = rows.out_digest[row]
        if digest in stored or len(judged.get((at, digest), ())) == judges:
            return row, digest != rows.out_digest[first]
    return first, False


@dataclass(frozen=True, slots=True)
class Scores:
    """Which score counts, per pair."""

    row: list[int]
    """Per pair: the row that counts, -1 for none."""
    conflicts: dict[tuple[int, int, float], None]
    """(pair, state, value) of measurements that contradict the one that counts."""
    duplicates: int
    value_of: dict[int, tuple[int, float]]
    """Pair -> (state, value) that counts, where there are conflicts."""


def choose_scores(plan: Plan, outputs: Outputs, rows: Rows) -> Scores:
    """Among the scores of the output that counts: measured, missing, pending, failed."""
    judges = len(plan.judges)
    best = [-1] * (len(outputs.row) * judges)
    unsettled: dict[int, list[int]] = {}
    others: list[int] = []
    duplicates = 0
    for row, pair in enumerate(rows.pair):
        if rows.digest[row] != outputs.digest[pair // judges]:
            others.append(row)
            continue
        counted = best[pair]
        if rows.state[row] in MEASURED:
            if counted < 0 or rows.state[counted] not in MEASURED:
                best[pair] = row
            else:
                others.append(row)
                duplicates += _same(rows, counted, row)
        elif counted < 0:
            best[pair] = row
        elif rows.state[counted] not in MEASURED:
            unsettled.setdefault(pair, [counted]).append(row)
    for pair, candidates in unsettled.items():
        if rows.state[best[pair]] not in MEASURED:
            best[pair] = _most_settled(candidates, rows)
    return Scores(best, *_conflicting(best, others, rows, duplicates))


def _same(rows: Rows, one: int, other: int) -> bool:
    return rows.state[one] == rows.state[other] and (
        rows.state[one] == NOT_APPLICABLE or rows.value[one] == rows.value[other]
    )


def _conflicting(
    best: list[int], others: list[int], rows: Rows, duplicates: int
) -> tuple[dict[tuple[int, int, float], None], int, dict[int, tuple[int, float]]]:
    conflicts: dict[tuple[int, int, float], None] = {}
    value_of: dict[int, tuple[int, float]] = {}
    for row in others:
        pair = rows.pair[row]
        counted = best[pair]
        if counted < 0 or rows.state[counted] not in MEASURED or rows.state[row] not in MEASURED:
            continue
        if not _same(rows, counted, row):
            state = rows.state[row]
            value = rows.value[row] if state == SCORED else 0.0
            conflicts[pair, state, value] = None
            value_of[pair] = (rows.state[counted], rows.value[counted])
    return dict.fromkeys(sorted(conflicts)), duplicates, value_of


def _most_settled(candidates: list[int], rows: Rows) -> int:
    """Among rows that measured nothing: open pending, then missing, then failed.

    A pending row is closed by a missing or failed one under its own ticket.
    """
    closed = {
        rows.ticket[row]
        for row in candidates
        if rows.state[row] != PENDING and rows.ticket[row] >= 0
    }
    pending = [
        row for row in candidates if rows.state[row] == PENDING and rows.ticket[row] not in closed
    ]
    if pending:
        return pending[0]
    missing = [row for row in candidates if rows.state[row] == MISSING]
    if missing:
        return missing[0]
    return [row for row in candidates if rows.state[row] == FAILED][-1]
