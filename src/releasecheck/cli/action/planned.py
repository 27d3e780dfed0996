"""The plan that the plan job froze, fetched and checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from releasecheck.drivers.github.fetching import RunArtifacts, check_plan_is
from releasecheck.pipeline.folders import open_plan

if TYPE_CHECKING:
    from releasecheck.cli.action.job import Job
    from releasecheck.drivers.github.names import PlanName
    from releasecheck.drivers.github.rest import GitHubClient
    from releasecheck.pipeline.folders import PlanFolder


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A plan with the artifacts of its run."""

    name: PlanName
    folder: PlanFolder
    artifacts: RunArtifacts


def planned_by(job: Job, client: GitHubClient) -> PlannedRun:
    """Fetch the plan of this workflow run.

    Raises:
        ArtifactMissing: there is none.
        Untrusted: it is not this run's, or was changed.
    """
    artifacts = RunArtifacts.of(
        client, job.context.repository, job.context.run_id, job.folder / "artifacts"
    )
    found, folder = artifacts.plan(job.inputs.plan_artifact, None)
    opened = open_plan(folder)
    plan = opened.plan
    unique = job.context.run_id
    if plan.adopted is None:
        check_plan_is(
            found.name, suite=plan.suite, plan_digest=plan.plan_digest, run_id=plan.run_id,
            workflow_run=unique,
        )  # fmt: skip
    return PlannedRun(found.name, opened, artifacts)
