"""`docs/reference/configuration.md`: every key of a suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, get_args

from releasecheck.model.gate import BUILTIN_METRICS, CaseFilter, GateSpec, NoRegression
from releasecheck.model.judge import Judge, JudgeBase, Rubric, Sentinel, When
from releasecheck.model.suite import (
    BaselineRule,
    Budget,
    CaseFiles,
    FieldMap,
    Quarantined,
    Settle,
    Suite,
    Waiver,
)
from releasecheck.model.target import StartSpec, Target, TargetBase, UsagePaths
from releasecheck.schemas import json_schema
from tests.reference.fragments import JUDGES, SECTIONS, TARGETS, WHOLE
from tests.reference.kinds import code, default, kind
from tests.reference.markdown import fence, page, prose, table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pydantic import BaseModel

HEAD: Final = ("key", "what it takes", "default", "meaning")
PLACES: Final[dict[type[BaseModel], str]] = {
    CaseFiles: "cases[]",
    FieldMap: "cases[].fields",
    StartSpec: "target.start",
    UsagePaths: "target.usage",
    When: "judges[].when",
    Sentinel: "judges[].sentinels[]",
    Rubric: "rubric of a judge llm",
    GateSpec: "gates[]",
    CaseFilter: "gates[].cases",
    NoRegression: "gates[].no_regression",
    BaselineRule: "baseline",
    Settle: "settle",
    Budget: "budget",
    Quarantined: "quarantine[]",
    Waiver: "waivers[]",
}
"""Headings; those of a section's parts stand below it, in this order."""
NAMED: Final = {model.__name__: place for model, place in PLACES.items()}
"""The same by the names that the schema has for them."""
INTRODUCTION: Final = """
Every key of `releasecheck.yaml`, as `releasecheck schema config` says it to editors. The guide is
[Configuration](../configuration.md). A key that is not here is an error.

- *duration*: `250ms`, `30s`, `5m`, `1h30m`, `2d`, or a number of seconds.
- *size*: `512MB`, `2GiB`, or a number of bytes.
- *rate*: `600/min`, `5/s`, `1000/h`, or a number of calls per second.
- *default* is what counts where the key is left out; *none* says that nothing does.
"""


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and MyST make it."""
    kept = (char for char in heading.lower() if char.isalnum() or char in "-_ ")
    return "".join(kept).replace(" ", "-")


def link(name: str) -> str:
    """How a definition of the schema is referred to."""
    if name == "Profile":
        return "any keys of a suite"
    place = NAMED[name]
    return f"[{place}](#{slug(place)})"


class _Schema:
    """The schema of the config, taken apart."""

    def __init__(self) -> None:
        self._shared: dict[str, Any] = json_schema("config")["$defs"]

    def of(self, model: type[BaseModel]) -> dict[str, Any]:
        """The part that one model stands for."""
        found: dict[str, Any] = self._shared["WholeSuite" if model is Suite else model.__name__]
        return found

    def rows(self, model: type[BaseModel], names: Collection[str]) -> Iterator[tuple[str, ...]]:
        """A row for each of some keys of a model."""
        part = self.of(model)
        required = part.get("required", ())
        for name in names:
            one = part["properties"][name]
            yield (
                f"`{name}`",
                _takes(model, name, one),
                "required" if name in required else default(_inner(one)),
                prose(one["description"]),
            )


def _inner(schema: dict[str, Any]) -> dict[str, Any]:
    """What a key that may be left out takes when it is not, with the key's default."""
    inside = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    return {**inside[0], **schema} if len(inside) == 1 else schema


def _takes(model: type[BaseModel], name: str, schema: dict[str, Any]) -> str:
    if model is Suite and name in {"target", "judges"}:
        return (
            "a [target](#target)"
            if name == "target"
            else "list of: [judges](#judges), at least one"
        )
    return kind(schema, link, null=False)


def _keys(model: type[BaseModel], outside: type[BaseModel] | None = None) -> list[str]:
    known = set(outside.model_fields) if outside else set()
    return [
        field.alias or name
        for name, field in model.model_fields.items()
        if name not in known and name != "type"
    ]


def _section(schema: _Schema, model: type[BaseModel], level: str = "##") -> Iterator[str]:
    place = PLACES[model]
    yield f"{level} {place}"
    yield prose(schema.of(model)["description"])
    yield table(HEAD, schema.rows(model, _keys(model)))


def _example(name: str) -> str:
    return fence("yaml", SECTIONS[name])


def _variants(
    schema: _Schema, union: Any, base: type[BaseModel], word: str, examples: dict[str, str]
) -> Iterator[str]:
    """A section for each kind of target or judge, with the keys that only some kinds have."""
    for model in get_args(get_args(union)[0]):
        names = get_args(model.model_fields["type"].annotation)
        yield f"### {word} {', '.join(names)}"
        yield prose(schema.of(model)["description"])
        keys = _keys(model, base)
        if keys:
            yield table(HEAD, schema.rows(model, keys))
        yield fence("yaml", examples[names[0]])


def _targets(schema: _Schema) -> Iterator[str]:
    model = get_args(get_args(Target)[0])[0]
    yield "## target"
    kinds = [name for one in get_args(get_args(Target)[0]) for name in get_args(one.model_fields["type"].annotation)]  # fmt: skip
    yield f"What is checked. `type` says which kind: {', '.join(map(code, kinds))}. Every kind takes these keys too:"
    yield table(HEAD, schema.rows(model, _keys(TargetBase)))
    yield _example("target")
    yield from _section(schema, StartSpec, "###")
    yield from _section(schema, UsagePaths, "###")
    yield from _variants(schema, Target, TargetBase, "target", TARGETS)


def _judges(schema: _Schema) -> Iterator[str]:
    models = get_args(get_args(Judge)[0])
    kinds = [name for one in models for name in get_args(one.model_fields["type"].annotation)]
    yield "## judges"
    yield f"What scores each answer. `type` says which kind: {', '.join(map(code, kinds))}. Every kind takes these keys too:"
    yield table(HEAD, schema.rows(models[0], _keys(JudgeBase)))
    yield _example("judges")
    yield from _section(schema, When, "###")
    yield from _section(schema, Sentinel, "###")
    yield from _variants(schema, Judge, JudgeBase, "judge", JUDGES)
    yield from _section(schema, Rubric, "###")


def _gates(schema: _Schema) -> Iterator[str]:
    yield from _section(schema, GateSpec)
    metrics = ", ".join(map(code, BUILTIN_METRICS))
    yield (
        "Exactly one of `min`, `max`, `require` and `no_regression` makes the rule. "
        f"Metrics without a judge: {metrics}."
    )
    yield _example("gates")
    yield from _section(schema, CaseFilter, "###")
    yield from _section(schema, NoRegression, "###")


def _parts() -> Iterator[str]:
    schema = _Schema()
    yield INTRODUCTION.strip()
    yield fence("yaml", WHOLE)
    yield "## top level"
    names = [*_keys(Suite), "extends", "profiles"]
    yield table(HEAD, schema.rows(Suite, names))
    yield "`extends` and `profiles` put several files together: [Configuration](../configuration.md)."
    yield _example("together")
    yield from _section(schema, CaseFiles)
    yield _example("cases")
    yield from _section(schema, FieldMap, "###")
    yield from _targets(schema)
    yield from _judges(schema)
    yield from _gates(schema)
    for model, name in ((BaselineRule, "baseline"), (Settle, "settle"), (Budget, "budget"), (Quarantined, "quarantine"), (Waiver, "waivers")):  # fmt: skip
        yield from _section(schema, model)
        yield _example(name)


def configuration_page() -> str:
    """The page."""
    return page("Configuration reference", *_parts())
