"""Write a bundle: results and terminal state first, reports next, the manifest last but for the badge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final, Literal

from releasecheck.canonical import JsonProblem, digest, digest_bytes, dump_document, parse_own
from releasecheck.errors import Untrusted, UsageError
from releasecheck.ledger.jsonl import stable_file_digest
from releasecheck.model.record import FIRST_REVISION
from releasecheck.model.results import ResultRow, RowView, results_digest
from releasecheck.model.scorecard import Manifest, Scorecard
from releasecheck.pipeline.baselines import BASELINE
from releasecheck.pipeline.files import file_digest, read_document, write_whole
from releasecheck.pipeline.folders import LEDGER_FILE
from releasecheck.pipeline.history import open_history
from releasecheck.pipeline.rows import results_file
from releasecheck.pipeline.scoring import score_plane
from releasecheck.pipeline.tickets import external_refs
from releasecheck.publish import (
    CLOSING,
    VOUCHED,
    WITHDRAWN,
    LedgerFacts,
    LedgerFileFacts,
    Origin,
    Write,
    badge,
    build_manifest,
    closing_writes,
    is_stale,
    manifest_bytes,
    opening_writes,
    stale,
)
from releasecheck.scorecard.badge_svg import render_badge_svg
from releasecheck.scorecard.html import render_html
from releasecheck.scorecard.junit import render_junit
from releasecheck.scorecard.readback import check_reports
from releasecheck.scorecard.report import Report
from releasecheck.scorecard.results_csv import render_results_csv
from releasecheck.scorecard.sarif import render_sarif
from releasecheck.scorecard.summary import render_summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.pipeline.folders import Bundle, PlanFolder
    from releasecheck.pipeline.remaining import Recorded
    from releasecheck.pipeline.world import World

NOT_LISTED: Final = frozenset({"failure.json", *CLOSING})
"""Files whose digest no manifest holds: itself, what is made from it, and what it replaces."""


@dataclass(frozen=True, slots=True)
class Finish:
    """What a finish knows beside plan and records."""

    final: bool
    provenance: Literal["local", "ci"]


def write_bundle(
    bundle: Bundle,
    folder: PlanFolder,
    recorded: Recorded,
    scorecard: Scorecard,
    world: World,
    finish: Finish,
) -> Manifest:
    """Write everything but plan and ledger files, which are there already.

    Killed at any line, the ledger is whole and the next finish writes the same bytes again; without a
    manifest nobody takes what is there for a decision.
    """
    out = bundle.path
    _sweep(out)
    for name in WITHDRAWN:
        (out / name).unlink(missing_ok=True)
    # Reports are rendered from the results file, so it comes before everything that quotes it.
    write_whole(out / "results.jsonl", results_file(recorded))
    reports = reports_of(bundle, folder, scorecard)
    results = _reader(out / "results.jsonl")
    for write in opening_writes(scorecard, {"results.jsonl": results(), **reports}):
        if write.path != "results.jsonl":
            write_whole(out / write.path, write.chunks)
    read_back(bundle, scorecard)
    origin = Origin(
        provenance=finish.provenance,
        environment={**world.platform, "finished_by": world.tool},
        approved_by=approvals(recorded),
        redactions=world.secret_names(folder.plan),
        external_refs=external_refs(folder.plans, recorded.paths),
    )
    manifest = manifest_of(
        bundle,
        folder,
        recorded,
        scorecard,
        origin,
        finalized_at=world.clock.now() if finish.final else None,
    )
    for write in _closing(manifest, scorecard):
        write_whole(out / write.path, write.chunks)
    return manifest


def manifest_of(
    bundle: Bundle,
    folder: PlanFolder,
    recorded: Recorded,
    scorecard: Scorecard,
    origin: Origin,
    *,
    finalized_at: str | None,
    files: Mapping[str, str] | None = None,
) -> Manifest:
    """The manifest that follows from everything else in a bundle.

    `files` are the digests it vouches for; None: of all that is there now.
    """
    return build_manifest(
        folder.plan,
        scorecard,
        _ledger_facts(recorded),
        ((case.id, case.digest) for case in folder.rows[0]),
        bundle_digests(bundle) if files is None else files,
        origin,
        finalized_at=finalized_at,
    )


def approvals(recorded: Recorded) -> str | None:
    """Who approved calling a target with irreversible effects, by the ledger."""
    names = {seen.approved_by for seen in recorded.merged.files if seen.approved_by}
    return ", ".join(sorted(names)) or None


def ledger_digest(recorded: Recorded) -> str:
    """Identity of the set of records a decision was made from."""
    seen = [
        [file.shard, file.attempt, file.digest]
        if file.revision == FIRST_REVISION
        else [file.shard, file.attempt, file.digest, file.revision]
        for file in recorded.merged.files
    ]
    return digest(sorted(seen, key=str))


def badge_files(
    manifest: Manifest,
    scorecard: Scorecard,
    manifest_digest: str | None = None,
    *,
    too_old: bool = False,
) -> dict[str, bytes]:
    """The badge that follows from a decision, by file name; with `too_old` the one that says so of itself.

    Empty for a partial run, which makes no badge, and for one that is still open.
    """
    if manifest.mode != "full" or manifest.finalized_at is None:
        return {}
    backing = manifest_digest or digest_bytes(manifest_bytes(manifest))
    claim = badge(manifest, scorecard, backing)
    if too_old:
        claim = stale(claim)
    return {"badge.json": dump_document(claim), "badge.svg": render_badge_svg(claim, backing)}


def complete_badge(bundle: Bundle, manifest: Manifest, scorecard: Scorecard) -> None:
    """Write the badge of a decision that stands, where a kill came between the two (C-17).

    One that was called too old stays so.
    """
    _sweep(bundle.path)
    digest_there = file_digest(bundle.path / "manifest.json")
    too_old = _says_stale(bundle.path / "badge.json")
    for name, data in badge_files(manifest, scorecard, digest_there, too_old=too_old).items():
        path = bundle.path / name
        if not path.is_file() or path.read_bytes() != data:
            write_whole(path, [data])


def _says_stale(path: Path) -> bool:
    try:
        found = parse_own(path.read_bytes())
    except (OSError, JsonProblem):
        return False
    return isinstance(found, dict) and is_stale({"message": "", **found})


def read_decision(bundle: Bundle) -> tuple[Manifest, Scorecard]:
    """Manifest and scorecard of a bundle.

    Raises:
        Untrusted: one of them is not there, or is damaged.
    """
    try:
        manifest = Manifest.model_validate(read_document(bundle.path / "manifest.json"))
        scorecard = Scorecard.model_validate(read_document(bundle.path / "scorecard.json"))
    except (UsageError, ValueError) as error:
        message = f"{bundle.path}: scorecard or manifest is damaged: {str(error).splitlines()[0]}"
        raise Untrusted(message) from None
    return manifest, scorecard


def _closing(manifest: Manifest, scorecard: Scorecard) -> list[Write]:
    claim = badge(manifest, scorecard)
    svg = render_badge_svg(claim, digest_bytes(manifest_bytes(manifest)))
    writes = closing_writes(manifest, claim, svg)
    # A partial run makes no badge, and neither does one that is still open.
    whole = manifest.mode == "full" and manifest.finalized_at is not None
    return [write for write in writes if whole or write.path == "manifest.json"]


def _sweep(out: Path) -> None:
    """Remove what a kill left half-written; nobody else is at work in a bundle that is held."""
    for path in out.rglob(".*.new"):
        if path.is_file():
            path.unlink()


def reports_of(
    bundle: Bundle, folder: PlanFolder, scorecard: Scorecard
) -> dict[str, Iterable[bytes]]:
    """The reports by file name, rendered as they are read."""
    report = report_of(bundle, folder, scorecard)
    return {
        "scorecard.html": render_html(report),
        "summary.md": [render_summary(report).encode("utf-8")],
        "junit.xml": render_junit(report),
        "results.sarif": render_sarif(report),
        "results.csv": render_results_csv(report),
    }


def report_of(bundle: Bundle, folder: PlanFolder, scorecard: Scorecard) -> Report:
    """What every report of a bundle is made from."""
    return Report(
        scorecard=scorecard,
        plan=folder.plan,
        rows=lambda: _views(bundle, folder),
        baseline_rows=_baseline_rows(folder),
        history=open_history(folder.path),
    )


def _views(bundle: Bundle, folder: PlanFolder) -> Iterator[RowView]:
    with (bundle.path / "results.jsonl").open("rb") as file:
        for case in folder.in_plan_order():
            for _ in range(folder.plan.trials):
                yield RowView(ResultRow.from_json(parse_own(file.readline())), case)


def _baseline_rows(folder: PlanFolder) -> Callable[[], Iterator[ResultRow]] | None:
    path = folder.path / BASELINE / "results.jsonl"
    if folder.plan.baseline is None:
        return None

    def rows() -> Iterator[ResultRow]:
        with path.open("rb") as file:
            for line in file:
                yield ResultRow.from_json(parse_own(line))

    return rows


def read_back(bundle: Bundle, scorecard: Scorecard, names: Iterable[str] = VOUCHED) -> None:
    """Read every report of these names again and compare its counts with the verdict (B104).

    Raises:
        Untrusted: a report says something else than the scorecard.
    """
    check_reports({name: _reader(bundle.path / name) for name in names}, scorecard)


def _reader(path: Path) -> Callable[[], Iterator[bytes]]:
    def read() -> Iterator[bytes]:
        with path.open("rb") as file:
            while chunk := file.read(1 << 16):
                yield chunk

    return read


def _ledger_facts(recorded: Recorded) -> LedgerFacts:
    merged = recorded.merged
    return LedgerFacts(
        recorded_pairs=merged.recorded_pairs,
        set_digest=ledger_digest(recorded),
        duplicates=merged.duplicates,
        files=tuple(
            LedgerFileFacts(
                seen.name,
                seen.shard,
                seen.attempt,
                seen.records,
                seen.digest,
                seen.ended,
                seen.stopped,
                seen.revision,
            )
            for seen in merged.files
        ),
        started_at=min((seen.started_at for seen in merged.files), default=None),
        completed_at=max((seen.ended_at for seen in merged.files if seen.ended_at), default=None),
        observation=merged.observation,
        score_plane=score_plane(merged.table),
    )


def bundle_digests(bundle: Bundle) -> Mapping[str, str]:
    """Digests of everything in a bundle that a manifest lists, by path; hidden files are not part of it.

    Ledger files and results have digests that purging does not change.
    """
    found = {}
    for path in sorted(bundle.path.rglob("*")):
        name = path.relative_to(bundle.path).as_posix()
        hidden = any(part.startswith(".") for part in path.relative_to(bundle.path).parts)
        if hidden or name in NOT_LISTED or not path.is_file():
            continue
        found[name] = _digest_of(path)
    return found


def _digest_of(path: Path) -> str:
    try:
        if LEDGER_FILE.fullmatch(path.name):
            return stable_file_digest(path)
        if path.name == "results.jsonl":
            with path.open("rb") as file:
                return results_digest(_objects(file, path))
    except (ValueError, KeyError, TypeError, AttributeError):
        message = f"{path}: a line in it is no record; the file is damaged"
        raise Untrusted(message) from None
    return file_digest(path)


def _objects(file: IO[bytes], path: Path) -> Iterator[dict[str, Json]]:
    for number, line in enumerate(file, start=1):
        try:
            yield parse_own(line)
        except JsonProblem as problem:
            message = f"{path}:{number}: no record ({problem}); the file is damaged"
            raise Untrusted(message) from None
