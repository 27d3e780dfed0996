"""Fixtures of the config tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.config.folder import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)
