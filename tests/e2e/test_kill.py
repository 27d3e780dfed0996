"""Killed at any moment and resumed, a run ends as if nothing had happened (issue 2, "Must hold" 1 and 2)."""

from __future__ import annotations

import shutil
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.e2e.suites import (
    Answers,
    Suite,
    document,
    http_suite,
    lines,
    noted,
    python_suite,
    recorded,
    same_but_for_times,
    scorecard,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.program import Done, Program

KILLED = -signal.SIGKILL


@dataclass
class Scene:
    """A suite, one uninterrupted run of it, and the moments at which a run can be killed."""

    folder: Path
    answers: Answers
    suite: Suite
    whole: Path
    points: list[str]

    def named(self, *words: str) -> list[tuple[int, str]]:
        """Number and name of every point whose name starts so; temporary files are no points."""
        found = [
            (number, name)
            for number, name in enumerate(self.points)
            if name.startswith(words) and not name.endswith(".new")
        ]
        assert found
        return found


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, program: Program) -> Iterator[Scene]:
    """Run once without harm."""
    folder = tmp_path_factory.mktemp("kill")
    with Answers() as answers:
        answers.wrong = {"q1"}
        suite = http_suite(
            folder / "suite",
            answers,
            3,
            shards=2,
            judges=[{"id": "exact", "type": "exact"}, {"id": "near", "type": "similarity"}],
        )
        whole, log = folder / "whole", folder / "points"
        done = program("run", suite.path, "--out", whole, cwd=folder, fault={"record": str(log)})
        assert done.code == 0, done
        yield Scene(folder, answers, suite, whole, log.read_text("utf-8").splitlines())


def kill_and_resume(scene: Scene, program: Program, number: int, name: str) -> Done:
    """Kill a run before one point, resume it, and compare with the uninterrupted one."""
    out = scene.folder / f"killed-{number}"
    scene.answers.asked.clear()
    killed = program(
        "run", scene.suite.path, "--out", out, cwd=scene.folder, fault={"before": number}
    )
    assert killed.code == KILLED, (name, killed)
    kept = recorded(out)
    before = len(scene.answers.asked)
    resumed = program("resume", out, cwd=scene.folder)
    if resumed.code == 0:
        same_but_for_times(scene.whole, out)
        again = {asked.trial for asked in scene.answers.asked[before:]}
        assert not again & kept, (name, "was on record and was asked again")
        assert not list(out.rglob(".*.new")), name
        verified = program("verify", out, cwd=scene.folder)
        assert verified.code == 0, (name, verified)
    return resumed


def test_files__are_never_written_in_place(scene: Scene) -> None:
    """Readers see the old or the new content of a file; only ledgers grow where they are."""
    kept = {path.name for path in scene.whole.rglob("*") if path.is_file() and path.name != ".lock"}
    written = {name.removeprefix("write ") for name in scene.points if name.startswith("write ")}
    assert written & kept == {path.name for path in (scene.whole / "results").iterdir()}


def test_killed_while_planning__leaves_nothing_of_it(scene: Scene, program: Program) -> None:
    """C-26: plan and cases are there together or not at all; nothing was asked; `run` starts anew."""
    for number, name in scene.named("rename cases", "rename plan", "remove .replacing"):
        resumed = kill_and_resume(scene, program, number, name)
        assert resumed.code == 3, (name, resumed)
        assert not scene.answers.asked
        out = scene.folder / f"killed-{number}"
        again = program("run", scene.suite.path, "--out", out, cwd=scene.folder)
        assert again.code == 0, (name, again)
        same_but_for_times(scene.whole, out)


def test_killed_before_any_record__is_resumed(scene: Scene, program: Program) -> None:
    """C-04 to C-08: before an output, between output and scores, before the end of a shard."""
    for number, name in scene.named("append", "end"):
        resumed = kill_and_resume(scene, program, number, name)
        assert resumed.code == 0, (name, resumed)


def test_killed_while_finishing__is_finished(scene: Scene, program: Program) -> None:
    """C-15 to C-19: before each file of the bundle; no record is missing, so nothing is asked."""
    reports = ("results", "scorecard", "summary", "junit", "manifest", "badge")
    for number, name in scene.named("remove manifest", *(f"rename {word}" for word in reports)):
        resumed = kill_and_resume(scene, program, number, name)
        assert resumed.code == 0, (name, resumed)
        assert len(scene.answers.asked) == 3, name
        out = scene.folder / f"killed-{number}"
        here, there = ({path.name for path in found.iterdir()} for found in (out, scene.whole))
        assert here == there, name


def test_killed_after_the_decision__is_not_decided_again(scene: Scene, program: Program) -> None:
    """C-17: the manifest stands as it was; only the badge is completed."""
    out = scene.folder / "decided"
    killed = program(
        "run",
        scene.suite.path,
        "--out",
        out,
        cwd=scene.folder,
        fault={"before": "rename badge.json"},
    )
    assert killed.code == KILLED
    manifest = (out / "manifest.json").read_bytes()
    assert not (out / "badge.json").exists()
    assert program("resume", out, cwd=scene.folder).code == 0
    assert (out / "manifest.json").read_bytes() == manifest
    assert document(out / "badge.json")["message"] == "local run"
    assert (out / "badge.svg").exists()


def test_killed_while_replacing__is_taken_for_neither_run(scene: Scene, program: Program) -> None:
    """A finished bundle makes room for a new run: killed there, `run` goes on and `resume` refuses."""
    out, log = scene.folder / "replaced", scene.folder / "replacing"
    shutil.copytree(scene.whole, out)
    done = program(
        "run", scene.suite.path, "--out", out, cwd=scene.folder, fault={"record": str(log)}
    )
    assert done.code == 0, done
    names = log.read_text("utf-8").splitlines()
    removals = [
        number
        for number, name in enumerate(names[: names.index("rename plan") + 1])
        if name.startswith("remove") and not name.endswith(".new")
    ]
    for number in (
        removals[0],
        removals[len(removals) // 2],
        removals[-1],
        names.index("rename plan"),
    ):
        shutil.rmtree(out)
        shutil.copytree(scene.whole, out)
        fault = {"before": number}
        killed = program("run", scene.suite.path, "--out", out, cwd=scene.folder, fault=fault)
        assert killed.code == KILLED, names[number]
        resumed = program("resume", out, cwd=scene.folder)
        assert resumed.code in (3, 4), (names[number], resumed)
        again = program("run", scene.suite.path, "--out", out, cwd=scene.folder)
        assert again.code == 0, (names[number], again)
        same_but_for_times(scene.whole, out)
        assert document(out / "manifest.json")["run_id"] != scorecard(scene.whole)["run_id"]
        assert program("resume", out, cwd=scene.folder).code == 0


def test_killed_again_and_again__asks_only_what_was_in_flight(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """At random moments, with four calls at once, until it ends by itself."""
    suite = http_suite(tmp_path, answers, 12, trials=2, batch=2, target={"concurrency": 4})
    done = program("run", suite.path, "--out", "whole", cwd=tmp_path)
    assert done.code == 0, done
    answers.asked.clear()
    chance = np.random.default_rng(7)
    out = tmp_path / "out"
    command: list[str | Path] = ["run", suite.path, "--out", out]
    kept: set[str] = set()
    for _ in range(4):
        before = len(answers.asked)
        running = program.start(*command, cwd=tmp_path)
        answers.wait_asked(before + int(chance.integers(1, 7)))
        running.signal(signal.SIGKILL)
        assert running.wait().code == KILLED
        assert not {asked.trial for asked in answers.asked[before:]} & kept
        kept = recorded(out)
        command = ["resume", out]
    before = len(answers.asked)
    assert program(*command, cwd=tmp_path).code == 0
    assert not {asked.trial for asked in answers.asked[before:]} & kept
    same_but_for_times(tmp_path / "whole", out)
    counts = answers.counts()
    assert len(counts) == 24
    assert sum(counts.values()) <= 24 + 4 * 4  # four kills, four calls in flight each
    keys = {asked.key for asked in answers.asked}
    assert len(keys) == 24  # asked again under the same idempotency key (C-06)


@pytest.mark.parametrize("left", [0.5, 0.0], ids=["half a line", "half a header"])
def test_torn_file__is_redone(scene: Scene, program: Program, left: float) -> None:
    """C-08: what a cut-off line held is done again; a file cut off in its header held nothing."""
    out = scene.folder / f"torn-{left}"
    killed = program(
        "run",
        scene.suite.path,
        "--out",
        out,
        cwd=scene.folder,
        fault={"before": "append c1#0 near"},
    )
    assert killed.code == KILLED
    path = out / "results" / "shard-0000.attempt-1.jsonl"
    data = path.read_bytes()
    last = data.rstrip(b"\n").rfind(b"\n") + 1
    path.write_bytes(data[: last + int((len(data) - last) * left)] if left else data[:40])
    assert program("status", out, cwd=scene.folder).code == 0
    kept = recorded(out)
    scene.answers.asked.clear()
    resumed = program("resume", out, cwd=scene.folder)
    assert resumed.code == 0, resumed
    same_but_for_times(scene.whole, out)
    assert not {asked.trial for asked in scene.answers.asked} & kept
    assert program("verify", out, cwd=scene.folder).code == 0


def test_killed_between_output_and_score__only_the_judge_is_asked(
    tmp_path: Path, program: Program
) -> None:
    """C-05, C-07: the stored output is judged; the judge that had answered is asked once more."""
    suite = python_suite(
        tmp_path,
        3,
        target={"concurrency": 1},
        judges=[{"id": "own", "type": "python", "function": "app:judge", "concurrency": 1}],
        gates=[{"id": "quality", "metric": "own", "min": 0.5}],
    )
    killed = program("run", suite.path, cwd=tmp_path, fault={"before": "append c1#0 own"})
    assert killed.code == KILLED, killed
    assert noted(suite) == {"c0#t0": 1, "c1#t0": 1}
    assert noted(suite, "judged.txt") == {"c0": 1, "c1": 1}
    resumed = program("resume", "out", cwd=tmp_path)
    assert resumed.code == 0, resumed
    assert noted(suite) == {"c0#t0": 1, "c1#t0": 1, "c2#t0": 1}
    assert noted(suite, "judged.txt") == {"c0": 1, "c1": 2, "c2": 1}


def test_killed_while_planning_apart__can_be_planned_again(scene: Scene, program: Program) -> None:
    """C-26 for `plan`: no shard starts from half a plan, and the folder can be used again."""
    for point in ("rename cases-0001.jsonl", "rename plan.json"):
        plan = scene.folder / f"plan-{point.split()[1]}"
        arguments = ("plan", scene.suite.path, "--out", plan)
        killed = program(*arguments, cwd=scene.folder, fault={"before": point})
        assert killed.code == KILLED
        shard = program("shard", "--plan", plan, "--index", "0", cwd=scene.folder)
        assert shard.code == 3, shard
        again = program(*arguments, "--shards", "1", cwd=scene.folder)
        assert again.code == 0, again
        results = scene.folder / f"{plan.name}-results"
        shard = program("shard", "--plan", plan, "--index", "0", "--out", results, cwd=scene.folder)
        assert shard.code == 0, shard


def test_killed_repair__leaves_a_bundle_to_resume(scene: Scene, program: Program) -> None:
    """A kill inside `finish --repair` loses no record of the shards, in the bundle or beside it."""
    plan, results, out = (scene.folder / f"repair-{name}" for name in ("plan", "results", "out"))
    assert program("plan", scene.suite.path, "--out", plan, cwd=scene.folder).code == 0
    shard = program("shard", "--plan", plan, "--index", "0", "--out", results, cwd=scene.folder)
    assert shard.code == 0, shard
    arguments = ("finish", "--plan", plan, "--results", results, "--out", out, "--repair", "5")
    killed = program(*arguments, cwd=scene.folder, fault={"before": "append c1#0 exact"})
    assert killed.code == KILLED, killed
    scene.answers.asked.clear()
    copy = scene.folder / "repair-resumed"
    shutil.copytree(out, copy)
    for command in (("resume", copy), arguments):
        done = program(*command, cwd=scene.folder)
        assert done.code == 0, done
    assert not scene.answers.asked  # all three were on record, the last one without its scores
    for found in (copy, out):
        same_but_for_times(scene.whole, found)


def test_partial_results__are_missing_never_absent(scene: Scene, program: Program) -> None:
    """C-04: a shard that left nothing is counted and named, exit 2; its records complete the run."""
    plan, results, out = (scene.folder / f"partial-{name}" for name in ("plan", "results", "out"))
    assert program("plan", scene.suite.path, "--out", plan, cwd=scene.folder).code == 0
    results.mkdir()
    arguments = ("finish", "--plan", plan, "--results", results, "--out", out)
    nothing = program(*arguments, "--json", cwd=scene.folder)
    assert nothing.code == 2, nothing
    counts = nothing.json()["counts"]
    assert (counts["pairs"], counts["missing"], counts["scored"]) == (6, 6, 0)
    shard = program("shard", "--plan", plan, "--index", "1", "--out", results, cwd=scene.folder)
    assert shard.code == 0, shard
    some = program(*arguments, cwd=scene.folder)
    assert some.code == 2, some
    card = scorecard(out)
    assert card["verdict"] == "blocked_missing"
    assert card["counts"]["missing"] == 4
    message = "no score from judge:exact for 2 of 3 cases"
    assert message in [entry["message"] for entry in card["incomplete"]]
    assert message in some.out
    rows = lines(out / "results.jsonl")
    assert [row["case"] for row in rows] == ["c0", "c1", "c2"]
    states = [row["scores"]["exact"]["state"] for row in rows]
    assert states == ["missing", "scored", "missing"]
    assert document(out / "manifest.json")["finalized_at"] is None
    assert program("verify", out, cwd=scene.folder).code == 0
    shard = program("shard", "--plan", plan, "--index", "0", "--out", results, cwd=scene.folder)
    assert shard.code == 0, shard
    assert program(*arguments, cwd=scene.folder).code == 0
    same_but_for_times(scene.whole, out)
