"""Templates see a case's values as data, once, in a sandbox (B34, B35; contract section 3)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from releasecheck.errors import EnvironmentMissing
from releasecheck.targets.template import TemplateProblem, compile_value, undeclared
from tests.strategies import json_values

NAMES: dict[str, Any] = {
    "input": {"question": "why?", "n": 3, "list": [1, 2]},
    "id": "c1",
    "tags": ["math", "hard"],
    "metadata": {"lang": "nb", "none": None},
}


def render(value: object, environment: dict[str, str] | None = None, **names: Any) -> Any:
    return compile_value(value, environment or {})({**NAMES, **names})


@pytest.mark.parametrize(
    ("template", "result"),
    [
        ("plain", "plain"),
        ("{{ input }}", NAMES["input"]),
        ("{{input.question}}", "why?"),
        ("{{ input.n }}", 3),
        ("{{ input.n + 1 }}", 4),
        ("{{ input.n > 2 }}", True),
        ("{{ tags }}", ["math", "hard"]),
        ("{{ metadata.none }}", None),
        ("{{ tags | first }}", "math"),
        ("{{ tags | map('upper') | list }}", ["MATH", "HARD"]),
        ("{{ {'a': input.n} }}", {"a": 3}),
        (" {{ input.n }}", " 3"),
        ("{{ input.n }}{{ id }}", "3c1"),
        ("Q: {{ input.question }}\nA:", "Q: why?\nA:"),
        ("{% for t in tags %}{{ t }};{% endfor %}", "math;hard;"),
        ("{{ input | tojson }}", '{"list": [1, 2], "n": 3, "question": "why?"}'),
        ("{# note #}x", "x"),
        ("{% raw %}{{ input }}{% endraw %}", "{{ input }}"),
        ("line\n", "line\n"),
    ],
)
def test_compile_value__one_expression_keeps_its_type(template: str, result: object) -> None:
    assert render(template) == result


def test_compile_value__at_every_depth_and_nothing_but_texts() -> None:
    body = {"a": ["{{ id }}", {"b": "{{ input.n }}"}], "c": 1.5, "d": None, "e": True}
    assert render(body) == {"a": ["c1", {"b": 3}], "c": 1.5, "d": None, "e": True}


@given(json_values)
def test_compile_value__any_input_comes_out_as_it_went_in(value: Any) -> None:
    assert render("{{ input }}", input=value) == value
    assert render("{{ input.x }}", input={"x": value}) == value


@pytest.mark.parametrize(
    "hostile",
    [
        "{{ 7*7 }}",
        "{{ cycler.__init__.__globals__.os.getcwd() }}",
        "{{ 'x' * 90000000 }}",
        "{% for i in range(9) %}{% endfor %}",
        "{{",
        "${HOME}",
        "{0.__class__}",
        r"C:\new\1 and \g<0>",
        "100% {",
    ],
)
def test_compile_value__a_value_is_never_a_template(hostile: str) -> None:
    """B34, B35: data stays data, alone and inside a text."""
    environment = {"HOME": "/root"}
    assert render("{{ input }}", environment, input=hostile) == hostile
    assert render("<{{ input }}>", environment, input=hostile) == f"<{hostile}>"


def test_compile_value__a_value_of_the_environment_is_no_template_either() -> None:
    secret = "{{ 7*7 }}{% raw %}"
    environment = {"TOKEN": secret}
    assert render("key ${TOKEN}", environment) == f"key {secret}"
    assert render("key ${TOKEN} {{ id }}", environment) == f"key {secret} c1"
    assert render("{% raw %}{{ ${TOKEN} }}{% endraw %}", environment) == f"{{{{ {secret} }}}}"
    assert render({"${TOKEN}": "${NONE:-x}"}, environment) == {secret: "x"}
    with pytest.raises(EnvironmentMissing, match="NONE is not set"):
        compile_value({"a": "{{ id }} ${NONE}"}, {})


@pytest.mark.parametrize(
    "template",
    [
        "{{ cycler.__init__.__globals__.os.getcwd() }}",
        "{{ input.__class__.__mro__ }}",
        "{{ ''.__class__ }}",
        "{{ input.update({'a': 1}) }}",
        "{{ tags.append(1) }}",
        "{{ lipsum(9) }}",
        "{{ 'x' * 90000000 }}",
        "{{ 90000000 * 'x' }}",
        "{{ input.list * 90000000 }}",
        "{{ 10 ** 9999999 }}",
        "{{ 10 ** 99999 }}",
        "{{ range(99999999) | list }}",
        "{{ 'x'.ljust(999999999) }}",
        "{{ 'x' | center(999999999) }}",
        "{{ 'x' | indent(999999999) }}",
        "{{ '%999999999d' % 1 }}",
        "{{ '%*d' % (999999999, 1) }}",
        "{{ '{:999999999}'.format(1) }}",
        "{{ [1] | batch(99999999, 0) | list }}",
        "{% for a in range(90000) %}{{ 'x' * 1000 }}{% endfor %}",
        "{% set ns = namespace(x='x') %}",
    ],
)
def test_compile_value__a_template_cannot_reach_out_or_fill_the_memory(template: str) -> None:
    for text in (template, template + "!"):
        with pytest.raises(TemplateProblem, match="template"):
            render(text)


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{{ expected }}", "'expected' is undefined"),
        ("{{ metadata.langg }}", "has no attribute 'langg'"),
        ("x {{ metadata.langg }}", "has no attribute 'langg'"),
        ("{{ tags | map('upper') }}", "generator, which is not JSON"),
        ("{{ input.n / 0 }}", "division by zero"),
    ],
)
def test_compile_value__a_template_that_does_not_fit_the_case_says_so(
    template: str, says: str
) -> None:
    with pytest.raises(TemplateProblem, match=says):
        render(template)


@pytest.mark.parametrize(
    "template", ["{{ input", "{% if %}", "{{ }}", "{{ 1 + }} x", "{% endfor %}"]
)
def test_compile_value__a_broken_template_is_found_before_the_first_case(template: str) -> None:
    with pytest.raises(TemplateProblem):
        compile_value({"deep": [template]}, {})


def test_undeclared__names_what_a_target_may_not_see() -> None:
    found = undeclared({"a": "{{ expected }}", "b": ["x {{ inptu }}"], "c": "{{ input }}", "d": 1})
    assert found == [
        "`expected` in a template: the target may not see it; use one of input, id, tags, metadata",
        "`inptu` in a template: there is no such name; use one of input, id, tags, metadata",
    ]


def test_undeclared__says_what_does_not_compile() -> None:
    assert len(undeclared(["{{ input", "{{ id }} ${X}", "{{ 1 + }}"])) == 2
