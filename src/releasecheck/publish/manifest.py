"""`manifest.json`: digests and provenance of everything behind a scorecard (requirements 3a)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from releasecheck.canonical import digest, dump_document
from releasecheck.errors import Untrusted
from releasecheck.model.record import FIRST_REVISION
from releasecheck.model.scorecard import Manifest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from releasecheck.canonical import Json
    from releasecheck.model.plan import BaselinePin, Plan
    from releasecheck.model.scorecard import Scorecard

ALWAYS_VOUCHED: Final = (
    "scorecard.json", "results.jsonl", "scorecard.html", "summary.md", "junit.xml",
)  # fmt: skip
"""Reports that every manifest vouches for, besides the files of the plan and the ledger."""
VOUCHED: Final = (*ALWAYS_VOUCHED, "results.sarif", "results.csv")
"""The same of this version; manifests of older ones lack the last ones."""

PINNED_SINCE: Final = {
    "scoring": ("kind", "revises", "judges", "observation", "score_plane"),
    "decision": (
        "revision", "score_plane", "gates_digest", "policy_digest", "baseline", "anchor",
    ),
}  # fmt: skip
"""What manifests of older versions do not pin."""


@dataclass(frozen=True, slots=True)
class LedgerFileFacts:
    """One ledger file that was merged."""

    name: str
    shard: int | None
    """None for what `finish` itself recorded."""
    attempt: int
    records: int
    digest: str
    """Purge-stable."""
    ended: bool
    stopped: str | None
    """Why it ended before its work was done."""
    revision: int = FIRST_REVISION
    """Of its scores."""

    def to_json(self) -> dict[str, Json]:
        """Its entry in the manifest's `shards`."""
        revised: dict[str, Json] = {}
        if self.revision != FIRST_REVISION:
            revised["revision"] = self.revision
        return {
            **revised,
            "file": self.name,
            "index": self.shard,
            "attempt": self.attempt,
            "records": self.records,
            "digest": self.digest,
            "ended": self.ended,
            "stopped": self.stopped,
        }


@dataclass(frozen=True, slots=True)
class LedgerFacts:
    """The read-set of a decision."""

    recorded_pairs: int
    set_digest: str
    """Over the identity and digest of every ledger file."""
    duplicates: int
    files: tuple[LedgerFileFacts, ...]
    started_at: str | None = None
    """Of the first attempt."""
    completed_at: str | None = None
    """Of the last record."""
    observation: str | None = None
    """Over the identity of every output that counts."""
    score_plane: str | None = None
    """Over every state and value of the revision."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who made the run, and where."""

    provenance: Literal["local", "ci"]
    environment: Mapping[str, Json] = field(default_factory=dict)
    """Operating system, Python, runner and package versions, as the driver sees them."""
    approved_by: str | None = None
    redactions: tuple[str, ...] = ()
    """Names of the variables whose values were looked for and removed."""
    external_refs: tuple[dict[str, Json], ...] = ()
    """Traces kept by judges, for purging: `{judge, trace_id}`."""


def build_manifest(
    plan: Plan,
    scorecard: Scorecard,
    ledger: LedgerFacts,
    cases: Iterable[tuple[str, str]],
    files: Mapping[str, str],
    origin: Origin,
    *,
    finalized_at: str | None,
) -> Manifest:
    """The manifest of a bundle whose other files have the digests `files`.

    `cases` gives (id, digest) of every case in plan order. `finalized_at` is None while another attempt
    may change the verdict.

    Raises:
        Untrusted: plan, scorecard and files are not of one run, or an open run would be called final.
    """
    _check_one_run(plan, scorecard, files, finalized_at)
    return Manifest(
        run_id=plan.run_id,
        job_id=str(plan.context.get("job_id") or plan.run_id),
        job_type="release_check",
        plan_digest=plan.plan_digest,
        suite=plan.suite,
        mode=plan.mode,
        status=scorecard.status,
        created_at=plan.created_at,
        started_at=ledger.started_at,
        completed_at=ledger.completed_at,
        finalized_at=finalized_at,
        provenance=origin.provenance,
        context=_context(plan),
        target={
            "id": plan.target.id,
            "kind": plan.target.type,
            "digest": plan.target_digest,
            "side_effects": plan.target.side_effects,
        },
        dataset={
            "digest": plan.cases_digest,
            "count": plan.cases,
            "of": plan.selection.of,
            "selection": plan.selection.model_dump(mode="json"),
            "splits": dict(plan.splits),
            "trials": plan.trials,
            "cases": dict(cases),
        },
        evaluators=tuple(judge.model_dump(mode="json", by_alias=True) for judge in plan.judges),
        gates=tuple(gate.model_dump(mode="json", by_alias=True) for gate in plan.gates),
        policy=_policy(plan),
        adopted=None if plan.adopted is None else plan.adopted.model_dump(mode="json"),
        baseline=_baseline(plan, scorecard),
        shards=tuple(file.to_json() for file in ledger.files),
        ledger={
            "expected_pairs": plan.pairs,
            "recorded_pairs": ledger.recorded_pairs,
            "set_digest": ledger.set_digest,
            "duplicates": ledger.duplicates,
            "conflicts": scorecard.counts.conflicts,
        },
        scoring={
            "revision": scorecard.revision,
            "kind": "initial" if plan.revises is None else "rescore",
            "revises": plan.revises,
            "digest": files["results.jsonl"],
            "judges": {judge.id: judge.digest for judge in plan.judges},
            "observation": ledger.observation,
            "score_plane": ledger.score_plane,
        },
        decision={
            "verdict": scorecard.verdict,
            "exit_code": scorecard.exit_code,
            "overridden": scorecard.overridden,
            "reasons": list(scorecard.reasons),
            "scorecard_digest": files["scorecard.json"],
            "revision": scorecard.revision,
            "score_plane": ledger.score_plane,
            "gates_digest": _gates_digest(plan),
            "policy_digest": plan.policy.digest,
            "baseline": _pin(plan.baseline),
            "anchor": _pin(plan.anchor),
        },
        costs=scorecard.costs.model_dump(mode="json"),
        environment={"tool": plan.tool, **origin.environment},
        external_refs=origin.external_refs,
        redactions=origin.redactions,
        approved_by=origin.approved_by,
        retry_of=plan.retry_of,
        files=dict(files),
    )


def _check_one_run(
    plan: Plan, scorecard: Scorecard, files: Mapping[str, str], finalized_at: str | None
) -> None:
    ours, theirs = (plan.run_id, plan.plan_digest), (scorecard.run_id, scorecard.plan_digest)
    if ours != theirs:
        message = f"the plan is of run {ours[0]} and the scorecard of run {theirs[0]}"
        raise Untrusted(message)
    if lacking := [name for name in ALWAYS_VOUCHED if name not in files]:
        message = (
            f"run {plan.run_id}: {', '.join(lacking)} was not written, so nothing can vouch for it"
        )
        raise Untrusted(message)
    if finalized_at is not None and (scorecard.verdict is None or scorecard.status == "running"):
        message = f"run {plan.run_id} is still open and cannot be called final"
        raise Untrusted(message)


def _context(plan: Plan) -> dict[str, Json]:
    git = plan.git
    found: dict[str, Json] = dict(plan.context)
    if git is not None:
        found |= {"commit": git.commit, "ref": git.ref, "dirty": git.dirty}
    return found


def _policy(plan: Plan) -> dict[str, Json]:
    return {
        **plan.policy.model_dump(mode="json"),
        "confidence": plan.confidence,
        "baseline": plan.baseline_rule.model_dump(mode="json"),
        "gates_digest": _gates_digest(plan),
    }


def _gates_digest(plan: Plan) -> str:
    return digest([gate.model_dump(mode="json", by_alias=True) for gate in plan.gates])


def _pin(pin: BaselinePin | None) -> dict[str, Json] | None:
    """What of an earlier run a decision rests on."""
    if pin is None:
        return None
    return {
        "run_id": pin.run_id,
        "scorecard_digest": pin.scorecard_digest,
        "results_digest": pin.results_digest,
        "manifest_digest": pin.manifest_digest,
    }


def _baseline(plan: Plan, scorecard: Scorecard) -> dict[str, Json] | None:
    if plan.baseline is None:
        return None
    used = scorecard.baseline
    counted = None if used is None else used.cases.model_dump(mode="json")
    return {**plan.baseline.model_dump(mode="json"), "cases": counted}


def manifest_bytes(manifest: Manifest) -> bytes:
    """The file, whose digest a badge may name."""
    return dump_document(manifest.model_dump(mode="json", by_alias=True))
