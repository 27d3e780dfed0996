"""One sweep: every run of ours that nobody finishes is looked at, and helped where that can help."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from releasecheck.drivers.github.beat.badges import BadgeNote, turn_stale
from releasecheck.drivers.github.beat.cards import Card, Reader
from releasecheck.drivers.github.beat.evidence import Planned, planned, suites_of
from releasecheck.drivers.github.beat.findings import Finding, ScheduleNote, Swept
from releasecheck.drivers.github.beat.options import MOST_RERUNS, RERUN_DAYS, BeatOptions, Where
from releasecheck.drivers.github.beat.progress import fruitless
from releasecheck.drivers.github.beat.pulls import Abandoned, Pulls, newer_of_same_pull
from releasecheck.drivers.github.beat.repair import Busy, Refused, rerun_failed
from releasecheck.drivers.github.beat.say import speak
from releasecheck.drivers.github.beat.schedules import check_schedule
from releasecheck.drivers.github.beat.watched import Artifacts, watched_runs
from releasecheck.drivers.github.errors import (
    ArtifactExpired,
    GitHubError,
    RateLimited,
    Unauthorized,
    quoted,
)
from releasecheck.drivers.github.login import own_login
from releasecheck.drivers.github.publishing.branch import Branch
from releasecheck.drivers.github.publishing.results import NotPublished
from releasecheck.errors import ReleaseCheckError

if TYPE_CHECKING:
    from releasecheck.drivers.github.beat.runs import WatchedRun
    from releasecheck.drivers.github.rest import GitHubClient
    from releasecheck.ports import Clock

ENDED_BADLY: Final = frozenset({"failure", "cancelled", "timed_out"})
"""What a run may have come to that its failed jobs can mend; a job that ran out of time is `cancelled`
(trap 9)."""
NEW_RUN: Final = (
    "Start a new run: push a commit, or use `Run workflow`. Nothing that was recorded is gone: the "
    "artifacts of this run hold it until they expire, and its bundle can be downloaded and carried on"
)


def sweep(client: GitHubClient, where: Where, options: BeatOptions, clock: Clock) -> Swept:
    """Look at every run of ours, and have failed jobs of stranded ones run again.

    A run that cannot be looked at is recorded and does not stop the others; a token that is refused or
    limited does.

    Raises:
        UsageError: a workflow that was named is not there.
    """
    with tempfile.TemporaryDirectory(prefix="releasecheck-beat-") as folder:
        return _Sweep(client, where, options, clock, Path(folder)).carry_out()


class _Sweep:
    def __init__(
        self,
        client: GitHubClient,
        where: Where,
        options: BeatOptions,
        clock: Clock,
        folder: Path,
    ) -> None:
        self._client, self._where, self._options = client, where, options
        self._repository = where.repository
        self._at = clock.now()
        self._now = datetime.fromisoformat(self._at)
        self._artifacts = Artifacts(client, self._repository)
        self._pulls = Pulls(client, self._repository)
        self._reader = Reader(client, self._repository, folder)
        self._runs: dict[str, tuple[WatchedRun, ...]] = {}
        self._findings: list[Finding] = []
        self._schedules: list[ScheduleNote] = []
        self._badges: tuple[BadgeNote, ...] = ()
        self._notes: list[str] = []
        self._me = ""

    def carry_out(self) -> Swept:
        """All of it."""
        try:
            self._me = own_login(self._client)
            self._look_at_all()
            self._look_at_schedules()
            self._look_at_badges()
            if not self._options.dry_run:
                self._notes += speak(
                    self._client, self._where, tuple(self._runs), self._findings, self._me
                )
        except GitHubError as error:
            return self._swept(quoted(str(error), 600))
        return self._swept(None)

    def _swept(self, stopped: str | None) -> Swept:
        return Swept(
            repository=self._repository,
            at=self._at,
            dry_run=self._options.dry_run,
            workflows=tuple(sorted(self._runs)),
            findings=tuple(self._findings),
            schedules=tuple(self._schedules),
            badges=self._badges,
            notes=tuple(self._notes),
            stopped=stopped,
        )

    def _look_at_all(self) -> None:
        since = self._now - self._options.look_back
        self._runs, notes = watched_runs(
            self._client, self._where, self._options, self._artifacts, since
        )
        self._notes += notes
        for run in [one for runs in self._runs.values() for one in runs]:
            try:
                found = self._look(run)
            except (RateLimited, Unauthorized):
                raise
            except ReleaseCheckError as error:
                found = Finding(run=run, kind="error", why=quoted(str(error), 600))
            # A run that our own code cannot cope with must not keep others from being mended.
            except Exception as error:  # noqa: BLE001
                found = Finding(
                    run=run, kind="error", why=f"{type(error).__name__}: {error!s:.300}"
                )
            if found is not None:
                self._findings.append(found)

    def _look_at_schedules(self) -> None:
        for path in sorted(self._runs):
            try:
                self._schedules += check_schedule(
                    self._client, self._where, path, self._options, self._now
                )
            except (RateLimited, Unauthorized):
                raise
            except GitHubError as error:
                self._notes.append(f"schedule of {path}: {quoted(str(error), 400)}")

    def _look_at_badges(self) -> None:
        name = self._options.badge_branch
        if not name:
            return
        branch = Branch(self._client, self._repository, name)
        try:
            self._badges = turn_stale(branch, self._now, dry_run=self._options.dry_run)
        except (RateLimited, Unauthorized):
            raise
        except (GitHubError, NotPublished) as error:
            self._notes.append(f"badges on {quoted(name, 100)}: {quoted(str(error), 400)}")

    def _look(self, run: WatchedRun) -> Finding | None:
        """What is the matter with a run; None when it is none of the beat's business."""
        if run.status == "completed" and run.conclusion not in ENDED_BADLY:
            return None
        artifacts = self._artifacts.of(run)
        plans = planned(artifacts)
        if not plans:
            return None
        if run.status != "completed":
            return Finding(run=run, kind="busy", why=f"it is {run.status}")
        awaited = self._pulls.awaited(run)
        if isinstance(awaited, Abandoned):
            return Finding(run=run, kind="superseded", why=awaited.why)
        newer = self._newer(run, suites_of(artifacts))
        if newer is not None:
            why = f"run {newer.id} is a newer one of the same pull request"
            return Finding(run=run, kind="superseded", why=why, pull_request=awaited.pull_request)
        try:
            found = self._stranded(run, plans)
        except ArtifactExpired:
            found = Finding(run=run, kind="lost", why=f"its artifacts have expired. {NEW_RUN}")
        return replace(found, pull_request=awaited.pull_request)

    def _newer(self, run: WatchedRun, suites: frozenset[str]) -> WatchedRun | None:
        for one in newer_of_same_pull(run, self._runs[run.path]):
            if one.status != "completed" or suites & suites_of(self._artifacts.of(one)):
                return one
        return None

    def _stranded(self, run: WatchedRun, plans: tuple[Planned, ...]) -> Finding:
        """What to do about a run that somebody waits for."""
        if run.own:
            settled = self._settled(run, plans)
        elif any(one.scorecards for one in plans) and not self._died(run):
            settled = Finding(run=run, kind="unread", why="it ended with a scorecard")
        else:
            settled = None
        if settled is not None:
            return settled
        why = self._beyond(run, plans)
        if why is not None:
            return Finding(run=run, kind="lost", why=f"{why}. {NEW_RUN}")
        return self._repair(run, plans)

    def _settled(self, run: WatchedRun, plans: tuple[Planned, ...]) -> Finding | None:
        """A decision that stands, or a time that has not come; None when neither is there."""
        cards = [one.newest(self._reader) for one in plans]
        open_ones = [card for card in cards if card is None or not card.finalized]
        if not open_ones:
            verdicts = ", ".join(sorted({str(card.verdict) for card in cards if card is not None}))
            return Finding(run=run, kind="finished", why=f"its verdict is {verdicts}")
        until = [self._not_yet(card) for card in open_ones]
        known = [moment for moment in until if moment is not None]
        if len(known) < len(until):
            return None
        moment = min(known).strftime("%Y-%m-%dT%H:%M:%SZ")
        return Finding(
            run=run,
            kind="waiting",
            why=f"its scores are not to be expected before {moment}",
            until=moment,
        )

    def _not_yet(self, card: Card | None) -> datetime | None:
        """The time that only has to pass; None when something else is to be done."""
        due = card.due() if card is not None and card.is_waiting else None
        return due if due is not None and due > self._now else None

    def _died(self, run: WatchedRun) -> bool:
        """Whether a job of the last attempt was lost or ran out of time, which is all a fork's run tells."""
        path = f"/repos/{self._repository}/actions/runs/{run.id}/jobs"
        jobs = self._client.pages(path, "jobs", {"filter": "latest"})
        return any(
            isinstance(job, dict) and job.get("conclusion") in ("cancelled", "timed_out")
            for job in jobs
        )

    def _beyond(self, run: WatchedRun, plans: tuple[Planned, ...]) -> str | None:
        """Why no attempt of the beat is to follow; None when one may."""
        if self._now - run.created > timedelta(days=RERUN_DAYS):
            return f"GitHub runs nothing again {RERUN_DAYS} days after {run.created_at}"
        if run.attempt > MOST_RERUNS:
            return f"it was run again {run.attempt - 1} times, the most that GitHub allows"
        expired = [one.suite for one in plans if one.expired]
        if expired:
            return f"the plan of {', '.join(expired)} has expired, so that no job can read it"
        most = self._options.most_without_progress
        counted = fruitless(
            self._client, self._repository, run, plans, self._reader, self._me, most
        )
        if counted >= most:
            return (
                f"its failed jobs were started again {counted} times and nothing more was recorded; "
                "look at what its jobs say, mend it, and re-run its failed jobs by hand"
            )
        return None

    def _repair(self, run: WatchedRun, plans: tuple[Planned, ...]) -> Finding:
        suites = ", ".join(one.suite for one in plans)
        if self._options.dry_run:
            return Finding(run=run, kind="would_rerun", why=f"{suites} is not finalized")
        done = rerun_failed(self._client, self._repository, run)
        if isinstance(done, Busy):
            return Finding(run=run, kind="busy", why=done.why)
        if isinstance(done, Refused):
            return Finding(run=run, kind="lost", why=f"{done.why}. {NEW_RUN}")
        why = f"{suites} is not finalized; attempt {done.attempt} was started"
        return Finding(run=run, kind="rerun", why=why)
