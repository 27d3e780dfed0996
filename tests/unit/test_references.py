"""`${NAME}` in config texts: found when planning, resolved when used, never written out resolved."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from releasecheck.errors import EnvironmentMissing
from releasecheck.references import (
    Reference,
    missing_names,
    references_in,
    resolve,
    resolve_text,
)
from tests.strategies import json_values

NAMES = {"HOST": "example.org", "EMPTY": "", "BLANK": " \t", "PADDED": " x\n", "NESTED": "${HOST}"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("no reference, $HOST, {HOST}, $ {HOST}", "no reference, $HOST, {HOST}, $ {HOST}"),
        ("https://${HOST}/x", "https://example.org/x"),
        ("${HOST}${HOST}", "example.orgexample.org"),
        ("${HOST:-other}", "example.org"),
        ("${UNSET:-http://127.0.0.1:8080}/answer", "http://127.0.0.1:8080/answer"),
        ("${UNSET:-}", ""),
        ("${EMPTY:-default}", "default"),
        ("${BLANK:-default}", "default"),
        ("${PADDED}", "x"),
        ("${UNSET:-a:-b}", "a:-b"),
        ("$${HOST}", "${HOST}"),
        ("$$${HOST}", "$${HOST}"),
        ("${NESTED}", "${HOST}"),
        ("{{ input }} ${HOST} {% raw %}", "{{ input }} example.org {% raw %}"),
    ],
)
def test_resolve_text__table(text: str, expected: str) -> None:
    assert resolve_text(text, NAMES) == expected


@pytest.mark.parametrize(
    "text", ["${}", "${1A}", "${A B}", "${ HOST }", "${HOST", "${HOST:default}", "${HOST-x}"]
)
def test_resolve_text__what_is_no_reference_stays(text: str) -> None:
    assert resolve_text(text, NAMES) == text
    assert list(references_in(text)) == []


@pytest.mark.parametrize(
    ("text", "unset", "empty"),
    [("${UNSET}", ("UNSET",), ()), ("${EMPTY}", (), ("EMPTY",)), ("${BLANK}", (), ("BLANK",))],
)
def test_resolve_text__refuses_a_name_without_value(
    text: str, unset: tuple[str, ...], empty: tuple[str, ...]
) -> None:
    with pytest.raises(EnvironmentMissing) as caught:
        resolve_text(text, NAMES)
    assert (caught.value.unset, caught.value.empty) == (unset, empty)


def test_references_in__finds_them_in_texts_and_keys_in_reading_order() -> None:
    value = {
        "${KEY}": 1,
        "run": ["python", "${A:-x}", ("${B}",)],
        "nested": {"deep": [{"x": "${C}${A}"}], "number": 3, "none": None, "literal": "$${D}"},
    }
    assert list(references_in(value)) == [
        Reference("KEY", required=True),
        Reference("A", required=False),
        Reference("B", required=True),
        Reference("C", required=True),
        Reference("A", required=True),
    ]


def test_missing_names__tells_unset_from_empty_and_names_each_once() -> None:
    value = ["${B}", "${B}", "${EMPTY}", "${BLANK}", "${HOST}", "${C:-x}", "${A}"]
    assert missing_names(value, NAMES) == (["B", "A"], ["EMPTY", "BLANK"])


def test_missing_names__a_default_beside_it_does_not_serve_another_use() -> None:
    assert missing_names(["${A:-x}", "${A}"], {}) == (["A"], [])


def test_missing_names__the_port_is_set_by_us() -> None:
    assert missing_names("http://127.0.0.1:${RELEASECHECK_PORT}", {}) == ([], [])


def test_resolve__keys_and_texts_at_any_depth_and_nothing_else() -> None:
    value = {"${HOST}": [1, 2.5, True, None, ("${HOST}",), {"x": "a ${HOST}"}]}
    assert resolve(value, NAMES) == {
        "example.org": [1, 2.5, True, None, ["example.org"], {"x": "a example.org"}]
    }


@given(json_values)
def test_resolve__agrees_with_missing_names(value: Any) -> None:
    unset, empty = missing_names(value, {})
    if unset or empty:
        with pytest.raises(EnvironmentMissing):
            resolve(value, {})
    else:
        resolve(value, {})
    resolve(value, dict.fromkeys(unset, "x"))
