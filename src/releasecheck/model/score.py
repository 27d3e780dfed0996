"""A judge's answer to one output: five states, of which only `scored` has a value (S1-07, S1-08)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from releasecheck.model.failure import Failure


@dataclass(frozen=True, slots=True)
class Scored:
    """Measured."""

    value: float
    """Finite; true and false read as 1 and 0."""
    reason: str | None = None
    """The judge's words; untrusted text."""

    def __post_init__(self) -> None:
        """Refuse NaN and infinities before anything else looks at the value (B59, B61)."""
        if not math.isfinite(self.value):
            message = f"a score must be a finite number, found {self.value!r}"
            raise ValueError(message)


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """The judge has nothing to say about this case; outside the mean, counted."""

    reason: str
    """Why it does not apply."""


@dataclass(frozen=True, slots=True)
class Pending:
    """The judge answers later, under a ticket."""

    ticket: str
    """What to ask for; not empty."""


@dataclass(frozen=True, slots=True)
class JudgeFailed:
    """The judge could not score; never 0, never a pass."""

    failure: Failure
    """What happened."""


@dataclass(frozen=True, slots=True)
class Missing:
    """No score came, and none will."""

    reason: str
    """`deadline`, `interrupted`, `cancelled`, `not_executed` or `shard_lost`."""
    failure: Failure | None = None
    """Of the judge's last answer, where it failed: why there is none."""


JudgeAnswer: TypeAlias = Scored | NotApplicable | Pending | JudgeFailed
"""What a judge may answer. `Missing` is ours alone."""
Score: TypeAlias = JudgeAnswer | Missing
