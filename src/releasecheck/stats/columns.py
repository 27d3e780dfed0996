"""One metric of a score table as (case, trial) arrays, and what becomes of them per case."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from releasecheck.model.table import (
    ANSWERED,
    FAILED,
    MISSING,
    NO_OUTPUT,
    NOT_APPLICABLE,
    SCORED,
    STATES,
    TARGET_FAILED,
)
from releasecheck.stats.exact import exact, exact_sum, quantile_rank

if TYPE_CHECKING:
    from releasecheck.model.gate import Stat
    from releasecheck.model.judge import Judge
    from releasecheck.model.plan import Measurable
    from releasecheck.model.table import Codes, Flags, Floats, Indices, ScoreTable

UNREPORTED: Final = len(STATES)
"""State of a built-in metric that an answered call did not report."""
QUANTILES: Final[dict[str, Fraction]] = {
    "p50": Fraction(50, 100),
    "p90": Fraction(90, 100),
    "p95": Fraction(95, 100),
    "p99": Fraction(99, 100),
}


@dataclass(frozen=True, slots=True)
class Column:
    """What is known of one metric, by case and trial."""

    state: Codes
    """[C, T]: codes of `STATES`, or `UNREPORTED`."""
    value: Floats
    """[C, T]; read only where `state` is SCORED."""
    passed: Codes
    """[C, T]: 1 pass, 0 fail, -1 unknown."""
    target_failed: Flags
    """[C, T]: the target gave no answer."""

    @property
    def scored(self) -> Flags:
        """[C, T]: where there is a value."""
        scored: Flags = self.state == SCORED
        return scored

    @property
    def expected(self) -> Flags:
        """[C, T]: where there should be one: all but not-applicable."""
        expected: Flags = self.state != NOT_APPLICABLE
        return expected

    @property
    def has_value(self) -> Flags:
        """[C]: cases with at least one value."""
        found: Flags = self.scored.any(axis=1)  # type: ignore[assignment]
        return found

    def take(self, rows: Indices) -> Column:
        """The column of some cases, in the order of `rows`."""
        return Column(
            self.state[rows], self.value[rows], self.passed[rows], self.target_failed[rows]
        )

    def count_failures_as(self, value: float) -> Column:
        """The column with every failure of the target as a failing answer of that value.

        Failures of a judge stay what they are.
        """
        counted = self.target_failed & (self.state == FAILED)
        return replace(
            self,
            state=np.where(counted, np.int8(SCORED), self.state),
            value=np.where(counted, value, self.value),
            passed=np.where(counted, np.int8(0), self.passed),
        )


def column(table: ScoreTable, metric: str) -> Column | None:
    """The column of a judge or built-in metric; None where the table has no such judge.

    What the target used and how long it took is known only of calls that were answered: a failure
    makes it missing, never absent from the count.
    """
    failed = table.target == TARGET_FAILED
    if metric in table.judges:
        judge = table.judges.index(metric)
        return Column(
            table.state[:, :, judge], table.value[:, :, judge], table.passed[:, :, judge], failed
        )
    state = np.select(
        [table.target == NO_OUTPUT, failed], [np.int8(MISSING), np.int8(FAILED)], np.int8(SCORED)
    )
    unknown = np.full(table.target.shape, -1, dtype=np.int8)
    match metric:
        case "target_errors":
            known = np.where(table.target == NO_OUTPUT, np.int8(MISSING), np.int8(SCORED))
            return Column(known, failed.astype(np.float64), unknown, failed)
        case "latency_ms":
            value = table.latency_ms
        case "cost_usd":
            value = table.cost_usd
        case "tokens":
            value = table.tokens
        case _:
            return None
    unreported = (table.target == ANSWERED) & ~np.isfinite(value)
    return Column(np.where(unreported, np.int8(UNREPORTED), state), value, unknown, failed)


def rows_of(table: ScoreTable, split: str) -> Indices:
    """Indices of the cases of a split, in plan order; `all` is every case."""
    if split == "all":
        return np.arange(len(table.cases))
    return np.array(
        [index for index, row in enumerate(table.cases) if row.split == split], dtype=np.intp
    )


def judge_specs(plan: Measurable) -> dict[str, Judge]:
    """The plan's judges by id."""
    return {judge.id: judge.spec for judge in plan.judges}


def verdicts(col: Column, pass_rule: str) -> Codes:
    """[C]: 1 pass, 0 fail, -1 no verdict, by `all`, `any`, `majority` or `k-of-n` over scored trials.

    Majority is more than half. A trial without a score leaves the case without a verdict unless the
    others decide alone; so does a case that is not applicable, or that has fewer than k scored trials.
    """
    passes = ((col.passed == 1) & col.scored).sum(axis=1)
    fails = ((col.passed == 0) & col.scored).sum(axis=1)
    decided = passes + fails
    unknown = col.expected.sum(axis=1) - decided
    if pass_rule == "all":
        good, bad = (fails + unknown == 0) & (decided > 0), fails > 0
    elif pass_rule == "any":
        good, bad = passes > 0, (passes + unknown == 0) & (decided > 0)
    elif pass_rule == "majority":
        good, bad = passes > fails + unknown, (passes + unknown <= fails) & (decided > 0)
    else:
        needed = int(pass_rule.partition("-")[0])
        good = passes >= needed
        bad = (passes + unknown < needed) & (decided + unknown >= needed)
    return np.select([good, bad], [np.int8(1), np.int8(0)], np.int8(-1))


def case_passes(table: ScoreTable, plan: Measurable) -> Codes:
    """[C, J], judges in the table's order: 1 pass, 0 fail, -1 no verdict, by each judge's `pass_rule`.

    Of a baseline's table only judges of the same digest may be read: theirs is the same rule.
    """
    specs = judge_specs(plan)
    result = np.full((len(table.cases), len(table.judges)), -1, dtype=np.int8)
    for index, judge in enumerate(table.judges):
        col = column(table, judge)
        if col is not None and judge in specs:
            result[:, index] = verdicts(col, specs[judge].pass_rule)
    return result


def aggregate(stat: Stat, col: Column, pass_rule: str) -> Fraction | None:
    """The exact statistic over what was scored; None where nothing was.

    `mean` averages a case's trials first, so that every case weighs the same. `pass_rate` is the share
    of passing cases among those with a verdict. All others are over single (case, trial) values.
    """
    scored = col.scored
    if stat == "pass_rate":
        passed = verdicts(col, pass_rule)
        known = int((passed >= 0).sum())
        return Fraction(int((passed == 1).sum()), known) if known else None
    cases = int(scored.any(axis=1).sum())
    if cases == 0:
        return None
    if stat == "mean":
        return _sum_of_case_means(col) / cases
    values = col.value[scored]
    if stat == "sum":
        return exact_sum(values)
    return exact(float(np.sort(values)[_rank(stat, values.size) - 1]))


def aggregate_cases(stat: Stat, col: Column, pass_rule: str) -> Fraction | None:
    """The exact statistic with the trials of each case averaged first, whatever the statistic.

    So runs with unequal numbers of trials compare. With one trial it is the same as `aggregate`.
    """
    counts = col.scored.sum(axis=1)
    if stat in {"mean", "pass_rate"} or (counts <= 1).all():
        return aggregate(stat, col, pass_rule)
    if stat == "sum":
        return _sum_of_case_means(col)
    return _mean_at(col, _rank(stat, int(col.has_value.sum())))


def _sum_of_case_means(col: Column) -> Fraction:
    scored = col.scored
    counts = scored.sum(axis=1)
    total = Fraction(0)
    for count in np.unique(counts[counts > 0]).tolist():
        rows = counts == count
        total += exact_sum(col.value[rows][scored[rows]]) / count
    return total


def case_means(col: Column) -> Floats:
    """Each measured case's mean over its scored trials, in order: floating point, for tests and intervals only.

    Always finite: a sum may be beyond floats, the mean of floats never is.
    """
    rows = np.flatnonzero(col.has_value)
    scored = col.scored[rows]
    values, counts = np.where(scored, col.value[rows], 0.0), scored.sum(axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        means: Floats = values.sum(axis=1) / counts
    huge = ~np.isfinite(means)
    if huge.any():
        means[huge] = (values[huge] / counts[huge, None]).sum(axis=1)
        means = np.clip(means, -_LARGEST, _LARGEST)
    return means


_LARGEST: Final = float(np.finfo(np.float64).max)


def zeros_and_ones(col: Column, ends: tuple[float, float] | None) -> bool:
    """Whether every value is a yes or a no, and not an amount, or a grade, that happens to be 0 or 1.

    Args:
        col: The cases.
        ends: The smallest and the largest value of the metric (see `metric_range`); None where they are not
            known, and then the values are believed.
    """
    return ends in (None, (0.0, 1.0)) and bool(np.isin(col.value[col.scored], (0.0, 1.0)).all())


def yes_or_no(col: Column, ends: tuple[float, float] | None) -> bool:
    """The same, and all trials of a case agree: its mean is a verdict."""
    return zeros_and_ones(col, ends) and bool(np.isin(case_means(col), (0.0, 1.0)).all())


def _mean_at(col: Column, rank: int) -> Fraction:
    """The exact mean of the case that is `rank`-th in the order of case means, from 1."""
    rows = np.flatnonzero(col.has_value)
    scored = col.scored[rows]
    values = np.where(scored, col.value[rows], 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        rough = values.sum(axis=1) / scored.sum(axis=1)
        # Far more than rounding can move a mean, far less than most means differ: floating point
        # finds the place, exact arithmetic decides among the few neighbours.
        margin = 1e-9 * np.abs(values).max()
        place = np.sort(rough)[rank - 1]
        below = rough < place - margin
        near = ~below & ~(rough > place + margin)
    if not np.isfinite(rough).all():
        below, near = np.zeros_like(near), np.ones_like(near)
    means: Counter[Fraction] = Counter()
    kept = np.sort(np.where(scored, values, np.nan)[near], axis=1)
    for row, count in zip(*np.unique(kept, axis=0, return_counts=True), strict=True):
        trials = int((~np.isnan(row)).sum())
        means[exact_sum(row[:trials]) / trials] += int(count)
    place_left = rank - int(below.sum())
    for mean in sorted(means):
        place_left -= means[mean]
        if place_left <= 0:
            return mean
    message = f"rank {rank} is beyond the number of cases"
    raise AssertionError(message)


def _rank(stat: Stat, n: int) -> int:
    """The 1-based rank of an order statistic among n values."""
    match stat:
        case "min":
            return 1
        case "max":
            return n
        case _:
            return quantile_rank(n, QUANTILES[stat])
