"""From what a target sent to an output: strict JSON, an answer that is really one, what it used."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import jmespath
from jmespath.exceptions import JMESPathError

from releasecheck.canonical import JsonProblem, clean_text, parse_json
from releasecheck.errors import ConfigError, Problem
from releasecheck.model.record import LONGEST_FINGERPRINT, NO_USAGE, Usage

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.model.target import UsagePaths

Search: TypeAlias = Callable[[Any], Any]
SURROGATES: Final = "surrogates_replaced"
BYTES: Final = "bytes_replaced"
CHARSET: Final = "charset_unknown"
USAGE: Final = "usage_unreadable"
LONGEST_TRACE_ID: Final = 200
_UNDER_THEIR_NAME: Final = [
    "utf-8",
    "utf-16",
    "utf-16le",
    "utf-16be",
    "utf-32",
    "utf-32le",
    "utf-32be",
    "shift-jis",
    "iso-2022-jp",
    "euc-jp",
    "euc-kr",
    "gb18030",
    "big5",
    "big5-hkscs",
    "koi8-r",
    "koi8-u",
    "macintosh",
    "cp437",
    "cp850",
    "cp866",
    "cp932",
    "cp949",
]
CHARSETS: Final[Mapping[str, str]] = {
    **{name: name for name in _UNDER_THEIR_NAME},
    # ISO 8859-12 was never made.
    **{f"iso-8859-{part}": f"iso-8859-{part}" for part in (*range(1, 12), *range(13, 17))},
    **{f"cp{number}": f"cp{number}" for number in range(1250, 1259)},
    **{f"windows-{number}": f"cp{number}" for number in (874, *range(1250, 1259))},
    **dict.fromkeys(("utf8", "us-ascii", "ascii"), "utf-8"),
    **dict.fromkeys(("latin-1", "latin1", "iso8859-1"), "iso-8859-1"),
    **dict.fromkeys(("gb2312", "gbk", "x-gbk", "euc-cn"), "gb18030"),
    **dict.fromkeys(("sjis", "x-sjis"), "shift-jis"),
    "windows-31j": "cp932",
    "ks-c-5601-1987": "cp949",
}
"""Python's name for each charset that is read. A codec of Python's own choice by a name from outside
may unpack, escape or raise."""
_SIMPLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_ESCAPED_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


class Read(NamedTuple):
    """A value that was read, and what had to be repaired."""

    value: Json
    notes: tuple[str, ...] = ()


def read_json(data: bytes) -> Read:
    """Read strict JSON; half surrogate pairs are replaced and noted (B40).

    Raises:
        JsonProblem: it is none, or beyond what is read.
    """
    value = parse_json(data)
    # Rare, so the count may be slow: more replacement characters came out than went in.
    if b"\\u" in data and _ESCAPED_SURROGATE.search(data.decode("utf-8")):
        given = data.decode("utf-8")
        before = given.count("\ufffd") + given.lower().count("\\ufffd")
        if json.dumps(value, ensure_ascii=False).count("\ufffd") > before:
            return Read(value, (SURROGATES,))
    return Read(value)


def read_text(data: bytes, charset: str = "utf-8") -> Read:
    """Read text; bytes that are none are replaced and noted, and so is a charset that is not read."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    codec = CHARSETS.get(charset.strip().lower().replace("_", "-"))
    notes: tuple[str, ...] = () if codec else (CHARSET,)
    try:
        text = data.decode(codec or "utf-8")
    except UnicodeDecodeError:
        text, notes = data.decode(codec or "utf-8", "replace"), (*notes, BYTES)
    cleaned = clean_text(text)
    return Read(cleaned, notes if cleaned == text else (*notes, SURROGATES))


def json_problem(problem: JsonProblem) -> str:
    """The words of a JSON problem with its place."""
    if problem.line is None:
        return problem.message
    return f"{problem.message} (line {problem.line}, column {problem.column})"


def search(expression: str, key: str) -> Search:
    """Compile a JMESPath expression.

    Raises:
        ConfigError: naming the config key and the place in the expression.
    """
    try:
        compiled = jmespath.compile(expression)
    except JMESPathError as error:
        message = f"{expression!r} is no JMESPath expression: {' '.join(str(error).split())}"
        raise ConfigError([Problem(message, key=key)]) from None
    if not _SIMPLE.fullmatch(expression):
        return compiled.search
    # By far the most common kind, and ten times faster without the interpreter.
    names = expression.split(".")

    def walk(value: Any) -> Any:  # noqa: ANN401
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    return walk


class UsageReader:
    """Finds tokens and cost in an answer (G-31)."""

    def __init__(self, paths: UsagePaths | None) -> None:
        """Compile the paths of the config; without any, known API shapes are read."""
        tokens = paths.tokens if paths else None
        cost = paths.cost_usd if paths else None
        self._tokens = search(tokens, "target.usage.tokens") if tokens else _known_tokens
        self._cost = search(cost, "target.usage.cost_usd") if cost else _known_cost

    def read(self, answer: Json) -> tuple[Usage, tuple[str, ...]]:
        """What a call used, None where it is not said, and a note where it makes no sense."""
        if not isinstance(answer, dict):
            return NO_USAGE, ()
        try:
            tokens, cost = self._tokens(answer), self._cost(answer)
        except JMESPathError:
            return NO_USAGE, (USAGE,)
        if tokens is None and cost is None:
            return NO_USAGE, ()
        usage = Usage(_whole(tokens), _amount(cost))
        lost = (tokens is None) != (usage.tokens is None) or (cost is None) != (
            usage.cost_usd is None
        )
        return usage, (USAGE,) if lost else ()


def _known_tokens(answer: Json) -> Json:
    usage = answer.get("usage")
    if not isinstance(usage, dict):
        return None
    for name in ("total_tokens", "tokens"):
        if usage.get(name) is not None:
            return usage[name]
    for names in (("prompt_tokens", "completion_tokens"), ("input_tokens", "output_tokens")):
        parts = [usage[name] for name in names if _amount(usage.get(name)) is not None]
        if parts:
            return sum(parts)
    return None


def _known_cost(answer: Json) -> Json:
    usage = answer.get("usage")
    if usage is None and "cost_usd" not in answer and "cost" not in answer:
        return None
    for place in (usage if isinstance(usage, dict) else {}, answer):
        for name in ("cost_usd", "cost"):
            # Some answers have an object or a text there that is no amount of ours.
            if _amount(place.get(name)) is not None:
                return place[name]
    return None


def _amount(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None


def _whole(value: Json) -> int | None:
    amount = _amount(value)
    return None if amount is None or amount != int(amount) else int(amount)


def add(one: Usage, other: Usage) -> Usage:
    """The usage of two calls; what only one of them says is that one's."""
    if other is NO_USAGE:
        return one
    if one is NO_USAGE:
        return other
    return Usage(_sum(one.tokens, other.tokens), _sum(one.cost_usd, other.cost_usd))


def _sum(one: Any, other: Any) -> Any:  # noqa: ANN401 - int with int, float with float
    if one is None or other is None:
        return other if one is None else one
    return one + other


def trace_id(value: Json) -> str | None:
    """A trace id as text, when it is one."""
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        return None
    return str(value)[:LONGEST_TRACE_ID]


def fingerprint(*said: Json) -> str | None:
    """Which model answered, of all that an answer says of it: `gpt-x-2026-08 / fp_1`."""
    parts = [
        str(one).strip() for one in said if isinstance(one, str | int) and not isinstance(one, bool)
    ]
    known = " / ".join(part for part in parts if part)[:LONGEST_FINGERPRINT]
    # A name of the same kind everywhere: what cannot be seen would make two of one.
    return (
        "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in known)
        or None
    )
