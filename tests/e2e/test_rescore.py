"""`rescore`: stored outputs judged again as revisions of their own (G-13, G-18, G-20, X-13 to X-17)."""

from __future__ import annotations

import shutil
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.deferring import HASTEN, slow
from tests.e2e.forge import edit, edit_lines, rewrite_ledger, seal
from tests.e2e.suites import (
    CONFIG,
    Answers,
    Suite,
    document,
    http_suite,
    ledger,
    lines,
    outcomes,
    scorecard,
)
from tests.judgeserver import JudgeServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.e2e.program import Done, Program

KILLED = -signal.SIGKILL
EXACT = {"id": "exact", "type": "exact"}
LOOSE = {"id": "exact", "type": "exact", "normalize": ["casefold"]}
"""Another judge under the same name."""
DECISION = ("scorecard.json", "results.jsonl", "manifest.json")


def rules(folder: Path, suite: Suite, **changes: Any) -> Path:
    """A config of the same suite with other rules, whose cases and target are nowhere."""
    other = Suite(folder, suite.config | {"cases": [{"path": "nowhere.jsonl"}]} | changes)
    other.write(target=suite.config["target"] | {"url": "http://${NOWHERE}/answer"})
    (folder / "cases.jsonl").unlink()
    return other.path


def one_wrong(folder: Path, program: Program, answers: Answers, **changes: Any) -> Suite:
    """A decided run of four cases, of which one answer differs in its case alone."""

    def reply(asked: Any) -> tuple[int, Any]:
        text = asked.question.upper()
        return 200, {"answer": text.lower() if asked.question == "q1" else text}

    answers.reply = reply
    suite = http_suite(folder, answers, 4, shards=2, **changes)
    done = program("run", CONFIG, cwd=folder)
    assert done.code == 0, done
    return suite


def verified(program: Program, out: Path) -> Done:
    """Assert that a bundle verifies, and stays as it is."""
    done = program("verify", out, cwd=out.parent)
    assert done.code == 0, done
    assert not list(out.rglob(".*.new"))
    return done


def decision(folder: Path) -> dict[str, bytes]:
    """The bytes of a decision."""
    return {name: (folder / name).read_bytes() for name in DECISION}


def test_rescore__appends_a_revision(tmp_path: Path, program: Program, answers: Answers) -> None:
    """G-13, G-20, X-15, X-16: other judges over the same outputs; what was decided before stays readable."""
    suite = one_wrong(tmp_path / "suite", program, answers)
    out, before = suite.out, decision(suite.out)
    records = {path.name: path.read_bytes() for path in (out / "results").iterdir()}
    plan = (out / "plan" / "plan.json").read_bytes()
    strict = [{"id": "quality", "metric": "exact", "min": 1.0}]
    config = rules(tmp_path / "rules", suite, judges=[LOOSE], gates=strict)

    done = program("rescore", "out", "--config", config, cwd=suite.folder)

    assert done.code == 0, done
    assert len(answers.asked) == 4
    card, manifest = scorecard(out), document(out / "manifest.json")
    revised = document(out / "plan" / "plan.r2.json")
    assert (card["revision"], card["verdict"], card["counts"]["scored"]) == (2, "pass", 4)
    assert decision(out / "revisions" / "1") == before
    assert (out / "plan" / "plan.json").read_bytes() == plan
    for name, data in records.items():
        assert (out / "results" / name).read_bytes() == data
    first = document(out / "plan" / "plan.json")
    assert (revised["run_id"], revised["revision"]) == (first["run_id"], 2)
    assert (revised["revises"], card["plan_digest"]) == (
        first["plan_digest"],
        revised["plan_digest"],
    )
    rows = lines(out / "results" / "rescore-2.attempt-1.jsonl")
    assert {row["revision"] for row in rows if row["record"] in ("shard", "score")} == {2}
    assert [row["record"] for row in rows].count("output") == 0
    scoring, decided = manifest["scoring"], manifest["decision"]
    assert (scoring["revision"], scoring["kind"], scoring["revises"]) == (
        2, "rescore", first["plan_digest"],
    )  # fmt: skip
    assert scoring["judges"] == {"exact": revised["judges"][0]["digest"]}
    old = document(out / "revisions" / "1" / "manifest.json")
    assert scoring["observation"] == old["scoring"]["observation"]
    assert scoring["score_plane"] != old["scoring"]["score_plane"]
    assert (decided["revision"], decided["score_plane"]) == (2, scoring["score_plane"])
    assert decided["policy_digest"] == revised["policy"]["digest"]
    assert decided["gates_digest"] != old["decision"]["gates_digest"]
    assert "revision 2" in (out / "summary.md").read_text("utf-8")
    verified(program, out)
    said = program("status", "out", "--json", cwd=suite.folder).json()
    assert (said["revision"], said["state"], said["verdict"]) == (2, "completed", "pass")


def test_rescore__a_changed_judge_is_not_comparable(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """X-16: compared with the pinned baseline, as ever; with the same judge the comparison holds."""
    gates = [{"id": "no-worse", "metric": "exact", "no_regression": {"max_drop": 0.1}}]
    folder = tmp_path / "suite"
    suite = one_wrong(folder, program, answers, gates=gates, baseline={"on_missing": "bootstrap"})
    assert program("baseline", "promote", "out", cwd=folder).code == 0
    assert program("run", CONFIG, cwd=folder).code == 0
    pinned = document(suite.out / "manifest.json")["decision"]["baseline"]
    assert pinned is not None

    other = rules(tmp_path / "rules", suite, judges=[LOOSE])
    done = program("rescore", "out", "--config", other, cwd=folder)
    assert done.code == 2, done
    assert outcomes(suite.out) == {"no-worse": "not_comparable"}
    assert document(suite.out / "manifest.json")["decision"]["baseline"] == pinned
    again = program("rescore", "out", "--config", CONFIG, cwd=folder)
    assert again.code == 0, again
    assert (scorecard(suite.out)["revision"], outcomes(suite.out)) == (3, {"no-worse": "pass"})
    assert scorecard(suite.out / "revisions" / "2")["verdict"] == "not_comparable"
    verified(program, suite.out)
    # A revised run is as good a baseline as any, and as good a side of a comparison.
    assert program("compare", "out", "out", cwd=folder).code == 0
    promoted = program("baseline", "promote", "out", cwd=folder)
    assert promoted.code == 0, promoted
    assert document(folder / "baseline" / "manifest.json")["scoring"]["revision"] == 3
    assert program("run", CONFIG, "--out", "next", cwd=folder).code == 0
    shown = program("resume", "out", cwd=folder)
    assert (shown.code, scorecard(suite.out)["revision"]) == (0, 3)
