"""Schemas of the documents that are models: what a reader of any 1.x version may rely on.

Unknown fields are allowed, since newer versions add some; fields with a default may be absent in older ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from releasecheck.model.plan import Plan
from releasecheck.model.scorecard import Manifest, Scorecard
from releasecheck.schemas.descriptions import describe

if TYPE_CHECKING:
    from releasecheck.model.base import Document


def plan_schema() -> dict[str, Any]:
    """Of `plan.json`."""
    return _of(Plan)


def scorecard_schema() -> dict[str, Any]:
    """Of `scorecard.json`."""
    return _of(Scorecard)


def manifest_schema() -> dict[str, Any]:
    """Of `manifest.json`."""
    return _of(Manifest)


def _of(model: type[Document]) -> dict[str, Any]:
    schema = describe(model.model_json_schema(by_alias=True), model)
    # Written always, whatever the model's default is for.
    schema["required"] = ["schema", *schema.get("required", ())]
    return schema
