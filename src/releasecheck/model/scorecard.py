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
    """Planned."""
    trials: int
    """Planned (case, trial)."""
    pairs: int
    """Planned (case, trial, judge)."""
    scored: int
    """Pairs with a value."""
    not_applicable: int
    """Pairs whose judge says that the case is not its business."""
    failed: int
    """Pairs whose judge or target failed."""
    missing: int
    """Pairs that nobody scored."""
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
    """Its id."""
    missing: int
    """Scores that nobody gave."""
    failed: int
    """Scores that could not be given."""
    expected: int
    """Scores that were planned."""
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
    """A judge's id or a built-in metric."""
    split: str
    """`all`, or one part of the dataset."""
    stat: str
    """`mean`, `pass_rate`, `p95`, ..."""
    value: float | None
    """None when nothing was measured; never 0 for want of data."""
    n_scored: int
    """(case, trial)s with a value."""
    n_expected: int
    """Applicable (case, trial)s; not-applicable ones are outside."""
    ci_low: float | None = None
    """Lower end of the interval; None without one."""
    ci_high: float | None = None
    """Upper end."""
    confidence: float
    """Level of the intervals."""
    baseline_value: float | None = None
    """The same aggregate of the baseline; None without one."""
    delta: float | None = None
    """Candidate minus baseline over the whole split, each side's own cases."""
    delta_ci_low: float | None = None
    """Lower end of the interval of `delta`."""
    delta_ci_high: float | None = None
    """Upper end."""


class GateResult(Document):
    """One gate, decided."""

    id: str
    """As in the suite; `<id>-anchor` for its comparison with the anchor."""
    metric: str
    """What it looks at."""
    split: str
    """The part of the dataset it looks at."""
    stat: str
    """The aggregate it looks at."""
    rule: str
    """In words: `mean >= 0.85`, `no regression beyond 0.02`."""
    outcome: Outcome
    """What came of it."""
    reason: str
    """One sentence with the numbers behind the outcome."""
    value: float | None = None
    """The number that decided; None where there is none."""
    threshold: float | None = None
    """The number it was held against."""
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
    """The other way round: compared cases that failed before and pass now."""
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
    """Cases that passed in the baseline and fail now."""
    new_passes: tuple[str, ...] = ()
    """Cases that failed in the baseline and pass now."""


class Waiting(Document):
    """A judge that still owes scores."""

    judge: str
    """Its id."""
    pending: int
    """Scores it owes."""
    deadline: str | None = None
    """When the last of them is due; None until it is fixed."""
    not_before: str | None = None
    """When it is asked next at the earliest."""


class Sentinels(Document):
    """How a judge did on answers whose score is known."""

    judge: str
    """Its id."""
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
    """Cases with the same content under the same id."""
    changed: tuple[str, ...] = ()
    """The same id with other content."""
    added: tuple[str, ...] = ()
    """Ids that the baseline does not have."""
    removed: tuple[str, ...] = ()
    """Ids that only the baseline has."""
    renamed: tuple[tuple[str, str], ...] = ()
    """(id in the baseline, id now)."""


class Axis(Document):
    """One thing that may differ between the two sides of a comparison."""

    axis: Literal["cases", "judges", "target", "policy"]
    """Which one."""
    answer: Literal["held", "differs", "unknown"]
    """Whether it is the same on both sides."""
    note: str
    """What differs, in words; empty where it held."""


class BaselineUsed(Document):
    """The run compared with."""

    run_id: str
    """Its run."""
    commit: str | None = None
    """What was checked then, where it is known."""
    why: str
    """Why this one was chosen."""
    scorecard_digest: Digest
    """Over the bytes of its scorecard."""
    cases: CaseChanges
    """How the dataset differs from its own."""
    judges_changed: tuple[str, ...] = ()
    """Judges that are not the same as then."""
    axes: Annotated[tuple[Axis, ...], FromList] = ()
    """What is the same on both sides, axis by axis."""
    rejudged: dict[str, int] = {}
    """Stored outputs of the baseline that a changed judge of this run scored, by judge."""


class ShardSeen(Document):
    """One shard's ledger files."""

    index: int
    """0-based."""
    cases: int
    """Planned for it."""
    attempts: tuple[int, ...]
    """Numbers of the attempts that left a file."""
    outputs: int
    """(case, trial)s with an output or a failure on record."""


class Conflict(Document):
    """A pair that was measured twice with different results; the first counts."""

    case: str
    """Its id."""
    trial: int
    """0-based."""
    judge: str
    """Its id."""
    counted: float | None
    """None: not applicable."""
    other: float | None
    """What the later measurement says; None: not applicable."""


class Costs(Document):
    """What the run used; what nobody said is not known, never 0."""

    target_usd: float | None = None
    """US dollars of the target's calls."""
    judges_usd: float | None = None
    """US dollars of the judges' calls."""
    target_tokens: int | None = None
    """Tokens of the target's calls."""
    judges_tokens: int | None = None
    """Tokens of the judges' calls."""
    unknown: int = 0
    """Outputs whose cost was not said."""
    outputs_lost: int = 0
    """Outputs that were not stored, and asked again before they were judged."""


class Scorecard(Document):
    """The run's decision and everything it rests on."""

    schema_: Literal["releasecheck/scorecard@1"] = Field(default=SCORECARD_SCHEMA, alias="schema")
    """Name and major version of this format."""
    run_id: str
    """The run."""
    plan_digest: Digest
    """Of everything that can decide the outcome."""
    suite: str
    """Its name."""
    mode: Mode
    """All cases, a sample, or those chosen by id or change."""
    selection: str
    """How the cases were chosen, with what must be said about it."""
    status: Status
    """How far the run is."""
    verdict: Outcome | None
    """None exactly while scores are pending."""
    overridden: bool = False
    """A waiver lets out a release that a gate blocked."""
    exit_code: int
    """What the process ended with."""
    reasons: tuple[str, ...]
    """Verdict first, then why, then what to do."""
    counts: Counts
    """How much of what was planned is there."""
    incomplete: Annotated[tuple[Incomplete, ...], FromList] = ()
    """Judges that did not score everything."""
    metrics: Annotated[tuple[Metric, ...], FromList] = ()
    """Every aggregate, by judge and split."""
    gates: Annotated[tuple[GateResult, ...], FromList] = ()
    """Every gate, decided."""
    flips: dict[str, Flips] = {}
    """Cases that changed against the baseline, by judge."""
    waiting: Annotated[tuple[Waiting, ...], FromList] = ()
    """Judges that still owe scores."""
    sentinels: Annotated[tuple[Sentinels, ...], FromList] = ()
    """How the judges did on answers whose score is known."""
    baseline: BaselineUsed | None = None
    """The run compared with; None without one."""
    anchor: BaselineUsed | None = None
    """The second, fixed run compared with."""
    waivers: Annotated[tuple[Waiver, ...], FromList] = ()
    """In force; `overridden` says whether they made a difference."""
    quarantine: Annotated[tuple[Quarantined, ...], FromList] = ()
    """In force: cases that no gate looked at."""
    decided_early: bool = False
    """Not every case was asked, since none of the rest could have saved the run from blocking."""
    shards: Annotated[tuple[ShardSeen, ...], FromList] = ()
    """The ledger files that were merged, by shard."""
    conflicts: Annotated[tuple[Conflict, ...], FromList] = ()
    """Pairs that were measured twice with different results."""
    costs: Costs = Costs()
    """What the run used."""
    models: dict[str, int] = {}
    """Model -> answers it gave, as the target says it; at most 20 models."""
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
    """Name and major version of this format."""
    kind: Literal["RAGRunManifest"] = "RAGRunManifest"
    """Always the same."""
    run_id: str
    """The run."""
    job_id: str
    """Of the build system's job; else the run id."""
    job_type: str
    """Always `release_check`."""
    plan_digest: Digest
    """Of everything that can decide the outcome."""
    suite: str
    """Its name."""
    mode: str
    """All cases, a sample, or those chosen by id or change."""
    status: Status
    """How far the run is."""
    created_at: str
    """When the plan was made; RFC 3339, UTC."""
    started_at: str | None
    """When the first attempt began."""
    completed_at: str | None
    """When the last record was made."""
    finalized_at: str | None
    """Set last; a bundle without it is provisional."""
    provenance: Literal["local", "ci"]
    """Made on somebody's machine, or in a build system."""
    attestation: Literal["self_reported", "signed"] = "self_reported"
    """Whether somebody vouches for it besides itself."""
    context: dict[str, JsonValue]
    """Commit and what the build system says of itself."""
    target: dict[str, JsonValue]
    """Id, kind, digest and side effects of the system under test."""
    dataset: dict[str, JsonValue]
    """The cases: digest, number, selection, splits, and the digest of each."""
    evaluators: tuple[dict[str, JsonValue], ...]
    """The judges, each with contract and digest."""
    gates: tuple[dict[str, JsonValue], ...]
    """The gates as they were written."""
    policy: dict[str, JsonValue]
    """Where gates and judges came from."""
    adopted: dict[str, JsonValue] | None = None
    """The untrusted run whose outputs were judged; None: the target was asked."""
    baseline: dict[str, JsonValue] | None
    """The run compared with; None without one."""
    shards: tuple[dict[str, JsonValue], ...]
    """Every ledger file that was merged."""
    ledger: dict[str, JsonValue]
    """Digest and numbers of the records behind the decision."""
    scoring: dict[str, JsonValue]
    """Revision, judges, answers and scores that the decision rests on, by digest."""
    decision: dict[str, JsonValue]
    """The verdict, the rules and the baseline that it rests on, by digest."""
    costs: dict[str, JsonValue]
    """What the run used."""
    environment: dict[str, JsonValue]
    """Versions of this program and of what it ran on."""
    external_refs: tuple[dict[str, JsonValue], ...] = ()
    """What judges outside were given and keep under a ticket."""
    redactions: tuple[str, ...] = ()
    """Names of the variables whose values were looked for and removed."""
    approved_by: str | None = None
    """Who approved calling a target with irreversible effects."""
    retry_of: str | None = None
    """The run that this one is a retry of."""
    files: dict[str, Digest]
    """Everything in the bundle but this file and the badge; ledger files and results by their
    purge-stable digest."""
