"""What changed against the baseline, and what is not there: facts beside the gates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from releasecheck.model.scorecard import CaseChanges, Flips, Incomplete
from releasecheck.model.table import FAILED, MISSING
from releasecheck.stats import case_passes, column, count_of, match_cases

if TYPE_CHECKING:
    from releasecheck.model.plan import Measurable
    from releasecheck.model.table import Baseline, ScoreTable


def flips(table: ScoreTable, plan: Measurable, baseline: Baseline | None) -> dict[str, Flips]:
    """Cases that went from pass to fail or back, for each judge that a gate names, in plan order.

    Only where both sides have a verdict, each under its own stored pass marks (X-23), and only for
    judges that are the same on both sides.
    """
    if baseline is None or not baseline.finalized:
        return {}
    gated = {gate.metric for gate in plan.gates}
    judges = [
        judge.id
        for judge in plan.judges
        if judge.id in gated and baseline.judge_digests.get(judge.id) == judge.digest
    ]
    matched = match_cases(table.cases, baseline.table.cases)
    rows = np.flatnonzero(matched >= 0)
    now, before = case_passes(table, plan)[rows], case_passes(baseline.table, plan)[matched[rows]]
    found: dict[str, Flips] = {}
    for judge in judges:
        if judge not in baseline.table.judges:
            continue
        here = now[:, table.judges.index(judge)]
        there = before[:, baseline.table.judges.index(judge)]
        worse, better = rows[(there == 1) & (here == 0)], rows[(there == 0) & (here == 1)]
        found[judge] = Flips(
            new_failures=tuple(table.cases[row].id for row in worse.tolist()),
            new_passes=tuple(table.cases[row].id for row in better.tolist()),
        )
    return found


def case_changes(table: ScoreTable, baseline: Baseline, *, partial: bool = False) -> CaseChanges:
    """How the dataset differs from the baseline's.

    A partial plan says nothing about cases it does not hold, so with `partial` none is `removed`.
    """
    earlier = baseline.table.cases
    matched = match_cases(table.cases, earlier).tolist()
    earlier_ids = {row.id: index for index, row in enumerate(earlier)}
    taken = {index for index in matched if index >= 0}
    changed, added, renamed, same = [], [], [], 0
    for row, there in zip(table.cases, matched, strict=True):
        if there >= 0 and earlier[there].id == row.id:
            same += 1
        elif there >= 0:
            renamed.append((earlier[there].id, row.id))
        elif row.id in earlier_ids and earlier_ids[row.id] not in taken:
            changed.append(row.id)
            taken.add(earlier_ids[row.id])
        else:
            added.append(row.id)
    removed = () if partial else (r.id for i, r in enumerate(earlier) if i not in taken)
    return CaseChanges(
        same=same,
        changed=tuple(changed),
        added=tuple(added),
        removed=tuple(removed),
        renamed=tuple(renamed),
    )


def incomplete(table: ScoreTable, plan: Measurable) -> tuple[Incomplete, ...]:
    """Judges with failed or missing scores, in plan order, counted in cases (S1-09, S1-43).

    A case with several trials counts once, as failed if any of them failed. Cases to which the judge is
    not applicable are not expected of it; pending ones are not counted here, somebody waits for them.
    """
    found = []
    for judge in plan.judges:
        col = column(table, judge.id)
        if col is None:
            message = f"the score table has no judge {judge.id}"
            raise ValueError(message)
        failed = (col.state == FAILED).any(axis=1)
        missing = (col.state == MISSING).any(axis=1) & ~failed
        lacking = int(failed.sum() + missing.sum())
        expected = int(col.expected.any(axis=1).sum())
        if lacking:
            found.append(
                Incomplete(
                    judge=judge.id,
                    missing=int(missing.sum()),
                    failed=int(failed.sum()),
                    expected=expected,
                    message=f"no score from judge:{judge.id} for {count_of(lacking, expected)}",
                )
            )
    return tuple(found)
