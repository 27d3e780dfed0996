"""What one gate came to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from releasecheck.gates.regression import Tested


@dataclass(frozen=True, slots=True)
class Decision:
    """What a rule came to."""

    holds: bool
    reason: str
    compared: int
    """Cases compared, or (case, trial)s measured; at least 1."""
    value: float | None
    baseline_value: float | None = None
    delta: float | None = None
    tested: Tested | None = None
    p_adjusted: float | None = None
    new_failures: tuple[str, ...] = ()
    new_passes: tuple[str, ...] = ()
