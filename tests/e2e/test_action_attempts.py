"""Shards that die, stay away or come again: what one attempt after another makes of a run."""

from __future__ import annotations

import json
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.site import SHARD, artifacts, bundle, card, names, unpacked
from tests.e2e.suites import LATENCY, questions
from tests.staging import Fate

if TYPE_CHECKING:
    from tests.e2e.program import Running
    from tests.e2e.site import Site
    from tests.e2e.suites import Asked
    from tests.githubfake import Run
    from tests.staging import Play


def test_run__passes_and_says_so(site: Site) -> None:
    """A gate that passes: one artifact for each stage, and the whole set of cases asked once."""
    play = site.push()
    ran = play.attempt()
    assert {name: one.result for name, one in ran.items()} == {
        "plan": "success", "shard (0)": "success", "shard (1)": "success",
        "finish": "success", "publish": "success",
    }, ran["finish"].log  # fmt: skip
    assert ran["finish"].outputs["verdict"] == "pass"
    assert site.asked() == {f"c{number}#t0": 1 for number in range(4)}
    assert card(play)["verdict"] == "pass"


def results_of(play: Play) -> bytes:
    """`results.jsonl` but for measured times."""
    return LATENCY.sub(b'"latency_ms":0', bundle(play)["results.jsonl"])


def all_visible(run: Run) -> None:
    """A GitHub that shows what earlier attempts uploaded: the evidence is in conflict."""
    for one in run.artifacts:
        one.hidden = False


def kill_after(site: Site, count: int) -> Fate:
    """Kill a shard while the target holds the call after the first `count` of the run."""
    site.answers.hold_after = count

    def meanwhile(running: Running) -> None:
        site.answers.wait_asked(count + 1)
        running.signal(signal.SIGKILL)
        site.answers.hold_after = None
        site.answers.open.set()

    return Fate(meanwhile=meanwhile)


@pytest.mark.timeout(300)
def test_killed_shard__uploads_and_the_rerun_asks_the_rest(site: Site) -> None:
    """Trap 9, C-04 to C-08: what was on record is uploaded all the same, and never asked again."""
    whole = site.push()
    whole.attempt()
    site.asked()
    # By a baseline's times one case could be a shard of its own, and there would be nothing left to kill.
    play = site.push(baseline="none")
    ran = play.attempt(shard_0=kill_after(site, 1))
    assert ran["shard (0)"].steps["stage"].outputs["exit-code"] == "4"
    assert "ended with 137" in ran["shard (0)"].log
    assert ran["shard (0)"].result == ran["finish"].result == "failure"
    assert ran["finish"].outputs["exit-code"] == "2"
    first = site.asked()
    before = [one for one in artifacts(play, SHARD) if "-0-a1" in one.name]
    kept = [line for line in unpacked(before[0]).values() if b'"record":"output"' in line]
    assert len(kept) == 1
    again = play.rerun("failed")
    assert set(again) == {"shard (0)", "finish", "publish"}
    assert {one.result for one in again.values()} == {"success"}, again["finish"].log
    asked = site.asked()
    # The call in flight is made again with its key; the one that was recorded is not.
    assert (len(first), len(asked)) == (4, 1), (first, asked)
    assert card(play)["verdict"] == "pass"
    assert results_of(play) == results_of(whole)


def test_lost_machine__is_missing_by_name(site: Site) -> None:
    """Trap 1, C-11, G-28: a machine that dies uploads nothing; its cases are missing, never left out."""
    play = site.push()
    fate = kill_after(site, 3)
    fate.lost = True
    ran = play.attempt(shard_1=fate)
    assert len(names(play, SHARD)) == 1
    assert ran["finish"].result == "failure"
    assert (card(play)["verdict"], card(play)["exit_code"]) == ("blocked_missing", 2)
    assert card(play)["counts"]["missing"] == 2
    rows = [json.loads(line) for line in bundle(play)["results.jsonl"].splitlines()]
    missing = {row["case"] for row in rows if row["scores"]["exact"]["state"] == "missing"}
    assert len(rows) == 4
    assert missing == {"c1", "c3"}
    assert "c1" in ran["publish"].summary + bundle(play)["summary.md"].decode()
    site.asked()
    assert play.rerun("failed")["finish"].outputs["verdict"] == "pass"
    assert len(site.asked()) == 2


def test_shard_that_never_uploads(site: Site) -> None:
    """Traps 1 and 12, C-04: one shard never began; the others' evidence is kept, and no verdict is made."""
    play = site.push()
    ran = play.attempt(shard_0=Fate(never=True))
    assert ran["shard (1)"].result == "success"
    assert ran["finish"].outputs["exit-code"] == "2"
    assert ran["finish"].outputs["verdict"] == "blocked_missing"
    # Nothing of an earlier attempt hides it, and it mends by being run.
    again = play.rerun("failed")
    assert again["finish"].outputs["verdict"] == "pass"


def test_one_shard(site: Site) -> None:
    """Trap 3: one artifact alone lies in a folder as every other one."""
    play = site.push(shards="1")
    ran = play.attempt()
    assert len(names(play, SHARD)) == 1
    assert ran["finish"].outputs["verdict"] == "pass"


def test_one_of_two_shards_left(site: Site) -> None:
    """Trap 3: a run of which one shard survived looks no other than one of one shard, and is none."""
    play = site.push()
    play.attempt(shard_1=Fate(never=True))
    assert len(names(play, SHARD)) == 1
    assert card(play)["counts"]["missing"] == 2


@pytest.mark.soak
def test_no_shard_uploads(site: Site) -> None:
    """Trap 2: nothing at all arrives, and that is no success."""
    play = site.push()
    ran = play.attempt(shard_0=Fate(never=True), shard_1=Fate(never=True))
    assert not names(play, SHARD)
    assert ran["finish"].outputs["exit-code"] == "2"
    assert card(play)["counts"]["missing"] == 4
    assert play.rerun("failed")["finish"].outputs["verdict"] == "pass"


def test_retryable_failure__is_mended_by_the_rerun(site: Site) -> None:
    """Contract, Merge: an outage is not measured; the re-run asks for it alone."""
    site.answers.status = {"q1": 503}
    play = site.push()
    ran = play.attempt()
    assert ran["finish"].outputs["exit-code"] == "2", ran["finish"].log
    assert [one.result for name, one in ran.items() if name.startswith("shard")].count(
        "failure"
    ) == 1
    site.answers.status = {}
    site.asked()
    again = play.rerun("failed")
    assert again["finish"].outputs["verdict"] == "pass"
    assert site.asked() == {"c1#t0": 1}


@pytest.mark.parametrize("kind", ["wrong", "refused"])
def test_measured_failure__is_never_rolled_again(site: Site, kind: str) -> None:
    """Contract, Merge: what was measured stays, in the bytes of results.jsonl, whatever is run again."""
    site.change(gates=[{"id": "quality", "metric": "exact", "min": 0.9}])
    if kind == "wrong":
        site.answers.wrong = {"q1"}
    else:
        site.answers.status = {"q1": 400}
    play = site.push()
    ran = play.attempt()
    # Without a score nothing was measured about quality; the case is closed all the same.
    code = "1" if kind == "wrong" else "2"
    assert ran["finish"].outputs["exit-code"] == code, ran["finish"].log
    before = bundle(play)
    site.answers.wrong, site.answers.status = set(), {}
    site.asked()
    again = play.rerun("failed")
    assert "shard (0)" not in again
    assert "shard (1)" not in again
    assert not site.asked()
    after = bundle(play)
    assert after["results.jsonl"] == before["results.jsonl"]
    assert after["scorecard.json"] == before["scorecard.json"]
    assert again["finish"].outputs["exit-code"] == code


def test_rerun_of_all_jobs__another_plan_ignores_old_files(site: Site) -> None:
    """C-03, P-05: data that moved make another plan, and nothing of the old one counts."""
    play = site.push()
    play.attempt()
    old = names(play, SHARD)
    site.suite.cases = questions(5)
    site.suite.write()
    site.asked()
    ran = play.rerun("all")
    assert ran["finish"].outputs["verdict"] == "pass"
    assert sum(site.asked().values()) == 5
    assert card(play)["counts"]["pairs"] == 5
    assert not set(old) & set(names(play, SHARD))


@pytest.mark.soak
def test_rerun_of_all_jobs__the_old_files_are_still_listed(site: Site) -> None:
    """C-03, trap 6: shards, finish and publish of the new plan meet the old one's artifacts."""
    play = site.push()
    play.attempt()
    site.suite.cases = questions(5)
    site.suite.write()
    site.asked()
    play.run.on_rerun = all_visible
    ran = play.rerun("all")
    assert ran["finish"].outputs["verdict"] == "pass", ran["finish"].log
    assert sum(site.asked().values()) == 5
    files = [name for name in bundle(play) if name.startswith("results/")]
    assert files
    assert all(".attempt-2." in name for name in files)


def test_rerun_of_all_jobs__the_same_plan(site: Site) -> None:
    """C-03: an equal plan has the same digest; where earlier files are still seen they count."""
    play = site.push()
    first = play.attempt()
    site.asked()
    second = play.rerun("all")
    assert second["plan"].outputs["plan-digest"] == first["plan"].outputs["plan-digest"]
    assert second["finish"].outputs["verdict"] == "pass"
    assert sum(site.asked().values()) == 4


@pytest.mark.soak
def test_rerun_of_all_jobs__the_same_plan_and_its_files_are_still_listed(site: Site) -> None:
    """C-03, trap 6: where earlier attempts' files stay visible they count, and the decision stands."""
    play = site.push()
    play.attempt()
    before = bundle(play)
    site.asked()
    play.run.on_rerun = all_visible
    again = play.rerun("all")
    assert again["finish"].outputs["verdict"] == "pass", again["finish"].log
    assert not site.asked()
    assert bundle(play)["results.jsonl"] == before["results.jsonl"]


def test_names__are_the_producers(site: Site) -> None:
    """Trap 7, P-03: plan and shards of the first attempt are found by the third of finish and publish."""
    play = site.push()
    play.attempt(finish=Fate(never=True))
    ran = play.rerun("failed", publish=Fate(never=True))
    assert set(ran) == {"finish", "publish"}
    assert ran["finish"].outputs["scorecard-artifact"].endswith("-a2")
    last = play.rerun("failed")
    assert set(last) == {"publish"}
    assert last["publish"].result == "success", last["publish"].log
    assert {name.rpartition("-")[2] for name in names(play, SHARD)} == {"a1"}


@pytest.mark.parametrize("kind", ["plan", "shard", "scorecard"])
@pytest.mark.parametrize("reserved", [True, False])
def test_upload__is_tried_again_under_another_name(
    site: Site, kind: str, *, reserved: bool
) -> None:
    """C-09, P-06: a name that is taken, or reserved by an upload that failed, is no loss."""

    def hinder() -> None:
        name = "CreateArtifact" if not reserved else "FinalizeArtifact"
        site.github.fail_next("POST", name, 500 if reserved else 409)

    stage = {"plan": "plan", "shard": "shard_0", "scorecard": "finish"}[kind]
    play = site.push()
    ran = play.attempt(**{stage: Fate(before={"upload": hinder})})
    assert ran["finish"].outputs["verdict"] == "pass", ran["finish"].log
    assert ran["publish"].result == "success"
    again = [name for name in names(play, f"releasecheck-{kind}-") if name.endswith("-a1-u2")]
    assert len(again) == 1
    job = {"plan": "plan", "shard": "shard (0)", "scorecard": "finish"}[kind]
    assert (ran[job].steps["upload"].outcome, ran[job].result) == ("failure", "success")


@pytest.mark.parametrize("kind", ["plan", "shard", "scorecard"])
def test_upload__that_fails_twice_fails_the_job(site: Site, kind: str) -> None:
    """C-09: what no later job can read was not done, and the re-run does it."""

    def hinder() -> None:
        site.github.fail_next("POST", "CreateArtifact", 500, times=2)

    stage = {"plan": "plan", "shard": "shard_0", "scorecard": "finish"}[kind]
    job = {"plan": "plan", "shard": "shard (0)", "scorecard": "finish"}[kind]
    play = site.push()
    ran = play.attempt(**{stage: Fate(before={"upload": hinder})})
    assert ran[job].result == ran["finish"].result == "failure"
    assert "could not be uploaded" in ran[job].log
    again = play.rerun("failed")
    assert again["finish"].outputs["verdict"] == "pass", again["finish"].log


def test_shard__both_uploads_arrived(site: Site) -> None:
    """C-09: an upload whose answer was lost and its second try hold the same; it counts once."""

    def hinder() -> None:
        site.github.fail_next("POST", "FinalizeArtifact", 502, after=True)

    play = site.push()
    ran = play.attempt(shard_0=Fate(before={"upload": hinder}))
    assert len(names(play, SHARD)) == 3
    assert ran["finish"].outputs["verdict"] == "pass", ran["finish"].log


def test_time_budget__stops_between_batches_and_carries_on(site: Site) -> None:
    """C-10, trap 9: its own deadline lies before the job's; what there is is uploaded, and is not asked again."""
    play = site.push(**{"time-budget": "1ms", "shards": "1"})
    ran = play.attempt()
    assert ran["shard (0)"].steps["stage"].outputs["exit-code"] == "2", ran["shard (0)"].log
    assert ran["shard (0)"].result == "failure"
    assert ran["finish"].outputs["exit-code"] == "2"
    done = site.asked()
    play.inputs["time-budget"] = "50m"
    again = play.rerun("failed")
    assert again["finish"].outputs["verdict"] == "pass"
    assert not done.keys() & site.asked().keys()


def test_time_budget__while_calls_take_long(site: Site) -> None:
    """C-10: the first calls use the budget up; the rest is left for the re-run."""

    def slowly(asked: Asked) -> tuple[int, Any]:
        time.sleep(0.3)
        return 200, {"answer": asked.question.upper()}

    site.answers.reply = slowly
    site.change(batch=1)
    play = site.push(**{"time-budget": "400ms", "shards": "1"})
    ran = play.attempt()
    assert ran["shard (0)"].steps["stage"].outputs["exit-code"] == "2", ran["shard (0)"].log
    assert len(names(play, SHARD)) == 1
    site.answers.reply = None
    done = site.asked()
    assert 0 < len(done) < 4
    again = play.rerun("failed")
    assert again["finish"].outputs["verdict"] == "pass"
    assert site.asked().keys() == {f"c{n}#t0" for n in range(4)} - done.keys()


@pytest.mark.parametrize("stage", ["plan", "shard_0", "shard_1"])
def test_cancelled_run__keeps_what_there_is_and_says_nothing(site: Site, stage: str) -> None:
    """C-12, P-10: finish runs all the same and writes a bundle that is no verdict; nothing is published."""
    asked = {"plan": 0, "shard_0": 1, "shard_1": 3}[stage]
    site.answers.hold_after = asked or None

    def meanwhile(running: Running) -> None:
        site.answers.wait_asked(
            asked
        )  # and held: a case that ends before the signal comes would end the shard

    fate = Fate(meanwhile=meanwhile, cancel=True)
    if stage == "plan":
        fate = Fate(fault={"before": 3, "signal": "INT"}, cancel=True)
    play = site.push(**{"badge-branch": "badges"})
    ran = play.attempt(**{stage: fate})
    assert ran["finish"].result == "failure", ran["finish"].log
    assert ran["publish"].result == "cancelled"
    assert "heads/badges" not in site.github.repository.refs
    assert not names(play, "releasecheck-baseline-")
    left = bundle(play)
    if stage == "plan":
        assert "failure.json" in left
    else:
        assert json.loads(left["scorecard.json"])["verdict"] == "blocked_missing"
    site.answers.hold_after = None
    site.answers.open.set()
    again = play.rerun("failed")
    assert again["finish"].outputs["verdict"] == "pass", again["finish"].log
    assert again["publish"].result == "success"
