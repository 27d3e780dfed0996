"""pydantic's findings as problems for a person: place, what was found, what was expected.

The models stay the one description of a suite; this module only walks them for the names of keys.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final, get_args

from pydantic import BaseModel, ValidationError

from releasecheck.config.nodes import (
    ListNode,
    Loc,
    MapNode,
    Node,
    Scalar,
    key_text,
    node_at,
    problem_at,
)
from releasecheck.errors import Problem
from releasecheck.model.nearest import listing, nearest
from releasecheck.model.suite import Suite

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic_core import ErrorDetails

_OTHER_WORDS: Final = {
    "data": "cases", "dataset": "cases", "datasets": "cases", "tests": "cases",
    "assert": "judges", "asserts": "judges", "assertions": "judges", "evaluators": "judges",
    "metrics": "judges", "scorers": "judges", "provider": "target", "providers": "target",
    "name": "suite", "thresholds": "gates", "shell": "run", "command": "run", "args": "run",
    "cmd": "run", "endpoint": "url", "minimum": "min", "maximum": "max", "prompt": "messages",
}  # fmt: skip
"""What other tools call our keys."""
_CONTRACT: Final = (
    "evaluator@1 is refused, and every http judge must speak evaluator@2 "
    "(docs/evaluator-protocol.md)"
)
_PRIVATE: Final = {"headers", "env", "api_key", "body"}
"""Keys whose values are never shown."""
_PATTERNS: Final = {
    "^[a-z0-9][a-z0-9_-]{0,62}$": "lower-case letters, digits, `_` and `-`, at most 63",
    "^[a-z0-9][a-z0-9-]{0,62}$": "lower-case letters, digits and `-`, at most 63",
    r"^(all|any|majority|[1-9][0-9]*-of-[1-9][0-9]*)$": "all, any, majority or k-of-n as in 2-of-3",
    r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$": "a function as package.module:name",
    r"^\d+(\.\d+)?%$": "a percentage such as 0.1%",
}
_KINDS: Final = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "list_type": "a list",
    "tuple_type": "a list",
    "finite_number": "a finite number",
}
_BOUNDS: Final = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "of at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "of at most"),
}


def explain(error: ValidationError, document: Node) -> list[Problem]:
    """Every finding as a problem, in the order of the file; findings on one value become one."""
    grouped: dict[tuple[Loc, bool], list[ErrorDetails]] = {}
    for detail in error.errors(include_url=False, include_input=False):
        loc = _written(document, detail)
        grouped.setdefault((loc, detail["type"] == "extra_forbidden"), []).append(detail)
    problems = [_one(document, loc, details) for (loc, _), details in grouped.items()]
    return sorted(problems, key=lambda problem: (problem.line or 0, problem.column or 0))


def _written(document: Node, detail: ErrorDetails) -> Loc:
    """The place in the document: without the names of union members that pydantic puts between."""
    node: Node = document
    loc: Loc = ()
    parts = detail["loc"]
    for position, part in enumerate(parts):
        last = position == len(parts) - 1
        if isinstance(node, MapNode) and isinstance(part, str):
            tag = node.entries.get("type")
            is_tag = tag and isinstance(tag.node, Scalar) and tag.node.value == part
            at_union = loc == ("target",) or (len(loc) == 2 and loc[0] == "judges")
            if is_tag and at_union and parts[position - 1] != part and not last:
                continue
            if part in node.entries:
                node, loc = node.entries[part].node, (*loc, part)
            elif last and detail["type"] == "missing":
                loc = (*loc, part)
        elif isinstance(node, ListNode) and isinstance(part, int) and part < len(node.items):
            node, loc = node.items[part], (*loc, part)
    return loc


def _one(document: Node, loc: Loc, details: list[ErrorDetails]) -> Problem:
    found, _ = node_at(document, loc)
    first = details[0]
    kind = first["type"]
    context: Mapping[str, Any] = first.get("ctx") or {}
    if kind == "extra_forbidden":
        _, place = node_at(document, loc)
        return Problem(
            _unknown_key(document, loc, found), place.path, place.line, place.column, key_text(loc)
        )
    if kind == "missing":
        parent = "the file" if len(loc) == 1 else f"`{key_text(loc[:-1])}`"
        message = f"the key `{loc[-1]}` is missing; {parent} needs it"
        if len(loc) == 1:
            message += _hidden_section(document, str(loc[0]))
    elif kind == "union_tag_not_found":
        types = listing(_tags(loc), shown=20)
        message = f"the key `type` is missing; expected one of {types}"
    elif kind == "union_tag_invalid":
        loc = (*loc, "type")
        message = _unknown_type(loc, str(context["tag"]))
    elif kind == "value_error":
        message = str(context.get("error", first["msg"]))
    else:
        expected = " or ".join(dict.fromkeys(_expected(detail) for detail in details))
        message = f"expected {expected}, found {describe(found, private=_is_private(loc))}"
        message += _advice(expected, found, context)
    return problem_at(document, loc, message)


def describe(node: Node, *, private: bool = False) -> str:
    """A value for a message: short, and only its kind when it may be private."""
    match node:
        case Scalar(value=None):
            return "null"
        case Scalar(value=str(text)):
            shown = text if len(text) <= 40 else text[:37] + "..."
            return "a text" if private else f"the text {shown!r}"
        case Scalar(value=bool(value)):
            return "true" if value else "false"
        case Scalar(value=number):
            return "a number" if private else f"the number {number}"
        case ListNode(items=items):
            return f"a list of {len(items)}" if items else "an empty list"
        case MapNode():
            return "a mapping"


def _is_private(loc: Loc) -> bool:
    return any(part in _PRIVATE for part in loc)


def _expected(detail: ErrorDetails) -> str:
    kind, context = detail["type"], detail.get("ctx") or {}
    if kind in _KINDS:
        return _KINDS[kind]
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return f"a number {words} {context[name]:g}"
    if kind == "literal_error":
        return f"one of {context['expected'].replace(' or ', ', ')}"
    if kind == "string_pattern_mismatch":
        return _PATTERNS.get(context["pattern"], f"a text matching {context['pattern']}")
    if kind == "too_short":
        return f"at least {context['min_length']} entry"
    return detail["msg"]


def _advice(expected: str, found: Node, context: Mapping[str, Any]) -> str:
    if not isinstance(found, Scalar):
        return ""
    value = found.value
    if isinstance(value, str):
        if "number" in expected and re.fullmatch(r"[-+]?\d+,\d+", value):
            return f"; write {value.replace(',', '.')} with a point"
        if "number" in expected and re.fullmatch(r"[-+]?[\d.]+\s*%", value):
            return "; write it as a fraction, such as 0.8 for 80 %"
        if "number" in expected or "true" in expected:
            return "; write it without quotes" if _looks_plain(value) else ""
        near = nearest(value, re.findall(r"'([^']+)'", str(context.get("expected", ""))))
        return f"; did you mean {near!r}?" if near else ""
    return "; quote it" if expected == "text" and value is not None else ""


def _looks_plain(text: str) -> bool:
    return bool(re.fullmatch(r"[-+]?[\d.]+(e-?\d+)?|true|false", text))


def _unknown_type(loc: Loc, found: str) -> str:
    types = _tags(loc[:-1])
    if found.startswith("evaluator@"):
        return f"{found[:60]!r} is no type of judge: it is called 'http' here; {_CONTRACT}"
    near = nearest(found, types)
    hint = f"; did you mean {near!r}?" if near else ""
    return f"expected one of {listing(types, shown=20)}, found {found[:60]!r}{hint}"


def _hidden_section(document: Node, name: str) -> str:
    """For a missing section: the one that stands an indent too deep."""
    for key, entry in document.entries.items() if isinstance(document, MapNode) else ():
        inside = entry.node
        if isinstance(inside, MapNode) and name in inside.entries:
            return f" (there is one inside `{key}`, in line {inside.entries[name].place.line})"
    return ""


def _unknown_key(document: Node, loc: Loc, value: Node) -> str:
    key, here = str(loc[-1]), _keys_at(document, loc[:-1])
    message = f"unknown key `{key[:60]}`"
    sections = _sections_inside(value)
    if loc[0] == "cases" and len(loc) == 3 and key in {"id", "input", "expected", "vars", "tags"}:
        message += "; a case stands in a dataset file, `cases` names the files as `path:`"
    elif loc[0] == "judges" and key == "contract":
        message += f"; leave it out: {_CONTRACT}"
    elif (other := _OTHER_WORDS.get(key)) and other in here:
        message += f"; it is called `{other}` here"
    elif types := _other_types(loc):
        message += f"; only the type {listing(types, shown=20)} has it"
    elif near := nearest(key, here):
        message += f"; did you mean `{near}`?"
    elif place := _home_of(key):
        message += f"; {place}"
    else:
        message += f"; the keys here are {', '.join(here)}"
    if sections:
        message += (
            f" (it holds `{sections[0]}` in line {sections[1]}, which belongs at the top level)"
        )
    return message


def _other_types(loc: Loc) -> list[str]:
    """Types of targets or judges that do have a key which this one has not."""
    at_union = (len(loc) == 2 and loc[0] == "target") or (len(loc) == 3 and loc[0] == "judges")
    models = _models_in(Suite.model_fields[str(loc[0])].annotation) if at_union else []
    return [tag for model in models if loc[-1] in _keys_of(model) for tag in _tag_of(model)]


def _sections_inside(node: Node) -> tuple[str, int] | None:
    """A known section hidden under a key that is unknown: one indent too many (B22)."""
    entries = node.entries if isinstance(node, MapNode) else {}
    for key, entry in entries.items():
        if key in {"judges", "gates", "target", "cases"}:
            return key, entry.place.line
    return None


def _home_of(key: str) -> str | None:
    """Where a key that is unknown here is known, exactly or nearly."""
    homes = _homes()
    name = key if key in homes else nearest(key, homes, cutoff=0.8)
    if name is None:
        return None
    where = homes[name]
    start = f"`{name}` belongs" if name == key else f"did you mean `{name}`? It belongs"
    return f"{start} {where}"


@cache
def _homes() -> dict[str, str]:
    homes: dict[str, str] = {}
    named = (("target", "in `target`"), ("judges", "in a judge"), ("gates", "in a gate"),
             ("cases", "in an entry of `cases`"))  # fmt: skip
    for field, words in named:
        for model in _models_in(Suite.model_fields[field].annotation):
            for key in _keys_of(model):
                homes.setdefault(key, words)
    for key in (*_keys_of(Suite), "extends", "profiles"):
        homes[key] = "at the top level"
    return homes


def _keys_of(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _models_in(annotation: object) -> list[type[BaseModel]]:
    """Every model in an annotation, in reading order."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]


def _tag_of(model: type[BaseModel]) -> tuple[str, ...]:
    field = model.model_fields.get("type")
    return get_args(field.annotation) if field else ()


def _tags(loc: Loc) -> list[str]:
    field = Suite.model_fields[str(loc[0])]
    return [tag for model in _models_in(field.annotation) for tag in _tag_of(model)]


def _keys_at(document: Node, loc: Loc) -> list[str]:
    """The keys that a mapping at `loc` may have."""
    models: Iterable[type[BaseModel]] = [Suite]
    for position, part in enumerate(loc):
        if isinstance(part, int):
            continue
        below = [
            inner
            for model in models
            for name, field in model.model_fields.items()
            if (field.alias or name) == part
            for inner in _models_in(field.annotation)
        ]
        depth = position + (2 if part == "judges" and len(loc) > position + 1 else 1)
        node, _ = node_at(document, loc[:depth])
        tag = plain_type(node)
        models = [model for model in below if tag in _tag_of(model)] or below
    keys = [key for model in models for key in _keys_of(model)]
    return list(dict.fromkeys(keys if loc else [*keys, "extends", "profiles"]))


def plain_type(node: Node) -> object:
    """The value of a mapping's `type`."""
    entry = node.entries.get("type") if isinstance(node, MapNode) else None
    return entry.node.value if entry and isinstance(entry.node, Scalar) else None
