"""A suite as people write it in `releasecheck.yaml` (contract section 3), after merging and checks."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from releasecheck.model.base import (
    Day,
    Duration,
    Filled,
    FromList,
    Identifier,
    Positive,
    SuiteName,
    Written,
)
from releasecheck.model.gate import GateSpec
from releasecheck.model.judge import Judge
from releasecheck.model.target import Target


class FieldMap(Written):
    """Where our fields are in foreign rows; a column name, or a dotted path into JSON rows."""

    id: str = "id"
    """Unique name of the case."""
    input: str = "input"
    """What the target gets."""
    expected: str = "expected"
    """What judges compare with."""
    split: str = "split"
    """The part of the dataset a case belongs to."""
    tags: str = "tags"
    """A list, or a text with commas."""
    metadata: str = "metadata"
    """A mapping that templates and judges can see."""


class CaseFiles(Written):
    """Dataset files of one shape."""

    path: str
    """A file or glob, relative to the config file; `.jsonl`, `.json` (array) or `.csv`."""
    split: Identifier = "main"
    """For rows that name none."""
    fields: FieldMap = FieldMap()
    """Where our fields are in their rows."""
    empty_input: Literal["reject", "run"] = "reject"
    """What to do with a row whose input is an empty text."""


class BaselineRule(Written):
    """Where the baseline is and what to do without one."""

    path: str = "baseline"
    """Folder relative to the config file; `baseline promote` writes it, `plan` reads it."""
    min_overlap: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.9
    """Least part of the baseline's scored cases that must be comparable."""
    on_missing: Literal["refuse", "bootstrap"] = "refuse"
    """Without any baseline: no verdict, or a neutral outcome for a first run."""
    anchor: str | None = None
    """Folder of a second, fixed baseline, such as the last release: small drops cannot add up unseen."""
    rejudge_baseline: bool = False
    """Where a judge has changed: judge the baseline's stored outputs by the new one, and compare."""


class Settle(Written):
    """How long deferred judges are waited for."""

    interval: Duration = 5.0
    """Seconds between two questions to a judge that answers later."""
    deadline: Duration = 300.0
    """Seconds after the last case was sent until which scores are taken."""
    batch: int = Field(default=50, ge=1, le=50)
    """Tickets in one question."""
    grace: Duration = 300.0
    """Seconds after the deadline in which an interrupted run may still ask once."""


class Budget(Written):
    """What a whole run may use; spent, the run stops between batches and says so."""

    cost_usd: Positive | None = None
    """US dollars; None is no limit."""
    time: Duration | None = None
    """Seconds; None is no limit."""


class Quarantined(Written):
    """A case that no gate looks at for a while, because it is known to be unreliable."""

    case: str
    """Its id."""
    judge: str | None = None
    """Only for this judge; None is for every metric."""
    owner: Filled
    """Who will mend it."""
    reason: Filled
    """Why it may be left out."""
    until: Day
    """The last day; after it the case counts again."""


class Waiver(Written):
    """Somebody's decision that a blocking gate does not stop a release for now."""

    gate: str
    """Its id."""
    who: Filled
    """Who decided."""
    why: Filled
    """For what reason."""
    until: Day
    """The last day; after it the gate stops the release again."""


StoreOutputs: TypeAlias = Literal["full", "digest", "none"]
Correction: TypeAlias = Literal["holm", "none"]


def _not_bool(value: object) -> object:
    if isinstance(value, bool):
        message = "expected a whole number, found true or false"
        raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError into a located error
    return value


class Suite(Written):
    """A named release check."""

    version: Annotated[Literal[1], BeforeValidator(_not_bool)]
    """Of this format."""
    suite: SuiteName
    """Name of the release check."""
    cases: Annotated[tuple[CaseFiles, ...], FromList, Field(min_length=1)]
    """Dataset files."""
    expect_cases: int | None = Field(default=None, ge=1)
    """Pin: another number of cases is an error."""
    trials: int = Field(default=1, ge=1, le=1000)
    """Answers sampled for each case."""
    batch: int = Field(default=10, ge=1, le=100_000)
    """Cases between two checkpoints."""
    shards: int | None = Field(default=None, ge=1, le=256)
    """None is one per 100 cases and at most 20."""
    target: Target
    """The system under test."""
    judges: Annotated[tuple[Judge, ...], FromList, Field(min_length=1)]
    """What scores each output."""
    gates: Annotated[tuple[GateSpec, ...], FromList, Field(min_length=1)]
    """The rules that decide."""
    baseline: BaselineRule = BaselineRule()
    """The earlier run to compare with."""
    confidence: Annotated[float, Field(gt=0.5, lt=1, allow_inf_nan=False)] = 0.95
    """Of every interval."""
    settle: Settle = Settle()
    """How long judges that answer later are waited for."""
    store_outputs: StoreOutputs = "full"
    """Keep outputs, only their digests once judged, or neither outputs nor reasons."""
    budget: Budget | None = None
    """What a run may use; None is no limit."""
    correction: Correction = "holm"
    """How the p-values of several `significant` gates are corrected."""
    stop_when_decided: bool = False
    """End once no remaining case can save the run from blocking."""
    quarantine: Annotated[tuple[Quarantined, ...], FromList] = ()
    """Unreliable cases that no gate looks at for a while."""
    waivers: Annotated[tuple[Waiver, ...], FromList] = ()
    """Gates that may block without stopping the release, for a while."""
    expires: Duration = 86_400.0
    """Seconds after which an open run is closed as it is."""


ANCHOR_SUFFIX = "-anchor"


def planned_gates(suite: Suite) -> tuple[GateSpec, ...]:
    """Every gate that decides, in the suite's order.

    With an anchor, a no-regression gate that does not say what it compares with is decided twice, against
    the baseline under its own id and against the anchor under `<id>-anchor`: a chain of drops that are each
    small enough for the baseline, which moves along, adds up against the anchor, which does not (G-22).
    """
    gates: list[GateSpec] = []
    for gate in suite.gates:
        rule = gate.no_regression
        if rule is None or rule.against is not None or suite.baseline.anchor is None:
            gates.append(gate)
            continue
        near = rule.model_copy(update={"against": "baseline"})
        far = rule.model_copy(update={"against": "anchor"})
        gates.append(gate.model_copy(update={"no_regression": near}))
        gates.append(gate.model_copy(update={"id": gate.id + ANCHOR_SUFFIX, "no_regression": far}))
    return tuple(gates)
