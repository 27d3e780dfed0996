"""A judge in Langfuse through whole runs: shards here, `finish` there (S1-01, S1-L1 to S1-L4, S1-02 to S1-06)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.suites import Answers, document, http_suite, lines, outcomes, scorecard
from tests.langfusestub import LangfuseStub, numeric

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.program import Program

TONE = {"id": "tone", "type": "langfuse", "score": "tone", "interval": "100ms"}
GATE = {"id": "friendly", "metric": "tone", "min": 0.5}


def planned(folder: Path, program: Program, answers: Answers, **judge: Any) -> None:
    """A plan of two shards."""
    http_suite(folder, answers, 4, judges=[TONE | judge], gates=[GATE], shards=2)
    assert program("plan", "releasecheck.yaml", "--out", "plan", cwd=folder).code == 0


def sharded(folder: Path, program: Program, langfuse: LangfuseStub) -> None:
    for index in ("0", "1"):
        argv = ("shard", "--plan", "plan", "--index", index, "--out", "results")
        done = program(*argv, cwd=folder, env=langfuse.environment)
        assert done.code == 0, done


def finished(folder: Path, program: Program, langfuse: LangfuseStub, *options: str) -> int:
    argv = ("finish", "--plan", "plan", "--results", "results", "--out", "out", *options)
    return program(*argv, cwd=folder, env=langfuse.environment).code


@pytest.mark.parametrize("has_v3", [True, False])
def test_finish__collects_what_shards_sent(
    tmp_path: Path, program: Program, answers: Answers, has_v3: bool
) -> None:
    """S1-02, S1-03, S1-L1, S1-L2: traces that can be read only later, on a new and on an old deployment."""
    with LangfuseStub(
        evaluator=lambda trace: [numeric("tone", 0.75, comment=str(trace["output"]))],
        has_v3=has_v3,
        lag_s=3600,
    ) as langfuse:
        planned(tmp_path, program, answers)
        sharded(tmp_path, program, langfuse)
        assert len(langfuse.traces) == 4
        assert finished(tmp_path, program, langfuse, "--no-wait") == 5
        assert scorecard(tmp_path / "out")["counts"]["pending"] == 4
        langfuse.lag_s = 0
        assert finished(tmp_path, program, langfuse) == 0
        rows = lines(tmp_path / "out/results.jsonl")
        assert [row["scores"]["tone"]["value"] for row in rows] == [0.75] * 4
        assert [row["scores"]["tone"]["reason"] for row in rows] == [f"Q{n}" for n in range(4)]
        refs = document(tmp_path / "out/manifest.json")["external_refs"]
        assert refs == [{"judge": "tone", "trace_id": one} for one in sorted(langfuse.traces)]
        assert program("verify", "out", cwd=tmp_path).code == 0


def test_finish__what_nobody_scores_is_missing(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """S1-05, S1-06, S1-09: counted by name, never averaged away."""

    def evaluator(trace: dict[str, Any]) -> list[dict[str, Any]]:
        return [] if trace["input"] == "q1" else [numeric("tone", 1)]

    with LangfuseStub(evaluator=evaluator) as langfuse:
        planned(tmp_path, program, answers)
        sharded(tmp_path, program, langfuse)
        assert finished(tmp_path, program, langfuse, "--final") == 2
        card = scorecard(tmp_path / "out")
        assert outcomes(tmp_path / "out") == {"friendly": "blocked_missing"}
        assert (card["counts"]["scored"], card["counts"]["missing"]) == (3, 1)
        (incomplete,) = card["incomplete"]
        assert "no score from judge:tone for 1 of 4 cases" in incomplete["message"]


def test_finish__scores_that_differ_are_a_failure_with_their_sources(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """S1-L4."""

    def evaluator(trace: dict[str, Any]) -> list[dict[str, Any]]:
        both = [numeric("tone", 1), numeric("tone", 0, source="ANNOTATION")]
        return both if trace["input"] == "q2" else both[:1]

    with LangfuseStub(evaluator=evaluator) as langfuse:
        planned(tmp_path, program, answers)
        sharded(tmp_path, program, langfuse)
        assert finished(tmp_path, program, langfuse) == 2
        rows = lines(tmp_path / "out/results.jsonl")
        assert [row["scores"]["tone"]["state"] for row in rows] == [
            "scored",
            "scored",
            "failed",
            "scored",
        ]
        assert '1 from "EVAL", 0 from "ANNOTATION"' in rows[2]["scores"]["tone"]["reason"]


def test_finish__a_limit_is_waited_out(tmp_path: Path, program: Program, answers: Answers) -> None:
    """S1-L3: 429 in the middle costs no score."""
    with LangfuseStub(evaluator=lambda _: [numeric("tone", 1)], lag_s=3600) as langfuse:
        planned(tmp_path, program, answers)
        sharded(tmp_path, program, langfuse)
        langfuse.lag_s = 0
        langfuse.plan("/api/public/v3", 429, b"{}", Retry_After="1")
        langfuse.plan("/api/public/v3", 200, b"<html>a gateway</html>")
        assert finished(tmp_path, program, langfuse) == 0
        assert scorecard(tmp_path / "out")["counts"]["scored"] == 4
