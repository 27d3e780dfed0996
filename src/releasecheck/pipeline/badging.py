"""The badge of a decided run, made again: as it was, or as too old to be believed (G-23)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from releasecheck.canonical import digest_bytes, dump_document
from releasecheck.errors import Untrusted, UsageError
from releasecheck.pipeline.baselines import read_baseline
from releasecheck.pipeline.files import write_whole
from releasecheck.publish import badge, no_claim, stale
from releasecheck.scorecard.badge_svg import render_badge_svg

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.model.scorecard import Manifest, Scorecard

BADGE_FILES: Final = ("badge.json", "badge.svg")
SKEW: Final = timedelta(hours=1)
"""How far the clock of the machine that finalized a run may be ahead of ours."""


@dataclass(frozen=True, slots=True)
class Rebadged:
    """What a run's badge says now."""

    run_id: str
    endpoint: dict[str, Json]
    manifest_digest: str
    finalized_at: str
    stale_after: str
    """When the claim stops being believed; RFC 3339, UTC."""
    is_stale: bool
    no_claim: str | None
    """Why the run supports no claim; None when it supports one."""

    @property
    def files(self) -> dict[str, bytes]:
        """By name."""
        svg = render_badge_svg(self.endpoint, self.manifest_digest)
        return {"badge.json": dump_document(self.endpoint), "badge.svg": svg}

    def to_json(self) -> dict[str, Json]:
        """The report as a document."""
        return {
            "run_id": self.run_id,
            "badge": self.endpoint,
            "manifest_digest": self.manifest_digest,
            "finalized_at": self.finalized_at,
            "stale_after": self.stale_after,
            "stale": self.is_stale,
            "no_claim": self.no_claim,
        }


def rebadge(source: Path, now: str, stale_after_s: float, label: str | None = None) -> Rebadged:
    """The badge of a bundle or baseline folder as of `now`, from its manifest and scorecard.

    Args:
        source: Its manifest, scorecard and results are checked against each other.
        now: RFC 3339.
        stale_after_s: Seconds after its finalization from which a claim is too old.
        label: For its left half; None: the suite's.

    Raises:
        UsageError: nothing is there, or the run is open or partial, and makes no badge.
        Untrusted: its documents contradict each other.
    """
    found = read_baseline(source, "shown")
    manifest, card = found.manifest, found.scorecard
    manifest_digest = digest_bytes(found.data["manifest.json"])
    claim = badge(manifest, card, manifest_digest)
    finalized = _made_for(source, manifest, card, str(claim["message"]))
    moment = datetime.fromisoformat(now)
    if finalized > moment + SKEW:  # it would outlive every limit
        message = (
            f"{source}: manifest.json: finalized_at: found {manifest.finalized_at}, which is later than now, {now}; "
            "a run that is still to come makes no badge: compare the clocks, and check it with `releasecheck verify`"
        )
        raise Untrusted(message)
    until = finalized + timedelta(seconds=stale_after_s)
    old = moment > until
    if label is not None:
        claim = {**claim, "label": label}
    return Rebadged(
        run_id=manifest.run_id,
        endpoint=stale(claim) if old else claim,
        manifest_digest=manifest_digest,
        finalized_at=str(manifest.finalized_at),
        stale_after=until.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        is_stale=old,
        no_claim=no_claim(manifest, card),
    )


def _made_for(source: Path, manifest: Manifest, card: Scorecard, said: str) -> datetime:
    """When a run was finalized that makes a badge."""
    if manifest.finalized_at is None or manifest.mode != "full":
        todo = (
            f"carry it on with `releasecheck resume {source}`"
            if manifest.finalized_at is None
            else "only a run of the whole suite makes one"
        )
        message = f"{source}: run {card.run_id} makes no badge, which could say no more than {said!r}; {todo}"
        raise UsageError(message)
    try:
        moment = datetime.fromisoformat(manifest.finalized_at)
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC)
    except (ValueError, OverflowError):  # a time at the end of the calendar, in another zone
        moment = None
    if moment is None or moment.tzinfo is None:
        message = f"{source}: manifest.json: finalized_at: found {manifest.finalized_at!r}, expected a time"
        raise UsageError(message)
    return moment


def write_badge(made: Rebadged, folder: Path) -> tuple[str, ...]:
    """Write the two files; returns those that changed."""
    changed = []
    for name, data in made.files.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != data:
            write_whole(path, [data])
            changed.append(name)
    return tuple(changed)
