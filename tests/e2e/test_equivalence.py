"""However a run is cut, ordered, repeated or delivered, it says the same (issue 2, "Must hold" 1; S1-17)."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.e2e.suites import (
    Answers,
    Suite,
    http_suite,
    ledger,
    lines,
    python_suite,
    same_but_for_times,
    timeless_results,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.program import Program

CASES = 5


def varied(folder: Path, answers: Answers) -> Suite:
    """A suite with trials, splits, tags, several judges, and answers of every sort."""
    answers.wrong = {"q1"}
    answers.status = {"q3": 400}
    suite = http_suite(
        folder,
        answers,
        CASES,
        trials=2,
        target={"concurrency": 4},
        judges=[
            {"id": "exact", "type": "exact"},
            {"id": "near", "type": "similarity", "when": {"tags": ["easy"]}},
        ],
        gates=[
            {"id": "quality", "metric": "exact", "min": 0.5, "on_target_failure": "count_as_fail"},
            {"id": "easy", "metric": "near", "min": 0.1, "cases": {"tags": ["easy"]}},
        ],
    )
    for number, case in enumerate(suite.cases):
        case |= {"split": "hard" if number % 2 else "main", "tags": ["easy"] if number < 3 else []}
    return suite.write()


def test_shards_in_any_order__equal_one_process(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """1, 3 and 7 shards (more than cases), backwards and forwards, against `run`."""
    suite = varied(tmp_path, answers)
    whole = program("run", suite.path, "--out", "whole", cwd=tmp_path)
    assert whole.code == 0, whole
    digests = set()
    for shards, order in ((1, [0]), (3, [2, 0, 1]), (7, [6, 1, 5, 0, 4, 2, 3])):
        plan, results, out = (tmp_path / f"{name}-{shards}" for name in ("plan", "results", "out"))
        planned = program(
            "plan", suite.path, "--shards", str(shards), "--out", plan, "--json", cwd=tmp_path
        )
        assert planned.code == 0, planned
        digests.add(planned.json()["plan_digest"])
        for index in order:
            done = program(
                "shard", "--plan", plan, "--index", str(index), "--out", results, cwd=tmp_path
            )
            assert done.code == 0, done
        done = program("finish", "--plan", plan, "--results", results, "--out", out, cwd=tmp_path)
        assert done.code == whole.code, done
        assert len(list((out / "results").iterdir())) == shards
        same_but_for_times(tmp_path / "whole", out)
        assert program("verify", out, cwd=tmp_path).code == 0
    assert len(digests) == 1  # the layout is no part of what decides
    rows = lines(tmp_path / "whole" / "results.jsonl")
    assert [(row["case"], row["trial"]) for row in rows] == [
        (f"c{case}", trial) for case in range(CASES) for trial in (0, 1)
    ]


def test_delivery__changes_no_byte(tmp_path: Path, program: Program, answers: Answers) -> None:
    """The same records twice, in other folders, in another order of folders: the same bytes."""
    suite = varied(tmp_path, answers)
    plan, results = tmp_path / "plan", tmp_path / "results"
    assert program("plan", suite.path, "--shards", "3", "--out", plan, cwd=tmp_path).code == 0
    for index in "120":
        assert (
            program("shard", "--plan", plan, "--index", index, "--out", results, cwd=tmp_path).code
            == 0
        )
    names = sorted(path.name for path in results.iterdir())
    first, second, third = (tmp_path / name for name in ("z", "a/deep/er", "m"))
    for folder, held in ((first, names[:1]), (second, names[1:]), (third, names)):
        folder.mkdir(parents=True)
        for name in held:
            shutil.copy(results / name, folder / name)
    bundles = []
    for number, folders in enumerate(([results], [first, second], [third, second, results, first])):
        out = tmp_path / f"out-{number}"
        arguments = [part for folder in folders for part in ("--results", folder)]
        done = program("finish", "--plan", plan, *arguments, "--out", out, cwd=tmp_path)
        assert done.code == 0, done
        bundles.append(out)
    results_bytes = {(out / "results.jsonl").read_bytes() for out in bundles}
    assert len(results_bytes) == 1
    for out in bundles[1:]:
        same_but_for_times(bundles[0], out)
        assert sorted(path.name for path in (out / "results").iterdir()) == names
        assert program("verify", out, cwd=tmp_path).code == 0
    # Finishing again what is final changes nothing at all.
    before = {path.name: path.read_bytes() for path in bundles[0].iterdir() if path.is_file()}
    again = program("finish", "--plan", plan, "--results", third, "--out", bundles[0], cwd=tmp_path)
    assert again.code == 0, again
    after = {path.name: path.read_bytes() for path in bundles[0].iterdir() if path.is_file()}
    assert after == before


@pytest.mark.parametrize("concurrency", [16])
def test_concurrency__changes_no_byte_but_times(
    tmp_path: Path, program: Program, answers: Answers, concurrency: int
) -> None:
    """B103: slow first, failures among them; joined by id, in the order of the dataset."""
    import time

    def slow_first(asked: object) -> tuple[int, object]:
        number = int(asked.question[1:])  # type: ignore[attr-defined]
        time.sleep(0.01 * (20 - number))
        return (400, {}) if number in (1, 2) else (200, {"answer": f"Q{number}"})

    answers.reply = slow_first
    suite = http_suite(tmp_path, answers, 20)
    alone = program("run", suite.path, "--out", "alone", cwd=tmp_path)
    suite.config["target"]["concurrency"] = concurrency
    suite.write()
    together = program("run", suite.path, "--out", "together", cwd=tmp_path)
    assert (alone.code, together.code) == (2, 2), (alone, together)
    assert timeless_results(tmp_path / "alone") == timeless_results(tmp_path / "together")
    rows = lines(tmp_path / "together" / "results.jsonl")
    assert [row["case"] for row in rows if row["failure"]] == ["c1", "c2"]
    assert all(
        row["output"] == row["case"].upper().replace("C", "Q") for row in rows if not row["failure"]
    )


def test_two_executions__differ_in_measured_times_only(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    suite = varied(tmp_path, answers)
    plan = tmp_path / "plan"
    assert program("plan", suite.path, "--shards", "1", "--out", plan, cwd=tmp_path).code == 0
    for name in ("one", "two"):
        results, out = tmp_path / f"results-{name}", tmp_path / name
        shard = program("shard", "--plan", plan, "--index", "0", "--out", results, cwd=tmp_path)
        assert shard.code == 0, shard
        done = program("finish", "--plan", plan, "--results", results, "--out", out, cwd=tmp_path)
        assert done.code == 0, done
    same_but_for_times(tmp_path / "one", tmp_path / "two")


ALONE = """

def alone(ask):
    import threading
    return threading.current_thread() is threading.main_thread()
"""


def test_judges__their_concurrency_is_for_the_whole_run(tmp_path: Path, program: Program) -> None:
    """A share of one is judged in the worker's main thread; the whole, two, is not (contract 3)."""
    suite = python_suite(
        tmp_path,
        2,
        judges=[{"id": "own", "type": "python", "function": "app:alone", "concurrency": 2}],
        gates=[{"id": "quality", "metric": "own", "max": 1.0}],
    )
    with (tmp_path / "app.py").open("a", encoding="utf-8") as file:
        file.write(ALONE)
    assert program("plan", suite.path, "--shards", "2", cwd=tmp_path).code == 0
    for index in ("0", "1"):
        shard = ("shard", "--plan", "plan", "--index", index, "--out", "results")
        done = program(*shard, cwd=tmp_path)
        assert done.code == 0, done
    assert program("run", suite.path, "--shards", "2", cwd=tmp_path).code == 0
    values = {
        name: {line["value"] for line in ledger(tmp_path / name) if line["record"] == "score"}
        for name in ("results", "out")
    }
    assert values == {"results": {1}, "out": {0}}
