"""Texts that look like programs (B34, B35), through the command line and everywhere they pass.

A case's values, the target's output, a judge's reason and the value of a variable are data on every way:
into the request, to the judges, into the ledger, the results and the reports. Prompts of an `llm` judge,
where B34 met others, belong to a later step.
"""

from __future__ import annotations

import json
import sys
from html import unescape
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree as ET

import pytest

from tests.e2e.faults import KINDS, dataset
from tests.e2e.suites import CONFIG, files_below, ledger

if TYPE_CHECKING:
    from tests.e2e.faults import Box
    from tests.e2e.suites import Asked

TEMPLATES = {
    "math": "{{ 6007*7919 }}",
    "ssti": "{{ cycler.__init__.__globals__.os.getcwd() }}",
    "bomb": "{{ 'x' * 90000000 }}",
    "block": "{% for _ in range(9) %}x{% endfor %}{# gone #}",
    "end": "{% endraw %}{{ id }}{% raw %}",
    "reference": "${RC_TEST_TOKEN} ${HOME} $${PATH}",
}
FORMATS = {
    "object": '{"answer": 42}',
    "class": "{0.__class__}",
    "mro": "{answer.__class__.__mro__}",
    "group": "C:\\new\\1 and \\g<0>",
    "percent": "100% { %s %(x)s %n",
    "dollar": "$1 $& $name",
}
HOSTILE = {**TEMPLATES, **FORMATS}
TOKEN = {"RC_TEST_TOKEN": "a-long-enough-token"}


def rows() -> list[dict[str, Any]]:
    """Cases whose right answer is the question."""
    return [{"id": name, "input": text, "expected": text} for name, text in HOSTILE.items()]


def echo(asked: Asked) -> tuple[int, Any]:
    """Answer with the question."""
    return 200, {"answer": asked.question}


def program(code: str) -> str:
    """A Python program as an argument list in a config."""
    return json.dumps([sys.executable, "-c", code])


def check_untouched(box: Box) -> None:
    """Every text is in the results as it went in, judged as the expected one; and the run verifies."""
    found = box.results()
    assert {name: row["output"] for name, row in found.items()} == HOSTILE
    assert {row["scores"]["exact"]["value"] for row in found.values()} == {1.0}
    verified = box.call("verify", "new")
    assert verified.code == 0, verified


@pytest.mark.parametrize("kind", KINDS)
def test_b34_b35_values__whole_and_inside_of_a_body(box: Box, kind: str) -> None:
    box.answers.reply = echo
    target = box.target(body='{q: "{{ input }}", in: "<{{ input }}|{{ metadata.note }}>"}')
    noted = [{**row, "note": row["input"]} for row in rows()]
    box.data(kind, dataset(kind, noted), target=target)
    done = box.run(env=TOKEN)
    assert done.code == 0, done
    check_untouched(box)
    sent = [json.loads(asked.body) for asked in box.answers.asked]
    assert {body["q"] for body in sent} == set(HOSTILE.values())
    assert all(body["in"] == f"<{body['q']}|{body['q']}>" for body in sent)


def test_b34_values__in_an_address(box: Box) -> None:
    box.answers.reply = echo
    target = box.target().replace("/answer", "/answer?q={{ input | urlencode }}&id={{ id }}")
    box.config(target=target, rows=rows())
    done = box.run(env=TOKEN)
    assert done.code == 0, done
    check_untouched(box)
    paths = [parse_qs(urlsplit(asked.path).query) for asked in box.answers.asked]
    assert {path["id"][0]: path["q"][0] for path in paths} == HOSTILE


def test_b34_values__in_messages(box: Box) -> None:
    def reply(asked: Asked) -> tuple[int, Any]:
        content = json.loads(asked.body)["messages"][0]["content"]
        return 200, {"choices": [{"message": {"content": content}}]}

    box.answers.reply = reply
    base = box.answers.url.removesuffix("/answer") + "/v1"
    box.config(
        target=f"{{type: openai, base_url: '{base}', model: m, "
        'messages: [{role: user, content: "{{ input }}"}]}',
        rows=rows(),
    )
    done = box.run(env=TOKEN)
    assert done.code == 0, done
    check_untouched(box)


@pytest.mark.parametrize("kind", ["command", "python"])
def test_b34_values__to_programs_and_functions(box: Box, kind: str) -> None:
    box.write("app.py", "def answer(case):\n    return case['input']\n")
    code = "import json, sys; sys.stdout.write(json.load(sys.stdin)['input'])"
    target = (
        f"{{type: command, run: {program(code)}}}"
        if kind == "command"
        else f"{{type: python, function: 'app:answer', interpreter: '{sys.executable}'}}"
    )
    box.config(target=target, rows=rows())
    done = box.run(env=TOKEN)
    assert done.code == 0, done
    check_untouched(box)


@pytest.mark.parametrize("value", [text for text in HOSTILE.values() if '"' not in text])
def test_b34_b35_variable__its_value_is_data_too(box: Box, value: str) -> None:
    box.answers.reply = echo
    box.config(
        target=box.target(
            body='{q: "{{ input }}", whole: "${RC_TEST_X}", in: "<${RC_TEST_X}|{{ id }}>"}',
            more=', headers: {x-test: "${RC_TEST_X}"}',
        ),
        rows=[{"id": "c1", "input": "hi", "expected": "hi"}],
    )
    done = box.run(env={**TOKEN, "RC_TEST_X": value})
    assert done.code == 0, done
    asked = box.answers.asked[0]
    sent = json.loads(asked.body)
    assert (sent["whole"], sent["in"]) == (value, f"<{value}|c1>")
    assert asked.headers["x-test"] == value


def test_b34_b35_output__to_every_kind_of_judge(box: Box) -> None:
    """And with a secret to remove, which is the place where outputs meet a replacement."""
    box.answers.reply = lambda asked: (200, {"answer": f"{asked.question} a-long-enough-token"})
    code = (
        "import json, sys; ask = json.load(sys.stdin); "
        "print(json.dumps({'value': 1, 'reason': ask['output'] + ask['case']['expected']}))"
    )
    box.config(
        target=box.target(more=', headers: {authorization: "Bearer ${RC_TEST_TOKEN}"}'),
        judges="[{id: exact, type: exact}, {id: part, type: contains}, "
        "{id: near, type: similarity}, {id: re, type: regex, pattern: '.'}, "
        "{id: shape, type: json-schema, schema: {type: object}, negate: true}, "
        f"{{id: own, type: command, run: {program(code)}}}]",
        gates="[{id: quality, metric: part, min: 1}]",
        rows=rows(),
    )
    done = box.run(env=TOKEN)
    assert done.code == 0, done
    removed = {row["output"].removeprefix(HOSTILE[name]) for name, row in box.results().items()}
    assert len(removed) == 1
    assert "token" not in removed.pop()
    for name, row in box.results().items():
        assert row["output"].startswith(HOSTILE[name])
        assert row["passed"] == {"exact": False, "part": True, "re": True, "shape": True}
        assert row["scores"]["own"]["reason"] == row["output"] + HOSTILE[name]
    assert box.call("verify", "new").code == 0


def test_b34_b35_output__in_reports_of_a_run_that_blocks(box: Box) -> None:
    """Ids, tags, inputs, outputs and reasons; every report is whole and shows what was said."""
    box.answers.reply = lambda asked: (200, {"answer": f"no: {asked.question}"})
    box.config(
        rows=[{**row, "id": row["input"], "tags": [row["input"]]} for row in rows()],
        gates="[{id: quality, metric: exact, require: all}]",
    )
    done = box.run(env=TOKEN)
    assert done.code == 1, done
    out = box.folder / "new"
    tests = ET.parse(out / "junit.xml").iter("testcase")  # noqa: S314 - our own
    cases = {test.get("name", "") for test in tests}
    page = unescape((out / "scorecard.html").read_text("utf-8"))
    for text in HOSTILE.values():
        assert any(text in name for name in cases), text
        assert text in page, text
    summary = (out / "summary.md").read_text("utf-8")
    for made in (str(6007 * 7919), "a-long-enough-token", str(box.folder), "<class", "xxxxxxxxx"):
        assert made not in summary, made
    assert box.call("verify", "new").code == 0


@pytest.mark.parametrize("status", [400, 503])
def test_b35_failure__quotes_the_answer(box: Box, status: int) -> None:
    """An error page of the target is data in messages as well."""
    box.answers.reply = lambda asked: (status, asked.question.encode())
    box.config(rows=rows())
    done = box.run("--final", env=TOKEN)
    assert done.code == 2, done
    assert "Traceback" not in done.err
    assert "internal error" not in done.err
    failures = [row["failure"] for row in box.results().values()]
    assert len(failures) == len(HOSTILE)
    assert all(str(status) in failure["message"] for failure in failures)


BROKEN = [
    ("{{ inptu }}", "`inptu` in a template"),
    ("{{ expected }}", "the target may not see it"),
    ("{{ output }}", "`output` in a template"),
    ("{{ input", "unexpected end of template"),
    ("{{ cycler.__init__ }}", "`cycler` in a template"),
    ("{{ input | upppercase }}", "upppercase"),
    ("{{ input }}{% if %}", "{% if %}"),
]


@pytest.mark.parametrize(("template", "says"), BROKEN)
@pytest.mark.parametrize("place", ["body", "url", "messages"])
def test_b34_template__that_cannot_work_is_refused(
    box: Box, place: str, template: str, says: str
) -> None:
    """Strict names, found before the first call, at the line of the target."""
    if place == "messages":
        target = (
            f"{{type: openai, base_url: '{box.answers.url}', model: m, "
            f'messages: [{{role: user, content: "{template}"}}]}}'
        )
    elif place == "url":
        target = box.target().replace("/answer", f"/answer/x{template}")
    else:
        target = box.target(body=f'{{q: "{template}"}}')
    box.config(target=target).refused(f"{CONFIG}:4:", place, says)


@pytest.mark.parametrize(
    "template",
    [
        "{{ input.__class__.__mro__ }}",
        "{{ input.__init__.__globals__ }}",
        "{{ ('x' * 90000000) | length }}",
        "{{ range(90000000) | list }}",
        "{{ '%099999999d' % 1 }}",
        "{{ '{:99999999}'.format(1) }}",
        "{{ '{0.__class__}'.format(input) }}",
        "{{ input | attr('__class__') }}",
        "{{ tags[0] }}",
        "{{ metadata.absent }}",
    ],
)
def test_b34_template__cannot_reach_out_or_fill_the_memory(box: Box, template: str) -> None:
    """A template that fails for a case sends nothing for it, and the run has no verdict."""
    box.config(target=box.target(body=json.dumps({"q": template})), rows=rows()[:1])
    done = box.run(env=TOKEN)
    assert done.code == 2, done
    assert "Traceback" not in done.err
    assert box.answers.asked == []
    failure = box.results()["math"]["failure"]
    assert (failure["class"], failure["code"]) == ("config", "template")


def test_b34_values__no_file_holds_what_a_second_pass_would_make(box: Box) -> None:
    box.answers.reply = echo
    rows_ = [{"id": "c1", "input": "{{ 6007 * 7919 }}", "expected": "{{ 6007 * 7919 }}"}]
    rows_ += [{"id": "c2", "input": "${RC_TEST_TOKEN}", "expected": "${RC_TEST_TOKEN}"}]
    box.config(rows=rows_, target=box.target(body='{q: "{{ input }}", r: "{{ [input, id] }}"}'))
    done = box.run(env=TOKEN)
    assert done.code == 0, done
    made = (b"47569433", TOKEN["RC_TEST_TOKEN"].encode())
    for path in files_below(box.folder / "new"):
        data = path.read_bytes()
        assert not any(text in data for text in made), path
    assert len([line for line in ledger(box.folder / "new") if line["record"] == "output"]) == 2
    assert [json.loads(asked.body)["r"][0] for asked in box.answers.asked] == [
        row["input"] for row in rows_
    ]
