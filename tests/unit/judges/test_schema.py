"""`json-schema` (issue step 1, item 4; B13, B14, B31): schemas that work, outputs read strictly."""

from __future__ import annotations

from typing import Any

import pytest

from releasecheck.judges.schema import schema_problems
from tests.unit.judges.builders import answer, reason, said

LOOK_AHEAD = r"^(?=(a+)+$)(a|aa)+\1$"
"""Needs backtracking, and too much of it on many a's."""


@pytest.mark.parametrize(
    ("schema", "output", "said_"),
    [
        ({"type": "object", "required": ["answer"]}, {"answer": 1}, 1.0),
        ({"type": "object", "required": ["answer"]}, {"anser": 1}, 0.0),
        ({"type": "object"}, '{"answer": 1}', 1.0),  # a text is read as JSON first
        ({"type": "object"}, "answer", 0.0),
        ({"type": "string"}, "answer", 0.0),  # always: no text is a JSON string by being a text
        ({"type": "string"}, '"answer"', 1.0),
        ({"type": "number"}, "", 0.0),
        ({"type": "boolean"}, False, 1.0),  # B26
        ({"type": "number"}, 0, 1.0),  # B26
        ({"type": "integer"}, 1.0, 1.0),
        ({"type": "number"}, True, 0.0),
        (False, "{}", 0.0),  # B31, row "false"
        (False, {}, 0.0),
        # B31, rows "format" and "nan"; B13.
        ({"type": "string", "format": "date"}, '"not-a-date"', 0.0),
        ({"type": "string", "format": "date"}, '"2024-02-29"', 1.0),
        ({"type": "string", "format": "date"}, '"2023-02-29"', 0.0),
        ({"type": "number", "minimum": 0, "maximum": 1}, "NaN", 0.0),
        ({"type": "object"}, '{"weight": NaN}', 0.0),
        ({"type": "object"}, '{"weight": -Infinity}', 0.0),
        ({"type": "object"}, '{"weight": 1e999}', 0.0),
        ({"type": "object"}, '{"a": 1, "a": 2}', 0.0),
        # B14: JSON that is not read is neither valid nor invalid.
        ({"type": "array"}, "[" * 20000 + "]" * 20000, "unreadable"),
        ({"type": "object"}, '{"n":' + "9" * 5000 + "}", "unreadable"),
        # B67: patterns of a schema are bounded too.
        ({"pattern": r"^(\w+\s?)*$"}, '"' + "a" * 5000 + '!"', 0.0),
        ({"pattern": LOOK_AHEAD}, '"' + "a" * 45 + '"', "timeout"),
        ({"not": {"pattern": LOOK_AHEAD}}, '"' + "a" * 45 + '"', "timeout"),
        ({"anyOf": [{"pattern": LOOK_AHEAD}, {"type": "number"}]}, '"' + "a" * 45 + '"', "timeout"),
        ({"patternProperties": {LOOK_AHEAD: {"type": "string"}}}, {"a" * 45: 1}, "timeout"),
    ],
)
def test_json_schema__says(schema: Any, output: Any, said_: float | str) -> None:
    assert said(answer("json-schema", output, schema=schema)) == said_


@pytest.mark.parametrize("depth", [50, 150])
def test_json_schema__deep_output__is_validated(depth: int) -> None:
    """B14: a recursive schema follows what the reader takes."""
    schema = {"type": ["array", "number"], "items": {"$ref": "#"}}
    assert said(answer("json-schema", "[" * depth + "1" + "]" * depth, schema=schema)) == 1.0
    assert said(answer("json-schema", "[" * depth + '"x"' + "]" * depth, schema=schema)) == 0.0


def test_json_schema__says_where() -> None:
    schema = {"properties": {"items": {"items": {"type": "integer"}}}}
    found = answer("json-schema", {"items": [1, "x"]}, schema=schema)
    assert reason(found) == 'at [\'items\'][1]: "x" is not of type "integer"'
    # B35: an output is quoted, never formatted.
    assert reason(answer("json-schema", "{0.__class__}", schema=schema)).startswith(
        "the text is not"
    )
    assert "{0.__class__}" in reason(
        answer("json-schema", '"{0.__class__}"', schema={"type": "null"})
    )


@pytest.mark.parametrize(
    ("schema", "part"),
    [
        # The rows of B31 that are wanted as errors or warnings.
        ({"type": "strng"}, "not a valid JSON Schema"),
        ({"pattern": "(["}, "not a valid JSON Schema"),
        ({"type": "object", "requierd": ["answer"]}, "unknown keyword 'requierd'"),
        ({}, "checks nothing"),
        ({"$ref": "http://127.0.0.1:9/s.json"}, "nothing is fetched"),
        # And their kin.
        ({"type": "object", "requierd": ["answer"]}, "did you mean 'required'?"),
        (True, "checks nothing"),
        ({"title": "An answer", "$defs": {"a": {"type": "string"}}}, "checks nothing"),
        ({"properties": {"a": {}}, "allOf": [True]}, "checks nothing"),
        ({"required": [], "minLength": 0, "uniqueItems": False}, "checks nothing"),
        ({"then": {"type": "string"}}, "checks nothing"),
        ({"anyOf": [{"type": "string"}, {}]}, "checks nothing"),
        ({"minContains": 2}, "checks nothing"),
        ({"type": "string", "format": "dat"}, "Unknown format"),
        ({"$ref": "file:///etc/passwd"}, "nothing is fetched"),
        ({"$ref": "other.json"}, "not a valid JSON Schema"),
        ({"$ref": "#/$defs/gone"}, "not a valid JSON Schema"),
        ({"$schema": "https://example.com/mine", "type": "object"}, "not a valid JSON Schema"),
        ({"properties": {"a": {"type": "string", "nullable": True}}}, "#/properties/a: unknown"),
        ({"items": [{"type": "string"}]}, "not a valid JSON Schema"),
        ({"type": "object", "dependencies": {"a": ["b"]}}, "unknown keyword 'dependencies'"),
        (
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "definitions": {"a": {"type": "object"}},
                "$ref": "#/definitions/a",
                "required": ["b"],
            },
            "'required' stands beside $ref",
        ),
        ({"if": {"pattern": LOOK_AHEAD}, "then": {"minLength": 3}}, "look-around"),
        ([], "found list"),
        ("x", "found str"),
        (None, "found NoneType"),
    ],
)
def test_schema_problems__named(schema: Any, part: str) -> None:
    assert part in " ".join(schema_problems(schema))


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"type": "object", "properties": {"requierd": {"type": "string"}, "$ref": {}}},
        {"type": "object", "x-owner": "search", "properties": {"a": {"x-unit": "s", "const": 1}}},
        {"enum": [{"requierd": 1}], "default": {"nonsense": 1}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}},
        {"$ref": "https://json-schema.org/draft/2020-12/schema"},
        {"$id": "https://example.com/s", "$ref": "a", "$defs": {"a": {"$id": "a", "type": "null"}}},
        {"$schema": "http://json-schema.org/draft-04/schema#", "id": "urn:x", "type": "object"},
        {"$schema": "http://json-schema.org/draft-07/schema", "dependencies": {"a": ["b"]}},
        {"$schema": "https://json-schema.org/draft/2019-09/schema", "unevaluatedItems": False},
        {"prefixItems": [{"type": "string"}], "contains": {}},
        {"properties": {"a": False}},
        {"not": {}},
        {"pattern": "^(?!foo)"},
        {"if": {"pattern": "^a"}, "then": {"minLength": 3}},
        {"oneOf": [{}, {"type": "string"}]},
    ],
)
def test_schema_problems__none(schema: Any) -> None:
    assert list(schema_problems(schema)) == []
