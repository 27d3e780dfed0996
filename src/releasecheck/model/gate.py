"""The gates of a suite as people write them (contract section 3)."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from releasecheck.model.base import Finite, Fraction01, Identifier, Texts, Written

BUILTIN_METRICS = ("latency_ms", "cost_usd", "tokens", "target_errors")
"""Metrics measured by the runner itself; judges may not take these ids."""
PAIRED_STATS = ("mean", "pass_rate", "sum")
"""Statistics that pairs of cases contribute to one by one; an order statistic belongs to no pair."""

Stat: TypeAlias = Literal["mean", "pass_rate", "min", "max", "p50", "p90", "p95", "p99", "sum"]
Decide: TypeAlias = Literal["point", "significant", "non-inferior"]
Against: TypeAlias = Literal["baseline", "anchor"]


class CaseFilter(Written):
    """A gate's own choice of cases, inside its split."""

    tags: Texts | None = None
    """Cases with any of these tags."""
    ids: Texts | None = None
    """Exactly these cases."""

    @model_validator(mode="after")
    def _says_something(self) -> CaseFilter:
        if self.tags is None and self.ids is None:
            message = "`cases` of a gate needs tags or ids"
            raise ValueError(message)
        return self


class NoRegression(Written):
    """Compare with the baseline over shared cases."""

    max_drop: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """The largest fall of the metric (in the worse direction) that passes; absolute."""
    max_new_failures: Annotated[int, Field(ge=0)] | None = None
    """Cases that passed in the baseline and fail now; None is no bound."""
    decide: Decide = "point"
    """`point` blocks when the drop exceeds `max_drop`; `significant` when it does and chance alone would
    not bring it; `non-inferior` unless chance alone would not hide a drop above `max_drop`."""
    against: Against | None = None
    """The earlier run to compare with; None is the baseline, and the anchor too where the suite names one."""
    underpowered: Literal["warn", "refuse"] = "warn"
    """What to do where the suite is too small or too noisy to tell a drop of `max_drop` from none."""

    @property
    def side(self) -> Against:
        """The earlier run it compares with; of a suite that names an anchor `planned_gates` makes two gates."""
        return self.against or "baseline"

    @model_validator(mode="after")
    def _room_to_decide(self) -> NoRegression:
        if self.max_drop == 0 and self.decide == "non-inferior":
            message = "`non-inferior` shows that a drop is below `max_drop`; with max_drop 0 it could never pass"
            raise ValueError(message)
        if self.max_drop == 0 and self.underpowered == "refuse":
            message = "no suite is large enough to see a drop of 0; `underpowered: refuse` needs a max_drop above 0"
            raise ValueError(message)
        return self


class GateSpec(Written):
    """A rule over one metric."""

    id: Identifier
    """Its name in reports; unique in the suite."""
    metric: str
    """A judge's id or a built-in metric."""
    split: Identifier = "all"
    """The part of the dataset it looks at; `all` is every case."""
    cases: CaseFilter | None = None
    """Only these cases of the split; None is all of them."""
    stat: Stat = "mean"
    """The aggregate it looks at."""
    min: Finite | None = None
    """Blocks below this number."""
    max: Finite | None = None
    """Blocks above this number."""
    require: Literal["all"] | None = None
    """Blocks when any of the cases does not pass."""
    no_regression: NoRegression | None = None
    """Blocks when the candidate is worse than the baseline allows."""
    on_target_failure: Literal["refuse", "count_as_fail"] = "refuse"
    """A failed call makes the gate refuse, or counts as the worst value of its judge."""
    min_scored: Annotated[int, Field(ge=1)] | None = None
    """Cases that must have a score at least; None is one."""
    max_not_applicable: Fraction01 | None = None
    """Largest share of its cases that the judge may call not applicable; None is all but one."""

    @model_validator(mode="after")
    def _one_rule(self) -> GateSpec:
        given = [
            r for r in ("min", "max", "require", "no_regression") if getattr(self, r) is not None
        ]
        if len(given) != 1:
            found = ", ".join(given) or "none"
            message = f"a gate needs exactly one of min, max, require, no_regression; found {found}"
            raise ValueError(message)
        return self


def favours_failures(
    gate: GateSpec, better: Literal["higher", "lower"]
) -> Literal["min", "max"] | None:
    """The rule that failed calls, counted as the worst value, would help to hold; None when none.

    What is worst follows the judge's `better`, and a gate may look the other way: every call fails, the
    mean is 0, and 0 is below `max`. By `pass_rate` a failed call is one that does not pass.
    """
    if gate.on_target_failure == "refuse":
        return None
    if gate.max is not None and (gate.stat == "pass_rate" or better == "higher"):
        return "max"
    if gate.min is not None and gate.stat != "pass_rate" and better == "lower":
        return "min"
    return None
