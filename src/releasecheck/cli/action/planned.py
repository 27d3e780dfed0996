"""The plan that the plan job froze, fetched and checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from releasecheck.cli.output import say
from releasecheck.config import load_suite
from releasecheck.drivers.github.artifacts import choose
from releasecheck.drivers.github.errors import quoted
from releasecheck.drivers.github.fetching import RunArtifacts, check_plan_is
from releasecheck.drivers.github.names import ScorecardName, ShardName, parse
from releasecheck.errors import Untrusted
from releasecheck.pipeline.earlier import foreign_in, tickets_given
from releasecheck.pipeline.folders import LEDGER_FILE, open_plan

if TYPE_CHECKING:
    from releasecheck.cli.action.job import Job
    from releasecheck.drivers.github.artifacts import Artifact
    from releasecheck.drivers.github.names import PlanName
    from releasecheck.drivers.github.rest import GitHubClient
    from releasecheck.pipeline.earlier import Ticket
    from releasecheck.pipeline.folders import PlanFolder


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A plan with the artifacts of its run."""

    name: PlanName
    folder: PlanFolder
    artifacts: RunArtifacts
    attempt: int
    """Of this job."""

    def shards(self, index: int | None = None) -> list[Path]:
        """Folders with what shards recorded.

        What a target starts can write into its shard's folder, and with some skill upload under other
        names: a shard speaks for itself alone, and nobody for an attempt that did not begin (G-26).

        Raises:
            ArtifactMissing, ZipRefused, DigestMismatch: as `RunArtifacts.shards`.
            Untrusted: an artifact holds what its job does not write, or is of an attempt to come.
        """
        self._check_attempts(ShardName, self.attempt)
        found = self.artifacts.shards(self.name, index)
        names = {str(one.id): one.name for one in self.artifacts.listed}
        for folder in found:
            named = parse(names[folder.name])
            for path in folder.rglob("*.jsonl"):
                match = LEDGER_FILE.fullmatch(path.name)
                told = None if match is None or match[1] is None else int(match[1])
                if not isinstance(named, ShardName) or told != named.index:
                    message = (
                        f"the artifact {named} holds {path.name}, which its shard does not write"
                    )
                    raise Untrusted(message)
        return found

    def bundles(self, shards: list[Path]) -> list[Path]:
        """What jobs of `finish` uploaded before: deadlines and collected scores, beside what shards uploaded.

        Whoever runs code in a job of this run can upload under that name too, of this attempt or an earlier
        one. So such a bundle may add nothing but answers to tickets that shards were given, and their
        deadlines, in no more files than there were attempts; and it came when `finish` could upload: after the
        shards of its attempt, and before the next attempt began (G-26).

        Raises:
            ArtifactMissing, ZipRefused, DigestMismatch: as `RunArtifacts.bundles`.
            Untrusted: there is one of an attempt to come.
        """
        self._check_attempts(ScorecardName, self.attempt)
        listed = {str(one.id): one for one in self.artifacts.listed}
        recorded = {path.name for folder in shards for path in folder.rglob("*.jsonl")}
        given = tickets_given(path for folder in shards for path in folder.rglob("*.jsonl"))
        kept = []
        for folder in self.artifacts.bundles(self.name):
            named = parse(listed[folder.name].name)
            most = named.attempt if isinstance(named, ScorecardName) else 0
            more = {path.name for path in (folder / "results").glob("*.jsonl")} - recorded
            strange = self._untimely(listed[folder.name], most) or _strange(
                folder / "results", more, most, given
            )
            if strange is None:
                kept.append(folder)
            else:
                say(f"{named} is not read: {strange}")
        return kept

    def _untimely(self, bundle: Artifact, attempt: int) -> str | None:
        """Why no `finish` of this attempt can have uploaded a bundle when it was; None when it can."""
        shards = choose(
            self.artifacts.listed, ShardName, suite=self.name.suite, plan=self.name.plan
        )
        for one in shards:
            # Moments of one server in one form: they compare as texts.
            if one.name.attempt <= attempt and bundle.created_at < one.artifact.created_at:
                return (
                    f"it was there at {bundle.created_at}, before {one.name} ({one.artifact.created_at}), and "
                    "no finish begins before its shards have ended"
                )
        if attempt < self.attempt:
            began = self.artifacts.attempt_began(attempt + 1)
            if began is not None and bundle.created_at > began:
                return f"it was not there before {bundle.created_at}, and attempt {attempt + 1} began at {began}"
        return None

    def _check_attempts(self, kind: type[ShardName | ScorecardName], newest: int) -> None:
        for one in choose(self.artifacts.listed, kind, suite=self.name.suite, plan=self.name.plan):
            if one.name.attempt > newest:
                message = (
                    f"the artifact {one.name} is there already, and this is attempt {self.attempt}: no job of "
                    "this check has uploaded it. Find out who did; a run of all jobs anew starts without it"
                )
                raise Untrusted(message)


def _strange(results: Path, more: set[str], most: int, given: set[Ticket]) -> str | None:
    """Why a bundle says more than an honest job of `finish` would; None when it does not."""
    for name in sorted(more):
        match = LEDGER_FILE.fullmatch(name)
        if match is None or match[1] is not None or int(match[2]) > most:
            return f"it holds {name}, which no shard uploaded"
        foreign = foreign_in(results / name, given)
        if foreign is not None:
            return foreign
    return None


def planned_by(job: Job, client: GitHubClient, *, alone: bool = False) -> PlannedRun:
    """Fetch the plan of this workflow run.

    `alone`: nothing but the plan is looked at, where its name is known.

    Raises:
        ArtifactMissing: there is none.
        Untrusted: it is not this run's, or was changed.
    """
    artifacts = RunArtifacts.of(
        client,
        job.context.repository,
        job.context.run_id,
        job.folder / "artifacts",
        job.inputs.plan_artifact if alone else None,
    )
    name = job.inputs.plan_artifact
    # A name that got lost (trap 13) must not make the plan of another suite ours.
    found, folder = artifacts.plan(name, configured_suite(job) if name is None else None)
    opened = open_plan(folder)
    plan = opened.plan
    check_plan_is(
        found.name,
        suite=plan.suite,
        plan_digest=plan.plan_digest,
        run_id=plan.run_id,
        workflow_run=job.context.run_id if plan.adopted is None else None,
    )
    told = job.inputs.plan_digest
    if told is not None and told != plan.plan_digest:
        message = (
            f"the artifact {found.name} holds the plan {plan.plan_digest}, and the plan job froze "
            f"{quoted(told, 80)}; it was exchanged"
        )
        raise Untrusted(message)
    return PlannedRun(found.name, opened, artifacts, job.context.run_attempt)


def configured_suite(job: Job) -> str:
    """The suite that the config in the checkout names.

    Raises:
        ConfigError: it cannot be read.
    """
    return load_suite(Path(job.inputs.config), job.inputs.profile).suite.suite
