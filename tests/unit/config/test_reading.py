"""YAML with places: what PyYAML's own loader lets pass (B17, B20)."""

from __future__ import annotations

import pytest
from hypothesis import given

from releasecheck.canonical import dump_document
from releasecheck.config.nodes import plain
from releasecheck.config.reading import MAX_NODES, read_yaml
from releasecheck.errors import ConfigError
from tests.strategies import json_values


def stopped(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read_yaml(text, "f.yaml")
    return [str(problem) for problem in caught.value.problems]


def noted(text: str) -> list[str]:
    return [str(problem) for problem in read_yaml(text, "f.yaml")[1]]


def test_read_yaml__anchors_and_merge_keys() -> None:
    """Merged keys stand below those written out, and the first of several sources wins."""
    node, problems = read_yaml(
        "a: &a {x: 1, y: 1}\nb: &b {x: 2, z: 2}\nc: {<<: [*a, *b], y: 3}\nd: *a\n", "f.yaml"
    )

    assert not problems
    assert plain(node) == {
        "a": {"x": 1, "y": 1}, "b": {"x": 2, "z": 2}, "c": {"x": 1, "y": 3, "z": 2},
        "d": {"x": 1, "y": 1},
    }  # fmt: skip


def test_read_yaml__a_key_given_twice_names_both_lines() -> None:
    assert noted("gates:\n  - 1\njudges: 2\ngates:\n  - 3\n") == [
        "f.yaml:4:1: gates: the key 'gates' is given twice, in line 1 and in line 4; only one of "
        "them would count"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "a: {x: 1, x: 2}",
        "b: &b {y: 1}\na: {<<: {x: 1, x: 2}}",
        "b: &b {y: 1}\na:\n  <<: *b\n  <<: *b\n",
        "a: [{x: 1, 'x': 2}]",
    ],
)
def test_read_yaml__a_key_given_twice_at_any_depth(text: str) -> None:
    """B20: also inside of merge keys, and the merge key itself."""
    (problem,) = noted(text)

    assert "is given twice" in problem


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("on: 1", "f.yaml:1:1: on: expected text, found the YAML 1.1 boolean `on`; quote it (it is a key)"),
        ("{1: x}", "f.yaml:1:2: 1: expected a text as key, found `1`; quote it"),
        ("{true: x}", "f.yaml:1:2: true: expected a text as key, found `true`; quote it"),
        ("{~: x}", "f.yaml:1:2: ~: expected a text as key, found `~`; quote it"),
        ("a: [x, no]", "f.yaml:1:8: a[1]: expected text, found the YAML 1.1 boolean `no`; quote it "
         "(or write true or false, if that was meant)"),
    ],
)  # fmt: skip
def test_read_yaml__unclear_words(text: str, message: str) -> None:
    assert noted(text) == [message]


def test_read_yaml__quoted_words_are_text() -> None:
    node, problems = read_yaml("a: 'no'\nb: \"1:30\"\n'on': !!str 5\nc: |\n  no\n", "f.yaml")

    assert (plain(node), problems) == ({"a": "no", "b": "1:30", "on": "5", "c": "no\n"}, [])


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("", "f.yaml: the file is empty; expected a mapping"),
        ("# only a comment\n", "f.yaml: the file is empty; expected a mapping"),
        ("---\na: 1\n---\nb: 2\n", "f.yaml:3:1: found a second document (`---`); expected one"),
        ("a:\n\tb: 1", "f.yaml:2:1: found a tab; YAML is indented with spaces"),
        ("a: b: c", "f.yaml:1:5: found `: ` where no mapping can start; quote a text"),
        ("a: [1\n", "f.yaml:2:1: this is not YAML: expected ',' or ']', but got"),
        ("a: 'x\n", "f.yaml:2:1: this is not YAML: found unexpected end of stream (while scanning a "
         "quoted scalar from line 1)"),
        ("a: \x07", "f.yaml:1:4: found the control character U+0007; remove it"),
        ("a: *b", "f.yaml:1:4: a: found the alias *b, but no anchor &b above it"),
        ("a: &a [*a]", "f.yaml:1:8: a[0]: the alias *a stands inside its own anchor"),
        ("a: &a 1\nb: &a 2", "f.yaml:2:4: b: the anchor &a is already set in line 1"),
        ("a: !env X", "f.yaml:1:4: a: found the tag '!env'; tags are not supported"),
        ("a: !!python/object:os.system x", "f.yaml:1:4: a: found the tag 'tag:yaml.org,2002:python/"),
        ("a: !!binary aGk=", "f.yaml:1:4: a: found the tag 'tag:yaml.org,2002:binary'"),
        ("q: {{ input }}", "f.yaml:1:5: q: expected a text as key, found a mapping, list or alias; a "
         "template such as {{ input }} must stand in quotes"),
        ("a: {<<: 5}", "f.yaml:1:5: a: expected a mapping (or a list of them) after `<<`"),
        ("a: " + "[" * 300 + "]" * 300, "f.yaml:1:204: nested deeper than 200 levels"),
    ],
)  # fmt: skip
def test_read_yaml__what_stops_the_reading(text: str, start: str) -> None:
    assert stopped(text)[-1].startswith(start)


def test_read_yaml__an_alias_bomb_is_bounded() -> None:
    """Five levels of ten aliases would be a million values."""
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 6)]

    (problem,) = stopped("\n".join(rows))

    assert f"grows beyond {MAX_NODES} values when its aliases are followed" in problem


def test_read_yaml__problems_before_a_stop_are_kept() -> None:
    assert len(stopped("a: no\nb: *missing\n")) == 2


@given(json_values)
def test_read_yaml__reads_every_json_document_as_it_is(value: object) -> None:
    """JSON is YAML: quoted text is never guessed at. (YAML has no DEL or C1 characters in it.)"""
    text = dump_document(value).decode()
    if not text.replace("\n", "").isprintable():
        return
    node, problems = read_yaml(text, "f.yaml")

    assert not problems
    assert plain(node) == value
