"""Which output and which score count: the precedence rules, and nothing else.

Rows come in precedence order: (attempt, shard before finish, earlier line). Nothing here looks at what
purging removes, so that a purged ledger merges to the same set.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from releasecheck.merge.rows import ASKED_AGAIN
from releasecheck.model.table import FAILED, MISSING, NOT_APPLICABLE, PENDING, SCORED

if TYPE_CHECKING:
    from releasecheck.merge.rows import Rows
    from releasecheck.model.plan import Plan

Numbers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Outputs:
    """Which output counts, per (case, trial)."""

    row: Numbers
    """The row that counts, output or failure; -1 for none."""
    digest: Numbers
    """The digest whose scores count; -1 for none."""
    lost: int
    """Outputs that were lost before every judge had measured them, and asked again."""


def choose_outputs(plan: Plan, cases: int, rows: Rows) -> Outputs:
    """The lowest attempt that succeeded, else the failure of the highest."""
    at = np.asarray(rows.out_at, dtype=np.int64)
    digest = np.asarray(rows.out_digest, dtype=np.int64)
    succeeded = np.flatnonzero(digest >= 0)
    failed = np.flatnonzero(digest < 0)
    chosen = _first(at, succeeded, cases * plan.trials)
    again = succeeded[(np.asarray(rows.out_flags, dtype=np.int8)[succeeded] & ASKED_AGAIN) > 0]
    again = again[chosen[at[again]] != again]
    lost = 0
    if len(again):
        judged = _judged(plan, set(at[again].tolist()), rows)
        for row in again.tolist():
            lost += _replace(chosen, row, rows, judged, len(plan.judges))
    row_of = chosen.copy()
    failure = np.full(len(chosen), -1, dtype=np.int64)
    failure[at[failed]] = failed  # of several the last, the highest attempt, stays
    row_of[chosen < 0] = failure[chosen < 0]
    digest_of = np.full(len(chosen), -1, dtype=np.int64)
    digest_of[chosen >= 0] = digest[chosen[chosen >= 0]]
    return Outputs(row_of, digest_of, lost)


def _first(key: Numbers, rows: Numbers, size: int) -> Numbers:
    """Per key the first of its rows, -1 for none."""
    first = np.full(size, -1, dtype=np.int64)
    backwards = rows[::-1]
    first[key[backwards]] = backwards  # of several the last one assigned stays
    return first


def _judged(plan: Plan, repeated: set[int], rows: Rows) -> dict[tuple[int, int], set[int]]:
    """(case-trial, output digest) -> judges that measured it, where outputs were asked again."""
    judges = len(plan.judges)
    found: dict[tuple[int, int], set[int]] = {}
    for row, pair in enumerate(rows.pair):
        if pair // judges in repeated and rows.state[row] in (SCORED, NOT_APPLICABLE):
            key = pair // judges, rows.digest[row]
            found.setdefault(key, set()).add(pair % judges)
    return found


def _replace(
    chosen: Numbers, row: int, rows: Rows, judged: dict[tuple[int, int], set[int]], judges: int
) -> bool:
    """Let an output that was asked again take the place of a lost one.

    It says itself that the one before could no longer be judged. One that every judge did measure, by a
    record that whoever asked again did not have, keeps its place.
    """
    at = rows.out_at[row]
    before = rows.out_digest[int(chosen[at])]
    if before != rows.out_digest[row] and len(judged.get((at, before), ())) == judges:
        return False
    chosen[at] = row
    return True


@dataclass(frozen=True, slots=True)
class Scores:
    """Which score counts, per pair."""

    row: Numbers
    """The row that counts, -1 for none."""
    conflicts: tuple[tuple[int, int, int], ...]
    """(pair, row that counts, row that contradicts it), each contradicting result once."""
    duplicates: int


def choose_scores(plan: Plan, outputs: Outputs, rows: Rows) -> Scores:
    """Among the scores of the output that counts: measured, missing, pending, failed."""
    pair = np.asarray(rows.pair, dtype=np.int64)
    state = np.asarray(rows.state, dtype=np.int8)
    counts = np.asarray(rows.digest, dtype=np.int64) == outputs.digest[pair // len(plan.judges)]
    measured = (state == SCORED) | (state == NOT_APPLICABLE)
    best = _first(pair, np.flatnonzero(counts & measured), len(outputs.row) * len(plan.judges))
    contradicting = np.flatnonzero(
        measured & (best[pair] >= 0) & (best[pair] != np.arange(len(pair)))
    )
    same = _same(rows, contradicting, best[pair[contradicting]])
    duplicates = int(np.count_nonzero(same & counts[contradicting]))
    conflicts = _conflicts(rows, best, contradicting[~same])
    unsettled: dict[int, list[int]] = {}
    for row in np.flatnonzero(counts & ~measured & (best[pair] < 0)).tolist():
        unsettled.setdefault(rows.pair[row], []).append(row)
    for key, candidates in unsettled.items():
        best[key] = _most_settled(candidates, rows)
    return Scores(best, conflicts, duplicates)


def _same(rows: Rows, one: Numbers, other: Numbers) -> npt.NDArray[np.bool_]:
    state = np.asarray(rows.state, dtype=np.int8)
    value = np.asarray(rows.value, dtype=np.float64)
    equal = (state[one] == NOT_APPLICABLE) | (value[one] == value[other])
    return np.asarray((state[one] == state[other]) & equal)


def _conflicts(
    rows: Rows, best: Numbers, contradicting: Numbers
) -> tuple[tuple[int, int, int], ...]:
    """Measurements of any output of the pair count here: each is an answer somebody may have seen."""
    found: dict[tuple[int, int, float], int] = {}
    for row in contradicting.tolist():
        value = rows.value[row] if rows.state[row] == SCORED else 0.0
        found.setdefault((rows.pair[row], rows.state[row], value), row)
    return tuple((pair, int(best[pair]), row) for (pair, _, _), row in sorted(found.items()))


def _most_settled(candidates: list[int], rows: Rows) -> int:
    """Among rows that measured nothing: missing, pending, failed.

    `missing` closes its own ticket for good. `failed` under a ticket is that ticket's answer and closes
    it until somebody is told to wait for it again; any other failure leaves it open.
    """
    ended = {rows.ticket[row] for row in candidates if rows.state[row] == MISSING}
    waiting: dict[int, int] = {}
    for row in candidates:
        if rows.state[row] == PENDING and rows.ticket[row] not in ended:
            waiting.setdefault(rows.ticket[row], row)
        elif rows.state[row] == FAILED:
            waiting.pop(rows.ticket[row], None)
    if waiting:
        return min(waiting.values())
    missing = [row for row in candidates if rows.state[row] == MISSING]
    if missing:
        return missing[0]
    return [row for row in candidates if rows.state[row] == FAILED][-1]
