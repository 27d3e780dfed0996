"""People judge and come back: `judge export`, a file that is filled in, `resume` (issue step 3, item 5)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.e2e.suites import Suite, lines, python_suite, scorecard

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.program import Done, Program

HUMAN = {"id": "human", "type": "precomputed", "path": "scores.jsonl", "wait": True, "pass_at": 1}
GATE = {"id": "liked", "metric": "human", "min": 0.5}


def waiting(folder: Path, program: Program, **changes: Any) -> Suite:
    """A run that waits for people."""
    config: dict[str, Any] = {
        "judges": [{"id": "exact", "type": "exact"}, HUMAN],
        "gates": [GATE],
    }
    suite = python_suite(folder, 3, **config | changes)
    done = program("run", suite.path, "--no-wait", cwd=folder)
    assert done.code == 5, done
    assert scorecard(suite.out)["counts"]["pending"] == 3 * suite.config.get("trials", 1)
    return suite


def exported(program: Program, suite: Suite, *options: str) -> Done:
    return program("judge", "export", "out", "human", *options, cwd=suite.folder)


def fill_in(path: Path, **values: Any) -> None:
    rows = [row | {"value": values.get(row["id"])} for row in lines(path)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_export__what_is_written_out_comes_back_as_scores(tmp_path: Path, program: Program) -> None:
    """S1-02 to S1-06 with people as the judge that answers later."""
    suite = waiting(tmp_path, program)
    done = exported(program, suite, "--to", "scores.jsonl")
    assert done.code == 0, done
    rows = lines(tmp_path / "scores.jsonl")
    assert [{**row, "output_digest": None} for row in rows] == [
        {
            "id": f"c{n}",
            "trial": 0,
            "judge": "human",
            "output_digest": None,
            "value": None,
            "explanation": None,
            "input": f"q{n}",
            "output": f"Q{n}",
            "expected": f"Q{n}",
        }
        for n in range(3)
    ]
    # Nobody has judged yet: nothing is scored by that.
    still = program("resume", "out", "--no-wait", cwd=tmp_path)
    assert still.code == 5, still
    fill_in(tmp_path / "scores.jsonl", c0=1, c1=0.5)
    some = program("resume", "out", "--no-wait", cwd=tmp_path)
    assert some.code == 5, some
    assert scorecard(suite.out)["counts"]["pending"] == 1
    left = exported(program, suite)
    assert [json.loads(line)["id"] for line in left.out.splitlines()] == ["c2"]
    fill_in(tmp_path / "scores.jsonl", c0=1, c1=0.5, c2=0)
    all_ = program("resume", "out", cwd=tmp_path)
    assert all_.code == 0, all_
    metrics = {(m["metric"], m["stat"]): m["value"] for m in scorecard(suite.out)["metrics"]}
    assert metrics["human", "mean"] == 0.5
    everything = [json.loads(line) for line in exported(program, suite, "--all").out.splitlines()]
    assert [row["value"] for row in everything] == [1.0, 0.5, 0.0]
    assert program("verify", "out", cwd=tmp_path).code == 0


def test_export__every_trial_has_its_line(tmp_path: Path, program: Program) -> None:
    suite = waiting(tmp_path, program, trials=2)
    rows = [json.loads(line) for line in exported(program, suite).out.splitlines()]
    assert [(row["id"], row["trial"]) for row in rows] == [
        (f"c{n}", trial) for n in range(3) for trial in (0, 1)
    ]


def test_export__overwrites_nobodys_work(tmp_path: Path, program: Program) -> None:
    suite = waiting(tmp_path, program)
    (tmp_path / "scores.jsonl").write_text("", encoding="utf-8")
    done = exported(program, suite, "--to", "scores.jsonl")
    assert done.code == 3, done
    assert "it is there already" in done.err


def test_export__names_the_judges_there_are(tmp_path: Path, program: Program) -> None:
    waiting(tmp_path, program)
    done = program("judge", "export", "out", "humn", cwd=tmp_path)
    assert done.code == 3, done
    assert "no judge 'humn'; did you mean 'human'?" in done.err
    assert program("judge", "export", "nowhere", "human", cwd=tmp_path).code == 3


def test_resume__a_line_that_is_no_score_is_named_before_anything_is_asked(
    tmp_path: Path, program: Program
) -> None:
    suite = waiting(tmp_path, program)
    exported(program, suite, "--to", "scores.jsonl")
    text = (tmp_path / "scores.jsonl").read_text("utf-8")
    (tmp_path / "scores.jsonl").write_text(text + '{"id": "c0", "value": "good"}\n', "utf-8")
    done = program("resume", "out", "--no-wait", cwd=tmp_path)
    assert done.code == 3, done
    assert "scores.jsonl:4: judge human: path: `value` is a number" in done.err
