"""Judges that decide as the text scorers of Inspect do, over the targets of a case.

`expected` is a target or the list of targets; one of them is enough. Which scorer it is, and with what
options, stands in the constants at the end of this file, so that they are part of the judge.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable
from typing import Any

_EDGE = string.whitespace + string.punctuation
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
LOCATION = "end"
IGNORE_CASE = True
PATTERN = ""
MATCH_ALL = False


def match(ask: dict[str, Any]) -> dict[str, Any]:
    """A target stands at `LOCATION`, white space and punctuation around both left out."""
    tests: dict[str, Callable[[str, str], bool]] = {
        "begin": lambda text, target: text.startswith(target),
        "end": lambda text, target: text.endswith(target),
        "any": lambda text, target: target in text,
        "exact": lambda text, target: text == target,
    }
    test = tests[LOCATION]
    text = _edged(_text(ask))
    return _any_of(ask, lambda target: test(text, _edged(target)), f"no match ({LOCATION})")


def includes(ask: dict[str, Any]) -> dict[str, Any]:
    """A target stands anywhere in the completion."""
    text = _folded(_text(ask))
    return _any_of(ask, lambda target: _folded(target) in text, "not included")


def exact(ask: dict[str, Any]) -> dict[str, Any]:
    """The completion is a target, both normalized word by word; a target of which nothing is left never is."""
    text = _normalized(_text(ask))
    return _any_of(ask, lambda target: bool(text) and _normalized(target) == text, "not equal")


def pattern(ask: dict[str, Any]) -> dict[str, Any]:
    """What the groups of `PATTERN` catch (or, without groups, the whole match) is a target."""
    found = re.search(PATTERN, _text(ask), re.IGNORECASE if IGNORE_CASE else 0)
    if found is None:
        return {"value": False, "reason": "the pattern does not match"}
    caught = [group for group in found.groups() or (found.group(0),) if isinstance(group, str)]
    targets = [_lower(target) for target in _targets(ask)]
    held = [group for group in caught if _lower(group) in targets]
    # A group that caught the empty text has found no answer, even where a target is empty.
    if MATCH_ALL:
        right = bool(held) and len(held) == len(caught) and any(targets)
    else:
        right = bool(held) and bool(held[0])
    if right:
        return {"value": True}
    return {"value": False, "reason": f"caught {[group[:60] for group in caught[:5]]}"}


def _any_of(ask: dict[str, Any], holds: Callable[[str], bool], otherwise: str) -> dict[str, Any]:
    targets = _targets(ask)
    if any(holds(target) for target in targets):
        return {"value": True}
    shown = ", ".join(repr(target[:60]) for target in targets[:5])
    return {"value": False, "reason": f"{otherwise}: {shown}"}


def _text(ask: dict[str, Any]) -> str:
    if not isinstance(ask["output"], str):
        message = "the completion is {}, not a text".format(type(ask["output"]).__name__)
        raise TypeError(message)
    return str(ask["output"])


def _targets(ask: dict[str, Any]) -> list[str]:
    expected = ask["case"]["expected"]
    targets = expected if isinstance(expected, list) else [expected]
    if not targets or not all(isinstance(target, str) for target in targets):
        message = "`expected` must be a text or a list of texts, the targets"
        raise TypeError(message)
    return targets


def _folded(text: str) -> str:
    return text.casefold() if IGNORE_CASE else text


def _lower(text: str) -> str:
    return text.lower() if IGNORE_CASE else text


def _edged(text: str) -> str:
    return _folded(text.strip()).strip(_EDGE)


def _normalized(text: str) -> str:
    words = (_word(word) for word in re.split("[ -]", text))
    return " ".join(word for word in words if word).strip()


def _word(word: str) -> str:
    plain = word.casefold()
    bare = plain.translate(_NO_PUNCTUATION)
    for written in (plain, plain.strip(_EDGE), bare):
        if _is_number(written):
            return str(float(written))
    return " ".join(re.sub(r"\b(?:a|an|the)\b", " ", bare).split())


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
