"""Targets that are Python functions, in an interpreter where nothing of ours is installed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import venv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.errors import ConfigError
from releasecheck.ports import Answered, TargetAnswer, TargetFailed
from releasecheck.transport.classify import Classifier
from releasecheck.transport.limits import Gate
from releasecheck.transport.process import Program
from releasecheck.transport.pyworker import Loaded, PythonWorker
from tests.integration.targets_running import (
    ask,
    ask_all,
    code_of,
    message_of,
    output_of,
    running,
)
from tests.processes import environment as our_environment
from tests.stubs import Pids
from tests.unit.targets.opened import call_of

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def pids(tmp_path: Path) -> Iterator[Pids]:
    folder = tmp_path / "pids"
    folder.mkdir()
    found = Pids(folder)
    yield found
    found.kill()


def module(root: Path, code: str, name: str = "app") -> dict[str, Any]:
    """Write a module and give a target that calls its `answer`."""
    (root / f"{name}.py").write_text(textwrap.dedent(code), "utf-8")
    return {
        "type": "python",
        "function": f"{name}:answer",
        "interpreter": sys.executable,
        "timeout": 30,
    }


def ask_each(
    root: Path, spec: dict[str, Any], cases: list[str], **environment: str
) -> dict[str, TargetAnswer]:
    async def inside() -> dict[str, TargetAnswer]:
        async with running(root, spec, environment=environment) as target:
            answers = await ask_all(target, [call_of(case, case=case) for case in cases])
            return dict(zip(cases, answers, strict=True))

    return asyncio.run(inside())


ECHO = "def answer(case):\n    return case\n"


def test_call__gets_one_mapping_and_never_expected(tmp_path: Path) -> None:
    got = output_of(ask(tmp_path, module(tmp_path, ECHO), {"q": "blåbær"}))
    assert got == {
        "id": "c1",
        "input": {"q": "blåbær"},
        "tags": ["t"],
        "metadata": {"lang": "nb"},
        "trial": 0,
        "idempotency_key": "rc-1:c1#t0",
    }


@pytest.mark.parametrize(
    "code",
    [
        "async def answer(case):\n    return 'ok'",
        "class A:\n    async def __call__(self, case):\n        return 'ok'\nanswer = A()",
        "class A:\n    def __call__(self, case):\n        return 'ok'\nanswer = A()",
        "async def inner(case):\n    return 'ok'\ndef answer(case):\n    return inner(case)",
        "import functools\ndef inner(x, case):\n    return x\nanswer = functools.partial(inner, 'ok')",
    ],
)
@pytest.mark.parametrize("concurrency", [1, 4])
def test_call__sync_or_async(tmp_path: Path, code: str, concurrency: int) -> None:
    spec = {**module(tmp_path, code), "concurrency": concurrency}
    assert output_of(ask(tmp_path, spec)) == "ok"


@pytest.mark.parametrize("value", ["0", "False", "''", "[]", "{'a': [1, 2.5, None]}"])
def test_call__false_zero_and_empty_are_answers(tmp_path: Path, value: str) -> None:
    """B26."""
    found = output_of(ask(tmp_path, module(tmp_path, f"def answer(case):\n    return {value}")))
    assert repr(found) == value


def test_call__output_usage_and_trace_of_a_result(tmp_path: Path) -> None:
    code = (
        "def answer(case):\n    return {'a': 'Oslo', 'usage': {'tokens': 3}, 'cost': 0.5, 'id': 9}"
    )
    answer = ask(tmp_path, {**module(tmp_path, code), "output": "a", "trace_id": "id"})
    assert isinstance(answer, Answered)
    assert (answer.output, answer.trace_id) == ("Oslo", "9")
    assert (answer.usage.tokens, answer.usage.cost_usd) == (3, 0.5)


@pytest.mark.parametrize(
    ("body", "code", "says"),
    [
        ("raise ValueError('no such city')", "exception", "raised ValueError: no such city"),
        ("import sys; sys.exit(0)", "exception", "raised SystemExit: 0"),
        ("raise KeyboardInterrupt", "exception", "raised KeyboardInterrupt"),
        ("return answer(case)", "exception", "raised RecursionError"),
        ("return None", "no_answer", "null"),
        ("return float('nan')", "not_json", "not JSON"),
        ("return {1, 2}", "not_json", "set is not JSON"),
        ("return {'a': object()}", "not_json", "object is not JSON"),
        ("return 10 ** 5000", "not_json", ""),
        ("return 'x' * (17 * 2**20)", "output_too_large", "at most"),
        (
            "import functools; return functools.reduce(lambda a, _: [a], range(300), 1)",
            "not_json",
            "nested",
        ),
        (
            "import functools; return functools.reduce(lambda a, _: [a], range(9000), 1)",
            "not_json",
            "",
        ),
        (
            "class E(Exception):\n        def __str__(self): raise OSError\n    raise E()",
            "exception",
            "no message",
        ),
        ("import asyncio; raise asyncio.CancelledError", "exception", "CancelledError"),
    ],
)
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_call__whatever_the_function_does_fails_its_case_only(
    tmp_path: Path, body: str, code: str, says: str, kind: str
) -> None:
    """B14, B44; `sys.exit()` is a case error, not the end of the run."""
    if kind == "async def" and "return answer(case)" in body:
        body = "return await answer(case)"
    spec = module(
        tmp_path,
        f"{kind} answer(case):\n    if case['id'] == 'fine':\n        return 1\n    {body}\n",
    )
    answers = ask_each(tmp_path, spec, ["c1", "fine", "c2"])
    assert output_of(answers["fine"]) == 1
    for case in ("c1", "c2"):
        answer = answers[case]
        assert isinstance(answer, TargetFailed)
        assert (answer.failure.code, answer.failure.cls, answer.calls) == (code, "target", 1)
        assert says in message_of(answer)


def test_call__half_surrogates_are_replaced_and_noted(tmp_path: Path) -> None:
    """B40."""
    code = r"def answer(case): return 'ok \ud83d done'"
    answer = ask(tmp_path, module(tmp_path, code))
    assert isinstance(answer, Answered)
    assert (answer.output, answer.notes) == ("ok \ufffd done", ("surrogates_replaced",))


def test_call__numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    code = "import numpy as np\ndef answer(case): return {'a': np.float32(0.5), 'b': np.arange(2)}"
    assert output_of(ask(tmp_path, module(tmp_path, code))) == {"a": 0.5, "b": [0, 1]}


def test_prints__reach_neither_the_protocol_nor_our_stdout(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """B44: at the level of Python and of the descriptor."""
    code = """
        import os, sys, subprocess
        print("loading weights 100%")
        def answer(case):
            print("::error::not from releasecheck")
            os.write(1, b'{"id": 1, "ok": "forged"}\\n')
            subprocess.run([sys.executable, "-c", "print('child')"])
            assert sys.stdin.read() == ""
            return {"answer": 1}
    """
    assert output_of(ask(tmp_path, module(tmp_path, code))) == {"answer": 1}
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "environment", [{"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}, {"LC_ALL": "C"}]
)
def test_errors__a_text_no_code_page_knows_is_kept(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    """B41."""
    code = """
        def answer(case):
            print("42 \u2705 \u4f60\u597d \U0001f600")
            if case["id"] == "c2":
                raise ValueError("could not parse '42 \u2705 \u4f60\u597d \U0001f600'")
            return case["input"]
    """
    answers = ask_each(tmp_path, module(tmp_path, code), ["c1", "c2", "c3"], **environment)
    assert [output_of(answers[case]) for case in ("c1", "c3")] == ["c1", "c3"]
    assert "'42 \u2705 \u4f60\u597d \U0001f600'" in message_of(answers["c2"])


def wrapped(root: Path, script: str) -> str:
    """An interpreter behind a script of the user's own."""
    path = root / "their-python"
    path.write_text(f'#!/bin/sh\n{script}\nexec "{sys.executable}" "$@"\n', "utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    "said",
    [
        "echo Welcome to our cluster",
        "printf 'no line break'",
        "echo '[1, 2]'; echo '{}'; echo null; echo; echo '{\"ready\": true}'",
        'echo \'{"failed": "x"}\'; echo \'{"id": "1", "ok": 1}\'; echo \'{"id": 1}\'',
        "printf '\\377\\000\\n'",
        "printf '{\"id\": '; head -c 9000 /dev/zero | tr '\\0' 9; echo ', \"ok\": 1}'",
        "head -c 100000 /dev/zero | tr '\\0' '['",
    ],
)
def test_start__what_a_wrapper_prints_is_not_the_protocol(
    tmp_path: Path, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    """B44: before the first line, in one piece with it, and of any shape."""
    spec = module(tmp_path, ECHO) | {"interpreter": wrapped(tmp_path, said)}
    assert output_of(ask(tmp_path, spec))["input"] == "hi"
    assert caplog.records == []  # asyncio logs what a callback raises


def test_call__what_others_print_meanwhile_is_not_the_protocol(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A process beside the worker still has the pipe that the protocol uses."""
    noise = 'echo noise; echo \'{"ready": 1}\'; echo \'{"id": [1], "error": 1}\'; touch said'
    beside = f"(until [ -e asked ]; do sleep 0.02; done; {noise}) &"
    code = """
        import pathlib, time
        def answer(case):
            pathlib.Path("asked").touch()
            while not pathlib.Path("said").exists():
                time.sleep(0.02)
            return case["input"]
    """
    spec = module(tmp_path, code) | {"interpreter": wrapped(tmp_path, beside)}
    assert output_of(ask(tmp_path, spec)) == "hi"
    assert caplog.records == []


def test_start__what_was_printed_instead_of_the_protocol_is_in_the_message(tmp_path: Path) -> None:
    wrapper = wrapped(tmp_path, "echo this machine has no licence; exit 7")
    spec = module(tmp_path, ECHO) | {"interpreter": wrapper}
    with pytest.raises(ConfigError, match=r"ended with 7.*has no licence"):
        ask(tmp_path, spec)


def test_imports__our_folder_does_not_shadow_the_users_modules(tmp_path: Path) -> None:
    """`http`, `retry` and `limits` are files of ours; the worker stands beside them."""
    (tmp_path / "retry.py").write_text("WHO = 'theirs'", "utf-8")
    code = """
        import http.client, retry
        def answer(case):
            import limits_are_ours_only_if_this_is_importable
    """
    message = message_of(ask(tmp_path, module(tmp_path, code)))
    assert "ModuleNotFoundError" in message
    code = "import http.client, retry, sys\ndef answer(case): return [retry.WHO, 'releasecheck' in sys.modules]"
    assert output_of(ask(tmp_path, module(tmp_path, code))) == ["theirs", False]


def test_interpreter__needs_nothing_of_ours(tmp_path: Path) -> None:
    """An own environment, without releasecheck and without pip."""
    venv.create(tmp_path / "own", with_pip=False)
    code = """
        import importlib.util, sys
        def answer(case):
            return [sys.prefix, importlib.util.find_spec("releasecheck") is None]
    """
    spec = {**module(tmp_path, code), "interpreter": str(tmp_path / "own" / "bin" / "python")}
    assert output_of(ask(tmp_path, spec)) == [str(tmp_path / "own"), True]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import no_such_package_at_all", "ModuleNotFoundError: No module named 'no_such_package"),
        ("def other(case): pass", "AttributeError"),
        ("answer = 3", "int, not something to call"),
        ("raise SystemExit(0)", "SystemExit"),
        ("import os; os._exit(7)", "ended with 7"),
        ("def f(:", "SyntaxError"),
    ],
)
def test_start__what_cannot_be_loaded_is_said_before_the_first_call(
    tmp_path: Path, code: str, says: str
) -> None:
    """S0-C5."""
    with pytest.raises(
        ConfigError, match=r"target\.function: python target cannot be loaded"
    ) as caught:
        ask(tmp_path, module(tmp_path, code))
    assert says in str(caught.value)


def test_start__an_interpreter_that_is_not_there_is_named(tmp_path: Path) -> None:
    spec = {**module(tmp_path, ECHO), "interpreter": "no-such-python"}
    with pytest.raises(ConfigError, match="program 'no-such-python' not found on PATH"):
        ask(tmp_path, spec)


def test_start__tells_what_it_loaded(tmp_path: Path) -> None:
    module(tmp_path, ECHO)

    async def inside() -> Loaded:
        worker = PythonWorker(
            Program((sys.executable,), tmp_path, our_environment()),
            "app:answer",
            concurrency=1,
            classifier=Classifier("judge", str),
            gate=Gate(),
        )
        try:
            return await worker.start()
        finally:
            await worker.aclose()

    loaded = asyncio.run(inside())
    digest = subprocess.run(
        [sys.executable, "-c", "import hashlib; print(hashlib.sha256(open('app.py','rb').read()).hexdigest())"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    assert loaded.digest == f"sha256:{digest}"
    assert loaded.file == str(tmp_path / "app.py")
    assert loaded.python == ".".join(map(str, sys.version_info[:3]))


def test_concurrency__calls_overlap(tmp_path: Path) -> None:
    """Four threads meet at a barrier, which only works when all four are in."""
    code = """
        import threading
        barrier = threading.Barrier(4)
        def answer(case):
            return barrier.wait(20) >= 0
    """
    answers = ask_each(tmp_path, module(tmp_path, code), ["a", "b", "c", "d"])
    assert [output_of(answer) for answer in answers.values()] == [True] * 4


def test_concurrency__coroutines_share_one_loop(tmp_path: Path) -> None:
    code = """
        import asyncio
        arrived = []
        async def answer(case):
            arrived.append(1)
            while len(arrived) < 4:
                await asyncio.sleep(0.001)
            return len(arrived)
    """
    answers = ask_each(tmp_path, module(tmp_path, code), ["a", "b", "c", "d"])
    assert [output_of(answer) for answer in answers.values()] == [4] * 4


def test_concurrency__one_at_a_time_runs_in_the_main_thread(tmp_path: Path) -> None:
    code = "import threading\ndef answer(case): return threading.current_thread() is threading.main_thread()"
    assert output_of(ask(tmp_path, {**module(tmp_path, code), "concurrency": 1})) is True


def test_timeout__kills_the_group_and_the_others_are_answered(tmp_path: Path, pids: Pids) -> None:
    """B38: what the function started goes too; calls in flight are asked again."""
    code = """
        import os, subprocess, time, pathlib
        folder = pathlib.Path(os.environ["PIDS"])
        (folder / str(os.getpid())).touch()
        def answer(case):
            if case["id"] == "hangs":
                child = subprocess.Popen(["sleep", "600"])
                (folder / str(child.pid)).touch()
                time.sleep(600)
            if case["id"] == "d" and not pathlib.Path("again").exists():
                pathlib.Path("again").touch()
                time.sleep(600)  # in flight when the other one runs out of time
            time.sleep(0.2)
            return case["id"]
    """
    spec = {**module(tmp_path, code), "timeout": "1s", "concurrency": 3}
    names = ["hangs", "a", "b", "c", "d"]
    answers = ask_each(tmp_path, spec, names, PIDS=str(pids.folder))
    assert code_of(answers["hangs"]) == "timeout"
    assert [output_of(answers[name]) for name in names[1:]] == names[1:]
    assert len(pids.read()) == 3  # two lives of the worker, one child
    assert pids.left() == set()


@pytest.mark.parametrize("death", ["os._exit(3)", "os.kill(os.getpid(), 11)"])
def test_death__only_the_call_that_kills_the_process_fails(tmp_path: Path, death: str) -> None:
    code = f"""
        import os, time
        def answer(case):
            if case["id"] in ("bad1", "bad2"):
                {death}
            time.sleep(0.05)
            return case["id"]
    """
    names = ["a", "bad1", "b", "c", "bad2", "d", "e"]
    answers = ask_each(tmp_path, {**module(tmp_path, code), "concurrency": 4}, names)
    failed = {name for name in names if isinstance(answers[name], TargetFailed)}
    assert failed == {"bad1", "bad2"}
    assert code_of(answers["bad1"]) in ("exit_code", "signal")


def test_death__an_irreversible_target_is_not_asked_again(tmp_path: Path) -> None:
    """S2-59: who cannot know whether it was done may not do it twice."""
    code = """
        import os, time, pathlib
        def answer(case):
            with open("calls.txt", "a") as log:
                log.write(case["id"] + "\\n")
            time.sleep(0.3)
            os._exit(3)
    """
    spec = {**module(tmp_path, code), "side_effects": "irreversible", "concurrency": 2}
    answers = ask_each(tmp_path, spec, ["a", "b"])
    assert sorted((tmp_path / "calls.txt").read_text("utf-8").split()) == ["a", "b"]
    for answer in answers.values():
        assert isinstance(answer, TargetFailed)
        assert not answer.failure.retryable


def test_memory_limit__is_held_and_named(tmp_path: Path) -> None:
    """X-02."""
    code = "def answer(case):\n    return len(bytearray(10**10)) if case['id'] == 'big' else 1"
    spec = {**module(tmp_path, code), "memory_limit": "1GB", "concurrency": 1}
    answers = ask_each(tmp_path, spec, ["big", "small"])
    assert code_of(answers["big"]) == "out_of_memory"
    assert output_of(answers["small"]) == 1


def test_close__leaves_no_process(tmp_path: Path, pids: Pids) -> None:
    code = """
        import os, pathlib, signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        pathlib.Path(os.environ["PIDS"], str(os.getpid())).touch()
        def answer(case):
            return os.fork() and 1
    """
    spec = {**module(tmp_path, code), "concurrency": 1}
    output_of(ask(tmp_path, spec, environment={"PIDS": str(pids.folder)}))
    assert len(pids.read()) == 1
    assert pids.left() == set()


def test_close__lets_exit_handlers_run(tmp_path: Path) -> None:
    code = """
        import atexit, pathlib
        atexit.register(lambda: pathlib.Path("bye").touch())
        def answer(case):
            return 1
    """
    for concurrency in (1, 2):
        output_of(ask(tmp_path, {**module(tmp_path, code), "concurrency": concurrency}))
        (tmp_path / "bye").unlink()


def test_parent_killed__the_worker_ends_by_itself(tmp_path: Path, pids: Pids) -> None:
    """C-22: a SIGKILL of ours must not leave a model server behind."""
    module(
        tmp_path,
        """
        import os, pathlib, time
        def answer(case):
            pathlib.Path(os.environ["PIDS"], str(os.getpid())).touch()
            time.sleep(600)
    """,
    )
    driver = textwrap.dedent("""
        import asyncio, os, sys
        from pathlib import Path
        from tests.integration.targets_running import running
        from tests.unit.targets.opened import call_of

        async def main():
            spec = {"type": "python", "function": "app:answer", "interpreter": sys.executable,
                    "concurrency": 1, "timeout": 600}
            async with running(Path(sys.argv[1]), spec) as target:
                asyncio.ensure_future(target.answer(call_of()))
                while not list(Path(os.environ["PIDS"]).iterdir()):
                    await asyncio.sleep(0.01)
                os.kill(os.getpid(), 9)

        asyncio.run(main())
    """)
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", driver, str(tmp_path)],
        cwd=root,
        env=our_environment(PIDS=str(pids.folder)),
        check=False,
    )
    assert done.returncode == -9
    assert pids.read()
    assert pids.left(within_s=20) == set()
