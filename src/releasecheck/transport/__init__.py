"""What targets and judges share: one HTTP client, processes, the Python worker, one failure classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.transport.client import RunClient

if TYPE_CHECKING:
    from collections.abc import Mapping


def open_client(environment: Mapping[str, str]) -> RunClient:
    """The HTTP client of a run, to be used in `async with`; it costs nothing until it is used."""
    return RunClient(environment)
