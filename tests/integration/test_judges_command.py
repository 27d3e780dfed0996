"""`command` judges with real processes (issue step 1, items 3 and 4; B38, B44, B55, B56)."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.judges import check_judge
from releasecheck.model.record import Usage
from releasecheck.model.score import JudgeFailed
from releasecheck.redact import NOTHING_SECRET, Redactor
from tests.processes import environment
from tests.unit.judges.builders import ask, opened, reason, said, spec_of

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.ports import Judged

ENVIRONMENT = environment()
SCRIPT = """
import json, os, subprocess, sys, time
asked = json.load(sys.stdin)
what, _, rest = asked["output"].partition(":")
if what == "say":
    print(rest)
elif what == "question":
    print(json.dumps({"value": 1, "reason": json.dumps(asked, sort_keys=True)}))
elif what == "exit":
    print(1)
    print("the model is not there, key", os.environ.get("KEY"), file=sys.stderr)
    sys.exit(int(rest))
elif what == "hang":
    subprocess.Popen([sys.executable, "child.py", rest])
    time.sleep(600)
elif what == "flood":
    sys.stdout.write("1" * 20_000_000)
"""
CHILD = """
import socket, sys, time
held = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
time.sleep(600)
"""


def judged(
    root: Path, output: Any, *, redactor: Redactor = NOTHING_SECRET, **settings: Any
) -> Judged:
    """One output, judged by the script."""
    (root / "judge.py").write_text(SCRIPT)
    spec = spec_of("command", **{"run": [sys.executable, "judge.py"]} | settings)
    surroundings = {**ENVIRONMENT, "SECRET": "k3y-that-nobody-may-see"}
    judge = opened(spec, root=root, environment=surroundings, redactor=redactor)

    async def run() -> Judged:
        try:
            return await judge.judge(ask(output, "{0} \\g<0>", metadata={"n": 0}))
        finally:
            await judge.aclose()

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("printed", "said_"),
    [
        ("1", 1.0),
        ("0", 0.0),
        ("false", 0.0),
        ('{"value": 0.25, "reason": "near", "usage": {"tokens": 3}}', 0.25),
        ('{"state": "not-applicable", "reason": "no code"}', "not-applicable"),
        ('{"state": "failed", "reason": "cut off at its length"}', "judge_failed"),  # B55
        ('{"state": "pending", "ticket": "t"}', "contract_violation"),
        ('{"reason": "fine"}', "contract_violation"),  # B56
        ('{"value": "8/10"}', "contract_violation"),  # B58
        ("9.2e124", "contract_violation"),  # B58
        ("NaN", "malformed"),  # B59
        ("", "malformed"),
        ("yes", "malformed"),
        ("Loading ...\n1", "malformed"),  # B44: nothing is guessed from chatter
    ],
)
def test_command__answers(tmp_path: Path, printed: str, said_: float | str) -> None:
    found = judged(tmp_path, "say:" + printed, scale=[0, 1])
    assert said(found.answer) == said_
    if said_ == 0.25:
        assert reason(found.answer) == "near"
        assert found.usage == Usage(3, None)


def test_command__question_on_stdin(tmp_path: Path) -> None:
    """B35, B40: what was answered goes in as data, whatever it looks like."""
    output = "question:{answer.__class__} \u2705 100% {"
    found = judged(tmp_path, output)
    assert json.loads(reason(found.answer)) == {
        "case": {
            "id": "c1",
            "input": "the question",
            "expected": "{0} \\g<0>",
            "metadata": {"n": 0},
        },
        "output": output,
        "trial": 0,
    }


def test_command__exit_code__fails_whatever_it_printed(tmp_path: Path) -> None:
    redactor = Redactor({"SECRET": "k3y-that-nobody-may-see"})
    found = judged(tmp_path, "exit:3", env={"KEY": "${SECRET}"}, redactor=redactor).answer
    assert isinstance(found, JudgeFailed)
    assert (found.failure.cls, found.failure.code) == ("judge", "exit_code")
    assert not found.failure.retryable
    assert "exit code 3" in reason(found)
    assert "key [redacted:SECRET]" in reason(found)


@pytest.mark.parametrize("printed", ["{}", '{{"value": "{}"}}', '{{"{}": 1}}'])
def test_command__secret_in_an_answer__leaves_no_half(tmp_path: Path, printed: str) -> None:
    """Messages quote the start of what was answered; the cut must not spare half a secret."""
    secret = "k3y-that-nobody-may-see"
    answered = printed.format("x" * 70 + secret)
    found = judged(tmp_path, "say:" + answered, redactor=Redactor({"SECRET": secret})).answer
    assert "k3y-" not in reason(found)


def test_command__negated__failure_stays(tmp_path: Path) -> None:
    """B32."""
    assert said(judged(tmp_path, "exit:1", negate=True).answer) == "exit_code"
    assert said(judged(tmp_path, "say:true", negate=True).answer) == 0.0


def test_command__time_out__ends_the_whole_group(tmp_path: Path) -> None:
    """B38: also what the judge has started."""
    (tmp_path / "child.py").write_text(CHILD)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)
        found = judged(tmp_path, f"hang:{server.getsockname()[1]}", timeout="3s").answer
        assert isinstance(found, JudgeFailed)
        assert (found.failure.code, found.failure.retryable) == ("timeout", True)
        held, _ = server.accept()
        with held:
            held.settimeout(20)
            # The connection ends with the child, not before; a process id would not tell.
            assert held.recv(1) == b""


def test_command__flood__fails(tmp_path: Path) -> None:
    assert said(judged(tmp_path, "flood:").answer) == "output_too_large"


def test_command__program_gone_since__fails(tmp_path: Path) -> None:
    found = judged(tmp_path, "say:1", run=["no-such-program"]).answer
    assert isinstance(found, JudgeFailed)
    assert (found.failure.cls, found.failure.code) == ("config", "program_not_found")


@pytest.mark.parametrize(
    ("run", "part"),
    [
        (["no-such-program"], "'no-such-program' not found on PATH"),
        (["./gone.sh"], "not found in"),
    ],
)
def test_check_judge__command_that_cannot_work(tmp_path: Path, run: list[str], part: str) -> None:
    """S0-C5."""
    (problem,) = check_judge(spec_of("command", run=run), tmp_path, ENVIRONMENT)
    assert part in problem.message
    assert problem.key == "run"


def test_check_judge__variable_not_set_here__is_left_to_the_run(tmp_path: Path) -> None:
    """A job that plans has no secrets; `shard` and `finish` check them before the first call."""
    assert check_judge(spec_of("command", run=["${NO_SUCH_NAME}"]), tmp_path, ENVIRONMENT) == []


def test_check_judge__command_that_works(tmp_path: Path) -> None:
    spec = spec_of("command", run=[sys.executable, "judge.py"])
    assert check_judge(spec, tmp_path, ENVIRONMENT) == []
