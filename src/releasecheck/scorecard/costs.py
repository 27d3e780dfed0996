"""What the run used: of target and judges, for each answer, and against the baseline; what nobody said is named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from releasecheck.model.table import ANSWERED
from releasecheck.scorecard.numbers import NOTHING, change, shown
from releasecheck.stats import count, exact_sum

if TYPE_CHECKING:
    from releasecheck.model.table import Floats, ScoreTable
    from releasecheck.scorecard.measured import Measured

NOT_SAID: Final = "not said"


@dataclass(frozen=True, slots=True)
class CostRow:
    """What one of them used, in one unit."""

    what: str
    total: str
    each: str
    """For each answer that said it."""
    baseline: str
    """The same in the baseline."""
    change: str
    said: str
    """`84 of 84 answers`."""


@dataclass(frozen=True, slots=True)
class CostTable:
    """The table; without rows nobody said anything."""

    rows: tuple[CostRow, ...]
    notes: tuple[str, ...]


def cost_table(data: Measured) -> CostTable:
    """Costs and tokens of a run."""
    costs = data.report.scorecard.costs
    now, before = data.now, data.before
    pairs = (
        (
            "Target, cost",
            "cost_usd",
            costs.target_usd,
            now.cost_usd,
            None if before is None else before.cost_usd,
        ),
        (
            "Target, tokens",
            "tokens",
            costs.target_tokens,
            now.tokens,
            None if before is None else before.tokens,
        ),
    )
    rows = [
        _target(what, metric, total, data, here, there)
        for what, metric, total, here, there in pairs
    ]
    rows += [
        CostRow(
            what,
            _amount(metric, total),
            _each(metric, total, len(now.cases)),
            NOTHING,
            NOTHING,
            NOTHING,
        )
        for what, metric, total in (
            ("Judges, cost", "cost_usd", costs.judges_usd),
            ("Judges, tokens", "tokens", costs.judges_tokens),
        )
    ]
    if all(row.total == NOT_SAID and row.baseline in (NOTHING, NOT_SAID) for row in rows):
        return CostTable((), ())
    notes = []
    if costs.unknown:
        notes.append(
            f"Cost not said by {count(costs.unknown, 'answer')}; the totals are without it."
        )
    if costs.outputs_lost:
        notes.append(
            f"{count(costs.outputs_lost, 'answer')} had to be asked for again, and both times are in the totals."
        )
    return CostTable(tuple(rows), tuple(notes))


def _target(
    what: str,
    metric: str,
    total: float | None,
    data: Measured,
    here: Floats,
    there: Floats | None,
) -> CostRow:
    each, said = _mean(data.now, here)
    then = None if there is None or data.before is None else _mean(data.before, there)[0]
    answered = int((data.now.target == ANSWERED).sum())
    if total is None and said:
        total = float(exact_sum(here[np.isfinite(here)]))
    baseline = (
        NOTHING
        if there is None
        else NOT_SAID
        if then is None
        else shown(metric, then, (each if then != each else None,))
    )
    return CostRow(
        what,
        _amount(metric, total),
        NOT_SAID if each is None else shown(metric, each, (then if then != each else None,)),
        baseline,
        change(metric, None if each is None or then is None else each - then),
        f"{said:,} of {count(answered, 'answer')}",
    )


def _mean(table: ScoreTable, values: Floats) -> tuple[float | None, int]:
    """For each answer that said it, and how many did."""
    found = values[np.isfinite(values) & (table.target == ANSWERED)]
    if not found.size:
        return None, 0
    return float(exact_sum(found) / int(found.size)), int(found.size)


def _amount(metric: str, total: float | None) -> str:
    if total is None:
        return NOT_SAID
    return f"{int(total):,}" if metric == "tokens" else shown(metric, total)


def _each(metric: str, total: float | None, cases: int) -> str:
    return NOT_SAID if total is None or not cases else f"{shown(metric, total / cases)} a case"
