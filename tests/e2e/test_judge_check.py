"""`releasecheck judge check` as people call it: exit codes, the report, and the example judge."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.judgeserver import JudgeServer, answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.program import Program

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "judge-http"


@pytest.fixture
def example(tmp_path: Path) -> Iterator[str]:
    """Start the example judge as its README does, on a free port; gives its address."""
    started = subprocess.Popen(
        [sys.executable, "judge.py", "0"], cwd=EXAMPLE, stdout=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    yield started.stdout.readline().split()[-1]
    started.kill()
    started.wait()
    started.stdout.close()


def test_judge_check__the_example(program: Program, example: str, tmp_path: Path) -> None:
    """Issue 4 item 7: the judge in a page of code keeps all of it."""
    done = program("judge", "check", "--url", example, cwd=tmp_path)
    assert done.code == 0, done
    assert done.out.splitlines()[0] == f"{example} keeps evaluator@2: 11 probes held"
    assert done.err == ""
    suite = program(
        "judge", "check", "releasecheck.yaml", "words", cwd=EXAMPLE, env={"JUDGE_URL": example}
    )
    assert suite.code == 0, suite
    assert suite.out.splitlines()[0] == "words keeps evaluator@2: 11 probes held"


def test_run__the_example(program: Program, example: str, tmp_path: Path) -> None:
    """S1-02, S1-03: what its README says; every score is deferred, and waited for."""
    suite = tmp_path / "judge-http"
    shutil.copytree(EXAMPLE, suite, ignore=shutil.ignore_patterns("out", "__pycache__"))
    done = program("run", "releasecheck.yaml", cwd=suite, env={"JUDGE_URL": example})
    assert done.code == 0, done
    card = json.loads((suite / "out" / "scorecard.json").read_bytes())
    assert (card["verdict"], card["counts"]["scored"]) == ("pass", 5)


def test_judge_check__the_report(program: Program, tmp_path: Path) -> None:
    """The verdict comes first, no line is longer than 80 columns, and what to do is said."""
    with JudgeServer(after=None) as server:
        done = program("judge", "check", "--url", server.url, "--deadline", "1s", cwd=tmp_path)
    lines = done.out.splitlines()
    assert done.code == 2, done
    assert lines[0] == f"{server.url} breaks evaluator@2: 1 probe failed"
    assert lines[1].endswith("1 failed, 4 not applicable")
    assert max(map(len, lines)) <= 80
    (failed,) = [line for line in lines if line.startswith("FAILED")]
    assert failed.split()[1] == "collect"
    assert any(line.strip().startswith("do: Answer POST .../collect") for line in lines)


def test_judge_check__untrusted_words_draw_no_report(program: Program, tmp_path: Path) -> None:
    """A judge's words stay in their line, and are no command to a build system."""
    said = "x\n::error::owned\nFAILED   purge \x1b[31mred"
    with JudgeServer(after=0) as server:
        server.score = lambda _: {"state": "not-applicable", "reason": said}
        done = program("judge", "check", "--url", server.url, cwd=tmp_path)
    assert done.code == 0, done
    assert "\x1b" not in done.out
    starts = [line.split(" ")[0] for line in done.out.splitlines() if line]
    assert "FAILED" not in starts
    assert not any(start.startswith("::") for start in starts)


def test_judge_check__json(program: Program, tmp_path: Path) -> None:
    with JudgeServer(contract="evaluator@1") as server:
        done = program("judge", "check", "--url", server.url, "--json", cwd=tmp_path)
    assert done.code == 2, done
    report = done.json()
    assert (report["held"], report["reached"], report["exit_code"]) == (False, True, 2)
    assert [probe["name"] for probe in report["probes"]] == ["identity"]
    assert "it speaks evaluator@1, which is refused" in report["probes"][0]["found"]


def test_judge_check__headers(program: Program, tmp_path: Path) -> None:
    with JudgeServer(after=0) as server:
        server.score = lambda _: {
            "state": "not-applicable",
            "reason": "token-of-mine, plain-secret",
        }
        done = program(
            *("judge", "check", "--url", server.url),
            *("--header", "authorization: Bearer ${MINE}", "--header", "X-Key: plain-secret"),
            cwd=tmp_path,
            env={"MINE": "token-of-mine"},
        )
        assert server.headers[0]["authorization"] == "Bearer token-of-mine"
        assert server.headers[0]["x-key"] == "plain-secret"
    assert done.code == 0, done
    assert "plain-secret" not in done.out
    assert "token-of-mine" not in done.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "name a judge as CONFIG JUDGE_ID, or its address with --url"),
        (("r.yaml",), "name a judge as CONFIG JUDGE_ID"),
        (("r.yaml", "j", "--url", "http://h/"), "name a judge as CONFIG JUDGE_ID"),
        (("r.yaml", "j"), "r.yaml"),
        (("--url", "nowhere"), "'nowhere' is no http:// or https:// address"),
        (("--url", "http://h/", "--header", "abcdefgh-secret"), "--header needs 'NAME: VALUE'"),
        (("--url", "http://h/", "--header", "a: ${NO_SUCH}"), "NO_SUCH is not set"),
        (("--url", "http://h/", "--deadline", "0s"), "--deadline"),
        (("--url", "http://h/", "--samples", "51"), "51 is not in the range 1<=x<=50"),
    ],
)
def test_judge_check__usage(
    program: Program, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    done = program("judge", "check", *arguments, cwd=tmp_path)
    assert done.code == 3, done
    assert says in done.err
    assert "abcdefgh-secret" not in done.err
    assert done.out == ""


def test_judge_check__nobody_there(program: Program, tmp_path: Path) -> None:
    with JudgeServer() as server:
        pass
    done = program("judge", "check", "--url", server.url, cwd=tmp_path)
    assert done.code == 4, done
    assert "could not be reached" in done.out.splitlines()[0]


def test_judge_check__an_immediate_judge_that_breaks_it(program: Program, tmp_path: Path) -> None:
    with JudgeServer(after=0) as server:
        server.always["judge"] = answer({"score": {}})
        done = program("judge", "check", "--url", server.url, cwd=tmp_path)
    assert done.code == 2, done
    assert "neither `value` nor `state`" in " ".join(done.out.split())
