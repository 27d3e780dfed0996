"""Comparisons, quarantine and earlier runs as lines of Markdown and of a terminal: bounded, what is left out counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.scorecard.comparisons import comparison_rows
from releasecheck.scorecard.earlier import earlier_runs
from releasecheck.scorecard.numbers import NOTHING
from releasecheck.scorecard.texts import listing, shorten
from releasecheck.stats import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.model.scorecard import Scorecard
    from releasecheck.scorecard.earlier import AxisRow

_IDS: Final = 5
_LONGEST_ID: Final = 100
_LONGEST_TEXT: Final = 300


@dataclass(frozen=True, slots=True)
class Flipped:
    """Cases of one gate whose pass or fail changed."""

    words: str
    """`9 new failures`."""
    ids: tuple[str, ...]
    more: int


@dataclass(frozen=True, slots=True)
class Compared:
    """One no-regression gate."""

    gate: str
    sentence: str
    flips: tuple[Flipped, ...]


@dataclass(frozen=True, slots=True)
class QuarantineRow:
    """One case that no gate looks at."""

    case: str
    of: str
    until: str
    owner: str
    reason: str


def comparisons(card: Scorecard, longest: int) -> Iterator[Compared]:
    """The first `longest` no-regression gates that compared something; why others did not, they say themselves."""
    compared = [row for row in comparison_rows(card) if row.compared != NOTHING]
    for row in compared[:longest]:
        parts = (
            (row.new_failures, "new failure", "new failures"),
            (row.new_passes, "new pass", "new passes"),
        )
        yield Compared(
            row.gate,
            shorten(row.sentence, 3 * _LONGEST_TEXT),
            tuple(_flipped(ids, count(len(ids), one, many)) for ids, one, many in parts if ids),
        )


def _flipped(ids: tuple[str, ...], words: str) -> Flipped:
    first, more = listing((shorten(one, _LONGEST_ID) for one in ids), _IDS)
    return Flipped(words, first, more)


def quarantine_rows(card: Scorecard, longest: int) -> tuple[QuarantineRow, ...]:
    """The first `longest` quarantined cases."""
    return tuple(
        QuarantineRow(
            shorten(one.case, _LONGEST_ID),
            one.judge or "every gate",
            one.until,
            shorten(one.owner, _LONGEST_ID),
            shorten(one.reason, _LONGEST_TEXT),
        )
        for one in card.quarantine[:longest]
    )


def compared_with(card: Scorecard) -> Iterator[str]:
    """`compared with the baseline rc-1 at 3f2a9c1 (why): 80 cases unchanged, 2 added; differs: ...`, one for each."""
    for run in earlier_runs(card):
        at = f" at {run.commit}" if run.commit else ""
        text = f"compared with the {run.title.lower()} {run.run_id}{at} ({shorten(run.why, 200)}): {run.counts}"
        if run.differs:
            text += f"; differs: {run.differs}"
        text += "".join(f"; {line}" for line in run.rejudged)
        yield shorten(text, 700)


def earlier_lines(card: Scorecard, longest: int) -> Iterator[str]:
    """What is the same as in the baseline and the anchor, and which cases are not."""
    if not longest:
        return
    for run in earlier_runs(card):
        at = f" at {run.commit[:12]}" if run.commit else ""
        yield f"{run.title} {run.run_id}{at} ({shorten(run.why, _LONGEST_TEXT)}); {run.counts}"
        axes = "; ".join(f"{row.what.lower()}: {_axis(row)}" for row in run.axes)
        if axes:
            yield f"{run.title}: {axes}"
        yield from (f"{run.title}: {line}" for line in run.rejudged)
        for cases in run.lists:
            first, more = listing((shorten(one, _LONGEST_ID) for one in cases.ids), longest)
            rest = f" and {more:,} more" if more else ""
            yield f"{run.title}: {cases.title}: {', '.join(first)}{rest}"


def _axis(row: AxisRow) -> str:
    """`the same`, what differs, or `not known, ...`."""
    if not row.note:
        return row.word
    note = shorten(row.note, _LONGEST_TEXT)
    return note if row.tone == "warn" else f"{row.word}, {note}"
