"""Runs stored before scores had states are still read, and never rewritten (S1-35, S1-42)."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.canonical import digest
from releasecheck.model.results import RowScore, results_digest
from tests.e2e.suites import lines, outcomes, python_suite, scorecard
from tests.golden import FOLDER

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.program import Program

OLD = FOLDER / "v0"
NO_WORSE = {"id": "no-worse", "metric": "exact", "no_regression": {"max_drop": 0}}


def against(name: str, folder: Path, program: Program, body: str = "") -> Path:
    """A run against an old baseline, which must stay as it is; gives the bundle."""
    suite = python_suite(folder, 3, body, gates=[NO_WORSE])
    shutil.copytree(OLD / name, folder / "baseline")
    program("run", suite.path, cwd=folder)
    for path in (OLD / name).iterdir():
        assert path.read_bytes() == (folder / "baseline" / path.name).read_bytes()
        assert path.read_bytes() == (suite.out / "plan/baseline" / path.name).read_bytes()
    verified = program("verify", "out", cwd=folder)
    assert verified.code == 0, verified
    return suite.out


def test_run__an_old_baseline_is_compared_with(tmp_path: Path, program: Program) -> None:
    """S1-35: 0 was measured as 0, and 1 as 1."""
    out = against("whole", tmp_path, program)
    (gate,) = scorecard(out)["gates"]
    assert (gate["outcome"], gate["compared"]) == ("pass", 3)
    assert gate["baseline_value"] == 2 / 3
    assert scorecard(out)["flips"]["exact"]["new_passes"] == ["c0"]


def test_run__an_old_baseline_blocks_what_is_worse(tmp_path: Path, program: Program) -> None:
    out = against("whole", tmp_path, program, 'return "nonsense"')
    assert outcomes(out) == {"no-worse": "block"}
    assert scorecard(out)["flips"]["exact"]["new_failures"] == ["c1", "c2"]


def test_run__a_null_of_an_old_baseline_is_missing(tmp_path: Path, program: Program) -> None:
    """S1-42, S1-29: not 0, which anything would beat, and not a case that does not count."""
    out = against("incomplete", tmp_path, program)
    assert outcomes(out) == {"no-worse": "blocked_missing"}
    (gate,) = scorecard(out)["gates"]
    assert "baseline" in gate["reason"]
    assert "1 of 3" in gate["reason"]


@pytest.mark.parametrize("name", ["whole", "incomplete"])
def test_compare__reads_an_old_run(tmp_path: Path, program: Program, name: str) -> None:
    suite = python_suite(tmp_path, 3)
    assert program("run", suite.path, cwd=tmp_path).code == 0
    done = program("compare", OLD / name, "out", "--json", cwd=tmp_path)
    assert done.code == 0, done
    found = done.json()
    (mean,) = [
        m
        for m in found["metrics"]
        if (m["metric"], m["stat"], m["split"]) == ("exact", "mean", "all")
    ]
    assert mean["base"]["n_scored"] == {"whole": 3, "incomplete": 2}[name]
    assert (mean["delta"] is None) == (name == "incomplete")


@pytest.mark.parametrize(
    ("cell", "state", "value"),
    [
        ({"value": 0.5}, "scored", 0.5),
        ({"value": 0.0}, "scored", 0.0),
        ({"value": None}, "missing", None),
        ({"value": None, "state": "not-applicable", "reason": "x"}, "not-applicable", None),
        ({"value": None, "state": "failed", "reason": "x"}, "failed", None),
    ],
)
def test_from_json__a_cell_without_a_state(cell: dict[str, Any], state: str, value: float) -> None:
    found = RowScore.from_json(cell)
    assert (found.state, found.value) == (state, value)


def test_results_digest__of_old_rows_is_what_it_always_was() -> None:
    """A state that was never written is not written into the digest either."""
    rows = lines(OLD / "whole" / "results.jsonl")
    bare = [{key: value for key, value in row.items() if key != "output"} for row in rows]
    assert results_digest(rows) == digest([digest(row) for row in bare])
