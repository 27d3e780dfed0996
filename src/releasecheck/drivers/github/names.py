"""Names of artifacts (contract, section 7): the one place that builds and reads them.

Names are unique per attempt of a run and the interface tells no attempt, so the name carries it (P-04).
A second upload of the same thing in one attempt carries `-u2`, since a name is taken even by an upload
that failed (P-06, C-09). Whoever reads one uses the producer's name and never rebuilds it (P-03, trap 7).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

from typing_extensions import override

PREFIX: Final = "releasecheck"
NO_PLAN: Final = "noplan"
"""Stands where no plan was made."""

_SUITE: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_PLAN: Final = re.compile(rf"[0-9a-f]{{12}}|{NO_PLAN}")
MOST: Final = 999_999
"""The largest index, attempt or upload that is read."""
_NAME: Final = re.compile(
    r"releasecheck-(?P<kind>plan|shard|scorecard|baseline|published)-(?P<suite>[a-z0-9][a-z0-9-]{0,62})"
    r"-(?P<plan>[0-9a-f]{12}|noplan)(?:-(?P<index>0|[1-9][0-9]{0,5}))?"
    r"-a(?P<attempt>[1-9][0-9]{0,5})(?:-u(?P<upload>[1-9][0-9]{0,5}))?(?P<page>\.html)?"
)


@dataclass(frozen=True, slots=True)
class _Named:
    """What every name says."""

    suite: str
    plan: str
    """The first 12 hex digits of the plan's digest, or `noplan`."""
    attempt: int
    """Of the job that uploaded it; from 1."""
    upload: int = 1
    """Which try of the upload in that attempt; 2 and later show as `-u2`."""

    KIND: ClassVar[str] = ""

    def __post_init__(self) -> None:
        """Refuse what no name can hold: it comes from our own code, so it is a defect."""
        if not _SUITE.fullmatch(self.suite) or not _PLAN.fullmatch(self.plan):
            message = f"no artifact name can be made of suite {self.suite!r} and plan {self.plan!r}"
            raise ValueError(message)
        if not (1 <= self.attempt <= MOST and 1 <= self.upload <= MOST):
            message = f"attempt {self.attempt} or upload {self.upload} is not in 1..{MOST}"
            raise ValueError(message)

    @override
    def __str__(self) -> str:
        """The name as GitHub stores it."""
        return self._text()

    def _text(self, between: str = "", end: str = "") -> str:
        again = f"-u{self.upload}" if self.upload > 1 else ""
        start = f"{PREFIX}-{self.KIND}-{self.suite}-{self.plan}"
        return f"{start}{between}-a{self.attempt}{again}{end}"


@dataclass(frozen=True, slots=True)
class PlanName(_Named):
    """The frozen plan."""

    KIND: ClassVar[str] = "plan"


@dataclass(frozen=True, slots=True)
class ScorecardName(_Named):
    """The bundle with the verdict."""

    KIND: ClassVar[str] = "scorecard"


@dataclass(frozen=True, slots=True)
class BaselineName(_Named):
    """The scorecard of a run that may serve as a baseline."""

    KIND: ClassVar[str] = "baseline"


@dataclass(frozen=True, slots=True)
class PublishedName(_Named):
    """What was published and what was not."""

    KIND: ClassVar[str] = "published"


@dataclass(frozen=True, slots=True)
class PageName(_Named):
    """The scorecard as one HTML file, not zipped."""

    KIND: ClassVar[str] = "scorecard"

    @override
    def __str__(self) -> str:
        """The scorecard's name with `.html`, also the name of the file."""
        return self._text(end=".html")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardName(_Named):
    """The result file of one shard."""

    index: int

    KIND: ClassVar[str] = "shard"

    @override
    def __post_init__(self) -> None:
        """Refuse what no name can hold."""
        _Named.__post_init__(self)
        if not 0 <= self.index <= MOST:
            message = f"shard {self.index} is not in 0..{MOST}"
            raise ValueError(message)

    @override
    def __str__(self) -> str:
        """The name as GitHub stores it."""
        return self._text(between=f"-{self.index}")


ArtifactName: TypeAlias = (
    PlanName | ShardName | ScorecardName | PageName | BaselineName | PublishedName
)
_KINDS: Final = {kind.KIND: kind for kind in (PlanName, ScorecardName, BaselineName, PublishedName)}


def build(name: ArtifactName) -> str:
    """The name as GitHub stores it."""
    return str(name)


def parse(text: str) -> ArtifactName | None:
    """Read a name; None when it is not exactly one of ours."""
    match = _NAME.fullmatch(text)
    if match is None or match["upload"] == "1":
        return None
    suite, plan, kind = match["suite"], match["plan"], match["kind"]
    attempt, upload = int(match["attempt"]), int(match["upload"] or 1)
    if kind == ShardName.KIND:
        if match["index"] is None or match["page"]:
            return None
        return ShardName(suite, plan, attempt, upload, index=int(match["index"]))
    if match["index"] is not None:
        return None
    if match["page"]:
        return PageName(suite, plan, attempt, upload) if kind == PageName.KIND else None
    return _KINDS[kind](suite, plan, attempt, upload)
