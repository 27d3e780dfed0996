"""Templates: what goes in is data, and the target renders what promptfoo would (B34)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from releasecheck.importers.promptfoo.patterns import check_pattern
from releasecheck.importers.promptfoo.templates import (
    Unset,
    Untranslatable,
    Var,
    as_jinja,
    as_text,
    parse,
    render,
)
from releasecheck.targets.template import compile_text

LITERAL = st.text().filter(lambda text: not any(sign in text for sign in ("{", "}", "\r")))
# Jinja has one way of ending lines; prompts are read so that it is theirs too.


@pytest.mark.parametrize(
    ("template", "rendered"),
    [
        ("{{q}}", "7 {{ 7*7 }}"),
        ("a {{ q | upper }} b", "a 7 {{ 7*7 }} b"),
        ("{{o.items}} {{o['a b']}} {{o.list[1]}}", "5 x two"),
        ("{{n}} {{f}} {{t}} {{nothing}}", "3 2 true "),
        ("{{o.deep}}", '{"ü":[1]}'),
    ],
)
def test_render__fills_in_data_as_javascript_writes_it(template: str, rendered: str) -> None:
    deep = {"items": 5, "a b": "x", "list": ["one", "two"], "deep": {"ü": [1]}}
    values = {"q": "7 {{ 7*7 }}", "n": 3, "f": 2.0, "t": True, "nothing": None, "o": deep}
    assert render(parse(template), values) == rendered


@pytest.mark.parametrize(
    ("template", "line"),
    [
        ("a\n{% if x %}b{% endif %}", 1),
        ("{{ 7*7 }}", 0),
        ("{{ (x | load).y }}", 0),
        ("\n\n{{ x | dump }}", 2),
        ("{# note #}", 0),
        ("{{- x }}", 0),
        ("{{ x", 0),
        ("{{{x}}}", 0),
    ],
)
def test_parse__refuses_what_would_mean_something_else(template: str, line: int) -> None:
    with pytest.raises(Untranslatable) as caught:
        parse(template)
    assert caught.value.line == line


def test_render__names_what_is_not_set() -> None:
    with pytest.raises(Unset, match=r"o\.b"):
        render(parse("{{o.b}}"), {"o": {"a": 1}})


@given(LITERAL, st.text(), LITERAL, st.text())
def test_as_jinja__renders_what_promptfoo_would(a: str, x: str, b: str, items: str) -> None:
    # `items` is a method of every mapping, and must be the variable; `${` in a prompt is no reference.
    parts = parse(f"{a}{{{{x}}}}{b}${{HOME}}{{{{ items | trim }}}}")
    values = {"x": x, "items": items}
    compiled = compile_text(as_jinja(parts, "input"), {"HOME": "secret"})
    assert compiled({"input": values}) == render(parts, values)


def test_as_jinja__numbers_are_json_and_env_is_a_reference() -> None:
    parts = (Var(("n",)), " ", Var(("env", "KEY")), " ", Var(("__x",)))
    assert as_jinja(parts, "input", frozenset({"n"})) == (
        "{{ input.n | tojson }} ${KEY} {{ input['__x'] }}"
    )


@given(st.text())
def test_as_text__keeps_texts(text: str) -> None:
    assert as_text(text) == text


@pytest.mark.parametrize(
    ("pattern", "made"),
    [
        (r"^\d{4}$", r"^[0-9]{4}\Z"),
        (r"[\d$]\/\w", r"[0-9$]/[A-Za-z0-9_]"),
        (r"\$5", r"\$5"),
        (r"[${]x", r"[$\{]x"),
    ],
)
def test_check_pattern__says_the_same_in_python(pattern: str, made: str) -> None:
    assert check_pattern(pattern) == (made, None)


@pytest.mark.parametrize("pattern", ["(?i)x", "[^]", r"\cA", r"\u{1F600}", "(", r"\p{L}"])
def test_check_pattern__refuses_what_it_cannot_say(pattern: str) -> None:
    assert check_pattern(pattern)[1] is not None
