"""What a check of a judge found."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from releasecheck.stats import count

if TYPE_CHECKING:
    from releasecheck.canonical import Json

Outcome: TypeAlias = Literal["ok", "warning", "failed", "not-applicable"]
ORDER: Final[tuple[Outcome, ...]] = ("failed", "warning", "ok", "not-applicable")
"""From the worst; what is not applicable says nothing."""
BROKEN_EXIT: Final = 2
UNREACHABLE_EXIT: Final = 4


@dataclass(frozen=True, slots=True)
class Probe:
    """One thing that was tried."""

    name: str
    """Stable word for programs: `identity`, `collect`, ..."""
    outcome: Outcome
    found: str
    """What the judge did; may quote it, so untrusted text."""
    todo: str = ""
    """What its author should do; empty where there is nothing to do."""


@dataclass(frozen=True, slots=True)
class Checked:
    """All of it."""

    judge: str
    """Its id in the suite, or its address."""
    contract: str
    """What it was held to."""
    probes: tuple[Probe, ...]
    """In the order in which they were tried."""
    reached: bool = True
    """Whether the judge answered at all."""

    @property
    def exit_code(self) -> int:
        """0, 2 where a probe failed, 4 where the judge was not there; never 1, which blocks a release."""
        if not self.reached:
            return UNREACHABLE_EXIT
        return BROKEN_EXIT if self.counts["failed"] else 0

    @property
    def counts(self) -> Counter[Outcome]:
        """Probes by outcome."""
        return Counter(probe.outcome for probe in self.probes)

    @property
    def verdict(self) -> str:
        """One line for a person."""
        if not self.reached:
            return f"{self.judge} could not be reached: nothing is known about {self.contract}"
        counts = self.counts
        if counts["failed"]:
            return f"{self.judge} breaks {self.contract}: {count(counts['failed'], 'probe')} failed"
        if counts["warning"]:
            return f"{self.judge} keeps {self.contract}, with {count(counts['warning'], 'warning')}"
        return f"{self.judge} keeps {self.contract}: {count(counts['ok'], 'probe')} held"

    def to_json(self) -> dict[str, Json]:
        """The report as a document."""
        return {
            "judge": self.judge,
            "contract": self.contract,
            "verdict": self.verdict,
            "held": self.exit_code == 0,
            "reached": self.reached,
            "exit_code": self.exit_code,
            "counts": {outcome: self.counts[outcome] for outcome in ORDER},
            "probes": [asdict(probe) for probe in self.probes],
        }
