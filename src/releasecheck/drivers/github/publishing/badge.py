"""The badge on its branch: of the newest run of the default branch, whatever that run came to (trap 30).

Only a finalized, full, non-local run claims anything. A run that blocks, waits or decided nothing replaces
the badge of an earlier pass by one that says so, since a badge must not outlive its truth (G-23).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from releasecheck.canonical import dump_document, parse_json
from releasecheck.drivers.github.context import GitHubContext
from releasecheck.drivers.github.errors import BadAnswer, quoted
from releasecheck.drivers.github.publishing.branch import Branch, update
from releasecheck.drivers.github.publishing.evidence import Judged
from releasecheck.drivers.github.publishing.results import Done, NotPublished, Result, Skipped
from releasecheck.drivers.github.publishing.words import notice_of
from releasecheck.errors import ReleaseCheckError
from releasecheck.publish import badge
from releasecheck.scorecard.badge_svg import render_badge_svg

if TYPE_CHECKING:
    from collections.abc import Mapping

    from releasecheck.canonical import Json
    from releasecheck.drivers.github.publishing.request import Request
    from releasecheck.drivers.github.rest import GitHubClient

RECORD_SCHEMA: Final = "releasecheck/badge@1"
STALE_DAYS: Final = 30
"""After so many days without a newer run, a claim should no longer be believed; the beat turns it stale."""
_BRANCH: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/-]{0,199}")


@dataclass(frozen=True, slots=True)
class _Claim:
    """What the badge says, and what it rests on."""

    endpoint: dict[str, Json]
    verdict: str | None
    final: bool
    run_id: str | None
    manifest_digest: str | None
    at: str


def publish_badge(request: Request) -> Result:
    """Commit `<suite>/badge.json`, `badge.svg` and `published.json`, unless a newer run has.

    Raises:
        GitHubError: as for any request.
        NotPublished: others were faster on every try.
    """
    name, client, suite = request.options.badge_branch, request.client, request.suite
    if not name:
        return Skipped("not asked for: no badge branch is named")
    if (why := request.not_default_branch or _not_claimable(request)) is not None:
        return Skipped(why)
    if suite is None:
        return Skipped("nobody trusted names the suite, so its badge cannot be found")
    if client is None:
        return Skipped("there is no token")
    _check_name(name, request.context)
    branch = Branch(client, request.context.repository, name)
    record = _record(request, client, _claim(request, suite))
    return _write(branch, suite, record, _files(request, suite, record))


def _not_claimable(request: Request) -> str | None:
    """Why a bundle makes no badge at all, not even one that claims nothing."""
    evidence = request.evidence
    if not isinstance(evidence, Judged):
        return None
    if evidence.plan.mode != "full":
        return f"a {evidence.plan.mode} run makes no badge"
    if evidence.manifest.provenance == "local":
        return "a local run makes no badge"
    if evidence.scorecard.adopted is not None:
        return "outputs of an untrusted run make no badge"
    if evidence.commit is not None and evidence.commit != request.context.sha:
        return f"the bundle is of commit {quoted(evidence.commit, 64)}, and this job of {request.context.sha}"
    return None


def _check_name(name: str, context: GitHubContext) -> None:
    default = context.default_branch
    bad = ".." in name or "//" in name or name.endswith(("/", ".", ".lock"))
    if bad or not _BRANCH.fullmatch(name):
        message = (
            f"{quoted(name, 100)!r} is no name of a branch for badges; expected such as `badges`"
        )
        raise NotPublished(message)
    if default is not None and name == default.raw:
        message = f"{name} is the default branch; name a branch that holds nothing but badges"
        raise NotPublished(message)


def _claim(request: Request, suite: str) -> _Claim:
    evidence, now = request.evidence, request.world.clock.now()
    if not isinstance(evidence, Judged):
        when = f"{now[:10]} {request.context.sha[:7]}"
        endpoint = {
            "schemaVersion": 1,
            "label": f"{suite} release check",
            "message": f"{notice_of(evidence).badge} {when}",
            "color": "orange",
            "isError": True,
            "cacheSeconds": 300,
        }
        return _Claim(endpoint, None, final=False, run_id=None, manifest_digest=None, at=now)
    endpoint = badge(evidence.manifest, evidence.scorecard)
    at = evidence.manifest.finalized_at or evidence.scorecard.created_at or now
    if not evidence.final:
        when = f"{at[:10]} {request.context.sha[:7]}"
        endpoint = {**endpoint, "message": f"{endpoint['message']} {when}"}
    return _Claim(
        endpoint,
        evidence.scorecard.verdict,
        evidence.final,
        evidence.plan.run_id,
        evidence.manifest_digest,
        at,
    )


@dataclass(frozen=True, slots=True)
class _Record:
    """What a badge says, and its place among those of other runs."""

    claim: _Claim
    workflow: str
    number: int
    attempt: int
    commit: str
    commit_time: str
    run_url: str

    def to_json(self, suite: str) -> dict[str, Json]:
        """`published.json`: everything that a shields endpoint has no key for."""
        claim = self.claim
        return {
            "schema": RECORD_SCHEMA,
            "suite": suite,
            "verdict": claim.verdict,
            "final": claim.final,
            "run_id": claim.run_id,
            "manifest_digest": claim.manifest_digest,
            "at": claim.at,
            "stale_after": _later(claim.at),
            "workflow": self.workflow,
            "run_number": self.number,
            "run_attempt": self.attempt,
            "run_url": self.run_url,
            "commit": self.commit,
            "commit_time": self.commit_time,
        }


def _later(at: str) -> str:
    moment = datetime.fromisoformat(at) + timedelta(days=STALE_DAYS)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def _record(request: Request, client: GitHubClient, claim: _Claim) -> _Record:
    context = request.context
    path = f"/repos/{context.repository}/git/commits/{context.sha}"
    commit = client.get(path)
    committer = commit.get("committer") if isinstance(commit, dict) else None
    date = committer.get("date") if isinstance(committer, dict) else None
    if not isinstance(date, str) or _moment(date) is None:
        message = f"GET {path}: the commit has no time"
        raise BadAnswer(message, status=200)
    return _Record(
        claim,
        context.workflow_path or str(context.workflow),
        context.run_number,
        context.run_attempt,
        context.sha,
        date,
        context.run_url,
    )


def _files(request: Request, suite: str, record: _Record) -> dict[str, bytes]:
    endpoint = record.claim.endpoint
    return {
        f"{suite}/badge.json": dump_document(endpoint),
        f"{suite}/badge.svg": render_badge_svg(endpoint, record.claim.manifest_digest),
        f"{suite}/published.json": dump_document(record.to_json(suite)),
    }


def _write(branch: Branch, suite: str, record: _Record, files: Mapping[str, bytes]) -> Result:
    place = f"{suite}/published.json"
    stopped: list[Result] = []
    existed: list[bool] = []

    def decide(head: str | None) -> Mapping[str, bytes] | None:
        there = None if head is None else branch.read(head, place)
        existed.append(there is not None)
        if there is not None and head is not None:
            if all(branch.read(head, path) == data for path, data in files.items()):
                stopped.append(Done("unchanged", file=place))
            elif (newer := _newer(there, record)) is not None:
                stopped.append(Skipped(f"{newer} has published a badge already"))
        return None if stopped else files

    message = f"{suite}: badge of run {record.number}, attempt {record.attempt}"
    made = update(branch, decide, message)
    if made is None:
        return stopped[0]
    return Done("updated" if existed[-1] else "created", file=place, note=f"commit {made}")


def _newer(there: bytes, record: _Record) -> str | None:
    """The run that stands there, if it is newer than ours; a record that cannot be read is not.

    Run numbers count for one workflow alone; between two of them the commit's time tells.
    """
    try:
        found = parse_json(there)
    except ReleaseCheckError:
        return None
    if not isinstance(found, dict):
        return None
    number, attempt = found.get("run_number"), found.get("run_attempt")
    if type(number) is not int or type(attempt) is not int:
        return None
    if found.get("workflow") == record.workflow:
        newer = (number, attempt) > (record.number, record.attempt)
    else:
        theirs, own = _moment(found.get("commit_time")), _moment(record.commit_time)
        newer = theirs is not None and own is not None and theirs > own
    return f"run {number}, attempt {attempt}, which is newer," if newer else None


def _moment(text: Json) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return moment if moment.tzinfo is not None else None
