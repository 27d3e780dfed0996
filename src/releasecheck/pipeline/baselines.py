"""Baselines: read and verified, pinned into a plan, promoted from a finalized run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter, ValidationError

from releasecheck.canonical import digest_bytes, dump_document
from releasecheck.errors import DigestMismatch, Untrusted, UsageError
from releasecheck.metrics import measure
from releasecheck.model.base import require_schema
from releasecheck.model.gate import GateSpec
from releasecheck.model.plan import BaselinePin, Mode, PlannedJudge
from releasecheck.model.results import results_digest
from releasecheck.model.scorecard import Manifest, Scorecard
from releasecheck.model.table import Baseline, Compared
from releasecheck.pipeline.compare import same_metric
from releasecheck.pipeline.files import parse_document, read_bytes, read_lines, write_whole
from releasecheck.pipeline.models import models_in
from releasecheck.pipeline.rows import table_of_rows
from releasecheck.plan import judge_identity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from releasecheck.pipeline.folders import PlanFolder

FILES: Final = ("scorecard.json", "results.jsonl", "manifest.json")
PROMOTION: Final = "promotion.json"
BASELINE: Final = "baseline"
"""Folder of a plan with the files of its baseline."""
ANCHOR: Final = "anchor"
"""Folder of a plan with the files of its anchor."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What metrics need to know of the plan that a baseline was made under."""

    judges: tuple[PlannedJudge, ...]
    gates: tuple[GateSpec, ...]
    confidence: float
    mode: Mode


@dataclass(frozen=True, slots=True)
class BaselineFiles:
    """The three files of a baseline, verified against each other."""

    manifest: Manifest
    scorecard: Scorecard
    data: dict[str, bytes]
    """By file name."""
    baseline: Baseline
    measured: Measured

    def pin(self, why: str) -> BaselinePin:
        """Its identity, for a plan."""
        return BaselinePin(
            run_id=self.manifest.run_id,
            plan_digest=self.manifest.plan_digest,
            commit=_commit(self.manifest),
            why=why,
            scorecard_digest=digest_bytes(self.data["scorecard.json"]),
            results_digest=digest_bytes(self.data["results.jsonl"]),
            manifest_digest=digest_bytes(self.data["manifest.json"]),
        )

    def times(self) -> dict[str, float]:
        """Seconds each case took, over its trials, where known."""
        import numpy as np

        table = self.baseline.table
        seconds = np.nansum(table.latency_ms, axis=1) / 1000.0
        return {
            case.id: float(spent)
            for case, spent in zip(table.cases, seconds, strict=True)
            if spent > 0
        }


def _commit(manifest: Manifest) -> str | None:
    return _text(manifest.context.get("commit"))


def _text(found: object) -> str | None:
    return found if isinstance(found, str) else None


def has_baseline(folder: Path) -> bool:
    """Whether anything stands where a baseline would.

    A folder without any of the files is an absent baseline; one with some of them is a broken one.
    """
    # A dangling link was meant to be something, and so was a promotion whose files are gone.
    paths = [folder, *(folder / name for name in (*FILES, PROMOTION))]
    return any(path.is_symlink() or (path != folder and path.exists()) for path in paths)


def read_baseline(folder: Path, why: str) -> BaselineFiles:
    """Read and verify a baseline folder.

    Raises:
        UsageError: a file is missing or unreadable.
        Untrusted: digests do not hold, or its metrics do not follow from its results.
    """
    if not folder.exists() and not folder.is_symlink():
        message = f"{folder}: there is no such folder; name a bundle or a baseline"
        raise UsageError(message)
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        message = (
            f"{folder}: there is no whole run or baseline in it, {missing[0]} is not there; promote a run "
            "anew, or get the folder back as it was"
        )
        raise UsageError(message)
    data = {name: read_bytes(folder / name) for name in FILES}
    return check_baseline(data, str(folder), why)


def check_baseline(data: Mapping[str, bytes], where: str, why: str) -> BaselineFiles:
    """Verify a baseline's three files against each other (see `read_baseline`)."""
    try:
        manifest = Manifest.model_validate(_document(data, where, "manifest"))
        scorecard = Scorecard.model_validate(_document(data, where, "scorecard"))
        judges = TypeAdapter(tuple[PlannedJudge, ...]).validate_python(manifest.evaluators)
        gates = TypeAdapter(tuple[GateSpec, ...]).validate_python(manifest.gates)
    except ValidationError as error:
        first = error.errors()[0]
        message = (
            f"{where}: the baseline's documents are not complete: {first['msg']} at "
            f"{'.'.join(str(part) for part in first['loc'])}; promote a baseline anew"
        )
        raise Untrusted(message) from None
    rows = list(read_lines(data["results.jsonl"], f"{where}/results.jsonl"))
    _check_digest(manifest, "scorecard.json", digest_bytes(data["scorecard.json"]), where)
    _check_digest(manifest, "results.jsonl", _results_digest(rows, where), where)
    _check_agreement(manifest, scorecard, judges, rows, where)
    table = table_of_rows(rows, [judge.spec for judge in judges], f"{where}/results.jsonl")
    baseline = Baseline(
        run_id=manifest.run_id,
        commit=_commit(manifest),
        why=why,
        scorecard_digest=digest_bytes(data["scorecard.json"]),
        finalized=manifest.finalized_at is not None,
        table=table,
        judge_digests={judge.id: judge.digest for judge in judges},
        unproven=frozenset(
            one.judge for one in scorecard.sentinels if one.missed or one.held < one.shown
        ),
        target_digest=_text(manifest.target.get("digest")),
        gates=gates,
        models=models_in(rows),
    )
    measured = Measured(judges, gates, _confidence(manifest), scorecard.mode)
    _check_metrics(baseline, scorecard, measured, where)
    return BaselineFiles(manifest, scorecard, dict(data), baseline, measured)


def _check_agreement(
    manifest: Manifest,
    scorecard: Scorecard,
    judges: Sequence[PlannedJudge],
    rows: Sequence[Mapping[str, Any]],
    where: str,
) -> None:
    """Refuse documents that contradict each other about the run, its decision, judges or cases."""
    problem = None
    if (scorecard.run_id, scorecard.plan_digest) != (manifest.run_id, manifest.plan_digest):
        problem = "its scorecard and its manifest are of different runs"
    elif scorecard.mode != manifest.mode:
        problem = "its scorecard and its manifest name different modes"
    elif scorecard.verdict != manifest.decision.get("verdict"):
        problem = "its scorecard and its manifest name different verdicts"
    elif manifest.finalized_at is not None and "running" in (manifest.status, scorecard.status):
        problem = "its manifest calls a run final that was still open"
    elif any(judge_identity(judge.spec, judge.files) != judge for judge in judges):
        problem = "a judge in its manifest is not what its digest says"
    elif {row["case"]: row["case_digest"] for row in rows} != manifest.dataset.get("cases"):
        problem = "its results are of other cases than its manifest names"
    if problem is not None:
        message = f"{where}: {problem}; the baseline was edited - promote it anew"
        raise Untrusted(message)


def _confidence(manifest: Manifest) -> float:
    found = manifest.policy.get("confidence")
    return float(found) if isinstance(found, int | float) else 0.95


def _document(data: Mapping[str, bytes], where: str, kind: str) -> dict[str, Any]:
    name = f"{kind}.json"
    if data[name].startswith(b"version https://git-lfs"):
        message = f"{where}/{name}: this is a Git LFS pointer, not the file; run `git lfs pull`"
        raise UsageError(message)
    document = parse_document(data[name], f"{where}/{name}")
    require_schema(document.get("schema"), kind, path=f"{where}/{name}")
    return document


def _results_digest(rows: list[dict[str, Any]], where: str) -> str:
    try:
        return results_digest(rows)
    except (KeyError, TypeError, AttributeError):
        message = f"{where}/results.jsonl: a line is no result; promote a baseline anew"
        raise Untrusted(message) from None


def _check_digest(manifest: Manifest, name: str, found: str, where: str) -> None:
    expected = manifest.files.get(name, "nothing")
    if found != expected:
        file = f"{where}/{name}"
        raise DigestMismatch(file, found=found, expected=expected)


def _check_metrics(
    baseline: Baseline, scorecard: Scorecard, measured: Measured, where: str
) -> None:
    """Refuse metrics that do not follow from the results beside them."""
    known = {
        (metric.metric, metric.split, metric.stat): metric
        for metric in measure(baseline.table, measured, None)
    }
    for metric in scorecard.metrics:
        found = known.get((metric.metric, metric.split, metric.stat))
        if found is None or not same_metric(metric, found):
            message = (
                f"{where}: its scorecard says {metric.metric} {metric.stat} in {metric.split} is "
                f"{metric.value} ({metric.n_scored} of {metric.n_expected}), but its results give "
                f"{None if found is None else found.value}; the baseline was edited - promote it anew"
            )
            raise Untrusted(message)
    counts = scorecard.counts
    if (counts.cases, counts.pairs) != (len(baseline.table.cases), baseline.table.pairs):
        message = f"{where}: its scorecard counts {counts.cases} cases, its results hold others"
        raise Untrusted(message)


def read_whole_baseline(folder: Path, why: str) -> BaselineFiles:
    """A baseline to plan with: of a full run (see `read_baseline`).

    Raises:
        UsageError: it is of a preview or delta, whose few cases would pass for all.
    """
    found = read_baseline(folder, why)
    if found.scorecard.mode != "full":
        message = (
            f"{folder}: this is a {found.scorecard.mode} run over a part of the cases; only a full run can be "
            "a baseline"
        )
        raise UsageError(message)
    return found


def read_committed_baseline(folder: Path, why: str) -> BaselineFiles:
    """A baseline that lies where promoted ones do (see `read_whole_baseline`).

    Raises:
        UsageError: it is of a run that cannot have been promoted: files were put there by hand. What lacks
            scores or is not final is left to the gates, which refuse it with the count.
    """
    found = read_whole_baseline(folder, why)
    card = found.scorecard
    if card.verdict == "block" or card.code_changed or card.adopted is not None:
        message = (
            f"{folder}: its run {card.run_id} {why_unfit(found, 'committed') or 'is not fit'}, so nobody can have "
            "promoted it; promote another one with `releasecheck baseline promote`"
        )
        raise UsageError(message)
    return found


def open_baseline(folder: PlanFolder) -> Baseline | None:
    """The baseline pinned in a plan, from the plan's own copy; None when none was pinned.

    Raises:
        Untrusted: the copy is not what the plan pinned.
    """
    return _pinned(folder.path / BASELINE, folder.plan.baseline, BASELINE)


def open_compared(folder: PlanFolder) -> Compared:
    """The baseline and the anchor pinned in a plan, from the plan's own copies.

    Raises:
        Untrusted: a copy is not what the plan pinned.
    """
    return Compared(
        open_baseline(folder), _pinned(folder.path / ANCHOR, folder.plan.anchor, ANCHOR)
    )


def _pinned(where: Path, pin: BaselinePin | None, what: str) -> Baseline | None:
    if pin is None:
        return None
    try:
        found = read_baseline(where, pin.why)
    except UsageError as error:
        message = (
            f"{where}: the plan pins the {what} {pin.run_id}, but its copy cannot be read: {error}"
        )
        raise Untrusted(message) from None
    if found.pin(pin.why) != pin:
        message = f"{where}: this is not the {what} that the plan pins ({pin.run_id})"
        raise Untrusted(message)
    return found.baseline


def promote(source: Path, target: Path, *, accept: str | None, now: str) -> Scorecard:
    """Make a finalized, full run the baseline in `target`; the manifest goes last.

    Raises:
        UsageError: the run may not be promoted.
    """
    if source.resolve() == target.resolve():
        message = f"{source}: a bundle is no baseline of itself; name another folder with --to"
        raise UsageError(message)
    files = read_baseline(source, "promoted")
    card = files.scorecard
    _check_promotable(files, accept)
    note = {
        "schema": "releasecheck/promotion@1",
        "run_id": card.run_id,
        "verdict": card.verdict,
        "accepted": accept,
        "promoted_at": now,
    }
    for stale in target.glob(".*.new"):  # of a promotion that was killed
        stale.unlink()
    # Readers need all three, so the old manifest goes first and the new one comes last.
    (target / "manifest.json").unlink(missing_ok=True)
    for name in ("results.jsonl", "scorecard.json"):
        write_whole(target / name, [files.data[name]])
    write_whole(target / PROMOTION, [dump_document(note)])
    write_whole(target / "manifest.json", [files.data["manifest.json"]])
    return card


def why_unfit(files: BaselineFiles, accept: str | None = None) -> str | None:
    """What a run has or is that no baseline may; None when it may be promoted."""
    card, manifest = files.scorecard, files.manifest
    problem = None
    if manifest.finalized_at is None:
        problem = "is not finalized; `releasecheck resume` carries it on"
    elif card.mode != "full":
        problem = f"is a {card.mode} run; only a full run may be a baseline"
    elif card.code_changed:
        problem = (
            f"holds answers of several versions of the target ({', '.join(card.code_changed)} changed while "
            "it was under way)"
        )
    elif card.adopted is not None:
        problem = "judges outputs of an untrusted run; only outputs of its own may be a baseline"
    elif card.overridden:
        problem = "was overridden by a waiver; only a run that passes may be a baseline"
    elif card.verdict == "not_comparable" and not (accept or "").strip():
        problem = "is not_comparable; say with --accept why it may be the baseline"
    elif card.verdict not in ("pass", "bootstrap", "not_comparable"):
        problem = f"has the verdict {card.verdict}; only pass or bootstrap may be a baseline"
    return problem


def _check_promotable(files: BaselineFiles, accept: str | None) -> None:
    problem = why_unfit(files, accept)
    if problem is not None:
        message = f"run {files.scorecard.run_id} {problem}; nothing was changed"
        raise UsageError(message)


def locate_baseline(where: Path, profile: str | None) -> tuple[Path, BaselineFiles | None]:
    """The baseline of a suite (by its config) or in a folder; None when there is none.

    Raises:
        ConfigError: the config cannot be read.
        Untrusted: the baseline contradicts itself.
    """
    from releasecheck.config import load_suite

    folder = where
    if not where.is_dir():
        loaded = load_suite(where, profile)
        folder = loaded.root / loaded.suite.baseline.path
    return folder, read_baseline(folder, "asked for") if has_baseline(folder) else None
