"""Programs run as a user's shell would run them."""

from __future__ import annotations

import os


def environment(**extra: str) -> dict[str, str]:
    """Return this process's variables, with `extra` over them."""
    return {**os.environ, **extra}
