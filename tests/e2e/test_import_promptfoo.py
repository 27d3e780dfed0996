"""Suites of promptfoo through the command line: imported, run, and made a baseline of."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.e2e.suites import lines, scorecard
from tests.openaistub import OpenAiStub, serving, verdict

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.program import Program

BOT = """
def call_api(prompt, options, context):
    if "boom" in prompt:
        return {"error": "it broke"}
    answer = f"{options['config']['hello']} {prompt}"
    return {"output": {"said": answer}, "tokenUsage": {"total": 7}, "cost": 0.002}
"""
CHECK = """
import words
def get_assert(output, context):
    return {"pass": words.known(context["vars"]["q"]) and "Q:" in context["prompt"], "score": 0.5, "reason": "looked"}
"""
CONFIG = """
prompts: ["Q: {{q}}"]
providers: [{id: 'file://bot.py', label: bot, config: {hello: Hallo}}]
defaultTest:
  assert: [{type: cost, threshold: 0.01}]
tests:
  - vars: {q: "{{ 7*7 }} ${HOME}"}
    assert:
      - {type: contains-any, value: [Hallo, Hello]}
      - {type: equals, value: {said: "Hallo Q: {{q}}"}}
      - {type: not-icontains, value: IDIOT}
      - {type: python, value: file://check.py}
      - {type: python, value: "len(output) > 3"}
  - vars: {q: plain}
    threshold: 0.5
    options: {disableDefaultAsserts: true}
    assert: [{type: regex, value: 'nothing$'}, {type: word-count, value: {min: 3}}]
"""


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return folder / "promptfooconfig.yaml"


def test_import__a_python_provider_runs(tmp_path: Path, program: Program) -> None:
    # Hostile text in a variable stays data on its whole way (B34).
    file = written(
        tmp_path,
        promptfooconfig__yaml=CONFIG, bot__py=BOT, check__py=CHECK, words__py="def known(text):\n    return '7*7' in text\n",
    )  # fmt: skip
    done = program("import", "promptfoo", str(file), "--out", "suite", cwd=tmp_path)
    assert done.code == 0, done
    assert "assert not-icontains -> judge not-icontains (contains" in done.out
    assert "provider bot -> target python" in done.out
    done = program("run", "suite/releasecheck.yaml", "--out", "out", cwd=tmp_path)
    assert done.code == 0, done
    first, second = lines(tmp_path / "out" / "results.jsonl")
    assert first["output"] == '{"said":"Hallo Q: {{ 7*7 }} ${HOME}"}'
    assert first["usage"] == {"cost_usd": 0.002, "tokens": 7}
    assert first["scores"]["python-1"]["reason"] == "looked (score 0.5)"
    assert all(second["passed"].values())
    again = program("import", "promptfoo", str(file), "--out", "suite", cwd=tmp_path)
    assert again.code == 3, again
    assert "import overwrites nothing" in again.err


def test_import__an_openai_provider_runs_with_a_grader(tmp_path: Path, program: Program) -> None:
    def say(body: dict[str, Any]) -> str:
        graded = "criterion" in json.dumps(body["messages"])
        return verdict(1) if graded else f"Ahoy, {body['messages'][-1]['content']}"

    text = """
prompts: ['[{"role": "system", "content": "Be a pirate"}, {"role": "user", "content": "{{q}}"}]']
providers: ['openai:gpt-4.1-mini', echo]
tests: file://tests.csv
"""
    table = "q,__expected,__expected2\nhello,starts-with: Ahoy,llm-rubric: speaks like a pirate\n"
    file = written(tmp_path, promptfooconfig__yaml=text, tests__csv=table)
    command = ("import", "promptfoo", str(file), "--provider", "1", "--out", "suite", "--json")
    done = program(*command, cwd=tmp_path)
    assert done.code == 0, done
    assert done.json()["suite"]["variables"] == ["OPENAI_BASE_URL", "OPENAI_API_KEY"]
    with serving(OpenAiStub(say=say)) as stub:
        env = {"OPENAI_BASE_URL": stub.url, "OPENAI_API_KEY": "key-of-the-test"}
        done = program("run", "suite/releasecheck.yaml", "--out", "out", cwd=tmp_path, env=env)
    assert done.code == 0, done
    (only,) = lines(tmp_path / "out" / "results.jsonl")
    assert only["output"] == "Ahoy, hello"
    assert only["passed"] == {"starts-with": True, "llm-rubric": True}


def test_import__says_all_that_it_cannot_convert(tmp_path: Path, program: Program) -> None:
    file = written(tmp_path, promptfooconfig__yaml=CONFIG.replace("cost, threshold: 0.01", "javascript, value: x"), bot__py=BOT, check__py=CHECK)  # fmt: skip
    done = program("import", "promptfoo", str(file), "--out", "suite", cwd=tmp_path)
    assert done.code == 3, done
    assert "promptfooconfig.yaml:5:19: the assertion 'javascript' cannot be converted" in done.err
    assert not (tmp_path / "suite").exists()


def test_import__results_become_a_baseline(tmp_path: Path, program: Program) -> None:
    asserts = [{"type": "contains", "value": "{{q}}"}, {"type": "javascript", "value": "true"}]
    rows = [
        {
            "provider": {"id": "openai:m"}, "prompt": {"raw": "Q", "label": "Q"}, "vars": {"q": q},
            "testCase": {"vars": {"q": q}, "assert": asserts}, "success": q == "a", "score": 0.5,
            "failureReason": 0 if q == "a" else 1, "response": {"output": "a"},
            "gradingResult": {"componentResults": [{"pass": True, "assertion": one} for one in asserts]},
        }
        for q in ("a", "b")
    ]  # fmt: skip
    document = {"evalId": "e", "results": {"version": 3, "results": rows}, "config": {}}
    (tmp_path / "results.json").write_text(json.dumps(document), encoding="utf-8")
    done = program("import", "promptfoo", "results.json", "--out", "suite", cwd=tmp_path)
    assert done.code == 0, done
    done = program("run", "suite/releasecheck.yaml", "--out", "out", cwd=tmp_path)
    assert done.code == 0, done
    assert scorecard(tmp_path / "out")["verdict"] == "bootstrap"
    done = program("baseline", "promote", "out", "--to", "suite/baseline", cwd=tmp_path)
    assert done.code == 0, done
    done = program("run", "suite/releasecheck.yaml", "--out", "out2", cwd=tmp_path)
    assert done.code == 0, done
    assert scorecard(tmp_path / "out2")["verdict"] == "pass"
