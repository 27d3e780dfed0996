"""From what a judging model wrote to its verdict: tolerant of its manners, strict about its meaning.

Read is one JSON object with one score, alone, in a fence, or with prose around it. Whatever leaves a doubt
about the score is a failure: it is never guessed, never 0 and never moved onto the scale (B56, B58, B61).
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn

from releasecheck.judges.outcome import cannot, kind, shown

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.model.score import JudgeFailed

SCORE_KEYS: Final = ("score", "value", "rating")
"""Under which of its keys an object may hold the score."""
REASON_KEYS: Final = ("reasoning", "reason", "explanation")
"""The same for the reason."""
LONGEST_VERDICT: Final = 200_000
"""Characters of an answer that are read."""
LONGEST_INTEGER: Final = 400
"""Characters of one integer; a double has at most 309 digits before the point."""
_EXPECTED: Final = 'expected one JSON object such as {"reasoning": "...", "score": 1}'
_THOUGHT: Final = re.compile(r"\A\s*<think(?:ing)?>.*</think(?:ing)?>", re.DOTALL)
_FENCE: Final = re.compile(r"\s*```[A-Za-z]*\s*(.*?)\s*```\s*", re.DOTALL)
# {a, b} in a sentence. A score written without quotes, or half an object, has one of these characters.
_PROSE_BRACES: Final = re.compile(r"\{[^{}\"':=]*\}")


class Verdict(NamedTuple):
    """One vote."""

    score: float
    """From 0 to 1."""
    reason: str | None


class _Doubtful(ValueError):
    """JSON that says two things, or no number."""


def read_verdict(
    text: str, scale: tuple[float, float], quoted: str | None = None
) -> Verdict | JudgeFailed:
    """Read an answer.

    Args:
        text: What the model wrote.
        scale: The lowest and the highest score it was asked for.
        quoted: What it was shown as the output: an object that stands in there word for word, with prose
            around it in the answer, may be a quotation. None where it is not at hand; then prose after the
            object is such a doubt.
    """
    if len(text) > LONGEST_VERDICT:
        return _unclear(
            f"the answer has {len(text)} characters; at most {LONGEST_VERDICT} are read"
        )
    said = _THOUGHT.sub("", text, count=1).strip()
    if not said:
        return _unclear("the model wrote nothing")
    try:
        found = _objects(said)
    except _Doubtful as doubtful:
        return _unclear(f"{doubtful}; found {shown(said)}")
    except RecursionError:
        return _unclear("nested too deeply")
    scored = [one for one in found if any(key in one.value for key in SCORE_KEYS)]
    if not scored:
        what = f"an object with the keys {_keys(found[0].value)}" if found else shown(said)
        return _unclear(f"no score in the answer; found {what}")
    if quotation := _quotation(said, scored, quoted):
        return _unclear(quotation)
    scores = [one.value[key] for one in scored for key in SCORE_KEYS if key in one.value]
    value = _number(scores, scale)
    if not isinstance(value, float):
        return value
    low, high = scale
    return Verdict((value - low) / (high - low), _reason(scored[-1].value))


class _Found(NamedTuple):
    value: dict[str, Json]
    raw: str
    end: int


def _objects(text: str) -> list[_Found]:
    """Every outermost JSON object in a text, if all that looks like JSON in it is some."""
    decoder = json.JSONDecoder(
        object_pairs_hook=_unique, parse_constant=_no_number, parse_int=_integer
    )
    fenced = _FENCE.fullmatch(text)
    _refuse_list(fenced[1] if fenced else text)
    found: list[_Found] = []
    at = 0
    while (start := _next_brace(text, at)) >= 0:
        if braces := _prose(text, start):
            at = braces.end()
            continue
        try:
            value, at = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            # Not skipped: inside of half an object there may be a whole one that means something else.
            message = f"braces that are no JSON ({error.msg}, character {error.pos})"
            raise _Doubtful(message) from None
        found.append(_Found(value, text[start:at], at))
    return found


def _next_brace(text: str, at: int) -> int:
    opening, closing = text.find("{", at), text.find("}", at)
    if closing >= 0 and (opening < 0 or closing < opening):
        message = "a closing brace without its object"
        raise _Doubtful(message)
    return opening


def _refuse_list(text: str) -> None:
    if not text.startswith("["):
        return
    try:
        value = json.loads(text)
    except ValueError:
        return
    message = f"the answer is {kind(value)}, not an object"
    raise _Doubtful(message)


def _prose(text: str, start: int) -> re.Match[str] | None:
    """Braces of a sentence or a formula, and no object that was meant."""
    found = _PROSE_BRACES.match(text, start)
    if found is None or found[0] == "{}" or any(key in found[0].lower() for key in SCORE_KEYS):
        return None
    return found


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(pairs)
    if len(made) < len(pairs):
        message = "a key stands in an object twice"
        raise _Doubtful(message)
    return made


def _integer(digits: str) -> int:
    # Python converts no more than some thousand digits, and its error is no JSONDecodeError.
    if len(digits) > LONGEST_INTEGER:
        message = f"a number of {len(digits)} digits"
        raise _Doubtful(message)
    return int(digits)


def _no_number(name: str) -> NoReturn:
    message = f"{name} is no number"
    raise _Doubtful(message)


def _quotation(said: str, scored: list[_Found], quoted: str | None) -> str | None:
    """Why an object may be another's words: quoted from the output, not the model's verdict."""
    fence = _FENCE.fullmatch(said)
    if (fence[1] if fence else said) == scored[0].raw:
        return None
    if quoted is not None:
        if any(one.raw in quoted for one in scored):
            return "the object with the score stands word for word in the judged output"
        return None
    after = said[scored[-1].end :].strip().removeprefix("```").strip()
    return f"text after the object with the score: {shown(after)}" if after else None


def _number(scores: list[Json], scale: tuple[float, float]) -> float | JudgeFailed:
    numbers: list[float] = []
    for one in scores:
        if isinstance(one, bool) and scale == (0.0, 1.0):
            numbers.append(float(one))
        elif isinstance(one, bool) or not isinstance(one, int | float):
            return _unclear(f"the score is {kind(one)}, {shown(one)}; expected a number")
        else:
            try:
                numbers.append(float(one))
            except OverflowError:
                return _unclear("the score is too large for a number")
    # Before any comparison: NaN is on no side of a bound.
    if not all(map(math.isfinite, numbers)):
        return _unclear("the score is not finite")
    if len(set(numbers)) > 1:
        said = ", ".join(f"{one!r}" for one in numbers[:5])
        return _unclear(f"several scores that differ: {said}")
    low, high = scale
    if not low <= numbers[0] <= high:
        message = (
            f"the score {numbers[0]!r} is outside the scale {low:g} to {high:g} that was asked for"
        )
        return cannot("outside_scale", message)
    return numbers[0]


def _reason(found: dict[str, Json]) -> str | None:
    said = next((found[key] for key in REASON_KEYS if key in found), None)
    return said.strip() or None if isinstance(said, str) else None


def _keys(found: dict[str, Json]) -> str:
    return ", ".join(sorted(found)[:10]) or "none"


def _unclear(message: str) -> JudgeFailed:
    return cannot("unreadable_verdict", f"no clear verdict: {message}; {_EXPECTED}")
