"""What a sweep found and did, run by run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.drivers.github.beat.badges import BadgeNote
    from releasecheck.drivers.github.beat.runs import WatchedRun

Kind: TypeAlias = Literal[
    "rerun", "would_rerun", "waiting", "busy", "superseded", "finished", "unread", "lost", "error"
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
MEANING: Final[dict[Kind, str]] = {
    "rerun": "its failed jobs were started again",
    "would_rerun": "its failed jobs would be started again",
    "waiting": "it waits for scores, and their time has not come",
    "busy": "it is running, or somebody was faster",
    "superseded": "its pull request has moved on or is closed",
    "finished": "it was decided",
    "unread": "a fork's run that has a scorecard; nothing a fork made is read",
    "lost": "it will not be run again by the beat",
    "error": "it could not be looked at or started",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One run, and what became of it."""

    run: WatchedRun
    kind: Kind
    why: str
    pull_request: int | None = None
    until: str | None = None
    """Of a waiting run: when it is looked at again; UTC."""

    def line(self) -> str:
        """It on one line, in plain text."""
        pull = f", pull request {self.pull_request}" if self.pull_request else ""
        return f"{self.kind}: {self.run.what}{pull}: {self.why}"

    def to_json(self) -> Json:
        """It as JSON."""
        return {
            "run": self.run.id,
            "attempt": self.run.attempt,
            "workflow": self.run.path,
            "event": self.run.event,
            "created_at": self.run.created_at,
            "pull_request": self.pull_request,
            "kind": self.kind,
            "why": self.why,
            "until": self.until,
        }


@dataclass(frozen=True, slots=True)
class ScheduleNote:
    """Something about a schedule that somebody must know."""

    workflow: str
    """Its path."""
    kind: Literal["disabled", "late", "missed", "unreadable"]
    message: str

    def to_json(self) -> Json:
        """It as JSON."""
        return {"workflow": self.workflow, "kind": self.kind, "message": self.message}


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """One sweep."""

    repository: str
    at: str
    dry_run: bool
    workflows: tuple[str, ...]
    """Paths of those that were looked at."""
    findings: tuple[Finding, ...]
    schedules: tuple[ScheduleNote, ...] = ()
    badges: tuple[BadgeNote, ...] = ()
    """Those that were turned stale, or cannot be read."""
    notes: tuple[str, ...] = ()
    """What could not be done besides, such as a comment that was refused."""
    stopped: str | None = None
    """Why the sweep ended before its end; None: it saw everything."""

    @property
    def exit_code(self) -> int:
        """0 when the sweep worked, whatever it found; 4 when GitHub could not be asked."""
        return 4 if self.stopped else 0

    def of(self, kind: Kind) -> tuple[Finding, ...]:
        """The findings of one kind."""
        return tuple(one for one in self.findings if one.kind == kind)

    @property
    def counts(self) -> dict[Kind, int]:
        """How many of each kind; kinds that did not come up are left out."""
        counted = Counter(one.kind for one in self.findings)
        return {kind: counted[kind] for kind in KINDS if counted[kind]}

    def to_json(self) -> Json:
        """It as JSON."""
        return {
            "repository": self.repository,
            "at": self.at,
            "dry_run": self.dry_run,
            "workflows": list(self.workflows),
            "counts": dict(self.counts),
            "runs": [one.to_json() for one in self.findings],
            "schedules": [one.to_json() for one in self.schedules],
            "badges": [one.to_json() for one in self.badges],
            "notes": list(self.notes),
            "stopped": self.stopped,
        }
