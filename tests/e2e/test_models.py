"""A model that is exchanged while a run goes on, or between two runs, is named wherever the numbers are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.e2e.suites import Answers, Asked, Suite, http_suite, lines, python_suite, scorecard
from tests.openaistub import OpenAiStub, completion, serving

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.program import Program

HOSTILE = "<script>alert(1)</script> | [x](http://x) \x1b[31m"


def answering(models: dict[str, str | None]) -> OpenAiStub:
    """A model whose name depends on the question, `q0` and so on."""

    def say(body: dict[str, Any]) -> dict[str, Any]:
        question = body["messages"][0]["content"]
        made = completion(question.upper())
        model = models.get(question, "gpt-a")
        made |= {"model": model, "system_fingerprint": "fp_1"}
        if model is None:
            del made["model"], made["system_fingerprint"]
        return made

    return OpenAiStub(say=say)


def openai_suite(folder: Path, stub: OpenAiStub, **changes: Any) -> Suite:
    suite = python_suite(folder, 4, **changes)
    target = {
        "id": "app",
        "type": "openai",
        "base_url": stub.url,
        "model": "gpt-a",
        "messages": [{"role": "user", "content": "{{ input }}"}],
    }
    return suite.write(target=target)


def test_run__names_a_mixture_and_another_model_than_the_baselines(
    tmp_path: Path, program: Program
) -> None:
    models: dict[str, str | None] = {}
    with serving(answering(models)) as stub:
        gates = [{"id": "no-worse", "metric": "exact", "no_regression": {"max_drop": 0.1}}]
        baseline = {"path": "baseline", "on_missing": "bootstrap"}
        suite = openai_suite(tmp_path, stub, gates=gates, baseline=baseline)
        assert program("run", suite.path, cwd=tmp_path).code == 0
        assert scorecard(suite.out)["models"] == {"gpt-a / fp_1": 4}
        assert "models" not in str(scorecard(suite.out)["notices"])
        assert program("baseline", "promote", "out", "--to", "baseline", cwd=tmp_path).code == 0
        models |= {"q2": HOSTILE, "q3": None}
        done = program("run", suite.path, "--out", "again", cwd=tmp_path)
        assert done.code == 0, done
    out = tmp_path / "again"
    card = scorecard(out)
    odd = HOSTILE.replace("\x1b", "\ufffd") + " / fp_1"
    assert card["models"] == {"gpt-a / fp_1": 2, odd: 1}
    (notice,) = [one for one in card["notices"] if "models" in one]
    assert notice.startswith("the target answered as 2 models: 'gpt-a / fp_1' for 2 answers, '<scr")
    (axis,) = [one for one in card["baseline"]["axes"] if one["axis"] == "target"]
    assert axis["answer"] == "differs"
    assert axis["note"].startswith("another model answered: 'gpt-a / fp_1' then, ")
    rows = lines(out / "results.jsonl")
    assert [row.get("fingerprint") for row in rows] == ["gpt-a / fp_1"] * 2 + [odd, None]
    page = (out / "scorecard.html").read_text("utf-8")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    summary = (out / "summary.md").read_text("utf-8")
    assert "<script>" not in summary
    assert "[x](" not in summary
    assert "answered as 2 models" in done.out
    assert program("verify", out, cwd=tmp_path).code == 0
    assert program("purge", out, "--yes", cwd=tmp_path).code == 0
    assert program("verify", out, cwd=tmp_path).code == 0
    compared = program("compare", "out", out, "--json", cwd=tmp_path).json()
    assert compared["models"].startswith("another model answered: 'gpt-a / fp_1' then")
    (mean,) = [
        one
        for one in compared["metrics"]
        if (one["metric"], one["split"], one["stat"]) == ("exact", "all", "mean")
    ]
    assert mean["delta"] == 0
    assert mean["delta_ci_low"] < 0 < mean["delta_ci_high"]
    assert compared["flips"] == {"exact": {"new_failures": [], "new_passes": []}}


def test_run__an_http_target_says_its_model_where_the_suite_tells_it(
    tmp_path: Path, program: Program
) -> None:
    def reply(asked: Asked) -> tuple[int, Any]:
        model = "m-2" if asked.question == "q1" else "m-1"
        return 200, {"answer": asked.question.upper(), "meta": {"model": model}}

    with Answers() as answers:
        answers.reply = reply
        suite = http_suite(tmp_path, answers, 3, target={"fingerprint": "meta.model"})
        assert program("run", suite.path, cwd=tmp_path).code == 0
        assert scorecard(suite.out)["models"] == {"m-1": 2, "m-2": 1}
        wrong = http_suite(tmp_path / "wrong", answers, 3, target={"fingerprint": "meta["})
        refused = program("validate", wrong.path, cwd=tmp_path)
    assert refused.code == 3, refused
    assert "target.fingerprint" in refused.err
