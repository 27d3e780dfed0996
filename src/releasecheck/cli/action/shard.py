"""Stage `shard`: run one shard of the frozen plan; its result file is uploaded whatever happens."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from releasecheck.cli.action.extras import rules_of
from releasecheck.cli.action.planned import planned_by
from releasecheck.cli.output import say
from releasecheck.drivers.github.fetching import RunArtifacts
from releasecheck.drivers.github.names import ShardName
from releasecheck.drivers.local.shard import run_one_shard
from releasecheck.errors import UsageError
from releasecheck.pipeline.execute import ShardRequest
from releasecheck.pipeline.taking import MOST_ATTEMPTS

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.cli.action.job import Job
    from releasecheck.model.plan import Plan


def carry_out(job: Job) -> int:
    """Run the shard; what earlier attempts of this run recorded is not asked again."""
    inputs = job.inputs
    if inputs.index is None:
        message = "the stage shard needs the input `index`: which shard, from 0"
        raise UsageError(message)
    with job.client() as client:
        # In the first attempt there is nothing to carry on from.
        planned = planned_by(job, client, alone=job.context.run_attempt == 1)
        results = job.folder / "results"
        results.mkdir()
        name = ShardName(
            planned.name.suite, planned.name.plan, job.context.run_attempt, index=inputs.index
        )
        # Told before anything is asked: whatever ends this process, what is on disk by then is uploaded.
        job.tell(artifact_name=str(name), artifact_path=str(results))
        earlier = planned.shards(inputs.index)
        if inputs.judges == "only" and inputs.adopt_run is not None:
            earlier += _adopted(job, planned.folder.plan.suite, inputs.index)
    world = replace(job.world, policy_root=rules_of(job, planned.folder.plan))
    request = ShardRequest(
        inputs.index,
        results,
        tuple(earlier),
        _attempt(job, planned.folder.plan),
        inputs.judges,
        inputs.approved_by,
    )
    try:
        done, left = asyncio.run(
            run_one_shard(planned.folder.path, request, world, inputs.time_budget_s)
        )
    finally:
        world.progress.close()
    say(
        f"shard {inputs.index}: {done.tally.done} of {done.total} trials done, {done.tally.failed} target "
        f"failures, {left.undone} scores open"
        + (f", {left.pending} to come from judges that answer later" if left.pending else "")
        + (f" (stopped: {done.stopped})" if done.stopped else "")
    )
    if done.path is None:
        # Nothing new was recorded; what there is lies in the artifact of an earlier attempt.
        decided = "nothing is left to do: the run is decided"
        say(decided if left.certain else "everything was on record already")
        job.tell(artifact_name="", artifact_path="")
    return 130 if done.stopped == "interrupted" else 2 if left.undone else 0


def _attempt(job: Job, plan: Plan) -> int:
    """The attempt of the workflow, so that no two attempts of it can write files of one name.

    Adopted outputs keep the attempts they were recorded in, and ours come after all of those.
    """
    own = job.context.run_attempt
    return own if plan.adopted is None else MOST_ATTEMPTS + own


def _adopted(job: Job, suite: str, index: int) -> list[Path]:
    """Result files of the untrusted run: data, of which only outputs are taken (P-11)."""
    from releasecheck.drivers.github.names import PlanName, parse

    run = job.inputs.adopt_run
    assert run is not None  # noqa: S101 - the caller looked
    with job.client() as client:
        theirs = RunArtifacts.of(client, job.context.repository, run, job.folder / "adopted")
        plans = {
            name.plan: name
            for one in theirs.listed
            if isinstance(name := parse(one.name), PlanName) and name.suite == suite
        }
        return [folder for name in plans.values() for folder in theirs.shards(name, index)]
