"""A trial's answer beside what was expected and beside the baseline's answer, with the words that differ marked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from releasecheck.scorecard.diff import (
    AGAINST_BASELINE,
    AGAINST_EXPECTED,
    RELATIONS,
    Mark,
    Range,
    Relation,
    differences,
    overlay,
    segments,
)
from releasecheck.scorecard.escape import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.scorecard.cases import CaseView, Trial
    from releasecheck.scorecard.texts import Cut

Pieces: TypeAlias = "tuple[tuple[str, str], ...]"


@dataclass(frozen=True, slots=True)
class Beside:
    """A text that stands beside an answer."""

    relation: Relation
    marks: tuple[Mark, ...]

    @property
    def words(self) -> str:
        """How it differs from the answer."""
        return RELATIONS[self.relation]


@dataclass(frozen=True, slots=True)
class Compared:
    """One trial of a case with what it is held against."""

    trial: Trial
    expected: Beside | None
    """None when nothing is expected, or there is no answer to compare it with."""
    before: Beside | None
    """Only beside the first trial that is shown."""
    marks: tuple[Mark, ...]
    """Of the answer."""


def compared(case: CaseView) -> Iterator[Compared]:
    """Every shown trial of a case."""
    for place, trial in enumerate(case.trials):
        before = case.before.answer if case.before is not None and place == 0 else None
        expected, ours = _beside(case.expected, trial.answer, AGAINST_EXPECTED)
        earlier, new = _beside(before, trial.answer, AGAINST_BASELINE)
        yield Compared(trial, expected, earlier, overlay(ours, new))


def _beside(
    other: Cut | None, answer: Cut | None, why: int
) -> tuple[Beside | None, tuple[Range, ...]]:
    if other is None or answer is None:
        return None, ()
    if other == answer:
        return Beside("same", ()), ()
    found = differences(
        visible(other.text),
        visible(answer.text),
        left_goes_on=bool(other.more),
        right_goes_on=bool(answer.more),
    )
    return Beside(found.relation, tuple((*part, why) for part in found.left)), found.right


def pieces(cut: Cut, marks: tuple[Mark, ...]) -> Pieces:
    """A text as a page shows it: in pieces, each with the class of its mark."""
    return tuple(segments(visible(cut.text), marks))
