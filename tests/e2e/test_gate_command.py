"""Gates looked at by themselves: what they can see, how they fare on unchanged runs, flaky cases."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.suites import Suite, lines, noted, python_suite

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.program import Done, Program

COIN = """\
import os, random
    sure = random.Random(f"{os.environ['SEED']}/{case['id']}/{case['trial']}").random() >= 0.2
    return case["input"].upper() if sure else "no"
"""
COMMIT = "c" * 40


def no_worse(**rule: Any) -> dict[str, Any]:
    """A no-regression gate over `exact`."""
    return {"id": "no-worse", "metric": "exact", "no_regression": {"max_drop": 0.02, **rule}}


def coin_suite(folder: Path, cases: int = 30, **changes: Any) -> Suite:
    """A suite whose target answers wrongly now and then, as SEED decides."""
    config: dict[str, Any] = {"gates": [no_worse()], "baseline": {"on_missing": "bootstrap"}}
    target = {"env": {"SEED": "${SEED:-seed-zero}"}}
    return python_suite(folder, cases, COIN, target=target, **(config | changes))


def run(program: Program, suite: Suite, seed: str, out: str = "out", **env: str) -> Done:
    """One run, decided by a seed."""
    return program(
        "run", suite.path, "--out", out, cwd=suite.folder, env={"SEED": f"seed-{seed}", **env}
    )


@pytest.fixture(scope="module")
def promoted(tmp_path_factory: pytest.TempPathFactory, program: Program) -> Suite:
    """A suite with a promoted baseline."""
    suite = coin_suite(tmp_path_factory.mktemp("gates"))
    assert run(program, suite, "zero").code == 0
    done = program("baseline", "promote", "out", cwd=suite.folder)
    assert done.code == 0, done
    return suite


def copied(promoted: Suite, folder: Path, **changes: Any) -> Suite:
    """The suite with its baseline, under other rules."""
    suite = coin_suite(folder, **changes)
    (promoted.folder / "baseline").mkdir(exist_ok=True)
    for file in (promoted.folder / "baseline").iterdir():
        (folder / "baseline").mkdir(exist_ok=True)
        (folder / "baseline" / file.name).write_bytes(file.read_bytes())
    return suite


# -- what a gate can see


def test_validate__says_what_a_gate_can_see(promoted: Suite, program: Program) -> None:
    """Issue: power beforehand; a gate that cannot see its own max_drop is warned about, with its line."""
    done = program("validate", promoted.path, "--json", cwd=promoted.folder)
    assert done.code == 0, done
    (power,) = done.json()["power"]
    assert power["min_detectable_drop"] > power["max_drop"] == 0.02
    assert power["resolvable_drop"] > power["min_detectable_drop"]
    known = {name: power[name] for name in ("gate", "against", "metric", "decide", "cases")}
    assert known == {
        "gate": "no-worse",
        "against": "baseline",
        "metric": "exact",
        "decide": "point",
        "cases": 30,
    }
    assert (power["underpowered"], power["basis"], power["why"]) == (True, "one-trial", None)
    warned = "gates[0].no_regression.max_drop: gate no-worse against the baseline"
    assert any(warned in note and "releasecheck.yaml:" in note for note in done.json()["notes"])
    told = program("validate", promoted.path, cwd=promoted.folder)
    assert "power     no-worse: sees a drop of 0." in told.out
    assert warned in told.err


def test_validate__without_a_baseline_says_why_nothing_is_known(
    tmp_path: Path, program: Program
) -> None:
    suite = coin_suite(tmp_path)
    done = program("validate", suite.path, "--json", cwd=tmp_path)
    (power,) = done.json()["power"]
    unknown = {name: power[name] for name in ("min_detectable_drop", "resolvable_drop", "basis")}
    assert set(unknown.values()) == {None}
    assert (power["underpowered"], power["why"]) == (None, "there is no baseline yet")


def test_validate__says_which_exceptions_do_nothing(tmp_path: Path, program: Program) -> None:
    """X-19: a misspelt case and a waiver that is over are told before a run, not only by it."""
    gone = {"case": "no-such-case", "owner": "O", "reason": "R", "until": "2999-12-31"}
    over = {"gate": "no-worse", "who": "A", "why": "B", "until": "2020-12-31"}
    suite = coin_suite(tmp_path, quarantine=[gone], waivers=[over])
    done = program("validate", suite.path, cwd=tmp_path)
    assert done.code == 0, done
    said = "waivers[0]: the waiver for gate no-worse (by A) ended on 2020-12-31"
    assert re.search(rf"releasecheck\.yaml:\d+:\d+: {re.escape(said)}", done.err), done.err
    assert (
        "the quarantine of case 'no-such-case' (owner O) does nothing: there is no such" in done.err
    )


def test_validate__of_an_anchor_tells_both(
    promoted: Suite, program: Program, tmp_path: Path
) -> None:
    rule = {"on_missing": "bootstrap", "anchor": "release"}
    suite = copied(promoted, tmp_path, baseline=rule)
    found = program("validate", suite.path, "--json", cwd=tmp_path).json()["power"]
    assert [(one["gate"], one["against"], one["why"]) for one in found] == [
        ("no-worse", "baseline", None),
        ("no-worse-anchor", "anchor", "there is no anchor yet"),
    ]
    (tmp_path / "baseline").rename(tmp_path / "release")
    found = program("validate", suite.path, "--json", cwd=tmp_path).json()["power"]
    assert [one["min_detectable_drop"] is None for one in found] == [True, False]


@pytest.mark.parametrize(
    "command", [("validate",), ("plan", "--out", "plan"), ("run", "--out", "later")]
)
def test_underpowered_refuse__stops_before_the_first_call(
    promoted: Suite, program: Program, tmp_path: Path, command: tuple[str, ...]
) -> None:
    suite = copied(promoted, tmp_path, gates=[no_worse(underpowered="refuse")])
    done = program(command[0], suite.path, *command[1:], cwd=tmp_path)
    assert done.code == 3, done
    assert "releasecheck.yaml:" in done.err
    assert "gates[0].no_regression.underpowered" in done.err
    assert "cannot tell a drop of its max_drop 0.02 from none" in done.err
    assert not noted(suite)
    assert not (tmp_path / command[-1] / "plan.json").exists()


def test_underpowered_refuse__of_the_anchor_names_the_gate_it_stands_for(
    promoted: Suite, program: Program, tmp_path: Path
) -> None:
    rule = {"on_missing": "bootstrap", "anchor": "release"}
    suite = copied(promoted, tmp_path, baseline=rule, gates=[no_worse(underpowered="refuse")])
    (tmp_path / "baseline").rename(tmp_path / "release")
    done = program("validate", suite.path, cwd=tmp_path)
    assert done.code == 3, done
    assert "gates[0].no_regression.underpowered: gate no-worse-anchor" in done.err


def test_underpowered_refuse__holds_no_suite_up_that_can_see_enough(
    promoted: Suite, program: Program, tmp_path: Path
) -> None:
    suite = copied(promoted, tmp_path, gates=[no_worse(underpowered="refuse", max_drop=0.9)])
    assert program("validate", suite.path, cwd=tmp_path).code == 0


def test_underpowered_refuse__leaves_a_preview_to_its_gates(
    promoted: Suite, program: Program, tmp_path: Path
) -> None:
    suite = copied(promoted, tmp_path, gates=[no_worse(underpowered="refuse")])
    done = program("plan", suite.path, "--out", "plan", "--preview", "3", cwd=tmp_path)
    assert done.code == 0, done


# -- tried on unchanged runs


def test_self_test__tells_people_and_programs(promoted: Suite, program: Program) -> None:
    asked = ("gate", "self-test", promoted.path, "--rounds", "10", "--seed", "3")
    done = program(*asked, cwd=promoted.folder)
    assert done.code == 0, done
    told = done.out.splitlines()
    assert told[0].startswith("an unchanged run of small is blocked in ")
    assert any(line.startswith("no-worse: blocks ") for line in told)
    assert "a true drop of 0.02 (max_drop)" in done.out
    found = program(*asked, "--json", cwd=promoted.folder).json()
    assert (found["way"], found["verdict"]["rounds"], found["seed"]) == ("cases", 10, 3)
    (gate,) = found["gates"]
    low, rate, high = gate["ci_low"], gate["rate"], gate["ci_high"]
    assert 0 <= low <= rate <= high <= 1
    assert [one["what"] for one in gate["planted"]] == [
        "max_drop",
        "min_detectable_drop",
        "twice min_detectable_drop",
    ]
    assert program(*asked, "--json", cwd=promoted.folder).json() == found


@pytest.mark.soak
def test_self_test__of_trials_sets_them_against_each_other(
    tmp_path: Path, program: Program
) -> None:
    suite = coin_suite(tmp_path, 12, trials=4)
    assert run(program, suite, "zero").code == 0
    asked = ("gate", "self-test", suite.path, "--baseline", "out", "--rounds", "10", "--json")
    found = program(*asked, cwd=tmp_path).json()
    assert (found["way"], found["trials"], found["cases"]) == ("trials", 4, 12)
    assert "half of each case's 4 trials" in found["way_words"]


def test_self_test__without_a_baseline_is_exit_3(tmp_path: Path, program: Program) -> None:
    suite = coin_suite(tmp_path)
    done = program("gate", "self-test", suite.path, cwd=tmp_path)
    assert done.code == 3, done
    assert "no baseline in" in done.err


# -- flaky cases


def test_flaky__finds_what_changes_by_itself(tmp_path: Path, program: Program) -> None:
    """The same commit and target, other answers; a run of another commit is told apart."""
    suite = coin_suite(tmp_path, 8, gates=[{"id": "quality", "metric": "exact", "min": 0.1}])
    suite.cases[0]["id"] = "\u202ehostile: \x22id\x22"
    suite.write()
    for seed, commit in (("a", COMMIT), ("b", COMMIT), ("c", "d" * 40)):
        done = run(program, suite, seed, f"runs/{seed}", GITHUB_SHA=commit)
        assert done.code == 0, done
    done = program("gate", "flaky", "runs", "--json", cwd=tmp_path)
    assert done.code == 0, done
    found = done.json()
    passed = [
        {
            row["case"]: row["passed"]["exact"]
            for row in lines(tmp_path / f"runs/{run}/results.jsonl")
        }
        for run in "abc"
    ]
    flipped = {case for case in passed[0] if passed[0][case] != passed[1][case]}
    assert flipped
    assert {one["case"] for one in found["cases"] if one["kind"] == "flaky"} == flipped
    assert found["comparable_runs"] == 3
    assert json.loads(done.out)["left_out"] == []
    told = program("gate", "flaky", "runs", cwd=tmp_path)
    assert told.out.startswith(f"{len(flipped)} flaky")
    assert "\u202e" not in told.out
    assert "quarantine:" in told.out


def test_flaky__too_little_to_compare_is_exit_2(promoted: Suite, program: Program) -> None:
    done = program("gate", "flaky", ".", cwd=promoted.folder)
    assert done.code == 2, done
    assert "nothing can be said" in done.out
    assert "counts once" in done.out


def test_flaky__a_folder_that_is_not_there_is_exit_3(promoted: Suite, program: Program) -> None:
    assert program("gate", "flaky", "nowhere", cwd=promoted.folder).code == 3
