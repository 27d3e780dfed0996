"""Settings of the whole test run."""

from __future__ import annotations

import os

import hypothesis

# A CI machine may be slow, and what it finds must be found again at a desk.
# Fuzzing for longer is for `make test-all`.
EXAMPLES = 400 if os.environ.get("RELEASECHECK_LONG_TESTS") else 50
hypothesis.settings.register_profile("default", deadline=None, max_examples=EXAMPLES)
hypothesis.settings.register_profile(
    "ci", deadline=None, derandomize=True, print_blob=True, max_examples=EXAMPLES
)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "default")
