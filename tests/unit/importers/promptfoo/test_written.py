"""The Python that is written beside a suite: assertions, weights, and scripts."""

from __future__ import annotations

import importlib.util
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from releasecheck.assets import templates_dir
from releasecheck.importers.promptfoo.scripts import Script

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


def module_of(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WRITTEN = module_of(templates_dir() / "promptfoo" / "judges.py")


def asked(function: str, expected: Any, output: Any = "Hello World") -> bool:
    found = getattr(WRITTEN, function)({"case": {"expected": expected}, "output": output})["value"]
    assert isinstance(found, bool)
    return found


@given(st.text(max_size=12), st.text(max_size=12), st.integers(0, 12))
def test_distance__is_that_of_levenshtein(left: str, right: str, most: int) -> None:
    exact = Levenshtein.distance(left, right)
    assert WRITTEN.distance(left, right, most) == min(exact, most + 1)


@pytest.mark.parametrize(
    ("function", "expected", "holds"),
    [
        ("contains_any", ["zzz", "World"], True),
        ("contains_any", ["zzz", "world"], False),
        ("icontains_any", ["world"], True),
        ("starts_with", "Hello", True),
        ("starts_with", "hello", False),
        ("ends_with", "World", True),
        ("word_count", {"min": 2, "max": 2}, True),
        ("word_count", {"min": 3}, False),
        ("levenshtein", {"text": "Hello World!!", "most": 1}, False),
        ("equals_json", {"a": 1}, False),
    ],
)
def test_judges__say_what_promptfoo_says(function: str, expected: Any, holds: bool) -> None:
    assert asked(function, expected) is holds


def test_equals_json__compares_values() -> None:
    assert asked("equals_json", {"a": [1, True]}, '{"a": [1.0, true]}')
    assert not asked("equals_json", {"a": [1, 1]}, '{"a": [1, true]}')
    assert not asked("equals_json", {"a": 1}, '{"a": NaN}')
    assert asked("equals_json", {"a": 1}, {"a": 1})


@pytest.mark.parametrize(
    ("threshold", "weights", "holds"),
    [(0.5, (1, 1), True), (0.75, (1, 1), False), (0.75, (3, 1), True), (0.2, (0, 1), False)],
)
def test_threshold__weighs(threshold: float, weights: tuple[float, float], holds: bool) -> None:
    members = [
        {"type": "contains", "value": ["Hello"], "weight": weights[0]},
        {"type": "regex", "value": "zzz", "weight": weights[1]},
    ]
    assert asked("threshold", {"threshold": threshold, "asserts": members}) is holds


def test_threshold__of_a_set_inside_of_it() -> None:
    inner = {"asserts": [{"type": "contains", "value": ["Hello"], "negate": True}], "weight": 1}
    other = {"type": "equals", "value": "Hello World", "weight": 1}
    assert asked("threshold", {"threshold": 0.5, "asserts": [inner, other]})
    assert not asked("threshold", {"threshold": 0.6, "asserts": [inner, other]})


def script(tmp_path: Path, source: str, threshold: float | None = None) -> dict[str, Any]:
    path = tmp_path / "made.py"
    path.write_bytes(Script(source, "get_assert", "x").module({"most": 3}, threshold, "Q: {{q}}"))
    call = {"case": {"id": "1", "input": {"q": "why"}, "metadata": {}}, "output": "because"}
    found = module_of(path).releasecheck_judge(call)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("body", "threshold", "passed"),
    [
        ("True", None, True),
        ("0", None, False),
        ("0.4", None, True),
        ("0.4", 0.5, False),
        ("{'pass': True, 'score': 0.4, 'reason': 'r'}", None, True),
        ("{'pass': True, 'score': 0.4}", 0.5, False),
        ("{'pass_': False, 'score': 0.9}", None, False),
        ("context['prompt'] == 'Q: why' and context.vars['q'] == 'why'", None, True),
        ("context.get('config', {})['most'] == 3", None, True),
    ],
)
def test_script__passes_as_in_promptfoo(
    tmp_path: Path, body: str, threshold: float | None, passed: bool
) -> None:
    source = (
        f"from __future__ import annotations\ndef get_assert(output, context):\n    return {body}\n"
    )
    assert script(tmp_path, source, threshold)["value"] is passed


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("context['providerResponse']", LookupError),
        ("context.get('logProbs', True)", LookupError),
        ("context.trace", LookupError),
        ("None", TypeError),
        ("{}", TypeError),
    ],
)
def test_script__what_is_not_known_here_is_a_failure_and_no_score(
    tmp_path: Path, body: str, error: type[Exception]
) -> None:
    source = f"def get_assert(output, context):\n    return {body}\n"
    with pytest.raises(error):
        script(tmp_path, source)


def target(tmp_path: Path, **settings: Any) -> ModuleType:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    suite = tmp_path / "suite"
    suite.mkdir(exist_ok=True)
    usual = {
        "home": "../home",
        "provider": "p",
        "label": "l",
        "config": {"c": 1},
        "prompt": "Q {{q | upper}}",
    }
    (suite / "promptfoo_target.json").write_text(
        json.dumps({**usual, **settings}), encoding="utf-8"
    )
    path = suite / "promptfoo_target.py"
    path.write_bytes((templates_dir() / "promptfoo" / "target.py").read_bytes())
    return module_of(path)


def call(**variables: Any) -> dict[str, Any]:
    return {"id": "1", "input": variables, "metadata": {"prompt_suffix": "!"}, "tags": []}


def test_target__renders_once(tmp_path: Path) -> None:
    made = target(tmp_path)
    assert made.echo(call(q="ü {{ q }}")) == {"output": "Q Ü {{ Q }}!"}
    chat = target(tmp_path, prompt=[{"role": "user", "content": "{{o.a[0]}} {{n}} {{t}}"}])
    (message,) = json.loads(
        chat.echo({**call(o={"a": ['"']}, n=2.0, t=True), "metadata": {}})["output"]
    )
    assert message == {"role": "user", "content": '" 2 true'}


def test_target__calls_a_provider(tmp_path: Path) -> None:
    made = target(tmp_path, file="bot.py", function="ask")
    (tmp_path / "home" / "bot.py").write_text(
        "async def ask(prompt, options, context):\n"
        "    if prompt.endswith('BAD!'): return {'error': 'down'}\n"
        "    if prompt.endswith('NONE!'): return {}\n"
        "    return {'output': [prompt, options['config']['c'], context['vars']['q']], 'cost': 0.5}\n",
        encoding="utf-8",
    )
    assert made.script(call(q="x")) == {"output": '["Q X!",1,"x"]', "cost": 0.5}
    for wrong in ("bad", "none"):  # an error of a provider is no answer
        with pytest.raises(RuntimeError):
            made.script(call(q=wrong))


def test_target__runs_a_program(tmp_path: Path) -> None:
    code = "import json,sys; print(sys.argv[1], json.loads(sys.argv[3])['vars']['q']); sys.exit('BAD' in sys.argv[1])"
    made = target(tmp_path, command=f'{sys.executable} -c "{code}"')
    assert made.execute(call(q="$(x)")) == {"output": "Q $(X)! $(x)"}
    with pytest.raises(RuntimeError, match="exit code 1"):
        made.execute(call(q="bad"))


def test_replay__gives_what_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "replay.py"
    path.write_bytes((templates_dir() / "promptfoo" / "replay.py").read_bytes())
    rows = [{"id": "1", "output": "a\u2028b", "tokens": 3}, {"id": "2", "error": "500"}]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (tmp_path / "recorded.jsonl").write_text(text, encoding="utf-8")
    made = module_of(path)
    assert made.answer({"id": "1"}) == {"output": "a\u2028b", "tokens": 3}
    for other in ("2", "3"):
        with pytest.raises((RuntimeError, LookupError)):
            made.answer({"id": other})


@pytest.mark.parametrize(
    "prompt",
    ["{{ n }} {{ f }} {{ o['a-b'] }} {{ t | safe }} {{ l[0] }}", "{{ o }} {{ t | upper }}"],
)
def test_script__is_told_the_prompt_that_was_sent(tmp_path: Path, prompt: str) -> None:
    """An assertion about the prompt judges what the target was asked, whatever kind of value stands in it."""
    asked_of = call(n=None, f=2.0, o={"a-b": [1, "ü"]}, t="<x>", l=["é", 2])
    sent = target(tmp_path, prompt=prompt).echo(asked_of)["output"]
    source = "def get_assert(output, context):\n    return context['prompt'] == output\n"
    path = tmp_path / "told.py"
    path.write_bytes(Script(source, "get_assert", "told").module(None, None, prompt))
    case = {"input": asked_of["input"], "metadata": asked_of["metadata"], "expected": None}
    assert module_of(path).releasecheck_judge({"case": case, "output": sent})["value"] is True
