"""Which gates are certain to block, and what is said of them (X-21); the rule over all endings is a property test."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from releasecheck.gates.certain import certain_blocks
from releasecheck.model.gate import GateSpec
from releasecheck.model.judge import ExactJudge, PythonJudge, Sentinel, SimilarityJudge, When
from releasecheck.model.record import SentinelRecord
from releasecheck.model.score import Scored
from releasecheck.model.scorecard import GateResult
from releasecheck.model.suite import BaselineRule, Quarantined, Waiver
from releasecheck.model.table import Compared, SentinelSeen
from releasecheck.pipeline.early import Watch, blocking, decided_early, early_notices, unasked
from tests.builders import AT, make_frame, no_output, output, score
from tests.unit.tables import baseline_of, plan_for, score_table

if TYPE_CHECKING:
    from releasecheck.gates.certain import Certain
    from releasecheck.model.judge import Judge
    from releasecheck.model.table import ScoreTable
    from releasecheck.pipeline.folders import PlanFolder

YES_NO = ExactJudge(id="exact", type="exact")
OPEN = "no_output"


def certain(
    table: ScoreTable,
    *,
    baseline: ScoreTable | None = None,
    judges: tuple[Judge, ...] = (YES_NO,),
    rule: BaselineRule | None = None,
    plan: dict[str, Any] | None = None,
    **gate: Any,
) -> Certain | None:
    """What is certain of one gate over `exact`, unless it names another metric."""
    spec = GateSpec.model_validate({"id": "g", "metric": "exact"} | gate)
    made = plan_for(table, spec, judges=judges, baseline_rule=rule).model_copy(update=plan or {})
    earlier = Compared(None if baseline is None else baseline_of(baseline, judges=judges))
    found = certain_blocks(table, made, earlier)
    return found[0] if found else None


def cells(fails: int, passes: int, still_open: int) -> ScoreTable:
    """A run of the yes/no judge."""
    return score_table({"exact": [0.0] * fails + [1.0] * passes + [OPEN] * still_open})


def test_limit__names_its_numbers() -> None:
    """84 cases, 0.85 allows 12 to fail: the 13th decides, and not the 12th."""
    assert certain(cells(12, 42, 30), min=0.85) is None
    found = certain(cells(13, 41, 30), min=0.85)
    assert found is not None
    assert found.compared == 54
    assert found.reason == (
        "certain already, with 54 of 84 cases measured: 13 of 84 cases fail; even if all 30 others come out as well "
        "as possible, the mean comes to 0.8452, below 0.85"
    )


def test_limit__is_exact_at_the_threshold() -> None:
    """B89: seven of ten can still be had, and 0.7 is not below 0.7."""
    assert certain(cells(3, 0, 7), min=0.7) is None
    assert certain(cells(3, 0, 7), min=0.7000001) is not None


@pytest.mark.parametrize(
    ("stat", "rule", "measured", "decides"),
    [
        ("mean", {"max": 0.4}, [1.0, 1.0, OPEN, OPEN], True),
        ("mean", {"max": 0.5}, [1.0, 1.0, OPEN, OPEN], False),
        ("pass_rate", {"min": 0.75}, [0.0, 0.0, OPEN, OPEN], True),
        ("pass_rate", {"max": 0.25}, [1.0, 1.0, OPEN, OPEN], True),
        ("min", {"min": 0.5}, [0.4, OPEN, OPEN, OPEN], True),
        ("min", {"max": 0.5}, [0.9, OPEN, OPEN, OPEN], False),
        ("max", {"max": 0.5}, [0.9, OPEN, OPEN, OPEN], True),
        ("max", {"min": 0.5}, [0.1, 0.1, 0.1, OPEN], False),
        ("p50", {"min": 0.5}, [0.1, 0.1, OPEN, OPEN], True),
        ("p50", {"min": 0.5}, [0.1, OPEN, OPEN, OPEN], False),
        ("p90", {"max": 0.5}, [0.9, OPEN, OPEN, OPEN], True),
        ("p50", {"max": 0.5}, [0.9, 0.9, OPEN, OPEN], False),
        ("sum", {"max": 1.5}, [0.9, 0.9, OPEN, OPEN], True),
        ("sum", {"min": 3.0}, [0.4, 0.4, OPEN, OPEN], True),
        ("sum", {"min": 2.0}, [0.4, 0.4, OPEN, OPEN], False),
    ],
)
def test_limit__of_every_statistic(
    stat: str, rule: dict[str, Any], measured: list[Any], *, decides: bool
) -> None:
    judge = SimilarityJudge(id="close", type="similarity", pass_at=0.5)
    table = score_table({"close": measured}, judges=(judge,))
    found = certain(table, judges=(judge,), metric="close", stat=stat, **rule)
    assert (found is not None) is decides


def test_limit__without_a_known_range_only_ranks_decide() -> None:
    """Any one value could still save a mean, and not the worst value seen so far."""
    judge = PythonJudge(id="free", type="python", function="m:f")
    table = score_table({"free": [-50.0, -50.0, OPEN]}, judges=(judge,))
    assert certain(table, judges=(judge,), metric="free", min=0.0) is None
    assert certain(table, judges=(judge,), metric="free", stat="min", min=0.0) is not None


def test_limit__a_value_off_the_scale_makes_no_bound_believed() -> None:
    judge = PythonJudge(id="free", type="python", function="m:f", scale=(0.0, 1.0))
    table = score_table({"free": [-50.0, -50.0, OPEN]}, judges=(judge,))
    assert certain(table, judges=(judge,), metric="free", min=0.9) is None


@pytest.mark.parametrize(
    ("gate", "decides"),
    [
        ({"metric": "latency_ms", "stat": "p90", "max": 100}, True),
        ({"metric": "latency_ms", "stat": "mean", "max": 100}, True),
        ({"metric": "latency_ms", "stat": "mean", "max": 250}, False),
        ({"metric": "latency_ms", "stat": "mean", "min": 9_999}, False),
        ({"metric": "latency_ms", "stat": "sum", "max": 999}, True),
        ({"metric": "target_errors", "stat": "sum", "max": 0}, True),
        ({"metric": "target_errors", "stat": "mean", "max": 0.2}, False),
    ],
)
def test_limit__of_what_calls_took(gate: dict[str, Any], *, decides: bool) -> None:
    """What is open takes no time and costs nothing, at best; a failure that stands is an error."""
    table = score_table(
        {"exact": [1.0, 1.0, "target_failed", OPEN, OPEN]},
        latency_ms=[500.0, 500.0, OPEN, OPEN, OPEN],
    )
    assert (certain(table, **gate) is not None) is decides


def test_limit__an_error_that_may_be_mended_is_none() -> None:
    table = score_table({"exact": [1.0, "target_failed"]})
    table = replace(table, mendable=np.array([[[False]], [[True]]]))
    assert certain(table, metric="target_errors", stat="sum", max=0) is None


def test_require__one_failing_case() -> None:
    found = certain(cells(1, 2, 5), require="all")
    assert found is not None
    assert (
        found.reason
        == "certain already, with 3 of 8 cases measured: 1 of 8 cases fails, and none may"
    )


@pytest.mark.parametrize(
    ("rule", "trials", "decides"),
    [
        ("majority", [0.0, OPEN, OPEN], False),
        ("majority", [0.0, 0.0, OPEN], True),
        ("all", [0.0, OPEN, OPEN], True),
        ("any", [0.0, 0.0, OPEN], False),
        ("2-of-3", [0.0, OPEN, OPEN], False),
        ("2-of-3", [0.0, 0.0, OPEN], True),
    ],
)
def test_trials__a_case_is_open_until_its_verdict_is_certain(
    rule: str, trials: list[Any], *, decides: bool
) -> None:
    judge = ExactJudge(id="exact", type="exact", pass_rule=rule)
    table = score_table({"exact": [trials, [OPEN] * 3]}, judges=(judge,))
    assert (certain(table, judges=(judge,), require="all") is not None) is decides


@pytest.mark.parametrize("word", ["failed", "pending", "missing", OPEN])
def test_open__nothing_without_a_final_score_counts_against_a_gate(word: str) -> None:
    table = score_table({"exact": [1.0, word, word, word]})
    assert certain(table, min=0.9) is None
    assert certain(table, require="all") is None


def test_open__a_failure_counted_as_the_worst_value_once_it_stands() -> None:
    table = score_table({"exact": ["target_failed", "target_failed", 1.0, OPEN]})
    gate: dict[str, Any] = {"min": 0.9, "on_target_failure": "count_as_fail"}
    assert certain(table, **gate) is not None
    assert certain(table, min=0.9) is None
    again = replace(table, mendable=np.array([[[True]], [[True]], [[False]], [[True]]]))
    assert certain(again, **gate) is None


def test_open__an_answer_that_was_not_kept_may_be_judged_anew_by_all() -> None:
    """One judge has failed it, another one has not scored it: it will be asked again."""
    other = ExactJudge(id="other", type="exact")
    table = score_table({"exact": [0.0, OPEN], "other": ["missing", OPEN]}, judges=(YES_NO, other))
    for store, decides in (("full", True), ("digest", False)):
        found = certain(table, judges=(YES_NO, other), plan={"store_outputs": store}, require="all")
        assert (found is not None) is decides, store


def test_refusal__is_not_certain_to_block() -> None:
    """No baseline, another judge, too little in common, an untrusted judge: no block in the end either."""
    table, before = cells(4, 0, 2), cells(0, 6, 0)
    drop: dict[str, Any] = {"no_regression": {"max_drop": 0.1}}
    assert certain(table, baseline=before, **drop) is not None
    assert certain(table, **drop) is None
    other = replace(baseline_of(before), judge_digests={"exact": "sha256:" + "0" * 64})
    spec = GateSpec.model_validate({"id": "g", "metric": "exact"} | drop)
    plan = plan_for(table, spec)
    assert not certain_blocks(table, plan, Compared(other))
    assert not certain_blocks(table, plan, Compared(replace(baseline_of(before), finalized=False)))
    assert not certain_blocks(
        table, plan, Compared(replace(baseline_of(before), unproven=frozenset({"exact"})))
    )
    strangers = score_table({"exact": [1.0] * 60}, ids=[f"x{n}" for n in range(60)])
    assert certain(table, baseline=strangers, **drop) is None


def test_refusal__cases_that_may_turn_out_not_applicable_leave_too_little() -> None:
    """A yes/no judge scores all that its `when` admits; a function may refuse to, and then nothing compares."""
    for judge, decides in (
        (YES_NO, True),
        (PythonJudge(id="exact", type="python", function="m:f", pass_at=1, scale=(0, 1)), False),
        (ExactJudge(id="exact", type="exact", when=When(has="expected")), False),
    ):
        table = score_table({"exact": [0.0] * 4 + [OPEN] * 2}, judges=(judge,))
        before = score_table({"exact": [1.0] * 6}, judges=(judge,))
        found = certain(table, baseline=before, judges=(judge,), no_regression={"max_drop": 0.1})
        assert (found is not None) is decides, judge
        # What only tightens a gate can refuse in the same way.
        least = certain(table, judges=(judge,), min=0.9, min_scored=5)
        assert (least is not None) is decides, judge
        assert certain(table, judges=(judge,), min=0.9) is not None


def test_drop__best_case_of_the_rest() -> None:
    """Six of ten fail now and passed before: at best 0.4 against 1, a drop of 0.6."""
    table, before = cells(6, 0, 4), cells(0, 10, 0)
    found = certain(table, baseline=before, no_regression={"max_drop": 0.5})
    assert found is not None
    assert found.compared == 6
    assert found.reason == (
        "certain already, with 6 of 10 cases measured: even if all 4 others come out as well as possible, the mean "
        "comes to 0.4 against 1 in the baseline, a drop of 0.6, more than the 0.5 allowed"
    )
    assert certain(table, baseline=before, no_regression={"max_drop": 0.6}) is None


@pytest.mark.parametrize(
    ("decide", "certainly"), [("point", True), ("non-inferior", True), ("significant", False)]
)
def test_drop__ways_to_decide(decide: str, *, certainly: bool) -> None:
    """`non-inferior` excludes no drop that is there; no p is foreseen, but for the count of new failures."""
    table, before = cells(6, 0, 4), cells(0, 10, 0)
    rule: dict[str, Any] = {"max_drop": 0.1, "decide": decide}
    found = certain(table, baseline=before, no_regression=rule)
    assert (found is not None) is certainly
    found = certain(table, baseline=before, no_regression=rule | {"max_new_failures": 5})
    assert found is not None
    weak: dict[str, Any] = rule | {"max_new_failures": 5, "underpowered": "refuse"}
    assert certain(table, baseline=before, no_regression=weak) is None


def test_drop__non_inferior_only_where_a_bound_is_sure_to_exist() -> None:
    """It refuses without one: of one case alone, of cases in one cluster, of values of unknown range."""
    rule: dict[str, Any] = {"no_regression": {"max_drop": 0.1, "decide": "non-inferior"}}
    few = BaselineRule(min_overlap=0.5)
    for count, decides in ((1, False), (2, True)):
        table = score_table({"exact": [0.0] * count})
        before = score_table({"exact": [1.0] * count})
        assert (certain(table, baseline=before, rule=few, **rule) is not None) is decides
        together = replace(table, cases=tuple(replace(case, cluster="one") for case in table.cases))
        assert certain(together, baseline=before, rule=few, **rule) is None
    free = PythonJudge(id="exact", type="python", function="m:f")
    table = score_table({"exact": [0.0, 0.0]}, judges=(free,))
    before = score_table({"exact": [1.0, 1.0]}, judges=(free,))
    assert certain(table, baseline=before, judges=(free,), **rule) is None


def test_drop__of_a_judge_where_less_is_better() -> None:
    judge = PythonJudge(id="bad", type="python", function="m:f", scale=(0.0, 1.0), better="lower")
    table = score_table({"bad": [1.0] * 5 + [OPEN]}, judges=(judge,))
    before = score_table({"bad": [0.0] * 6}, judges=(judge,))
    overlap = BaselineRule(min_overlap=0.5)
    found = certain(
        table, baseline=before, judges=(judge,), rule=overlap, metric="bad",
        no_regression={"max_drop": 0.5},
    )  # fmt: skip
    assert found is not None
    assert "a rise of 0.833" in found.reason


def test_new_failures__count_once_they_are_more_than_allowed() -> None:
    table, before = cells(2, 1, 4), cells(0, 7, 0)
    rule: dict[str, Any] = {"max_drop": 1.0, "max_new_failures": 1}
    found = certain(table, baseline=before, no_regression=rule)
    assert found is not None
    assert found.reason == (
        "certain already, with 3 of 7 cases measured: 2 new failures against the baseline, at most 1 allowed"
    )
    assert certain(table, baseline=before, no_regression=rule | {"max_new_failures": 2}) is None


def test_exceptions__waived_gates_and_quarantined_cases_decide_nothing() -> None:
    table = cells(3, 0, 3)
    waiver = Waiver(gate="g", who="A", why="known", until="2999-12-31")
    assert certain(table, require="all", plan={"waivers": (waiver,)}) is None
    aside = tuple(
        Quarantined(case=f"q{n}", owner="A", reason="flaky", until="2999-12-31")
        for n in range(1, 4)
    )
    assert certain(table, require="all", plan={"quarantine": aside[:2]}) is not None
    assert certain(table, require="all", plan={"quarantine": aside}) is None


def test_sentinels__a_judge_that_is_not_proven_blocks_nothing() -> None:
    seen = SentinelSeen("exact", "s", 0, 1, 1.0, True, "", None, AT, None, mendable=False)
    table = cells(3, 0, 3)
    for held, decides in ((True, True), (False, False), (None, False)):
        found = certain(replace(table, sentinels=(replace(seen, held=held),)), require="all")
        assert (found is not None) is decides, held


def test_decided_early__only_where_asked_for_and_where_something_lacks() -> None:
    gate = GateSpec.model_validate({"id": "g", "metric": "exact", "require": "all"})
    table = cells(1, 0, 3)
    plan = plan_for(table, gate)
    stopping = plan.model_copy(update={"stop_when_decided": True})
    assert not decided_early(plan, table, Compared())
    (found,) = decided_early(stopping, table, Compared())
    assert found.gate == "g"
    whole = cells(1, 3, 0)
    assert not decided_early(stopping, whole, Compared())
    waiting = score_table({"exact": [0.0, "pending"]})
    assert unasked(waiting) == 0
    assert not decided_early(stopping, waiting, Compared())
    (notice,) = early_notices(table, (found,))
    assert notice.startswith(
        "decided early: 3 of 4 cases were not asked to the end, since gate g blocks"
    )


def test_blocking__a_gate_whose_cases_are_all_there_stands_as_it_is() -> None:
    gate = GateSpec.model_validate({"id": "g", "metric": "exact", "require": "all"})
    table = cells(1, 0, 3)
    plan = plan_for(table, gate).model_copy(update={"stop_when_decided": True})
    found = decided_early(plan, table, Compared())
    for outcome in ("blocked_missing", "block"):
        before = GateResult(
            id="g", metric="exact", split="all", stat="mean", rule="", outcome=cast("Any", outcome),
            reason="as it was", compared=9,
        )  # fmt: skip
        (after,) = blocking((before,), found)
        assert after.outcome == "block"
        assert (after.reason == "as it was") is (outcome == "block")


def watched(*gates: dict[str, Any], cases: int = 4, batch: int = 1, **judge: Any) -> Watch:
    """A watch over a run of which nothing is on record."""
    frame = make_frame(cases)
    specs = tuple(GateSpec.model_validate({"id": "g", "metric": "exact"} | gate) for gate in gates)
    (planned,) = frame.plan.judges
    spec = planned.spec.model_copy(update={"scale": (0.0, 1.0)} | judge)
    plan = frame.plan.model_copy(
        update={
            "gates": specs, "batch": batch, "stop_when_decided": True,
            "judges": (planned.model_copy(update={"spec": spec}),),
        }
    )  # fmt: skip
    empty = frame.merge().table

    class Folder:
        path = Path()
        rows = (frame.cases, frame.shard_of)

    folder = Folder()
    folder.plan = plan  # type: ignore[attr-defined]
    return Watch(cast("PlanFolder", folder), empty)


def test_watch__follows_the_records() -> None:
    watch = watched({"require": "all"})
    assert not watch.decided()
    watch.saw(output("c0"), 0)
    watch.saw(score("c0", 1.0), 0)
    assert not watch.decided()
    watch.saw(output("c1"), 0)
    assert not watch.decided()
    watch.saw(score("c1", 0.0), 0)
    assert watch.decided()
    assert [one.gate for one in watch.certain] == ["g"]


def test_watch__a_call_that_fails_is_evidence_once_it_stands() -> None:
    gate: dict[str, Any] = {"min": 0.9, "on_target_failure": "count_as_fail"}
    watch = watched(gate)
    watch.saw(no_output("c0"), 0)
    watch.saw(no_output("c1"), 0)
    assert not watch.decided()
    watch.saw(no_output("c0", retryable=False), 0)
    assert watch.decided()


def test_watch__believes_a_judge_once_its_sentinels_held() -> None:
    """In every shard in which it scored anything."""
    watch = watched({"require": "all"}, sentinels=(Sentinel(output="A", expect="pass", id="s"),))
    watch.saw(output("c0"), 0)
    watch.saw(score("c0", 0.0), 0)
    assert not watch.decided()
    watch.saw(output("c1"), 1)
    watch.saw(score("c1", 0.0), 1)
    for shard, decides in ((0, False), (1, True)):
        held = SentinelRecord("exact", "s", shard, "", Scored(1.0), None, output().usage, AT)
        watch.saw(held, shard)
        assert watch.decided() is decides
    watch = watched({"require": "all"}, sentinels=(Sentinel(output="A", expect="pass", id="s"),))
    watch.saw(output("c0"), 0)
    watch.saw(score("c0", 0.0), 0)
    watch.saw(SentinelRecord("exact", "s", 0, "", Scored(0.0), None, output().usage, AT), 0)
    assert not watch.decided()


def test_watch__looks_seldom_in_a_large_run_and_only_at_news() -> None:
    watch = watched({"min": 0.5}, cases=1000, batch=10)
    looks = 0
    foresight = watch._foresight
    real = foresight.blocks

    def counted(table: ScoreTable) -> tuple[Certain, ...]:
        nonlocal looks
        looks += 1
        return real(table)

    foresight.blocks = counted  # type: ignore[method-assign]
    for number in range(400):
        watch.saw(output(f"c{number}"), 0)
        watch.saw(score(f"c{number}", float(number % 2)), 0)
        watch.decided()
    assert looks <= 11
    before = looks
    for number in range(400, 999):
        watch.saw(output(f"c{number}"), 0)
        watch.saw(score(f"c{number}", 1.0), 0)
        watch.decided()
    assert looks <= before + 1
