"""The files that `releasecheck init` writes: a starter suite, and workflows for GitHub."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.assets import templates_dir
from releasecheck.canonical import dump_document
from releasecheck.schemas import json_schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORKFLOWS: Final = {
    "gate.yml": "releasecheck.yml",
    "release.yml": "releasecheck-release.yml",
    "beat.yml": "releasecheck-beat.yml",
    # GitHub reads .yml and .yaml alone: these do nothing until somebody renames them.
    "suites.yml": "releasecheck-suites.yml.example",
    "forks-record.yml": "releasecheck-record.yml.example",
    "forks-judge.yml": "releasecheck-judge.yml.example",
}
"""Starters, and what they are called in `.github/workflows`."""
SCHEMA: Final = "releasecheck.schema.json"
"""What the first line of a starter's config calls the JSON Schema beside it."""
_CONFIG: Final = "config: releasecheck.yaml"
_PLAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")


@dataclass(frozen=True, slots=True)
class File:
    """One file to write."""

    path: Path
    content: bytes


def suite_files(folder: Path) -> list[File]:
    """A suite that runs at once, with the schema that its first line names for editors.

    The schema is made here and not a template: it is that of the version which writes it.
    """
    starter = templates_dir() / "starter"
    found = sorted(
        path for path in starter.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )
    files = [File(folder / path.relative_to(starter), path.read_bytes()) for path in found]
    return [*files, File(folder / SCHEMA, dump_document(json_schema("config")))]


def workflow_files(folder: Path) -> list[File]:
    """Workflows at the root of the repository that `folder` is in, for the suite in `folder`."""
    root = repository_of(folder)
    starters, workflows = templates_dir() / "github", root / ".github" / "workflows"
    config = _CONFIG.replace("releasecheck.yaml", _yaml(_config_in(root, folder)))
    return [
        File(
            workflows / name,
            (starters / starter).read_text(encoding="utf-8").replace(_CONFIG, config).encode(),
        )
        for starter, name in WORKFLOWS.items()
    ]


def next_steps(folder: Path) -> Iterator[str]:
    """What to do with the workflows."""
    workflows = repository_of(folder) / ".github" / "workflows"
    yield f"next: commit {workflows} and push it; the default branch is taken to be main"
    yield "then: require the check `check / finish` in the branch protection of main"
    yield "secrets for target or judges: one secret RELEASECHECK_ENV with lines NAME=value"
    yield "several suites, and pull requests from forks: see the files that end in .example"
    yield "all of it: docs/action.md"


def repository_of(folder: Path) -> Path:
    """The root of the repository around a folder; the folder itself outside of any."""
    for path in (folder.absolute(), *folder.absolute().parents):
        if (path / ".git").exists():
            # Shown as it was named where it is the same place.
            return folder if path == folder.absolute() else path
    return folder


def _config_in(root: Path, folder: Path) -> str:
    return (folder.absolute() / "releasecheck.yaml").relative_to(root.absolute()).as_posix()


def _yaml(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else json.dumps(text)
