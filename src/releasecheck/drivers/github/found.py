"""What a search for a baseline returns: the one chosen, or that there is none, and what was refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.drivers.github.refusals import Refusals


@dataclass(frozen=True, slots=True, kw_only=True)
class FromRun:
    """The bundle that a run of a workflow uploaded."""

    run_id: int
    attempt: int
    """Of the job that uploaded it."""
    workflow: str
    artifact_id: int
    artifact: str
    """Its name."""
    digest: str
    """`sha256:<hex>` of the archive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FromRelease:
    """The bundle attached to a release."""

    tag: str
    """Safe to show, not to ask for."""
    asset_id: int
    asset: str
    digest: str
    run_id: int
    """The workflow run that made the bundle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FromRepository:
    """The folder committed beside the suite."""

    path: str
    """Relative to the repository."""
    accepted_in: str | None
    """The commit that last changed it; None when no commit holds it."""


Source: TypeAlias = FromRun | FromRelease | FromRepository


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A baseline."""

    folder: Path
    """Holds `scorecard.json`, `results.jsonl` and `manifest.json`, verified: for `PlanRequest.baseline`."""
    source: Source
    run_id: str
    """Of the release check: `rc-<plan12>-<unique>`."""
    commit: str | None
    """It was measured at; None when its manifest tells none."""
    why: str
    """One line: what it is, where it is from, what was refused before it. For `PlanRequest.baseline_why`."""
    refused: Refusals

    def context(self) -> dict[str, str]:
        """Facts to add to the plan's context: the ids and digests that name it, and what was refused."""
        facts = {"baseline_refused": self.refused.summary, "baseline_commit": self.commit or ""}
        match self.source:
            case FromRun() as run:
                facts |= {
                    "baseline_source": "run",
                    "baseline_run": str(run.run_id),
                    "baseline_artifact": run.artifact,
                    "baseline_artifact_id": str(run.artifact_id),
                    "baseline_artifact_digest": run.digest,
                }
            case FromRelease() as release:
                facts |= {
                    "baseline_source": "release",
                    "baseline_release": release.tag,
                    "baseline_run": str(release.run_id),
                    "baseline_artifact": release.asset,
                    "baseline_artifact_id": str(release.asset_id),
                    "baseline_artifact_digest": release.digest,
                }
            case FromRepository() as committed:
                facts |= {
                    "baseline_source": "repository",
                    "baseline_path": committed.path,
                    "baseline_accepted_in": committed.accepted_in or "",
                }
        return {key: value for key, value in facts.items() if value}

    def lines(self) -> tuple[str, ...]:
        """What a log says."""
        return (f"baseline: {self.why}", *self.refused.lines())


@dataclass(frozen=True, slots=True, kw_only=True)
class NoneFound:
    """There is no baseline, which is no success."""

    why: str
    """One line: what there was, and why none of it counts."""
    refused: Refusals

    def context(self) -> dict[str, str]:
        """Facts to add to the plan's context: gates and scorecard say them where they miss a baseline."""
        facts = {"baseline_search": self.why, "baseline_refused": self.refused.summary}
        return {key: value for key, value in facts.items() if value}

    def lines(self) -> tuple[str, ...]:
        """What a log says."""
        return (f"no baseline: {self.why}", *self.refused.lines())
