"""What a JSON Schema says of a value, in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from releasecheck.model.base import IDENTIFIER, duration_words
from releasecheck.schemas.config import AS_WRITTEN

if TYPE_CHECKING:
    from collections.abc import Callable

Schema = dict[str, Any]
_WRITTEN: Final = {
    tuple(schema["examples"]): name
    for name, schema in zip(("duration", "size", "rate"), AS_WRITTEN.values(), strict=True)
}
_PATTERNS: Final = {
    IDENTIFIER: "name: lower-case letters, digits, `_` and `-`",
    r"^[a-z0-9][a-z0-9-]{0,62}$": "name: lower-case letters, digits and `-`",
    r"^(all|any|majority|[1-9][0-9]*-of-[1-9][0-9]*)$": "`all`, `any`, `majority`, or as in `2-of-3`",
    r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$": "text as in `package.module:function`",
    r"^\d+(\.\d+)?%$": "text as in `0.1%`",
    r"^sha256:[0-9a-f]{64}$": "digest",
    r"\S": "text, not empty",
    r"^\s*\{\{[\s\S]*\}\}\s*$": "one expression, `{{ ... }}`",
}
"""Patterns of the models in words; another one is shown as it is."""
_SIMPLE: Final = {"boolean": "true or false", "null": "null"}
_NUMBERS: Final = {"integer": "whole number", "number": "number"}
_BOUNDS: Final = (
    ("minimum", "at least"), ("exclusiveMinimum", "above"),
    ("maximum", "at most"), ("exclusiveMaximum", "below"),
)  # fmt: skip
_LARGEST: Final = 2**53 - 1


def code(value: object) -> str:
    """A value as JSON, in backticks."""
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def kind(schema: Schema, link: Callable[[str], str], *, null: bool = True) -> str:
    """What may stand there; `link` says how a definition is referred to, `null` whether null is named."""
    if "$ref" in schema:
        return link(schema["$ref"].rpartition("/")[2])
    if tuple(schema.get("examples", ())) in _WRITTEN:
        return _WRITTEN[tuple(schema["examples"])]
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            parts = [one for one in schema[choice] if null or one.get("type") != "null"]
            return " or ".join(dict.fromkeys(kind(one, link) for one in parts))
    if "const" in schema:
        return code(schema["const"])
    if "enum" in schema:
        return _choice([code(one) for one in schema["enum"]])
    found = schema.get("type")
    if isinstance(found, list):
        return " or ".join(
            kind({**schema, "type": one}, link) for one in found if null or one != "null"
        )
    return _of_type(str(found), schema, link)


def _of_type(found: str, schema: Schema, link: Callable[[str], str]) -> str:
    if found in _SIMPLE:
        return _SIMPLE[found]
    if found in _NUMBERS:
        bounds = [
            f"{words} {schema[key]:g}"
            for key, words in _BOUNDS
            if key in schema and schema[key] != _LARGEST
        ]
        return ", ".join([_NUMBERS[found], *bounds])
    if found == "string":
        if schema.get("format") == "date-time":
            return "time"
        if "pattern" in schema:
            return _PATTERNS.get(schema["pattern"], f"text that matches {code(schema['pattern'])}")
        return "text, not empty" if schema.get("minLength") else "text"
    if found == "array":
        if "prefixItems" in schema:
            inside = " and ".join(kind(one, link) for one in schema["prefixItems"])
            return f"list of two: {inside}"
        least = ", at least one" if schema.get("minItems") else ""
        return f"list of: {kind(schema.get('items', {}), link)}{least}"
    if found == "object":
        if "properties" in schema:
            return f"mapping of {', '.join(map(code, schema['properties']))}"
        values = schema.get("additionalProperties", True)
        return "mapping" if isinstance(values, bool) else f"mapping to: {kind(values, link)}"
    return "any JSON"


def _choice(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def default(schema: Schema) -> str:
    """What counts where the key is left out, as it would be written."""
    value = schema.get("default")
    if value is None:
        return "none"
    if value in ([], {}, ()):
        return "empty"
    if tuple(schema.get("examples", ())) in _WRITTEN:
        return code(duration_words(float(value)))
    if "$ref" in schema:
        return "as there"
    if isinstance(value, list):
        return code([int(one) if float(one).is_integer() else one for one in value])
    return code(value)
