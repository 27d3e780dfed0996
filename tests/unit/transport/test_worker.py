"""The files that run in the user's interpreter: old syntax, standard library only."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from releasecheck.transport import process, pyworker

FILES = [pyworker.WORKER, process.LIMITED]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_worker__is_python_3_8(path: Path) -> None:
    ast.parse(path.read_text("utf-8"), feature_version=(3, 8))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_worker__imports_the_standard_library_only(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported
    assert imported <= sys.stdlib_module_names
