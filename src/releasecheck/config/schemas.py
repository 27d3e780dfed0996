"""Schemas that judges name as files: read strictly and frozen into the suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from releasecheck.canonical import JsonProblem, digest_bytes, parse_json
from releasecheck.config.nodes import MapNode, problem_at
from releasecheck.config.text import read_bytes, to_text
from releasecheck.errors import ConfigError, Problem
from releasecheck.model.judge import JsonSchemaJudge
from releasecheck.model.suite import Suite

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.model.judge import Judge


_STAND_IN: Final = {"type": "object"}
"""For a schema that could not be read, so that later checks find nothing more to say about it."""


def freeze_schemas(
    suite: Suite, document: MapNode, root: Path, files: dict[str, str]
) -> tuple[Suite, list[Problem]]:
    """`suite` with the content of schema files in place of their names.

    Whether the content is a valid schema is for the judge to say; here it is JSON, read once.
    Digests of the files read are added to `files`.
    """
    problems: list[Problem] = []
    judges: list[Judge] = []
    for position, judge in enumerate(suite.judges):
        loc = ("judges", position, "schema")
        if isinstance(judge, JsonSchemaJudge) and isinstance(judge.schema_, str):
            try:
                schema, found = _read(root, judge.schema_, files)
            except ConfigError as error:
                reason = f"the schema {judge.schema_!r}: {error.problems[0].message}"
                problems.append(problem_at(document, loc, reason))
                judges.append(judge.model_copy(update={"schema_": _STAND_IN}))
                continue
            if found is not None:
                problems.append(found)
            judges.append(judge.model_copy(update={"schema_": schema}))
        else:
            judges.append(judge)
    return suite.model_copy(update={"judges": tuple(judges)}), problems


def _read(root: Path, name: str, files: dict[str, str]) -> tuple[object, Problem | None]:
    path = root / name
    data = read_bytes(path)
    shown = path.as_posix()
    text = to_text(data, shown)
    files[name] = digest_bytes(data)
    try:
        schema = parse_json(text)
    except JsonProblem as error:
        message = f"this schema is not JSON: {error.message}"
        return _STAND_IN, Problem(message, shown, error.line, error.column)
    if not isinstance(schema, dict | bool):
        message = "expected a JSON Schema (an object, true or false) in this file"
        return _STAND_IN, Problem(message, shown, 1, 1)
    return schema, None
