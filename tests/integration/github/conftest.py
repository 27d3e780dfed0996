"""What tests of this folder share: bundles that take a while to make."""

from __future__ import annotations

import pytest

from tests.e2e.program import Program
from tests.integration.github.bundles import Bakery, Made


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Made]:
    """Bundles of every kind, made once."""
    program = Program(tmp_path_factory.mktemp("streams"))
    try:
        return Bakery(tmp_path_factory.mktemp("bundles"), program).all()
    finally:
        program.stop()
