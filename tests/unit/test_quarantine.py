"""Quarantine: what no gate looks at for a while, and what it must not hide (X-24)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from releasecheck.gates import decide
from releasecheck.model.gate import CaseFilter, GateSpec, NoRegression
from releasecheck.model.suite import BaselineRule
from tests.unit.tables import baseline_of, plan_for, quarantined, score_table

if TYPE_CHECKING:
    from releasecheck.model.plan import Mode
    from releasecheck.model.scorecard import GateResult, Outcome
    from releasecheck.model.suite import Quarantined
    from releasecheck.model.table import Baseline, ScoreTable

AT_LEAST = GateSpec(id="quality", metric="exact", min=1)
SMOKE = GateSpec(id="smoke", metric="exact", require="all")
NO_WORSE = GateSpec(id="no-worse", metric="exact", no_regression=NoRegression(max_new_failures=0))
ALL = BaselineRule(min_overlap=1.0)


def one(
    gate: GateSpec,
    table: ScoreTable,
    *aside: Quarantined,
    baseline: Baseline | None = None,
    rule: BaselineRule = ALL,
) -> GateResult:
    plan = plan_for(table, gate, baseline_rule=rule, quarantine=aside)
    (result,) = decide(table, plan, baseline)
    return result


@pytest.mark.parametrize("gate", [AT_LEAST, SMOKE, NO_WORSE])
@pytest.mark.parametrize("cell", [0, "missing", "failed", "pending", "na", "target_failed"])
def test_decide__no_gate_looks_at_a_quarantined_case(gate: GateSpec, cell: float | str) -> None:
    """X-24: failing or missing, it decides nothing, and the reason says that it was left out."""
    table = score_table({"exact": [1, 1, 1, cell]})
    then = baseline_of(score_table({"exact": [1] * 4}))
    assert one(gate, table, baseline=then).outcome != "pass" or cell == "na"
    result = one(gate, table, quarantined("q4"), baseline=then)
    assert (result.outcome, result.quarantined, result.compared) == ("pass", 1, 3)
    assert result.reason.endswith("; 1 case in quarantine left out")


def test_decide__quarantine_of_one_judge_is_for_that_judge() -> None:
    """X-24: every other metric looks at the case as before."""
    table = score_table({"exact": [1, 1, 0], "close": [1, 1, 0]}, latency_ms=[1, 1, 100])
    gates = (
        AT_LEAST,
        GateSpec(id="close", metric="close", min=1),
        GateSpec(id="fast", metric="latency_ms", stat="max", max=10),
    )

    def outcomes(*aside: Quarantined) -> list[Outcome]:
        plan = plan_for(table, *gates, quarantine=aside)
        return [result.outcome for result in decide(table, plan, None)]

    assert outcomes() == ["block", "block", "block"]
    assert outcomes(quarantined("q3", "exact")) == ["pass", "block", "block"]
    assert outcomes(quarantined("q3", "latency_ms")) == ["block", "block", "pass"]
    assert outcomes(quarantined("q3")) == ["pass", "pass", "pass"]
    assert outcomes(quarantined("q3", "exact"), quarantined("q3", "close"))[2] == "block"


@pytest.mark.parametrize(
    ("aside", "cases", "outcome"),
    [(2, 4, "pass"), (3, 4, "blocked_missing"), (2, 5, "pass"), (3, 5, "blocked_missing"),
     (1, 2, "pass"), (1, 1, "blocked_missing"), (4, 4, "blocked_missing")],
)  # fmt: skip
def test_decide__more_than_half_in_quarantine_decides_nothing(
    aside: int, cases: int, outcome: Outcome
) -> None:
    """X-24: exactly half is enough."""
    table = score_table({"exact": [1] * cases})
    named = [quarantined(f"q{n + 1}") for n in range(aside)]
    for gate in (AT_LEAST, SMOKE, NO_WORSE):
        result = one(gate, table, *named, baseline=baseline_of(table))
        assert (result.outcome, result.quarantined) == (outcome, aside)
        if outcome != "pass":
            assert (result.value, result.delta, result.compared) == (None, None, None)
            assert "fewer than half of its cases decides nothing" in result.reason


def test_decide__half_is_of_the_gate_s_own_cases() -> None:
    """Ten good cases elsewhere make no crowded gate decide."""
    table = score_table({"exact": [1] * 12}, tags={"q1": ["smoke"], "q2": ["smoke"]})
    tagged = SMOKE.model_copy(update={"cases": CaseFilter(tags=("smoke",))})
    assert one(tagged, table, quarantined("q1")).outcome == "pass"
    both = (quarantined("q1"), quarantined("q2"))
    assert one(tagged, table, *both).outcome == "blocked_missing"
    assert one(SMOKE, table, *both).outcome == "pass"
    elsewhere = one(tagged, table, quarantined("q12"))
    assert (elsewhere.outcome, elsewhere.quarantined) == ("pass", 0)
    assert "quarantine" not in elsewhere.reason


def test_decide__a_quarantine_of_no_case_changes_nothing() -> None:
    table = score_table({"exact": [1, 0]})
    plain, with_it = one(AT_LEAST, table), one(AT_LEAST, table, quarantined("gone"))
    assert plain == with_it


# -- beside a baseline


def test_decide__quarantine_is_no_lack_of_overlap() -> None:
    """Two of twenty left out of a gate that asks for 95 % of its baseline's cases."""
    table = score_table({"exact": [1] * 20})
    then = baseline_of(score_table({"exact": [1] * 20}))
    rule = BaselineRule(min_overlap=0.95)
    aside = [quarantined("q1"), quarantined("q2")]
    result = one(NO_WORSE, table, *aside, baseline=then, rule=rule)
    assert (result.outcome, result.compared) == ("pass", 18)
    # What is really gone still counts against it.
    shorter = score_table({"exact": [1] * 18})
    result = one(NO_WORSE, shorter, quarantined("q1"), baseline=then, rule=rule)
    assert result.outcome == "not_comparable"
    assert "only 18 of the baseline's 20 scored cases" in result.reason


def test_decide__the_baseline_may_lack_what_is_in_quarantine() -> None:
    """An unreliable case has often no score there either; no other case may lack its own."""
    table = score_table({"exact": [1] * 4})
    then = baseline_of(score_table({"exact": [1, 1, 1, "failed"]}))
    assert one(NO_WORSE, table, baseline=then).outcome == "blocked_missing"
    assert one(NO_WORSE, table, quarantined("q4"), baseline=then).outcome == "pass"
    assert one(NO_WORSE, table, quarantined("q3"), baseline=then).outcome == "blocked_missing"
    # Gone here, in quarantine still, and without a score there.
    shorter = score_table({"exact": [1] * 3})
    half = BaselineRule(min_overlap=0.5)
    result = one(NO_WORSE, shorter, quarantined("q4"), baseline=then, rule=half)
    assert result.outcome == "pass"


def test_decide__a_renamed_case_is_followed_into_quarantine() -> None:
    table = score_table({"exact": [1, 1, 0]}, ids=["a", "b", "new"], contents={"new": "c"})
    then = baseline_of(score_table({"exact": [1, 1, "missing"]}, ids=["a", "b", "c"]))
    rule = BaselineRule(min_overlap=0.6)
    result = one(NO_WORSE, table, quarantined("new"), baseline=then, rule=rule)
    assert (result.outcome, result.compared) == ("pass", 2)
    assert one(NO_WORSE, table, quarantined("c"), baseline=then).outcome == "blocked_missing"


@pytest.mark.parametrize("mode", ["full", "preview"])
def test_decide__no_case_is_hidden_by_a_name_in_quarantine(mode: Mode) -> None:
    """X-24: whoever names the cases gives those that fail now the names of quarantined ones: as good as removed."""
    ids = [f"c{at}" for at in range(20)]
    names = [f"c{at}" for at in (10, 11, 12)]
    swapped = {f"c{at}": f"c{(at + 10) % 20}" for at in (0, 1, 2, 10, 11, 12)}
    cells = [0 if name in names else 1 for name in ids]
    table = score_table({"exact": cells}, ids=ids, contents=swapped)
    then = baseline_of(score_table({"exact": [1] * 20}, ids=ids))
    plan = plan_for(
        table, NO_WORSE, baseline_rule=BaselineRule(min_overlap=0.9), mode=mode,
        quarantine=tuple(map(quarantined, names)),
    )  # fmt: skip
    (result,) = decide(table, plan, then)
    assert (result.outcome, result.delta) == ("not_comparable", None)
    assert "only 17 of the" in result.reason
    assert "3 cases have names in quarantine and had another in the baseline" in result.reason
    # Without the change of names they are what the gate does not look at.
    honest = score_table({"exact": cells}, ids=ids)
    assert decide(honest, plan, then)[0].outcome == "pass"


def test_decide__an_old_name_in_quarantine_hides_no_other_case() -> None:
    """The id that is in quarantine was another case's name there: that case is compared, so it is asked for."""
    table = score_table(
        {"exact": [1, 1, 0, 0]}, ids=["a", "b", "new", "c"], contents={"new": "c", "c": "d"}
    )
    rule = BaselineRule(min_overlap=0.5)
    full = baseline_of(score_table({"exact": [1, 1, 1]}, ids=["a", "b", "c"]))
    assert one(NO_WORSE, table, quarantined("c"), baseline=full, rule=rule).outcome == "block"
    holes = baseline_of(score_table({"exact": [1, 1, "missing"]}, ids=["a", "b", "c"]))
    result = one(NO_WORSE, table, quarantined("c"), baseline=holes, rule=rule)
    assert result.outcome == "blocked_missing"
    assert "its baseline is incomplete: 1 of 3 cases" in result.reason


def test_decide__a_score_that_is_taken_from_a_quarantined_case_makes_no_overlap() -> None:
    """X-21: the share of the baseline that can be compared does not grow by losing scores."""
    table = score_table({"exact": [1] * 10}, contents={"q10": "edited"})
    rule = BaselineRule(min_overlap=0.95)
    for cell in (1, "missing", "failed"):
        then = baseline_of(score_table({"exact": [1] * 9 + [cell]}))
        result = one(NO_WORSE, table, quarantined("q10"), baseline=then, rule=rule)
        assert result.outcome == "not_comparable"
        assert "only 9 of the baseline's 10 scored cases" in result.reason


def test_decide__quarantine_in_a_partial_plan() -> None:
    table = score_table({"exact": [1, 1, 0]})
    then = baseline_of(score_table({"exact": [1] * 8}))
    plan = plan_for(
        table, NO_WORSE, mode="delta", baseline_rule=ALL, quarantine=(quarantined("q3"),)
    )
    (result,) = decide(table, plan, then)
    assert (result.outcome, result.compared) == ("pass", 2)


def test_decide__min_scored_counts_without_the_quarantine() -> None:
    """X-21: it only tightens; what is left out is no evidence."""
    table = score_table({"exact": [1] * 6})
    gate = AT_LEAST.model_copy(update={"min_scored": 5})
    assert one(gate, table, quarantined("q1")).outcome == "pass"
    two = (quarantined("q1"), quarantined("q2"))
    assert one(gate, table, *two).outcome == "blocked_missing"
