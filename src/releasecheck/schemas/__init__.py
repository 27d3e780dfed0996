"""JSON Schemas of everything that people write and this program writes (`releasecheck schema KIND`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from releasecheck.errors import UsageError
from releasecheck.schemas.config import config_schema
from releasecheck.schemas.documents import manifest_schema, plan_schema, scorecard_schema
from releasecheck.schemas.notices import badge_schema, failure_schema
from releasecheck.schemas.records import case_schema, results_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from releasecheck.canonical import Json

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_KINDS: Final[dict[str, tuple[Callable[[], dict[str, Any]], str]]] = {
    "config": (config_schema, "A suite as it is written in `releasecheck.yaml`."),
    "case": (case_schema, "A line of a plan's `cases-NNNN.jsonl`: one case, whole."),
    "plan": (plan_schema, "`plan.json`: the frozen inputs of a run."),
    "results": (
        results_schema,
        "A line of a ledger file (`results/*.jsonl`), or a line of `results.jsonl`.",
    ),
    "scorecard": (scorecard_schema, "`scorecard.json`: the decision and everything it rests on."),
    "manifest": (manifest_schema, "`manifest.json`: digests and provenance of a bundle."),
    "failure": (failure_schema, "`failure.json`: why a run could not be carried through."),
    "badge": (badge_schema, "`badge.json`: the claim of a bundle in one line, for shields.io."),
}
KINDS: Final = tuple(_KINDS)
"""What `json_schema` knows."""


def json_schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of one kind of document.

    Raises:
        UsageError: `kind` is none of `KINDS`.
    """
    if kind not in _KINDS:
        message = f"there is no schema {kind!r}; expected one of {', '.join(KINDS)}"
        raise UsageError(message)
    build, description = _KINDS[kind]
    return {
        "$schema": DIALECT,
        "$id": f"urn:releasecheck:schema:{kind}:1",
        **_repaired(build()),
        "title": f"releasecheck/{kind}@1",
        "description": description,
    }


def _repaired(schema: Json) -> Json:
    """The least length of a list as `minItems`.

    Pydantic tells it as that of a text where a list is read as a tuple.
    """
    if isinstance(schema, list):
        return [_repaired(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _repaired(part) for key, part in schema.items()}
    if found.get("type") == "array" and "minLength" in found:
        found["minItems"] = found.pop("minLength")
    return found
