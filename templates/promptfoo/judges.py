"""Assertions of promptfoo that no judge of releasecheck knows; written by `releasecheck import promptfoo`.

Each function judges one answer against the part of `expected` that its judge names, and gives true or
false. Only the standard library is needed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # Python 3.8 may run this, which cannot subscript it
    Found = tuple[bool, str]


def text_of(output: Any) -> str:
    """The answer as a text; what is none is written as JSON."""
    if isinstance(output, str):
        return output
    return json.dumps(output, ensure_ascii=False, separators=(",", ":"))


def _refuse_constant(name: str) -> Any:
    message = f"{name} is not JSON"
    raise ValueError(message)


def _parsed(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse_constant)


def _equals(text: str, value: Any) -> Found:
    return text == str(value), f"expected {value!r}"


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(_same(a, b) for a, b in zip(left, right))  # noqa: B905 - of one length
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[k], right[k]) for k in left)
    return bool(left == right)


def _equals_json(text: str, value: Any) -> Found:
    try:
        found = _parsed(text)
    except (ValueError, RecursionError):
        return False, "the answer is not JSON"
    return _same(found, value), f"expected the JSON value {json.dumps(value)}"


def _contains(text: str, value: Any) -> Found:
    absent = [one for one in value if one not in text]
    return not absent, f"not found: {absent!r}"


def _icontains(text: str, value: Any) -> Found:
    folded = text.lower()
    absent = [one for one in value if one.lower() not in folded]
    return not absent, f"not found: {absent!r}"


def _contains_any(text: str, value: Any) -> Found:
    return any(one in text for one in value), f"none of {value!r} was found"


def _icontains_any(text: str, value: Any) -> Found:
    folded = text.lower()
    return any(one.lower() in folded for one in value), f"none of {value!r} was found"


def _starts_with(text: str, value: Any) -> Found:
    return text.startswith(value), f"it does not start with {value!r}"


def _ends_with(text: str, value: Any) -> Found:
    return text.endswith(value), f"it does not end with {value!r}"


def distance(left: str, right: str, most: int) -> int:
    """Edits between two texts; `most` + 1 where there are more than `most`."""
    if abs(len(left) - len(right)) > most:
        return most + 1
    beyond = most + 1
    before = [j if j <= most else beyond for j in range(len(right) + 1)]
    for i, a in enumerate(left, 1):
        first, last = max(1, i - most), min(len(right), i + most)
        row = [beyond] * (len(right) + 1)
        if i <= most:
            row[0] = i
        for j in range(first, last + 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != right[j - 1]), beyond)
        before = row
    return before[len(right)]


def _levenshtein(text: str, value: Any) -> Found:
    most = int(value["most"])
    found = distance(text, value["text"], most)
    return found <= most, f"more than {most} edits away from {value['text']!r}"


def _word_count(text: str, value: Any) -> Found:
    found = len(text.split())
    fits = value.get("min", 0) <= found <= value.get("max", found)
    return fits, f"it has {found} words"


def _is_json(text: str, value: Any) -> Found:
    try:
        _parsed(text)
    except (ValueError, RecursionError):
        return False, "the answer is not JSON"
    return True, ""


def _regex(text: str, value: Any) -> Found:
    return re.search(value, text) is not None, "the pattern does not match"


CHECKS: dict[str, Callable[[str, Any], Found]] = {
    "equals": _equals,
    "equals-json": _equals_json,
    "contains": _contains,
    "icontains": _icontains,
    "contains-any": _contains_any,
    "icontains-any": _icontains_any,
    "starts-with": _starts_with,
    "ends-with": _ends_with,
    "levenshtein": _levenshtein,
    "word-count": _word_count,
    "is-json": _is_json,
    "regex": _regex,
}


def _answer(found: Found) -> dict[str, Any]:
    passed, why = found
    return {"value": passed} if passed else {"value": False, "reason": why}


def _judge(check: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def judge(call: dict[str, Any]) -> dict[str, Any]:
        return _answer(CHECKS[check](text_of(call["output"]), call["case"]["expected"]))

    return judge


equals_json = _judge("equals-json")
contains_any = _judge("contains-any")
icontains_any = _judge("icontains-any")
starts_with = _judge("starts-with")
ends_with = _judge("ends-with")
levenshtein = _judge("levenshtein")
word_count = _judge("word-count")


def _share(text: str, group: dict[str, Any]) -> tuple[float, bool, list[str]]:
    """Weighted share of what holds in a group, whether that is enough, and what does not hold."""
    got = weights = 0.0
    against: list[str] = []
    failed = False
    for one in group["asserts"]:
        weight = float(one.get("weight", 1))
        if "asserts" in one:
            share, passed, below = _share(text, one)
            against += below
        else:
            passed, why = CHECKS[one["type"]](text, one.get("value"))
            if one.get("negate"):
                passed, why = not passed, f"it must not hold: {one['type']}"
            share = 1.0 if passed else 0.0
            if not passed:
                against.append(why)
        got, weights = got + share * weight, weights + weight
        failed = failed or (not passed and weight != 0)
    share = got / weights if weights else 0.0
    threshold = group.get("threshold")
    return share, (not failed if threshold is None else share >= threshold), against


def threshold(call: dict[str, Any]) -> dict[str, Any]:
    """Whether enough of a group of assertions holds, by their weights."""
    share, passed, against = _share(text_of(call["output"]), call["case"]["expected"])
    why = f"{share:.4g} of the weight holds; {'; '.join(against[:5]) or 'all of it'}"
    return {"value": passed, "reason": why}
