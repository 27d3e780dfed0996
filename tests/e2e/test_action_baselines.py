"""What a run is compared with, over whole workflow runs: found, kept, lost, and never silently absent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.site import SCORECARD, SHARD, artifacts, bundle, card, names
from tests.e2e.suites import questions
from tests.staging import Fate

if TYPE_CHECKING:
    from tests.e2e.site import Site
    from tests.staging import Play

QUALITY = {"id": "quality", "metric": "exact", "min": 0.1}
NO_WORSE = {"id": "no-worse", "metric": "exact", "no_regression": {"max_drop": 0.0}}


def with_history(site: Site, on_missing: str = "refuse", **config: Any) -> Play:
    """A passing run of the default branch, and then a commit whose gate compares."""
    first = site.push()
    assert first.attempt()["finish"].outputs["verdict"] == "pass"
    site.change(gates=[QUALITY, NO_WORSE], baseline={"on_missing": on_missing}, **config)
    site.asked()
    return first


def gate(play: Play) -> dict[str, Any]:
    """What became of the comparing gate."""
    found: dict[str, Any] = next(one for one in card(play)["gates"] if one["id"] == "no-worse")
    return found


def said(play: Play) -> str:
    """Everything that people are told."""
    logs = "".join(one.log for one in play.jobs.values())
    return logs + bundle(play)["summary.md"].decode() + play.jobs["publish"].summary


@pytest.mark.timeout(300)
def test_baseline__is_the_last_passing_run(site: Site) -> None:
    """Trap 23, G-21: compared case by case, and what it was compared with is named."""
    first = with_history(site)
    play = site.push()
    ran = play.attempt()
    assert ran["finish"].outputs["verdict"] == "pass", ran["finish"].log
    assert gate(play)["compared"] == 4
    assert card(play)["baseline"]["run_id"] == first.jobs["plan"].outputs["run-id"]
    site.answers.wrong = {"q2"}
    worse = site.push()
    assert worse.attempt()["finish"].outputs["verdict"] == "block"
    assert not names(worse, "releasecheck-baseline-")
    # Trap 25: what was blocked is nobody's baseline; the next one is compared with the passing one.
    site.answers.wrong = set()
    last = site.push()
    assert last.attempt()["finish"].outputs["verdict"] == "pass"
    assert card(last)["baseline"]["run_id"] == play.jobs["plan"].outputs["run-id"]


def expire(first: Play, site: Site) -> None:
    """After 90 days."""
    for one in first.run.artifacts:
        one.expired = True


def delete(first: Play, site: Site) -> None:
    """Somebody cleared the artifacts."""
    first.run.artifacts.clear()


def forget(first: Play, site: Site) -> None:
    """Somebody deleted the runs."""
    site.github.repository.runs.pop(first.run.id)


def rename(first: Play, site: Site) -> None:
    """The suite has another name."""
    site.change(suite="renamed")


LOSSES = {"expired": expire, "deleted": delete, "forgotten": forget, "renamed": rename}
# To be gone for good is another thing than to be gone by its time or under its name; two are long tests.
LOST = [
    "expired",
    "renamed",
    *(pytest.param(n, marks=pytest.mark.soak) for n in ("deleted", "forgotten")),
]


@pytest.mark.parametrize("loss", LOST)
def test_lost_baseline__is_refused(site: Site, loss: str) -> None:
    """Trap 24: nothing to compare with is no pass, and why is said."""
    first = with_history(site)
    LOSSES[loss](first, site)
    play = site.push()
    ran = play.attempt()
    assert ran["finish"].outputs["verdict"] == "not_comparable", ran["finish"].log
    assert ran["finish"].outputs["exit-code"] == "2"
    assert ran["finish"].result == "failure"
    assert gate(play)["outcome"] == "not_comparable"
    if loss == "expired":
        assert "expired" in said(play)
    assert "no baseline" in said(play).lower()


@pytest.mark.parametrize("loss", LOST)
def test_lost_baseline__is_no_silent_bootstrap(site: Site, loss: str) -> None:
    """Issue, "Must hold": a suite that may begin without one says so, and is never simply green."""
    first = with_history(site, "bootstrap")
    LOSSES[loss](first, site)
    play = site.push(**{"badge-branch": "badges"})
    ran = play.attempt()
    assert ran["finish"].outputs["verdict"] == "bootstrap", ran["finish"].log
    assert card(play)["verdict"] == "bootstrap"
    assert "bootstrap" in bundle(play)["summary.md"].decode()
    assert "bootstrap" in ran["publish"].summary
    if loss == "expired":
        assert "expired" in bundle(play)["summary.md"].decode()
    # It compared nothing: a badge may say no more than that.
    files = (
        site.github.repository.files("badges")
        if "heads/badges" in site.github.repository.refs
        else {}
    )
    for name, data in files.items():
        if name.endswith("badge.json"):
            assert "no baseline" in json.loads(data)["message"]


def test_baseline__is_kept_in_the_plan(site: Site) -> None:
    """C-29: what was found is frozen; that it is deleted afterwards changes nothing."""
    first = with_history(site)
    play = site.push()
    ran = play.attempt(finish=Fate(before={"stage": first.run.artifacts.clear}))
    assert ran["finish"].outputs["verdict"] == "pass", ran["finish"].log
    assert gate(play)["compared"] == 4


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_baseline__interface_fails_is_no_answer(site: Site) -> None:
    """Trap 24: who cannot ask has not been told that there is none."""
    with_history(site, "bootstrap")

    def refuse() -> None:
        site.github.fail_next("GET", "/actions/", 503, times=50)

    play = site.push()
    ran = play.attempt(plan=Fate(before={"stage": refuse}))
    site.github.forgive()
    assert ran["plan"].result == ran["finish"].result == "failure"
    assert not ran["finish"].outputs.get("verdict")


def test_removed_case__is_named(site: Site) -> None:
    """Trap 26: a case that is gone is no improvement, and is named."""
    with_history(site)
    site.answers.wrong = {"q3"}
    site.suite.cases = questions(3)
    site.suite.write()
    site.repository.commit()
    play = site.push()
    ran = play.attempt()
    # Three of four are fewer than min_overlap asks for.
    assert ran["finish"].outputs["verdict"] == "not_comparable"
    assert card(play)["baseline"]["cases"]["removed"] == ["c3"]


def test_outage__is_not_measured(site: Site) -> None:
    """Trap 26: a case that could not be asked is missing, not worse and not left out."""
    with_history(site)
    site.answers.status = {"q3": 503}
    play = site.push()
    ran = play.attempt()
    assert ran["finish"].outputs["verdict"] == "blocked_missing"
    site.answers.status = {}
    assert play.rerun("failed")["finish"].outputs["verdict"] == "pass"


@pytest.mark.parametrize("mode", ["preview", "delta"])
def test_partial_run__claims_nothing(site: Site, mode: str) -> None:
    """Issue 2: what looked at a part of the cases publishes neither badge nor baseline."""
    inputs = {"mode": mode, "badge-branch": "badges"} | (
        {"ids": "c0,c1"} if mode == "delta" else {}
    )
    play = site.push(**inputs)
    ran = play.attempt()
    assert ran["plan"].result == "success", ran["plan"].log
    assert names(play, SHARD)
    assert names(play, SCORECARD)
    assert "heads/badges" not in site.github.repository.refs
    assert not names(play, "releasecheck-baseline-")
    assert "badge        skipped" in ran["publish"].log
    assert "promotion    skipped" in ran["publish"].log


def test_pull_request__claims_nothing(site: Site) -> None:
    """Issue 2: a pull request publishes neither badge nor baseline."""
    base = site.head
    site.change(5)
    play = site.pull(base, 7, **{"badge-branch": "badges"})
    ran = play.attempt()
    assert ran["finish"].outputs["verdict"] == "pass"
    assert "heads/badges" not in site.github.repository.refs
    assert not names(play, "releasecheck-baseline-")
    assert len(site.comments) == 1


def test_badge__of_the_default_branch(site: Site) -> None:
    """Trap 30: green after a pass, and what replaces it after a run that decided nothing is not."""
    play = site.push(**{"badge-branch": "badges"})
    play.attempt()
    there = site.github.repository.files("badges")
    assert "pass" in json.loads(there["small/badge.json"])["message"]
    broken = site.push(**{"badge-branch": "badges"})
    broken.attempt(plan=Fate(never=True))
    there = site.github.repository.files("badges")
    assert "pass" not in json.loads(there["small/badge.json"])["message"]
    assert artifacts(broken, SCORECARD)


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_baseline__judged_anew_by_the_jobs_of_a_matrix(site: Site) -> None:
    """X-25: the shards judge the outputs of the run that was found; `finish` has nothing to judge."""
    site.change(gates=[QUALITY, NO_WORSE], baseline={"on_missing": "bootstrap"})
    site.answers.wrong = {"q1"}
    assert site.push().attempt()["finish"].outputs["verdict"] == "bootstrap"
    site.change(
        judges=[{"id": "exact", "type": "contains", "value": "Q"}],
        baseline={"rejudge_baseline": True},
    )
    play = site.push()
    ran = play.attempt()
    assert ran["finish"].outputs["verdict"] == "pass", ran["finish"].log
    assert gate(play)["compared"] == 4
    assert gate(play)["reason"].endswith("baseline judged anew")
    assert card(play)["baseline"]["rejudged"] == {"exact": 4}
