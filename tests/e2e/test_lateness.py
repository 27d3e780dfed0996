"""What comes late is late whoever sees it first, and what comes in time is never lost (contract section 5)."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from releasecheck.drivers.local.clock import SystemClock
from releasecheck.settle import moment_of, text_of
from tests.e2e.deferring import (
    HASTEN,
    MISSING,
    SCORED,
    WAYS,
    Settled,
    Way,
    deferred_suite,
    finish,
    settled,
    shards,
    slow,
)
from tests.judgeserver import HANG, Fault, JudgeServer, status

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.program import Program
    from tests.e2e.suites import Answers

AFTERWARDS = {"hasten": True, "ahead_s": 4000.0}


def test_rerun_shard__takes_no_score_that_finish_gave_up(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """S1-25: a re-run shard has not seen the finish file, and may not ask for what is over."""
    answers.status = {"q1": 503}
    with JudgeServer(after=None) as judge:
        suite = deferred_suite(
            tmp_path / "suite", answers, slow(judge.url), cases=2, shards=1, target={"retries": 0}
        )
        there = shards(program, suite)
        assert finish(program, there, fault=HASTEN).code == 2
        answers.status, judge.after = {}, 1
        again = program(
            *("shard", "--plan", "plan", "--index", "0"),
            *("--out", "again", "--resume", "results/0"),
            cwd=suite.folder,
            fault=AFTERWARDS,
        )
        assert again.code == 0, again
        shutil.copytree(suite.folder / "again", there / "results" / "again")
        run = Settled(finish(program, there, fault=AFTERWARDS), there / "out")
    assert run.scores("slow") == {"c0": MISSING, "c1": SCORED}
    assert run.gate("has-slow")["outcome"] == "blocked_missing"


@pytest.mark.parametrize("way", WAYS)
def test_judge_clock_ahead__is_no_reason_to_call_a_score_late(
    way: Way, tmp_path: Path, program: Program, answers: Answers
) -> None:
    """G-11: by its deadline, not by the half minute that a shard gives one question."""
    ahead = text_of(moment_of(SystemClock().now()) + 90)
    with JudgeServer(score=lambda _: {"value": True, "at": ahead}) as judge:
        suite = deferred_suite(tmp_path / "suite", answers, slow(judge.url), cases=2)
        run = settled(way, program, suite)
    assert run.done.code == 0, run.done
    assert run.records("slow", "late") == []


@pytest.mark.parametrize("again", ["0", "2"])
def test_last_look__is_not_used_up_by_a_judge_that_asks_for_a_moment(
    again: str, tmp_path: Path, program: Program, answers: Answers
) -> None:
    """C-13: one 429 to the last sweep is no answer."""
    with JudgeServer(after=3) as judge:
        suite = deferred_suite(
            tmp_path / "suite", answers, slow(judge.url, concurrency=1, batch=2), shards=1
        )
        run = settled("run", program, suite, "--no-wait")
        assert run.done.code == 5, run.done
        judge.after = 1
        judge.faults["collect"] = [status(429, {"retry-after": again})]
        done = program("resume", "out", cwd=suite.folder, fault={"hasten": True, "ahead_s": 1000.0})
    assert done.code == 0, done
    assert set(run.scores("slow").values()) == {SCORED}
    assert run.ended("slow", "c0")["notes"] == ["resumed_after_deadline"]


@pytest.mark.parametrize("again", ["999999999999", "Wed, 21 Oct 9999 07:28:00 GMT"])
@pytest.mark.parametrize("code", [429, 200])
def test_retry_after__of_any_size_ends_at_the_deadline(
    code: int, again: str, tmp_path: Path, program: Program, answers: Answers
) -> None:
    """S1-26: asked no more, and the scores are missing; nothing breaks."""
    with JudgeServer(after=None) as judge:
        judge.always["collect"] = Fault(
            status=code, body=b'{"scores": {}}', headers={"retry-after": again}
        )
        suite = deferred_suite(tmp_path / "suite", answers, slow(judge.url), cases=2)
        run = settled("run", program, suite)
    assert run.done.code == 2, run.done
    assert set(run.scores("slow").values()) == {MISSING}


def test_time_budget__breaks_off_a_question_that_hangs(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """S1-26: a job that ends in time has its tickets on record, and somebody else carries on."""
    with JudgeServer(after=2) as judge:
        suite = deferred_suite(tmp_path / "suite", answers, slow(judge.url), cases=2, shards=1)
        there = shards(program, suite)
        judge.always["collect"] = HANG
        assert finish(program, there, "--time-budget", "1s").code == 5
        assert judge.left.wait(5)
        del judge.always["collect"]
        run = Settled(finish(program, there, fault=HASTEN), there / "out")
    assert run.done.code == 0, run.done
    assert set(run.scores("slow").values()) == {SCORED}
