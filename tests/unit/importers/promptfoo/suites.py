"""A config of promptfoo in, a suite out: what all tests of the importer share."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from releasecheck.errors import ConfigError
from releasecheck.importers.promptfoo import Choice, import_promptfoo

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.importers.imported import Imported

ECHO = "prompts: ['{{q}}']\nproviders: [echo]\n"


def imported(
    folder: Path, text: str, name: str = "promptfooconfig.yaml", **choice: Any
) -> Imported:
    """What the text becomes."""
    (folder / name).write_text(text, encoding="utf-8")
    return import_promptfoo(folder / name, folder / "suite", Choice(**choice))


def problems(
    folder: Path, text: str, name: str = "promptfooconfig.yaml", **choice: Any
) -> list[str]:
    """Why the text becomes nothing, each with its place relative to the folder."""
    with pytest.raises(ConfigError) as caught:
        imported(folder, text, name, **choice)
    return [str(one).replace(f"{folder.as_posix()}/", "") for one in caught.value.problems]


def config(found: Imported) -> dict[str, Any]:
    """The `releasecheck.yaml` of a suite."""
    made = yaml.safe_load(found.files["releasecheck.yaml"])
    assert isinstance(made, dict)
    return made


def cases(found: Imported) -> list[dict[str, Any]]:
    """Its cases."""
    return [json.loads(line) for line in found.files["cases.jsonl"].splitlines()]


def judges(found: Imported) -> dict[str, dict[str, Any]]:
    """Its judges by id."""
    return {judge["id"]: judge for judge in config(found)["judges"]}


def asserting(*asserts: str, variables: str = "{q: Paris}") -> str:
    """A config with one test that asserts this."""
    lines = "".join(f"      - {one}\n" for one in asserts)
    return f"{ECHO}tests:\n  - vars: {variables}\n    assert:\n{lines}"


def target_file(folder: Path) -> Path:
    """A target for tests that name none."""
    path = folder / "target.yaml"
    path.write_text("target: {type: command, run: [cat]}\n", encoding="utf-8")
    return path
