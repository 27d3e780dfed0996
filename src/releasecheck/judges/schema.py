"""`json-schema`: the output is valid. Schemas that are broken or check nothing are refused (B31).

jsonschema-rs validates: `format` is enforced and unknown formats are errors, patterns are matched in
bounded time, and nothing is fetched (docs/decisions/0004-judge-libraries.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

import jsonschema_rs
from typing_extensions import override

from releasecheck.canonical import JsonProblem, parse_json
from releasecheck.judges.keywords import Oddity, oddities, walk
from releasecheck.judges.outcome import YES, ImmediateJudge, cannot, no
from releasecheck.model.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.canonical import Json
    from releasecheck.model.score import JudgeAnswer
    from releasecheck.ports import JudgeCase

_TOO_HARD: Final = (
    jsonschema_rs.ValidationErrorKind.BacktrackLimitExceeded,
    jsonschema_rs.ValidationErrorKind.RegexEngineFailure,
)
_LOOKED_AT: Final = 20
"""Errors of one output that are read; the first is shown."""


class JsonSchema(ImmediateJudge):
    """Validates the output; a text is read as JSON first, always."""

    def __init__(self, schema: Json) -> None:
        self._validator = validator(schema)

    @override
    def score(self, output: Json, case: JudgeCase) -> JudgeAnswer:
        if isinstance(output, str):
            try:
                output = parse_json(output)
            except JsonProblem as problem:
                if problem.beyond_limits:
                    return cannot("unreadable", f"the text is JSON that is not read: {problem}")
                return no(f"the text is not JSON: {problem}")
        if self._validator.is_valid(output):
            return YES
        return self._explain(output)

    def _explain(self, output: Json) -> JudgeAnswer:
        first: str | None = None
        for error, _ in zip(self._validator.iter_errors(output), range(_LOOKED_AT), strict=False):
            if isinstance(error.kind, _TOO_HARD):
                return cannot(
                    "timeout", "a pattern of the schema took too many steps on this output"
                )
            place = "".join(f"[{part!r}]" for part in error.instance_path)
            first = first or f"{'at ' + place + ': ' if place else ''}{error.message}"
        return no(first or "the schema does not allow it")


def validator(schema: Json) -> jsonschema_rs.Validator:
    """A validator that asserts formats and fetches nothing.

    Raises:
        ValueError: the schema is not valid under its draft, or refers to something outside.
    """
    made = jsonschema_rs.validator_for(
        schema, validate_formats=True, ignore_unknown_formats=False, retriever=_fetch_nothing
    )
    if not isinstance(made, jsonschema_rs.Validator):
        raise TypeError(type(made).__name__)
    return made


def _fetch_nothing(uri: str) -> NoReturn:
    message = f"nothing is fetched, and {uri!r} is not in this schema; copy it into $defs"
    raise ValueError(message)


def schema_problems(schema: Json) -> Iterator[str]:
    """What is wrong with a schema: broken, with words that no draft knows, or without any check."""
    if not isinstance(schema, bool | dict):
        yield "a JSON Schema is an object, or false; found " + type(schema).__name__
        return
    try:
        validator(schema)
    except ValueError as error:
        yield "not a valid JSON Schema: " + " ".join(str(error).split())[:300]
        return
    for oddity in oddities(schema):
        yield _in_words(oddity)
    if not _linear(schema) and any("if" in part for _, part in walk(schema)):
        yield (
            "a pattern with look-around or a back-reference in a schema with `if`: it may take too many "
            "steps, and `if` would take that for no; use other patterns, or a judge of type regex"
        )


def _linear(schema: Json) -> bool:
    """Whether all patterns can be matched in a time that grows with the text only."""
    try:
        jsonschema_rs.validator_for(
            schema, retriever=_fetch_nothing, pattern_options=jsonschema_rs.RegexOptions()
        )
    except ValueError:
        return False
    return True


def _in_words(oddity: Oddity) -> str:
    match oddity.what:
        case "empty":
            return "the schema allows everything, so it checks nothing; say what must hold"
        case "beside_ref":
            return (
                f"{oddity.place}: {oddity.word!r} stands beside $ref, where this draft ignores it; "
                "use allOf"
            )
        case "unknown":
            return (
                f"{oddity.place}: unknown keyword {oddity.word!r}, which would check nothing"
                f"{did_you_mean(oddity.word, oddity.known)} (own annotations start with x-)"
            )
