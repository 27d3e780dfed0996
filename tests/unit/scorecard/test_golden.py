"""Reports are byte for byte what was agreed on; a wanted change is `python -m tests.golden` and a review."""

from __future__ import annotations

import pytest

from tests.golden import FOLDER, GOLDEN


@pytest.mark.parametrize("name", GOLDEN)
def test_report__is_as_agreed(name: str) -> None:
    found, agreed = GOLDEN[name]().decode("utf-8"), (FOLDER / name).read_bytes().decode("utf-8")
    assert found.split("\n") == agreed.split("\n")


@pytest.mark.parametrize("name", GOLDEN)
def test_report__same_input_same_bytes(name: str) -> None:
    assert GOLDEN[name]() == GOLDEN[name]()
