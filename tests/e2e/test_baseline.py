"""Baselines: promoted, believed only when they hold together, compared honestly."""

from __future__ import annotations

import json
import shutil
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.forge import edit, edit_lines, seal_baseline
from tests.e2e.suites import (
    Answers,
    Suite,
    document,
    http_suite,
    lines,
    outcomes,
    python_suite,
    scorecard,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.e2e.program import Done, Program

FILES = ("scorecard.json", "results.jsonl", "manifest.json")


def no_worse(**rule: Any) -> dict[str, Any]:
    """A no-regression gate over `exact`."""
    return {"id": "no-worse", "metric": "exact", "no_regression": rule}


@dataclass
class Scene:
    """A suite with a promoted baseline that a run passes against."""

    suite: Suite
    answers: Answers
    program: Program
    count: int = 0

    def run(self, *arguments: str | Path) -> tuple[Done, Path]:
        """Run into a folder of its own."""
        self.count += 1
        out = self.suite.folder / f"run-{self.count}"
        done = self.program("run", self.suite.path, "--out", out, *arguments, cwd=self.suite.folder)
        return done, out

    def baseline(self) -> Path:
        """Copy the baseline, to be harmed."""
        self.count += 1
        folder = self.suite.folder / f"baseline-{self.count}"
        shutil.copytree(self.suite.folder / "baseline", folder)
        return folder


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, program: Program) -> Iterator[Scene]:
    """Bootstrap, promote."""
    with Answers() as answers:
        gates = [{"id": "quality", "metric": "exact", "min": 0.2}, no_worse(max_drop=0.1)]
        suite = http_suite(
            tmp_path_factory.mktemp("baseline"),
            answers,
            4,
            gates=gates,
            baseline={"on_missing": "bootstrap"},
        )
        scene = Scene(suite, answers, program)
        answers.wrong = {"q0"}
        done, out = scene.run()
        assert done.code == 0, done
        assert (scorecard(out)["verdict"], outcomes(out)["no-worse"]) == ("bootstrap", "bootstrap")
        promoted = program("baseline", "promote", out, cwd=suite.folder)
        assert promoted.code == 0, promoted
        yield scene


def test_promoted__is_shown_and_compared_with(scene: Scene) -> None:
    done, out = scene.run()
    assert done.code == 0, done
    card = scorecard(out)
    assert (card["verdict"], card["gates"][1]["compared"]) == ("pass", 4)
    shown = scene.program("baseline", "show", "releasecheck.yaml", "--json", cwd=scene.suite.folder)
    assert shown.json()["run_id"] == card["baseline"]["run_id"]
    assert document(scene.suite.folder / "baseline" / "promotion.json")["accepted"] is None


def test_real_drop__blocks_and_names_gate_and_cases(scene: Scene) -> None:
    """Exit 1 beside a scorecard that says `block`, with the flips listed."""
    scene.answers.wrong = {"q1", "q3"}
    done, out = scene.run()
    scene.answers.wrong = {"q0"}
    assert done.code == 1, done
    card = scorecard(out)
    assert (card["verdict"], outcomes(out)) == ("block", {"quality": "pass", "no-worse": "block"})
    assert card["flips"]["exact"] == {"new_failures": ["c1", "c3"], "new_passes": ["c0"]}
    assert "no-worse" in done.out
    assert "c1, c3" in done.out
    refused = scene.program("baseline", "promote", out, "--accept", "no", cwd=scene.suite.folder)
    assert refused.code == 3, refused


@pytest.mark.parametrize("arguments", [("--preview", "2"), ("--ids", "c1,c2")])
def test_partial_run__is_never_promoted(scene: Scene, arguments: tuple[str, ...]) -> None:
    done, out = scene.run(*arguments)
    assert done.code == 0, done
    before = (scene.suite.folder / "baseline" / "manifest.json").read_bytes()
    refused = scene.program("baseline", "promote", out, "--accept", "yes", cwd=scene.suite.folder)
    assert refused.code == 3, refused
    assert "only a full run" in refused.err
    assert (scene.suite.folder / "baseline" / "manifest.json").read_bytes() == before


def test_open_or_edited_run__is_never_promoted(scene: Scene) -> None:
    scene.answers.status = {"q1": 503}
    _, out = scene.run()
    scene.answers.status = {}
    refused = scene.program("baseline", "promote", out, cwd=scene.suite.folder)
    assert refused.code == 3, refused
    assert "not finalized" in refused.err
    _, out = scene.run()
    edit_lines(out / "results.jsonl", lambda row: row["passed"].update(exact=True))
    refused = scene.program("baseline", "promote", out, "--to", "edited", cwd=scene.suite.folder)
    assert refused.code == 4, refused
    assert not (scene.suite.folder / "edited").exists()


def test_not_comparable__needs_a_reason(tmp_path: Path, program: Program, answers: Answers) -> None:
    """A strict suite gets its first baseline only by a decision on record."""
    suite = http_suite(tmp_path, answers, 3, gates=[no_worse()])
    done = program("run", suite.path, cwd=tmp_path)
    assert (done.code, scorecard(suite.out)["verdict"]) == (2, "not_comparable"), done
    for words in ((), ("--accept", " ")):
        refused = program("baseline", "promote", "out", *words, cwd=tmp_path)
        assert refused.code == 3, refused
    assert not (tmp_path / "baseline").exists()
    accepted = program("baseline", "promote", "out", "--accept", "the first one", cwd=tmp_path)
    assert accepted.code == 0, accepted
    assert document(tmp_path / "baseline" / "promotion.json")["accepted"] == "the first one"
    itself = program("baseline", "promote", "out", "--to", "out", "--accept", "x", cwd=tmp_path)
    assert itself.code == 3, itself
    assert program("verify", "out", cwd=tmp_path).code == 0
    assert program("run", suite.path, cwd=tmp_path).code == 0


@pytest.mark.parametrize("fresh", [True, False])
def test_interrupted_promotion__is_no_baseline(scene: Scene, *, fresh: bool) -> None:
    """Killed before any file of it: what is there is absent, or refused as half a baseline."""
    source = scene.suite.folder / "run-1"
    for point in ("rename results.jsonl", "rename scorecard.json", "rename manifest.json"):
        folder = scene.baseline()
        if fresh:
            shutil.rmtree(folder)
        promote = ("baseline", "promote", source, "--to", folder)
        killed = scene.program(*promote, cwd=scene.suite.folder, fault={"before": point})
        assert killed.code == -signal.SIGKILL
        done, _ = scene.run("--baseline", folder)
        assert done.code == 3, (point, done)
        assert "promote a run anew" in done.err
        assert scene.program(*promote, cwd=scene.suite.folder).code == 0
        assert scene.run("--baseline", folder)[0].code == 0
        assert {path.name for path in folder.iterdir()} == {*FILES, "promotion.json"}


def better(row: dict[str, Any]) -> None:
    row["scores"]["exact"]["value"] = 1.0
    row["passed"]["exact"] = True


def flag_only(row: dict[str, Any]) -> None:
    row["passed"]["exact"] = False


def set_metric(card: dict[str, Any]) -> None:
    next(found for found in card["metrics"] if found["metric"] == "exact")["value"] = 0.5


def fewer(folder: Path) -> None:
    """Only the good answers."""
    path = folder / "results.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))


EDITS: dict[str, Callable[[Path], object]] = {
    "metric": lambda folder: edit(folder / "scorecard.json", set_metric),
    "results": lambda folder: edit_lines(folder / "results.jsonl", better),
    "passed": lambda folder: edit_lines(folder / "results.jsonl", flag_only),
    "cases": fewer,
    "verdict": lambda folder: edit(folder / "scorecard.json", lambda c: c.update(verdict="pass")),
    "judge": lambda folder: edit(
        folder / "manifest.json", lambda m: m["evaluators"][0].update(digest="sha256:" + "1" * 64)
    ),
    "run": lambda folder: edit(folder / "manifest.json", lambda m: m.update(run_id="rc-other")),
}


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize("name", EDITS)
def test_edited_baseline__is_refused_before_any_call(
    scene: Scene, name: str, *, sealed: bool
) -> None:
    """Metrics edited over honest results, results edited under honest metrics: exit 4 at plan and run."""
    folder = scene.baseline()
    EDITS[name](folder)
    if sealed:
        seal_baseline(folder)
    scene.answers.asked.clear()
    done, out = scene.run("--baseline", folder)
    assert done.code == 4, done
    assert not (out / "plan").exists()
    plan = scene.suite.folder / f"plan-{name}-{sealed}"
    arguments = ("plan", scene.suite.path, "--baseline", folder, "--out", plan)
    assert scene.program(*arguments, cwd=scene.suite.folder).code == 4
    assert not (plan / "plan.json").exists()
    assert not scene.answers.asked


DISGUISES = {
    "empty": b"",
    "html": b"<!doctype html>404",
    "truncated": b'{"schema": "releasecheck/manifest@1", "metrics": {"exact": 0.9',
    "null": b"null",
    "nan": b'{"schema": "releasecheck/manifest@1", "run_id": NaN}',
    "future": b'{"schema": "releasecheck/manifest@99"}',
    "other": b'{"schema": 1, "metrics": {"other": 0.9}}',
    "lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n",
    "blank": b" \n\n",
    "bom": b"\xef\xbb\xbf",
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("disguise", DISGUISES)
def test_disguised_baseline__is_never_green(scene: Scene, name: str, disguise: str) -> None:
    """B80: unreadable is not missing, so `bootstrap` does not excuse it."""
    folder = scene.baseline()
    (folder / name).write_bytes(DISGUISES[disguise])
    done, out = scene.run("--baseline", folder)
    assert done.code in (3, 4), done
    assert str(folder) in done.err
    assert "internal error" not in done.err
    assert not (out / "plan").exists()


def test_partial_baseline__is_refused(scene: Scene) -> None:
    """B80: a baseline with cases that were never scored is no yardstick."""
    scene.answers.status = {"q1": 400}
    _, out = scene.run()
    scene.answers.status = {}
    assert document(out / "manifest.json")["finalized_at"]
    done, compared = scene.run("--baseline", out)
    assert (done.code, outcomes(compared)["no-worse"]) == (2, "blocked_missing"), done


@pytest.mark.parametrize("place", ["baseline", "anchor"])
def test_unfit_run__copied_to_where_promoted_ones_lie_is_refused(
    place: str, tmp_path: Path, program: Program, answers: Answers
) -> None:
    """G-22, G-30: an overridden run is no baseline, by whichever way its files came there."""
    waiver = {"gate": "quality", "who": "a", "why": "b", "until": "2999-12-31"}
    suite = http_suite(
        tmp_path, answers, 3, waivers=[waiver],
        gates=[{"id": "quality", "metric": "exact", "min": 1}, no_worse()],
        baseline={"on_missing": "bootstrap", "anchor": "anchor"},
    )  # fmt: skip
    answers.wrong = {"q0"}
    done = program("run", suite.path, cwd=tmp_path)
    assert (done.code, document(suite.out / "scorecard.json")["overridden"]) == (0, True), done
    refused = program("baseline", "promote", "out", "--to", place, cwd=tmp_path)
    assert (refused.code, "overridden by a waiver" in refused.err) == (3, True), refused
    (tmp_path / place).mkdir()
    for name in FILES:
        (tmp_path / place / name).write_bytes((suite.out / name).read_bytes())
    for command in (("run", suite.path), ("plan", suite.path, "--out", "planned")):
        refused = program(*command, cwd=tmp_path)
        assert (refused.code, "overridden by a waiver" in refused.err) == (3, True), refused


def test_cases_renamed_changed_added_removed(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """Matched by id, then by content; an edited question is another question."""
    suite = http_suite(
        tmp_path, answers, 10, gates=[no_worse()],
        baseline={"on_missing": "bootstrap", "min_overlap": 0.5},
    )  # fmt: skip
    assert program("run", suite.path, cwd=tmp_path).code == 0
    assert program("baseline", "promote", "out", cwd=tmp_path).code == 0
    suite.cases[0]["id"] = "renamed"
    suite.cases[1] |= {"input": "q77", "expected": "Q77"}
    del suite.cases[2]
    suite.cases.append({"id": "added", "input": "q50", "expected": "Q50"})
    suite.write()
    done = program("run", suite.path, cwd=tmp_path)
    assert done.code == 0, done
    card = scorecard(suite.out)
    cases = card["baseline"]["cases"]
    assert (cases["same"], cases["changed"], cases["added"]) == (7, ["c1"], ["added"])
    assert (cases["removed"], cases["renamed"]) == (["c2"], [["c0", "renamed"]])
    assert card["gates"][0]["compared"] == 8
    suite.write(baseline={"on_missing": "bootstrap", "min_overlap": 0.9})
    strict = program("run", suite.path, cwd=tmp_path)
    assert (strict.code, outcomes(suite.out)) == (2, {"no-worse": "not_comparable"}), strict
    suite.config["judges"][0]["normalize"] = ["strip"]
    suite.write(baseline={"on_missing": "bootstrap", "min_overlap": 0.5})
    other = program("run", suite.path, cwd=tmp_path)
    assert (other.code, outcomes(suite.out)) == (2, {"no-worse": "not_comparable"}), other
    assert scorecard(suite.out)["baseline"]["judges_changed"] == ["exact"]
    assert scorecard(suite.out)["gates"][0]["delta"] is None
    compared = program("compare", "baseline", "out", "--json", cwd=tmp_path).json()
    assert compared["judges_changed"] == ["exact"]


def measured_suite(folder: Path, gates: list[dict[str, Any]], lower: set[str]) -> Suite:
    """A suite whose target says what `values.json` says, and whose judges repeat it."""
    names = sorted({gate["metric"] for gate in gates})
    body = 'import json; return json.loads((HERE / "values.json").read_text())[case["id"]]'
    judges = [
        {"id": name, "type": "python", "function": "app:repeat", "input": name}
        | ({"better": "lower"} if name in lower else {})
        for name in names
    ]
    suite = python_suite(
        folder, 3, body, judges=judges, gates=gates, baseline={"on_missing": "bootstrap"}
    )
    with (folder / "app.py").open("a", encoding="utf-8") as file:
        file.write("\n\ndef repeat(ask):\n    return ask['output']\n")
    return suite


def set_values(suite: Suite, values: dict[str, list[float]]) -> None:
    """What the target says from now on: judge -> value per case."""
    by_case = {
        f"c{number}": {name: found[number] for name, found in values.items()} for number in range(3)
    }
    (suite.folder / "values.json").write_text(json.dumps(by_case), encoding="utf-8")


def test_numbers_at_the_edge(tmp_path: Path, program: Program) -> None:
    """B82, B86, B89: zero baselines, declared directions, and exact thresholds, in one run."""
    table: dict[str, tuple[dict[str, Any], list[float], list[float], str]] = {
        "mean_8": ({"min": 0.8}, [0.7, 0.8, 0.9], [0.7, 0.8, 0.9], "pass"),
        "drop_1": ({"no_regression": {"max_drop": 0.01}}, [0.95] * 3, [0.94] * 3, "pass"),
        "drop_2": ({"no_regression": {"max_drop": 0.02}}, [0.90] * 3, [0.88] * 3, "pass"),
        "errors": ({"no_regression": {"max_drop": 0.1}}, [0.0] * 3, [0.2] * 3, "block"),
        "minus": ({"no_regression": {}}, [0.0] * 3, [-0.0] * 3, "pass"),
        "more": ({"no_regression": {}}, [0.1] * 3, [0.11] * 3, "block"),
    }
    gates = [{"id": f"g-{name}", "metric": name, **rule} for name, (rule, *_) in table.items()]
    suite = measured_suite(tmp_path, gates, lower={"errors", "minus", "more"})
    set_values(suite, {name: before for name, (_, before, _, _) in table.items()})
    first = program("run", suite.path, cwd=tmp_path)
    assert first.code == 0, first
    assert program("baseline", "promote", "out", cwd=tmp_path).code == 0
    set_values(suite, {name: now for name, (_, _, now, _) in table.items()})
    done = program("run", suite.path, cwd=tmp_path)
    assert done.code == 1, done
    assert outcomes(suite.out) == {f"g-{name}": wanted for name, (*_, wanted) in table.items()}
    gate = {found["id"]: found for found in scorecard(suite.out)["gates"]}
    assert (gate["g-errors"]["delta"], gate["g-minus"]["delta"]) == (0.2, 0)
    assert program("verify", "out", cwd=tmp_path).code == 0


def test_average_that_hides_a_collapse(tmp_path: Path, program: Program, answers: Answers) -> None:
    """B85: both runs have 14 of 20; gates by tag and by new failures see what the mean does not."""
    gates = [
        no_worse(max_drop=0.0),
        {"id": "multi", "metric": "exact", "cases": {"tags": ["multi"]},
         "no_regression": {"max_drop": 0.1}},
        {"id": "flips", "metric": "exact", "no_regression": {"max_drop": 1, "max_new_failures": 0}},
    ]  # fmt: skip
    suite = http_suite(tmp_path, answers, 20, gates=gates, baseline={"on_missing": "bootstrap"})
    for number, case in enumerate(suite.cases):
        case["tags"] = ["single" if number < 10 else "multi"]
    suite.write()
    answers.wrong = {"q6", "q7", "q8", "q9", "q18", "q19"}
    assert program("run", suite.path, cwd=tmp_path).code == 0
    assert program("baseline", "promote", "out", cwd=tmp_path).code == 0
    answers.wrong = {f"q{number}" for number in range(14, 20)}
    done = program("run", suite.path, cwd=tmp_path)
    assert done.code == 1, done
    assert outcomes(suite.out) == {"no-worse": "pass", "multi": "block", "flips": "block"}
    flips = scorecard(suite.out)["flips"]["exact"]
    assert flips["new_failures"] == ["c14", "c15", "c16", "c17"]
    assert len(lines(suite.out / "results.jsonl")) == 20


def test_show__says_where_nothing_is(tmp_path: Path, program: Program, answers: Answers) -> None:
    suite = http_suite(tmp_path, answers, 1)
    none = program("baseline", "show", suite.path, "--json", cwd=tmp_path)
    assert (none.code, none.json()["run_id"]) == (0, None), none
    for where in ("nowhere.yaml", "nowhere"):
        assert program("baseline", "show", where, cwd=tmp_path).code == 3
