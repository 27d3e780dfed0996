"""Ctrl-C and SIGTERM while judges are asked or waited for: it ends at once, and is carried on (S1-26, S1-27, S1-34).

Clocks are real here: a pause of minutes, or a server that never answers, has to be broken off.
"""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.e2e.deferring import HASTEN, WAYS, Settled, Way, deferred_suite, shards, slow
from tests.e2e.suites import ledger
from tests.judgeserver import HANG, JudgeServer, answer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.e2e.program import Program
    from tests.e2e.suites import Answers, Suite

INTERRUPTED = 130
SOON_S = 3.0
SIGNALS = (signal.SIGINT, signal.SIGTERM)
PENDING = answer({"scores": {}})


def commands(way: Way, program: Program, suite: Suite) -> tuple[Path, list[str], list[str]]:
    """Where to start what is to be interrupted, and what carries it on."""
    if way == "run":
        return suite.folder, ["run", suite.path.name, "--out", "out"], ["resume", "out"]
    finish = ["finish", "--plan", "plan", "--results", "results", "--out", "out"]
    return shards(program, suite), finish, finish


def until(true: Callable[[], object]) -> None:
    """Wait for something that a test has started."""
    ends = time.monotonic() + 30
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.02)


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("way", WAYS)
def test_s1_27__a_pause_is_cut_short(
    way: Way, number: signal.Signals, tmp_path: Path, program: Program, answers: Answers
) -> None:
    """S1-27: nobody is asked after it; what came is kept, decided as far as it goes, and carried on."""
    with JudgeServer(after=1 if way == "run" else 2) as judge:
        judge.omits = {"c2"}
        spec = slow(judge.url, interval="4m")
        suite = deferred_suite(tmp_path / "suite", answers, spec, cases=3)
        where, argv, again = commands(way, program, suite)
        out = where / "out"
        running = program.start(*argv, cwd=where)
        until(lambda: _scored(out) == 2)
        asked = len(judge.collected)
        running.signal(number)
        done = running.wait(SOON_S)
        assert done.code == INTERRUPTED, done
        assert "interrupted" in done.err
        assert "Traceback" not in done.err
        assert len(judge.collected) == asked
        run = Settled(done, out)
        counts = run.card["counts"]
        assert (counts["scored"], counts["pending"]) == (2, 1)
        assert run.card["verdict"] is None
        judge.omits = ()
        done = program(*again, cwd=where, fault=HASTEN)
    assert done.code == 0, done
    assert Settled(done, out).card["counts"]["scored"] == 3
    assert judge.collected[-1] == [judge.ticket_of("c2")]
    assert len(judge.asked) == len(answers.asked) == 3


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
@pytest.mark.parametrize("way", WAYS)
def test_s1_26_s1_41__an_open_question_is_cancelled(
    way: Way, number: signal.Signals, tmp_path: Path, program: Program, answers: Answers
) -> None:
    """S1-26, S1-27, S1-41: the request itself ends, its ticket stays open."""
    with JudgeServer(after=1) as judge:
        judge.faults["collect"] = [] if way == "run" else [PENDING] * 2
        judge.always["collect"] = HANG
        suite = deferred_suite(tmp_path / "suite", answers, slow(judge.url), cases=3)
        where, argv, again = commands(way, program, suite)
        out = where / "out"
        running = program.start(*argv, cwd=where)
        assert judge.hanging.wait(30)
        running.signal(number)
        done = running.wait(SOON_S)
        assert done.code == INTERRUPTED, done
        assert "Traceback" not in done.err
        assert judge.left.wait(5)
        run = Settled(done, out)
        assert run.card["counts"]["pending"] == 3
        assert {row["state"] for row in run.records("slow")} == {"pending"}
        del judge.always["collect"]
        done = program(*again, cwd=where, fault=HASTEN)
    assert done.code == 0, done
    assert run.card["counts"]["scored"] == 3
    assert len(judge.asked) == len(answers.asked) == 3


@pytest.mark.parametrize("call", ["identity", "judge"])
@pytest.mark.parametrize("way", WAYS)
def test_s1_34_s1_41__a_signal_stops_before_the_next_case(
    way: Way, call: str, tmp_path: Path, program: Program, answers: Answers
) -> None:
    """S1-34, S1-41: the request to the judge ends, no case and no judge is asked after it; then it is carried on.

    The second signal does not wait for what is in flight.
    """
    with JudgeServer(after=0) as judge:
        judge.always[call] = HANG  # type: ignore[index]
        exact = {"id": "exact", "type": "exact"}
        suite = deferred_suite(
            tmp_path / "suite", answers, slow(judge.url, concurrency=1), exact, cases=8, shards=1,
        )  # fmt: skip
        argv, again = ["run", suite.path.name, "--out", "out"], ["resume", "out"]
        if way == "shards":
            planned = program("plan", suite.path.name, "--out", "plan", cwd=suite.folder)
            assert planned.code == 0, planned
            argv = again = ["shard", "--plan", "plan", "--index", "0", "--out", "results"]
        running = program.start(*argv, cwd=suite.folder)
        assert judge.hanging.wait(30)
        running.signal(signal.SIGINT)
        time.sleep(0.1)
        before = len(answers.asked)
        running.signal(signal.SIGINT)
        done = running.wait(SOON_S)
        assert done.code == INTERRUPTED, done
        assert judge.left.wait(5)
        assert judge.calls[call] == 1  # type: ignore[index]
        assert len(answers.asked) == before < 8
        del judge.always[call]  # type: ignore[arg-type]
        done = program(*again, cwd=suite.folder, fault=HASTEN)
        assert done.code == 0, done
        if way == "shards":
            argv = ["finish", "--plan", "plan", "--results", "results", "--out", "out"]
            done = program(*argv, cwd=suite.folder)
    assert done.code == 0, done
    run = Settled(done, suite.out)
    assert run.card["counts"]["scored"] == 16
    assert {asked.trial for asked in answers.asked} == {f"c{n}#t0" for n in range(8)}


def test_s1_34__a_question_before_a_shard_ends_is_cancelled(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """S1-26, S1-34: a shard asks once before it ends; its file is whole all the same."""
    with JudgeServer(after=1) as judge:
        judge.always["collect"] = HANG
        suite = deferred_suite(tmp_path, answers, slow(judge.url), cases=3, shards=1)
        assert program("plan", suite.path, "--out", "plan", cwd=tmp_path).code == 0
        shard = ["shard", "--plan", "plan", "--index", "0", "--out", "results"]
        running = program.start(*shard, cwd=tmp_path)
        assert judge.hanging.wait(30)
        running.signal(signal.SIGTERM)
        done = running.wait(SOON_S)
        assert done.code == INTERRUPTED, done
        assert judge.left.wait(5)
        rows = ledger(tmp_path / "results")
        assert [row["record"] for row in rows].count("end") == 1
        del judge.always["collect"]
        finish = ["finish", "--plan", "plan", "--results", "results", "--out", "out"]
        done = program(*finish, cwd=tmp_path, fault=HASTEN)
    assert done.code == 0, done
    assert len(judge.asked) == len(answers.asked) == 3


def _scored(out: Path) -> int:
    rows = ledger(out / "results") if (out / "results").is_dir() else []
    return [row["state"] for row in rows if row["record"] == "score"].count("scored")


@pytest.mark.parametrize("way", WAYS)
def test_a_judge_that_hangs__costs_no_other_one_its_scores(
    way: Way, tmp_path: Path, program: Program, answers: Answers
) -> None:
    """G-12: each judge in its own rhythm, so that what others have is taken while one does not answer."""
    with JudgeServer(after=3 if way == "run" else 4) as judge, JudgeServer() as hangs:
        hangs.faults["collect"] = [] if way == "run" else [PENDING] * 2
        hangs.always["collect"] = HANG
        suite = deferred_suite(
            tmp_path / "suite", answers, slow(hangs.url, "hangs"), slow(judge.url, interval="50ms"), cases=3
        )  # fmt: skip
        where, argv, _ = commands(way, program, suite)
        running = program.start(*argv, cwd=where)
        assert hangs.hanging.wait(30)
        until(lambda: _scored(where / "out") == 3)
        assert not hangs.left.is_set()
        running.signal(signal.SIGINT)
        done = running.wait(SOON_S)
    assert done.code == INTERRUPTED, done
    counts = Settled(done, where / "out").card["counts"]
    assert (counts["scored"], counts["pending"]) == (3, 3)
