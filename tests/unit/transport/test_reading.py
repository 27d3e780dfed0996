"""Strict JSON, usage and trace ids of what targets send (B13, B14, B26, B40, G-31)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from releasecheck.canonical import JsonProblem, dump_line
from releasecheck.errors import ConfigError
from releasecheck.model.record import NO_USAGE, Usage
from releasecheck.model.target import UsagePaths
from releasecheck.transport.reading import (
    CHARSETS,
    UsageReader,
    add,
    read_json,
    read_text,
    search,
    trace_id,
)
from tests.strategies import json_values


@given(json_values)
def test_read_json__reads_what_was_written(value: Any) -> None:
    read = read_json(dump_line(value))
    assert read.value == value
    assert read.notes == ()


@pytest.mark.parametrize(
    ("data", "value", "notes"),
    [
        (rb'"ok \ud83d done \udc00"', "ok \ufffd done \ufffd", ("surrogates_replaced",)),
        (rb'{"\ud83d": 1}', {"\ufffd": 1}, ("surrogates_replaced",)),
        (rb'"\ud83d\ude00"', "\U0001f600", ()),
        (rb'"\\ud83d"', "\\ud83d", ()),
        (rb'"\ufffd and \ud83d\ude00"', "\ufffd and \U0001f600", ()),
        (b'\xef\xbb\xbf"bom"', "bom", ()),
    ],
)
def test_read_json__half_surrogates_are_replaced_and_noted(
    data: bytes, value: object, notes: tuple[str, ...]
) -> None:
    read = read_json(data)
    assert (read.value, read.notes) == (value, notes)
    dump_line(read.value)  # can be stored


@pytest.mark.parametrize(
    "data",
    [b"NaN", b'{"a": -Infinity}', b"1e999", b"[" * 20000, b'{"n":' + b"9" * 5000 + b"}", b"\xff"],
)
def test_read_json__refuses_what_other_readers_refuse(data: bytes) -> None:
    with pytest.raises(JsonProblem):
        read_json(data)


@pytest.mark.parametrize(
    ("data", "charset", "text", "notes"),
    [
        (b"caf\xc3\xa9", "utf-8", "café", ()),
        (b"caf\xe9", "latin-1", "café", ()),
        (b"caf\xe9", "utf-8", "caf\ufffd", ("bytes_replaced",)),
        (b"caf\xc3\xa9", "no-such-charset", "café", ("charset_unknown",)),
        (b"caf\xe9", "no-such-charset", "caf\ufffd", ("charset_unknown", "bytes_replaced")),
        (b"caf\xe9", "ISO_8859-1", "café", ()),
        (b"caf\xe9", "Windows-1252", "café", ()),
        ("blå".encode("utf-16"), "utf-16", "blå", ()),
        ("日本".encode("shift_jis"), "Shift_JIS", "日本", ()),
        ("日本".encode("euc_jp"), "euc-jp", "日本", ()),
        ("中文".encode("gb18030"), "gb2312", "中文", ()),
        ("中文".encode("big5"), "big5", "中文", ()),
        ("чай".encode("koi8-r"), "koi8-r", "чай", ()),
        (b"\x00", "utf-16", "\ufffd", ("bytes_replaced",)),
        (b"\xef\xbb\xbfx", "utf-8", "x", ()),
        (b"", "utf-8", "", ()),
    ],
)
def test_read_text__any_bytes_become_a_text(
    data: bytes, charset: str, text: str, notes: tuple[str, ...]
) -> None:
    read = read_text(data, charset)
    assert (read.value, read.notes) == (text, notes)


@pytest.mark.parametrize(
    "charset",
    ["undefined", "idna", "punycode", "hex", "zlib", "base64", "bz2", "rot13", "quopri", "utf-7",
     "unicode_escape", "raw_unicode_escape", "mbcs", "oem", "charmap", "a\0b", "x" * 5000, "\ud800",
     "ut\u017f-8", ""],
)  # fmt: skip
def test_read_text__a_stranger_chooses_no_codec(charset: str) -> None:
    """B40: a name from a header is looked up in our own list; what is not in it is read as UTF-8."""
    read = read_text(b"xn--caf\xc3\xa9 \\x41\xff", charset)
    assert read.value == "xn--café \\x41\ufffd"
    assert read.notes == ("charset_unknown", "bytes_replaced")


def test_charsets__all_exist_and_replace_what_they_cannot_read() -> None:
    for codec in CHARSETS.values():
        assert isinstance(bytes(range(256)).decode(codec, "replace"), str)
        assert isinstance("a".encode(codec).decode(codec), str)


@pytest.mark.parametrize(
    ("answer", "usage"),
    [
        ({"usage": {"total_tokens": 12, "prompt_tokens": 9}}, Usage(12, None)),
        ({"usage": {"prompt_tokens": 9, "completion_tokens": 3}}, Usage(12, None)),
        ({"usage": {"input_tokens": 9, "output_tokens": 3}}, Usage(12, None)),
        ({"usage": {"tokens": 5, "cost": 0.25}}, Usage(5, 0.25)),
        ({"cost": 0.5}, Usage(None, 0.5)),
        ({"cost_usd": 0}, Usage(None, 0.0)),
        ({"cost": {"currency": "EUR"}}, NO_USAGE),
        ({"usage": None}, NO_USAGE),
        ({"usage": "none"}, NO_USAGE),
        ([1], NO_USAGE),
        ("text", NO_USAGE),
    ],
)
def test_usage__known_shapes_are_read_and_silence_is_never_zero(
    answer: object, usage: Usage
) -> None:
    assert UsageReader(None).read(answer) == (usage, ())


@pytest.mark.parametrize("tokens", [-1, 1.5, "12", True])
def test_usage__what_is_no_number_of_tokens_is_noted_not_counted(tokens: object) -> None:
    found = UsageReader(None).read({"usage": {"total_tokens": tokens}})
    assert found == (NO_USAGE, ("usage_unreadable",))


def test_usage__paths_of_the_config() -> None:
    reader = UsageReader(UsagePaths(tokens="meta.n", cost_usd="sum(meta.costs)"))
    assert reader.read({"meta": {"n": 7, "costs": [1, 2]}})[0] == Usage(7, 3.0)
    assert reader.read({"meta": {"n": 7, "costs": "x"}}) == (NO_USAGE, ("usage_unreadable",))
    assert reader.read({"usage": {"total_tokens": 3}}) == (NO_USAGE, ("usage_unreadable",))


def test_add__unknown_and_known_is_known() -> None:
    assert add(NO_USAGE, Usage(3, None)) == Usage(3, None)
    assert add(Usage(3, 0.5), Usage(4, None)) == Usage(7, 0.5)
    assert add(Usage(None, 0.5), Usage(4, 0.25)) == Usage(4, 0.75)
    assert add(NO_USAGE, NO_USAGE) == NO_USAGE


@pytest.mark.parametrize(
    ("expression", "value"),
    [("a", 0), ("b.c", False), ("b.d", ""), ("b.x", None), ("x.y.z", None), ("a.b", None)],
)
def test_search__simple_paths_agree_with_jmespath(expression: str, value: object) -> None:
    """B26: zero, false and an empty text are found; absent is null."""
    document = {"a": 0, "b": {"c": False, "d": ""}}
    assert search(expression, "k")(document) == value
    assert search(f"{expression} | @", "k")(document) == value


def test_search__not_into_lists_and_texts() -> None:
    for document in ([{"a": 1}], "text", None, 3):
        assert search("a", "k")(document) is None


def test_search__a_wrong_expression_names_its_key() -> None:
    with pytest.raises(ConfigError, match=r"target\.output: .*no JMESPath"):
        search("a[", "target.output")


@pytest.mark.parametrize(
    ("value", "found"),
    [("t1", "t1"), (17, "17"), ("", None), (None, None), (True, None), ({"a": 1}, None)],
)
def test_trace_id__a_text_or_a_number(value: object, found: str | None) -> None:
    assert trace_id(value) == found


def test_trace_id__is_bounded() -> None:
    assert len(trace_id("x" * 10_000) or "") == 200
