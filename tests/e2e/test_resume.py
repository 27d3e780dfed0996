"""Interrupted, stopped or half-failed runs go on from their ledger (issue 2, "Must hold" 1 and 2)."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.ledger.jsonl import purge_file
from tests.e2e.suites import (
    Answers,
    Asked,
    Suite,
    document,
    files_below,
    http_suite,
    ledger,
    lines,
    noted,
    python_suite,
    recorded,
    same_but_for_times,
    scorecard,
)
from tests.processes import environment
from tests.stubs import Pids

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.program import Program

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def test_signal__leaves_a_run_to_resume(tmp_path: Path, program: Program) -> None:
    """B127, B128: INT, TERM and HUP alike; calls that never answer hold it up for seconds only."""
    with ExitStack() as stack:
        started = []
        for number in SIGNALS:
            answers = stack.enter_context(Answers())
            answers.hold_after = 3
            target = {"concurrency": 2}
            suite = http_suite(tmp_path / number.name, answers, 8, target=target)
            started.append(
                (number, answers, suite, program.start("run", suite.path, cwd=suite.folder))
            )
        for number, answers, _, running in started:
            answers.wait_asked(5)
            running.signal(number)
        for _, answers, suite, running in started:
            done = running.wait()
            assert done.code == 130, done
            assert "releasecheck resume out" in done.err
            assert "pass" not in done.out
            kept = recorded(suite.out)
            assert len(kept) == 3
            card = scorecard(suite.out)
            assert (card["verdict"], card["exit_code"]) == ("blocked_missing", 2)
            assert card["counts"]["missing"] == 5
            assert any("interrupted" in reason for reason in card["reasons"])
            assert document(suite.out / "manifest.json")["finalized_at"] is None
            assert not (suite.out / "badge.json").exists()
            answers.open.set()
            before = len(answers.asked)
            resumed = program("resume", "out", cwd=suite.folder)
            assert resumed.code == 0, resumed
            assert not {asked.trial for asked in answers.asked[before:]} & kept


def test_signal__lets_calls_in_flight_answer(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    answers.hold_after = 3
    suite = http_suite(tmp_path, answers, 8, target={"concurrency": 2})
    running = program.start("run", suite.path, cwd=tmp_path)
    answers.wait_asked(5)
    running.signal(signal.SIGINT)
    answers.open.set()
    assert running.wait().code == 130
    assert len(recorded(suite.out)) == 5
    assert program("resume", "out", cwd=tmp_path).code == 0
    assert set(answers.counts().values()) == {1}


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_signal_while_deciding__ends_at_once(
    tmp_path: Path, program: Program, answers: Answers, number: signal.Signals
) -> None:
    """During planning and during the writing of reports there is nothing to wait for (B127)."""
    suite = http_suite(tmp_path, answers, 2)
    plan, results, out = (tmp_path / name for name in ("plan", "results", "out"))
    name = number.name.removeprefix("SIG")
    planning = {"before": "rename plan.json", "signal": name}
    planned = program("plan", suite.path, "--out", plan, cwd=tmp_path, fault=planning)
    assert planned.code == 130
    assert not (plan / "plan.json").exists()
    assert program("plan", suite.path, "--out", plan, cwd=tmp_path).code == 0
    arguments = ("shard", "--plan", plan, "--index", "0", "--out", results)
    assert program(*arguments, cwd=tmp_path).code == 0
    writing = {"before": "rename summary.md", "signal": name}
    finish = ("finish", "--plan", plan, "--results", results, "--out", out)
    run = ("run", suite.path, "--out", tmp_path / "whole")
    for command, again in ((finish, finish), (run, ("resume", tmp_path / "whole"))):
        stopped = program(*command, cwd=tmp_path, fault=writing)
        assert (stopped.code, stopped.out) == (130, ""), stopped
        bundle = command[-1]
        assert not (tmp_path / bundle / "manifest.json").exists()
        assert program("verify", bundle, cwd=tmp_path).code == 4
        assert program(*again, cwd=tmp_path).code == 0
        assert program("verify", bundle, cwd=tmp_path).code == 0


def test_second_interrupt__leaves_nothing_running(tmp_path: Path, program: Program) -> None:
    """B38, B127: worker, started service and its child are gone; also after a kill, but the service."""
    pids = Pids(tmp_path / "pids")
    pids.folder.mkdir()
    note = "import os, pathlib; (HERE / 'pids' / str(os.getpid())).touch()"
    serve = (
        "import os, pathlib, socket, subprocess, sys, time\n"
        "HERE = pathlib.Path(__file__).parent\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "for pid in (os.getpid(), child.pid):\n"
        "    (HERE / 'pids' / str(pid)).touch()\n"
        "server = socket.create_server(('127.0.0.1', int(sys.argv[1])))\n"
        "time.sleep(600)\n"
    )
    (tmp_path / "serve.py").write_text(serve)
    start = {"run": [sys.executable, "serve.py", "${RELEASECHECK_PORT}"]}
    body = f"{note}; time.sleep(600 if case['id'] == 'c2' else 0); return case['input'].upper()"
    suite = python_suite(tmp_path, 4, body, target={"start": start, "concurrency": 1})
    try:
        running = program.start("run", suite.path, cwd=tmp_path)
        wait_for_line(suite.folder / "calls.txt", "c2#t0")
        running.signal(signal.SIGINT)
        running.signal(signal.SIGTERM)
        done = running.wait()
        assert done.code == 130, done
        assert len(pids.read()) == 3
        assert not pids.left()
        assert len(recorded(suite.out)) == 2
    finally:
        pids.kill()


def test_killed__takes_its_worker_with_it(tmp_path: Path, program: Program) -> None:
    pids = Pids(tmp_path / "pids")
    pids.folder.mkdir()
    note = "import os, pathlib; (HERE / 'pids' / str(os.getpid())).touch()"
    body = f"{note}; time.sleep(0.2); return 1"
    suite = python_suite(tmp_path, 40, body, target={"concurrency": 1})
    try:
        running = program.start("run", suite.path, cwd=tmp_path)
        wait_for_line(suite.folder / "calls.txt", "c1#t0")
        running.signal(signal.SIGKILL)
        assert running.wait().code == -signal.SIGKILL
        assert pids.read()
        assert not pids.left()
    finally:
        pids.kill()


def wait_for_line(path: Path, line: str) -> None:
    """Wait until a file has a line; the test's own time-out is the bound."""
    import time

    while not path.exists() or line not in path.read_text("utf-8").splitlines():
        time.sleep(0.02)


def test_ignored_signal__stays_ignored(tmp_path: Path, answers: Answers) -> None:
    """Under `nohup` a hang-up ends nothing. A process of its own, started as a shell would."""
    answers.hold_after = 1
    suite = http_suite(tmp_path, answers, 3)
    with subprocess.Popen(
        ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", sys.executable, "-m", "releasecheck", "run",
         str(suite.path)],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        answers.wait_asked(2)
        process.send_signal(signal.SIGHUP)
        answers.open.set()
        out, err = process.communicate()
    assert process.returncode == 0, err
    assert b"pass" in out


def slow(asked: Asked) -> tuple[int, Any]:
    """Take a while to answer."""
    import time

    time.sleep(0.3)
    return 200, {"answer": asked.question.upper()}


def test_time_budget__stops_between_batches_and_goes_on(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """C-10: no verdict, the reason named; later attempts do the rest and nothing twice."""
    answers.reply = slow
    suite = http_suite(tmp_path, answers, 4, batch=1)
    stopped = program("run", suite.path, "--time-budget", "500ms", cwd=tmp_path)
    assert stopped.code == 2, stopped
    kept = recorded(suite.out)
    assert len(kept) < 4
    card = scorecard(suite.out)
    assert card["verdict"] == "blocked_missing"
    assert any(reason.startswith("budget_exceeded: the time") for reason in card["reasons"])
    assert program("verify", "out", cwd=tmp_path).code == 0
    answers.reply = None
    resumed = program("resume", "out", cwd=tmp_path)
    assert resumed.code == 0, resumed
    assert set(answers.counts().values()) == {1}
    assert not any("budget" in reason for reason in scorecard(suite.out)["reasons"])


def test_time_budget_of_a_shard__exits_2_and_goes_on(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    answers.reply = slow
    suite = http_suite(tmp_path, answers, 4, batch=1)
    assert program("plan", suite.path, cwd=tmp_path).code == 0
    shard = ("shard", "--plan", "plan", "--index", "0", "--json")
    stopped = program(*shard, "--time-budget", "0.5", cwd=tmp_path)
    assert stopped.code == 2, stopped
    said = stopped.json()
    assert said["stopped"] == "time_budget"
    assert said["open_pairs"] == 4 - said["done"] > 0
    answers.reply = None
    rest = program(*shard, cwd=tmp_path)
    assert (rest.code, rest.json()["attempt"], rest.json()["open_pairs"]) == (0, 2, 0), rest
    nothing = program(*shard, cwd=tmp_path)
    assert (nothing.code, nothing.json()["file"]) == (0, None), nothing
    assert set(answers.counts().values()) == {1}


def priced(asked: Asked) -> tuple[int, Any]:
    """Every answer costs a cent."""
    return 200, {"answer": asked.question.upper(), "cost": 0.01}


def test_cost_budget__blocks_for_want_of_scores(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """A spent budget is no pass over what was affordable, and a resume does not spend it again."""
    answers.reply = priced
    suite = http_suite(
        tmp_path,
        answers,
        6,
        batch=1,
        budget={"cost_usd": 0.025},
        target={"usage": {"cost_usd": "cost"}},
    )
    for command in (("run", suite.path), ("resume", "out")):
        done = program(*command, cwd=tmp_path)
        assert done.code == 2, done
        card = scorecard(suite.out)
        assert card["verdict"] == "blocked_missing"
        assert any(reason.startswith("budget_exceeded: the cost") for reason in card["reasons"])
        assert card["counts"]["missing"] == 3
        assert len(answers.asked) == 3
    closed = program("resume", "out", "--final", cwd=tmp_path)
    assert closed.code == 2, closed
    assert document(suite.out / "manifest.json")["finalized_at"]
    assert program("verify", "out", cwd=tmp_path).code == 0


def test_judges_none_then_only__asks_each_side_once(tmp_path: Path, program: Program) -> None:
    """Two jobs with other secrets: one calls the target, the other judges what is stored."""
    suite = python_suite(
        tmp_path,
        3,
        target={"env": {"T": "${TARGET_KEY}"}},
        judges=[
            {"id": "own", "type": "python", "function": "app:judge", "env": {"J": "${JUDGE_KEY}"}}
        ],
        gates=[{"id": "quality", "metric": "own", "min": 1}],
    )
    target, judge = {"TARGET_KEY": "for-target"}, {"JUDGE_KEY": "for-judge"}
    assert program("plan", suite.path, "--shards", "1", cwd=tmp_path).code == 0
    shard = ("shard", "--plan", "plan", "--index", "0", "--json", "--judges")
    assert program(*shard, "none", cwd=tmp_path, env=judge).code == 3
    called = program(*shard, "none", cwd=tmp_path, env=target)
    assert (called.code, called.json()["done"]) == (0, 3), called
    assert not noted(suite, "judged.txt")
    unfinished = program("finish", "--plan", "plan", "--results", "results", cwd=tmp_path)
    assert unfinished.code == 2, unfinished
    assert program(*shard, "only", cwd=tmp_path, env=target).code == 3
    judged = program(*shard, "only", cwd=tmp_path, env=judge)
    assert (judged.code, judged.json()["done"]) == (0, 3), judged
    done = program("finish", "--plan", "plan", "--results", "results", cwd=tmp_path)
    assert done.code == 0, done
    assert set(noted(suite).values()) == set(noted(suite, "judged.txt").values()) == {1}
    assert program("run", suite.path, "--out", "whole", cwd=tmp_path, env=target | judge).code == 0
    same_but_for_times(tmp_path / "whole", suite.out)


def test_attempt__is_never_written_twice(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """`--attempt` names a file; the default is the highest seen, anywhere, + 1."""
    answers.status = {"q1": 503}
    suite = http_suite(tmp_path, answers, 2)
    assert program("plan", suite.path, "--shards", "1", cwd=tmp_path).code == 0
    shard = ("shard", "--plan", "plan", "--index", "0", "--json")
    first = program(*shard, "--out", "first", "--attempt", "4", cwd=tmp_path)
    assert (first.code, first.json()["attempt"]) == (2, 4), first  # a retryable failure is left
    again = program(*shard, "--out", "first", "--attempt", "4", cwd=tmp_path)
    assert again.code == 3, again
    assert "recorded already" in again.err
    answers.status = {}
    other = program(*shard, "--out", "second", "--resume", "first", cwd=tmp_path)
    assert (other.code, other.json()["attempt"], other.json()["done"]) == (0, 5, 1), other
    assert answers.counts() == {"c0#t0": 1, "c1#t0": 2}
    finish = ("finish", "--plan", "plan", "--results", "first", "--results", "second")
    assert program(*finish, cwd=tmp_path).code == 0


def test_retryable_failure__keeps_the_run_open(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """What may pass is asked again by `resume`, what cannot (400) never, and nothing measured is."""
    answers.status = {"q1": 503, "q2": 400}
    gates = [{"id": "quality", "metric": "exact", "min": 0.5, "on_target_failure": "count_as_fail"}]
    suite = http_suite(tmp_path, answers, 4, gates=gates)
    first = program("run", suite.path, cwd=tmp_path)
    assert first.code in (0, 2), first
    assert document(suite.out / "manifest.json")["finalized_at"] is None
    status = program("status", "out", "--json", cwd=tmp_path).json()
    assert (status["state"], status["mendable"], status["failed"]) == ("running", 1, 2)
    blocked = program("run", suite.path, cwd=tmp_path)
    assert blocked.code == 3, blocked
    assert "releasecheck resume" in blocked.err
    answers.status = {"q2": 400}
    resumed = program("resume", "out", cwd=tmp_path)
    assert resumed.code == 0, resumed
    assert answers.counts() == {"c0#t0": 1, "c1#t0": 2, "c2#t0": 1, "c3#t0": 1}
    assert document(suite.out / "manifest.json")["finalized_at"]
    assert program("status", "out", "--json", cwd=tmp_path).json()["state"] == "completed"
    assert program("verify", "out", cwd=tmp_path).code == 0


def stored_texts(suite: Suite, *folders: str) -> list[Path]:
    """Files that hold an answer of the target."""
    found = files_below(*(suite.folder / folder for folder in folders))
    return [path for path in found if b"ANSWER-" in path.read_bytes()]


@pytest.mark.parametrize("store", ["digest", "none"])
def test_store_outputs__keeps_none_once_judged(
    tmp_path: Path, program: Program, store: str
) -> None:
    """S1-47, G-24: also not what an attempt left that was killed before it could forget."""
    body = 'return "ANSWER-" + case["input"]'
    judges = [{"id": "says", "type": "contains", "value": "ANSWER"}]
    gates = [{"id": "quality", "metric": "says", "min": 1}]
    options: dict[str, Any] = {"judges": judges, "gates": gates, "target": {"concurrency": 1}}
    suite = python_suite(tmp_path, 3, body, store_outputs=store, **options)
    for point in (None, "append c1#0 says", "end", "rename results.jsonl"):
        out = f"out-{point}"
        fault = None if point is None else {"before": point}
        first = program("run", suite.path, "--out", out, cwd=tmp_path, fault=fault)
        if point is not None:
            assert first.code == -signal.SIGKILL
            first = program("resume", out, cwd=tmp_path)
        assert first.code == 0, first
        assert not stored_texts(suite, out), point
        outputs = [line for line in ledger(tmp_path / out) if line["record"] == "output"]
        assert all(line["output_digest"] and line["output"] is None for line in outputs)
        assert [row["output"] for row in lines(tmp_path / out / "results.jsonl")] == [None] * 3
        verified = program("verify", out, cwd=tmp_path)
        assert verified.code == 0, verified
        assert "3 outputs are not stored" in verified.out
    assert sum(noted(suite).values()) == 12


def test_store_outputs__keeps_what_waits_for_a_judge(tmp_path: Path, program: Program) -> None:
    """An output lost before it was judged is asked again, judged anew, and counted."""
    body = 'return "ANSWER-" + case["input"]'
    judges = [{"id": "says", "type": "contains", "value": "ANSWER"}]
    gates = [{"id": "quality", "metric": "says", "min": 1}]
    suite = python_suite(tmp_path, 3, body, store_outputs="digest", judges=judges, gates=gates)
    assert program("plan", suite.path, "--shards", "1", cwd=tmp_path).code == 0
    shard = ("shard", "--plan", "plan", "--index", "0")
    assert program(*shard, "--judges", "none", cwd=tmp_path).code == 0
    path = tmp_path / "results" / "shard-0000.attempt-1.jsonl"
    assert stored_texts(suite, "results") == [path]
    purge_file(path, lambda record: record.case != "c1", texts=False)
    only = program(*shard, "--judges", "only", "--json", cwd=tmp_path)
    assert (only.code, only.json()["open_pairs"]) == (2, 1), only
    assert program(*shard, cwd=tmp_path).code == 0
    assert noted(suite) == {"c0#t0": 1, "c1#t0": 2, "c2#t0": 1}
    done = program("finish", "--plan", "plan", "--results", "results", cwd=tmp_path)
    assert done.code == 0, done
    assert scorecard(suite.out)["costs"]["outputs_lost"] == 1
    assert not stored_texts(suite, "out")
    assert program("verify", "out", cwd=tmp_path).code == 0


def test_store_outputs__keeps_none_in_a_bundle(tmp_path: Path, program: Program) -> None:
    """Answers in one job's folder, judged by another job: the bundle forgets what was judged."""
    body = 'return "ANSWER-" + case["input"]'
    judges = [{"id": "says", "type": "contains", "value": "ANSWER"}]
    gates = [{"id": "quality", "metric": "says", "min": 1}]
    suite = python_suite(tmp_path, 2, body, store_outputs="digest", judges=judges, gates=gates)
    assert program("plan", suite.path, "--shards", "1", cwd=tmp_path).code == 0
    shard = ("shard", "--plan", "plan", "--index", "0", "--judges")
    assert program(*shard, "none", "--out", "asked", cwd=tmp_path).code == 0
    assert program(*shard, "only", "--out", "judged", "--resume", "asked", cwd=tmp_path).code == 0
    finish = ("finish", "--plan", "plan", "--results", "asked", "--results", "judged")
    for _ in range(2):
        assert program(*finish, cwd=tmp_path).code == 0
        assert not stored_texts(suite, "out")
        assert program("verify", "out", cwd=tmp_path).code == 0
    assert len(stored_texts(suite, "asked")) == 1  # somebody else's folder is left alone


def test_hopeless_target__is_left_alone(tmp_path: Path, program: Program, answers: Answers) -> None:
    """The same refusal again and again ends the run early, without a verdict."""
    answers.status = {f"q{number}": 401 for number in range(30)}
    suite = http_suite(tmp_path, answers, 30)
    done = program("run", suite.path, cwd=tmp_path)
    assert done.code == 2, done
    assert len(answers.asked) == 10
    reasons = scorecard(suite.out)["reasons"]
    assert any("refused every call" in reason for reason in reasons)
