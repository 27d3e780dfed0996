"""The scripts of the action by themselves: signals, and how a job ends."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acting import ROOT

SLOW = """\
#!{python} -I
import os, signal, sys, time
def end(number, frame):
    os.write(1, b"told %d\\n" % number)  # `print` may not be entered again, should the signal come within it
    sys.exit(130)
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
time.sleep(60)
"""


@pytest.fixture
def output(tmp_path: Path) -> Path:
    path = tmp_path / "output"
    path.touch()
    return path


# Windows has no such signals to send: a runner there ends the process, and what was flushed is uploaded.
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT or SIGTERM for another process")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_stage__a_cancelled_jobs_signal_reaches_the_program(
    tmp_path: Path, output: Path, sent: signal.Signals
) -> None:
    """The runner signals the outer shell alone; the program stops in order, and its code is kept (P-10, C-12)."""
    program = tmp_path / "python"
    program.write_text(SLOW.format(python=sys.executable), encoding="utf-8")
    program.chmod(0o755)
    with subprocess.Popen(
        ["bash", ROOT / "action/stage.sh"],
        env={
            **os.environ, "RC_VENV_PYTHON": str(program), "RC_STAGE": "shard",  # noqa: TID251
            "GITHUB_OUTPUT": str(output),
        },
        stdout=subprocess.PIPE, text=True, start_new_session=True,
    ) as bash:  # fmt: skip
        assert bash.stdout is not None
        assert bash.stdout.readline() == "ready\n"
        bash.send_signal(sent)
        assert bash.stdout.read() == f"told {signal.SIGTERM.value}\n"
    assert bash.returncode == 0
    assert output.read_text(encoding="utf-8") == "exit-code=130\n"


def end(output: Path, **given: str) -> tuple[int, str, str]:
    """Exit code, what was said, and the outputs."""
    done = subprocess.run(
        ["bash", ROOT / "action/end.sh"],
        env={"PATH": os.environ["PATH"], "GITHUB_OUTPUT": str(output), "RC_UPLOAD": "true", **given},  # noqa: TID251
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr, output.read_text(encoding="utf-8")


VERDICTS = ["pass", "bootstrap", "not_selected", "not_comparable", "blocked_missing", "block", ""]


@pytest.mark.parametrize("stage", ["plan", "shard", "finish", "publish", "beat"])
def test_end__green_and_blocked_need_their_verdict(output: Path, stage: str) -> None:
    """0 and 1 are believed beside a verdict that says so, and nowhere else (contract 2)."""
    for code, verdict in itertools.product(("", "0", "1", "2", "3", "4", "5", "130"), VERDICTS):
        found, _, _ = end(output, RC_STAGE=stage, RC_EXIT_CODE=code, RC_VERDICT=verdict)
        expected = int(code or "4")
        if code == "0" and stage == "finish":
            expected = 0 if verdict in ("pass", "bootstrap", "not_selected", "block") else 4
        if code == "1" and (stage, verdict) != ("finish", "block"):
            expected = 4
        assert found == expected, (code, verdict)


@pytest.mark.parametrize(
    ("first", "again", "name", "expected"),
    [
        ("success", "skipped", "plan-artifact=p\n", 0),
        ("failure", "success", "plan-artifact=p-u2\n", 0),
        ("failure", "failure", "", 4),
        ("", "", "", 4),
    ],
)
def test_end__tells_the_name_that_was_used(
    output: Path, first: str, again: str, name: str, expected: int
) -> None:
    """The producer's own name, with its second try; a lost upload is no success (C-09, P-06, trap 7)."""
    code, said, told = end(
        output, RC_STAGE="plan", RC_EXIT_CODE="0", RC_ARTIFACT="p", RC_UPLOADED=first,
        RC_UPLOADED_AGAIN=again,
    )  # fmt: skip
    assert (code, told) == (expected, name)
    assert ("could not be uploaded" in said) == (expected == 4)
