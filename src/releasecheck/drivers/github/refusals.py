"""Which candidates for a baseline were refused, and why: bounded, counted, never left out (G-21).

An older baseline in place of a newer one, or none in place of an expired one, is a finding that a plan,
its scorecard and its log must be able to say (trap 24).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from releasecheck.drivers.github.errors import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from releasecheck.canonical import Json

Reason: TypeAlias = Literal[
    "itself",
    "event",
    "fork",
    "branch",
    "running",
    "cancelled",
    "not_ancestor",
    "older_than_accepted",
    "no_scorecard",
    "expired",
    "unreadable",
    "not_verified",
    "stranger",
    "not_final",
    "partial",
    "incomplete",
    "unfit",
    "verdict",
    "not_promoted",
]
WORDS: Final[Mapping[Reason, str]] = {
    "itself": "this run itself",
    "event": "of an event that makes no baselines",
    "fork": "from a fork",
    "branch": "on another branch",
    "running": "still running",
    "cancelled": "cancelled or never run",
    "not_ancestor": "not at an ancestor of the base",
    "older_than_accepted": "older than the baseline accepted in the repository",
    "no_scorecard": "without a scorecard of this suite",
    "expired": "expired",
    "unreadable": "not readable",
    "not_verified": "not verified",
    "stranger": "not of the run or plan they are filed under",
    "not_final": "still open",
    "partial": "over a part of the cases",
    "incomplete": "incomplete",
    "unfit": "not fit to be a baseline",
    "verdict": "without a passing verdict",
    "not_promoted": "a bootstrap that was not promoted",
}
"""For counting: `3 expired`."""
MOST_KEPT: Final = 50
LONGEST_WHY: Final = 400


@dataclass(frozen=True, slots=True)
class Refused:
    """One candidate that was looked at and not taken."""

    what: str
    """Such as `run 123 (push, 0123456)` or `release v1.2`; safe to show on one line."""
    reason: Reason
    why: str
    """One line."""
    run_id: int | None = None
    artifact_id: int | None = None

    def to_json(self) -> dict[str, Json]:
        """Its entry in a document."""
        return {
            "what": self.what,
            "reason": self.reason,
            "why": self.why,
            "run_id": self.run_id,
            "artifact_id": self.artifact_id,
        }


@dataclass(frozen=True, slots=True)
class Refusals:
    """All of them: counted, and the first ones kept."""

    kept: tuple[Refused, ...]
    counts: Mapping[Reason, int]

    @property
    def total(self) -> int:
        """How many candidates were refused."""
        return sum(self.counts.values())

    @property
    def summary(self) -> str:
        """`2 not at an ancestor of the base, 1 expired`; empty when no other run was refused."""
        # That a run is no baseline of itself goes without saying, and reads like a fault of it.
        others = (item for item in self.counts.items() if item[0] != "itself")
        ordered = sorted(others, key=lambda item: (-item[1], item[0]))
        return ", ".join(f"{count} {WORDS[reason]}" for reason, count in ordered)

    def lines(self) -> tuple[str, ...]:
        """One line for each that was kept, and one for the others."""
        shown = [f"refused {one.what}: {one.why}" for one in self.kept]
        if self.total > len(self.kept):
            shown.append(f"refused {self.total - len(self.kept)} more ({self.summary})")
        return tuple(shown)


class RefusalLog:
    """Collects refusals during one search."""

    def __init__(self) -> None:
        self._kept: list[Refused] = []
        self._counts: Counter[Reason] = Counter()

    def add(
        self,
        what: str,
        reason: Reason,
        why: str,
        *,
        run_id: int | None = None,
        artifact_id: int | None = None,
    ) -> None:
        """Note one; what others wrote may stand in `why`."""
        self._counts[reason] += 1
        if len(self._kept) < MOST_KEPT:
            self._kept.append(Refused(what, reason, quoted(why, LONGEST_WHY), run_id, artifact_id))

    def done(self) -> Refusals:
        """What was noted so far."""
        return Refusals(tuple(self._kept), dict(self._counts))
