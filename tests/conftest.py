"""Settings of the whole test run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests.browser import HOW_TO_GET, chromium, chromium_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

# A CI machine may be slow, and what it finds must be found again at a desk.
# Fuzzing for longer is for `make test-all`.
EXAMPLES = 400 if os.environ.get("RELEASECHECK_LONG_TESTS") else 50
hypothesis.settings.register_profile("default", deadline=None, max_examples=EXAMPLES)
hypothesis.settings.register_profile(
    "ci", deadline=None, derandomize=True, print_blob=True, max_examples=EXAMPLES
)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "default")


# While it is open, an event loop runs in this thread, and no test of another module could start one.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, one for the tests of a module; where there is none, CI fails and others say what was not run."""
    program = chromium_program()
    if program is None:
        if os.environ.get("CI"):
            pytest.fail(HOW_TO_GET)
        pytest.skip(f"not run: {HOW_TO_GET}")
    with chromium(program) as started:
        yield started
