"""Baseline `auto`: the newest run of a suite that may be compared with, wherever it is still kept (G-21).

Runs first, then the bundles of releases, then the folder committed beside the suite; and that folder
before everything that is older than it. A request that fails is an error and never "no baseline"
(trap 24); what was looked at and not taken is returned with the answer.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final, TypeAlias

from releasecheck.canonical import JsonProblem, parse_json
from releasecheck.drivers.github.ancestry import Ancestry, commit_seen
from releasecheck.drivers.github.artifacts import Found, choose, fetch, list_artifacts
from releasecheck.drivers.github.candidates import list_candidates, unfit_run
from releasecheck.drivers.github.checking import TRY_OLDER, Filed, Sound, Unfit, check_bundle
from releasecheck.drivers.github.context import ForeignText
from releasecheck.drivers.github.errors import ArtifactExpired, NotFound, quoted
from releasecheck.drivers.github.found import Chosen, FromRepository, FromRun, NoneFound
from releasecheck.drivers.github.names import BaselineName, ScorecardName, parse
from releasecheck.drivers.github.refusals import RefusalLog
from releasecheck.drivers.github.releases import Bundled, fetch_asset, list_bundled
from releasecheck.drivers.github.wanted import DEFAULT
from releasecheck.drivers.github.zips import BUNDLE_LIMITS
from releasecheck.errors import Untrusted
from releasecheck.pipeline.baselines import PROMOTION, has_baseline, read_committed_baseline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from releasecheck.drivers.github.ancestry import CommitSeen
    from releasecheck.drivers.github.artifacts import Artifact
    from releasecheck.drivers.github.candidates import CandidateRun
    from releasecheck.drivers.github.found import Source
    from releasecheck.drivers.github.rest import GitHubClient
    from releasecheck.drivers.github.wanted import Committed, Limits, Wanted
    from releasecheck.pipeline.world import World

Answer: TypeAlias = Chosen | NoneFound
_OTHERS_TRIES: Final = 2
"""Runs of another workflow that are looked into before it counts as one that checks nothing."""


def find_baseline(
    client: GitHubClient, wanted: Wanted, into: Path, world: World, *, limits: Limits = DEFAULT
) -> Answer:
    """Find, download and verify a baseline.

    Args:
        client: Whose token may read actions and contents.
        wanted: What for.
        into: A folder for what is downloaded; what was refused is removed again.
        world: For verifying.
        limits: How far to look.

    Raises:
        GitHubError: GitHub did not answer, so nothing is known.
        UsageError, Untrusted: the committed folder, which is what is left, cannot be read.
    """
    return _Search(client, wanted, into, world, limits).answer()


class _Search:
    """One search: what it knows, what it has spent, what it refused."""

    def __init__(
        self, client: GitHubClient, wanted: Wanted, into: Path, world: World, limits: Limits
    ) -> None:
        self.client, self.wanted, self.into, self.world = client, wanted, into, world
        self.limits = limits
        self.ancestry = Ancestry(client, wanted.repository)
        self.log = RefusalLog()
        self.branch = ""
        self.accepted: CommitSeen | None = None
        self.looked = self.downloads = 0
        self.of_suite = self.expired = 0
        self.others: set[str] = set()
        """Names of other suites that were seen."""
        self.notes: list[str] = []

    def answer(self) -> Answer:
        wanted = self.wanted
        # First of all: a base that GitHub does not know would make every other commit unrelated to it.
        self.ancestry.commit(wanted.base)
        self.branch = wanted.branch or self._default_branch()
        committed = wanted.committed
        present = committed is not None and has_baseline(committed.folder)
        if committed is not None and present:
            self.accepted = self._acceptance(committed)
        found = self._in_runs(wanted.workflow, aside=False)
        if found is None and wanted.workflow is not None:
            found = self._in_runs(None, aside=True)
        found = found or self._in_releases()
        if found is None and committed is not None and present:
            found = self._in_repository(committed)
        return found or NoneFound(why=self._why_none(), refused=self.log.done())

    def _default_branch(self) -> str:
        told = self.client.get(f"/repos/{self.wanted.repository}")
        name = told.get("default_branch") if isinstance(told, dict) else None
        return name if isinstance(name, str) else ""

    def _acceptance(self, committed: Committed) -> CommitSeen | None:
        """The commit that last changed the committed folder."""
        path = f"/repos/{self.wanted.repository}/commits"
        asked: dict[str, str | int] = {
            "path": committed.path,
            "sha": committed.at or self.wanted.base,
        }
        told = self.client.get(path, {**asked, "per_page": 1})
        first = told[0] if isinstance(told, list) and told else None
        return None if first is None else commit_seen(path, first)

    # Runs.

    def _in_runs(self, workflow: str | None, *, aside: bool) -> Chosen | None:
        """Look through runs, `aside` those of all workflows but our own, of which only hits are told."""
        try:
            listed = list_candidates(self.client, self.wanted.repository, self.branch, workflow)
        except NotFound:
            self.notes.append(f"GitHub knows no workflow {ForeignText(workflow or '')} yet")
            return None
        barren: dict[str, int] = {}
        for run in listed.runs:
            if workflow is None and self._elsewhere(run, barren):
                continue
            if self._refused_unread(run, aside=aside):
                continue
            if self.looked >= self.limits.runs:
                self.notes.append(f"the search ended after {self.looked} runs")
                return None
            self.looked += 1
            artifacts = self._artifacts(run, aside=aside)
            if not artifacts:
                barren[run.path] = barren.get(run.path, 0) + 1
                continue
            if self._refused_commit(run.what, run.head_sha, run.id):
                continue
            found = self._in_run(run, artifacts)
            if found is not None:
                return found
            if self.downloads >= self.limits.downloads:
                self.notes.append(f"the search ended after {self.downloads} downloads")
                return None
        if listed.more:
            self.notes.append("older runs than GitHub lists at once were not looked at")
        return None

    def _elsewhere(self, run: CandidateRun, barren: dict[str, int]) -> bool:
        """Whether a run is of a workflow that was looked through, or that checks nothing."""
        return run.path == self.wanted.workflow or barren.get(run.path, 0) >= _OTHERS_TRIES

    def _refused_unread(self, run: CandidateRun, *, aside: bool) -> bool:
        unfit = unfit_run(run, self.branch, self.wanted.own_run)
        # A run on an accepted commit starts after it was made; no request is needed to tell.
        if unfit is None and self.accepted and run.created_at < self.accepted.committed_at:
            unfit = "older_than_accepted", self._older()
        if unfit is not None and not aside:
            self.log.add(run.what, *unfit, run_id=run.id)
        return unfit is not None

    def _older(self) -> str:
        at = "" if self.accepted is None else self.accepted.sha[:7]
        return f"the baseline in the repository was accepted later, in {at}"

    def _refused_commit(self, what: str, commit: str, run_id: int | None = None) -> bool:
        base = self.wanted.base
        if not self.ancestry.holds(base, commit):
            why = f"{commit[:7]} is no ancestor of {base[:7]}"
            self.log.add(what, "not_ancestor", why, run_id=run_id)
            return True
        if self.accepted is not None and not self.ancestry.after(commit, self.accepted.sha):
            self.log.add(what, "older_than_accepted", self._older(), run_id=run_id)
            return True
        return False

    def _artifacts(self, run: CandidateRun, *, aside: bool) -> tuple[Artifact, ...]:
        """The artifacts of a run that has a scorecard of the suite; empty when it has none."""
        listed = list_artifacts(self.client, self.wanted.repository, run.id)
        suites = {
            name.suite for one in listed if isinstance(name := parse(one.name), ScorecardName)
        }
        if self.wanted.suite in suites:
            self.of_suite += 1
            return listed
        self.others |= suites
        if not aside:
            said = f", only of {', '.join(sorted(suites)[:5])}" if suites else ""
            why = f"it has no scorecard of {self.wanted.suite}{said}"
            self.log.add(run.what, "no_scorecard", why, run_id=run.id)
        return ()

    def _in_run(self, run: CandidateRun, artifacts: Iterable[Artifact]) -> Chosen | None:
        """The bundle of the newest attempt that decides for this run."""
        listed = tuple(artifacts)
        bundles = choose(listed, ScorecardName, suite=self.wanted.suite)
        for one in sorted(bundles, key=_newest, reverse=True):
            if self.downloads >= self.limits.downloads:
                return None
            result = self._checked(run, one, listed)
            if isinstance(result, Chosen):
                return result
            self.log.add(
                f"{run.what} attempt {one.name.attempt}",
                result.reason,
                result.why,
                run_id=run.id,
                artifact_id=one.artifact.id,
            )
            if result.reason == "expired":
                self.expired += 1
            if result.reason not in TRY_OLDER:
                return None
        return None

    def _checked(
        self, run: CandidateRun, one: Found[ScorecardName], listed: tuple[Artifact, ...]
    ) -> Chosen | Unfit:
        artifact, name = one.artifact, one.name
        if artifact.from_fork or artifact.run_id != run.id:
            return Unfit("fork", "its artifact is of another repository's code or another run")
        if artifact.expired:
            return Unfit("expired", f"artifact {artifact.id} has expired")
        self.downloads += 1
        try:
            fetched = fetch(
                self.client, self.wanted.repository, artifact, self.into,
                max_bytes=self.limits.bytes, limits=BUNDLE_LIMITS,
            )  # fmt: skip
        except ArtifactExpired as error:
            return Unfit("expired", str(error))
        except Untrusted as error:
            return Unfit("unreadable", str(error))
        filed = self._filed(name.plan, run.id)
        result = self._sound(fetched.folder, filed, lambda _: _promoted(listed, name), run.head_sha)
        if isinstance(result, Unfit):
            shutil.rmtree(fetched.folder, ignore_errors=True)
            return result
        source = FromRun(
            run_id=run.id,
            attempt=name.attempt,
            workflow=run.path,
            artifact_id=artifact.id,
            artifact=artifact.name,
            digest=fetched.digest,
        )
        where = f"run {run.id} attempt {name.attempt} ({run.event}), artifact {artifact.id}"
        return self._chosen(fetched.folder, source, result, f"{where} {fetched.digest}")

    def _filed(self, plan12: str, run: int | None) -> Filed:
        wanted = self.wanted
        return Filed(repository=wanted.repository, suite=wanted.suite, plan12=plan12, run=run)

    def _sound(
        self, folder: Path, filed: Filed, promoted: Callable[[Sound], bool], commit: str | None
    ) -> Sound | Unfit:
        """A bundle that may be chosen; `commit` is where GitHub says it was made."""
        result = check_bundle(folder, filed, self.world)
        if isinstance(result, Unfit):
            return result
        if result.commit is None or (commit is not None and result.commit != commit):
            found = (result.commit or "no commit")[:40]
            return Unfit("stranger", f"it was measured at {found}; expected {commit or 'one'}")
        if result.verdict == "bootstrap" and not promoted(result):
            return Unfit("not_promoted", "it is a bootstrap, and its run did not promote it")
        return result

    def _chosen(self, folder: Path, source: Source, sound: Sound, where: str) -> Chosen:
        why = (
            f"newest {'promoted bootstrap' if sound.verdict == 'bootstrap' else 'passing run'} of "
            f"{ForeignText(self.branch)} up to {self.wanted.base[:7]}: {where}, commit "
            f"{(sound.commit or 'unknown')[:12]}"
        )
        return Chosen(
            folder=folder,
            source=source,
            run_id=sound.run_id,
            commit=sound.commit,
            why=self._with_refused(why),
            refused=self.log.done(),
        )

    def _with_refused(self, why: str) -> str:
        refused = self.log.done()
        said = f"; refused before it: {refused.summary}" if refused.summary else ""
        notes = "".join(f"; {note}" for note in dict.fromkeys(self.notes))
        return f"{why}{said}{notes}"

    # Releases, which keep a bundle when artifacts are gone (G-23).

    def _in_releases(self) -> Chosen | None:
        bundled, more = list_bundled(self.client, self.wanted.repository, self.wanted.suite)
        for one in bundled:
            if self._refused_release(one):
                continue
            if self.downloads >= self.limits.downloads:
                self.notes.append(f"the search ended after {self.downloads} downloads")
                return None
            result = self._released(one)
            if isinstance(result, Chosen):
                return result
            self.log.add(one.what, result.reason, result.why, artifact_id=one.asset_id)
        if more:
            self.notes.append("older releases than GitHub lists at once were not looked at")
        return None

    def _refused_release(self, one: Bundled) -> bool:
        try:
            tagged = self.ancestry.commit(one.commit_path)
        except NotFound:
            self.log.add(one.what, "not_ancestor", "its tag is gone", artifact_id=one.asset_id)
            return True
        return self._refused_commit(one.what, tagged.sha)

    def _released(self, one: Bundled) -> Chosen | Unfit:
        self.downloads += 1
        try:
            folder, digest = fetch_asset(
                self.client, self.wanted.repository, one, self.into, max_bytes=self.limits.bytes
            )
        except Untrusted as error:
            return Unfit("unreadable", str(error))
        filed = self._filed(one.plan12, None)
        result = self._sound(folder, filed, self._promoted_by_run, None)
        if isinstance(result, Sound):
            result = self._placed(result)
        if isinstance(result, Unfit):
            shutil.rmtree(folder, ignore_errors=True)
            return result
        source = one.source(digest, result.run)
        return self._chosen(
            folder, source, result, f"{one.what}, asset {one.asset_id} {digest} of run {result.run}"
        )

    def _promoted_by_run(self, sound: Sound) -> bool:
        """Whether the run that made a bundle promoted it; names outlive their artifacts."""
        try:
            listed = list_artifacts(self.client, self.wanted.repository, sound.run)
        except NotFound:
            return False
        return _promoted(listed, ScorecardName(self.wanted.suite, sound.plan12, 1))

    def _placed(self, sound: Sound) -> Sound | Unfit:
        """A release's bundle was measured at an ancestor too, and not by the run that asks."""
        if sound.run == self.wanted.own_run:
            return Unfit("itself", "a run is no baseline of itself")
        commit = sound.commit or ""
        if not self.ancestry.holds(self.wanted.base, commit):
            return Unfit("not_ancestor", f"it was measured at {commit[:7]}, which is no ancestor")
        if self.accepted is not None and not self.ancestry.after(commit, self.accepted.sha):
            return Unfit("older_than_accepted", self._older())
        return sound

    # The repository itself.

    def _in_repository(self, committed: Committed) -> Chosen:
        """What is left; a folder that cannot be read is an error, and never no baseline."""
        files = read_committed_baseline(committed.folder, "accepted in the repository")
        accepted_in = None if self.accepted is None else self.accepted.sha
        where = f"accepted in {accepted_in[:12]}" if accepted_in else "which no commit holds"
        suite = files.manifest.suite
        other = f" of the suite {quoted(suite, 63)}" if suite != self.wanted.suite else ""
        why = f"the baseline{other} in {ForeignText(committed.path)}, {where}"
        reason = _reason(committed.folder)
        return Chosen(
            folder=committed.folder,
            source=FromRepository(path=committed.path, accepted_in=accepted_in),
            run_id=files.manifest.run_id,
            commit=files.baseline.commit,
            why=self._with_refused(why + (f" ({reason})" if reason else "")),
            refused=self.log.done(),
        )

    def _why_none(self) -> str:
        parts = []
        if self.expired and self.expired == self.of_suite:
            all_of = "and it has" if self.expired == 1 else f"but all {self.expired} have"
            were = "was a baseline" if self.expired == 1 else "were baselines"
            parts.append(f"there {were} of this suite, {all_of} expired")
        elif self.expired:
            parts.append(f"{self.expired} of {self.of_suite} scorecards of this suite have expired")
        if self.others and not self.of_suite:
            names = ", ".join(sorted(self.others)[:5])
            more = len(self.others) - 5
            parts.append(
                f"runs exist for the suite {names}{f' and {more} more' if more > 0 else ''} only - was "
                f"{self.wanted.suite} renamed?"
            )
        refused = self.log.done()
        if refused.summary:
            parts.append(f"refused: {refused.summary}")
        else:
            which = ForeignText(self.wanted.workflow) if self.wanted.workflow else "any workflow"
            run = "earlier run" if refused.total else "run"
            parts.append(f"no {run} of {which} on {ForeignText(self.branch)} yet")
        return "; ".join([*parts, *dict.fromkeys(self.notes)])


def _newest(found: Found[ScorecardName]) -> tuple[int, int, str, int]:
    # The id stands last, where it only makes the order repeatable: ids do not grow with time.
    one = found.artifact
    return found.name.attempt, found.name.upload, one.created_at, one.id


def _promoted(listed: Iterable[Artifact], name: ScorecardName) -> bool:
    """Whether the run says by an artifact's name that this plan's result was promoted; expired ones count."""
    promotions = choose(listed, BaselineName, suite=name.suite, plan=name.plan)
    return any(not one.artifact.from_fork for one in promotions)


def _reason(folder: Path) -> str:
    """Why somebody accepted the run, where it says so."""
    try:
        note = parse_json((folder / PROMOTION).read_bytes())
    except (OSError, JsonProblem, UnicodeDecodeError):
        return ""
    accepted = note.get("accepted") if isinstance(note, dict) else None
    return quoted(accepted, 200) if isinstance(accepted, str) else ""
