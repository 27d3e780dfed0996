"""From outcomes to an exit code: verdict, waivers, what a run that is not over may say (contract 2, 4, 6)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, get_args

import pytest

from releasecheck.gates import overridden, verdict
from releasecheck.model.gate import GateSpec, NoRegression
from releasecheck.model.score import Pending
from releasecheck.model.scorecard import EXIT_CODES, OUTCOMES, GateResult, Outcome
from releasecheck.model.suite import BaselineRule, Budget
from releasecheck.model.table import Compared
from releasecheck.pipeline.decide import decide_run, finality
from tests.builders import AT, MemoryFile, deadline, judge_failed, make_frame, output, score
from tests.unit.tables import plan_for, quarantined, score_table, waived

if TYPE_CHECKING:
    from releasecheck.model.record import Record
    from releasecheck.model.score import Score
    from releasecheck.model.scorecard import Scorecard

MIN = GateSpec(id="quality", metric="exact", min=0.9)
NO_WORSE = GateSpec(id="no-worse", metric="exact", no_regression=NoRegression())


def decided(
    *scores: float | Score | None,
    gates: tuple[GateSpec, ...] = (MIN,),
    close: bool = True,
    **plan: object,
) -> Scorecard:
    """A run of a case for each score, None for no record at all."""
    frame = make_frame(len(scores))
    frame = replace(frame, plan=frame.plan.model_copy(update={"gates": gates, **plan}))
    records: list[Record] = [
        record
        for index, one in enumerate(scores)
        if one is not None
        for record in (output(f"c{index}"), score(f"c{index}", one))
    ]
    tickets = [one.ticket for one in scores if isinstance(one, Pending)]
    records += [deadline("exact", *tickets)] if tickets else []
    merged = frame.merge(MemoryFile(frame.header(), *records))
    over = finality(merged.table, close=close, expired=False)
    return decide_run(frame.plan, merged, Compared(), over, now=AT)


def test_exit_codes__of_every_outcome() -> None:
    """Contract 2: 1 is for `block` alone, and whatever has no verdict is 2."""
    assert EXIT_CODES == {
        "pass": 0, "bootstrap": 0, "not_selected": 0, "not_comparable": 2, "blocked_missing": 2, "block": 1,
    }  # fmt: skip
    assert set(EXIT_CODES) == set(OUTCOMES) == set(get_args(Outcome))


def test_decide_run__exit_codes() -> None:
    """Contract 2: the scorecard says the same as the process."""
    bootstrap = BaselineRule(on_missing="bootstrap")
    found = [
        decided(1, 1),
        decided(0, 1),
        decided(1, judge_failed(retryable=False)),
        decided(1, None),
        decided(1, 1, gates=(NO_WORSE,)),
        decided(1, 1, gates=(NO_WORSE,), baseline_rule=bootstrap),
        decided(1, Pending("t1"), close=False),
    ]
    assert [(card.verdict, card.exit_code, card.overridden) for card in found] == [
        ("pass", 0, False), ("block", 1, False), ("blocked_missing", 2, False), ("blocked_missing", 2, False),
        ("not_comparable", 2, False), ("bootstrap", 0, False), (None, 5, False),
    ]  # fmt: skip


@pytest.mark.parametrize("value", [0, 1])
def test_decide_run__an_open_run_neither_passes_nor_blocks(value: float) -> None:
    """Contract 4, Finality: though every gate can decide, what is still open may change it; no waiver helps."""
    frame = make_frame(["c0"], judges=("exact", "ungated"))
    plan = frame.plan.model_copy(update={"gates": (MIN,), "waivers": (waived("quality"),)})
    failing = score("c0", judge_failed(retryable=True), judge="ungated")
    merged = frame.merge(MemoryFile(frame.header(), output("c0"), score("c0", value), failing))
    ends = []
    for close in (False, True):
        over = finality(merged.table, close=close, expired=False)
        card = decide_run(plan, merged, Compared(), over, now=AT)
        ends.append((card.verdict, card.exit_code, card.overridden))
    assert ends[0] == ("blocked_missing", 2, False)
    assert ends[1] == (("pass", 0, False) if value else ("block", 0, True))


# -- waivers


def test_decide_run__a_waived_block_stops_no_release() -> None:
    """Issue 5.8: the verdict stays `block`, the exit code is 0, and everything says why."""
    card = decided(0, 1, waivers=(waived("quality"),))
    assert (card.verdict, card.overridden, card.exit_code) == ("block", True, 0)
    (gate,) = card.gates
    assert (gate.outcome, gate.waived) == ("block", True)
    assert card.reasons[0] == "block, overridden: measured, and every gate that blocked is waived"
    assert "quality: waived until 2026-12-31 by A. Reviewer: known" in card.reasons
    assert card.waivers == (waived("quality"),)
    assert "waiver for gate quality until 2026-12-31: known (A. Reviewer)" in card.notices


def test_decide_run__a_waiver_is_for_its_own_gate() -> None:
    """A block beside it still stops the release, with exit code 1."""
    other = MIN.model_copy(update={"id": "other"})
    card = decided(0, 1, gates=(MIN, other), waivers=(waived("quality"),))
    assert (card.verdict, card.overridden, card.exit_code) == ("block", False, 1)
    assert [gate.waived for gate in card.gates] == [True, False]
    assert card.reasons[0] == "block: measured, and a gate blocked"
    assert any("that releases nothing while 'other' stop it" in line for line in card.reasons)
    both = decided(0, 1, gates=(MIN, other), waivers=(waived("quality"), waived("other")))
    assert (both.overridden, both.exit_code) == (True, 0)


def test_decide_run__a_waiver_waives_no_refusal() -> None:
    """Contract 6: what was not measured cannot be waived, neither its own gate's nor another's."""
    waivers = (waived("quality"), waived("no-worse"))
    beside = decided(0, 1, gates=(MIN, NO_WORSE), waivers=waivers)
    assert (beside.verdict, beside.overridden, beside.exit_code) == ("block", False, 1)
    assert [gate.waived for gate in beside.gates] == [True, False]
    alone = decided(1, 1, gates=(MIN, NO_WORSE), waivers=waivers)
    assert (alone.verdict, alone.overridden, alone.exit_code) == ("not_comparable", False, 2)
    missing = decided(1, None, waivers=waivers)
    assert (missing.verdict, missing.overridden, missing.exit_code) == ("blocked_missing", False, 2)
    assert not any(gate.waived for gate in (*alone.gates, *missing.gates))


def test_decide_run__a_waiver_that_nothing_needed() -> None:
    """A pass stays a pass: not overridden, and the waiver is a notice."""
    card = decided(1, 1, waivers=(waived("quality"),))
    assert (card.verdict, card.overridden, card.exit_code) == ("pass", False, 0)
    assert not card.gates[0].waived
    assert not any("waived" in line for line in card.reasons)
    assert any(line.startswith("waiver for gate quality") for line in card.notices)


def test_decide_run__a_bootstrap_beside_a_waived_block() -> None:
    """Neutral outcomes stop nothing, so they stand in no waiver's way."""
    rule = BaselineRule(on_missing="bootstrap")
    card = decided(0, 1, gates=(MIN, NO_WORSE), baseline_rule=rule, waivers=(waived("quality"),))
    assert (card.verdict, card.overridden, card.exit_code) == ("block", True, 0)


@pytest.mark.parametrize("beside", OUTCOMES)
@pytest.mark.parametrize("forgiven", [True, False])
def test_overridden__table(beside: Outcome, *, forgiven: bool) -> None:
    """Every outcome beside a waived block."""
    table = score_table({"exact": [1]})
    plan = plan_for(table, MIN)
    results = [result_of("block", waived=True), result_of(beside, waived=forgiven)]
    stops = beside in ("not_comparable", "blocked_missing") or (beside == "block" and not forgiven)
    for order in (results, results[::-1]):
        assert verdict(order, plan) == "block"
        assert overridden(order, plan) is not stops
    assert not overridden([result_of(beside, waived=False)], plan)


def result_of(outcome: Outcome, *, waived: bool) -> GateResult:
    return GateResult(
        id="g", metric="m", split="all", stat="mean", rule="", outcome=outcome, reason="", waived=waived,
        compared=1 if outcome == "pass" else None,
    )  # fmt: skip


# -- quarantine


def test_decide_run__a_quarantine_is_shown() -> None:
    """X-24: with owner, reason and end; the case itself is counted and measured as ever."""
    aside = (quarantined("c0"), quarantined("c9", "exact"))
    card = decided(0, 1, 1, quarantine=aside)
    assert (card.verdict, card.exit_code, card.gates[0].quarantined) == ("pass", 0, 1)
    assert card.quarantine == aside
    assert (card.counts.pairs, card.counts.scored) == (3, 3)
    assert (
        "quarantine: case 'c0' is left out of every gate until 2026-12-31: flaky (owner search team)"
        in card.notices
    )
    assert any("case 'c9' is left out of gates on exact until" in line for line in card.notices)


def test_decide_run__what_has_lapsed_is_said() -> None:
    card = decided(1, 1, lapsed=("the waiver for gate quality (by A) ended on 2026-01-01: ...",))
    assert card.notices == ("the waiver for gate quality (by A) ended on 2026-01-01: ...",)


def test_decide_run__a_budget_that_could_stop_nothing_is_said() -> None:
    """X-21: a cost budget over a target that reports no cost is no budget."""
    silent = decided(1, 1, budget=Budget(cost_usd=5))
    assert any(line.startswith("the budget of 5 USD could stop nothing") for line in silent.notices)
    assert not [line for line in decided(1, 1).notices if "budget" in line]
    assert not [line for line in decided(1, budget=Budget(time=60)).notices if "budget" in line]
