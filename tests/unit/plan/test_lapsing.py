"""Quarantines and waivers of a plan are those of the day it was made (issue 5.6, 5.8)."""

from __future__ import annotations

from typing import Any

import pytest

from releasecheck.canonical import parse_json
from releasecheck.model.plan import BaselinePin, Plan, plan_digest
from releasecheck.plan import assign_shards, freeze, judge_identity, select
from releasecheck.plan.lapsing import holding, in_force, over_by
from tests.unit.plan.building import DIGEST, cases, circumstances, frozen, suite

QUARANTINE = {"case": "c001", "owner": "search team", "reason": "flaky", "until": "2026-01-05"}
WAIVER = {"gate": "g", "who": "A. Reviewer", "why": "known", "until": "2026-01-05"}


def plan_at(moment: str, **changes: Any) -> Plan:
    """A plan of four cases with both, made at that moment."""
    written = suite(**({"quarantine": [QUARANTINE], "waivers": [WAIVER]} | changes))
    return frozen(cases(4), of=written, created_at=moment).plan


@pytest.mark.parametrize(
    ("moment", "held"),
    [("2026-01-01T00:00:00.000Z", True), ("2026-01-05T00:00:00.000Z", True),
     ("2026-01-05T23:59:59.999Z", True), ("2026-01-06T00:00:00.000Z", False)],
)  # fmt: skip
def test_freeze__takes_what_is_in_force_on_its_day(moment: str, *, held: bool) -> None:
    """The last day counts in full; after it both are over, and the plan says so."""
    plan = plan_at(moment)
    assert (len(plan.quarantine), len(plan.waivers)) == ((1, 1) if held else (0, 0))
    assert plan.lapsed == (
        ()
        if held
        else (
            "the quarantine of case 'c001' (owner search team) ended on 2026-01-05: the case counts again",
            "the waiver for gate g (by A. Reviewer) ended on 2026-01-05: the gate stops a release again",
        )
    )


def test_freeze__the_digest_covers_what_is_in_force() -> None:
    """They decide, so a plan with another quarantine, waiver or none is another plan."""
    early, late = "2026-01-05T09:00:00.000Z", "2026-01-06T09:00:00.000Z"
    digests = [
        plan_at(early).plan_digest,
        plan_at(early, quarantine=[]).plan_digest,
        plan_at(early, waivers=[]).plan_digest,
        plan_at(early, quarantine=[QUARANTINE | {"case": "c002"}]).plan_digest,
        plan_at(early, quarantine=[QUARANTINE | {"judge": "j"}]).plan_digest,
        plan_at(early, waivers=[WAIVER | {"why": "another"}]).plan_digest,
        plan_at(late).plan_digest,
    ]
    assert len(set(digests)) == len(digests)
    assert plan_at(late).plan_digest == plan_at(late, waivers=[], quarantine=[]).plan_digest
    assert plan_at(early).plan_digest == plan_at("2026-01-02T00:00:00.000Z").plan_digest


def test_freeze__the_digest_covers_how_gates_are_corrected_and_when_a_run_ends() -> None:
    """All of them decide, and so does the anchor."""
    pin = BaselinePin(
        run_id="rc-0", plan_digest=DIGEST, why="x", scorecard_digest=DIGEST, results_digest=DIGEST, manifest_digest=DIGEST,
    )  # fmt: skip
    digests = [
        frozen(cases(2)).plan.plan_digest,
        frozen(cases(2), of=suite(correction="none")).plan.plan_digest,
        frozen(cases(2), of=suite(stop_when_decided=True)).plan.plan_digest,
        frozen(cases(2), anchor=pin).plan.plan_digest,
        frozen(cases(2), baseline=pin).plan.plan_digest,
    ]
    assert len(set(digests)) == len(digests)


def test_freeze__what_comes_later_changes_no_plan() -> None:
    """A run is decided under its plan's day: the plan holds them, and not the config of today."""
    document = parse_json(frozen(cases(4), of=suite(waivers=[WAIVER])).files["plan.json"])
    again = Plan.model_validate(document)
    assert [waiver.gate for waiver in again.waivers] == ["g"]
    assert plan_digest(document) == document["plan_digest"]


def test_in_force__a_quarantine_of_no_case_is_told() -> None:
    """Told and not refused, and only where every case is known."""
    written = suite(quarantine=[QUARANTINE | {"case": "gone", "until": "2026-12-31"}])
    day = "2026-01-05T09:00:00.000Z"
    told = "the quarantine of case 'gone' (owner search team) does nothing: there is no such case"
    assert in_force(written, day, {"c001"}).lapsed == (told,)
    assert in_force(written, day, None).lapsed == ()
    assert len(in_force(written, day, {"c001"}).quarantine) == 1


def test_freeze__a_partial_plan_misses_no_case() -> None:
    """It does not hold every case, so it says of none that it is not there."""
    written = suite(quarantine=[QUARANTINE | {"case": "c003"}])
    judges = [judge_identity(judge) for judge in written.judges]
    whole = frozen(cases(3), of=written).plan
    assert len(whole.lapsed) == 1
    part = select(cases(4), ids=["c000"])
    plan = freeze(written, part, judges, assign_shards(part.cases, 1), circumstances()).plan
    assert (plan.mode, plan.lapsed) == ("delta", ())
    assert len(plan.quarantine) == 1


@pytest.mark.parametrize(
    ("now", "held"),
    [
        ("2026-01-05T12:00:00.000Z", True),
        # Made on their last day: they hold as long as the run may be open.
        ("2026-01-06T11:59:59.000Z", True),
        ("2026-01-06T12:00:01.000Z", False),
        ("2026-03-01T12:00:00.000Z", False),
        ("", True),
        ("no time", True),
    ],
)
def test_holding__an_exception_outlives_its_last_day_only_in_an_open_run(
    now: str, *, held: bool
) -> None:
    """G-30, X-24: a plan that is kept is no exception for good."""
    made = plan_at("2026-01-05T12:00:00.000Z")
    plan = holding(made, now)
    assert (len(plan.quarantine), len(plan.waivers)) == ((1, 1) if held else (0, 0))
    assert len(plan.lapsed) == (0 if held else 2)
    assert plan.plan_digest == made.plan_digest


def test_holding__an_old_plan_keeps_what_has_not_ended() -> None:
    """G-30: only what is over goes."""
    made = plan_at("2026-01-01T00:00:00.000Z", waivers=[WAIVER | {"until": "2026-02-01"}])
    plan = holding(made, "2026-01-20T00:00:00.000Z")
    assert (len(plan.quarantine), len(plan.waivers)) == (0, 1)
    assert over_by(made, "2026-01-05T00:00:00.000Z") is None
    told = "the quarantine of case 'c001' (owner search team) ended on 2026-01-05"
    assert over_by(made, "2026-01-06T00:00:00.000Z") == told
