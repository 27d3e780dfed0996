"""What a run came to (contract sections 4 and 6): outcomes, metrics, gates, verdict, manifest."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, model_validator

from releasecheck.model.base import Digest, Document, FromList, JsonValue
from releasecheck.model.gate import Against, Decide
from releasecheck.model.plan import Mode
from releasecheck.model.policy import Adopted, Policy
from releasecheck.model.suite import Quarantined, Waiver

Outcome: TypeAlias = Literal[
    "pass", "bootstrap", "not_selected", "not_comparable", "blocked_missing", "block"
]
OUTCOMES: Final[tuple[Outcome, ...]] = (
    "pass", "bootstrap", "not_selected", "not_comparable", "blocked_missing", "block",
)  # fmt: skip
"""From best to worst; a verdict is the worst of its gates' outcomes."""
EXIT_CODES: Final[dict[Outcome, int]] = {
    "pass": 0,
    "bootstrap": 0,
    "not_selected": 0,
    "not_comparable": 2,
    "blocked_missing": 2,
    "block": 1,
}
"""What the process ends with, beside a scorecard that says the same."""
Status: TypeAlias = Literal[
    "planned", "running", "completed", "failed", "cancelled", "superseded", "expired"
]
MODELS_NAMED: Final = 20
"""Models of a target or judge that are named; what the others gave is counted."""
SCORECARD_SCHEMA: Final = "releasecheck/scorecard@1"
MANIFEST_SCHEMA: Final = "releasecheck/manifest@1"


class Counts(Document):
    """How much of what was planned is there; the five states add up to `pairs`."""

    cases: int
    trials: int
    """Planned (case, trial)."""
    pairs: int
    scored: int
    not_applicable: int
    failed: int
    missing: int
    pending: int = 0
    """None in scorecards from before judges could answer later."""
    conflicts: int = 0
    """Measurements that contradict the one that counts."""

    @model_validator(mode="after")
    def _adds_up(self) -> Counts:
        states = self.scored + self.not_applicable + self.failed + self.missing + self.pending
        if states != self.pairs:
            message = f"the states add up to {states}, but {self.pairs} pairs were planned"
            raise ValueError(message)
        return self


class Incomplete(Document):
    """A judge that did not score everything."""

    judge: str
    missing: int
    failed: int
    expected: int
    message: str
    """`no score from judge:grounded for 20 of 84 cases`."""
    given_up: dict[str, int] = {}
    """Scores that were waited for in vain, by reason: `deadline`, `interrupted`, `cancelled`."""


GIVEN_UP: Final = {
    "deadline": "did not come before their deadline",
    "interrupted": "were not there when an interrupted wait was taken up again after their deadline",
    "cancelled": "had not come when the run was closed",
    "output_not_stored": "cannot be had, since their outputs were purged or not stored",
}
"""What each reason of `Incomplete.given_up` says about its scores."""


class Metric(Document):
    """An aggregate over one judge's scores in one split."""

    metric: str
    split: str
    stat: str
    value: float | None
    """None when nothing was measured; never 0 for want of data."""
    n_scored: int
    n_expected: int
    """Applicable (case, trial)s; not-applicable ones are outside."""
    ci_low: float | None = None
    ci_high: float | None = None
    confidence: float
    baseline_value: float | None = None
    delta: float | None = None
    """Candidate minus baseline over the whole split, each side's own cases."""
    delta_ci_low: float | None = None
    delta_ci_high: float | None = None


class GateResult(Document):
    """One gate, decided."""

    id: str
    metric: str
    split: str
    stat: str
    rule: str
    """In words: `mean >= 0.85`, `no regression beyond 0.02`."""
    outcome: Outcome
    reason: str
    """One sentence with the numbers behind the outcome."""
    value: float | None = None
    threshold: float | None = None
    baseline_value: float | None = None
    """Over the cases compared."""
    delta: float | None = None
    """In the metric's unit, negative when lower; None on every refusal."""
    compared: int | None = None
    """Cases compared, for no-regression; pairs measured, otherwise."""
    p_value: float | None = None
    """One-sided, of "no drop" (`non-inferior`: of a drop of `threshold` or more), before any correction."""
    min_detectable_drop: float | None = None
    """The smallest true drop at which this gate blocks four times in five."""
    decide: Decide | None = None
    """How a no-regression gate decides; None for every other rule."""
    against: Against | None = None
    """Which earlier run a no-regression gate compares with; None for every other rule."""
    p_adjusted: float | None = None
    """`p_value` corrected for the run's other `significant` gates: what decides."""
    drop_bound: float | None = None
    """`non-inferior`: a one-sided bound on the drop, at the suite's confidence."""
    resolvable_drop: float | None = None
    """The smallest drop that can be told from none with this many cases and this much noise."""
    quarantined: int = 0
    """Cases of this gate that a quarantine left out."""
    new_failures: tuple[str, ...] = ()
    """No-regression over a judge with a pass mark: compared cases that passed before and fail now."""
    new_passes: tuple[str, ...] = ()
    waived: bool = False
    """It blocked, and a waiver of the suite says that this does not stop the release."""

    @model_validator(mode="after")
    def _pass_needs_a_comparison(self) -> GateResult:
        # The one promise of this tool: a pass that measured nothing cannot be constructed.
        if self.outcome == "pass" and not self.compared:
            message = f"gate {self.id}: a pass needs something measured or compared"
            raise ValueError(message)
        return self


class Flips(Document):
    """Cases whose pass or fail changed against the baseline, by judge."""

    new_failures: tuple[str, ...] = ()
    new_passes: tuple[str, ...] = ()


class Waiting(Document):
    """A judge that still owes scores."""

    judge: str
    pending: int
    deadline: str | None = None
    not_before: str | None = None


class Sentinels(Document):
    """How a judge did on answers whose score is known."""

    judge: str
    shown: int
    """Times that one was, or should have been, shown: each in every shard that the judge scored in."""
    held: int
    """Scored as they should be."""
    missed: tuple[str, ...] = ()
    """Names of those with a wrong score in any shard."""
    unscored: int = 0
    """Without a score; none of the judge's gates can decide either."""


class CaseChanges(Document):
    """How the dataset differs from the baseline's."""

    same: int
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    """(id in the baseline, id now)."""


class Axis(Document):
    """One thing that may differ between the two sides of a comparison (X-25)."""

    axis: Literal["cases", "judges", "target", "policy"]
    answer: Literal["held", "differs", "unknown"]
    note: str
    """What differs, in words; empty where it held."""


class BaselineUsed(Document):
    """The run compared with."""

    run_id: str
    commit: str | None = None
    why: str
    scorecard_digest: Digest
    cases: CaseChanges
    judges_changed: tuple[str, ...] = ()
    axes: Annotated[tuple[Axis, ...], FromList] = ()
    """What is the same on both sides, axis by axis."""
    rejudged: dict[str, int] = {}
    """Stored outputs of the baseline that a changed judge of this run scored, by judge."""


class ShardSeen(Document):
    """One shard's ledger files."""

    index: int
    cases: int
    attempts: tuple[int, ...]
    outputs: int
    """(case, trial)s with an output or a failure on record."""


class Conflict(Document):
    """A pair that was measured twice with different results; the first counts."""

    case: str
    trial: int
    judge: str
    counted: float | None
    """None: not applicable."""
    other: float | None


class Costs(Document):
    """What the run used; None where nobody said."""

    target_usd: float | None = None
    judges_usd: float | None = None
    target_tokens: int | None = None
    judges_tokens: int | None = None
    unknown: int = 0
    """Outputs whose cost was not said."""
    outputs_lost: int = 0
    """Outputs that were not stored, and asked again before they were judged."""


class Scorecard(Document):
    """The run's decision and everything it rests on."""

    schema_: Literal["releasecheck/scorecard@1"] = Field(default=SCORECARD_SCHEMA, alias="schema")
    run_id: str
    plan_digest: Digest
    suite: str
    mode: Mode
    selection: str
    """How the cases were chosen, with what must be said about it."""
    status: Status
    verdict: Outcome | None
    """None exactly while scores are pending."""
    overridden: bool = False
    exit_code: int
    reasons: tuple[str, ...]
    """Verdict first, then why, then what to do."""
    counts: Counts
    incomplete: Annotated[tuple[Incomplete, ...], FromList] = ()
    metrics: Annotated[tuple[Metric, ...], FromList] = ()
    gates: Annotated[tuple[GateResult, ...], FromList] = ()
    flips: dict[str, Flips] = {}
    waiting: Annotated[tuple[Waiting, ...], FromList] = ()
    sentinels: Annotated[tuple[Sentinels, ...], FromList] = ()
    baseline: BaselineUsed | None = None
    anchor: BaselineUsed | None = None
    """The second, fixed run compared with."""
    waivers: Annotated[tuple[Waiver, ...], FromList] = ()
    """In force; `overridden` says whether they made a difference."""
    quarantine: Annotated[tuple[Quarantined, ...], FromList] = ()
    """In force: cases that no gate looked at."""
    decided_early: bool = False
    """Not every case was asked, since none of the rest could have saved the run from blocking."""
    shards: Annotated[tuple[ShardSeen, ...], FromList] = ()
    conflicts: Annotated[tuple[Conflict, ...], FromList] = ()
    costs: Costs = Costs()
    models: dict[str, int] = {}
    """Model -> answers it gave, as the target says it; at most `MODELS_NAMED`."""
    more_models: int = 0
    """Answers of still others."""
    judge_models: dict[str, dict[str, int]] = {}
    """The same of measured scores, by judge."""
    more_judge_models: dict[str, int] = {}
    """Scores of still others, by judge."""
    code_changed: tuple[str, ...] = ()
    """What of the target's code differed between plan and records: the answers are of several versions."""
    policy: Policy | None = None
    """Where gates and judges came from, and what the change under check would make of them; it does not
    apply unless `mode` is `head`. None in scorecards of older versions."""
    adopted: Adopted | None = None
    """The untrusted run whose outputs were judged; None: the target was asked."""
    notices: tuple[str, ...] = ()
    """What a reviewer must know besides: partial plan, dirty tree, secrets too short to redact."""
    retry_of: str | None = None
    """The run that this one is a retry of, and carries answers and scores from."""
    revision: int = 1
    """Above 1: the stored outputs were judged again, so often less one."""
    created_at: str | None = None
    """When this was decided; RFC 3339, UTC. `finalized_at` stands in the manifest alone."""


class Manifest(Document):
    """Digests and provenance of everything behind a scorecard (requirements 3a)."""

    schema_: Literal["releasecheck/manifest@1"] = Field(default=MANIFEST_SCHEMA, alias="schema")
    kind: Literal["RAGRunManifest"] = "RAGRunManifest"
    run_id: str
    job_id: str
    job_type: str
    plan_digest: Digest
    suite: str
    mode: str
    status: Status
    created_at: str
    started_at: str | None
    completed_at: str | None
    finalized_at: str | None
    """Set last; a bundle without it is provisional."""
    provenance: Literal["local", "ci"]
    attestation: Literal["self_reported", "signed"] = "self_reported"
    context: dict[str, JsonValue]
    target: dict[str, JsonValue]
    dataset: dict[str, JsonValue]
    evaluators: tuple[dict[str, JsonValue], ...]
    gates: tuple[dict[str, JsonValue], ...]
    policy: dict[str, JsonValue]
    adopted: dict[str, JsonValue] | None = None
    """The untrusted run whose outputs were judged; None: the target was asked."""
    baseline: dict[str, JsonValue] | None
    shards: tuple[dict[str, JsonValue], ...]
    ledger: dict[str, JsonValue]
    scoring: dict[str, JsonValue]
    decision: dict[str, JsonValue]
    costs: dict[str, JsonValue]
    environment: dict[str, JsonValue]
    external_refs: tuple[dict[str, JsonValue], ...] = ()
    redactions: tuple[str, ...] = ()
    approved_by: str | None = None
    retry_of: str | None = None
    """The run that this one is a retry of."""
    files: dict[str, Digest]
    """Everything in the bundle but this file and the badge; ledger files and results by their
    purge-stable digest."""
