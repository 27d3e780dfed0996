"""Configs and files of tests as suites: defaults, lists, scenarios, choices, and what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.unit.importers.promptfoo.suites import (
    ECHO,
    asserting,
    cases,
    config,
    imported,
    judges,
    problems,
    target_file,
)

if TYPE_CHECKING:
    from pathlib import Path

ONE = "assert: [{type: contains, value: x}]"


def test_import__defaults_lists_and_references(tmp_path: Path) -> None:
    text = f"""{ECHO}
assertionTemplates: {{polite: {{type: not-icontains, value: idiot}}}}
defaultTest:
  vars: {{lang: en}}
  metadata: {{area: a}}
  assert: [{{$ref: '#/assertionTemplates/polite'}}]
evaluateOptions: {{repeat: 3, maxConcurrency: 2, timeoutMs: 5000}}
tests:
  - {{vars: {{q: [a, b], lang: no}}, metadata: {{b: 1}}, {ONE}}}
  - {{vars: {{q: 'say {{{{lang}}}}', r: '{{{{ 7*7 }}}}'}}, {ONE}, options: {{disableDefaultAsserts: true}}}}
scenarios:
  - config: [{{vars: {{lang: de}}}}, {{vars: {{lang: fr}}}}]
    tests: [{{vars: {{q: c}}, description: both}}]
"""
    made = imported(tmp_path, text)
    found = cases(made)
    assert [case["input"] for case in found] == [
        {"lang": "no", "q": "a"}, {"lang": "no", "q": "b"}, {"lang": "en", "q": "say en", "r": "{{ 7*7 }}"},
        {"lang": "de", "q": "c"}, {"lang": "fr", "q": "c"},
    ]  # fmt: skip
    assert found[0]["metadata"] == {"area": "a", "b": 1}
    assert set(found[2]["expected"]) == {"contains"}
    assert found[3]["id"].startswith("both-")
    suite = config(made)
    assert (suite["trials"], suite["target"]["concurrency"], suite["target"]["timeout"]) == (
        3,
        2,
        5,
    )
    assert suite["expect_cases"] == 5
    assert any("'r' holds text that looks like a template" in note for note in made.notes)


def test_import__ids_stay_while_description_and_variables_do(tmp_path: Path) -> None:
    first = cases(imported(tmp_path, f"{ECHO}tests: [{{vars: {{q: Grüße 1}}, {ONE}}}]"))
    more = cases(
        imported(
            tmp_path, f"{ECHO}tests: [{{vars: {{q: z}}, {ONE}}}, {{vars: {{q: Grüße 1}}, {ONE}}}]"
        )
    )
    assert first[0]["id"] == more[1]["id"]
    assert first[0]["id"].startswith("grüsse-1-")


@pytest.mark.parametrize(
    ("tests", "said"),
    [
        (
            f"[{{vars: {{q: a}}, {ONE}}}, {{vars: {{q: a}}, {ONE}}}]",
            "same description and variables",
        ),
        ("[]", "there is no test"),
        ("[{vars: {q: a}}]", "has no assertion"),
        (f"[{{vars: {{r: a}}, {ONE}}}]", "sets no variable 'q', which the prompt uses"),
        (f"[{{vars: {{q: a}}, {ONE}, provider: x}}]", "`provider` of a test"),
        (f"[{{vars: {{q: a}}, {ONE}, options: {{transform: x}}}}]", "`transform` of the options"),
        (f"[{{vars: {{q: a}}, {ONE}, discription: x}}]", "did you mean 'description'?"),
        (f"[{{vars: {{q: []}}, {ONE}}}]", "list of the variable 'q' is empty"),
        ("[{$ref: '#/nowhere'}]", "names nothing in this file"),
        ("'file://absent.csv'", "there is no such file beside the config"),
        ("[{path: 'file://gen.py:make', config: {a: 1}}]", "a program generates"),
    ],
)
def test_import__refuses_tests(tmp_path: Path, tests: str, said: str) -> None:
    found = problems(tmp_path, f"{ECHO}tests: {tests}\n")
    assert said in "\n".join(found)
    assert found[0].startswith("promptfooconfig.yaml:")


def test_import__files_of_tests_of_every_kind(tmp_path: Path) -> None:
    row = {"vars": {"q": "a"}, "assert": [{"type": "contains", "value": "a"}]}
    text = json.dumps(row)
    target = target_file(tmp_path)
    found = [
        cases(imported(tmp_path, content, name, target=target))
        for name, content in (
            ("t.json", f"[{text}]"),
            ("t.jsonl", f"\n{text}\n"),
            ("t.yaml", f"- {text}\n"),
            ("t.csv", "\ufeffq,__expected\r\na,contains:a\r\n"),
        )
    ]
    assert all(one == found[0] for one in found)
    (said,) = problems(tmp_path, f"[{text}]", "t.json")
    assert "say with --target FILE" in said


def test_import__csv_with_all_its_columns(tmp_path: Path) -> None:
    table = (
        "q,__expected,__expected2,__config:__expected2:threshold,__description,__metric,__threshold,"
        "__metadata:area,__metadata:tags[],__prefix\n"
        '"say ""hi"", {{ 7*7 }}\nnow",equals: 4,levenshtein: abc,2,first,accuracy,0.5,math,"a,b\\,c",Dear: \n'
        "plain,Paris,,,,,,,,\n"
    )
    (tmp_path / "t.csv").write_text(table, encoding="utf-8")
    made = imported(tmp_path, f"{ECHO}tests: file://t.csv\n")
    first, second = cases(made)
    assert first["input"] == {"q": 'say "hi", {{ 7*7 }}\nnow'}
    assert first["expected"]["threshold"]["asserts"][1]["value"] == {"text": "abc", "most": 2}
    assert first["metadata"] == {
        "area": "math", "tags": ["a", "b,c"], "description": "first",
        "prompt_prefix": "Dear: ", "prompt_suffix": "",
    }  # fmt: skip
    assert second["expected"] == {"equals": "Paris"}


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("q,__expcted\na,x\n", "t.csv:2:1: unknown column '__expcted', which would check nothing; did you mean '__expected'?"),
        ("q,_expected\na,x\n", "one underscore"),
        ("q,__metadata\na,x\n", "unknown column '__metadata'"),
        ("q,__expected\na,contians: x\n", "t.csv:2:1: __expected: 'contians' is no assertion"),
        ('q,__expected\n"a,x\n', "t.csv:2"),
        ("q,__expected\n", "no tests: there is only a header row"),
        ("q,__expected,__config:__expected:provider\na,x,y\n", "only `threshold` is converted"),
    ],
)  # fmt: skip
def test_import__refuses_columns(tmp_path: Path, table: str, said: str) -> None:
    found = problems(tmp_path, table, "t.csv", target=target_file(tmp_path))
    assert said in found[0]


def test_import__one_prompt_and_one_provider_are_chosen(tmp_path: Path) -> None:
    text = "prompts: ['A {{q}}', {label: b, raw: 'B {{q}}'}]\nproviders: [echo, 'openai:gpt-4.1', 'openai:o3']\n"
    text += f"tests: [{{vars: {{q: a}}, {ONE}}}]\n"
    found = problems(tmp_path, text)
    assert (
        "choose with --provider by number or label (1: echo; 2: openai:gpt-4.1; 3: openai:o3)"
        in found[0]
    )
    assert "choose with --prompt by number or label (1: A {{q}}; 2: b)" in found[1]
    made = imported(tmp_path, text, prompt="b", provider="2")
    assert config(made)["target"]["messages"] == [{"role": "user", "content": "B {{ input.q }}"}]
    assert config(made)["target"]["params"] == {"temperature": 0, "max_tokens": 1024}
    assert (
        "params" not in config(imported(tmp_path, text, prompt="1", provider="openai:o3"))["target"]
    )
    assert "names none" in problems(tmp_path, text, prompt="1", provider="4")[0]


def test_import__providers_as_targets(tmp_path: Path) -> None:
    test = f"tests: [{{vars: {{q: a, n: 3}}, {ONE}}}]\n"
    http = """prompts: ['Q {{q}}']
providers:
  - id: https
    config:
      url: 'https://x.example/{{n}}?k={{env.KEY}}'
      headers: {Authorization: 'Bearer {{env.KEY}}'}
      body: {text: '{{prompt}}!', n: '{{n}}', deep: [{q: '{{q}}'}]}
      transformResponse: json.choices[0].message.content
"""
    assert config(imported(tmp_path, http + test))["target"] == {
        "id": "promptfoo", "type": "http", "url": "https://x.example/{{ input.n | tojson }}?k=${KEY}",
        "headers": {"authorization": "Bearer ${KEY}"},
        "body": {"text": "Q {{ input.q }}!", "n": "{{ input.n | tojson }}", "deep": [{"q": "{{ input.q }}"}]},
        "output": "choices[0].message.content",
    }  # fmt: skip
    (said,) = problems(
        tmp_path, http.replace("json.choices[0].message.content", "json.a.map(x => x)") + test
    )
    assert said.startswith("promptfooconfig.yaml:8:")
    chat = 'prompts: [\'[{"role": "system", "content": "Be ${kind}"}, {"role": "user", "content": "{{q}}"}]\']\n'
    chat += "providers: [{id: 'openai:chat:m', config: {apiKeyEnvar: K, apiBaseUrl: 'http://l/v1', temperature: 1, max_tokens: 9}}]\n"
    assert config(imported(tmp_path, chat + test))["target"] == {
        "id": "promptfoo", "type": "openai", "base_url": "http://l/v1", "model": "m", "api_key": "${K}",
        "messages": [{"role": "system", "content": "Be $${kind}"}, {"role": "user", "content": "{{ input.q }}"}],
        "params": {"temperature": 1, "max_tokens": 9},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("provider", "said"),
    [
        (
            "'anthropic:messages:claude'",
            "the provider 'anthropic:messages:claude' cannot be converted",
        ),
        ("'openai:responses:gpt-5'", "cannot be converted"),
        ("'file://bot.js'", "a program that is not Python"),
        ("'file://absent.py'", "there is no such file"),
        ("{id: echo, transform: x}", "`transform` of a provider"),
        ("{id: 'openai:m', config: {apiKey: sk-1}}", "holds a key itself"),
        ("{id: 'openai:m', config: {tools: []}}", "`tools` of the config of openai:m"),
        ("{id: 'https://x.example', config: {request: x}}", "`request` of the config"),
        ("{config: {}, label: x}", "has no `id`"),
    ],
)
def test_import__refuses_providers(tmp_path: Path, provider: str, said: str) -> None:
    text = f"prompts: ['{{{{q}}}}']\nproviders: [{provider}]\ntests: [{{vars: {{q: a}}, {ONE}}}]\n"
    assert said in problems(tmp_path, text)[0]


def test_import__prompts_of_files(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text(
        "one {{q}}\n---\n\ntwo {{q}}\n{% if q %}x{% endif %}\n", encoding="utf-8"
    )
    text = f"prompts: file://p.txt\nproviders: [echo]\ntests: [{{vars: {{q: a}}, {ONE}}}]\n"
    settings = json.loads(imported(tmp_path, text, prompt="1").files["promptfoo_target.json"])
    assert settings["prompt"] == "one {{q}}"
    (said,) = problems(tmp_path, text, prompt="2")
    assert said.startswith("p.txt:2:1: the prompt: `{% if q %}` is a statement")


def test_import__a_named_target_needs_no_provider(tmp_path: Path) -> None:
    text = (
        f"providers: ['bedrock:x']\nprompts: ['{{% if %}}']\ntests: [{{vars: {{q: a}}, {ONE}}}]\n"
    )
    made = imported(tmp_path, text, target=target_file(tmp_path), suite="mine")
    assert config(made)["target"] == {"type": "command", "run": ["cat"]}
    assert config(made)["suite"] == "mine"


def test_import__words_of_yaml_are_read_as_promptfoo_reads_them(tmp_path: Path) -> None:
    made = imported(tmp_path, asserting("{type: equals, value: no}", variables="{q: Yes, t: 1:30}"))
    assert cases(made)[0]["input"] == {"q": "Yes", "t": "1:30"}
    assert cases(made)[0]["expected"] == {"equals": "no"}


def test_import__many_tests(tmp_path: Path) -> None:
    rows = "".join(f"q{number},contains: {number}\n" for number in range(5000))
    made = imported(tmp_path, f"q,__expected\n{rows}", "t.csv", target=target_file(tmp_path))
    assert len(cases(made)) == 5000
    assert list(judges(made)) == ["contains"]


def test_import__a_scenario_keeps_its_assertions_and_tests(tmp_path: Path) -> None:
    """A test can turn off what holds by default, never what its scenario asks; no test of a scenario is lost."""
    text = """
prompts: ["{{q}}"]
providers: [echo]
defaultTest: {assert: [{type: contains, value: DEFAULT}]}
scenarios:
  - config: [{vars: {q: a}, assert: [{type: contains, value: IMPORTANT}]}]
    tests: [{options: {disableDefaultAsserts: true}, assert: [{type: contains, value: own}]}]
"""
    (case,) = cases(imported(tmp_path, text))
    assert "IMPORTANT" in str(case["expected"])
    assert "own" in str(case["expected"])
    assert "DEFAULT" not in str(case["expected"])
    for lost in ("", "config: [], "):
        scenario = f"scenarios: [{{{lost}tests: [{{vars: {{q: b}}, assert: [{{type: equals, value: x}}]}}]}}]\n"
        found = problems(tmp_path, 'prompts: ["{{q}}"]\nproviders: [echo]\n' + scenario)
        assert "no `config`" in str(found)


def test_import__files_of_the_machine_stay_where_they_are(tmp_path: Path) -> None:
    """A config of others carries no file from outside of its folder into cases."""
    (tmp_path / "secret.txt").write_text("private", encoding="utf-8")
    inside = tmp_path / "suite"
    inside.mkdir()
    (inside / "link.txt").symlink_to(tmp_path / "secret.txt")
    for name in ("../secret.txt", str(tmp_path / "secret.txt"), "link.txt", "../*.txt"):
        text = (
            f'prompts: ["{{{{q}}}}"]\nproviders: [echo]\ntests: [{{vars: {{q: "file://{name}"}}, '
            "assert: [{type: equals, value: x}]}]\n"
        )
        found = str(problems(inside, text))
        assert "lies outside of suite" in found, name
        assert "private" not in found
