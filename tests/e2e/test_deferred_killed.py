"""Killed while judges are waited for, and carried on: nothing is asked of the target again, no score is lost (S1-11, S1-44).

Points are named by `faultpoints`: before the deadline is recorded, before a score that came is recorded,
after it, before the end of the file, before the decision.
"""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.e2e.deferring import (
    HASTEN,
    WAYS,
    Settled,
    Way,
    deferred_suite,
    shards,
    slow,
)
from tests.e2e.suites import Answers, ledger, same_but_for_times
from tests.judgeserver import JudgeServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.e2e.program import Program
    from tests.e2e.suites import Suite

KILLED = -signal.SIGKILL


@dataclass
class Scene:
    """A run that nothing interrupted, with the points at which its settling can be killed."""

    folder: Path
    answers: Answers
    judge: JudgeServer
    suite: Suite
    whole: Path
    points: list[str]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, program: Program) -> Iterator[Scene]:
    """Run once without harm: two rounds, in each of which some scores come."""
    folder = tmp_path_factory.mktemp("killed")
    with Answers() as answers, JudgeServer(after=2) as judge:
        answers.wrong = {"q1"}
        suite = deferred_suite(folder / "suite", answers, slow(judge.url), cases=3)
        log = folder / "points"
        fault = {"record": str(log), **HASTEN}
        done = program("run", suite.path, "--out", folder / "whole", cwd=folder, fault=fault)
        assert done.code == 0, done
        points = log.read_text("utf-8").splitlines()
        yield Scene(folder, answers, judge, suite, folder / "whole", points)


def settling_points(scene: Scene) -> list[tuple[int, str]]:
    """Every change on disk from the finish file's first byte until the manifest; temporary files are none."""
    start = scene.points.index("write finish.attempt-1.jsonl")
    stop = scene.points.index("rename manifest.json")
    found = [(n, scene.points[n]) for n in range(start, stop + 1)]
    return [(n, name) for n, name in found if not name.endswith(".new")]


def test_points__cover_the_settling(scene: Scene) -> None:
    """What the other test walks through."""
    names = [name for _, name in settling_points(scene)]
    assert names[:2] == ["write finish.attempt-1.jsonl", "append deadline slow"]
    assert sorted(names[2:5]) == [f"append c{n}#0 slow" for n in range(3)]
    assert "end" in names
    assert "rename scorecard.json" in names


TELLING = (
    "append deadline slow",
    "append c0#0 slow",
    "append c2#0 slow",
    "end",
    "rename results.jsonl",
    "rename manifest.json",
)
"""Points that differ: before the deadline, before and between scores, after all of them, while deciding."""


def test_killed_at_a_telling_point__is_carried_on(scene: Scene, program: Program) -> None:
    """C-13, G-02: between a score's arrival and its record, too."""
    chosen = [(number, name) for number, name in settling_points(scene) if name in TELLING]
    assert len(chosen) == len(TELLING)
    carry_on(scene, program, chosen)


@pytest.mark.soak
def test_killed_at_any_point__is_carried_on(scene: Scene, program: Program) -> None:
    """C-13, G-02: every other change on disk."""
    carry_on(scene, program, [one for one in settling_points(scene) if one[1] not in TELLING])


def carry_on(scene: Scene, program: Program, points: list[tuple[int, str]]) -> None:
    """The same scorecard, the target asked once, tickets asked for only where no score was taken."""
    for number, name in points:
        out = scene.folder / f"killed-{number}"
        scene.answers.asked.clear()
        scene.judge.asked.clear()
        fault = {"before": number, **HASTEN}
        killed = program("run", scene.suite.path, "--out", out, cwd=scene.folder, fault=fault)
        assert killed.code == KILLED, (name, killed)
        run = Settled(killed, out)
        taken = {row["ticket"] for row in run.records("slow") if row["state"] == "scored"}
        before = len(scene.judge.collected)
        resumed = program("resume", out, cwd=scene.folder, fault=HASTEN)
        assert resumed.code == 0, (name, resumed)
        same_but_for_times(scene.whole, out)
        assert len(scene.answers.asked) == len(scene.judge.asked) == 3, name
        again = {ticket for asked in scene.judge.collected[before:] for ticket in asked}
        assert not again & taken, (name, "was on record and was asked for again")
        assert len(again) == 3 - len(taken), name
        assert len({row["deadline"] for row in run.records("slow", "deadline")}) == 1, name
        verified = program("verify", out, cwd=scene.folder)
        assert verified.code == 0, (name, verified)


@pytest.mark.parametrize("way", WAYS)
def test_killed_while_pausing__is_carried_on(
    way: Way, tmp_path: Path, program: Program, answers: Answers
) -> None:
    """C-13: a real pause; what other questions brought before it is kept."""
    with JudgeServer(after=1 if way == "run" else 2) as judge:
        judge.omits = {"c2"}
        suite = deferred_suite(tmp_path / "suite", answers, slow(judge.url), cases=3)
        if way == "run":
            argv: list[str] = ["run", suite.path.name, "--out", "out"]
            where, again = suite.folder, ["resume", "out"]
        else:
            where = shards(program, suite)
            argv = again = ["finish", "--plan", "plan", "--results", "results", "--out", "out"]
        asked = len(judge.collected)
        running = program.start(*argv, cwd=where)
        _until(lambda: len(judge.collected) > asked and _scored(where / "out") == 2)
        running.signal(signal.SIGKILL)
        assert running.wait().code == KILLED
        judge.omits = ()
        done = program(*again, cwd=where, fault=HASTEN)
    run = Settled(done, where / "out")
    assert done.code == 0, done
    assert len(judge.asked) == len(answers.asked) == 3
    assert run.card["counts"]["scored"] == 3
    assert judge.collected[-1] == [judge.ticket_of("c2")]
    assert not [row for row in run.records("slow") if row.get("notes")]


@pytest.mark.parametrize(
    ("ahead_s", "comes", "notes", "reason"),
    [
        (450, True, ["resumed_after_deadline"], None),
        (450, False, [], "interrupted"),
        (700, True, [], "interrupted"),
    ],
)
def test_killed_and_resumed_after_the_deadline(
    ahead_s: float, comes: bool, notes: list[str], reason: str | None, tmp_path: Path,
    program: Program, answers: Answers,
) -> None:  # fmt: skip
    """C-13: one look within five minutes of it, marked; then missing, `interrupted`, said with the count."""
    with JudgeServer(after=None) as judge:
        suite = deferred_suite(tmp_path, answers, slow(judge.url), cases=3)
        running = program.start("run", suite.path, cwd=tmp_path)
        _until(lambda: judge.collected)
        running.signal(signal.SIGKILL)
        assert running.wait().code == KILLED
        judge.after = 0 if comes else None
        asked = len(judge.collected)
        late = {"hasten": True, "ahead_s": ahead_s}
        done = program("resume", "out", cwd=tmp_path, fault=late)
    run = Settled(done, tmp_path / "out")
    assert done.code == (0 if notes else 2), done
    assert len(judge.collected) - asked == (ahead_s < 600)
    for case in ("c0", "c1", "c2"):
        ended = run.ended("slow", case)
        assert (ended.get("notes", []), ended["reason"]) == (notes, reason)
    entry = run.incomplete("slow")
    assert (None if entry is None else entry["given_up"]) == (None if notes else {"interrupted": 3})
    assert ("resumed_after_deadline" in " ".join(run.card["notices"])) == bool(notes)
    assert len(answers.asked) == 3


def _scored(out: Path) -> int:
    rows = ledger(out / "results") if (out / "results").is_dir() else []
    return [row["state"] for row in rows if row["record"] == "score"].count("scored")


def _until(true: Callable[[], object]) -> None:
    ends = time.monotonic() + 30
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.02)
