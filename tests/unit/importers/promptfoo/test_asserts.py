"""Assertions to judges; what has none is refused by name, with its line, and everything at once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import regex

from releasecheck.importers.promptfoo.kinds import REFUSED
from releasecheck.importers.promptfoo.patterns import check_pattern
from releasecheck.model.score import Scored
from tests.unit.importers.promptfoo.suites import (
    ECHO,
    asserting,
    cases,
    config,
    imported,
    judges,
    problems,
)
from tests.unit.judges.builders import answer

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("written", "expected", "judge"),
    [
        ("{type: equals, value: 4}", {"equals": "4"}, {"type": "exact"}),
        ("{type: contains, value: '{{q}}!'}", {"contains": ["Paris!"]}, {"type": "contains"}),
        (
            "{type: icontains-all, value: [A, b]}",
            {"icontains": ["A", "b"]},
            {"normalize": ["lower"]},
        ),
        ("{type: not-contains, value: x}", {"not_contains": ["x"]}, {"negate": True}),
        (
            "{type: not-contains-any, value: 'x, y'}",
            {"not_contains_any": ["x", "y"]},
            {"negate": True},
        ),
        (
            "{type: starts-with, value: Y, metric: Opening line}",
            {"opening_line": "Y"},
            {"pass_at": 1},
        ),
        ("{type: levenshtein, value: ab}", {"levenshtein": {"text": "ab", "most": 5}}, {}),
        ("{type: equals, value: {a: [1]}}", {"equals_json": {"a": [1]}}, {}),
        ("{type: word-count, value: {max: 9}}", {"word_count": {"max": 9}}, {}),
        ("{type: contains, value: '{{ 7*7 }}'}", None, {}),
    ],
)
def test_import__puts_what_is_looked_for_into_the_case(
    tmp_path: Path, written: str, expected: dict[str, Any] | None, judge: dict[str, Any]
) -> None:
    if expected is None:
        (found,) = problems(tmp_path, asserting(written))
        assert (
            "promptfooconfig.yaml:6:33: the value of an assertion: `{{ 7*7 }}` calculates" in found
        )
        return
    made = imported(tmp_path, asserting(written))
    assert cases(made)[0]["expected"] == expected
    (only,) = judges(made).values()
    assert only["expected"] == next(iter(expected))
    assert judge.items() <= only.items()
    assert only["when"] == {"has": "expected"}
    assert config(made)["gates"] == [{"id": only["id"], "metric": only["id"], "require": "all"}]


def test_import__several_of_a_kind_are_few_judges(tmp_path: Path) -> None:
    text = asserting(
        "{type: contains, value: a}", "{type: contains-all, value: [b, a]}",
        "{type: not-contains, value: x}", "{type: not-contains, value: y}",
        "{type: regex, value: '^a$'}", "{type: regex, value: b}", "{type: is-json}",
        "{type: contains, value: i, weight: 0}",
    )  # fmt: skip
    made = imported(tmp_path, text + "  - {vars: {q: x}, assert: [{type: regex, value: b}]}\n")
    found = judges(made)
    assert list(found) == [
        "contains", "not-contains", "not-contains-2", "regex-1", "regex-2", "is-json", "contains-info",
    ]  # fmt: skip
    assert found["regex-1"]["pattern"] == r"^a\Z"
    assert found["regex-1"]["when"] == {"tags": ["regex-1"]}
    assert "when" not in found["regex-2"]  # it is for all
    first, second = cases(made)
    assert first["tags"] == ["regex-1", "is-json"]
    assert first["expected"]["contains"] == ["a", "b"]
    assert first["expected"]["not_contains_2"] == ["y"]
    assert "tags" not in second
    assert "expected" not in second
    gated = {gate["id"] for gate in config(made)["gates"]}
    assert gated == set(found) - {"contains-info"}


def test_import__schemas_are_files_of_draft_7(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"type": "object", "required": ["a"]}', encoding="utf-8")
    made = imported(tmp_path, asserting("{type: not-is-json, value: 'file://s.json'}"))
    assert judges(made)["not-is-json"]["schema"] == "schemas/not-is-json.json"
    assert judges(made)["not-is-json"]["negate"] is True
    schema = json.loads(made.files["schemas/not-is-json.json"])
    assert schema["$schema"].endswith("draft-07/schema#")
    (found,) = problems(tmp_path, asserting("{type: is-json, value: {tpye: object}}"))
    assert "promptfooconfig.yaml:6:16" in found
    assert "unknown keyword 'tpye'" in found


def test_import__criteria_are_one_judge_with_a_rubric(tmp_path: Path) -> None:
    text = asserting(
        "{type: llm-rubric, value: 'answers {{q}}'}", "{type: llm-rubric, value: is short}",
        "{type: llm-rubric, value: is polite, threshold: 0.8, provider: 'openai:chat:gpt-5-mini'}",
        "{type: not-llm-rubric, value: is rude}", "{type: g-eval, value: is clear}",
    )  # fmt: skip
    made = imported(tmp_path, text)
    found = judges(made)
    assert list(found) == ["llm-rubric", "llm-rubric-2", "llm-rubric-3", "not-llm-rubric", "g-eval"]
    assert cases(made)[0]["expected"]["llm_rubric"] == "answers Paris"
    assert found["llm-rubric"]["rubric"] == "rubrics/criterion.md"
    assert (found["llm-rubric-3"]["pass_at"], found["llm-rubric-3"]["model"]) == (0.8, "gpt-5-mini")
    assert found["not-llm-rubric"]["rubric"] == "rubrics/not-criterion.md"
    assert found["g-eval"]["pass_at"] == 0.7
    assert found["llm-rubric"]["api_key"] == "${OPENAI_API_KEY}"
    assert "negate" not in found["not-llm-rubric"]


def test_import__bounds_are_gates(tmp_path: Path) -> None:
    text = f"{ECHO}defaultTest: {{assert: [{{type: latency, threshold: 900}}]}}\ntests:\n"
    text += "  - vars: {q: a}\n  - {vars: {q: b}, assert: [{type: cost, threshold: 0.01}]}\n"
    made = imported(tmp_path, text)
    assert config(made)["gates"] == [
        {"id": "latency", "metric": "latency_ms", "stat": "max", "max": 900},
        {"id": "cost", "metric": "cost_usd", "stat": "max", "max": 0.01, "cases": {"tags": ["limit-cost"]}},
    ]  # fmt: skip
    assert list(judges(made)) == ["answered"]


def test_import__refuses_by_name(tmp_path: Path) -> None:
    written = [name for kind in sorted(REFUSED) for name in (kind, f"not-{kind}")]
    found = problems(tmp_path, asserting(*(f"{{type: '{name}', value: x}}" for name in written)))
    assert [one.partition(" cannot be")[0] for one in found] == [
        f"promptfooconfig.yaml:{line}:16: the assertion {name!r}"
        for line, name in enumerate(written, start=6)
    ]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("{type: contians, value: x}", "unknown assertion 'contians'; did you mean 'contains'?"),
        ("{type: not-icontain, value: x}", "did you mean 'not-icontains'?"),
        ("{value: x}", "has no `type`"),
        ("{type: contains}", "needs a text that is not empty"),
        ("{type: contains, value: ''}", "needs a text that is not empty"),
        ("{type: contains-any, value: []}", "needs a list of texts"),
        ("{type: equals}", "has no `value`"),
        ("{type: contains, value: x, transform: output.a}", "`transform` of the assertion contains"),
        ("{type: contains, value: x, treshold: 1}", "did you mean 'threshold'?"),
        ("{type: contains, value: '{{r}}'}", "promptfooconfig.yaml:4:5: the test sets no variable 'r'"),
        ("{type: regex, value: '('}", "is no regular expression"),
        ("{type: python, value: 'return ('}", "cannot be read"),
        ("{type: python, value: 'file://absent.py'}", "there is no such file"),
        ("{type: latency}", "only records"),
        ("{type: not-cost, threshold: 1}", "not above one"),
        ("{type: llm-rubric, value: x, provider: 'anthropic:messages:c'}", "the grader 'anthropic"),
        ("{type: assert-set, threshold: 0.5, assert: [{type: cost, threshold: 1}]}", "under a threshold"),
        ("{type: levenshtein, value: x, threshold: many}", "expected a number"),
    ],
)  # fmt: skip
def test_import__says_what_is_wrong(tmp_path: Path, written: str, said: str) -> None:
    found = problems(tmp_path, asserting(written))
    assert said in found[0]


def test_import__says_everything_at_once(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        asserting(
            "{type: javascript, value: x}", "{type: bleu, value: x}", "{type: nope, value: x}"
        )
        + "extensions: [x]\n",
    )
    assert [one.split(":")[1] for one in found] == ["9", "6", "7", "8"]


def test_import__a_threshold_weighs_and_is_one_judge(tmp_path: Path) -> None:
    text = asserting("{type: contains, value: a, weight: 2}", "{type: not-regex, value: 'b$'}")
    made = imported(tmp_path, text + "    threshold: 0.6\n")
    assert cases(made)[0]["expected"]["threshold"] == {
        "threshold": 0.6,
        "asserts": [
            {"type": "contains", "value": ["a"], "weight": 2},
            {"type": "regex", "value": r"b\Z", "negate": True, "weight": 1.0},
        ],
    }
    (found,) = problems(tmp_path, text + "    threshold: 0\n")
    assert "passes whatever comes" in found


def test_import__code_in_the_config_is_one_judge(tmp_path: Path) -> None:
    # Hundreds of small expressions must not be hundreds of judges, each with a process.
    rows = "".join(
        f"  - {{vars: {{q: q{number}}}, assert: [{{type: python, value: 'len(output) == {number}'}}]}}\n"
        for number in range(50)
    )
    made = imported(tmp_path, f"{ECHO}tests:\n{rows}")
    assert list(judges(made)) == ["python"]
    assert cases(made)[7]["expected"] == {"python": "len(output) == 7"}
    source = made.files["promptfoo_python.py"].decode()
    scope: dict[str, Any] = {}
    exec(compile(source, "judge", "exec"), scope)  # noqa: S102 - what a judge's worker does
    call = {"case": {"input": {"q": "x"}, "expected": "len(output) == 7", "metadata": {}}}
    assert scope["releasecheck_judge"]({**call, "output": "1234567"})["value"] is True
    assert scope["releasecheck_judge"]({**call, "output": "1"})["value"] is False
    call["case"]["expected"] = "__import__('os').getcwd()"
    with pytest.raises(KeyError):  # a case is data, and never run
        scope["releasecheck_judge"]({**call, "output": "1"})


@pytest.mark.parametrize(
    "sets",
    [
        "{type: assert-set, threshold: 0, assert: [{type: contains, value: a}]}",
        "{type: assert-set, threshold: 1, assert: [{type: assert-set, threshold: -1, assert: [{type: contains, value: a}]}]}",
    ],
)
def test_import__a_set_that_passes_whatever_comes_is_refused(tmp_path: Path, sets: str) -> None:
    assert "a threshold of 0 passes whatever comes" in str(problems(tmp_path, asserting(sets)))


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        (r"\bcaf\b", "café", True),  # é is no letter of a word to JavaScript
        (r"\Bé", "caf\u00e9", False),
        ("^a.b$", "a\u2028b", False),
        ("^a.b$", "a\rb", False),
        ("^a[.]b$", "a.b", True),
        (r"^[\d\w]+$", "a1", True),
    ],
)
def test_check_pattern__matches_as_javascript_does(pattern: str, text: str, matches: bool) -> None:
    made, why = check_pattern(pattern)
    assert why is None
    assert (regex.search(made, text) is not None) is matches


@pytest.mark.parametrize(
    "pattern", ["a{,3}", r"\Aa", r"a\Z", "(?P<x>a)", r"[\W]", r"[a\D]", r"\Ka"]
)
def test_check_pattern__refuses_what_means_something_else(pattern: str) -> None:
    assert "means something else" in str(check_pattern(pattern)[1])


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("{type: levenshtein, value: a, threshold: -0.5}", "edits apart"),
        ('{type: python, value: "(len(output) > 1\\n  and True)"}', "no `return`"),
        ('{type: python, value: "x = 1\\nprint(x)"}', "no `return`"),
    ],
)
def test_import__what_could_pass_here_alone_is_refused(
    tmp_path: Path, written: str, said: str
) -> None:
    assert said in str(problems(tmp_path, asserting(written)))


def test_import__icontains_lowers_as_javascript_does(tmp_path: Path) -> None:
    """ß is no ss there, so that an answer which fails there passes not here."""
    (judge,) = judges(imported(tmp_path, asserting("{type: icontains, value: STRASSE}"))).values()
    found = answer("contains", "Straße", "STRASSE", normalize=judge["normalize"])
    assert isinstance(found, Scored)
    assert found.value == 0
