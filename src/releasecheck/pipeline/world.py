"""What a driver hands to the core: time, environment, place, and somebody to tell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from releasecheck.engine import Stop
from releasecheck.redact import Redactor
from releasecheck.references import PORT, references_in

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from releasecheck.model.plan import Plan
    from releasecheck.ports import Clock, Progress


@dataclass(frozen=True, slots=True)
class World:
    """The outside, as values."""

    clock: Clock
    environment: Mapping[str, str]
    cwd: Path
    progress: Progress
    tool: str
    """`releasecheck/0.1.0`."""
    stop: Stop = field(default_factory=Stop)
    """Asked to stop by a signal."""
    platform: Mapping[str, str] = field(default_factory=dict)
    """Operating system, Python and package versions, for the manifest."""

    def redactor(self, plan: Plan) -> Redactor:
        """Knows the value of every variable that the plan's target and judges name."""
        names = self.secret_names(plan)
        return Redactor(
            {name: self.environment[name] for name in names if name in self.environment}
        )

    def secret_names(self, plan: Plan) -> tuple[str, ...]:
        """Names of the variables whose values are removed from every record."""
        specs = [plan.target.model_dump(mode="json", by_alias=True)]
        specs += [judge.spec.model_dump(mode="json", by_alias=True) for judge in plan.judges]
        return tuple(sorted({reference.name for reference in references_in(specs)} - {PORT}))
