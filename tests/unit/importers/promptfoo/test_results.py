"""Results of version 3 as baselines: what was recorded is replayed, and an error is never a 0."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from releasecheck.canonical import digest
from tests.unit.importers.promptfoo.suites import cases, config, imported, judges, problems

if TYPE_CHECKING:
    from pathlib import Path

ASSERTS = [
    {"type": "contains", "value": "{{q}}"},
    {"type": "llm-rubric", "value": "is nice"},
    {"type": "javascript", "value": "output.length > 3", "metric": "Long"},
]


def row(q: str, output: str | None = "it is Paris", **more: Any) -> dict[str, Any]:
    """A recorded result."""
    parts = [{"pass": True, "score": 1, "reason": "r", "assertion": one} for one in ASSERTS]
    made = {
        "provider": {"id": "openai:m", "label": ""}, "prompt": {"raw": f"Q {q}", "label": "Q {{q}}"},
        "vars": {"q": q}, "testCase": {"vars": {"q": q}, "assert": ASSERTS}, "success": True, "score": 0.75,
        "failureReason": 0, "cost": 0.01, "gradingResult": {"pass": True, "componentResults": parts},
        "response": {"output": output, "tokenUsage": {"total": 7}},
    }  # fmt: skip
    return {**made, **more}


def results(*rows: dict[str, Any], version: int = 3) -> str:
    """The document."""
    return json.dumps(
        {"evalId": "e", "results": {"version": version, "results": rows}, "config": {}}
    )


def lines(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def test_results__are_replayed_and_scored_as_recorded(tmp_path: Path) -> None:
    failed = row("Rome", success=False, failureReason=1, error="Expected Rome", score=0.25)
    broken = row(
        "Bonn",
        None,
        success=False,
        failureReason=2,
        error="500",
        score=0,
        response={"error": "500"},
    )
    made = imported(tmp_path, results(row("Paris"), failed, broken), "results.json")
    ids = [case["id"] for case in cases(made)]
    assert lines(made.files["recorded.jsonl"]) == [
        {"id": ids[0], "output": "it is Paris", "tokens": 7, "cost": 0.01},
        {"id": ids[1], "output": "it is Paris", "tokens": 7, "cost": 0.01},
        {"id": ids[2], "error": "500"},
    ]
    passed = lines(made.files["recorded/recorded-pass.jsonl"])
    assert [line["value"] for line in passed] == [True, False, None]
    assert passed[0]["output_digest"] == digest("it is Paris")  # not for a later answer
    assert [line["value"] for line in lines(made.files["recorded/recorded-score.jsonl"])] == [
        0.75,
        0.25,
        None,
    ]
    assert set(judges(made)) == {
        "contains", "recorded-pass", "recorded-score", "recorded-llm-rubric", "recorded-long",
    }  # fmt: skip
    assert all("no_regression" in gate for gate in config(made)["gates"])
    assert config(made)["baseline"]["on_missing"] == "bootstrap"
    assert any("1 recorded error stays one" in note for note in made.notes)


def test_results__have_the_cases_of_their_config(tmp_path: Path) -> None:
    # Only so can a later run of the imported config be compared with them.
    text = "prompts: ['Q {{q}}']\nproviders: [echo]\ntests:\n"
    text += "  - {vars: {q: Paris}, metadata: {a: 1}, assert: [{type: contains, value: '{{q}}'}, "
    text += "{type: llm-rubric, value: 'is {{q}}'}, {type: python, value: len(output) > 3}]}\n"
    plain = row("Paris")
    plain["testCase"] |= {"metadata": {"a": 1}, "assert": [
        ASSERTS[0], {"type": "llm-rubric", "value": "is {{q}}"}, {"type": "python", "value": "len(output) > 3"},
    ]}  # fmt: skip
    recorded = imported(tmp_path, results(plain), "results.json")
    fresh = imported(tmp_path, text)
    assert cases(recorded) == cases(fresh)
    assert judges(recorded)["contains"] == judges(fresh)["contains"]
    assert set(judges(recorded)) - set(judges(fresh)) == {
        "recorded-pass", "recorded-score", "recorded-llm-rubric", "recorded-python",
    }  # fmt: skip
    assert set(judges(fresh)) - set(judges(recorded)) == {"llm-rubric", "python"}


def test_results__recorded_variables_are_data(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("s3cret", encoding="utf-8")
    rows = [row(q, "{{ 7*7 }}") for q in ("file://secret.txt", "{{ 7*7 }}", "{{q}}")]
    for one in rows:
        one["testCase"]["assert"] = [{"type": "contains", "value": "x"}]
    rows[0]["vars"]["list"] = ["a", "b"]
    made = imported(tmp_path, results(*rows), "results.json")
    assert [case["input"]["q"] for case in cases(made)] == [
        "file://secret.txt",
        "{{ 7*7 }}",
        "{{q}}",
    ]
    assert cases(made)[0]["input"]["list"] == ["a", "b"]
    assert not any(b"s3cret" in data for data in made.files.values())


def test_results__refuses_what_is_not_clear(tmp_path: Path) -> None:
    other = row("Paris", provider={"id": "openai:other"})
    assert "of version 3, found 2" in problems(tmp_path, results(row("a"), version=2), "r.json")[0]
    assert "there is no result" in problems(tmp_path, results(), "r.json")[0]
    (said,) = problems(tmp_path, results(row("Paris"), other), "r.json")
    assert "choose with --provider by number or label (1: openai:m; 2: openai:other)" in said
    assert len(cases(imported(tmp_path, results(row("Paris"), other), "r.json", provider="2"))) == 1
    (said,) = problems(tmp_path, results(row("Paris"), row("Paris")), "r.json")
    assert "same description and variables" in said


def test_results__a_grader_that_failed_gave_no_score(tmp_path: Path) -> None:
    one = row("Paris")
    one["gradingResult"]["componentResults"][1] |= {
        "pass": False,
        "metadata": {"graderError": True},
    }
    made = imported(tmp_path, results(one, row("Rome")), "results.json")
    values = [line["value"] for line in lines(made.files["recorded/recorded-llm-rubric.jsonl"])]
    assert values == [None, True]


def test_results__a_metric_named_score_is_not_the_score_of_the_test(tmp_path: Path) -> None:
    asserts = [{"type": "javascript", "value": "true", "metric": "Score"}]
    part = {"pass": False, "score": 0, "reason": "r", "assertion": asserts[0]}
    one = row(
        "Paris",
        testCase={"vars": {"q": "Paris"}, "assert": asserts},
        gradingResult={"pass": False, "componentResults": [part]},
    )
    made = imported(tmp_path, results(one), "results.json")
    (whole,) = lines(made.files["recorded/recorded-score.jsonl"])
    (own,) = lines(made.files["recorded/recorded-score-of-assertion.jsonl"])
    assert (whole["value"], own["value"]) == (0.75, False)
