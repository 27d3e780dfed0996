"""The frozen inputs of a run (contract section 4): what is asked, of whom, and what must hold."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Protocol, TypeAlias

from pydantic import Field

from releasecheck.canonical import digest
from releasecheck.model.base import Digest, Document, FromList, JsonValue
from releasecheck.model.gate import GateSpec
from releasecheck.model.judge import Judge
from releasecheck.model.policy import Adopted, Policy
from releasecheck.model.record import FIRST_REVISION
from releasecheck.model.suite import (
    BaselineRule,
    Budget,
    Correction,
    Quarantined,
    Settle,
    StoreOutputs,
    Waiver,
)
from releasecheck.model.target import Target

Mode: TypeAlias = Literal["full", "preview", "delta"]
PLAN_SCHEMA: Final = "releasecheck/plan@1"


class PlannedJudge(Document):
    """A judge with its identity."""

    spec: Judge
    """As it was written."""
    contract: str
    """`builtin@1`, `python@1`, `command@1`; later `evaluator@2`."""
    digest: Digest
    """Over the spec without time-outs, deadlines and concurrency, and over `files`."""
    files: dict[str, Digest] = {}
    """Files the judge is made of, relative to the config: a python judge's module."""

    @property
    def id(self) -> str:
        """The judge's id."""
        return self.spec.id


class TargetPlugin(Document):
    """What a target is made of that an installed package offers."""

    contract: str
    """`target@1`."""
    files: dict[str, Digest]
    """Its distribution with the version, and one digest over its Python files."""


class Shard(Document):
    """A slice of the execution."""

    index: int
    """0-based."""
    cases: int
    """How many; 0 for an empty shard."""
    file: str
    """Its case file inside the plan folder."""
    digest: Digest
    """Over the bytes of `file`."""
    estimated_s: float | None = None
    """Seconds its cases took in the baseline; None without one."""


class BaselinePin(Document):
    """The earlier run this plan compares with; its files lie in the plan's `baseline/`."""

    run_id: str
    """Its run."""
    plan_digest: Digest
    """Of the plan it was made with."""
    commit: str | None = None
    """What was checked then, where it is known."""
    why: str
    """Why this one was chosen."""
    scorecard_digest: Digest
    """Over the bytes of its scorecard."""
    results_digest: Digest
    """Over its results, but for what purging removes."""
    manifest_digest: Digest
    """Over the bytes of its manifest."""


class Selection(Document):
    """How a partial plan chose its cases."""

    asked: str
    """`all`, `preview 10`, `ids`, `changed since REF`."""
    ids: tuple[str, ...] = ()
    """Asked for by id."""
    note: str | None = None
    """What must be said aloud, e.g. that no case had changed and a preview ran instead."""
    of: int
    """Cases in the whole suite."""


class GitState(Document):
    """The commit a plan was made at, when there was one."""

    commit: str | None = None
    """The full id."""
    ref: str | None = None
    """Branch or tag, where there is one."""
    dirty: bool = False
    """Whether tracked files differed from the commit."""


class Root(Document):
    """How to find the config's folder again: relative paths only, never in `plan_digest`."""

    from_cwd: str
    """From the folder `plan` ran in."""
    from_plan: str | None = None
    """From the plan folder; None when they are on different drives."""
    config: str
    """The config's file name, to recognise the folder by."""


class Plan(Document):
    """Everything a run may depend on."""

    schema_: Literal["releasecheck/plan@1"] = Field(default=PLAN_SCHEMA, alias="schema")
    """Name and major version of this format."""
    plan_digest: Digest
    """Over everything that can decide the outcome."""
    run_id: str
    """The run that this plan is of."""
    created_at: str
    """RFC 3339, UTC."""
    tool: str
    """`releasecheck/0.1.0`."""
    suite: str
    """Its name."""
    mode: Mode
    """All cases, a sample, or those chosen by id or change."""
    seed: int
    """Of the sample of a preview."""
    trials: int
    """Answers asked for each case."""
    batch: int
    """Cases between two checkpoints."""
    target: Target
    """As it was written."""
    target_digest: Digest
    """Over what of it can change an answer."""
    target_plugin: TargetPlugin | None = None
    """None for every other kind of target. Its code may change from run to run, but not during one."""
    judges: Annotated[tuple[PlannedJudge, ...], FromList]
    """Each with its identity."""
    gates: Annotated[tuple[GateSpec, ...], FromList]
    """The rules that decide."""
    settle: Settle
    """How long judges that answer later are waited for."""
    baseline_rule: BaselineRule
    """Where the baseline is and what to do without one."""
    confidence: float
    """Of every interval."""
    store_outputs: StoreOutputs
    """How much of the answers is kept."""
    budget: Budget | None = None
    """What the run may use; None is no limit."""
    correction: Correction = "none"
    """Of the p-values of several `significant` gates; plans of older versions had none of those."""
    stop_when_decided: bool = False
    """End once no remaining case can save the run from blocking."""
    quarantine: Annotated[tuple[Quarantined, ...], FromList] = ()
    """What was in force on the day the plan was made."""
    waivers: Annotated[tuple[Waiver, ...], FromList] = ()
    """What was in force on the day the plan was made."""
    lapsed: tuple[str, ...] = ()
    """Quarantines and waivers that were over by then, or name nothing that is there, in words."""
    expires_s: float
    """Seconds after which an open run is closed as it is."""
    cases: int
    """How many."""
    splits: dict[str, int]
    """Cases per split, without `all`."""
    cases_digest: Digest
    """Over (id, digest, split, tags) of every case in plan order."""
    selection: Selection
    """How they were chosen."""
    baseline: BaselinePin | None = None
    """The earlier run to compare with; None without one."""
    anchor: BaselinePin | None = None
    """A second, fixed run to compare with; its files lie in the plan's `anchor/`."""
    shards: Annotated[tuple[Shard, ...], FromList]
    """What the work is cut into."""
    git: GitState | None = None
    """The commit it was made at; None outside of any repository."""
    policy: Policy
    """Where gates and judges came from."""
    root: Root
    """Where the config is."""
    policy_root: Root | None = None
    """Where gates, judges and their files are, when they come from another config; None: at `root`."""
    adopted: Adopted | None = None
    """The untrusted run whose outputs are judged; None: the target is asked."""
    context: dict[str, JsonValue] = {}
    """CI facts (repository, run, actor); shown, never decided from."""
    retry_of: str | None = None
    """The run whose answers and scores this one carries, where it redoes what failed there; decides nothing."""
    retry_classes: tuple[str, ...] = ()
    """Classes of the failures that a retry redoes; none in any other run."""
    revision: int = FIRST_REVISION
    """Above the first: the same run's stored outputs, judged again under other rules."""
    revises: Digest | None = None
    """`plan_digest` of the revision before it; None for the first."""
    keeps_measured: bool = False
    """Of a later revision: what the one before measured with the same judges is kept (`rescore --missing`)."""

    @property
    def pairs(self) -> int:
        """Planned (case, trial, judge)."""
        return self.cases * self.trials * len(self.judges)


class Measurable(Protocol):
    """What metrics and flips need to know of a plan."""

    @property
    def judges(self) -> tuple[PlannedJudge, ...]:
        """In plan order."""
        ...

    @property
    def gates(self) -> tuple[GateSpec, ...]:
        """In plan order."""
        ...

    @property
    def confidence(self) -> float:
        """Of intervals, in (0.5, 1)."""
        ...

    @property
    def mode(self) -> Mode:
        """Full, or a part of the suite."""
        ...


DECIDING: Final = (
    "suite", "mode", "seed", "trials", "target", "judges", "gates", "settle", "baseline_rule",
    "confidence", "cases_digest", "baseline",
)  # fmt: skip
"""Fields that can decide the outcome: what `plan_digest` covers."""
DECIDING_SINCE: Final = ("correction", "stop_when_decided", "quarantine", "waivers", "anchor")
"""The same, but unknown to older plans: covered where they are written, so that an old digest holds."""


def plan_digest(document: dict[str, Any]) -> str:
    """The digest of a plan's deciding fields, from its JSON form."""
    covered = {name: document.get(name) for name in DECIDING}
    covered |= {name: document[name] for name in DECIDING_SINCE if name in document}
    for name in ("baseline", "anchor"):
        pin = covered.get(name)
        if pin is not None:
            covered[name] = {key: pin[key] for key in _PINNED}
    if document.get("revision", FIRST_REVISION) != FIRST_REVISION:
        covered |= {name: document.get(name) for name in _REVISED}
    return digest(covered)


_REVISED: Final = ("revision", "revises", "keeps_measured")
"""What of a later revision decides besides; a first one has the digest that plans always had."""
_PINNED: Final = ("run_id", "scorecard_digest", "results_digest", "manifest_digest")
"""What of a baseline can decide."""
