"""What a gate is about: its cases, its metric, which way is worse."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from releasecheck.model.gate import BUILTIN_METRICS, favours_failures
from releasecheck.model.judge import has_pass_mark, metric_range, value_range
from releasecheck.stats import column

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from releasecheck.model.gate import Against, GateSpec
    from releasecheck.model.plan import Plan, PlannedJudge
    from releasecheck.model.suite import Quarantined
    from releasecheck.model.table import CaseRow, Flags, ScoreTable
    from releasecheck.stats import Column


@dataclass(frozen=True, slots=True)
class Subject:
    """A gate with the judge behind its metric."""

    gate: GateSpec
    judge: PlannedJudge | None
    """None for a built-in metric."""
    quarantine: frozenset[str] = frozenset()
    """Ids of cases that are left out of it."""

    @classmethod
    def of(cls, gate: GateSpec, plan: Plan) -> Subject:
        """Find the gate's judge in the plan.

        Raises:
            ValueError: the metric is neither a judge of the plan nor built in; `plan` refuses that.
        """
        return cls.among(gate, plan.judges, plan.quarantine)

    @classmethod
    def among(
        cls, gate: GateSpec, judges: Iterable[PlannedJudge], quarantine: Iterable[Quarantined]
    ) -> Subject:
        """The same before there is a plan."""
        judge = next((judge for judge in judges if judge.id == gate.metric), None)
        if judge is None and gate.metric not in BUILTIN_METRICS:
            message = f"gate {gate.id}: {gate.metric} is neither a judge nor a built-in metric"
            raise ValueError(message)
        aside = {one.case for one in quarantine if one.judge in (None, gate.metric)}
        return cls(gate, judge, frozenset(aside))

    @property
    def against(self) -> Against:
        """Which earlier run it compares with, where it compares with one."""
        rule = self.gate.no_regression
        return "baseline" if rule is None else rule.side

    @property
    def noun(self) -> str:
        """What a case without a value lacks."""
        return "score" if self.judge is not None else self.gate.metric

    @property
    def lower_is_better(self) -> bool:
        """Whether a rise is the regression; built-in metrics all measure badness (B86).

        Never of a share of passing cases: its judge's `pass_at` was turned round already.
        """
        return self.gate.stat != "pass_rate" and self._low_values_are_good

    @property
    def _low_values_are_good(self) -> bool:
        return self.judge is None or self.judge.spec.better == "lower"

    @property
    def ends(self) -> tuple[float, float] | None:
        """The smallest and the largest value there can be; None where only the judge's author knows."""
        return metric_range(self.gate.metric, None if self.judge is None else self.judge.spec)

    @property
    def span(self) -> float | None:
        """The largest difference two values can have; None where there is no such bound."""
        ends = self.ends
        return None if ends is None or math.isinf(ends[1]) else ends[1] - ends[0]

    @property
    def pass_rule(self) -> str:
        """How several trials make a case pass."""
        return "majority" if self.judge is None else self.judge.spec.pass_rule

    @property
    def has_pass_mark(self) -> bool:
        """Whether cases pass or fail by this metric."""
        return self.judge is not None and has_pass_mark(self.judge.spec)

    @property
    def needs_verdicts(self) -> bool:
        """Whether the rule is about passing cases."""
        rule = self.gate.no_regression
        return (
            self.gate.require is not None
            or self.gate.stat == "pass_rate"
            or (rule is not None and rule.max_new_failures is not None)
        )

    @property
    def needs_values(self) -> bool:
        """Whether the rule is about values."""
        return self.gate.require is None and self.gate.stat != "pass_rate"

    def column(self, table: ScoreTable) -> Column | None:
        """The metric in a table, failures of the target counted as the gate says.

        The same on both sides of a comparison: it is one metric. Where they cannot be counted (see
        `uncountable`) a failure stays a failure.
        """
        col = column(table, self.gate.metric)
        if col is None or self.judge is None or self.gate.on_target_failure == "refuse":
            return col
        if self.uncountable is not None:
            return col
        low, high = value_range(self.judge.spec) or (0.0, 1.0)
        return col.count_failures_as(high if self._low_values_are_good else low)

    @property
    def uncountable(self) -> str | None:
        """Why failures of the target cannot count as the gate asks; None when they can, or need not.

        `plan` refuses such gates; a plan from elsewhere must not turn failures into a pass either.
        """
        if self.gate.on_target_failure == "refuse":
            return None
        metric = self.gate.metric
        unknown = self.judge is None or value_range(self.judge.spec) is None
        if unknown and (self.needs_values or self.judge is None):
            return f"the worst value of {metric} is not known"
        if self.judge is not None and favours_failures(self.gate, self.judge.spec.better):
            return f"as the worst value of {metric} it would count in its favour"
        return None

    def selects(self, cases: Sequence[CaseRow]) -> Flags:
        """Which cases are the gate's: of its split, and chosen by its tags and ids."""
        split, chosen = self.gate.split, self.gate.cases
        found = np.ones(len(cases), dtype=np.bool_)
        if split != "all":
            found &= np.array([row.split == split for row in cases], dtype=np.bool_)
        if chosen is not None and chosen.tags is not None:
            tags = frozenset(chosen.tags)
            found &= np.array([not tags.isdisjoint(row.tags) for row in cases], dtype=np.bool_)
        if chosen is not None and chosen.ids is not None:
            ids = frozenset(chosen.ids)
            found &= np.array([row.id in ids for row in cases], dtype=np.bool_)
        return found

    def quarantined(self, cases: Sequence[CaseRow]) -> Flags:
        """Which cases are left out, of its own or not."""
        aside = self.quarantine
        if not aside:
            return np.zeros(len(cases), dtype=np.bool_)
        return np.array([row.id in aside for row in cases], dtype=np.bool_)

    def applies_to_any(self, cases: Iterable[CaseRow]) -> bool:
        """Whether the judge's own `when` leaves any of these cases, as far as tags and split say."""
        when = None if self.judge is None else self.judge.spec.when
        # A row does not say whether its case names an `expected`, so that much is assumed.
        return when is None or any(
            when.admits(row.tags, row.split, has_expected=True) for row in cases
        )
