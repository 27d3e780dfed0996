"""Settings of the whole test run."""

from __future__ import annotations

import os

import hypothesis

# A CI machine may be slow, and what it finds must be found again at a desk.
hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "default")
