"""Recompute a bundle from itself: plan, records, results, metrics, gates, verdict, reports, digests."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from releasecheck.canonical import digest_bytes, digest_chunks
from releasecheck.errors import ReleaseCheckError, Untrusted
from releasecheck.model.scorecard import Manifest, Scorecard
from releasecheck.pipeline.baselines import open_baseline
from releasecheck.pipeline.bundle import bundle_digests, reports_of
from releasecheck.pipeline.compare import differences
from releasecheck.pipeline.decide import Finality, decide_run, finality
from releasecheck.pipeline.files import read_bytes, read_document, read_lines
from releasecheck.pipeline.finish import ledger_digest
from releasecheck.pipeline.folders import ledger_files, open_bundle
from releasecheck.pipeline.remaining import merge_files
from releasecheck.pipeline.rows import result_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.pipeline.folders import Bundle, PlanFolder
    from releasecheck.pipeline.remaining import Recorded
    from releasecheck.pipeline.world import World

MOST_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Verified:
    """What recomputing found."""

    run_id: str
    verdict: str | None
    final: bool
    waiting: bool
    differences: tuple[str, ...]
    said: tuple[str, ...]
    """What is no difference and must be said: purged outputs, a provisional state."""

    @property
    def exit_code(self) -> int:
        """0 for a consistent bundle, 4 for any difference, 5 while scores are pending."""
        return 4 if self.differences else 5 if self.waiting else 0

    @property
    def summary(self) -> str:
        """One line."""
        if self.differences:
            return (
                f"not verified: {len(self.differences)} differences in the bundle of {self.run_id}"
            )
        state = "" if self.final else " (provisional)"
        return f"verified: {self.run_id}: {self.verdict or 'waiting for scores'}{state}"

    def to_json(self) -> dict[str, Json]:
        """The report as a document."""
        return {**asdict(self), "exit_code": self.exit_code}


def verify(out: Path, world: World) -> Verified:
    """Recompute everything in a bundle from the bundle alone.

    Raises:
        NotResumable: there is no run in `out`.
        Untrusted: plan, baseline or ledger contradict themselves.
    """
    bundle, folder = open_bundle(out)
    if not (out / "manifest.json").is_file() or not (out / "scorecard.json").is_file():
        message = (
            f"{out}: nothing was decided in it yet (no manifest.json); finish it first with "
            f"`releasecheck resume {out}`"
        )
        raise Untrusted(message)
    try:
        manifest = Manifest.model_validate(read_document(out / "manifest.json"))
        written = Scorecard.model_validate(read_document(out / "scorecard.json"))
    except ValueError as error:
        message = f"{out}: scorecard or manifest is damaged: {str(error).splitlines()[0]}"
        raise Untrusted(message) from None
    recorded = merge_files(folder, ledger_files([bundle.results]))
    del world
    return Verified(
        run_id=folder.plan.run_id,
        verdict=written.verdict,
        final=manifest.finalized_at is not None,
        waiting=written.verdict is None,
        differences=tuple(_all(bundle, folder, recorded, written, manifest))[:MOST_SHOWN],
        said=tuple(_said(recorded, manifest)),
    )


def require_verified(out: Path, world: World) -> Verified:
    """Verify a bundle and refuse it on any difference.

    Raises:
        Untrusted: something in it contradicts something else.
    """
    found = verify(out, world)
    if found.differences:
        lines = "\n".join(f"  {line}" for line in found.differences[:10])
        message = f"{found.summary}:\n{lines}"
        raise Untrusted(message)
    return found


def _all(
    bundle: Bundle, folder: PlanFolder, recorded: Recorded, written: Scorecard, manifest: Manifest
) -> Iterator[str]:
    yield from _check_scorecard(folder, recorded, written, manifest)
    yield from _check_results(bundle, recorded)
    yield from _check_manifest(bundle, folder, recorded, written, manifest)
    yield from _check_reports(bundle, folder, written)


def _check_scorecard(
    folder: PlanFolder, recorded: Recorded, written: Scorecard, manifest: Manifest
) -> Iterator[str]:
    over = finality(recorded.merged.table, close=False, expired=False)
    if manifest.finalized_at is not None and over.status == "running":
        # Closed by hand or by time: the manifest says so, and only then may pairs be left open.
        if written.status not in ("completed", "expired"):
            yield f"scorecard.json: status: found {written.status!r} beside a finalized manifest"
        over = Finality(written.status, over.mendable, over.pending)
    elif manifest.finalized_at is None and over.status != "running":
        over = Finality("running", over.mendable, over.pending)
    baseline = open_baseline(folder)
    again = decide_run(folder.plan, recorded.merged, baseline, over, now=written.created_at or "")
    for line in differences(
        written.model_dump(mode="json", by_alias=True), again.model_dump(mode="json", by_alias=True)
    ):
        yield f"scorecard.json: {line}"


def _check_results(bundle: Bundle, recorded: Recorded) -> Iterator[str]:
    path = bundle.path / "results.jsonl"
    try:
        found = list(read_lines(read_bytes(path), str(path)))
    except ReleaseCheckError as error:
        yield f"results.jsonl: {error}"
        return
    expected = [row.to_json() for row in result_rows(recorded)]
    if len(found) != len(expected):
        yield f"results.jsonl: found {len(found)} lines, the records give {len(expected)}"
        return
    for number, (one, other) in enumerate(zip(found, expected, strict=True), start=1):
        for line in differences(one, other):
            yield f"results.jsonl:{number}: {line}"


def _check_manifest(
    bundle: Bundle, folder: PlanFolder, recorded: Recorded, written: Scorecard, manifest: Manifest
) -> Iterator[str]:
    plan = folder.plan
    for name, found, expected in (
        ("run_id", manifest.run_id, plan.run_id),
        ("plan_digest", manifest.plan_digest, plan.plan_digest),
        ("suite", manifest.suite, plan.suite),
        ("mode", manifest.mode, plan.mode),
        ("status", manifest.status, written.status),
        ("ledger.set_digest", manifest.ledger.get("set_digest"), ledger_digest(recorded)),
        ("decision.verdict", manifest.decision.get("verdict"), written.verdict),
    ):
        if found != expected:
            yield f"manifest.json: {name}: found {found!r}, expected {expected!r}"
    present = bundle_digests(bundle)
    for name in sorted(present.keys() | manifest.files.keys()):
        if present.get(name) != manifest.files.get(name):
            yield (
                f"{name}: its digest is {present.get(name, 'absent')}, the manifest says "
                f"{manifest.files.get(name, 'nothing')}"
            )


def _check_reports(bundle: Bundle, folder: PlanFolder, written: Scorecard) -> Iterator[str]:
    """Every report must be what this scorecard and these results render to."""
    for name, chunks in reports_of(bundle, folder, written).items():
        path = bundle.path / name
        found = digest_bytes(read_bytes(path)) if path.is_file() else "absent"
        if found != digest_chunks(chunks):
            yield f"{name}: it is not what the scorecard and the results render to"


def _said(recorded: Recorded, manifest: Manifest) -> Iterator[str]:
    from releasecheck.model.table import ANSWERED

    merged = recorded.merged
    gone = int(((merged.table.target == ANSWERED) & ~merged.stored).sum())
    if gone:
        yield f"{gone} outputs are not stored (purged, or by store_outputs); their digests stand"
    if manifest.finalized_at is None:
        yield "provisional: the run is still open"
