"""What a driver hands to the core: time, environment, place, and somebody to tell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from releasecheck.credentials import redactor_of, secret_names
from releasecheck.engine import Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.model.plan import Plan
    from releasecheck.ports import Clock, Progress
    from releasecheck.redact import Redactor


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
    policy_root: Path | None = None
    """Folder of the config that judges and gates come from, where somebody named it; None: as planned."""
    commit_of: Callable[[Path], str | None] = lambda _: None
    """The commit that a folder is at; None outside of a repository."""

    def redactor(self, plan: Plan) -> Redactor:
        """Knows every variable that the plan's target and judges name, and credentials in addresses."""
        return redactor_of(_specs(plan), self.environment)

    def secret_names(self, plan: Plan) -> tuple[str, ...]:
        """Names of the variables whose values are removed from every record."""
        return secret_names(_specs(plan), self.environment)


def _specs(plan: Plan) -> list[Json]:
    specs = [plan.target, *(judge.spec for judge in plan.judges)]
    return [spec.model_dump(mode="json", by_alias=True) for spec in specs]
