"""The lines of a file of scores: read strictly, every line that is none named with its place."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from releasecheck.canonical import MAX_INTEGER, JsonProblem, parse_json
from releasecheck.errors import ConfigError, Problem
from releasecheck.judges.outcome import shown

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.model.judge import PrecomputedJudge

Key: TypeAlias = tuple[str, int | None]
"""Case and trial from 0; None where a line names none."""
MOST_PROBLEMS: Final = 50
"""Bad lines that are looked for before the file is given up."""


class ScoreLine(NamedTuple):
    """What one line says."""

    line: int
    trial: int | None
    value: float | bool | None
    """None: not judged yet."""
    explanation: str | None
    output_digest: str | None
    """Of the answer that was judged; None where the line does not say."""


Scores: TypeAlias = dict[Key, tuple[ScoreLine, ...]]
"""By case and trial, in the order of the file; the same thing said again stands once."""


def read_scores(path: Path, spec: PrecomputedJudge) -> Scores:
    """The scores that are for this judge; none where there is no file yet.

    Raises:
        ConfigError: every line that is no score, by its number, whichever judge it is for.
    """
    found: Scores = {}
    problems: list[Problem] = []
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                text = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
                if not text.strip():
                    continue
                try:
                    _take(found, number, parse_json(text), spec.id)
                except JsonProblem as problem:
                    problems.append(_at(spec, number, f"no JSON: {problem.message}"))
                except _NoScore as error:
                    problems.append(_at(spec, number, str(error)))
                if len(problems) >= MOST_PROBLEMS:
                    break
    except FileNotFoundError:
        return {}
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise ConfigError([Problem(message, spec.path, key="path")]) from None
    if problems:
        raise ConfigError(problems)
    return found


def file_problems(root: Path, spec: PrecomputedJudge) -> list[Problem]:
    """What is wrong with the file now, if it is there."""
    path = root / spec.path
    if not path.exists() and not spec.wait:
        message = f"{spec.path!r} is not there; write the scores into it, or `wait: true` when they are to come later"
        return [Problem(message, key="path")]
    try:
        read_scores(path, spec)
    except ConfigError as error:
        return list(error.problems)
    return []


class _NoScore(ValueError):
    """What is wrong with a line."""


def _at(spec: PrecomputedJudge, number: int, message: str) -> Problem:
    return Problem(message, spec.path, number, key="path")


def _take(found: Scores, number: int, row: Json, judge: str) -> None:
    if not isinstance(row, dict):
        message = f"expected an object, found {shown(row)}"
        raise _NoScore(message)
    case = row.get("id")
    if not isinstance(case, str) or not case:
        message = f"`id` names the case, found {shown(case)}"
        raise _NoScore(message)
    if "value" not in row:
        message = "there is no `value`; write null where nobody has judged yet"
        raise _NoScore(message)
    named = _text(row, "judge")
    line = ScoreLine(
        number, _trial(row), _value(row), _text(row, "explanation"), _text(row, "output_digest")
    )
    if named is not None and named != judge:
        return
    before = found.get((case, line.trial), ())
    if not any(same[2:] == line[2:] for same in before):
        found[case, line.trial] = (*before, line)


def _value(row: dict[str, Any]) -> float | bool | None:
    value = row["value"]
    if value is not None and not isinstance(value, bool | int | float):
        message = f"`value` is a number, true, false or null; found {shown(value)}"
        raise _NoScore(message)
    if isinstance(value, float) and not math.isfinite(value):
        message = f"`value` must be finite, found {value}"
        raise _NoScore(message)
    return value


def _text(row: dict[str, Any], key: str) -> str | None:
    value = row.get(key)
    if value is not None and not isinstance(value, str):
        message = f"`{key}` is a text, found {shown(value)}"
        raise _NoScore(message)
    return value or None


def _trial(row: dict[str, Any]) -> int | None:
    """`trial` counts from 0, `epoch` from 1."""
    counted = []
    for key, first in (("trial", 0), ("epoch", 1)):
        value = row.get(key)
        if value is None:
            continue
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not first <= value <= MAX_INTEGER:
            message = f"`{key}` is a whole number from {first}, found {shown(value)}"
            raise _NoScore(message)
        counted.append(value - first)
    if len(set(counted)) > 1:
        message = f"`trial` {row['trial']} and `epoch` {row['epoch']} are not the same trial"
        raise _NoScore(message)
    return counted[0] if counted else None
