"""What a publish stage was given: recomputed from the bundle alone before a word is said (C-35, G-26).

A bundle is data that anybody may have made. Its decision counts only when everything in it follows from
its own plan and records, and when it is the run that the workflow says it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from releasecheck.canonical import digest_bytes, parse_json
from releasecheck.drivers.github.errors import quoted
from releasecheck.errors import ReleaseCheckError
from releasecheck.pipeline.bundle import read_decision, report_of
from releasecheck.pipeline.files import read_bytes
from releasecheck.pipeline.folders import open_bundle
from releasecheck.pipeline.verify import verify

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from releasecheck.model.plan import Plan
    from releasecheck.model.scorecard import Manifest, Scorecard
    from releasecheck.pipeline.folders import Bundle, PlanFolder
    from releasecheck.pipeline.verify import Verified
    from releasecheck.pipeline.world import World
    from releasecheck.scorecard.report import Report

LARGEST_NOTE: Final = 2**20
"""Bytes of a failure.json that are read."""
_SUITE: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_MOST_REASONS: Final = 10


@dataclass(frozen=True, slots=True)
class Expected:
    """What trusted jobs of the workflow know of the run; None is not known."""

    suite: str | None = None
    run_id: str | None = None
    plan_digest: str | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """A bundle whose decision follows from its records."""

    bundle: Bundle
    folder: PlanFolder
    scorecard: Scorecard
    manifest: Manifest
    manifest_digest: str
    verified: Verified

    @property
    def plan(self) -> Plan:
        """The frozen inputs."""
        return self.folder.plan

    @property
    def plan12(self) -> str:
        """The plan in names of artifacts."""
        return self.plan.plan_digest.removeprefix("sha256:")[:12]

    @property
    def final(self) -> bool:
        """Whether no other attempt can change the decision."""
        return self.manifest.finalized_at is not None

    @property
    def commit(self) -> str | None:
        """The commit that the manifest names."""
        commit = self.manifest.context.get("commit")
        return commit if isinstance(commit, str) else None

    def report(self) -> Report:
        """What reports are rendered from: those in the bundle may be another tool's words."""
        return report_of(self.bundle, self.folder, self.scorecard)


@dataclass(frozen=True, slots=True)
class Unverifiable:
    """A bundle that contradicts itself, or is of another run; nothing it says is repeated as true."""

    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Absent:
    """No decision was made."""

    why: tuple[str, ...]


Evidence: TypeAlias = Judged | Unverifiable | Absent


def weigh(path: Path, expected: Expected, world: World) -> Evidence:
    """Recompute a bundle, and hold it against what is known of the run."""
    if not (path / "plan" / "plan.json").is_file():
        return Absent(("there is no plan, so nothing was run", *_told(path)))
    if not (path / "manifest.json").is_file():
        return Absent(("the run was not decided: its bundle has no manifest", *_told(path)))
    try:
        judged = _judge(path, world)
    except ReleaseCheckError as error:
        return Unverifiable(_lines(str(error).splitlines()))
    # Whatever a hostile file does to a reader, it is no decision.
    except Exception as error:  # noqa: BLE001
        return Unverifiable((f"it cannot be read ({type(error).__name__})",))
    if judged.verified.differences:
        return Unverifiable(_lines(judged.verified.differences))
    strangers = tuple(_strangers(judged, expected))
    return Unverifiable(strangers) if strangers else judged


def _judge(path: Path, world: World) -> Judged:
    verified = verify(path, world)
    bundle, folder = open_bundle(path)
    manifest, scorecard = read_decision(bundle)
    digest = digest_bytes(read_bytes(path / "manifest.json"))
    return Judged(bundle, folder, scorecard, manifest, digest, verified)


def _strangers(judged: Judged, expected: Expected) -> Iterator[str]:
    plan = judged.plan
    for what, found, known in (
        ("suite", plan.suite, expected.suite),
        ("run", plan.run_id, expected.run_id),
        ("plan", plan.plan_digest, expected.plan_digest),
    ):
        if known is not None and found != known:
            yield f"it is of the {what} {quoted(found, 100)}; this workflow planned {quoted(known, 100)}"
    foreign = judged.bundle.foreign()
    if foreign:
        yield f"it holds {quoted(', '.join(foreign[:5]), 200)}, which belongs to no bundle"


def _lines(lines: Iterable[str]) -> tuple[str, ...]:
    found = [quoted(line, 300) for line in lines if line.strip()]
    more = len(found) - _MOST_REASONS
    return (*found[:_MOST_REASONS], *([f"and {more} more"] if more > 0 else []))


def _told(path: Path) -> Iterator[str]:
    """What `failure.json` says, quoted as somebody's words."""
    try:
        data = (path / "failure.json").read_bytes()[:LARGEST_NOTE]
        note = parse_json(data)
    except (OSError, ReleaseCheckError):
        return
    if isinstance(note, dict) and isinstance(note.get("message"), str):
        yield f"{quoted(str(note.get('code')), 60)}: {quoted(note['message'], 500)}"


def suite_of(evidence: Evidence, expected: Expected) -> str | None:
    """The suite that is spoken of: as the workflow knows it, else as a verified bundle says."""
    if expected.suite is not None:
        return expected.suite if _SUITE.fullmatch(expected.suite) else None
    return evidence.plan.suite if isinstance(evidence, Judged) else None
