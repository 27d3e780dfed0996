"""The dense score table of a run: (case, trial, judge) are indices, states and values are arrays.

A frozen plan fixes all three axes, so a million scores are a few megabytes. Texts (outputs, reasons)
are not in here; they stay in the ledger and are found again by their locator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from releasecheck.model.gate import GateSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from releasecheck.model.bridge import Bridged, Rejudged

Floats: TypeAlias = npt.NDArray[np.float64]
Codes: TypeAlias = npt.NDArray[np.int8]
Flags: TypeAlias = npt.NDArray[np.bool_]
Indices: TypeAlias = npt.NDArray[np.intp]

STATES: Final = ("missing", "scored", "not-applicable", "pending", "failed")
"""State words by code; a pair without any record is `missing`, code 0."""
MISSING, SCORED, NOT_APPLICABLE, PENDING, FAILED = range(5)
NO_OUTPUT, ANSWERED, TARGET_FAILED = range(3)
"""What happened to a (case, trial): no record, an output, or a failure."""


@dataclass(frozen=True, slots=True)
class CaseRow:
    """What gates and reports need to know of a case; its content stays in the plan's files."""

    id: str
    digest: str
    split: str
    tags: tuple[str, ...]
    path: str
    """Dataset file, relative to the config."""
    line: int
    cluster: str | None = None
    """What its metadata names as `cluster`: cases that fail together; None is one of its own."""


@dataclass(frozen=True, slots=True)
class SentinelSeen:
    """What became of one sentinel of one judge in one shard."""

    judge: str
    sentinel: str
    shard: int
    state: int
    """Code of `STATES`."""
    value: float | None
    held: bool | None
    """Whether the judge gave it a right score; None where it gave none."""
    digest: str
    """Of its output."""
    ticket: str | None
    """Of one that is pending."""
    at: str
    """When that was recorded; empty where nothing was."""
    said: str | None
    """Why there is no score: a code, which purging leaves."""
    mendable: bool
    """Whether another attempt, or waiting, has something to do."""


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """All scores of one run; C cases in plan order, T trials, J judges in plan order."""

    cases: tuple[CaseRow, ...]
    judges: tuple[str, ...]
    trials: int
    target: Codes
    """[C, T]: NO_OUTPUT, ANSWERED or TARGET_FAILED."""
    latency_ms: Floats
    """[C, T]; NaN where there is none."""
    cost_usd: Floats
    """[C, T] of the target; NaN where it was not said."""
    tokens: Floats
    """[C, T] of the target; NaN where it was not said."""
    state: Codes
    """[C, T, J]: codes of `STATES`."""
    value: Floats
    """[C, T, J]; NaN unless scored."""
    passed: Codes
    """[C, T, J]: 1 pass, 0 fail, -1 unknown (not scored, or a judge without `pass_at`)."""
    mendable: Flags
    """[C, T, J]: no record, a retryable failure, or pending: another attempt has something to do."""
    sentinels: tuple[SentinelSeen, ...] = ()
    """Of every judge that has some, for each shard in which it scored anything."""
    bridged: tuple[Bridged, ...] = ()
    """What this run's judges said about stored outputs of earlier runs."""

    @property
    def pairs(self) -> int:
        """C x T x J."""
        return int(self.state.size)

    def count(self, state: int) -> int:
        """Pairs in one state, a code of `STATES`."""
        return int(np.count_nonzero(self.state == state))

    @property
    def undone(self) -> Flags:
        """[C, T, J]: another attempt has something to do, beyond waiting for a judge."""
        return self.mendable & np.not_equal(self.state, PENDING)


@dataclass(frozen=True, slots=True)
class Baseline:
    """The run compared with, read from the plan's `baseline/` and verified before."""

    run_id: str
    commit: str | None
    why: str
    scorecard_digest: str
    finalized: bool
    """Whether its manifest carries `finalized_at`."""
    table: ScoreTable
    """Its scores; `judges` are its own, in its own order."""
    judge_digests: dict[str, str]
    """Identity of each of its judges, files included."""
    unproven: frozenset[str] = frozenset()
    """Judges of it that missed a sentinel, or did not score one: what they scored decides nothing."""
    target_digest: str | None = None
    """Identity of the target it asked; None where that is not on record."""
    gates: tuple[GateSpec, ...] = ()
    """The gates it was decided by."""
    rejudged: Mapping[str, Rejudged] = field(default_factory=dict)
    """Judges of the run compared with it that scored its stored outputs anew."""
    models: Mapping[str, int] = field(default_factory=dict)
    """Model -> answers it gave, where its results say so."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The earlier runs that a plan pins."""

    baseline: Baseline | None = None
    anchor: Baseline | None = None
