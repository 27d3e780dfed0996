"""Logs of openai/evals as suites (issue 6, item 6; openai/evals#955)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.importers.openai_evals_log import import_log
from tests.unit.importers.suites import refusal, rows, written

if TYPE_CHECKING:
    from pathlib import Path

SPEC = {"spec": {"base_eval": "math", "eval_name": "math.dev.v0", "run_id": "r1"}}
REPORT = {"final_report": {"accuracy": 0.5}}


def event(type_: str, sample: str = "math.dev.0", **data: Any) -> dict[str, Any]:
    return {"run_id": "r1", "event_id": 0, "sample_id": sample, "type": type_, "data": data}


def asked(
    sample: str = "math.dev.0", answer: object = "4", prompt: object = "2+2="
) -> dict[str, Any]:
    return event("sampling", sample, prompt=prompt, sampled=[answer])


def matched(sample: str = "math.dev.0", *, correct: bool = True, **data: Any) -> dict[str, Any]:
    return event("match", sample, correct=correct, expected="4", picked="4", **data)


def log(folder: Path, *events: Any, end: str = "\n") -> Path:
    path = folder / "run.jsonl"
    text = end.join(json.dumps(one) for one in (SPEC, *events, REPORT))
    path.write_bytes(b"\xef\xbb\xbf" + text.encode() + end.encode())
    return path


def test_import_log__replays_completions_and_keeps_scores(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "1+1="}]
    path = log(
        tmp_path,
        asked(), matched(), event("metrics", accuracy=1.0, f1_score=0.5),
        asked("math.dev.1", "3", talk), event("match", "math.dev.1", correct=False, expected=["2", "two"], sampled="3"),
        event("metrics", "math.dev.1", accuracy=0.0, f1_score=float("nan")),
        event("error", "math.dev.2", type="RateLimit", message="slow down"),
        asked("math.dev.2", None, "x"), event("raw_sample", "math.dev.2"), end="\r\n",
    )  # fmt: skip
    made = import_log(path, None)
    suite = written(made, tmp_path)
    assert suite["suite"] == "math"
    assert rows(made, "cases.jsonl")[:2] == [
        {"id": "math.dev.0", "input": [{"role": "system", "content": "2+2="}], "expected": ["4"]},
        {"id": "math.dev.1", "input": talk, "expected": ["2", "two"]},
    ]
    assert [judge["id"] for judge in suite["judges"]] == ["accuracy", "f1-score", "match"]
    assert [judge.get("pass_at") for judge in suite["judges"]] == [1, None, 1]
    outputs = rows(made, "outputs.jsonl")
    assert [row.get("output") for row in outputs] == ["4", "3", None]
    assert outputs[2]["failure"] == "RateLimit: slow down"
    scores = {(row["id"], row["judge"]): row["value"] for row in rows(made, "scores.jsonl")}
    assert scores["math.dev.1", "match"] is False
    # B13: NaN is no score, and never 0.
    assert scores["math.dev.1", "f1-score"] is None
    assert any("1 raw_sample events say nothing" in note for note in made.notes)


def test_import_log__takes_a_sample_once_that_was_recorded_twice(tmp_path: Path) -> None:
    made = import_log(log(tmp_path, asked(), matched(), asked(), matched()), None)
    assert len(rows(made, "cases.jsonl")) == 1
    assert len(rows(made, "scores.jsonl")) == 1


@pytest.mark.parametrize(
    ("events", "words"),
    [([asked(), matched(), matched(correct=False)], "match True in line 3 and False here"),
     ([asked(), asked(answer="5"), matched()], "another completion in line 2"),
     ([asked(), event("metrics", accuracy=1.0), event("metrics", accuracy=0.0)], "accuracy 1.0 in line 3"),
     ([matched()], "no sampling event"),
     ([asked(prompt=5), matched()], "list of messages, found a number"),
     ([asked()], "no sample has a match or a metric"),
     ([SPEC, asked(), matched()], "several runs"),
     ([], "holds no sample"),
     (["x"], "expected an event, an object"),
     ([{"type": "match"}], "`type` and `data`"),
     ([event("match", "", correct=True)], "names no `sample_id`")],
)  # fmt: skip
def test_import_log__refuses_what_contradicts_itself(
    events: list[Any], words: str, tmp_path: Path
) -> None:
    assert words in refusal(lambda: import_log(log(tmp_path, *events), None))


@pytest.mark.parametrize(
    ("text", "words"),
    [(json.dumps(SPEC) + "\n" + json.dumps(asked()), "no `final_report`"), ("", "no first line with `spec`"),
     (json.dumps(SPEC) + '\n{"type": "ma', "run.jsonl:2"), (json.dumps(SPEC) + "\n" + "[" * 100_000, "nested deeper than 200"),
     ('{"spec": {}, "spec": {}}', "given twice"), ('{"spec": 3}', "spec: expected an object")],
)  # fmt: skip
def test_import_log__refuses_what_is_no_finished_log(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(text, encoding="utf-8")
    assert words in refusal(lambda: import_log(path, None))
