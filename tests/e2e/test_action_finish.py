"""`finish` and `publish` killed at any moment: the re-run decides the same, in the same bytes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.site import SCORECARD, SHARD, artifacts, bundle, names, ready
from tests.staging import Fate

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.site import Site

DECIDED = ("results.jsonl", "scorecard.json")


def points(site: Site, log: Path, **inputs: Any) -> list[str]:
    """The moments of a finish that is not disturbed."""
    play = ready(site, **inputs)
    ran = play.rerun("failed", finish=Fate(fault={"record": str(log)}))
    assert ran["finish"].result == "success", ran["finish"].log
    return log.read_text("utf-8").splitlines()


MOMENTS = ("rename results.jsonl", "rename scorecard.json", "rename summary.md", "rename scorecard.html",
           "rename manifest.json")  # fmt: skip


# Every moment on both kinds of machine is a long test; the machine that is lost loses more.
@pytest.mark.parametrize("machine", [pytest.param("kept", marks=pytest.mark.soak), "lost"])
@pytest.mark.timeout(300)
def test_finish__killed_while_it_merges_and_renders(
    site: Site, tmp_path: Path, machine: str
) -> None:
    """C-15, C-16, C-18, C-19: before each file that a reader would look at; what is decided is the same."""
    found = points(site, tmp_path / "points")
    chosen = [name for name in MOMENTS if name in found]
    assert chosen, found
    moments: list[int | str] = [0, *chosen]
    for moment in moments[:: 1 if machine == "kept" else 2]:
        play = ready(site)
        fault = {"before": moment}
        ran = play.rerun("failed", finish=Fate(fault=fault, lost=machine == "lost"))
        assert ran["finish"].result == "failure", (moment, ran["finish"].log)
        assert ran["publish"].result == "failure", (moment, ran["publish"].log)
        assert not names(play, "releasecheck-baseline-"), moment
        site.asked()
        again = play.rerun("failed")
        assert again["finish"].outputs["verdict"] == "pass", (moment, again["finish"].log)
        assert again["publish"].result == "success", (moment, again["publish"].log)
        assert not site.asked()
        rows = [json.loads(line) for line in bundle(play)["results.jsonl"].splitlines()]
        assert [row["case"] for row in rows] == ["c0", "c1", "c2", "c3"], moment


def test_finish__killed_after_everything_but_the_upload(site: Site) -> None:
    """C-16: decided, and the machine dies before the upload; done again, in the same bytes."""
    play = ready(site)
    kept: dict[str, bytes] = {}

    def die() -> None:
        folder = play.folder / "2-finish/temp/releasecheck/finish/bundle"
        kept.update({name: (folder / name).read_bytes() for name in DECIDED})
        site.github.fail_next("POST", "CreateArtifact", 0, times=20)

    ran = play.rerun("failed", finish=Fate(before={"upload": die}))
    assert ran["finish"].result == ran["publish"].result == "failure"
    site.github.forgive()
    again = play.rerun("failed")
    assert again["finish"].outputs["verdict"] == "pass"
    after = bundle(play)
    assert after["results.jsonl"] == kept["results.jsonl"]
    was, now = (json.loads(one["scorecard.json"]) for one in (kept, after))
    assert was.pop("created_at") <= now.pop("created_at")
    assert was == now


@pytest.mark.parametrize("arrived", [True, False])
def test_publish__the_answer_to_a_comment_is_lost(site: Site, *, arrived: bool) -> None:
    """C-17, C-20: posted or not, nobody knows; the re-run finds out, and there is one comment in the end."""
    base = site.head
    site.change(5)
    play = site.pull(base)

    def lose() -> None:
        site.github.fail_next("POST", "comments", 0, times=20, after=arrived)

    ran = play.attempt(publish=Fate(before={"stage": lose}))
    site.github.forgive()
    assert ran["publish"].result == "failure", ran["publish"].log
    before = bundle(play)
    again = play.rerun("failed")
    assert set(again) == {"publish"}
    assert again["publish"].result == "success"
    assert len(site.comments) == 1
    assert bundle(play) == before


@pytest.mark.parametrize("moment", [0, 1, 2, 3])
def test_publish__killed_with_sigkill(site: Site, moment: int) -> None:
    """C-20: before any word of it, or after a surface was published and before the next: the re-run completes."""
    base = site.head
    site.change(5)
    play = site.pull(base)
    ran = play.attempt(publish=Fate(fault={"before": moment}, lost=True))
    assert ran["publish"].result == "failure", ran["publish"].log
    before = bundle(play)
    again = play.rerun("failed")
    assert set(again) == {"publish"}
    assert again["publish"].result == "success", again["publish"].log
    assert len(site.comments) == 1
    assert bundle(play) == before


def test_comment__that_failed_is_posted_by_the_rerun(site: Site) -> None:
    """Issue, "Must hold": the publication is owed, the verdict is not touched."""
    base = site.head
    site.change(5)
    play = site.pull(base)

    def refuse() -> None:
        site.github.fail_next("POST", "comments", 403, times=5)

    ran = play.attempt(publish=Fate(before={"stage": refuse}))
    assert ran["finish"].result == "success"
    assert ran["publish"].result == "failure"
    assert "comment      FAILED" in ran["publish"].log
    assert not site.comments
    site.github.forgive()
    before = bundle(play)
    again = play.rerun("failed")
    assert set(again) == {"publish"}
    assert len(site.comments) == 1
    assert "pass" in site.comments[0]
    assert bundle(play) == before
    assert again["publish"].outputs == ran["publish"].outputs


def test_finish__twice_at_once(site: Site) -> None:
    """C-21: a second finish of the same attempt's records decides the same; publish takes the named one."""
    play = ready(site)
    first = play.rerun("failed")
    before = bundle(play)
    ran = play.act(
        "finish again", {
            "stage": "finish", "plan-artifact": play.jobs["plan"].outputs["plan-artifact"],
            "plan-result": "success",
        }, play.folder / "second",
    )  # fmt: skip
    # Its name is taken by the first; it goes under the second one.
    assert ran.result == "success", ran.log
    assert names(play, SCORECARD).count(first["finish"].outputs["scorecard-artifact"]) == 1
    assert ran.outputs["scorecard-artifact"].endswith("-u2")
    after = bundle(play)
    assert {name: after[name] for name in DECIDED} == {name: before[name] for name in DECIDED}


def test_finish__again_after_it_was_decided(site: Site) -> None:
    """C-17: what was decided for good is uploaded again as it is, byte by byte."""
    site.answers.wrong = {"q0", "q1", "q2", "q3"}
    play = site.push()
    ran = play.attempt()
    assert ran["finish"].outputs["verdict"] == "block"
    before = bundle(play)
    again = play.rerun("failed")
    assert again["finish"].outputs["verdict"] == "block"
    after = bundle(play)
    assert {name: after[name] for name in after if name != "junit.xml"} == {
        name: before[name] for name in before if name != "junit.xml"
    }


def test_finish__without_an_expired_shard_is_no_verdict(site: Site) -> None:
    """C-29: what one attempt recorded has expired; it is told by name, and is not measured as absent."""
    play = ready(site)
    artifacts(play, SHARD)[0].expired = True
    ran = play.rerun("failed")
    assert ran["finish"].steps["stage"].outputs["exit-code"] in ("2", "4"), ran["finish"].log
    assert ran["finish"].result == "failure"
    assert "has expired" in ran["finish"].log
