"""Targets that are programs: how they end, what they print, what they leave behind."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.errors import ConfigError
from releasecheck.ports import Answered, TargetAnswer, TargetFailed
from tests.integration.targets_running import (
    ask,
    ask_all,
    code_of,
    message_of,
    output_of,
    running,
)
from tests.stubs import Pids
from tests.unit.targets.opened import call_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def python(code: str, **spec: Any) -> dict[str, Any]:
    """A command target that runs this Python."""
    return {"type": "command", "run": [sys.executable, "-c", code], "timeout": 30, **spec}


def shell(script: str, **spec: Any) -> dict[str, Any]:
    """A command target that runs this shell script; `$PIDS` is a folder for process numbers."""
    return {"type": "command", "run": ["sh", "-c", script], "timeout": 30, **spec}


@pytest.fixture
def pids(tmp_path: Path) -> Iterator[Pids]:
    folder = tmp_path / "pids"
    folder.mkdir()
    found = Pids(folder)
    yield found
    found.kill()


SLEEPER = "sh -c 'touch $PIDS/$$; exec sleep 600'"


def test_stdin__is_the_case_and_the_key_is_in_the_environment(tmp_path: Path) -> None:
    """S2-48; `expected` is not among what it gets."""
    code = (
        "import json, os, sys; case = json.load(sys.stdin); "
        "print(json.dumps([case, os.environ['RELEASECHECK_IDEMPOTENCY_KEY'], os.getcwd()]))"
    )
    case, key, folder = output_of(ask(tmp_path, python(code, format="json"), "blåbær \ud83d"))
    assert case == {
        "id": "c1",
        "input": "blåbær \ufffd",
        "tags": ["t"],
        "metadata": {"lang": "nb"},
        "trial": 0,
    }
    assert key == "rc-1:c1#t0"
    assert folder == str(tmp_path)


def test_environment__references_are_filled_and_never_go_through_a_shell(tmp_path: Path) -> None:
    code = "import os, sys; print(sys.argv[1], os.environ['OWN'])"
    spec = python(code, env={"OWN": "<${TOKEN}>"})
    spec["run"].append("${TOKEN}; echo pwned")
    found = output_of(ask(tmp_path, spec, secrets={"TOKEN": "secret-value"}))
    assert found == "secret-value; echo pwned <secret-value>"


@pytest.mark.parametrize(
    ("code", "output"),
    [
        ("print('two\\n')", "two\n"),  # one newline is lost, not all
        ("print('x', end='')", "x"),
        ("print('x', end='\\r\\n')", "x"),
        ("pass", ""),
        ("import sys; sys.stdout.buffer.write(b'caf\\xc3\\xa9')", "café"),
        ("import sys; sys.stdout.buffer.write(b'\\xef\\xbb\\xbfbom')", "bom"),
        ("import sys; print('fine'); print('warning', file=sys.stderr)", "fine"),
    ],
)
def test_text__is_stdout(tmp_path: Path, code: str, output: str) -> None:
    assert output_of(ask(tmp_path, python(code))) == output


def test_text__bytes_that_are_none_are_replaced_and_noted(tmp_path: Path) -> None:
    answer = ask(tmp_path, python("import sys; sys.stdout.buffer.write(b'a\\xff')"))
    assert isinstance(answer, Answered)
    assert (answer.output, answer.notes) == ("a\ufffd", ("bytes_replaced",))


def test_json__with_output_usage_and_trace(tmp_path: Path) -> None:
    code = 'print(\'{"a": {"b": "Oslo"}, "usage": {"total_tokens": 5}, "id": "t1"}\')'
    answer = ask(tmp_path, python(code, format="json", output="a.b", trace_id="id"))
    assert isinstance(answer, Answered)
    assert (answer.output, answer.usage.tokens, answer.trace_id) == ("Oslo", 5, "t1")


@pytest.mark.parametrize(
    ("code", "failed"),
    [
        ("print('partial'); raise SystemExit(3)", "exit_code"),  # B37
        ("raise ValueError('no')", "exit_code"),
        ("def f(:", "exit_code"),
        ("import os; os.kill(os.getpid(), 9)", "signal"),
        ("import os; print('x', flush=True); os.kill(os.getpid(), 15)", "signal"),
        ("import sys; print('only here', file=sys.stderr)", "only_stderr"),
        ("print('x' * (17 * 2**20))", "output_too_large"),
    ],
)
def test_failure__whatever_was_printed_is_no_answer(tmp_path: Path, code: str, failed: str) -> None:
    """B37."""
    answer = ask(tmp_path, python(code, retries=3))
    assert isinstance(answer, TargetFailed)
    assert (answer.failure.code, answer.failure.cls, answer.calls) == (failed, "target", 1)


def test_failure__shows_exit_code_and_the_end_of_stderr(tmp_path: Path) -> None:
    code = "import sys; print('noise ' * 9999, file=sys.stderr); raise SystemExit('at the end')"
    message = message_of(ask(tmp_path, python(code)))
    assert "exit code 1" in message
    assert message.endswith("at the end")


@pytest.mark.parametrize(
    "printed",
    [
        "",
        "null",
        "NaN",
        '{"a": Infinity}',
        "1e999",
        "[" * 20_000 + "]" * 20_000,
        '{"n":' + "9" * 5000 + "}",
        "{'a': 1}",
        '{"a": 1} {"a": 2}',
    ],
)
def test_json__what_is_not_strict_json_fails_this_case_only(tmp_path: Path, printed: str) -> None:
    """B13, B14 as target output."""
    (tmp_path / "out.txt").write_text(printed, "utf-8")
    spec = {"type": "command", "run": ["cat", "out.txt"], "format": "json"}
    expected = "no_answer" if printed in ("", "null") else "not_json"
    assert code_of(ask(tmp_path, spec)) == expected


def test_json__chatter_before_it_is_named(tmp_path: Path) -> None:
    """B44."""
    code = "print('loading weights 100%'); print('{\"answer\": 1}')"
    message = message_of(ask(tmp_path, python(code, format="json")))
    assert "'loading weights 100%' before the JSON" in message
    assert "print progress to stderr" in message


def test_json__half_surrogates_are_replaced_and_noted(tmp_path: Path) -> None:
    """B40."""
    code = 'print(r\'{"output": "ok \\ud83d done"}\')'
    answer = ask(tmp_path, python(code, format="json", output="output"))
    assert isinstance(answer, Answered)
    assert (answer.output, answer.notes) == ("ok \ufffd done", ("surrogates_replaced",))


@pytest.mark.parametrize(
    "environment", [{"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}, {"LC_ALL": "C"}]
)
def test_failure__a_message_no_code_page_knows_is_kept(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    """B41: reporting the error must not raise another one."""
    code = "import sys; sys.stderr.buffer.write('42 \u2705 \u4f60'.encode()); sys.exit(1)"
    assert "42 \u2705 \u4f60" in message_of(ask(tmp_path, python(code), environment=environment))


def test_timeout__kills_the_whole_group(tmp_path: Path, pids: Pids) -> None:
    """B38, first form: the shell's child would live on."""
    script = f"touch $PIDS/$$; {SLEEPER} & echo started; wait"
    spec = shell(script, timeout="500ms")
    answer = ask(tmp_path, spec, environment={"PIDS": str(pids.folder)})
    assert code_of(answer) == "timeout"
    assert isinstance(answer, TargetFailed)
    assert (answer.failure.retryable, answer.calls) == (True, 1)
    assert len(pids.read()) == 2
    assert pids.left() == set()


def test_timeout__a_child_that_ignores_term_is_killed(tmp_path: Path, pids: Pids) -> None:
    script = "trap '' TERM; touch $PIDS/$$; while :; do sleep 1; done"
    answer = ask(tmp_path, shell(script, timeout="300ms"), environment={"PIDS": str(pids.folder)})
    assert code_of(answer) == "timeout"
    assert pids.read()
    assert pids.left() == set()


def test_helper_left_behind__does_not_hold_up_the_answer_nor_outlive_it(
    tmp_path: Path, pids: Pids
) -> None:
    """B38, second form: the answer is complete, but somebody keeps stdout open."""
    script = f'echo done; ({SLEEPER}) & while [ -z "$(ls $PIDS)" ]; do :; done; exit 0'
    answer = ask(tmp_path, shell(script), environment={"PIDS": str(pids.folder)})
    assert output_of(answer) == "done"
    assert pids.read()
    assert pids.left() == set()


def test_helper_left_behind__with_its_own_streams_is_ended_too(tmp_path: Path, pids: Pids) -> None:
    quiet = f"({SLEEPER}) >/dev/null 2>&1 </dev/null &"
    script = f'{quiet} while [ -z "$(ls $PIDS)" ]; do :; done; echo done'
    assert output_of(ask(tmp_path, shell(script), environment={"PIDS": str(pids.folder)})) == "done"
    assert pids.read()
    assert pids.left() == set()


def test_endless_output__is_stopped_at_the_cap(tmp_path: Path, pids: Pids) -> None:
    answer = ask(
        tmp_path, shell("touch $PIDS/$$; exec yes"), environment={"PIDS": str(pids.folder)}
    )
    assert code_of(answer) == "output_too_large"
    assert pids.left() == set()


def test_cancelled__leaves_no_process(tmp_path: Path, pids: Pids) -> None:
    async def inside() -> None:
        environment = {"PIDS": str(pids.folder)}
        spec = shell(f"touch $PIDS/$$; {SLEEPER} & wait")
        async with running(tmp_path, spec, environment=environment) as target:
            call = asyncio.ensure_future(target.answer(call_of()))
            async with asyncio.timeout(10):
                while len(pids.read()) < 2:  # noqa: ASYNC110 - another process makes it true
                    await asyncio.sleep(0.01)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)

    asyncio.run(inside())
    assert pids.left() == set()


@pytest.mark.parametrize("steps", range(12))
def test_cancelled_while_it_starts__ends_and_leaves_no_process(
    steps: int, tmp_path: Path, pids: Pids
) -> None:
    """B38: at every moment between the call and the pipes."""

    async def inside() -> None:
        environment = {"PIDS": str(pids.folder)}
        async with running(
            tmp_path, shell(f"touch $PIDS/$$; {SLEEPER} & wait"), environment=environment
        ) as target:
            call = asyncio.ensure_future(target.answer(call_of()))
            for _ in range(steps):
                await asyncio.sleep(0)
            call.cancel()
            async with asyncio.timeout(20):
                await asyncio.gather(call, return_exceptions=True)

    asyncio.run(inside())
    assert pids.left() == set()


def test_stdin__that_nobody_reads_is_no_failure(tmp_path: Path) -> None:
    assert output_of(ask(tmp_path, python("print('ok')"), "x" * 2_000_000)) == "ok"


def test_memory_limit__is_held_and_named(tmp_path: Path) -> None:
    """X-02: out of memory is fatal as it is."""
    answer = ask(tmp_path, python("print(len(bytearray(2 * 10**9)))", memory_limit="256MB"))
    assert isinstance(answer, TargetFailed)
    assert (answer.failure.code, answer.failure.retryable) == ("out_of_memory", False)
    fine = ask(tmp_path, python("print(len(bytearray(10**7)))", memory_limit="1GB"))
    assert output_of(fine) == "10000000"


def test_program__relative_to_the_config_and_python_without_a_path(tmp_path: Path) -> None:
    script = tmp_path / "app.sh"
    script.write_text("#!/bin/sh\necho $1\n", "utf-8")
    script.chmod(0o755)
    assert output_of(ask(tmp_path, {"type": "command", "run": ["./app.sh", "here"]})) == "here"
    spec = {"type": "command", "run": ["python", "-c", "print('found')"]}
    empty = tmp_path / "empty"
    empty.mkdir()
    assert output_of(ask(tmp_path, spec, environment={"PATH": str(empty)})) == "found"


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (
            {"run": ["no-such-program-anywhere"]},
            r"target\.run: program 'no-such.*not found on PATH",
        ),
        ({"run": ["./missing.sh"]}, r"target\.run: program './missing\.sh' not found in"),
        ({"run": ["cat"], "output": "a"}, "add `format: json`"),
    ],
)
def test_open__what_cannot_work_is_said_before_the_first_call(
    tmp_path: Path, spec: dict[str, Any], says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        ask(tmp_path, {"type": "command", **spec})


def test_secrets__in_stderr_are_in_no_message(tmp_path: Path) -> None:
    code = "import os, sys; sys.exit('key is ' + os.environ['OWN'])"
    spec = python(code, env={"OWN": "${TOKEN}"})
    message = message_of(ask(tmp_path, spec, secrets={"TOKEN": "canary-value-1"}))
    assert message.endswith("key is [redacted:TOKEN]")


def test_many_at_once__each_gets_its_own_answer(tmp_path: Path) -> None:
    async def inside() -> list[TargetAnswer]:
        spec = {
            "type": "command",
            "run": ["cat"],
            "format": "json",
            "concurrency": 8,
            "output": "input",
        }
        async with running(tmp_path, spec) as target:
            return await ask_all(target, [call_of(n, case=f"c{n}") for n in range(24)])

    assert [output_of(answer) for answer in asyncio.run(inside())] == list(range(24))


def test_shell_words__are_arguments(tmp_path: Path) -> None:
    hostile = "$(touch pwned); `touch pwned`"
    spec = {"type": "command", "run": ["echo", hostile]}
    assert output_of(ask(tmp_path, spec)) == hostile
    assert not (tmp_path / "pwned").exists()
