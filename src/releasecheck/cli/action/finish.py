"""Stage `finish`: the required check. Complete, verified records decide; everything else fails closed."""

from __future__ import annotations

import asyncio
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from releasecheck.cli.action.extras import rules_of
from releasecheck.cli.action.planned import planned_by
from releasecheck.cli.report import show_scorecard
from releasecheck.config import load_suite
from releasecheck.drivers.github.names import NO_PLAN, PlanName, ScorecardName, parse
from releasecheck.drivers.local.finish import run_finish
from releasecheck.errors import InfrastructureError, ReleaseCheckError
from releasecheck.pipeline.failing import failure_recorded
from releasecheck.pipeline.finish import FinishRequest
from releasecheck.pipeline.folders import Bundle
from releasecheck.pipeline.verify import require_verified

if TYPE_CHECKING:
    from releasecheck.cli.action.job import Job

LONGEST_CONFIG: Final = 1 << 20
_SUITE_LINE: Final = re.compile(
    r"""^[ ]?["']?suite["']?[ ]*:[ ]*["']?([a-z0-9][a-z0-9-]{0,62})["']?[ ]*,?[ ]*(?:[#].*)?$""",
    re.MULTILINE,
)
NO_SUITE: Final = "unknown"
"""Stands in names of artifacts where not even the config tells a suite."""


class PlanFailed(InfrastructureError):
    """The plan job did not succeed, so that nothing that was promised could be compared."""


def carry_out(job: Job) -> int:
    """Merge, decide and write the bundle; without a plan, write why."""
    out = job.folder / "bundle"
    _tell_bundle(job, out, ScorecardName(_suite(job), NO_PLAN, job.context.run_attempt))
    with failure_recorded(Bundle(out), None, job.world) as at:
        _check_plan_job(job)
        with job.client() as client:
            planned = planned_by(job, client)
            at.planned(planned.folder)
            plan = planned.folder.plan
            name = ScorecardName(planned.name.suite, planned.name.plan, job.context.run_attempt)
            _tell_bundle(job, out, name)
            job.tell(run_id=plan.run_id, plan_digest=plan.plan_digest)
            results = planned.shards()
            earlier = planned.bundles(results)
        results += [bundle / "results" for bundle in earlier if (bundle / "results").is_dir()]
        shutil.rmtree(out, ignore_errors=True)
        _adopt_decision(earlier, out, job)
        world = replace(job.world, policy_root=rules_of(job, plan))
        request = FinishRequest(
            planned.folder.path, tuple(results), out, approved_by=job.inputs.approved_by,
            provenance="ci",
        )  # fmt: skip
        try:
            result = asyncio.run(
                run_finish(
                    request,
                    world,
                    wait=job.inputs.wait,
                    time_budget_s=job.inputs.time_budget_s,
                )
            )
        finally:
            world.progress.close()
    card = result.scorecard
    job.tell(verdict=card.verdict or "", summary_path=str(out / "summary.md"))
    page = out.parent / f"{name}.html"
    shutil.copyfile(out / "scorecard.html", page)
    job.tell(page_path=str(page))
    show_scorecard(card, out, as_json=False)
    return card.exit_code


def _adopt_decision(earlier: list[Path], out: Path, job: Job) -> None:
    """Start from what an earlier attempt decided for good: its bytes are uploaded again, not made anew (C-17).

    Raises:
        Untrusted: what it decided does not follow from its own records.
    """
    for bundle in reversed(earlier):
        if Bundle(bundle).finalized:
            require_verified(bundle, job.world)
            shutil.copytree(bundle, out)
            return


def _tell_bundle(job: Job, out: Path, name: ScorecardName) -> None:
    job.tell(artifact_name=str(name), artifact_path=str(out))


def _check_plan_job(job: Job) -> None:
    """A plan that failed, was skipped or cancelled decides nothing, whatever artifacts say (traps 10, 11)."""
    said = job.inputs.plan_result
    if said is not None and said != "success":
        message = (
            f"the plan job ended as {said!r}, so nothing that this check promised was compared; its log "
            "says why"
        )
        raise PlanFailed(message)


def _suite(job: Job) -> str:
    """The suite's name where there is no plan to tell it."""
    named = parse(job.inputs.plan_artifact or "")
    if isinstance(named, PlanName):
        return named.suite
    try:
        return load_suite(Path(job.inputs.config), job.inputs.profile).suite.suite
    except ReleaseCheckError:
        return _named_in(Path(job.inputs.config))


def _named_in(config: Path) -> str:
    """The name in a config that cannot be read whole, so that what is said of it finds its place."""
    try:
        text = config.read_bytes()[:LONGEST_CONFIG].decode("utf-8", "replace")
    except OSError:
        return NO_SUITE
    found = _SUITE_LINE.search(text)
    return NO_SUITE if found is None else found[1]
