"""The schema of `releasecheck.yaml`, as people write it: for editors, and for checks before a run.

It knows less than the reader: line numbers, near misses, files that must exist, and rules between fields are
the reader's. What it refuses, the reader refuses too.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

from pydantic.json_schema import GenerateJsonSchema
from typing_extensions import override

from releasecheck.model.base import not_empty, parse_duration, parse_rate, parse_size
from releasecheck.model.suite import Suite
from releasecheck.schemas.descriptions import describe

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import core_schema

_DURATION_TEXT: Final = r"^\s*([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+\s*$"
_SIZE_TEXT: Final = r"^\s*[0-9]+(\.[0-9]+)?\s*(B|KB|MB|GB|KiB|MiB|GiB)\s*$"
_RATE_TEXT: Final = r"^\s*[0-9]+(\.[0-9]+)?\s*/\s*(s|sec|min|h|hour)\s*$"
AS_WRITTEN: Final[dict[object, dict[str, Any]]] = {
    parse_duration: {
        "anyOf": [{"type": "string", "pattern": _DURATION_TEXT}, {"type": "number", "exclusiveMinimum": 0}],
        "examples": ["60s", "5m", "1h30m"],
    },
    parse_size: {
        "anyOf": [{"type": "string", "pattern": _SIZE_TEXT}, {"type": "integer", "minimum": 1}],
        "examples": ["512MB", "2GiB"],
    },
    parse_rate: {
        "anyOf": [{"type": "string", "pattern": _RATE_TEXT}, {"type": "number", "exclusiveMinimum": 0}],
        "examples": ["600/min", "5/s"],
    },
}  # fmt: skip
"""What a duration, a size and a rate look like, by what reads them."""
_RULES: Final = ("min", "max", "require", "no_regression")
_MERGED: Final = ("target", "baseline", "settle", "budget")
"""Mappings whose keys are merged one by one from an extended file or a profile, so a part is enough."""


class _AsWritten(GenerateJsonSchema):
    """Durations, sizes and rates as the texts that people write, not the numbers they become."""

    @override
    def field_title_should_be_set(self, schema: object) -> bool:
        # "Pass At" tells nobody more than `pass_at`, and editors show it above the description.
        return False

    @override
    def function_before_schema(
        self, schema: core_schema.BeforeValidatorFunctionSchema
    ) -> JsonSchemaValue:
        written = AS_WRITTEN.get(schema["function"]["function"])
        if written is not None:
            return copy.deepcopy(written)
        return super().function_before_schema(schema)

    @override
    def function_after_schema(
        self, schema: core_schema.AfterValidatorFunctionSchema
    ) -> JsonSchemaValue:
        found = super().function_after_schema(schema)
        return {**found, "minItems": 1} if schema["function"]["function"] is not_empty else found


def config_schema() -> dict[str, Any]:
    """The schema, without its head."""
    whole = describe(Suite.model_json_schema(by_alias=True, schema_generator=_AsWritten), Suite)
    shared: dict[str, Any] = whole.pop("$defs")
    shared["GateSpec"]["oneOf"] = [{"required": [rule]} for rule in _RULES]
    for name, needed in (("When", ("tags", "split", "has")), ("CaseFilter", ("tags", "ids"))):
        shared[name]["anyOf"] = [{"required": [key]} for key in needed]
    part = _part(whole)
    shared["Profile"] = {
        **part,
        "title": "Profile",
        "description": "What is other than in the rest of the file when this profile is chosen.",
    }
    together = {
        "extends": {
            "type": "string",
            "minLength": 1,
            "description": "Another config file beside this one, whose keys count where this one has none.",
        },
        "profiles": {
            "type": "object",
            "additionalProperties": {"$ref": "#/$defs/Profile"},
            "description": "Overlays by name, chosen with --profile.",
        },
    }
    for name, schema in (("WholeSuite", whole), ("ExtendingSuite", part)):
        shared[name] = {
            **schema,
            "title": "suite",
            "properties": {**schema["properties"], **together},
        }
    return {
        "type": "object",
        "if": {"required": ["extends"]},
        "then": {"$ref": "#/$defs/ExtendingSuite"},
        "else": {"$ref": "#/$defs/WholeSuite"},
        "$defs": shared,
    }


def _part(whole: dict[str, Any]) -> dict[str, Any]:
    """A suite of which anything may be missing; lists and plain values are whole where they stand."""
    properties = copy.deepcopy(whole["properties"])
    for name in _MERGED:
        kept = {key: properties[name][key] for key in ("description",) if key in properties[name]}
        properties[name] = {"type": "object", **kept}
    return {key: value for key, value in whole.items() if key != "required"} | {
        "properties": properties
    }
