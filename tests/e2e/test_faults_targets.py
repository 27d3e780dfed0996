"""Real-world faults of programs and functions under test, through the command line (B37 to B44).

B43 stands here with its chat API; the faults of HTTP itself are in `test_faults_http.py`. A command target
has no `shell:` of its own (it is an argument list, contract section 3): B38 names the shell in it. Of the
sinks of B40, SQLite comes with the job service.
"""

from __future__ import annotations

import subprocess
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.faulty import (
    EXACT,
    PYTHON,
    asks,
    calls,
    cli,
    command,
    decided,
    failure_of,
    not_measured,
    python,
    rows,
    served,
    state_of,
    suite_of,
)
from tests.e2e.suites import files_below, lines
from tests.processes import environment
from tests.stubs import Pids, Reply, Request, Stub, reply

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.program import Program

SAFE = {"id": "safe", "type": "contains", "value": "password", "negate": True}
ALL_SAFE = {"id": "all-safe", "metric": "safe", "require": "all"}
BROKEN = {
    "partial": ("print('partial'); raise SystemExit(3)", "exit_code", "exit code 3"),
    "syntax": ("def f(:", "exit_code", "SyntaxError"),
    "killed": ("print('x', flush=True); os.kill(os.getpid(), 9)", "signal", "SIGKILL"),
    "stderr": ("print('only here', file=sys.stderr)", "only_stderr", "only here"),
}


def test_b37__command_that_fails_is_no_answer(tmp_path: Path) -> None:
    """B37: the negated check is not evaluated on what was printed; code and stderr are shown."""
    suite = suite_of(
        tmp_path,
        [{"id": name, "input": name} for name in [*BROKEN, "fine"]],
        command(
            "codes = " + repr({name: code for name, (code, _, _) in BROKEN.items()}) + "\n"
            "exec(codes.get(case['id'], \"print('fine')\"))",
            retries=3,
        ),
        SAFE,
        gates=[ALL_SAFE],
    )
    done = cli("run", suite.path, cwd=tmp_path)
    card = not_measured(done, suite)
    for name, (_, code, says) in BROKEN.items():
        assert failure_of(suite.out, name) == ("target", code, False)
        row = rows(suite.out)[name]
        assert says in row["failure"]["message"]
        assert row["output"] is None
        assert state_of(suite.out, name, "safe") == ("failed", None)
        assert row["passed"].get("safe") is not True
        assert says in done.err or code == "exit_code"  # said at its first time, not at the end
    assert state_of(suite.out, "fine", "safe") == ("scored", 1.0)
    assert set(calls(suite.out).values()) == {1}  # a program that ends badly is not asked again
    assert card["counts"] | {"scored": 1, "failed": 4} == card["counts"]


def test_b37__counted_as_fail__still_names_the_failures(tmp_path: Path) -> None:
    """B37: a gate may count a failed call as the worst value; a negated judge has the same worst."""
    suite = suite_of(
        tmp_path,
        asks("x", "y"),
        command("print('fine')\nif case['id'] == 'c0': raise SystemExit(3)"),
        SAFE,
        gates=[ALL_SAFE | {"on_target_failure": "count_as_fail"}],
    )
    card = decided(cli("run", suite.path, cwd=tmp_path), suite, code=1)
    assert card["gates"][0]["value"] == 0.5
    assert card["counts"]["failed"] == 1
    assert "c0" in card["gates"][0]["reason"]


@pytest.fixture
def pids(tmp_path: Path) -> Iterator[Pids]:
    """Processes that note themselves in `$PIDS`."""
    folder = tmp_path / "pids"
    folder.mkdir()
    found = Pids(folder)
    yield found
    found.kill()


def shell(pids: Pids, script: str, **spec: Any) -> dict[str, Any]:
    """A target that is a shell script."""
    return {
        "type": "command", "run": ["sh", "-c", script], "env": {"PIDS": str(pids.folder)}, **spec
    }  # fmt: skip


SLEEPER = "sh -c 'touch $PIDS/$$; exec sleep 600'"


def test_b38__timeout_ends_the_whole_group(tmp_path: Path, pids: Pids) -> None:
    """B38: the shell's child would live on and hold the pipe."""
    script = f"touch $PIDS/$$; {SLEEPER} & echo started; wait"
    suite = suite_of(
        tmp_path / "suite", asks("x", "y"), shell(pids, script, timeout="700ms", retries=2)
    )
    not_measured(cli("run", suite.path, cwd=suite.folder), suite)
    for case in ("c0", "c1"):
        assert failure_of(suite.out, case) == ("target", "timeout", True)
    assert calls(suite.out) == {"c0": 1, "c1": 1}
    assert len(pids.read()) == 4
    assert pids.left() == set()


def test_b38__helper_with_our_pipe_in_hand_holds_up_nothing(tmp_path: Path, pids: Pids) -> None:
    """B38, second form: the answer is complete and the command exited 0."""
    script = f'echo done; ({SLEEPER}) & while [ -z "$(ls $PIDS)" ]; do :; done; exit 0'
    suite = suite_of(tmp_path / "suite", asks("x", expected="done"), shell(pids, script))
    decided(cli("run", suite.path, cwd=suite.folder), suite, code=0)
    assert pids.read()
    assert pids.left() == set()


HALF = "ok \\ud83d done \\udc00"
HALVES = {
    "command": f'print(r\'{{"output": "{HALF}"}}\')',
    "text": "sys.stdout.buffer.write(b'ok \\xed\\xa0\\xbd done \\xff')",
    "python": f"return {{'output': '{HALF}'}}",
    "http": "",
}


@pytest.mark.parametrize("kind", HALVES)
def test_b40__half_a_surrogate_pair(tmp_path: Path, kind: str) -> None:
    """B40: replaced on the way in and noted; every report takes it, and the bundle verifies."""

    async def script(_: Request) -> Reply:
        return reply(200, f'{{"output": "{HALF}"}}'.encode())

    with served(Stub(script)) as stub:
        target = {
            "command": command(HALVES["command"], format="json", output="output"),
            "text": command(HALVES["text"]),
            "python": python(tmp_path, HALVES["python"], output="output"),
            "http": {"type": "http", "url": stub.url, "output": "output"},
        }[kind]
        # An id and an expected text with a half as well: the dataset's door.
        suite = suite_of(tmp_path, asks("in \ud83d", expected="never \udc00"), target)
        card = decided(cli("run", suite.path, cwd=tmp_path), suite, code=1)
    assert card["gates"][0]["outcome"] == "block"
    row = rows(suite.out)["c0"]
    assert row["output"].startswith("ok \ufffd")
    (record,) = [r for r in lines(next((suite.out / "results").iterdir())) if r.get("notes")]
    assert set(record["notes"]) <= {"surrogates_replaced", "bytes_replaced"}
    for path in files_below(suite.out):
        text = path.read_bytes().decode("utf-8")  # every file is UTF-8
        assert path.name == "plan.json" or "\\ud83d" not in text.lower(), path
    ET.parse(suite.out / "junit.xml")  # noqa: S314 - our own
    assert cli("verify", suite.out, cwd=tmp_path).code == 0


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("python", {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}),
        ("command", {"LC_ALL": "C", "PYTHONUTF8": "0"}),
    ],
    ids=["function, code page", "program, C locale"],
)
def test_b41__an_error_no_code_page_knows(
    tmp_path: Path, kind: str, settings: dict[str, str]
) -> None:
    """B41: its cause is kept, the other cases are there, and reporting it never gives exit 0."""
    said = "could not parse '42 \\u2705 \\u4f60\\u597d \\U0001f600'"
    fails = f'if case["id"] == "c1":\n    raise ValueError("{said}")\n'
    target = (
        python(tmp_path, fails + 'return case["input"]')
        if kind == "python"
        else command(fails + 'print(case["input"])')
    )
    suite = suite_of(tmp_path, asks("x", "x", "x"), target)
    # A process of its own: the code page is chosen when the interpreter starts.
    done = subprocess.run(
        [PYTHON, "-m", "releasecheck", "run", str(suite.path)],
        cwd=tmp_path,
        env=environment(**settings),
        capture_output=True,
        check=False,
        timeout=50,
    )
    assert done.returncode == 2, done.stderr
    err = done.stderr.decode("utf-8")
    assert "Traceback" not in err.replace("stderr ends: Traceback", "")
    assert list(rows(suite.out)) == ["c0", "c1", "c2"]
    message = rows(suite.out)["c1"]["failure"]["message"]
    assert "could not parse '42" in message
    if kind == "python":
        assert "42 \u2705 \u4f60\u597d \U0001f600" in message
        assert "42 \u2705" in err
    assert failure_of(suite.out, "c1")[0] == "target"
    assert [state_of(suite.out, case, "exact") for case in ("c0", "c2")] == [("scored", 1.0)] * 2


CHAT: dict[str, tuple[Any, tuple[str, str, bool]]] = {
    "no choices": ({"choices": []}, ("target", "no_choices", False)),
    "filtered": (
        {"choices": [{"finish_reason": "content_filter", "message": None}]},
        ("outcome", "filtered", False),
    ),
    "cut": (
        {"choices": [{"finish_reason": "length", "message": {"content": ""}}]},
        ("outcome", "truncated", False),
    ),
    "cut in a sentence": (
        {"choices": [{"finish_reason": "length", "message": {"content": "The refund wind"}}]},
        ("outcome", "truncated", False),
    ),
    "refused": (
        {
            "choices": [
                {
                    "finish_reason": "stop",
                    "message": {"content": None, "refusal": "I can't help with that."},
                }
            ]
        },
        ("outcome", "refused", False),
    ),
    "tool": (
        {
            "choices": [
                {
                    "finish_reason": "tool_calls",
                    "message": {"content": None, "tool_calls": [{"id": "t1", "type": "function"}]},
                }
            ]
        },
        ("outcome", "tool_calls", False),
    ),
    "error": (
        {"error": {"message": "model overloaded", "type": "server_error", "code": None}},
        ("infra", "error_in_body", True),
    ),
    "null": (
        {"choices": [{"finish_reason": "stop", "message": {"content": None}}]},
        ("target", "no_answer", False),
    ),
    "page": (b"<html><body>502 from the proxy, status 200</body></html>", ("target", "not_json", False)),
}  # fmt: skip
PARTS = {"choices": [{"finish_reason": "stop", "message": {"content": [{"type": "text", "text": "parts"}]}}]}  # fmt: skip


def test_b43__status_200_without_an_answer(tmp_path: Path) -> None:
    """B43: each is named, none is an empty answer, and the negated check never sees one."""
    bodies = {name: body for name, (body, _) in CHAT.items()} | {"parts": PARTS}

    async def script(request: Request) -> Reply:
        assert request.line.startswith("POST /v1/chat/completions ")
        return reply(200, bodies[request.json()["messages"][0]["content"]])

    with served(Stub(script)) as stub:
        suite = suite_of(
            tmp_path,
            [{"id": name.replace(" ", "-"), "input": name} for name in bodies],
            {
                "type": "openai",
                "base_url": f"{stub.url}/v1",
                "model": "m",
                "messages": [{"role": "user", "content": "{{ input }}"}],
                "retries": 2,
            },
            SAFE,
            gates=[ALL_SAFE],
        )
        not_measured(cli("run", suite.path, cwd=tmp_path), suite)
        assert len(stub.requests) == len(bodies)  # a 2xx is not asked again
    for name, (_, failure) in CHAT.items():
        case = name.replace(" ", "-")
        assert failure_of(suite.out, case) == failure, name
        assert state_of(suite.out, case, "safe") == ("failed", None)
    assert rows(suite.out)["parts"]["output"] == "parts"
    assert state_of(suite.out, "parts", "safe") == ("scored", 1.0)


def test_b43__body_of_an_own_service_without_an_answer(tmp_path: Path) -> None:
    """B26, B43: false, 0 and an empty text are answers; null and nothing are none, whatever the judge."""
    bodies = {
        "false": b'{"output": false}', "zero": b'{"output": 0}', "empty": b'{"output": ""}',
        "null": b'{"output": null}', "absent": b"{}", "none": b"", "nan": b'{"output": NaN}',
        "deep": b'{"output": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    }  # fmt: skip

    async def script(request: Request) -> Reply:
        return reply(200, bodies[request.json()["input"]], {"content-type": "application/json"})

    with served(Stub(script)) as stub:
        suite = suite_of(
            tmp_path,
            [{"id": name, "input": name, "expected": 1} for name in bodies],
            {"type": "http", "url": stub.url, "output": "output"},
            EXACT | {"negate": True},
        )
        not_measured(cli("run", suite.path, cwd=tmp_path), suite)
    found = {
        name: row["failure"] and row["failure"]["code"] for name, row in rows(suite.out).items()
    }
    assert found == {
        "false": None, "zero": None, "empty": None, "null": "no_answer", "absent": "no_answer",
        "none": "no_answer", "nan": "not_json", "deep": "not_json",
    }  # fmt: skip


def test_b44__chatter_before_the_json_is_named(tmp_path: Path) -> None:
    """B44, a program: what preceded the JSON is said, and where it belongs."""
    chatty = "print('loading weights 100%')\n" * 2 + "print(json.dumps({'answer': 1}))"
    suite = suite_of(tmp_path, asks("x", expected=1), command(chatty, format="json"))
    not_measured(cli("run", suite.path, cwd=tmp_path), suite)
    assert failure_of(suite.out, "c0") == ("target", "not_json", False)
    message = rows(suite.out)["c0"]["failure"]["message"]
    assert "loading weights 100%" in message
    assert "stderr" in message


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_b44__prints_and_exits_of_a_function_stay_its_own(
    tmp_path: Path, program: Program, *, as_json: bool
) -> None:
    """B44, a function: its prints reach no stdout of ours, and `sys.exit(0)` is that case's failure."""
    body = (
        'print("loading weights 100%")\n'
        'print("::error::not from releasecheck")\n'
        'os.write(1, b"::warning::raw\\n")\n'
        'if case["id"] == "c1":\n    sys.exit(0)\n'
        'return {"answer": 1}'
    )
    suite = suite_of(
        tmp_path, asks("x", "y", "z", expected=1), python(tmp_path, body, output="answer")
    )
    options = ["--json"] if as_json else []
    done = program("run", suite.path, *options, cwd=tmp_path)
    not_measured(done, suite)
    assert "::" not in done.out
    assert "loading" not in done.out
    assert not any(line.startswith("::") for line in done.err.splitlines())
    if as_json:
        assert done.json()["verdict"] == "blocked_missing"
    assert failure_of(suite.out, "c1")[0] == "target"
    assert "SystemExit" in rows(suite.out)["c1"]["failure"]["message"]
    assert calls(suite.out) == {"c0": 1, "c1": 1, "c2": 1}
    assert [state_of(suite.out, case, "exact") for case in ("c0", "c2")] == [("scored", 1.0)] * 2


def test_b44__function_that_ends_its_process(tmp_path: Path) -> None:
    """B44, harder: `os._exit(0)` takes the worker along, not the run nor the other cases."""
    body = 'if case["id"] == "c1":\n    os._exit(0)\nreturn case["input"]'
    suite = suite_of(tmp_path, asks("x", "x", "x"), python(tmp_path, body))
    not_measured(cli("run", suite.path, cwd=tmp_path), suite)
    assert failure_of(suite.out, "c1")[0] == "target"
    assert [state_of(suite.out, case, "exact") for case in ("c0", "c2")] == [("scored", 1.0)] * 2
