"""Stage `plan`: freeze what is checked into a folder that the action uploads as an artifact."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from releasecheck.cli.action.extras import install_extras
from releasecheck.cli.action.rules import in_tree, policy_of
from releasecheck.cli.output import say
from releasecheck.config import load_suite
from releasecheck.drivers.github.commands import annotation
from releasecheck.drivers.github.names import PlanName
from releasecheck.drivers.local.git import git_state
from releasecheck.drivers.local.world import ci_context
from releasecheck.errors import ConfigError, InfrastructureError, Problem
from releasecheck.pipeline.freezing import PlanRequest, make_plan
from releasecheck.pipeline.policy import load_with
from releasecheck.pipeline.preflight import check_parts
from releasecheck.scorecard.policy import change_lines, policy_words

if TYPE_CHECKING:
    from releasecheck.cli.action.job import Job
    from releasecheck.model.plan import Plan
    from releasecheck.pipeline.policy import PolicySource

MOST_ANNOTATIONS: Final = 10


def carry_out(job: Job) -> int:
    """Freeze the plan and tell its artifact, its matrix and its names.

    Raises:
        ConfigError: what is wrong; of the base commit's files it is said that they are those.
    """
    config = Path(job.inputs.config)
    source, tree = policy_of(job, config)
    try:
        try:
            return _plan(job, config, source, tree)
        except ConfigError as error:
            if source is None or tree is None:
                raise
            raise _at_the_base(error, source, tree) from error
    except ConfigError as error:
        _annotate(job, error)
        raise


def _annotate(job: Job, error: ConfigError) -> None:
    """Point at the lines that are wrong, where a reviewer looks: at most ten, the runner shows no more."""
    for one in error.problems[:MOST_ANNOTATIONS]:
        path = None if one.path is None else Path(os.path.normpath(job.world.cwd / one.path))
        inside = path is not None and path.is_relative_to(job.context.workspace)
        command = annotation(
            "error",
            str(one),
            file=path.relative_to(job.context.workspace).as_posix() if path and inside else None,
            line=one.line if inside else None,
            title="The suite cannot be checked",
        )
        sys.stdout.write(f"{command}\n")


def _check_own(config: Path, profile: str | None) -> None:
    """Refuse a change that breaks its config: its rules do not apply to it, but every check after the merge.

    Raises:
        ConfigError: what is wrong.
    """
    try:
        load_suite(config, profile)
    except ConfigError as error:
        told = (
            "merging this change would break the check: the rules of the base commit apply to it, but its own "
            "config cannot be used"
        )
        raise ConfigError([Problem(told), *error.problems]) from None


def _at_the_base(error: ConfigError, source: PolicySource, tree: Path) -> ConfigError:
    """The same problems, with files of the base commit by their names there, and what can be done about them.

    A pull request that repairs the file does not change them: nobody would find out from a temporary folder.
    """
    problems = [
        replace(one, path=Path(one.path).relative_to(tree).as_posix())
        if one.path is not None and Path(one.path).is_relative_to(tree)
        else one
        for one in error.problems
    ]
    if problems == list(error.problems):
        return error
    told = (
        f"the base commit {(source.commit or '')[:12]} is wrong, and its rules apply to this change. Repair it on the "
        "base branch; or repair it here, with `policy: head` in the workflow for this one change"
    )
    return ConfigError([Problem(told), *problems])


def _plan(job: Job, config: Path, source: PolicySource | None, tree: Path | None) -> int:
    inputs = job.inputs
    if inputs.status:
        _tell_pending(job, load_with(config, inputs.profile, source).suite.suite)
    if source is not None and source.applies:
        _check_own(config, inputs.profile)
    install_extras(job, tree if source is not None and source.applies else None)
    baseline = _baseline(job, config, source, tree)
    out = job.folder / "plan"
    planned = make_plan(
        PlanRequest(
            config=config,
            profile=inputs.profile,
            shards=inputs.shards,
            mode=inputs.mode,
            ids=inputs.ids,
            baseline=baseline.folder,
            baseline_why=baseline.why,
            unique=str(job.context.run_id),
            git=git_state(config.resolve().parent),
            context={**ci_context(), **baseline.facts},
            policy=source,
            adopt=_adopted(job),
        ),
        job.world,
        out,
        check=check_parts,
    )
    plan = planned.plan
    plan12 = plan.plan_digest.removeprefix("sha256:")[:12]
    name = PlanName(plan.suite, plan12, job.context.run_attempt)
    job.tell(
        run_id=plan.run_id,
        plan_digest=plan.plan_digest,
        # Small: what outputs hold is bounded, and the plan itself is in the artifact (P-08).
        matrix=json.dumps([shard.index for shard in plan.shards]),
        artifact_name=str(name),
        artifact_path=str(out),
    )
    _tell_log(plan, baseline)
    for problem in planned.loaded.notes:
        say(f"note: {problem}")
    return 0


@dataclass(frozen=True, slots=True)
class _Baseline:
    folder: Path | Literal["none"] | None
    why: str | None
    facts: dict[str, str]
    lines: tuple[str, ...]


def _baseline(job: Job, config: Path, source: PolicySource | None, tree: Path | None) -> _Baseline:
    asked = job.inputs.baseline
    if asked == "none":
        return _Baseline("none", None, {}, ("baseline: none was asked for",))
    theirs = tree if source is not None and source.applies else None
    if asked != "auto":
        # A folder of the change would let it choose what it is compared with.
        named = Path(asked) if theirs is None else in_tree(job, theirs, Path(asked))
        return _Baseline(named, None, {}, (f"baseline: {asked}",))
    from releasecheck.drivers.github.baseline import find_baseline
    from releasecheck.drivers.github.found import Chosen
    from releasecheck.drivers.github.wanted import Committed, wanted_in

    loaded = load_with(config, job.inputs.profile, source)
    below = loaded.suite.baseline.path
    folder = (loaded.policy_root / below).resolve()
    root = (theirs or job.context.workspace).resolve()
    committed = None
    if folder.is_relative_to(root):
        at = job.context.head_sha if source is not None and theirs is None else None
        committed = Committed(folder, folder.relative_to(root).as_posix(), at)
    wanted = wanted_in(
        job.context, loaded.suite.suite, committed, branch=job.inputs.baseline_branch
    )
    with job.client() as client:
        found = find_baseline(client, wanted, job.folder / "baseline", job.world)
    if isinstance(found, Chosen):
        return _Baseline(found.folder, found.why, found.context(), found.lines())
    return _Baseline("none", None, found.context(), found.lines())


def _adopted(job: Job) -> Path | None:
    """The plan of an untrusted run, as data (the fork-safe pair)."""
    if job.inputs.adopt_run is None:
        return None
    from releasecheck.drivers.github.fetching import RunArtifacts

    with job.client() as client:
        artifacts = RunArtifacts.of(
            client, job.context.repository, job.inputs.adopt_run, job.folder / "adopted"
        )
        suite = load_with(Path(job.inputs.config), job.inputs.profile, None).suite.suite
        _, folder = artifacts.plan(None, suite)
    return folder


def _tell_pending(job: Job, suite: str) -> None:
    """Say on the commit that its check runs; what stood there was of an earlier run."""
    from releasecheck.drivers.github.publishing.results import Failed
    from releasecheck.drivers.github.publishing.status import set_pending

    with job.client() as client:
        said = set_pending(client, job.context, suite)
    if isinstance(said, Failed):
        # A green status of an earlier run must not stand for this one.
        message = f"the status releasecheck/{suite} cannot be set: {said.error}"
        raise InfrastructureError(message)


def _tell_log(plan: Plan, baseline: _Baseline) -> None:
    say(f"run id       {plan.run_id}")
    say(f"plan digest  {plan.plan_digest}")
    say(f"shards       {len(plan.shards)}")
    say(f"cases        {plan.cases} ({plan.selection.asked} of {plan.selection.of})")
    say(f"policy       {policy_words(plan.policy)}")
    for line in change_lines(plan.policy.changes):
        say(f"change       {line}")
    for line in baseline.lines:
        say(line)
