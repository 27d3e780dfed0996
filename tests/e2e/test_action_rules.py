"""A pull request cannot weaken the rules that it is held against (G-27, contract section 7)."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.site import PLAN, artifacts, card, unpacked
from tests.e2e.suites import questions
from tests.staging import Fate

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.e2e.site import Site
    from tests.staging import Play

STRICT = "def judge(ask):\n    return ask['output'] == ask['case']['expected']\n"
LAX = "def judge(ask):\n    return True\n"


def prepared(site: Site) -> str:
    """A base whose gates are strict; the target answers half of the cases wrongly."""
    (site.checkout / "judge.py").write_text(STRICT, encoding="utf-8")
    base = site.change(
        judges=[
            {"id": "exact", "type": "exact"},
            {"id": "own", "type": "python", "function": "judge:judge"},
        ],
        gates=[
            {"id": "quality", "metric": "exact", "min": 0.9},
            {"id": "own", "metric": "own", "min": 0.9},
        ],
        expect_cases=4,
    )
    site.answers.wrong = {"q0", "q1"}
    return base


def lower_gates(site: Site) -> None:
    site.suite.config["gates"] = [
        {"id": "quality", "metric": "exact", "min": 0.01}, {"id": "own", "metric": "own", "min": 0.01},
    ]  # fmt: skip


def drop_gates(site: Site) -> None:
    site.suite.config["gates"] = [
        {"id": "speed", "metric": "latency_ms", "stat": "p50", "max": 60000}
    ]


def lax_judge(site: Site) -> None:
    (site.checkout / "judge.py").write_text(LAX, encoding="utf-8")


def other_judges(site: Site) -> None:
    site.suite.config["judges"] = [
        {"id": "exact", "type": "regex", "pattern": "."}, {"id": "own", "type": "regex", "pattern": "."},
    ]  # fmt: skip


def other_baseline(site: Site) -> None:
    site.suite.config["baseline"] = {"on_missing": "bootstrap", "path": "elsewhere"}


WEAKENED: dict[str, Callable[[Site], None]] = {
    change.__name__: change
    for change in (lower_gates, drop_gates, lax_judge, other_judges, other_baseline)
}


def shallow(site: Site, play: Play) -> None:
    """Give the jobs what actions/checkout gives: the last commit alone."""
    clone = site.folder / f"clone-{play.run.id}"
    subprocess.run(
        ["git", "clone", "-q", "--depth=1", f"file://{site.checkout}", str(clone)], check=True
    )
    address = f"{site.github.server_url}/{site.github.repository.name}"
    subprocess.run(
        ["git", "-C", str(clone), "config", f"url.file://{site.checkout}.insteadOf", address],
        check=True,
    )
    play.checkout = clone


def change(site: Site, weaken: Callable[[Site], None]) -> None:
    """Commit what a pull request does."""
    weaken(site)
    site.change()


@pytest.mark.parametrize("how", WEAKENED)
def test_weakened_rules__do_not_apply_to_their_own_change(site: Site, how: str) -> None:
    """G-27: the verdict is that of the base's rules, from a commit that a shallow checkout lacks; it is shown."""
    base = prepared(site)
    change(site, WEAKENED[how])
    play = site.pull(base)
    shallow(site, play)
    ran = play.attempt()
    assert ran["finish"].outputs.get("verdict") == "block", ran["plan"].log + ran["finish"].log
    gates = {one["id"]: one["outcome"] for one in card(play)["gates"]}
    assert "block" in gates.values()
    (comment,) = site.comments
    shown = {"lower_gates": "quality", "drop_gates": "speed", "lax_judge": "judge", "other_judges": "exact",
             "other_baseline": "baseline"}[how]  # fmt: skip
    assert shown in comment
    assert "does not apply until merged" in comment, comment


def test_policy_head__decides_about_itself_and_says_so(site: Site) -> None:
    """G-27: who asks for it gets it, in sight of everybody."""
    base = prepared(site)
    change(site, lower_gates)
    play = site.pull(base, policy="head")
    shallow(site, play)
    ran = play.attempt()
    assert ran["finish"].outputs["verdict"] == "pass", ran["finish"].log
    (comment,) = site.comments
    assert "head" in comment
    assert json.loads(unpacked(artifacts(play, PLAN)[0])["plan.json"])["policy"]["mode"] == "head"


def test_expect_cases__applies_and_is_shown_first(site: Site) -> None:
    """Contract section 7: the pin belongs to the change; that it was moved is the first thing to read."""
    base = prepared(site)
    site.suite.cases = questions(3)
    site.suite.config["expect_cases"] = 3
    site.suite.write()
    site.repository.commit()
    play = site.pull(base)
    shallow(site, play)
    ran = play.attempt()
    assert ran["finish"].outputs["verdict"] == "block", ran["finish"].log
    (comment,) = site.comments
    assert "expect_cases" in comment
    assert "c3" in comment


def test_dataset__what_changed_is_shown(site: Site) -> None:
    """G-27: cases that were added, changed or removed."""
    base = prepared(site)
    cases: list[dict[str, Any]] = questions(4)
    cases[0]["expected"] = "nonsense"
    site.suite.cases = [*cases[:3], {"id": "c9", "input": "q9", "expected": "Q9"}]
    site.change()
    play = site.pull(base)
    shallow(site, play)
    play.attempt()
    (comment,) = site.comments
    for name in ("c0", "c3", "c9"):
        assert name in comment, comment


def test_base_commit__that_cannot_be_had_is_no_plan(site: Site) -> None:
    """G-27: without the base's rules there is no check, never one under the change's own."""
    base = prepared(site)
    change(site, lower_gates)
    play = site.pull(base)
    shallow(site, play)
    play.event["pull_request"]["base"]["sha"] = "f" * 40
    ran = play.attempt()
    assert ran["plan"].result == ran["finish"].result == "failure"
    assert "could not be fetched" in ran["plan"].log


def test_new_suite__is_marked(site: Site) -> None:
    """Contract section 7: no config in the base commit; the change's own decides and is called introduced."""
    site.repository.git("rm", "-q", "--cached", "releasecheck.yaml")
    (site.checkout / "releasecheck.yaml").rename(site.folder / "kept")
    base = site.repository.commit()
    (site.folder / "kept").rename(site.checkout / "releasecheck.yaml")
    site.repository.commit()
    play = site.pull(base)
    shallow(site, play)
    ran = play.attempt()
    assert ran["finish"].outputs["verdict"] == "pass", ran["plan"].log + ran["finish"].log
    (comment,) = site.comments
    assert "introduced" in comment


def test_python_extras__are_those_of_the_base_commit(site: Site) -> None:
    """They are code that the required check runs; a change's own file is not installed for it."""
    extras = site.checkout / "extras.txt"
    extras.write_text("# nothing more is needed\n", encoding="utf-8")
    base = site.repository.commit("extras")
    extras.write_text("releasecheck-of-somebody-else @ file:///nowhere\n", encoding="utf-8")
    site.repository.commit("other extras")
    ran = site.pull(
        base, 7, baseline="none", python="python3", **{"python-extras": "extras.txt"}
    ).attempt()
    assert ran["finish"].outputs.get("verdict") == "pass", ran["plan"].log
    own = site.push(baseline="none", python="python3", **{"python-extras": "extras.txt"}).attempt(
        shard=Fate(never=True)
    )
    assert own["plan"].steps["stage"].outputs["exit-code"] == "4"
    assert "extras.txt: cannot be installed" in own["plan"].log
