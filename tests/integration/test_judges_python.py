"""`python` judges with a real interpreter (issue step 1, items 3 and 4; B41, B44, B56, B59)."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.judges import check_judge
from releasecheck.model.record import Usage
from releasecheck.model.score import JudgeFailed, Scored
from releasecheck.redact import NOTHING_SECRET, Redactor
from tests.processes import environment
from tests.unit.judges.builders import ask, opened, reason, said, spec_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from releasecheck.model.failure import Failure
    from releasecheck.ports import Judge, Judged

MODULE = '''
import json, os, sys, time
from decimal import Decimal


def look(asked):
    """Does what the output says."""
    return DO[asked["output"]](asked)


def asked_back(asked):
    return {"value": 1, "reason": json.dumps(asked, sort_keys=True)}


def noise(asked):
    print("loading the model ...")
    sys.stdout.write('{"id": 1, "ok": 0}' + chr(10))
    os.write(1, b"straight to the descriptor" + bytes([10]))
    return 0.5


def secret(asked):
    raise RuntimeError("could not log in with " + os.environ["JUDGE_KEY"])


def foreign(asked):
    raise ValueError("could not parse '42 \\u2705 \\u4f60\\u597d \\U0001f600'")


def broken_message(asked):
    class Broken(Exception):
        def __str__(self):
            raise KeyError("x")
    raise Broken()


DO = {
    "number": lambda asked: 0.25,
    "zero": lambda asked: 0,
    "false": lambda asked: False,
    "score": lambda asked: {"value": 0.7, "reason": "close", "usage": {"tokens": 5, "cost_usd": 0.01}},
    "skip": lambda asked: {"state": "not-applicable", "reason": "no links here"},
    "give up": lambda asked: {"state": "failed", "reason": "no verdict"},
    "nothing": lambda asked: None,
    "words": lambda asked: "good",
    "other key": lambda asked: {"score": 1},
    "nan": lambda asked: float("nan"),
    "nan inside": lambda asked: {"value": float("inf")},
    "decimal": lambda asked: Decimal("0.5"),
    "off the scale": lambda asked: 3.85,
    "huge": lambda asked: 10 ** 400,
    "raise": lambda asked: 1 / 0,
    "leave": lambda asked: sys.exit(0),
    "die": lambda asked: os._exit(3),
    "hang": lambda asked: time.sleep(60),
    "question": asked_back,
    "noise": noise,
    "secret": secret,
    "foreign": foreign,
    "broken message": broken_message,
}


async def patient(asked):
    import asyncio
    await asyncio.sleep(0.01)
    return {"value": len(asked["output"])}


constant = 5
'''
ENVIRONMENT = environment()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "judges.py").write_text(MODULE, encoding="utf-8")
    return tmp_path


@asynccontextmanager
async def python_judge(
    root: Path,
    environment: dict[str, str] | None = None,
    redactor: Redactor = NOTHING_SECRET,
    **settings: Any,
) -> AsyncIterator[Judge]:
    spec = spec_of(
        "python", **{"function": "judges:look", "interpreter": sys.executable} | settings
    )
    judge = opened(
        spec, root=root, environment={**ENVIRONMENT, **(environment or {})}, redactor=redactor
    )
    try:
        yield judge
    finally:
        await judge.aclose()


def judge_all(root: Path, *outputs: Any, **settings: Any) -> list[Judged]:
    async def run() -> list[Judged]:
        async with python_judge(root, **settings) as judge:
            return await asyncio.gather(*(judge.judge(ask(output)) for output in outputs))

    return asyncio.run(run())


def failure_of(judged: Judged) -> Failure:
    assert isinstance(judged.answer, JudgeFailed), judged
    return judged.answer.failure


def test_python__answers(root: Path) -> None:
    outputs = ["number", "zero", "false", "score", "skip", "noise"]
    found = judge_all(root, *outputs)
    assert [said(judged.answer) for judged in found] == [
        0.25, 0.0, 0.0, 0.7, "not-applicable", 0.5,
    ]  # fmt: skip
    assert found[3].answer == Scored(0.7, "close")
    assert found[3].usage == Usage(5, 0.01)


@pytest.mark.parametrize(
    ("output", "code", "part"),
    [
        ("give up", "judge_failed", "no verdict"),
        ("nothing", "malformed", "null"),
        ("words", "malformed", "good"),
        ("other key", "contract_violation", "its keys: score"),
        ("off the scale", "contract_violation", "outside the scale 0 to 1"),
        ("nan", "not_json", "ValueError"),
        ("nan inside", "not_json", "ValueError"),
        ("decimal", "not_json", "Decimal"),
        ("huge", "malformed", "2^53"),
        ("raise", "exception", "ZeroDivisionError"),
        ("leave", "exception", "SystemExit"),
        ("broken message", "exception", "Broken"),
        ("foreign", "exception", "42 \u2705 \u4f60\u597d \U0001f600"),
        ("die", "exit_code", "exit code 3"),
    ],
)
def test_python__that_cannot_answer__fails(root: Path, output: str, code: str, part: str) -> None:
    """B41, B56, B58, B59: never 0, never a pass, and nothing that a second try would mend."""
    hostile = {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0", "LC_ALL": "C"}
    (judged,) = judge_all(root, output, scale=[0, 1], environment=hostile)
    found = failure_of(judged)
    assert (found.cls, found.stage, found.code, found.retryable) == ("judge", "judge", code, False)
    assert part in (found.message or "")


def test_python__failure__stays_one_when_negated(root: Path) -> None:
    """B32."""
    found = judge_all(root, "raise", "false", "number", negate=True)
    assert [said(judged.answer) for judged in found] == ["exception", 1.0, "contract_violation"]


def test_python__time_out__fails_its_own_pair_only(root: Path) -> None:
    found = judge_all(root, "number", "hang", "zero", timeout="1s", concurrency=2)
    assert [said(judged.answer) for judged in found] == [0.25, "timeout", 0.0]
    assert failure_of(found[1]).retryable
    assert "1 s" in reason(found[1].answer)


def test_python__crash__fails_its_own_pair_only(root: Path) -> None:
    found = judge_all(root, "number", "die", "zero", "score", concurrency=4)
    assert [said(judged.answer) for judged in found] == [0.25, "exit_code", 0.0, 0.7]


def test_python__is_asked_one_mapping(root: Path) -> None:
    """Contract section 3: `{case: {id, input, expected, metadata}, output, trial}`, nothing else."""

    async def run() -> Judged:
        async with python_judge(root) as judge:
            asked = ask("question", [1, "{0.__class__} \\1"], metadata={"a": None}, tags=("t",))
            return await judge.judge(asked)

    assert reason(asyncio.run(run()).answer) == (
        '{"case": {"expected": [1, "{0.__class__} \\\\1"], "id": "c1", "input": "the question", '
        '"metadata": {"a": null}}, "output": "question", "trial": 0}'
    )


def test_python__async(root: Path) -> None:
    outputs = ["x" * number for number in range(1, 20)]
    found = judge_all(root, *outputs, function="judges:patient", concurrency=8)
    assert [said(judged.answer) for judged in found] == [float(n) for n in range(1, 20)]


def test_python__input__is_the_output_it_sees(root: Path) -> None:
    (judged,) = judge_all(root, {"say": "number"}, input="say")
    assert said(judged.answer) == 0.25


def test_python__secrets__are_redacted(root: Path) -> None:
    key = "k3y-that-nobody-may-see"
    (judged,) = judge_all(
        root,
        "secret",
        env={"JUDGE_KEY": "${THE_KEY}"},
        environment={"THE_KEY": key},
        redactor=Redactor({"THE_KEY": key}),
    )
    assert reason(judged.answer).endswith("could not log in with [redacted:THE_KEY]")


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"function": "judges:gone"}, "gone"),
        ({"function": "gone:look"}, "gone"),
        ({"function": "judges:constant"}, "not something to call"),
        ({"function": "leaves:look"}, "SystemExit"),
        ({"interpreter": "no-such-python"}, "no-such-python"),
    ],
)
def test_check_judge__python_that_cannot_work(
    root: Path, settings: dict[str, Any], part: str
) -> None:
    """S0-C5: said before the first call, also from inside a running loop."""
    (root / "leaves.py").write_text("import sys\nsys.exit(0)\n")
    spec = spec_of(
        "python", **{"function": "judges:look", "interpreter": sys.executable} | settings
    )

    async def inside() -> list[str]:
        return [problem.message for problem in check_judge(spec, root, ENVIRONMENT)]

    (problem,) = check_judge(spec, root, ENVIRONMENT)
    assert part in problem.message
    assert problem.key == "function"
    assert asyncio.run(inside()) == [problem.message]


def test_check_judge__python_variable_not_set_here__is_left_to_the_run(root: Path) -> None:
    spec = spec_of("python", function="judges:look", interpreter="${NO_SUCH_NAME}")
    assert check_judge(spec, root, ENVIRONMENT) == []


def test_check_judge__python_that_works__calls_nothing(root: Path) -> None:
    (root / "loud.py").write_text(
        "from pathlib import Path\ndef look(asked):\n    Path('called').touch()\n    return 1\n"
    )
    spec = spec_of("python", function="loud:look", interpreter=sys.executable)
    assert check_judge(spec, root, ENVIRONMENT) == []
    assert not (root / "called").exists()


def test_check_judge__secret_in_a_message__is_redacted(root: Path) -> None:
    key = "k3y-that-nobody-may-see"
    (root / "login.py").write_text("import os\nraise OSError('no login: ' + os.environ['K'])\n")
    spec = spec_of(
        "python", function="login:look", interpreter=sys.executable, env={"K": "${THE_KEY}"}
    )
    (problem,) = check_judge(spec, root, {**ENVIRONMENT, "THE_KEY": key})
    assert "no login: [redacted:THE_KEY]" in problem.message
