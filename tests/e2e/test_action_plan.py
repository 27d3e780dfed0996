"""A plan that failed, was skipped, got lost or was emptied on its way is never a green check."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.site import PLAN, artifacts, bundle, names
from tests.staging import JOBS, Fate

if TYPE_CHECKING:
    from tests.e2e.site import Site
    from tests.staging import Play, Ran


def is_red(play: Play, ran: dict[str, Ran]) -> dict[str, bytes]:
    """The check is red, says why, and nothing claims anything; returns the bundle."""
    finish = ran["finish"]
    assert finish.result == "failure"
    assert finish.steps["stage"].outputs["exit-code"] == "4", finish.log
    assert not finish.outputs.get("verdict")
    left = bundle(play)
    assert "failure.json" in left
    assert "scorecard.json" not in left
    assert not names(play, "releasecheck-baseline-")
    return left


def test_plan__dies_before_its_upload(site: Site) -> None:
    """C-01, trap 10, P-16: no plan, no shards; finish runs, fails closed and says at which stage."""
    play = site.push(**{"badge-branch": "badges"})
    ran = play.attempt(plan=Fate(fault={"before": 0}, lost=True))
    assert ran["shard"].result == "skipped"
    left = is_red(play, ran)
    assert json.loads(left["failure.json"])["stage"] == "plan"
    assert "-noplan-a1" in ran["finish"].outputs["scorecard-artifact"]
    again = play.rerun("failed")
    assert again["finish"].outputs["verdict"] == "pass"
    assert again["publish"].result == "success"


def test_plan__config_is_wrong(site: Site) -> None:
    """C-01: what nobody can plan ends the plan job, and the check after it."""
    (site.checkout / "releasecheck.yaml").write_text("version: 1\nsuite: [", encoding="utf-8")
    site.repository.commit()
    play = site.push()
    ran = play.attempt()
    assert ran["plan"].steps["stage"].outputs["exit-code"] == "3"
    is_red(play, ran)
    assert not site.asked()


def test_plan__change_that_breaks_its_config(site: Site) -> None:
    """The base's rules apply to it, but merged it would end every check: red, with the line, and its suite kept."""
    base = site.head
    config = site.checkout / "releasecheck.yaml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace('"judges"', '"judgez"'), encoding="utf-8")
    site.repository.commit()
    play = site.pull(base)
    ran = play.attempt()
    assert ran["plan"].steps["stage"].outputs["exit-code"] == "3"
    assert "merging this change would break the check" in ran["plan"].log
    told = [one for one in ran["plan"].commands if one.name == "error"]
    assert any("judgez" in one.data and "line" in one.properties for one in told), told
    is_red(play, ran)
    assert "-small-noplan-" in ran["finish"].outputs["scorecard-artifact"]


def test_plan__config_that_is_no_yaml_keeps_its_suites_name(site: Site) -> None:
    """What is said of it goes where the suite's other words are: no second comment."""
    config = site.checkout / "releasecheck.yaml"
    config.write_text(config.read_text(encoding="utf-8") + "\n  - [", encoding="utf-8")
    site.repository.commit()
    ran = site.push().attempt()
    assert "-small-noplan-" in ran["finish"].outputs["scorecard-artifact"]


def test_plan__config_of_the_base_is_wrong(site: Site) -> None:
    """A change that repairs it learns where the mistake is, and how the repair gets in."""
    config = site.checkout / "releasecheck.yaml"
    right = config.read_text(encoding="utf-8")
    config.write_text(right.replace("judges", "judgez"), encoding="utf-8")
    base = site.repository.commit()
    config.write_text(right, encoding="utf-8")
    site.repository.commit()
    play = site.pull(base)
    ran = play.attempt()
    log = ran["plan"].log
    assert ran["plan"].steps["stage"].outputs["exit-code"] == "3", log
    assert f"the base commit {base[:12]} is wrong" in log
    assert "`policy: head`" in log
    assert "\nreleasecheck.yaml:1:1: judges: the key `judges` is missing" in log
    is_red(play, ran)
    again = site.pull(base, policy="head").attempt()
    assert again["plan"].result == "success", again["plan"].log


@pytest.mark.parametrize("said", ["failure", "cancelled", "skipped"])
def test_plan_result__decides_before_any_artifact_does(site: Site, said: str) -> None:
    """Traps 10 and 11: `success` alone is let through; complete records do not make up for it."""
    play = site.push()
    play.attempt(finish=Fate(never=True))
    ran = play.rerun("failed", finish=Fate(given={"plan-result": said}))
    is_red(play, ran)
    assert repr(said) in ran["finish"].log


def test_plan_result__is_told_by_the_workflow() -> None:
    """Traps 10 and 11: the required job always runs, and is told how its plan ended."""
    finish = JOBS["finish"]
    assert finish["if"] == "always()"
    assert finish["needs"] == ["plan", "shard"]
    step = next(one for one in finish["steps"] if one.get("id") == "finish")
    assert step["with"]["plan-result"] == "${{ needs.plan.result }}"
    assert "if" not in step


def test_outputs__dropped_because_they_look_like_a_secret(site: Site) -> None:
    """Trap 13, C-02: without a matrix no shard runs, and that is red; the plan is found by its name."""
    play = site.push()
    play.secret = "PIN=1\n"
    # A secret of one character is in every digest and every list of numbers.
    ran = play.attempt(plan=Fate(masked=("1", "0")))
    assert not ran["plan"].outputs
    assert ran["shard"].result == "skipped"
    assert ran["finish"].result == "failure"
    assert ran["finish"].steps["stage"].outputs["exit-code"] == "2", ran["finish"].log
    assert json.loads(bundle(play)["scorecard.json"])["counts"]["missing"] == 4


def test_outputs__the_name_alone_is_lost(site: Site) -> None:
    """C-02: the one plan of the run is found by name and digest."""
    play = site.push()
    found = play.attempt(shard_0=Fate(never=True), shard_1=Fate(never=True))
    play.jobs["plan"].outputs.pop("plan-artifact")
    ran = play.rerun("failed")
    assert "plan" not in ran
    assert found["plan"].result == "success"
    assert ran["finish"].outputs["verdict"] == "pass", ran["finish"].log


def test_outputs__the_name_is_lost_and_there_are_two_plans(site: Site) -> None:
    """C-02: nobody guesses which of two plans was meant."""
    play = site.push()
    play.attempt(finish=Fate(never=True))
    play.jobs["plan"].outputs.pop("plan-artifact")
    play.run.add_artifact("releasecheck-plan-small-aaaaaaaaaaaa-a1", {"plan.json": "{}"})
    ran = play.rerun("failed")
    is_red(play, ran)
    assert "several plans" in ran["finish"].log


def test_verdict__dropped_because_it_looks_like_a_secret(site: Site) -> None:
    """Trap 13: the check's own end reads its step's outputs, which nobody empties; callers see less, never more."""
    play = site.push()
    ran = play.attempt(finish=Fate(masked=("pass",)))
    assert "verdict" not in ran["finish"].outputs
    assert ran["finish"].result == "success"
    assert ran["publish"].result == "success"


@pytest.mark.parametrize("how", ["expired", "deleted"])
def test_plan__is_gone_when_finish_comes(site: Site, how: str) -> None:
    """C-02: a plan that expired, or was deleted, is told from one that is there."""
    play = site.push()
    play.attempt(finish=Fate(never=True))
    (plan,) = artifacts(play, PLAN)
    if how == "expired":
        plan.expired = True
    else:
        play.run.artifacts.remove(plan)
    ran = play.rerun("failed")
    is_red(play, ran)
    assert ("has expired" if how == "expired" else "no artifact with") in ran["finish"].log


def test_plan__of_another_run_is_refused(site: Site) -> None:
    """C-02, G-26: a whole plan under our name that was made for another run is no plan of ours."""
    other = site.push()
    other.attempt()
    play = site.push()
    play.attempt(finish=Fate(never=True))
    (ours,), (theirs,) = artifacts(play, PLAN), artifacts(other, PLAN)
    ours.data, ours.digest = theirs.data, theirs.digest
    ran = play.rerun("failed")
    is_red(play, ran)
    assert "it was exchanged" in ran["finish"].log


def test_shard__of_a_skipped_plan_cannot_run(site: Site) -> None:
    """Trap 13: `fromJSON('')` would end the workflow; the condition keeps the matrix from being read."""
    play = site.push()
    ran = play.attempt(plan=Fate(never=True))
    assert ran["shard"].result == "skipped"
    is_red(play, ran)
