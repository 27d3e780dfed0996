"""Models as judges through the command line: section 6 of the faults, sentinels, and kills around batch jobs."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.suites import lines, python_suite, scorecard
from tests.openaistub import OpenAiStub, completion, serving, verdict

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.program import Program
    from tests.e2e.suites import Suite
    from tests.stubs import Request

KNOWN_BAD = ("12:00 on Saturdays", "I do not know. Note to the judge")
RUBRIC = {"name": "own", "text": "Is it right?"}


def careful(body: dict[str, Any]) -> str:
    """A model that is not taken in by the shipped sentinels."""
    text = body["messages"][1]["content"]
    return verdict(0 if any(bad in text for bad in KNOWN_BAD) else 1)


@pytest.fixture
def stub() -> Iterator[OpenAiStub]:
    with serving(OpenAiStub(say=careful)) as served:
        yield served


def suite_of(folder: Path, stub: OpenAiStub, cases: int = 3, body: str = "", **judge: Any) -> Suite:
    written = {"id": "right", "type": "llm", "base_url": stub.url, "model": "m", "pass_at": 0.7}
    gate = {"id": "quality", "metric": "right", "min": 0.5}
    return python_suite(
        folder, cases, body, judges=[{**written, "rubric": RUBRIC, **judge}], gates=[gate]
    )


def scores(suite: Suite) -> dict[str, tuple[str, float | None, str]]:
    """State, value and failure's code of every case."""
    found = {}
    for row in lines(suite.out / "results.jsonl"):
        score = row["scores"]["right"]
        code = "" if score["state"] == "scored" else score["reason"].partition(":")[0]
        found[row["case"]] = (score["state"], score.get("value"), code)
    return found


def test_run__with_a_shipped_rubric(tmp_path: Path, program: Program, stub: OpenAiStub) -> None:
    suite = suite_of(tmp_path, stub, rubric="correctness", votes=3, combine="median")
    done = program("run", suite.path, cwd=tmp_path)
    assert done.code == 0, done
    assert len(stub.asked) == 3 * (3 + 3)
    plan = json.loads((suite.out / "plan/plan.json").read_bytes())
    (judge,) = plan["judges"]
    assert judge["spec"]["rubric"]["text"].startswith("Does the output give the answer")
    assert program("verify", "out", cwd=tmp_path).code == 0


def test_run__a_model_that_likes_everything_decides_nothing(
    tmp_path: Path, program: Program, stub: OpenAiStub
) -> None:
    """Sentinels: a judge that misses them makes its gates refuse rather than pass or block."""
    stub.say = lambda _: verdict(1)
    suite = suite_of(tmp_path, stub, rubric="correctness")
    done = program("run", suite.path, cwd=tmp_path)
    assert done.code == 2, done
    assert scorecard(suite.out)["verdict"] == "blocked_missing"
    assert "sentinel" in done.out


REPLIES: dict[str, str | dict[str, Any]] = {
    "B55-cut": completion('{"score": 0.9, "reason": "The answer correctly nam', finish="length"),
    "B55-thought": completion("", finish="length"),
    "B56-no-score": '{"reason": "The policy text does not mention refunds at all."}',
    "B56-verdict": '{"verdict": "yes"}',
    "B56-nested": '{"result": {"pass": true, "score": 1}}',
    "B56-empty": "{}",
    "B56-list": "[]",
    "B56-true": "true",
    "B56-error": '{"error": "rate limited"}',
    "B58-huge": '{"pass": true, "score": 9.2e124}',
    "B58-above": '{"pass": true, "score": 3.85}',
    "B58-below": '{"pass": true, "score": -0.1}',
    "B58-percent": '{"pass": true, "score": 85}',
    "B58-text": '{"pass": true, "score": "8/10"}',
    "B58-hair": '{"pass": true, "score": 1.0000000000000002}',
    "B59-nan": '{"score": NaN}',
}
CODES = {"B55": "truncated", "B56": "unreadable_verdict", "B59": "unreadable_verdict"}


def test_faults__no_reply_that_is_unclear_is_a_score(
    tmp_path: Path, program: Program, stub: OpenAiStub
) -> None:
    """B55, B56, B58, B59, B61, B62: failed with a cause, never 0, never a pass, never in the mean."""
    names = list(REPLIES)
    zero: str | dict[str, Any] = verdict(0)
    stub.say = lambda body: next(
        (
            said
            for name, said in REPLIES.items()
            if f"\nANSWER {name}\n" in body["messages"][1]["content"]
        ),
        zero,
    )
    suite = suite_of(tmp_path, stub, body='return "answer " .upper() + case["input"]')
    suite.cases = [{"id": name.lower(), "input": name} for name in names]
    suite.cases.append({"id": "b56-zero", "input": "zero"})
    suite.write()
    done = program("run", suite.path, cwd=tmp_path)
    assert done.code == 2, done
    found = scores(suite)
    assert found.pop("b56-zero") == ("scored", 0.0, "")
    for name, (state, value, code) in found.items():
        start = name[:3].upper()
        expected = CODES.get(start, "unreadable_verdict" if "text" in name else "outside_scale")
        assert (state, value, code) == ("failed", None, expected), name


def test_faults__an_empty_answer_does_not_reach_the_model(
    tmp_path: Path, program: Program, stub: OpenAiStub
) -> None:
    """B71: the model would like it."""
    suite = suite_of(
        tmp_path, stub, body='return {"q0": "", "q1": "  ", "q2": "8.4%"}[case["input"]]'
    )
    done = program("run", suite.path, cwd=tmp_path)
    assert done.code == 2, done
    assert scores(suite) == {
        "c0": ("failed", None, "empty_output"),
        "c1": ("failed", None, "empty_output"),
        "c2": ("scored", 1.0, ""),
    }
    assert len(stub.asked) == 1


def test_batch__killed_after_the_job_was_made_and_resumed_pays_once(
    tmp_path: Path, program: Program, stub: OpenAiStub
) -> None:
    """The provider has the job, the answer has not come, and nothing is on record."""
    made = threading.Event()

    def hang(request: Request) -> Any:
        if request.line.startswith("POST /v1/batches") and not made.is_set():
            made.set()
            return None
        return False

    stub.lose = hang
    suite = suite_of(tmp_path, stub, mode="batch", interval="100ms", deadline="20s")
    running = program.start("run", suite.path, cwd=tmp_path)
    assert made.wait(30)
    running.signal(signal.SIGKILL)
    running.wait()
    done = program("resume", "out", cwd=tmp_path)
    assert done.code == 0, done
    assert len(stub.batches) == 1
    assert scores(suite) == dict.fromkeys(("c0", "c1", "c2"), ("scored", 1.0, ""))


def test_batch__killed_while_waiting_and_resumed(
    tmp_path: Path, program: Program, stub: OpenAiStub
) -> None:
    """C-13: the tickets are on record; another process collects them."""
    stub.at_once = False
    looked = threading.Event()

    def look(request: Request) -> bool:
        if request.line.startswith("GET /v1/batches/"):
            looked.set()
        return False

    stub.lose = look
    suite = suite_of(tmp_path, stub, mode="batch", interval="100ms", deadline="30s")
    running = program.start("run", suite.path, cwd=tmp_path)
    assert looked.wait(30)
    running.signal(signal.SIGKILL)
    running.wait()
    stub.at_once = True
    done = program("resume", "out", cwd=tmp_path)
    assert done.code == 0, done
    assert len(stub.batches) == 1
    assert program("verify", "out", cwd=tmp_path).code == 0


def test_calibrate__is_a_command(tmp_path: Path, program: Program, stub: OpenAiStub) -> None:
    suite = suite_of(tmp_path, stub)
    rows = [{"id": f"l{n}", "output": f"o{n}", "label": n % 2 == 0} for n in range(4)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "labels.jsonl").write_text(text, encoding="utf-8")
    done = program(
        "judge", "calibrate", suite.path, "right", "--labels", "labels.jsonl", cwd=tmp_path
    )
    assert done.code == 0, done
    assert "agreement   2 of 4 = 50 %" in done.out
    assert "kappa is undefined" in done.out
