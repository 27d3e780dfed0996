"""What all end-to-end tests share: one launcher of the program, and a target that counts its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.program import Program
from tests.e2e.suites import Answers

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Start commands of the program."""
    started = Program(tmp_path_factory.mktemp("streams"))
    yield started
    started.stop()


@pytest.fixture
def answers() -> Iterator[Answers]:
    """A target over HTTP."""
    with Answers() as server:
        yield server
