"""Schemas of the two small documents beside a bundle: `failure.json` and `badge.json`."""

from __future__ import annotations

from typing import Any, Final, get_args

from releasecheck.model.failure import FailureClass, Stage
from releasecheck.publish.failure import FAILURE_SCHEMA

_TEXT: Final = {"type": "string"}
_TEXT_OR_NULL: Final = {"type": ["string", "null"]}


def _object(properties: dict[str, tuple[dict[str, Any], str]], **more: object) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            name: {**kind, "description": meaning} for name, (kind, meaning) in properties.items()
        },
        **more,
    }


def failure_schema() -> dict[str, Any]:
    """Of `failure.json`, without its head."""
    properties: dict[str, tuple[dict[str, Any], str]] = {
        "schema": ({"const": FAILURE_SCHEMA}, "Name and major version of this format."),
        "run_id": (_TEXT_OR_NULL, "The run; null where there was no plan yet."),
        "plan_digest": (_TEXT_OR_NULL, "Of everything that can decide the outcome."),
        "suite": (_TEXT_OR_NULL, "Its name."),
        "stage": ({"enum": list(get_args(Stage))}, "Where it happened."),
        "class": ({"enum": list(get_args(FailureClass))}, "What kind of thing broke."),
        "code": (_TEXT, "A stable word for programs."),
        "exit_code": ({"type": "integer"}, "What the process ended with."),
        "message": (_TEXT, "For a person; secrets are removed."),
        "recorded": ({"type": "object"}, "Numbers of what is on disk."),
        "what_to_do": (_TEXT, "The next step."),
        "at": ({"type": "string", "format": "date-time"}, "When it was written."),
    }
    return _object(properties, required=list(properties))


def badge_schema() -> dict[str, Any]:
    """Of `badge.json`, without its head: a shields.io endpoint, which refuses keys it does not know."""
    properties: dict[str, tuple[dict[str, Any], str]] = {
        "schemaVersion": ({"const": 1}, "Of the endpoint's format."),
        "label": (_TEXT, "The left half: which release check."),
        "message": (_TEXT, "The right half: what it came to, when, and for which commit."),
        "color": (_TEXT, "Of the right half."),
        "isError": ({"type": "boolean"}, "Keeps others from painting it in another colour."),
        "cacheSeconds": ({"type": "integer"}, "How long it may be shown without asking again."),
    }
    needed = ["schemaVersion", "label", "message", "color"]
    return _object(properties, required=needed, additionalProperties=False)
