"""The anchor: a fixed run beside the one that moves along, so that small drops cannot add up (G-22)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from releasecheck.gates import decide, verdict
from releasecheck.model.gate import GateSpec, NoRegression
from releasecheck.model.suite import BaselineRule, Suite, planned_gates
from tests.unit.plan.building import suite
from tests.unit.tables import baseline_of, pinned, plan_for, score_table

if TYPE_CHECKING:
    from releasecheck.model.gate import Against, Decide
    from releasecheck.model.scorecard import Outcome


def gate_of(
    name: str = "no-worse", against: Against | None = None, decide_by: Decide = "point"
) -> GateSpec:
    rule = NoRegression(max_drop=0.02, against=against, decide=decide_by)
    return GateSpec(id=name, metric="close", no_regression=rule)


BOTH = (gate_of(against="baseline"), gate_of("no-worse-anchor", "anchor"))
REFUSE, BOOTSTRAP = (
    BaselineRule(anchor="release", on_missing=how) for how in ("refuse", "bootstrap")
)


def test_planned_gates__one_gate_becomes_two() -> None:
    """G-22: against the baseline under its own id, against the anchor under another."""
    written: Suite = suite(
        gates=[
            {"id": "q", "metric": "j", "min": 0.5},
            {"id": "n", "metric": "j", "no_regression": {"max_drop": 0.1}},
            {"id": "near", "metric": "j", "no_regression": {"against": "baseline"}},
            {"id": "far", "metric": "j", "no_regression": {"against": "anchor"}},
        ],
        baseline={"anchor": "release"},
    )
    found = [
        (gate.id, gate.no_regression and gate.no_regression.against)
        for gate in planned_gates(written)
    ]
    assert found == [
        ("q", None), ("n", "baseline"), ("n-anchor", "anchor"), ("near", "baseline"), ("far", "anchor"),
    ]  # fmt: skip
    rules = [gate.no_regression for gate in planned_gates(written)[1:3]]
    assert [rule and rule.max_drop for rule in rules] == [0.1, 0.1]
    alone = suite(gates=[{"id": "n", "metric": "j", "no_regression": {}}])
    assert planned_gates(alone) == alone.gates


def test_decide__a_chain_of_small_drops_is_stopped_by_the_anchor() -> None:
    """G-22: each step is within what is allowed, and all together are not."""
    runs = [score_table({"close": [value] * 20}) for value in (0.9, 0.89, 0.88, 0.87)]
    release = baseline_of(runs[0])
    decided = [
        decide(now, plan_for(now, *BOTH, baseline_rule=REFUSE), baseline_of(before), release)
        for before, now in pairwise(runs)
    ]
    outcomes = [tuple(result.outcome for result in results) for results in decided]
    assert outcomes == [("pass", "pass"), ("pass", "pass"), ("pass", "block")]
    near, far = decided[-1]
    assert (near.against, near.delta) == ("baseline", -0.01)
    assert (far.against, far.delta) == ("anchor", -0.03)
    assert verdict(decided[-1], plan_for(runs[-1], *BOTH)) == "block"
    assert "against 0.9 in the anchor" in far.reason


@pytest.mark.parametrize(
    ("rule", "outcome"), [(REFUSE, "not_comparable"), (BOOTSTRAP, "bootstrap")]
)
def test_decide__without_an_anchor(rule: BaselineRule, outcome: Outcome) -> None:
    """S1-16: as without a baseline, and told apart from it."""
    table = score_table({"close": [0.9] * 20})
    plan = plan_for(table, *BOTH, baseline_rule=rule)
    near, far = results = decide(table, plan, baseline_of(table), None)
    assert (near.outcome, far.outcome) == ("pass", outcome)
    assert "no anchor" in far.reason
    assert (far.delta, far.value, far.compared) == (None, None, None)
    assert verdict(results, plan) == outcome
    near, far = decide(table, plan, None, baseline_of(table))
    assert (near.outcome, far.outcome) == (outcome, "pass")


@pytest.mark.parametrize("rule", [REFUSE, BOOTSTRAP])
def test_decide__an_anchor_that_is_gone_is_not_a_first_run(rule: BaselineRule) -> None:
    table = score_table({"close": [0.9] * 20})
    pin = pinned(baseline_of(table))
    plan = plan_for(table, *BOTH, baseline_rule=rule, pin=pin, anchor=pin)
    for result in decide(table, plan, None, None):
        assert result.outcome == "not_comparable"
        assert f"the plan's {result.against}, run " in result.reason
        assert "is not there" in result.reason


def test_decide__an_anchor_is_asked_everything_that_a_baseline_is() -> None:
    """Contract 6: the same questions in the same order, and the word says which run was asked."""
    table = score_table({"close": [0.9] * 20})
    plan = plan_for(table, *BOTH, baseline_rule=BOOTSTRAP)
    good = baseline_of(table)
    holes = baseline_of(score_table({"close": [0.9] * 19 + ["missing"]}))
    foreign = baseline_of(score_table({"close": [0.9] * 20}, ids=[f"x{n}" for n in range(20)]))
    other = baseline_of(score_table({"exact": [1] * 20}))
    for anchor, outcome, words in (
        (
            baseline_of(table, finalized=False),
            "not_comparable",
            "anchor run 'rc-ba5e11ba5e11-1' is not",
        ),
        (holes, "blocked_missing", "its anchor is incomplete: 1 of 20"),
        (foreign, "not_comparable", "only 0 of the anchor's 20 scored cases"),
        (other, "not_comparable", "the anchor has no judge close"),
    ):
        near, far = decide(table, plan, good, anchor)
        assert (near.outcome, far.outcome) == ("pass", outcome)
        assert words in far.reason
        near, far = decide(table, plan, anchor, good)
        assert (near.outcome, far.outcome) == (outcome, "pass")


def test_decide__the_anchor_s_test_is_corrected_with_the_other() -> None:
    """G-30: two tests of one gate are two tests."""
    gates = [gate_of("a", "baseline", "significant"), gate_of("b", "anchor", "significant")]
    table = score_table({"close": [0.4] * 5 + [0.5] * 5})
    then = baseline_of(score_table({"close": [0.5] * 10}))
    far = baseline_of(score_table({"close": [0.1] * 10}))
    results = decide(table, plan_for(table, *gates, correction="holm"), then, far)
    assert [result.p_adjusted for result in results] == [2 / 32, 1.0]
    assert [result.outcome for result in results] == ["pass", "pass"]
