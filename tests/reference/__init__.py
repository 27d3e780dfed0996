"""Pages and files that are made from the code: `make reference` writes them anew, and a test says when to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from releasecheck.canonical import dump_document
from releasecheck.schemas import json_schema
from tests.reference.commands import commands_page
from tests.reference.configuration import configuration_page
from tests.reference.outputs import outputs_page
from tests.reference.schemas import schemas_page

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT: Final = Path(__file__).resolve().parents[2]


def _config_schema() -> bytes:
    return dump_document(json_schema("config"))


GENERATED: Final[dict[str, Callable[[], bytes]]] = {
    "docs/reference/configuration.md": lambda: configuration_page().encode(),
    "docs/reference/commands.md": lambda: commands_page().encode(),
    "docs/reference/schemas.md": lambda: schemas_page().encode(),
    "docs/reference/outputs.md": lambda: outputs_page().encode(),
    # Of the examples in this repository, and of the starter as `init` writes it.
    "docs/reference/config.schema.json": _config_schema,
    "examples/quickstart/releasecheck.schema.json": _config_schema,
}
"""What each file should be."""
