"""A repository on the fake with runs that somebody has to finish, and sweeps over it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from releasecheck.drivers.github.beat import BeatOptions, Swept, Where, sweep
from releasecheck.drivers.github.rest import GitHubClient, Patience
from releasecheck.ledger.jsonl import shard_file_name
from tests.fakes import FakeClock
from tests.githubfake import FakeGitHub, Repository, Run

NOW: Final = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
WORKFLOW: Final = ".github/workflows/check.yml"
SUITE: Final = "docs-search"
PLAN: Final = "0123456789ab"
DIGEST: Final = "sha256:" + PLAN + "0" * 52
PAIRS: Final = 10
Json = Any


def at(**later: float) -> str:
    """A moment from now, as documents write it."""
    return (NOW + timedelta(**later)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def name(kind: str, attempt: int = 1, *, index: int | None = None, suite: str = SUITE) -> str:
    """Of an artifact."""
    between = "" if index is None else f"-{index}"
    return f"releasecheck-{kind}-{suite}-{PLAN}{between}-a{attempt}"


def card(
    scored: int,
    *,
    final: bool = False,
    verdict: str | None = "blocked_missing",
    pending: int = 0,
    waiting: list[Json] | None = None,
    suite: str = SUITE,
    decided: str | None = None,
) -> dict[str, str]:
    """The two files of a bundle that the beat reads."""
    missing = PAIRS - scored - pending
    counts = {
        "cases": PAIRS, "trials": PAIRS, "pairs": PAIRS, "scored": scored, "not_applicable": 0,
        "failed": 0, "missing": missing, "pending": pending, "conflicts": 0,
    }  # fmt: skip
    card = {
        "suite": suite, "plan_digest": DIGEST, "verdict": verdict, "counts": counts,
        "waiting": waiting or [], "created_at": decided or at(hours=-2),
    }  # fmt: skip
    manifest = {"plan_digest": DIGEST, "finalized_at": at(hours=-2) if final else None}
    return {"scorecard.json": json.dumps(card), "manifest.json": json.dumps(manifest)}


def shard_file(*, good: bool) -> dict[str, str]:
    """A result file as a killed shard leaves it: one record and no end."""
    header = {
        "record": "shard", "schema": "releasecheck/results@1", "run_id": f"rc-{PLAN}-1",
        "plan_digest": DIGEST, "shard": 0, "shards": 1, "attempt": 1,
        "started_at": at(), "tool": "releasecheck/0.0.0",
    }  # fmt: skip
    failure = {
        "class": "infrastructure", "stage": "target", "code": "connect", "retryable": True,
        "message": "refused",
    }  # fmt: skip
    output = {
        "record": "output", "case": "c1", "trial": 0, "attempt": 1,
        "output": "fine" if good else None,
        "output_digest": "sha256:" + "1" * 64 if good else None,
        "failure": None if good else failure, "latency_ms": 1.0 if good else None,
        "usage": {}, "trace_id": None, "at": at(),
    }  # fmt: skip
    text = "".join(json.dumps(row) + "\n" for row in (header, output))
    return {shard_file_name(0, 1): text}


@dataclass
class Beating:
    """One repository, one clock."""

    github: FakeGitHub
    clock: FakeClock
    slept: list[float] = field(default_factory=list)

    @property
    def home(self) -> Repository:
        """The repository."""
        return self.github.repository

    def run(self, **given: Any) -> Run:
        """A run that planned, whose one shard died, an hour ago."""
        planned = given.pop("planned", True)
        given = {
            "path": WORKFLOW,
            "conclusion": "failure",
            "created_at": self.now() - timedelta(hours=1),
            **given,
        }
        run = self.home.add_run(**given)
        if planned:
            run.add_artifact(name("plan"), {"plan.json": "{}"}, attempt=1)
        run.add_job("plan", "success")
        run.add_job("shard", "cancelled")
        run.add_job("finish", "failure")
        return run

    def now(self) -> datetime:
        """What everybody's clock says."""
        return datetime.fromisoformat(self.clock.now())

    def client(self, **patience: Any) -> GitHubClient:
        """Of the token of a job."""
        return GitHubClient(
            self.github.api_url,
            self.github.token,
            clock=self.clock,
            sleep=self.slept.append,
            patience=Patience(tries=2, longest_wait_s=10, **patience),
        )

    def sweep(self, **options: Any) -> Swept:
        """One sweep."""
        with self.client() as client:
            where = Where(repository=self.home.name, server_url=self.github.server_url)
            return sweep(client, where, BeatOptions(**options), self.clock)

    def beats(self, run: Run, times: int, *, hours: float = 1) -> list[str]:
        """What so many sweeps make of a run whose attempts end badly again."""
        kinds: list[str] = []
        for _ in range(times):
            kinds.extend(one.kind for one in self.sweep().findings if one.run.id == run.id)
            if run.status != "completed":
                run.finish("failure")
                for job in run.jobs:
                    if job.conclusion is None:
                        job.status, job.conclusion = "completed", "failure"
            self.clock.advance(hours * 3600)
        return kinds


def kinds(swept: Swept) -> list[str]:
    """Of all findings."""
    return [one.kind for one in swept.findings]
