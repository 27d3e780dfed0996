"""JSON that two programs agree on: strict reading, one way of writing, digests (RFC 8785).

Reading refuses what other readers refuse (NaN, Infinity, numbers that overflow to infinity, duplicate
keys, more than 200 levels, integers beyond 2^53 - 1) and repairs what no writer can store (half
surrogate pairs become U+FFFD). Sources: RFC 8259, RFC 7493 (I-JSON), RFC 8785.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from codecs import BOM_UTF8
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

import msgspec
import rfc8785

from releasecheck.errors import ReleaseCheckError

if TYPE_CHECKING:
    from collections.abc import Iterable

Json: TypeAlias = Any
"""A JSON value: dict, list, str, int, float, bool or None, all the way down."""

MAX_DEPTH: Final = 200
"""Levels of nesting read; a deeper document is refused by name instead of exhausting the stack."""
MAX_INTEGER: Final = 2**53 - 1
"""The largest integer that every JSON reader keeps (I-JSON)."""


class JsonProblem(ReleaseCheckError, ValueError):
    """Text is not the strict JSON we read; `str()` says where and why, without the content."""

    exit_code = 3

    def __init__(
        self,
        message: str,
        *,
        line: int | None = None,
        column: int | None = None,
        beyond_limits: bool = False,
    ) -> None:
        self.message, self.line, self.column = message, line, column
        self.beyond_limits = beyond_limits
        """Legal JSON, but deeper or with larger integers than what is read here."""
        super().__init__(message)


def decode_text(data: bytes) -> str:
    """Decode UTF-8 with or without a byte-order mark: the one way bytes become text here."""
    # Many times faster than the codec `utf-8-sig`.
    return data.removeprefix(BOM_UTF8).decode("utf-8")


def clean_text(text: str) -> str:
    """Replace half surrogate pairs, which no UTF-8 file can hold, with U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def refuse_constant(name: str) -> NoReturn:
    """Refuse `NaN` and `Infinity`, which Python's own reader takes (B13)."""
    message = f"{name} is not JSON; expected a finite number"
    raise JsonProblem(message)


def _read_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        message = f"the number {text[:40]} is too large; expected a finite number"
        raise JsonProblem(message)
    return value


def _read_int(text: str) -> int:
    if len(text) > 17 or abs(int(text)) > MAX_INTEGER:
        message = (
            f"the integer {text[:24]}{'...' if len(text) > 24 else ''} is beyond 2^53 - 1, where JSON "
            "readers disagree; write it as text"
        )
        raise JsonProblem(message, beyond_limits=True)
    return int(text)


def _unique_pairs(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                message = f"the key {key[:80]!r} is given twice in one object"
                raise JsonProblem(message)
            seen.add(key)
    return found


_compact = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")
)
_indented = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False, indent=2)
_decoder = json.JSONDecoder(
    parse_constant=refuse_constant,
    parse_float=_read_float,
    parse_int=_read_int,
    object_pairs_hook=_unique_pairs,
)


def _too_deep(levels: int) -> JsonProblem:
    return JsonProblem(f"nested deeper than {levels} levels", beyond_limits=True)


def _deeper_than(limit: int, value: Json) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        if not level:
            return False
        level = [
            item
            for outer in level
            for item in (outer if isinstance(outer, list) else outer.values())
            if type(item) is list or type(item) is dict
        ]
    return bool(level)


def parse_json(text: str | bytes, *, levels: int = MAX_DEPTH) -> Json:
    """Read one strict JSON document of at most so many levels.

    Raises:
        JsonProblem: with the line and column inside `text` where they are known.
    """
    if isinstance(text, bytes):
        try:
            text = decode_text(text)
        except UnicodeDecodeError as error:
            message = f"not UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}"
            raise JsonProblem(message) from None
    else:
        text = clean_text(text.removeprefix("\ufeff"))
    try:
        value = _decoder.decode(text)
    except json.JSONDecodeError as error:
        raise JsonProblem(error.msg, line=error.lineno, column=error.colno) from None
    except RecursionError:
        raise _too_deep(levels) from None
    # Only a text with very many brackets can be too deep, so levels are rarely counted.
    if text.count("[") + text.count("{") > levels and _deeper_than(levels, value):
        raise _too_deep(levels)
    if "\\u" in text and ("\\ud" in text or "\\uD" in text):
        value = clean_value(value)
    return value


_own = msgspec.json.Decoder()


def parse_own(line: bytes) -> Json:
    """Read one line that this package wrote itself, many times faster than `parse_json`.

    It refuses NaN and what is no JSON; keys given twice and integers beyond 2^53 - 1 it lets through,
    so what comes from outside is read with `parse_json`, or has a digest over its bytes.

    Raises:
        JsonProblem: it is no JSON.
    """
    try:
        return _own.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        message = str(error)
        raise JsonProblem(message) from None


def clean_value(value: Json) -> Json:
    """`value` with every text (keys too) passed through `clean_text`.

    Raises:
        JsonProblem: two keys of one object become the same.
    """
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [clean_value(item) for item in value]
    if isinstance(value, dict):
        return _unique_pairs([(clean_text(key), clean_value(item)) for key, item in value.items()])
    return value


class _Rare(Exception):
    """A value that the standard encoder writes differently from RFC 8785, or not at all."""


def _plain(value: Json) -> Json:
    """`value` in the form in which the standard encoder writes what RFC 8785 wants.

    Whole floats become integers (`1.0` is `1`). Numbers that need an exponent, numbers no JSON can hold,
    keys that are no texts and types of others are `_Rare`.
    """
    kind = type(value)
    if value is None or kind is str or kind is bool:
        return value
    if kind is float:
        if value.is_integer():
            if abs(value) <= MAX_INTEGER:
                return int(value)
        elif 1e-4 <= abs(value) < 1e16:  # Python and ECMAScript write these alike
            return value
    elif kind is int:
        if abs(value) <= MAX_INTEGER:
            return value
    elif kind is list or kind is tuple:
        return [item if type(item) is str else _plain(item) for item in value]
    elif kind is dict and all(type(key) is str for key in value):
        return {key: item if type(item) is str else _plain(item) for key, item in value.items()}
    raise _Rare


_LONG_NUMBER: Final = re.compile(r"\d{16}")
_BEYOND_BASIC_PLANE: Final = re.compile("[\U00010000-\U0010ffff]")
"""Where the order of keys by code points (ours) and by UTF-16 units (RFC 8785) may differ."""


def _to_prepare(text: str) -> bool:
    return ".0" in text or "e-" in text or "e+" in text or _LONG_NUMBER.search(text) is not None


def canonical(value: Json, *, from_json: bool = False) -> bytes:
    """The one canonical UTF-8 form of a JSON value (RFC 8785).

    `from_json` says that the value was read from JSON, or built like it: every key is a text.

    Raises:
        JsonProblem: for what JSON cannot hold (NaN, integers beyond 2^53 - 1, other types).
    """
    # The standard library's encoder is many times faster than rfc8785, and what it writes differently
    # shows in the text: whole floats, exponents, long integers. A text that only looks like one of
    # them takes the slower way, which prepares the numbers first.
    try:
        if type(value) is str:
            return encode_basestring(value).encode("utf-8")
        text = _compact.encode(value if from_json else _plain(value))
        if from_json and _to_prepare(text):
            text = _compact.encode(_plain(value))
        if text.isascii() or not _BEYOND_BASIC_PLANE.search(text):
            return text.encode("utf-8")
    except (_Rare, TypeError, ValueError, RecursionError):
        pass  # rfc8785 writes it, or names what is wrong
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError) as error:
        message = f"no canonical JSON for this value: {type(error).__name__}: {error}"
        raise JsonProblem(message) from None


def digest(value: Json, *, from_json: bool = False) -> str:
    """`sha256:<hex>` over the canonical form (see there for `from_json`)."""
    return digest_bytes(canonical(value, from_json=from_json))


def digest_bytes(data: bytes) -> str:
    """`sha256:<hex>` over bytes as they are."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def digest_chunks(chunks: Iterable[bytes]) -> str:
    """`sha256:<hex>` over bytes that come in pieces."""
    state = hashlib.sha256()
    for chunk in chunks:
        state.update(chunk)
    return "sha256:" + state.hexdigest()


def json_text(value: Json) -> str:
    """A value inside of a line that `dump_line` would write."""
    if value is None:
        return "null"
    return encode_basestring(value) if type(value) is str else _compact.encode(value)


def dump_line(value: Json) -> bytes:
    """One line of JSON Lines: sorted keys, UTF-8, no NaN, newline at the end."""
    return _encoded(_compact, value)


def dump_document(value: Json) -> bytes:
    """A JSON file for people and programs: sorted keys, two spaces, newline at the end."""
    return _encoded(_indented, value)


def _encoded(encoder: json.JSONEncoder, value: Json) -> bytes:
    text = encoder.encode(value)
    try:
        return text.encode("utf-8") + b"\n"
    except (
        UnicodeEncodeError
    ):  # half a surrogate pair must not stop a file from being written (B40)
        return encoder.encode(clean_value(value)).encode("utf-8") + b"\n"
