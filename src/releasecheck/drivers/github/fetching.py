"""What a stage takes from the jobs before it: by the producer's names, each archive in its own folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from releasecheck.drivers.github.artifacts import Found, choose, fetch, list_artifacts
from releasecheck.drivers.github.errors import ArtifactExpired, NotFound, quoted
from releasecheck.drivers.github.names import (
    ArtifactName,
    PlanName,
    ScorecardName,
    ShardName,
    parse,
)
from releasecheck.drivers.github.zips import BUNDLE_LIMITS, DEFAULT_LIMITS, ZipLimits
from releasecheck.errors import InfrastructureError, Untrusted
from releasecheck.pipeline.folders import LEDGER_FILE, OURS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from releasecheck.drivers.github.artifacts import Artifact
    from releasecheck.drivers.github.rest import GitHubClient

N = TypeVar("N", bound=ArtifactName)
_PLAN_FILE: Final = re.compile(
    r"plan\.json|cases-\d{4}\.jsonl|(baseline|anchor)/((scorecard|manifest|promotion)\.json|results\.jsonl)"
)
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_LOG: Final = re.compile(r"[A-Za-z0-9._-]{1,120}\.log")


class ArtifactMissing(InfrastructureError):
    """An artifact that a job before this one should have uploaded is not there."""


@dataclass(frozen=True, slots=True)
class RunArtifacts:
    """The artifacts of one workflow run, listed once."""

    client: GitHubClient
    repository: str
    run_id: int
    listed: tuple[Artifact, ...]
    into: Path

    @classmethod
    def of(
        cls,
        client: GitHubClient,
        repository: str,
        run_id: int,
        into: Path,
        name: str | None = None,
    ) -> RunArtifacts:
        """List them, or only those of one name: a run of 256 shards has many, and a token few requests.

        Raises:
            GitHubError: they cannot be listed.
        """
        listed = list_artifacts(client, repository, run_id, name)
        return cls(client, repository, run_id, listed, into)

    def plan(self, name: str | None, suite: str | None) -> tuple[Found[PlanName], Path]:
        """The plan of this run, unpacked.

        Args:
            name: As the plan job told it; None when that got lost (C-02): then the one plan there is.
            suite: Whose; None when only the name tells.

        Raises:
            ArtifactMissing: there is none, or several and nobody says which.
            ZipRefused, DigestMismatch: it is not what was uploaded, or no plan.
        """
        found = [
            Found(one, parsed)
            for one in self.listed
            if isinstance(parsed := parse(one.name), PlanName)
            and (name is None or one.name == name)
            and suite in (None, parsed.suite)
        ]
        if name is not None and suite is not None and not found:
            self._missing(f"the plan {quoted(name, 150)!r}")
        if not found:
            self._missing("a plan")
        if len({one.name.plan for one in found}) > 1 or (
            name is None and len({one.name.suite for one in found}) > 1
        ):
            names = ", ".join(sorted({str(one.name) for one in found})[:5])
            message = (
                f"workflow run {self.run_id} has several plans ({names}) and the plan job's output that says "
                "which one is empty; pass its output on as `plan-artifact`"
            )
            raise ArtifactMissing(message)
        newest = max(found, key=lambda one: (one.name.attempt, one.name.upload, one.artifact.id))
        return newest, self._fetch(newest, _is_plan_file)

    def shards(self, plan: PlanName, index: int | None = None) -> list[Path]:
        """Folders with the result files of every attempt and upload that is still kept.

        Raises:
            ArtifactMissing: what one attempt recorded has expired.
            ZipRefused, DigestMismatch: an archive is not what an honest job uploads.
        """
        found = choose(self.listed, ShardName, suite=plan.suite, plan=plan.plan)
        wanted = [one for one in found if index in (None, one.name.index)]
        return [self._fetch(one, _is_result_file) for one in wanted]

    def bundles(self, plan: PlanName) -> list[Path]:
        """What earlier attempts of `finish` uploaded, oldest first.

        Raises:
            ArtifactMissing: what one attempt decided has expired.
            ZipRefused, DigestMismatch: an archive is not what `finish` uploads.
        """
        found = choose(self.listed, ScorecardName, suite=plan.suite, plan=plan.plan)
        return [self._fetch(one, is_bundle_file, BUNDLE_LIMITS) for one in found]

    def attempt_began(self, attempt: int) -> str | None:
        """When an attempt of the run began; None where the server does not tell.

        Raises:
            GitHubError: as for any request.
        """
        path = f"/repos/{self.repository}/actions/runs/{self.run_id}/attempts/{attempt}"
        try:
            found = self.client.get(path)
        except NotFound:
            return None
        began = found.get("run_started_at") if isinstance(found, dict) else None
        return began if isinstance(began, str) and _MOMENT.fullmatch(began) else None

    def bundle(self, name: str) -> Path:
        """The bundle that `finish` uploaded under exactly this name.

        Raises:
            ArtifactMissing: there is none.
        """
        found = [
            Found(one, parsed)
            for one in self.listed
            if one.name == name and isinstance(parsed := parse(one.name), ScorecardName)
        ]
        if not found:
            self._missing(f"the scorecard {quoted(name, 150)!r}")
        newest = max(found, key=lambda one: one.artifact.id)
        return self._fetch(newest, is_bundle_file, BUNDLE_LIMITS)

    def page_url(self, server_url: str, scorecard: str) -> str | None:
        """Where the uploaded page of a scorecard opens; None when it was not uploaded."""
        for one in self.listed:
            if one.name == f"{scorecard}.html" and not one.expired:
                return (
                    f"{server_url}/{self.repository}/actions/runs/{self.run_id}/artifacts/{one.id}"
                )
        return None

    def _fetch(
        self, found: Found[N], allowed: Callable[[str], bool], limits: ZipLimits = DEFAULT_LIMITS
    ) -> Path:
        try:
            return fetch(
                self.client, self.repository, found.artifact, self.into,
                allowed=allowed, limits=limits,
            ).folder  # fmt: skip
        except ArtifactExpired as error:
            raise ArtifactMissing(str(error)) from None

    def _missing(self, what: str) -> None:
        names = sorted(one.name for one in self.listed)
        seen = ", ".join(quoted(name, 100) for name in names[:5]) or "none at all"
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        message = (
            f"workflow run {self.run_id} has no artifact with {what}; found {seen}{more}. The job that makes "
            "it failed, was skipped, or its output was emptied because it looked like a secret"
        )
        raise ArtifactMissing(message)


def _is_plan_file(name: str) -> bool:
    return _PLAN_FILE.fullmatch(name) is not None


def _is_result_file(name: str) -> bool:
    # An artifact of one file has no folder, one of several may have.
    last = name.removeprefix("results/")
    return LEDGER_FILE.fullmatch(last) is not None or _LOG.fullmatch(last) is not None


def is_bundle_file(name: str) -> bool:
    """Whether a bundle's artifact may hold a file of that name."""
    head, _, rest = name.partition("/")
    if not rest:
        return head in OURS
    if head == "plan":
        return _is_plan_file(rest)
    return head == "results" and _is_result_file(rest)


def check_plan_is(
    name: PlanName, *, suite: str, plan_digest: str, run_id: str, workflow_run: int | None
) -> None:
    """Refuse a plan that is not what its artifact's name and this run say.

    Args:
        name: Of the artifact.
        suite: As the plan says, like the other two.
        plan_digest: Of it.
        run_id: An adopted plan has that of the untrusted run.
        workflow_run: Whose plan it must be; None for an adopted one.

    Raises:
        Untrusted: naming what differs.
    """
    plan12 = plan_digest.removeprefix("sha256:")[:12]
    if (name.suite, name.plan) != (suite, plan12):
        message = (
            f"the artifact {name} holds the plan {plan12} of the suite {suite}; it was exchanged"
        )
        raise Untrusted(message)
    if workflow_run is not None and run_id != f"rc-{plan12}-{workflow_run}":
        message = f"the artifact {name} holds a plan of the run {run_id[:80]}, and this is workflow run {workflow_run}"
        raise Untrusted(message)
