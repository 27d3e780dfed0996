"""Which judges look back at an earlier run, and from which of its files (issue 5, deliver 5)."""

from __future__ import annotations

from typing import Any

import pytest

from releasecheck.model.bridge import Side
from releasecheck.model.gate import Against, GateSpec, NoRegression
from releasecheck.model.judge import ExactJudge, PrecomputedJudge
from releasecheck.model.plan import Plan
from releasecheck.pipeline.bridging import judged_anew_by
from tests.unit.tables import digest_of, plan_for, planned, score_table

TABLE = score_table({"exact": [1, 1], "close": [0.5, 0.5]})


def no_worse(metric: str, against: Against | None = None) -> GateSpec:
    return GateSpec(
        id=f"no-worse-{metric}", metric=metric, no_regression=NoRegression(against=against)
    )


def manifest(*judges: tuple[str, str], final: bool = True) -> dict[str, Any]:
    """Of an earlier run, with the digests of its judges."""
    return {
        "finalized_at": "2026-01-01T00:00:00Z" if final else None,
        "evaluators": [{"spec": {"id": name}, "digest": digest} for name, digest in judges],
    }


def plan_with(*gates: GateSpec) -> Plan:
    return plan_for(TABLE, *gates)


def same(plan: Plan, name: str) -> tuple[str, str]:
    return name, next(judge.digest for judge in plan.judges if judge.id == name)


OTHER = digest_of("another judge")


def test_judged_anew_by__a_judge_that_changed_and_is_read() -> None:
    plan = plan_with(no_worse("exact"), no_worse("close"))
    then = manifest(("exact", OTHER), same(plan, "close"))
    assert judged_anew_by(plan, "baseline", then) == ("exact",)


def test_judged_anew_by__a_judge_that_was_not_there() -> None:
    plan = plan_with(no_worse("exact"), no_worse("close"))
    assert judged_anew_by(plan, "baseline", manifest(same(plan, "close"))) == ("exact",)


def test_judged_anew_by__no_gate_that_compares_reads_it() -> None:
    """What no gate reads is not worth a call."""
    plan = plan_with(GateSpec(id="quality", metric="exact", min=0.5), no_worse("close"))
    then = manifest(("exact", OTHER), same(plan, "close"))
    assert judged_anew_by(plan, "baseline", then) == ()


@pytest.mark.parametrize(
    ("against", "side", "found"),
    [
        (None, "baseline", True),
        (None, "anchor", False),
        ("baseline", "baseline", True),
        ("baseline", "anchor", False),
        ("anchor", "anchor", True),
        ("anchor", "baseline", False),
    ],
)
def test_judged_anew_by__the_run_that_the_gate_compares_with(
    against: Against | None, side: Side, found: bool
) -> None:
    plan = plan_with(no_worse("exact", against))
    assert judged_anew_by(plan, side, manifest(("exact", OTHER))) == (("exact",) if found else ())


def test_judged_anew_by__nothing_is_compared_with_an_open_run() -> None:
    plan = plan_with(no_worse("exact"))
    assert judged_anew_by(plan, "baseline", manifest(("exact", OTHER), final=False)) == ()


def test_judged_anew_by__scores_from_a_file_are_of_this_run() -> None:
    """They name a case and a trial, and would be taken for those of the baseline's answer."""
    spec = PrecomputedJudge(id="exact", type="precomputed", path="scores.jsonl")
    plan = plan_with(no_worse("exact")).model_copy(update={"judges": (planned(spec),)})
    assert judged_anew_by(plan, "baseline", manifest(("exact", OTHER))) == ()
    plan = plan.model_copy(update={"judges": (planned(ExactJudge(id="exact", type="exact")),)})
    assert judged_anew_by(plan, "baseline", manifest(("exact", OTHER))) == ("exact",)
