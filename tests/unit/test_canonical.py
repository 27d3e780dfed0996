"""Canonical JSON and strict reading (B02, B13, B14, B40, X-10)."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from releasecheck.canonical import (
    MAX_DEPTH,
    MAX_INTEGER,
    JsonProblem,
    canonical,
    clean_text,
    clean_value,
    digest,
    digest_bytes,
    digest_chunks,
    dump_document,
    dump_line,
    parse_json,
)
from tests.strategies import AWKWARD_FLOATS, json_values, texts


@given(json_values)
@example([1.0, -0.0, 1e-5, 5e-324, 1e21, 1e16, 9007199254740991.0])
@example({"\ue000": 1, "\U00010000": 2})
@example({"a": ",1.0,", "b": ":12345678901234567890", "c": "1e5"})
def test_canonical__agrees_with_rfc8785(value: Any) -> None:
    expected = rfc8785.dumps(value)
    assert canonical(value) == expected
    assert canonical(value, from_json=True) == expected


@pytest.mark.parametrize("number", AWKWARD_FLOATS)
@pytest.mark.parametrize("sign", [1, -1])
def test_canonical__numbers_alone_and_inside(number: float, sign: int) -> None:
    for value in (sign * number, [sign * number], {"k": sign * number}):
        assert canonical(value) == rfc8785.dumps(value)
        assert canonical(value, from_json=True) == rfc8785.dumps(value)
        assert canonical(value, from_json=True) == rfc8785.dumps(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.0, b"1"),
        (-0.0, b"0"),
        (1e21, b"1e+21"),
        (1e20, b"100000000000000000000"),
        (0.000001, b"0.000001"),
        (1e-7, b"1e-7"),
        (5e-324, b"5e-324"),
        (333333333.33333329, b"333333333.3333333"),
        ("\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/", b'"\xe2\x82\xac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'),
        # RFC 8785 section 3.2.3: by UTF-16 code units, where U+1F600 (D83D DE00) sorts before U+FB33.
        (
            {"\u20ac": 5, "\r": 1, "\ufb33": 7, "1": 2, "\U0001f600": 6, "\u0080": 3, "\u00f6": 4},
            '{"\\r":1,"1":2,"\u0080":3,"\u00f6":4,"\u20ac":5,"\U0001f600":6,"\ufb33":7}'.encode(),
        ),
        ({}, b"{}"),
        ((1, 2), b"[1,2]"),
    ],
)  # fmt: skip
def test_canonical__known_forms(value: Any, expected: bytes) -> None:
    assert canonical(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        [-math.inf],
        {"a": {"b": math.nan}},
        MAX_INTEGER + 1,
        [-(MAX_INTEGER + 1)],
        10**400,
        {1: "a"},
        {"a": 1, 2: "b"},
        {None: 1},
        {True: 1},
        {1.5: 1},
        {"a": {3}},
        b"bytes",
        object(),
        "half a pair \ud83d",
        {"\udc00": 1},
    ],
)
def test_canonical__refuses_what_json_cannot_hold(value: Any) -> None:
    with pytest.raises(JsonProblem, match="no canonical JSON"):
        canonical(value)
    if all(isinstance(key, str) for key in _keys(value)):
        with pytest.raises(JsonProblem, match="no canonical JSON"):
            canonical(value, from_json=True)


def _keys(value: Any) -> Any:
    return value if isinstance(value, dict) else ()


def test_canonical__refuses_what_is_too_deep_or_circular() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    circular: list[Any] = []
    circular.append(circular)
    for value in (deep, circular):
        with pytest.raises(JsonProblem):
            canonical(value)


@given(json_values, st.randoms(use_true_random=False))
def test_digest__does_not_depend_on_key_order(value: Any, random: Any) -> None:
    def shuffled(item: Any) -> Any:
        if isinstance(item, dict):
            keys = list(item)
            random.shuffle(keys)
            return {key: shuffled(item[key]) for key in keys}
        return [shuffled(inner) for inner in item] if isinstance(item, list) else item

    assert digest(shuffled(value)) == digest(value)


@given(json_values, json_values)
def test_digest__differs_exactly_when_the_values_differ(one: Any, other: Any) -> None:
    assert (digest(one) == digest(other)) == (rfc8785.dumps(one) == rfc8785.dumps(other))


def test_digest__forms() -> None:
    expected = "sha256:" + hashlib.sha256(b'{"a":1}').hexdigest()
    assert digest({"a": 1.0}) == expected
    assert digest_bytes(b'{"a":1}') == expected
    assert digest_chunks([b'{"a"', b"", b":1}"]) == expected


@given(json_values)
def test_parse_json__reads_back_what_was_written(value: Any) -> None:
    for data in (dump_line(value), dump_document(value)):
        assert canonical(parse_json(data)) == canonical(value)
        assert canonical(parse_json(data.decode())) == canonical(value)


@given(json_values)
def test_dump_line__is_one_line_with_sorted_keys(value: Any) -> None:
    line = dump_line(value)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(
        line, object_pairs_hook=lambda pairs: [key for key, _ in pairs]
    ) == json.loads(line, object_pairs_hook=lambda pairs: sorted(key for key, _ in pairs))


@pytest.mark.parametrize("write", [dump_line, dump_document])
def test_dump__takes_half_surrogate_pairs(write: Any) -> None:
    """B40: a record with half a pair must not stop the file from being written."""
    assert parse_json(write({"a\ud83d": ["ok \ud83d done \udc00"]})) == {
        "a\ufffd": ["ok \ufffd done \ufffd"]
    }


@pytest.mark.parametrize("write", [dump_line, dump_document])
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_dump__never_writes_nan(write: Any, number: float) -> None:
    """B13, on the writing side."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        write({"a": [number]})


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" * 400 + ".5"]
)
@pytest.mark.parametrize("form", ["{}", '{{"weight": {}}}', "[1, [{}]]"])
def test_parse_json__refuses_what_is_no_number(text: str, form: str) -> None:
    """B13, with the number that overflows without being a constant."""
    with pytest.raises(JsonProblem):
        parse_json(form.format(text))


@pytest.mark.parametrize("text", ["9007199254740992", "-9007199254740992", "9" * 30, "9" * 5000])
def test_parse_json__refuses_integers_that_readers_round(text: str) -> None:
    """B14: also the ones for which Python itself raises another error."""
    with pytest.raises(JsonProblem, match=r"beyond 2\^53") as caught:
        parse_json('{"n":' + text + "}")
    assert caught.value.beyond_limits
    assert len(str(caught.value)) < 200


def test_parse_json__takes_the_largest_integers() -> None:
    assert parse_json(f"[{MAX_INTEGER},{-MAX_INTEGER},-0,0]") == [MAX_INTEGER, -MAX_INTEGER, 0, 0]


@pytest.mark.parametrize(
    "text", ['{"a":1,"a":2}', '[{"b":{"x":1,"y":2,"x":1}}]', '{"\\u0061":1,"a":1}']
)
def test_parse_json__refuses_a_key_given_twice(text: str) -> None:
    with pytest.raises(JsonProblem, match="given twice"):
        parse_json(text)


@pytest.mark.parametrize("read", [str.encode, str])
def test_parse_json__drops_a_byte_order_mark(read: Any) -> None:
    """B02: bytes and text go through the same door."""
    assert parse_json(read('\ufeff{"id": "c1"}')) == {"id": "c1"}


def test_parse_json__refuses_a_mark_that_is_not_at_the_start() -> None:
    with pytest.raises(JsonProblem):
        parse_json("\ufeff\ufeff{}")
    with pytest.raises(JsonProblem):
        parse_json("{}\ufeff")


@pytest.mark.parametrize("data", [b'"caf\xe9"', b'"\xed\xa0\xbd"', b'"\xc3', b"\xff\xfe{\x00}\x00"])
def test_parse_json__refuses_what_is_not_utf8(data: bytes) -> None:
    with pytest.raises(JsonProblem, match="not UTF-8"):
        parse_json(data)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r'"ok \ud83d done \udc00"', "ok \ufffd done \ufffd"),
        (r'"\ud83d\ude00"', "\U0001f600"),
        (r'"\uD83D\uDE00 \uDE00\uD83D"', "\U0001f600 \ufffd\ufffd"),
        (r'{"k\ud800": ["\udfff"]}', {"k\ufffd": ["\ufffd"]}),
        (r'"\ud7ff\ue000"', "\ud7ff\ue000"),
        (r'"\\ud83d"', "\\ud83d"),
        ('"raw \ud83d in a text"', "raw \ufffd in a text"),
    ],
)
def test_parse_json__repairs_half_surrogate_pairs(text: str, expected: Any) -> None:
    """B40."""
    found = parse_json(text)
    assert found == expected
    assert parse_json(canonical(found)) == expected


def test_parse_json__refuses_keys_that_repair_makes_equal() -> None:
    """Two different keys of a document must never silently become one."""
    with pytest.raises(JsonProblem, match="given twice"):
        parse_json(r'{"\ud83d": 1, "\ud83e": 2}')


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_parse_json__depth(opening: str, closing: str) -> None:
    levels = MAX_DEPTH // opening.count("[" if "[" in opening else "{")
    levels = MAX_DEPTH // 2 if opening.startswith("[{") else levels
    parse_json(opening * levels + "1" + closing * levels)
    with pytest.raises(JsonProblem, match="deeper than 200") as caught:
        parse_json("[" + opening * levels + "1" + closing * levels + "]")
    assert caught.value.beyond_limits


def test_parse_json__brackets_in_texts_are_no_levels() -> None:
    value = {"a": "[" * 500, "[{" * 300: ['\\"[' * 300]}
    assert parse_json(json.dumps(value)) == value


def test_parse_json__many_brackets_that_are_not_deep() -> None:
    wide = "[" + ",".join(["[{}]"] * 1000) + "]"
    assert len(parse_json(wide)) == 1000


@pytest.mark.parametrize(
    "text",
    ["[" * 10_000_000, "[]" * 5_000_000, '{"a":' * 2_000_000, '["' + "[" * 10_000_000 + '"'],
    ids=["deep", "flat", "objects", "text"],
)
def test_parse_json__ten_megabytes_of_brackets_are_refused(text: str) -> None:
    """B14: one bad output is one failure, not a dead process."""
    with pytest.raises(JsonProblem):
        parse_json(text)


def test_parse_json__says_where() -> None:
    with pytest.raises(JsonProblem) as caught:
        parse_json('{"a": 1,\n "b": }')
    assert (caught.value.line, caught.value.column) == (2, 7)


@pytest.mark.parametrize(
    "text", ["", " ", "{", "{} {}", "[1,]", "{'a':1}", "01", "+1", ".5", "1.", "nan", "\x00"]
)
def test_parse_json__refuses_what_is_no_json(text: str) -> None:
    with pytest.raises(JsonProblem):
        parse_json(text)


@given(st.text(st.characters(exclude_categories=[]), max_size=20))
def test_clean_text__replaces_only_halves(text: str) -> None:
    cleaned = clean_text(text)
    cleaned.encode("utf-8")
    # Pairs that stand side by side become one character, all other halves U+FFFD, the rest stays.
    expected = "".join(
        "\ufffd" if "\ud800" <= char <= "\udfff" else char
        for char in text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    )
    assert cleaned == expected


@given(texts)
def test_clean_text__leaves_whole_texts_alone(text: str) -> None:
    assert clean_text(text) == text


@given(json_values)
def test_clean_value__leaves_whole_values_alone(value: Any) -> None:
    assert canonical(clean_value(value)) == canonical(value)
