"""Recompute a bundle from itself: plan, records, results, metrics, gates, verdict, reports, digests."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import chain, islice
from typing import TYPE_CHECKING

from releasecheck.canonical import digest_bytes, digest_chunks
from releasecheck.errors import ReleaseCheckError, Untrusted
from releasecheck.model.record import FIRST_REVISION
from releasecheck.pipeline.baselines import open_compared
from releasecheck.pipeline.bundle import (
    approvals,
    badge_files,
    bundle_digests,
    manifest_of,
    read_back,
    read_decision,
    reports_of,
)
from releasecheck.pipeline.compare import differences
from releasecheck.pipeline.decide import Finality, decide_run, finality
from releasecheck.pipeline.early import decided_early
from releasecheck.pipeline.files import (
    file_digest,
    parse_document,
    read_bytes,
    read_document,
    read_lines,
)
from releasecheck.pipeline.folders import (
    REVISIONS,
    Bundle,
    ledger_files,
    open_bundle,
)
from releasecheck.pipeline.founding import unfounded
from releasecheck.pipeline.remaining import merge_files
from releasecheck.pipeline.rows import result_rows
from releasecheck.pipeline.tickets import external_refs
from releasecheck.publish import PINNED_SINCE, VOUCHED, Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.model.plan import Plan
    from releasecheck.model.scorecard import Manifest, Scorecard
    from releasecheck.pipeline.folders import PlanFolder
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
    if not (out / "manifest.json").is_file():
        message = (
            f"{out}: nothing was decided in it yet (no manifest.json); finish it first with "
            f"`releasecheck resume {out}`"
        )
        raise Untrusted(message)
    manifest, written = read_decision(bundle)
    if not bundle.results.is_dir():
        message = f"{bundle.results}: the ledger is not there; get the whole bundle again"
        raise Untrusted(message)
    if int(manifest.scoring.get("revision", FIRST_REVISION)) != folder.plan.revision:
        message = (
            f"{out}: revision {folder.plan.revision} was begun and is not decided yet; give the same "
            f"`releasecheck rescore` again, or carry it on with `releasecheck resume {out}`"
        )
        raise Untrusted(message)
    paths = ledger_files([bundle.results])
    recorded = merge_files(folder, paths)
    found = chain(
        _named(folder.plan, _all(bundle, folder, recorded, written, manifest, world)),
        _earlier(bundle, folder, paths),
    )
    return Verified(
        run_id=folder.plan.run_id,
        verdict=written.verdict,
        final=manifest.finalized_at is not None,
        waiting=written.verdict is None,
        differences=tuple(islice(found, MOST_SHOWN)),
        said=tuple(_said(recorded, manifest, world)),
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


def _named(plan: Plan, found: Iterable[str]) -> Iterator[str]:
    """Differences with their revision, where there are several."""
    for line in found:
        yield line if plan.revision == FIRST_REVISION else f"revision {plan.revision}: {line}"


def _earlier(bundle: Bundle, folder: PlanFolder, paths: Sequence[Path]) -> Iterator[str]:
    """What of the decisions that later revisions took the place of does not follow from their records."""
    present = bundle_digests(bundle) if folder.earlier else {}
    for past in folder.past():
        recorded = merge_files(past, paths)
        for line in _check_past(bundle, past, recorded, present):
            yield f"revision {past.plan.revision}: {line}"
        after = folder.plans[past.plan.revision]
        for line in unfounded(past.plan, after, recorded, paths):
            yield f"revision {after.revision}: {line}"


def _check_past(
    bundle: Bundle, past: PlanFolder, recorded: Recorded, present: Mapping[str, str]
) -> Iterator[str]:
    kept = Bundle(bundle.of_revision(past.plan.revision))
    if not (kept.path / "results.jsonl").is_file():
        yield f"{REVISIONS}/{past.plan.revision}: the decision is not there, or not whole"
        return
    try:
        manifest, written = read_decision(kept)
    except Untrusted as error:
        yield str(error)
        return
    if manifest.finalized_at is None:
        yield "its decision is not final, and only a final one is revised"
    yield from _check_scorecard(kept, past, recorded, written, manifest)
    yield from _check_results(kept, recorded)
    for name, digest in manifest.files.items():
        place = name
        if name in ("scorecard.json", "results.jsonl"):
            place = f"{REVISIONS}/{past.plan.revision}/{name}"
        elif name in VOUCHED or (name.endswith(".log") and name not in present):
            continue  # reports of the latest decision took their place; purging removes logs
        if present.get(place) != digest:
            yield f"{place}: its digest is {present.get(place, 'absent')}, the manifest says {digest}"
    yield from _check_document(kept, past, recorded, written, manifest, manifest.files)


def _all(
    bundle: Bundle,
    folder: PlanFolder,
    recorded: Recorded,
    written: Scorecard,
    manifest: Manifest,
    world: World,
) -> Iterator[str]:
    yield from _check_scorecard(bundle, folder, recorded, written, manifest)
    same_tool = _same_tool(manifest, world)
    yield from _check_manifest(bundle, folder, recorded, written, manifest, same_tool=same_tool)
    changed = list(_check_results(bundle, recorded))
    yield from changed
    if not changed:  # else the reports cannot be what the results render to
        yield from _check_reports(bundle, folder, written, manifest, same_tool=same_tool)


def _check_scorecard(
    bundle: Bundle, folder: PlanFolder, recorded: Recorded, written: Scorecard, manifest: Manifest
) -> Iterator[str]:
    compared = open_compared(folder)
    decided = bool(decided_early(folder.plan, recorded.merged.table, compared))
    over = finality(recorded.merged.table, close=False, expired=False, decided=decided)
    if manifest.finalized_at is not None and over.status == "running":
        # Closed by hand or by time: the manifest says so, and only then may pairs be left open.
        if written.status not in ("completed", "expired"):
            yield f"scorecard.json: status: found {written.status!r} beside a finalized manifest"
        over = Finality(written.status, over.mendable, over.pending)
    elif manifest.finalized_at is None and over.status != "running":
        over = Finality("running", over.mendable, over.pending)
    again = decide_run(folder.plan, recorded.merged, compared, over, now=written.created_at or "")
    # As it stands on disk: other readers do not take a text for a number, as the model does.
    found = read_document(bundle.path / "scorecard.json")
    for line in differences(found, again.model_dump(mode="json", by_alias=True)):
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
    bundle: Bundle,
    folder: PlanFolder,
    recorded: Recorded,
    written: Scorecard,
    manifest: Manifest,
    *,
    same_tool: bool,
) -> Iterator[str]:
    present = bundle_digests(bundle)
    for name in sorted(present.keys() | manifest.files.keys()):
        if present.get(name) != manifest.files.get(name):
            yield (
                f"{name}: its digest is {present.get(name, 'absent')}, the manifest says "
                f"{manifest.files.get(name, 'nothing')}"
            )
    yield from _check_document(bundle, folder, recorded, written, manifest, present)
    yield from _check_badge(bundle, manifest, written, same_tool=same_tool)
    if (bundle.path / "failure.json").exists():
        yield "failure.json: it says that the run could not be carried through, beside a decision"


def _check_badge(
    bundle: Bundle, manifest: Manifest, written: Scorecard, *, same_tool: bool
) -> Iterator[str]:
    """The badge must be the one of this decision, or the one that says that it is too old.

    Another version of the tool words it otherwise; then colour and error must be those of this decision.
    """
    backing = file_digest(bundle.path / "manifest.json")
    try:
        right = [badge_files(manifest, written, backing, too_old=old) for old in (False, True)]
    except Untrusted as error:
        yield f"badge.json: {error}"
        return
    found = {
        name: read_bytes(bundle.path / name)
        for name in ("badge.json", "badge.svg")
        if (bundle.path / name).is_file()
    }
    if found in right or (not same_tool and _as_bold(found, right)):
        return
    for name in ("badge.json", "badge.svg"):
        if found.get(name) not in [files.get(name) for files in right]:
            what = (
                "it is not there" if name not in found else "it is not the badge of this decision"
            )
            yield f"{name}: {what}; `releasecheck badge` writes it anew"
            return
    yield "badge.svg: it is of another time than badge.json; `releasecheck badge` writes both anew"


def _as_bold(found: Mapping[str, bytes], right: Sequence[Mapping[str, bytes]]) -> bool:
    """Whether a badge claims just as much as one of these, in whatever words."""
    if found.keys() != right[0].keys():
        return False
    try:
        claims = [_claimed(files["badge.json"]) for files in (found, *right) if files]
    except (ReleaseCheckError, KeyError):
        return False
    return not claims or claims[0] in claims[1:]


def _claimed(data: bytes) -> tuple[Json, Json]:
    document = parse_document(data, "badge.json")
    return document["color"], document["isError"]


def _check_document(
    bundle: Bundle,
    folder: PlanFolder,
    recorded: Recorded,
    written: Scorecard,
    manifest: Manifest,
    files: Mapping[str, str],
) -> Iterator[str]:
    """The manifest itself, all but the digests of `files`."""
    # Nothing else can say who made the run, where, and when it was called final.
    origin = Origin(
        provenance=manifest.provenance,
        environment={key: said for key, said in manifest.environment.items() if key != "tool"},
        approved_by=approvals(recorded),
        redactions=manifest.redactions,
        external_refs=external_refs(folder.plans, recorded.paths),
    )
    try:
        again = manifest_of(
            bundle,
            folder,
            recorded,
            written,
            origin,
            finalized_at=manifest.finalized_at,
            files=files,
        )
    except Untrusted as error:
        yield f"manifest.json: {error}"
        return
    expected = again.model_dump(mode="json", by_alias=True, exclude={"files"})
    document = read_document(bundle.path / "manifest.json")
    if "score_plane" not in manifest.scoring:  # of a version that pinned less
        for part, names in PINNED_SINCE.items():
            for name in names:
                expected[part].pop(name)
    for line in differences(document, expected):
        yield f"manifest.json: {line}"
    if manifest.finalized_at is not None and not _is_time(manifest.finalized_at):
        yield f"manifest.json: finalized_at: found {manifest.finalized_at!r}, expected a time"


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _same_tool(manifest: Manifest, world: World) -> bool:
    return manifest.environment.get("finished_by") == world.tool


def _check_reports(
    bundle: Bundle,
    folder: PlanFolder,
    written: Scorecard,
    manifest: Manifest,
    *,
    same_tool: bool,
) -> Iterator[str]:
    """Every report must be what this scorecard and these results render to.

    Another version of the tool renders other bytes; of its reports the counts and verdicts are read, and an
    older one did not write every report that this one writes.
    """
    if not same_tool:
        try:
            read_back(bundle, written, [name for name in VOUCHED if name in manifest.files])
        except Untrusted as error:
            yield str(error)
        return
    for name, chunks in reports_of(bundle, folder, written).items():
        path = bundle.path / name
        found = digest_bytes(read_bytes(path)) if path.is_file() else "absent"
        if found != digest_chunks(chunks):
            yield f"{name}: it is not what the scorecard and the results render to"


def _said(recorded: Recorded, manifest: Manifest, world: World) -> Iterator[str]:
    from releasecheck.model.table import ANSWERED

    merged = recorded.merged
    gone = int(((merged.table.target == ANSWERED) & ~merged.stored).sum())
    if gone:
        yield f"{gone} outputs are not stored (purged, or by store_outputs); their digests stand"
    if not _same_tool(manifest, world):
        yield (
            f"its reports were written by {manifest.environment.get('finished_by')}, this is {world.tool}: "
            "of the reports only counts and verdict were compared"
        )
    if manifest.finalized_at is None:
        yield "provisional: the run is still open"
