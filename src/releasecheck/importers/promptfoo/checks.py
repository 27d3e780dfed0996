"""What one test asserts, filled in: checks for judges, and bounds for gates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.config.nodes import Place
    from releasecheck.importers.promptfoo.grading import Grader
    from releasecheck.importers.promptfoo.scripts import Script


@dataclass(frozen=True, slots=True)
class Check:
    """One assertion of one test."""

    kind: str
    """In promptfoo's words; `contains-all` is `contains` with several texts."""
    place: Place
    found: str
    """The type as it was written."""
    negate: bool = False
    value: Json = None
    """What is looked for in this test."""
    param: Json = None
    """What the judge itself must know; another one is another judge."""
    metric: str | None = None
    weight: float = 1.0
    script: Script | None = None
    grader: Grader | None = None
    unseated: bool = False
    """Left to a recorded score: it stands in the case, as in the suite of the config, and has no judge."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound on what the runner measures: a gate."""

    metric: str
    most: float
    place: Place
    found: str


@dataclass(slots=True)
class Checks:
    """What one test asserts."""

    checks: list[Check] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    recorded: list[tuple[str, str | None]] = field(default_factory=list)
    """Type and metric of those whose recorded scores are taken instead, in a file of results."""
