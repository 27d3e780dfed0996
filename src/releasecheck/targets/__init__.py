"""Targets: one file per kind, `retrying` for what all of them share, `build` to open one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from releasecheck.targets.build import open_target as open_target
    from releasecheck.targets.checks import check_target as check_target


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the module's own protocol
    """Load the libraries of targets only for who opens one."""
    if name == "open_target":
        from releasecheck.targets.build import open_target

        return open_target
    if name == "check_target":
        from releasecheck.targets.checks import check_target

        return check_target
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
