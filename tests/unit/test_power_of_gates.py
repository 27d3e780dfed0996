"""What a gate can see, told from the run it will be compared with (issue: power beforehand)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from releasecheck.gates.power import gate_power, level_of
from releasecheck.gates.subject import Subject
from releasecheck.model.gate import GateSpec, NoRegression
from releasecheck.model.judge import SimilarityJudge
from releasecheck.model.suite import Quarantined
from releasecheck.pipeline.power import Asked, sights
from releasecheck.stats import YesNo, detectable_drop, resolvable_drop
from tests.unit.tables import CLOSE, YES_NO, baseline_of, plan_for, planned, score_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.gates.power import Power
    from releasecheck.model.table import Baseline, ScoreTable

SOME = [1.0] * 80 + [0.0] * 20
NOISY = [[1.0, 1.0, 0.0, 1.0]] * 60 + [[0.0, 0.0, 0.0, 1.0]] * 40


def gate_of(
    judge: str = "exact", stat: str = "mean", id: str = "no-worse", **rule: Any
) -> GateSpec:
    """A no-regression gate."""
    return GateSpec.model_validate(
        {"id": id, "metric": judge, "stat": stat, "no_regression": {"max_drop": 0.02, **rule}}
    )


def power_of(table: ScoreTable, gate: GateSpec, alpha: float = 0.05, **more: Any) -> Power | None:
    """Over all of a table's cases."""
    assert gate.no_regression is not None
    subject = Subject.of(gate, plan_for(table, gate))
    rows = np.arange(len(table.cases))
    return gate_power(subject, table, rows, gate.no_regression, alpha, **more)


def sure(power: Power | None) -> tuple[float, float]:
    """Both drops, which must be there."""
    assert power is not None
    assert power.min_detectable_drop is not None
    assert power.resolvable_drop is not None
    return power.min_detectable_drop, power.resolvable_drop


def test_gate_power__of_one_trial_takes_the_runs_as_independent() -> None:
    """A share p of passes flips 2 p (1 - p) of the cases, and no more is known."""
    apart = YesNo(100, 2 * 0.8 * 0.2)
    found = power_of(score_table({"exact": SOME}), gate_of(decide="significant"))
    assert found is not None
    assert found.basis == "one-trial"
    expected = detectable_drop("significant", 0.02, apart, 0.05)
    assert found.min_detectable_drop == pytest.approx(expected, abs=1e-9)
    assert found.resolvable_drop == pytest.approx(resolvable_drop(apart, 0.05), abs=1e-9)


def test_gate_power__of_several_trials_knows_the_noise() -> None:
    one = power_of(score_table({"exact": [row[0] for row in NOISY]}), gate_of())
    several = power_of(score_table({"exact": NOISY}), gate_of())
    assert several is not None
    assert several.basis == "trials"
    assert sure(several)[0] < sure(one)[0]


def test_gate_power__of_fewer_trials_than_the_baseline_is_no_better_than_theirs() -> None:
    """A candidate with one trial is noisier than a baseline with four: it may not borrow their precision."""
    table = score_table({"exact": NOISY})
    found = power_of(table, gate_of(), trials=1)
    assert found is not None
    assert found.basis == "one-trial"
    assert sure(found) > sure(power_of(table, gate_of()))
    assert power_of(table, gate_of(), trials=9) == power_of(table, gate_of())


def test_gate_power__of_a_sum_is_that_of_the_mean_times_the_cases() -> None:
    table = score_table({"exact": SOME})
    mean = sure(power_of(table, gate_of()))
    total = sure(power_of(table, gate_of(stat="sum", max_drop=2.0)))
    assert total == pytest.approx([100 * drop for drop in mean])


def test_gate_power__of_more_cases_sees_more() -> None:
    few, many = (sure(power_of(score_table({"exact": SOME * n}), gate_of())) for n in (1, 4))
    assert many[0] < few[0]
    assert many[1] < few[1]


def test_gate_power__of_clusters_sees_less() -> None:
    """Four cases of one cluster that pass and fail together are one case."""
    table = score_table({"exact": [float(n // 4 % 5 > 0) for n in range(100)]})
    rows = tuple(replace(row, cluster=str(n // 4)) for n, row in enumerate(table.cases))
    alone, together = (
        sure(power_of(found, gate_of())) for found in (table, replace(table, cases=rows))
    )
    assert together[1] > 1.5 * alone[1]


@pytest.mark.parametrize("stat", ["p95", "min", "max"])
def test_gate_power__of_a_statistic_that_is_no_mean_is_not_known(stat: str) -> None:
    assert power_of(score_table({"close": [0.1, 0.5, 0.7]}), gate_of("close", stat)) is None


def test_gate_power__of_nothing_is_not_known() -> None:
    """X-12: not measured is not 0."""
    assert power_of(score_table({"exact": ["missing", "failed"]}), gate_of()) is None
    assert power_of(score_table({"exact": [1.0]}), gate_of()) is None


def test_gate_power__of_equal_values_does_not_claim_to_see_everything() -> None:
    """A hundred passes show that flips are rare, and not that there are none."""
    assert sure(power_of(score_table({"exact": [1.0] * 100}), gate_of()))[1] > 0.03
    assert sure(power_of(score_table({"close": [0.5] * 100}), gate_of("close")))[1] > 0


def test_gate_power__widened_sees_less_and_says_nothing_of_flips() -> None:
    table = score_table({"close": [0.2, 0.9, 0.4, 0.6] * 10})
    plain, wide = (sure(power_of(table, gate_of("close"), widened=w)) for w in (1.0, 1.5))
    assert wide[1] == pytest.approx(1.5 * plain[1])
    assert power_of(score_table({"exact": SOME}), gate_of(), widened=1.5) is None


def test_level_of__is_shared_by_significant_gates_alone() -> None:
    gates = (
        gate_of(id="one", decide="significant"),
        gate_of(id="two", decide="significant"),
        gate_of(id="three"),
        GateSpec(id="four", metric="exact", min=0.5),
    )
    rules = [gate.no_regression for gate in gates[:3] if gate.no_regression is not None]
    assert [level_of(rule, gates, 0.9, "holm") for rule in rules] == pytest.approx(
        [0.05, 0.05, 0.1]
    )
    assert [level_of(rule, gates, 0.9, "none") for rule in rules] == pytest.approx([0.1] * 3)


def asked(
    baseline: Baseline | None,
    *gates: GateSpec,
    anchor: Baseline | None = None,
    quarantine: Sequence[Quarantined] = (),
    judges: Sequence[Any] = (YES_NO, CLOSE),
    rejudged: bool = False,
) -> Asked:
    """A suite of the cases of `SOME`."""
    return Asked(
        gates=gates,
        judges=tuple(planned(judge) for judge in judges),
        cases=score_table({"exact": SOME}).cases,
        quarantine=tuple(quarantine),
        trials=1,
        confidence=0.95,
        correction="holm",
        rejudged=rejudged,
        baselines={"baseline": baseline, "anchor": anchor},
    )


def test_sights__say_why_nothing_is_known() -> None:
    base = baseline_of(score_table({"exact": SOME}))
    other = SimilarityJudge(id="close", type="similarity", pass_at=0.5)
    scored_by_close = baseline_of(score_table({"close": SOME}))
    for what, words in (
        (asked(None, gate_of()), "there is no baseline yet"),
        (asked(base, gate_of(against="anchor")), "there is no anchor yet"),
        (asked(base, gate_of("close")), "the baseline has no judge close"),
        (asked(scored_by_close, gate_of("close"), judges=(other,)), "another judge close scored"),
        (asked(base, gate_of(stat="p95")), "p95 is no mean of cases"),
    ):
        (sight,) = sights(what)
        assert (sight.power, sight.underpowered) == (None, None)
        assert words in (sight.why or "")
        assert words in sight.line()
        document = sight.to_json()
        assert (document["min_detectable_drop"], document["basis"]) == (None, None)


def test_sights__of_the_anchor_are_told_from_the_anchor() -> None:
    base = baseline_of(score_table({"exact": SOME}))
    steady = baseline_of(score_table({"exact": [1.0] * 98 + [0.0] * 2}))
    near, far = sights(
        asked(base, gate_of(against="baseline"), gate_of(id="far", against="anchor"), anchor=steady)
    )
    assert (near.against, far.against) == ("baseline", "anchor")
    assert sure(far.power)[0] < sure(near.power)[0]


def test_sights__leave_out_what_will_not_be_compared() -> None:
    """Cases in quarantine, cases that are new, and cases whose content changed."""
    table = score_table({"exact": SOME})
    fewer = baseline_of(score_table({"exact": SOME[:90]}, contents={"q1": "something else"}))
    aside = [Quarantined(case="q2", owner="a", reason="b", until="2026-12-31")]
    elsewhere = [Quarantined(case="q2", judge="close", owner="a", reason="b", until="2026-12-31")]
    assert sights(asked(baseline_of(table), gate_of()))[0].cases == 100
    assert sights(asked(fewer, gate_of()))[0].cases == 89
    assert sights(asked(fewer, gate_of(), quarantine=aside))[0].cases == 88
    assert sights(asked(fewer, gate_of(), quarantine=elsewhere))[0].cases == 89


def test_sights__know_clusters_that_an_older_baseline_does_not_name() -> None:
    """The same content has the same metadata, so the clusters of today are those of then."""
    found = asked(baseline_of(score_table({"exact": SOME})), gate_of())
    rows = tuple(replace(row, cluster=str(n // 4)) for n, row in enumerate(found.cases))
    (alone,), (together,) = sights(found), sights(replace(found, cases=rows))
    assert sure(together.power)[1] > sure(alone.power)[1]


def test_sight__says_what_it_cannot_see() -> None:
    (sight,) = sights(asked(baseline_of(score_table({"exact": SOME})), gate_of()))
    assert sight.underpowered is True
    assert "cannot tell a drop of its max_drop 0.02 from none" in sight.line()
    (wide,) = sights(asked(baseline_of(score_table({"exact": SOME})), gate_of(max_drop=0.5)))
    assert wide.underpowered is False
    assert "cannot tell" not in wide.line()
    (zero,) = sights(asked(baseline_of(score_table({"exact": SOME})), gate_of(max_drop=0)))
    assert zero.underpowered is False


def test_sight__of_a_gate_that_cannot_but_block_says_so() -> None:
    (sight,) = sights(
        asked(baseline_of(score_table({"exact": SOME})), gate_of(decide="non-inferior"))
    )
    assert sight.power is not None
    assert sight.power.min_detectable_drop == 0
    assert "blocks four unchanged runs of five" in sight.line()


def test_too_weak_for__is_asked_of_no_gate_with_max_drop_0() -> None:
    found = power_of(score_table({"exact": SOME}), gate_of())
    assert found is not None
    assert found.too_weak_for(NoRegression(max_drop=0.02))
    assert not found.too_weak_for(NoRegression(max_drop=0.0, max_new_failures=1))
