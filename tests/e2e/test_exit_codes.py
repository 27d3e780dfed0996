"""Every exit code of the contract by a real situation, and 1 never by anything but a blocked gate."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.forge import edit, edit_lines
from tests.e2e.suites import (
    Answers,
    Asked,
    document,
    http_suite,
    lines,
    outcomes,
    recorded,
    scorecard,
)
from tests.processes import environment

if TYPE_CHECKING:
    from tests.e2e.program import Done, Program


def test_0_1_2__by_the_verdict(tmp_path: Path, program: Program, answers: Answers) -> None:
    suite = http_suite(tmp_path, answers, 4)
    assert program("run", suite.path, cwd=tmp_path).code == 0
    answers.wrong = {"q0", "q1", "q2"}
    blocked = program("run", suite.path, cwd=tmp_path)
    assert (blocked.code, scorecard(suite.out)["exit_code"]) == (1, 1), blocked
    resumed = program("resume", "out", cwd=tmp_path)
    assert resumed.code == 1  # a decision that stands is said again
    answers.status = {"q3": 400}
    missing = program("run", suite.path, cwd=tmp_path)
    assert (missing.code, scorecard(suite.out)["verdict"]) == (2, "blocked_missing"), missing
    suite.write(gates=[{"id": "n", "metric": "exact", "no_regression": {}}])
    answers.status = {}
    nothing = program("run", suite.path, cwd=tmp_path)
    assert (nothing.code, scorecard(suite.out)["verdict"]) == (2, "not_comparable"), nothing


USAGE = {
    "no command": [],
    "unknown command": ["rnu"],
    "unknown option": ["run", "releasecheck.yaml", "--nope"],
    "no config": ["run", "nowhere.yaml"],
    "folder as config": ["run", "."],
    "out is a file": ["run", "releasecheck.yaml", "--out", "cases.jsonl"],
    "out below a file": ["run", "releasecheck.yaml", "--out", "cases.jsonl/out"],
    "other things in out": ["run", "releasecheck.yaml", "--out", "."],
    "no such case": ["run", "releasecheck.yaml", "--ids", "c0,c99"],
    "no such profile": ["run", "releasecheck.yaml", "--profile", "nightly"],
    "no such baseline": ["run", "releasecheck.yaml", "--baseline", "nowhere"],
    "no shards": ["plan", "releasecheck.yaml", "--shards", "0"],
    "no plan": ["shard", "--plan", "nowhere", "--index", "0"],
    "no results": ["finish", "--plan", "plan", "--results", "nowhere"],
    "nothing to resume": ["resume", "nowhere"],
    "nothing to tell": ["status", "."],
    "nothing to verify": ["verify", "."],
    "nothing to compare": ["compare", ".", "."],
    "nothing to promote": ["baseline", "promote", "."],
    "no such schema": ["schema", "cases"],
}


@pytest.mark.parametrize("name", USAGE)
def test_3__calls_nothing_and_leaves_nothing(
    tmp_path: Path, program: Program, answers: Answers, name: str
) -> None:
    http_suite(tmp_path, answers, 1)
    before = sorted(tmp_path.rglob("*"))
    done = program(*USAGE[name], cwd=tmp_path)
    assert (done.code, done.out) == (3, ""), done
    assert done.err.startswith("releasecheck: ")
    assert not answers.asked
    assert sorted(tmp_path.rglob("*")) == before


BROKEN: dict[str, dict[str, Any]] = {
    "no gates": {"gates": []},
    "unknown key": {"gate": []},
    "unknown metric": {"gates": [{"id": "g", "metric": "exactly", "min": 1}]},
    "not a number": {"gates": [{"id": "g", "metric": "exact", "min": "0,8"}]},
    "other count": {"expect_cases": 7},
    "no cases": {"cases": [{"path": "none-*.jsonl"}]},
}


@pytest.mark.parametrize("name", BROKEN)
def test_3__config_that_cannot_work(
    tmp_path: Path, program: Program, answers: Answers, name: str
) -> None:
    suite = http_suite(tmp_path, answers, 1).write(**BROKEN[name])
    for command in ("validate", "plan", "run"):
        done = program(command, suite.path, cwd=tmp_path)
        assert (done.code, done.out) == (3, ""), (command, done)
        assert "releasecheck.yaml" in done.err
    assert not answers.asked


def test_3__variables_before_the_first_call(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """B29, B125: unset and empty are two messages; a plan needs neither."""
    suite = http_suite(tmp_path, answers, 1, target={"headers": {"x": "${RC_E2E_KEY}"}})
    unset = program("run", suite.path, cwd=tmp_path)
    empty = program("run", suite.path, cwd=tmp_path, env={"RC_E2E_KEY": ""})
    fork = program("run", suite.path, cwd=tmp_path, env={"GITHUB_EVENT_NAME": "pull_request"})
    assert (unset.code, empty.code, fork.code) == (3, 3, 3)
    assert "RC_E2E_KEY is not set" in unset.err
    assert "RC_E2E_KEY is set but empty" in empty.err
    assert "secrets are not available" in fork.err
    assert program("validate", suite.path, cwd=tmp_path).code == 0
    assert program("validate", suite.path, "--check-env", cwd=tmp_path).code == 3
    assert program("plan", suite.path, cwd=tmp_path).code == 0
    shard = ("shard", "--plan", "plan", "--index", "0")
    assert program(*shard, cwd=tmp_path).code == 3
    assert not answers.asked
    assert program(*shard, cwd=tmp_path, env={"RC_E2E_KEY": "some-value"}).code == 0


def test_3__irreversible_target_needs_a_name(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """S2-59: refused before the first call; who approved is in the manifest."""
    suite = http_suite(tmp_path, answers, 1, target={"side_effects": "irreversible"})
    for words in ((), ("--approved-by", " ")):
        assert program("run", suite.path, *words, cwd=tmp_path).code == 3
    assert program("plan", suite.path, cwd=tmp_path).code == 0
    assert program("shard", "--plan", "plan", "--index", "0", cwd=tmp_path).code == 3
    assert not answers.asked
    done = program("run", suite.path, "--approved-by", "Ann", cwd=tmp_path)
    assert done.code == 0, done
    assert document(suite.out / "manifest.json")["approved_by"] == "Ann"


def test_3__folders_that_hold_something_else(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """An open run is never replaced, a finished one is, and of other people's files none is lost."""
    suite = http_suite(tmp_path, answers, 2)
    answers.status = {"q1": 503}
    assert program("run", suite.path, cwd=tmp_path).code == 2
    before = (suite.out / "manifest.json").read_bytes()
    refused = program("run", suite.path, cwd=tmp_path)
    assert refused.code == 3, refused
    assert "releasecheck resume out" in refused.err
    assert (suite.out / "manifest.json").read_bytes() == before
    answers.status = {}
    assert program("resume", "out", cwd=tmp_path).code == 0
    first = scorecard(suite.out)["run_id"]
    assert program("run", suite.path, cwd=tmp_path).code == 0
    assert scorecard(suite.out)["run_id"] != first
    assert program("plan", suite.path, cwd=tmp_path).code == 0
    assert program("plan", suite.path, cwd=tmp_path).code == 3
    assert program("shard", "--plan", "plan", "--index", "0", cwd=tmp_path).code == 0
    finish = ("finish", "--plan", "plan", "--results", "results")
    other_run = program(*finish, cwd=tmp_path)
    assert other_run.code == 3, other_run
    assert "holds another run" in other_run.err
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    for command in (finish, ("run", suite.path)):
        foreign = program(*command, "--out", "mine", cwd=tmp_path)
        assert foreign.code == 3, foreign
        assert "thesis.txt" in foreign.err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]
    (suite.out / "thesis.txt").write_text("years of work")
    beside = program("run", suite.path, cwd=tmp_path)
    assert beside.code == 3, beside
    assert (suite.out / "thesis.txt").exists()
    assert not (suite.out / "failure.json").exists()


def test_3__two_processes_on_one_bundle(tmp_path: Path, program: Program, answers: Answers) -> None:
    """One works, all others are refused at once; when it dies, its lock dies with it."""
    answers.hold_after = 1
    suite = http_suite(tmp_path, answers, 3)
    both = [program.start("run", suite.path, cwd=tmp_path) for _ in range(2)]
    answers.wait_asked(2)
    refused = program.first_to_end(both)
    assert refused.wait().code == 3
    (running,) = (found for found in both if found is not refused)
    assert program("run", suite.path, cwd=tmp_path).code == 3
    done = program("resume", "out", cwd=tmp_path)
    assert done.code == 3, done
    assert "another process is at work" in done.err
    assert program("status", "out", "--json", cwd=tmp_path).json()["state"] == "running"
    assert len(answers.asked) == 2
    running.signal(signal.SIGKILL)
    running.wait()
    answers.open.set()
    assert program("resume", "out", cwd=tmp_path).code == 0


def test_4__target_that_does_not_start(tmp_path: Path, program: Program, answers: Answers) -> None:
    """S2-46, S2-60: no verdict, a structured reason, and a run that goes on once it is repaired."""
    serve = "import pathlib, sys; sys.exit(0 if pathlib.Path('ready').exists() else 'no database')"
    start = {"run": [sys.executable, "-c", serve], "timeout": "10s"}
    suite = http_suite(tmp_path, answers, 1, target={"start": start})
    done = program("run", suite.path, cwd=tmp_path)
    assert (done.code, done.out) == (4, ""), done
    assert "no database" in done.err
    failure = document(suite.out / "failure.json")
    assert (failure["class"], failure["stage"], failure["exit_code"]) == ("infra", "target", 4)
    assert failure["plan_digest"] == document(suite.out / "plan" / "plan.json")["plan_digest"]
    assert not (suite.out / "scorecard.json").exists()
    assert program("verify", "out", cwd=tmp_path).code == 4


def test_4__records_that_cannot_be_trusted(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """Edited plan, edited records, a stranger's records, two versions of one attempt."""
    suite = http_suite(tmp_path, answers, 2)
    for name in ("plan", "other"):
        assert program("plan", suite.path, "--out", name, cwd=tmp_path).code == 0
        shard = ("shard", "--plan", name, "--index", "0", "--out", f"results-{name}")
        assert program(*shard, cwd=tmp_path).code == 0

    def finish(*results: str) -> Done:
        words = [word for folder in results for word in ("--results", folder)]
        return program("finish", "--plan", "plan", *words, cwd=tmp_path)

    stranger = finish("results-plan", "results-other")
    assert stranger.code == 4, stranger
    assert "belongs to another run" in stranger.err
    assert document(suite.out / "failure.json")["code"] == "foreign_record"
    assert finish("results-plan").code == 0
    assert not (suite.out / "failure.json").exists()
    again = tmp_path / "again"
    again.mkdir()
    name = "shard-0000.attempt-1.jsonl"
    whole = (tmp_path / "results-plan" / name).read_bytes()
    (again / name).write_bytes(whole[: whole.rstrip().rfind(b"\n") + 1])
    twice = finish("results-plan", "again")
    assert twice.code == 4, twice
    edit_lines(tmp_path / "results-plan" / name, lambda row: row.update(at="2020"))
    edited = program(
        "finish", "--plan", "plan", "--results", "results-plan", "--out", "o", cwd=tmp_path
    )
    assert edited.code == 4, edited
    edit(tmp_path / "plan" / "plan.json", lambda plan: plan["gates"][0].update(min=0.1))
    finish_words = ("finish", "--plan", "plan", "--results", "again")
    for command in (("shard", "--plan", "plan", "--index", "0"), finish_words):
        assert program(*command, cwd=tmp_path).code == 4


def test_130__outranks_everything(tmp_path: Path, program: Program, answers: Answers) -> None:
    """Interrupted while another reason to stop stands already; nothing on stdout."""

    def reply(asked: Asked) -> tuple[int, Any]:
        if asked.question == "q0":
            time.sleep(0.5)  # longer than the budget, so nothing is begun after it
        else:
            answers.open.wait(30)
        return 200, {"answer": asked.question.upper()}

    answers.reply = reply
    suite = http_suite(tmp_path, answers, 3, batch=1, target={"concurrency": 2})
    running = program.start("run", suite.path, "--time-budget", "300ms", cwd=tmp_path)
    answers.wait_asked(2)
    while not recorded(suite.out):
        time.sleep(0.02)
    time.sleep(0.2)
    running.signal(signal.SIGTERM)
    done = running.wait()
    assert (done.code, done.out) == (130, ""), done
    assert len(answers.asked) == 2
    answers.open.set()
    assert program("resume", "out", cwd=tmp_path).code == 0


def test_shard__says_whether_a_re_run_has_something_to_do(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """2 for a retryable failure, 0 for one that no re-run mends: the verdict is not a shard's."""
    suite = http_suite(tmp_path, answers, 2)
    assert program("plan", suite.path, cwd=tmp_path).code == 0
    shard = ("shard", "--plan", "plan", "--index", "0", "--json")
    answers.status = {"q0": 400, "q1": 503}
    first = program(*shard, cwd=tmp_path)
    assert (first.code, first.json()["open_pairs"], first.json()["target_failures"]) == (2, 1, 2)
    answers.status = {"q0": 400}
    second = program(*shard, cwd=tmp_path)
    assert (second.code, second.json()["open_pairs"]) == (0, 0), second
    assert answers.counts() == {"c0#t0": 1, "c1#t0": 2}


def test_json__is_one_document_whatever_the_code(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    answers.wrong = {"q0", "q1"}
    suite = http_suite(tmp_path, answers, 2, baseline={"on_missing": "bootstrap"})
    commands: list[tuple[list[str | Path], int]] = [
        (["validate", suite.path], 0),
        (["plan", suite.path, "--shards", "1"], 0),
        (["shard", "--plan", "plan", "--index", "0"], 0),
        (["finish", "--plan", "plan", "--results", "results", "--out", "finished"], 1),
        (["run", suite.path], 1),
        (["resume", "out"], 1),
        (["status", "out"], 0),
        (["verify", "out"], 0),
        (["compare", "finished", "out"], 0),
        (["baseline", "show", suite.path], 0),
        (["schema", "plan"], 0),
    ]
    for command, code in commands:
        words = command if command[0] == "schema" else [*command, "--json"]
        done = program(*words, cwd=tmp_path)
        assert done.code == code, (command, done)
        assert isinstance(done.json(), dict), command
    assert json.loads((suite.out / "scorecard.json").read_bytes()) == scorecard(suite.out)


def test_final__closes_what_is_open(tmp_path: Path, program: Program, answers: Answers) -> None:
    """`--final` and the end of a run's time decide for good, and still never call it a pass."""
    answers.status = {"q1": 503}
    suite = http_suite(tmp_path, answers, 3, expires="1s")
    closed = program("run", suite.path, "--final", "--out", "closed", cwd=tmp_path)
    assert (closed.code, outcomes(tmp_path / "closed")) == (2, {"quality": "blocked_missing"})
    assert document(tmp_path / "closed" / "manifest.json")["finalized_at"]
    assert scorecard(tmp_path / "closed")["status"] == "completed"
    program("run", suite.path, cwd=tmp_path)
    time.sleep(1.1)
    asked = len(answers.asked)
    answers.status = {}
    expired = program("resume", "out", cwd=tmp_path)
    assert expired.code == 2, expired
    assert scorecard(suite.out)["status"] == "expired"
    assert len(answers.asked) == asked
    for out in ("closed", "out"):
        assert program("verify", out, cwd=tmp_path).code == 0
    assert [row["scores"]["exact"]["state"] for row in lines(suite.out / "results.jsonl")] == [
        "scored", "failed", "scored",
    ]  # fmt: skip


def test_lost_output__is_no_success(tmp_path: Path, answers: Answers) -> None:
    """A real process of its own: who asked for a report and cannot get it is told by the code."""
    suite = http_suite(tmp_path, answers, 1)
    command = [sys.executable, "-m", "releasecheck", "run", str(suite.path)]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command, cwd=tmp_path, env=environment(), stdout=full, stderr=subprocess.PIPE, check=False

        )  # fmt: skip
    assert done.returncode == 4, done.stderr
    assert scorecard(suite.out)["verdict"] == "pass"


def test_run__an_open_run_is_never_green(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """S1-51: a score that no gate reads can still be had: provisional, exit 2 (contract section 4, Finality)."""
    slow = {
        "id": "slow",
        "type": "command",
        "run": [sys.executable, "-c", "import time; time.sleep(60)"],
    }
    suite = http_suite(
        tmp_path,
        answers,
        2,
        judges=[{"id": "exact", "type": "exact"}, {**slow, "timeout": "300ms"}],
        gates=[{"id": "quality", "metric": "exact", "min": 0.5}],
    )
    done = program("run", suite.path, "--out", suite.out, cwd=tmp_path)
    assert done.code == 2, done
    card = scorecard(suite.out)
    assert (card["verdict"], card["status"]) == ("blocked_missing", "running")
    assert outcomes(suite.out) == {"quality": "pass"}
    assert document(suite.out / "manifest.json")["finalized_at"] is None
    assert program("verify", suite.out, cwd=tmp_path).code == 0
    closed = program("resume", suite.out, "--final", "--time-budget", "1ms", cwd=tmp_path)
    assert closed.code == 0, closed
