"""Stage `publish`: say what the bundle says, everywhere; it runs no code of the suite."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from releasecheck.cli.action.rules import place_of
from releasecheck.cli.output import say
from releasecheck.config import load_suite
from releasecheck.drivers.github.context import AfterRun
from releasecheck.drivers.github.fetching import ArtifactMissing, RunArtifacts
from releasecheck.drivers.github.names import NO_PLAN, PlanName, ScorecardName, parse
from releasecheck.drivers.github.publishing import PublishOptions, publish
from releasecheck.drivers.github.publishing.evidence import Expected
from releasecheck.drivers.github.publishing.results import Done, Failed, Skipped
from releasecheck.errors import ReleaseCheckError, UsageError

if TYPE_CHECKING:
    from releasecheck.cli.action.job import Job


def carry_out(job: Job) -> int:
    """Publish; the exit code tells whether everything was published, never what the verdict is."""
    inputs, context = job.inputs, job.context
    name = parse(inputs.scorecard_artifact or "")
    if inputs.scorecard_artifact and not isinstance(name, ScorecardName):
        message = f"{inputs.scorecard_artifact!r} is no name of a scorecard artifact; pass the output of `finish` on"
        raise UsageError(message)
    out = job.folder / "published"
    with job.client() as client:
        artifacts = RunArtifacts.of(
            client, context.repository, context.run_id, job.folder / "artifacts"
        )
        bundle, url = job.folder / "absent", None
        if isinstance(name, ScorecardName):
            try:
                bundle = artifacts.bundle(str(name))
                url = artifacts.page_url(context.server_url, str(name))
            except ArtifactMissing as missing:
                say(str(missing))
        done = publish(
            bundle,
            client,
            context,
            PublishOptions(
                out=out,
                expected=_expected(job),
                config_folder=place_of(job, Path(inputs.config)).folder,
                scorecard_url=url,
                comment=inputs.comment,
                comment_author=inputs.comment_author,
                pull_request=inputs.pull_request,
                badge_branch=inputs.badge_branch,
                status=inputs.status,
                attest=inputs.attest,
            ),
            replace(job.world, environment=_with_summary(job)),
        )
    for one in done.records:
        match one.result:
            case Done(change=change, url=where):
                say(f"{one.surface:<12} {change}" + (f" {where}" if where else ""))
            case Skipped(why=why):
                say(f"{one.surface:<12} skipped: {why}")
            case Failed(error=error):
                say(f"{one.surface:<12} FAILED: {error}")
    for line in done.said:
        say(line)
    # Commands of ours: escaped where they were made, and each a line of its own.
    sys.stdout.write("".join(f"{line}\n" for line in done.lines))
    outputs = {key.replace("-", "_"): value for key, value in done.outputs.items()}
    job.tell(
        verdict=done.verdict or "",
        artifact_name=outputs.pop("published_artifact", ""),
        artifact_path=outputs.pop("published_path", ""),
        **outputs,
    )
    return done.exit_code


def _expected(job: Job) -> Expected:
    """What the jobs before this one, which no code of the suite can speak for, know of the run."""
    planned = parse(job.inputs.plan_artifact or "")
    if isinstance(planned, PlanName):
        # An adopted run has the run id of the untrusted one.
        ours = None if job.inputs.adopt_run else f"rc-{planned.plan}-{job.context.run_id}"
        return Expected(planned.suite, ours, job.inputs.plan_digest)
    named = parse(job.inputs.scorecard_artifact or "")
    if isinstance(named, ScorecardName) and named.plan == NO_PLAN:
        return Expected(suite=named.suite)
    return Expected(suite=_configured(job))


def _configured(job: Job) -> str | None:
    """The suite of a checkout that can be trusted: after another run it is the default branch's."""
    if not isinstance(job.context.subject, AfterRun):
        return None
    try:
        return load_suite(Path(job.inputs.config), job.inputs.profile).suite.suite
    except ReleaseCheckError:
        return None


def _with_summary(job: Job) -> dict[str, str]:
    """This stage starts nobody, so it may know the runner's file."""
    environment = dict(job.world.environment)
    if job.summary_path is not None:
        environment["GITHUB_STEP_SUMMARY"] = str(job.summary_path)
    return environment
