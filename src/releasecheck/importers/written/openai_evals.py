"""Judges that decide as the basic eval classes of openai/evals do, over the ideals of a case.

`expected` is the list of ideals; one of them is enough. The differences between the classes are where
an ideal may stand in the completion, and what is normalized away before it is looked for.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable
from typing import Any

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def match(ask: dict[str, Any]) -> dict[str, Any]:
    """Match: the completion starts with an ideal, character by character."""
    return _any_of(ask, lambda text, ideal: text.startswith(ideal), "starts with none of")


def includes(ask: dict[str, Any]) -> dict[str, Any]:
    """Includes: an ideal stands anywhere in the completion."""
    return _any_of(ask, lambda text, ideal: ideal in text, "holds none of")


def includes_ignore_case(ask: dict[str, Any]) -> dict[str, Any]:
    """Includes with `ignore_case`: the same in lower case."""
    return _any_of(
        ask, lambda text, ideal: ideal.lower() in text.lower(), "holds none, in lower case, of"
    )


def fuzzy_match(ask: dict[str, Any]) -> dict[str, Any]:
    """FuzzyMatch: after normalization one of the two holds the other; an empty one only an empty one."""
    return _any_of(ask, _fuzzy, "neither holds nor is held by, normalized, any of")


def f1_score(ask: dict[str, Any]) -> dict[str, Any]:
    """FuzzyMatch's other number: words in common with the ideal that has most of them, by F1."""
    words = _words(_text(ask))
    best = max(_f1(words, _words(ideal)) for ideal in _ideals(ask))
    return {"value": best}


def _any_of(
    ask: dict[str, Any], holds: Callable[[str, str], bool], otherwise: str
) -> dict[str, Any]:
    text, ideals = _text(ask), _ideals(ask)
    if any(holds(text, ideal) for ideal in ideals):
        return {"value": True}
    shown = ", ".join(repr(ideal[:60]) for ideal in ideals[:5])
    return {"value": False, "reason": f"the completion {otherwise}: {shown}"}


def _text(ask: dict[str, Any]) -> str:
    if not isinstance(ask["output"], str):
        message = "the completion is {}, not a text".format(type(ask["output"]).__name__)
        raise TypeError(message)
    return str(ask["output"])


def _ideals(ask: dict[str, Any]) -> list[str]:
    ideals = ask["case"]["expected"]
    if not isinstance(ideals, list) or not ideals or not all(isinstance(i, str) for i in ideals):
        message = "`expected` must be a list of texts, the ideals"
        raise TypeError(message)
    return ideals


def _normalized(text: str) -> str:
    plain = text.lower().translate(_NO_PUNCTUATION)
    return " ".join(re.sub(r"\b(?:a|an|the)\b", " ", plain).split())


def _fuzzy(text: str, ideal: str) -> bool:
    one, other = _normalized(text), _normalized(ideal)
    if not one or not other:
        return one == other
    return one in other or other in one


def _words(text: str) -> list[str]:
    return _normalized(text).split()


def _f1(found: list[str], wanted: list[str]) -> float:
    common = sum((Counter(found) & Counter(wanted)).values())
    return 2 * common / (len(found) + len(wanted)) if common else 0.0
