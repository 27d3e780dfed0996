"""What is wrong with a judge whatever its surroundings: said when reading the config."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.canonical import JsonProblem, parse_json
from releasecheck.errors import ConfigError, Problem
from releasecheck.judges.wrap import Selector
from releasecheck.model.judge import (
    CommandJudge,
    ContainsJudge,
    HttpJudge,
    JsonSchemaJudge,
    LangfuseJudge,
    PluginJudge,
    PrecomputedJudge,
    PythonJudge,
    RegexJudge,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.model.judge import Judge, OthersJudge


def spec_problems(spec: Judge, root: Path | None = None) -> list[Problem]:
    """Everything that keeps a judge from working or makes it check nothing.

    Args:
        spec: The judge.
        root: The config's folder, to find a schema that is named and not yet read.

    Returns:
        Problems whose `key` is the key inside the judge.
    """
    return [*_input_problems(spec), *_kind_problems(spec, root)]


def _input_problems(spec: Judge) -> Iterator[Problem]:
    if spec.input is None:
        return
    try:
        Selector(spec.input)
    except ValueError as error:
        line = " ".join(str(error).split())
        yield Problem(f"not a JMESPath: {line}", key="input")


def _kind_problems(spec: Judge, root: Path | None) -> Iterator[Problem]:
    match spec:
        case RegexJudge():
            yield from _pattern_problems(spec)
        case JsonSchemaJudge():
            yield from _schema_problems(spec, root)
        case ContainsJudge():
            yield from _value_problems(spec)
        case PythonJudge() | CommandJudge() | HttpJudge() | PluginJudge():
            yield from _scale_problems(spec)
        case LangfuseJudge() | PrecomputedJudge():
            yield from _scale_problems(spec)
        case _:
            return


def _pattern_problems(spec: RegexJudge) -> Iterator[Problem]:
    import regex

    from releasecheck.judges.regex import compile_pattern

    if not spec.pattern:
        yield Problem("an empty pattern matches every text; it checks nothing", key="pattern")
    try:
        compile_pattern(spec)
    except regex.error as error:
        yield Problem(f"not a regular expression: {error}: {spec.pattern!r}", key="pattern")


def _schema_problems(spec: JsonSchemaJudge, root: Path | None) -> Iterator[Problem]:
    from releasecheck.judges.schema import schema_problems

    try:
        schema = read_schema(spec, root)
    except ConfigError as error:
        yield from error.problems
        return
    path = spec.schema_ if isinstance(spec.schema_, str) else None
    for message in schema_problems(schema):
        yield Problem(message, path, key="schema")


def _value_problems(spec: ContainsJudge) -> Iterator[Problem]:
    from releasecheck.judges.normalize import normalizer, text_of

    if spec.value is not None and not normalizer(spec.normalize)(text_of(spec.value) or ""):
        yield Problem(
            f"{spec.value!r} is empty once normalized, and so is in every text; it checks nothing",
            key="value",
        )


def _scale_problems(
    spec: OthersJudge | LangfuseJudge | PrecomputedJudge,
) -> Iterator[Problem]:
    if spec.scale is None or spec.pass_at is None:
        return
    low, high = spec.scale
    if not low <= spec.pass_at <= high:
        message = f"{spec.pass_at:g} is outside the judge's scale, {low:g} to {high:g}"
        yield Problem(message, key="pass_at")


def read_schema(spec: JsonSchemaJudge, root: Path | None) -> Json:
    """The schema of a json-schema judge, from its file where only the name is there.

    Raises:
        ConfigError: the file is missing or holds no JSON.
    """
    name = spec.schema_
    if not isinstance(name, str):
        return name
    if root is None:
        raise ConfigError([Problem(f"the schema {name!r} needs the config's folder", key="schema")])
    try:
        return parse_json((root / name).read_bytes())
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise ConfigError([Problem(message, name, key="schema")]) from None
    except JsonProblem as problem:
        at = Problem(f"not JSON: {problem}", name, problem.line, problem.column, "schema")
        raise ConfigError([at]) from None
