"""The numbers of both sides as arrays, for pictures: rows are read once as a stream, and none is kept."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from releasecheck.model.table import (
    ANSWERED,
    NO_OUTPUT,
    SCORED,
    STATES,
    TARGET_FAILED,
    CaseRow,
    ScoreTable,
)
from releasecheck.stats import case_passes, match_cases

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from releasecheck.model.results import ResultRow
    from releasecheck.model.table import Codes, Indices
    from releasecheck.scorecard.report import Report

_CODES = {state: code for code, state in enumerate(STATES)}
_NONE = float("nan")


@dataclass(frozen=True)
class Measured:
    """Both sides of a run."""

    report: Report
    now: ScoreTable
    before: ScoreTable | None
    """The baseline under the judges of this run; None without one."""
    judged_before: frozenset[str]
    """Judges of this run that the baseline has too."""

    @cached_property
    def matched(self) -> Indices:
        """For each case its index in the baseline, or -1: the pairs that gates compare, and no others."""
        return match_cases(self.now.cases, () if self.before is None else self.before.cases)

    @cached_property
    def passes(self) -> Codes:
        """[C, J] of this run: 1 pass, 0 fail, -1 no verdict."""
        return case_passes(self.now, self.report.plan)

    @cached_property
    def passes_before(self) -> Codes:
        """The same of the baseline."""
        if self.before is None:
            return np.zeros((0, len(self.now.judges)), dtype=np.int8)
        return case_passes(self.before, self.report.plan)

    def apart(self, judge: str) -> str:
        """Why no score of the baseline may stand beside those of this run; empty where they may."""
        used = self.report.scorecard.baseline
        if self.before is None or used is None:
            return "There is no baseline to set beside it."
        if judge in used.rejudged:
            return (
                "Not paired: this judge scored the baseline's stored answers anew for the gates, and what it said "
                "then does not compare."
            )
        if judge in used.judges_changed:
            return "Not comparable: the judge is not the same as in the baseline."
        if judge not in self.judged_before:
            return "Not comparable: the baseline does not have this judge."
        return ""


def measured(report: Report) -> Measured:
    """Read the rows of both sides, each once."""
    judges = tuple(judge.id for judge in report.plan.judges)
    now, _ = _table((view.row for view in report.rows()), judges)
    if report.baseline_rows is None:
        return Measured(report, now, None, frozenset())
    before, seen = _table(report.baseline_rows(), judges)
    return Measured(report, now, before, seen)


def _table(rows: Iterable[ResultRow], judges: Sequence[str]) -> tuple[ScoreTable, frozenset[str]]:
    """Rows in plan order as a table, and the judges that they have."""
    cases: list[CaseRow] = []
    places, states, passed = array("q"), array("b"), array("b")
    values, numbers, target = array("d"), array("d"), array("b")
    seen: set[str] = set()
    for row in rows:
        if not cases or cases[-1].id != row.case:
            cases.append(CaseRow(row.case, row.case_digest, row.split, (), "", 0))
        places.extend((len(cases) - 1, row.trial))
        for said in (row.latency_ms, row.usage.cost_usd, row.usage.tokens):
            numbers.append(_NONE if said is None else said)
        target.append(_target(row))
        if len(seen) < len(judges):
            seen.update(name for name in judges if name in row.scores)
        for judge in judges:
            cell, verdict = row.scores.get(judge), row.passed.get(judge)
            states.append(0 if cell is None else _CODES[cell.state])
            values.append(_NONE if cell is None or cell.value is None else cell.value)
            passed.append(-1 if verdict is None else verdict)
    at = np.array(places, dtype=np.intp).reshape(-1, 2)
    trials = int(at[:, 1].max()) + 1 if len(at) else 1
    shape = (len(cases), trials)
    wide, facts = (*shape, len(judges)), (*shape, 3)
    said_numbers = _spread(np.array(numbers), at, facts, _NONE)
    table = ScoreTable(
        cases=tuple(cases),
        judges=tuple(judges),
        trials=trials,
        target=_spread(np.array(target, dtype=np.int8), at, shape, NO_OUTPUT),
        latency_ms=said_numbers[..., 0],
        cost_usd=said_numbers[..., 1],
        tokens=said_numbers[..., 2],
        state=_spread(np.array(states, dtype=np.int8), at, wide, 0),
        value=_spread(np.array(values), at, wide, _NONE),
        passed=_spread(np.array(passed, dtype=np.int8), at, wide, -1),
        mendable=np.zeros(wide, dtype=np.bool_),
    )
    return table, frozenset(seen)


def _spread(found: np.ndarray, at: Indices, shape: tuple[int, ...], fill: float) -> np.ndarray:
    """Cells of rows at their (case, trial); what no row says stays `fill`."""
    whole = np.full(shape, fill, dtype=found.dtype)
    whole[at[:, 0], at[:, 1]] = found.reshape((len(at), *shape[2:]))
    return whole


def _target(row: ResultRow) -> int:
    if row.failure is not None:
        return TARGET_FAILED
    # An output that is not stored was there all the same where something was measured.
    judged = any(
        _CODES[cell.state] == SCORED or cell.state == "failed" for cell in row.scores.values()
    )
    known = row.output is not None or row.latency_ms is not None or judged
    return ANSWERED if known else NO_OUTPUT
