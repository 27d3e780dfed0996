"""What tests of this folder share: bundles that take a while to make."""

from __future__ import annotations

import pytest

from tests.integration.github.bundles import Bakery, Made


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Made]:
    """Bundles of every kind, made once."""
    return Bakery(tmp_path_factory.mktemp("bundles")).all()
