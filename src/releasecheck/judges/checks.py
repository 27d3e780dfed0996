"""What is wrong with a judge whatever its surroundings: said when reading the config."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from releasecheck.canonical import JsonProblem, parse_json
from releasecheck.errors import ConfigError, Problem
from releasecheck.judges.wrap import Selector
from releasecheck.model.judge import (
    CommandJudge,
    ContainsJudge,
    HttpJudge,
    JsonSchemaJudge,
    LangfuseJudge,
    LlmJudge,
    PluginJudge,
    PrecomputedJudge,
    PythonJudge,
    RegexJudge,
    has_pass_mark,
    sentinel_ids,
    value_range,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.model.judge import Judge, OthersJudge

QUERYABLE_S: Final = 30.0
"""Seconds after which a trace can usually be read in Langfuse (its guide to querying traces: 15 to 30 s)."""
LAGGING_S: Final = 600.0
"""Seconds by which its public API may be late (its API reference: about 10 minutes for paths that are not
real-time, among them `POST /ingestion` and the reading of scores)."""
BATCH_S: Final = 24 * 3600.0
"""Seconds that providers promise a batch job within."""
_ENVIRONMENT: Final = re.compile(r"(?!langfuse)[a-z0-9_-]{1,40}")


def deadline_note(spec: Judge, default_s: float) -> str | None:
    """What is to be said about a deadline that Langfuse or a batch job may not keep (S1-L2); None when it may do.

    `default_s` is the suite's, for a judge that has none of its own.
    """
    if not isinstance(spec, LangfuseJudge | LlmJudge):
        return None
    deadline = default_s if spec.deadline is None else spec.deadline
    if isinstance(spec, LlmJudge):
        if spec.mode == "direct" or deadline >= BATCH_S:
            return None
        return (
            f"scores are taken for {deadline:g} s, and a provider may take 24 hours for a batch job; "
            "`deadline: 24h` is safe"
        )
    if deadline < QUERYABLE_S:
        return (
            f"scores are taken for {deadline:g} s, and Langfuse usually shows a new trace to its evaluators "
            f"only after 15 to {QUERYABLE_S:g} s: most scores will be missing; write `deadline: 10m`"
        )
    if deadline < LAGGING_S:
        return (
            f"scores are taken for {deadline:g} s, and parts of Langfuse's public API may be about "
            f"{LAGGING_S / 60:g} minutes late; `deadline: 10m` or more is safe"
        )
    return None


def spec_problems(spec: Judge, root: Path | None = None) -> list[Problem]:
    """Everything that keeps a judge from working or makes it check nothing.

    Args:
        spec: The judge.
        root: The config's folder, to find a schema that is named and not yet read.

    Returns:
        Problems whose `key` is the key inside the judge.
    """
    return [*_input_problems(spec), *_sentinel_problems(spec), *_kind_problems(spec, root)]


def _sentinel_problems(spec: Judge) -> Iterator[Problem]:
    names = sentinel_ids(spec)
    limits = value_range(spec)
    for position, (name, one) in enumerate(zip(names, spec.sentinels, strict=True)):
        if name in names[:position]:
            yield Problem(f"the sentinel id {name!r} is used twice", key="sentinels")
        if one.expect is not None and not has_pass_mark(spec):
            message = (
                f"the sentinel {name!r} has `expect: {one.expect}`, and nothing passes or fails without "
                "a `pass_at`; give the judge one, or the sentinel `min` or `max`"
            )
            yield Problem(message, key="sentinels")
        for bound in (one.min, one.max):
            if bound is not None and limits is not None and not limits[0] <= bound <= limits[1]:
                message = (
                    f"the sentinel {name!r} has the bound {bound:g}, outside the scores of this judge, "
                    f"{limits[0]:g} to {limits[1]:g}"
                )
                yield Problem(message, key="sentinels")


def _input_problems(spec: Judge) -> Iterator[Problem]:
    for key, expression in (("input", spec.input), ("expected", spec.expected)):
        if expression is None:
            continue
        try:
            Selector(expression)
        except ValueError as error:
            line = " ".join(str(error).split())
            yield Problem(f"not a JMESPath: {line}", key=key)


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
        case LangfuseJudge():
            yield from _scale_problems(spec)
            yield from _langfuse_problems(spec)
        case PrecomputedJudge():
            yield from _scale_problems(spec)
        case LlmJudge():
            from releasecheck.judges.llm_checks import llm_problems

            yield from llm_problems(spec)
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


def _langfuse_problems(spec: LangfuseJudge) -> Iterator[Problem]:
    name = spec.environment
    if name is not None and "${" not in name and not _ENVIRONMENT.fullmatch(name):
        message = (
            f"{name[:60]!r} is no name of a Langfuse environment: at most 40 of a-z, 0-9, - and _, not "
            "beginning with langfuse"
        )
        yield Problem(message, key="environment")
    low, high = spec.scale or (None, None)
    for category, value in spec.values.items():
        if low is not None and high is not None and not low <= value <= high:
            message = f"{category!r} is {value:g}, outside the judge's scale, {low:g} to {high:g}"
            yield Problem(message, key="values")
    if not spec.score.strip() or "," in spec.score:
        message = f"expected the name of one score, found {spec.score!r}"
        yield Problem(message, key="score")


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
