"""`purge`: words go, the decision stays, and what judges kept goes too (S1-47, G-24)."""

from __future__ import annotations

import shutil
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.suites import (
    Answers,
    Suite,
    document,
    files_below,
    http_suite,
    ledger,
    lines,
    scorecard,
)
from tests.langfusestub import LangfuseStub, numeric

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.program import Program

TONE = {
    "id": "tone",
    "type": "langfuse",
    "score": "tone",
    "interval": "100ms",
    "pass_at": 0.5,
}
GATES = [
    {"id": "quality", "metric": "exact", "min": 0.5},
    {"id": "friendly", "metric": "tone", "min": 0.5},
]
WORDS = ("WHISPER", "comment-of-a-judge", "told-to")


@pytest.fixture
def langfuse() -> Iterator[LangfuseStub]:
    """Scores every trace at once, with a comment."""
    with LangfuseStub(evaluator=lambda _: [numeric("tone", 1, comment=WORDS[1])]) as stub:
        yield stub


def decided(
    folder: Path, program: Program, answers: Answers, langfuse: LangfuseStub, **changes: Any
) -> Suite:
    """A run of three cases, of which one failed at the target."""

    def reply(asked: Any) -> tuple[int, Any]:
        if asked.question == "q2":
            return 422, {"error": WORDS[2]}
        return 200, {"answer": f"{WORDS[0]} {asked.question}"}

    answers.reply = reply
    suite = http_suite(
        folder,
        answers,
        3,
        **{"judges": [{"id": "exact", "type": "exact"}, TONE], "gates": GATES} | changes,
    )
    done = program("run", suite.path, cwd=folder, env=langfuse.environment)
    assert done.code == 2, done  # a case has no answer
    return suite


def holding(out: Path, word: str) -> list[str]:
    """Files below a bundle, but for the plan, with a word in them."""
    found = [path for path in files_below(out) if word.encode() in path.read_bytes()]
    return [path.relative_to(out).as_posix() for path in found if "plan" not in path.parts[-2]]


def test_purge__words_go_and_the_decision_stays(
    tmp_path: Path, program: Program, answers: Answers, langfuse: LangfuseStub
) -> None:
    """Bytes of the scorecard, values and digests are as before, and `verify` says what is gone."""
    suite = decided(tmp_path, program, answers, langfuse)
    out = suite.out
    before = (out / "scorecard.json").read_bytes()
    rows = lines(out / "results.jsonl")
    manifest = document(out / "manifest.json")
    digests = [line.get("output_digest") for line in ledger(out)]
    assert all(holding(out, word) for word in WORDS)

    done = program("purge", "out", "--yes", cwd=tmp_path, env=langfuse.environment)

    assert done.code == 0, done
    assert "2 outputs removed" in done.out
    assert "judge tone: of 2 traces 2 deleted" in done.out
    assert {word: holding(out, word) for word in WORDS} == {word: [] for word in WORDS}
    assert langfuse.traces == {}
    assert (out / "scorecard.json").read_bytes() == before
    assert [line.get("output_digest") for line in ledger(out)] == digests
    after = document(out / "manifest.json")
    changed = {
        name for name in manifest["files"] if after["files"][name] != manifest["files"][name]
    }
    reports = {"scorecard.html", "junit.xml", "summary.md", "results.sarif", "results.csv"}
    assert changed <= reports
    assert {**after, "files": None} == {**manifest, "files": None}
    for one, other in zip(rows, lines(out / "results.jsonl"), strict=True):
        for name, cell in other["scores"].items():
            assert {**one["scores"][name], "reason": None} == {**cell, "reason": None}
    verified = program("verify", "out", cwd=tmp_path)
    assert verified.code == 0, verified
    assert "2 outputs are not stored (purged, or by store_outputs)" in verified.out


def test_purge__may_be_repeated(
    tmp_path: Path, program: Program, answers: Answers, langfuse: LangfuseStub
) -> None:
    suite = decided(tmp_path, program, answers, langfuse)
    for outputs in (2, 0):
        done = program("purge", "out", "--yes", "--json", cwd=tmp_path, env=langfuse.environment)
        assert done.code == 0, done
        assert done.json()["outputs"] == outputs
    kept = {path: path.read_bytes() for path in files_below(suite.out)}
    assert program("purge", "out", "--yes", cwd=tmp_path, env=langfuse.environment).code == 0
    assert {path: path.read_bytes() for path in files_below(suite.out)} == kept


def test_purge__a_judge_that_is_not_there_is_asked_again_later(
    tmp_path: Path, program: Program, answers: Answers, langfuse: LangfuseStub
) -> None:
    """Exit 4: the words are gone here, and the same command does what is left."""
    suite = decided(tmp_path, program, answers, langfuse)
    langfuse.plan("/api/public/traces", 503, b"{}")
    done = program("purge", "out", "--yes", "--json", cwd=tmp_path, env=langfuse.environment)
    assert done.code == 4, done
    (judge,) = done.json()["judges"]
    assert (judge["deleted"], judge["failed"], judge["tickets"]) == (0, 2, 2)
    assert "answered 503" in judge["message"]
    assert holding(suite.out, WORDS[0]) == []
    unset = program("purge", "out", "--yes", cwd=tmp_path)
    assert unset.code == 4, unset
    assert "not asked: LANGFUSE_PUBLIC_KEY is not set" in unset.out
    assert len(langfuse.traces) == 2
    again = program("purge", "out", "--yes", cwd=tmp_path, env=langfuse.environment)
    assert again.code == 0, again
    assert langfuse.traces == {}


def test_purge__what_a_judge_cannot_delete_is_said(
    tmp_path: Path, program: Program, answers: Answers, langfuse: LangfuseStub
) -> None:
    decided(tmp_path, program, answers, langfuse)
    langfuse.can_delete = False
    done = program("purge", "out", "--yes", cwd=tmp_path, env=langfuse.environment)
    assert done.code == 0, done
    assert "judge tone: of 2 traces 2 cannot be deleted there" in done.out


def test_purge__judges_are_left_alone_when_told_so(
    tmp_path: Path, program: Program, answers: Answers, langfuse: LangfuseStub
) -> None:
    suite = decided(tmp_path, program, answers, langfuse)
    done = program("purge", "out", "--yes", "--no-judges", cwd=tmp_path)
    assert done.code == 0, done
    assert len(langfuse.traces) == 2
    assert holding(suite.out, WORDS[0]) == []


def test_purge__asks_first_and_leaves_an_open_run_alone(
    tmp_path: Path, program: Program, answers: Answers, langfuse: LangfuseStub
) -> None:
    langfuse.lag_s = 3600
    suite = http_suite(tmp_path, answers, 2, judges=[TONE], gates=[GATES[1]])
    waiting = program(
        "run", suite.path, "--time-budget", "1s", cwd=tmp_path, env=langfuse.environment
    )
    assert waiting.code == 5, waiting
    refused = program("purge", "out", "--yes", cwd=tmp_path, env=langfuse.environment)
    assert refused.code == 3, refused
    assert "releasecheck resume out --final" in refused.err
    closed = program("resume", "out", "--final", cwd=tmp_path, env=langfuse.environment)
    assert closed.code == 2, closed
    kept = {path: path.read_bytes() for path in files_below(suite.out)}
    asked = program("purge", "out", cwd=tmp_path, env=langfuse.environment)
    assert asked.code == 3, asked
    assert "say --yes" in asked.err
    assert {path: path.read_bytes() for path in files_below(suite.out)} == kept
    assert program("purge", "nowhere", "--yes", cwd=tmp_path).code == 3
    # Tickets that were never answered are on record, and their traces go as well.
    assert len(langfuse.traces) == 2
    assert program("purge", "out", "--yes", cwd=tmp_path, env=langfuse.environment).code == 0
    assert langfuse.traces == {}


@pytest.mark.soak
@pytest.mark.timeout(240)  # three commands for each change on disk
def test_purge__killed_anywhere_it_is_completed_by_the_next_one(
    tmp_path: Path, program: Program, answers: Answers, langfuse: LangfuseStub
) -> None:
    """Before each change on disk: the decision stands, and purging again ends it."""
    suite = decided(tmp_path, program, answers, langfuse)
    whole = tmp_path / "whole"
    shutil.copytree(suite.out, whole)
    log = tmp_path / "points"
    seen = program("purge", "out", "--yes", "--no-judges", cwd=tmp_path, fault={"record": str(log)})
    assert seen.code == 0, seen
    points = log.read_text("utf-8").splitlines()
    assert {"rename manifest.json", "rename results.jsonl", "rename scorecard.html"} <= set(points)
    replaced = [(n, name) for n, name in enumerate(points) if not name.startswith("write ")]
    for number, name in replaced:
        half = tmp_path / f"half-{number}"
        shutil.copytree(whole, half)
        argv = ("purge", half, "--yes", "--no-judges")
        killed = program(*argv, cwd=tmp_path, fault={"before": number})
        assert killed.code == -signal.SIGKILL, (name, killed)
        assert document(half / "manifest.json")["finalized_at"] is not None
        assert program(*argv, cwd=tmp_path).code == 0, name
        assert {word: holding(half, word) for word in WORDS} == {word: [] for word in WORDS}
        verified = program("verify", half, cwd=tmp_path)
        assert verified.code == 0, (name, verified)
        assert scorecard(half) == scorecard(whole)


def test_purge__what_was_tampered_with_is_not_vouched_for(
    tmp_path: Path, program: Program, answers: Answers, langfuse: LangfuseStub
) -> None:
    """The new manifest takes the digests of what purging writes, and of nothing else."""
    suite = decided(tmp_path, program, answers, langfuse)
    card = suite.out / "scorecard.json"
    card.write_bytes(card.read_bytes().replace(b'"cases": 3', b'"cases": 4'))
    program("purge", "out", "--yes", "--no-judges", cwd=tmp_path)
    verified = program("verify", "out", cwd=tmp_path)
    assert verified.code == 4, verified
    assert "scorecard.json: its digest is" in verified.out
