"""Imported suites on disk, read as `validate` reads them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from releasecheck.drivers.local.world import local_world
from releasecheck.errors import ConfigError
from releasecheck.importers.imported import CONFIG
from releasecheck.pipeline.validate import validate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from releasecheck.importers.imported import Imported


def written(imported: Imported, folder: Path) -> dict[str, Any]:
    """The suite after it was written and found valid."""
    for name, content in imported.files.items():
        (folder / name).write_bytes(content)
    validate(folder / CONFIG, None, local_world(quiet=True), check_env=False)
    suite: dict[str, Any] = yaml.safe_load(imported.files[CONFIG])
    return suite


def rows(imported: Imported, name: str) -> list[dict[str, Any]]:
    """A file of lines."""
    return [json.loads(line) for line in imported.files[name].splitlines()]


def refusal(importing: Callable[[], object]) -> str:
    """What it refuses with, and nothing but a refusal."""
    with pytest.raises(ConfigError) as caught:
        importing()
    return str(caught.value)
