"""Earlier runs of a suite as points of a trend: what a plan keeps of them in `plan/history.json`.

They decide nothing: no gate reads them, and no plan digest covers them. The manifest of a bundle does.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from releasecheck.model.base import Digest, Document, FromList
from releasecheck.model.plan import Mode
from releasecheck.model.scorecard import Outcome

HISTORY_SCHEMA: Final = "releasecheck/history@1"
MOST_POINTS: Final = 50
"""Of one plan; older runs are counted."""


class PastMetric(Document):
    """One metric of an earlier run."""

    metric: str
    """A judge's id or a built-in metric."""
    split: str
    """`all`, or one part of the dataset."""
    stat: str
    """`mean`, `pass_rate`, `p95`, ..."""
    value: float | None
    """None when nothing was measured."""
    n_scored: int
    """(case, trial)s with a value."""
    n_expected: int
    """Applicable (case, trial)s."""
    ci_low: float | None = None
    """Lower end of the interval; None without one."""
    ci_high: float | None = None
    """Upper end."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Which metric it is."""
        return self.metric, self.split, self.stat


class PastRun(Document):
    """One finalized run."""

    run_id: str
    """The run."""
    suite: str
    """Its name."""
    mode: Mode
    """All cases, or a part of them."""
    at: str
    """When it was finalized; RFC 3339, UTC."""
    commit: str | None = None
    """What was checked, where it is known."""
    verdict: Outcome | None
    """What it came to; None while scores are pending, which no run that is kept is."""
    overridden: bool = False
    """A waiver let out a release that a gate blocked."""
    provenance: Literal["local", "ci"] | None = None
    """Made on somebody's machine, or in a build system; None where that is not said yet."""
    revision: int = 1
    """Of its scores."""
    manifest_digest: Digest | None = None
    """Over the bytes of its manifest; None where there is none yet."""
    judges: dict[str, Digest]
    """The identity of each judge."""
    cases_digest: Digest
    """Over (id, digest, split, tags) of every case."""
    blocked_by: Annotated[tuple[str, ...], FromList] = ()
    """Gates that blocked or refused, by id."""
    metrics: Annotated[tuple[PastMetric, ...], FromList] = ()
    """As its scorecard has them."""


class Refused(Document):
    """What looked like a run and was not taken."""

    path: str
    """Below the folder that was looked through."""
    why: str
    """In a sentence."""


class History(Document):
    """Earlier runs, the oldest first."""

    schema_: Literal["releasecheck/history@1"] = Field(default=HISTORY_SCHEMA, alias="schema")
    """Name and major version of this format."""
    runs: Annotated[tuple[PastRun, ...], FromList]
    """At most `MOST_POINTS`."""
    older: int = 0
    """Runs before them that were left out."""
    refused: Annotated[tuple[Refused, ...], FromList] = ()
    """What was there and is no finished run of the suite that can be believed."""
