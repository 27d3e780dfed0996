"""The first screen: why in a few lines, and the way to everything below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.scorecard.cases import ATTENTION
from releasecheck.scorecard.texts import shorten
from releasecheck.scorecard.verdict import reasons

if TYPE_CHECKING:
    from releasecheck.model.scorecard import Scorecard
    from releasecheck.scorecard.cases import Selection

LINES: Final = 4
"""Reasons that stand open on the first screen; the others are one click away."""
LONGEST: Final = 320
"""Characters of each; the whole of it stands with its gate."""

NOTICES: Final = 4
"""Notes that stand open."""


@dataclass(frozen=True, slots=True)
class Why:
    """One reason."""

    gate: str
    """Whose it is; empty for one about the whole run."""
    text: str


def why(card: Scorecard) -> tuple[Why, ...]:
    """The reasons, each with its gate in front and without the outcome that the headline says."""
    return tuple(_why(card, line) for line in reasons(card))


def _why(card: Scorecard, line: str) -> Why:
    for gate in card.gates:
        for start in (f"{gate.id}: {gate.outcome}: ", f"{gate.id}: "):
            if gate.id and line.startswith(start):
                return Why(gate.id, line.removeprefix(start))
    return Why("", line)


@dataclass(frozen=True, slots=True)
class Looked:
    """The case to look at first."""

    id: str
    anchor: str
    label: str
    """`newly failing`."""
    said: str
    """What the target or a judge said; empty where nobody did."""


def to_look_at(card: Scorecard, selection: Selection) -> Looked | None:
    """The worst case of a run that does not pass; None where none needs a look."""
    view = selection.shown[0] if selection.shown else None
    if view is None or view.kind not in ATTENTION or card.verdict == "pass":
        return None
    trial = view.worst
    reasons_given = (cell.reason.text for cell in trial.cells if cell.tone in ("bad", "warn"))
    said = trial.note or next(filter(None, reasons_given), "")
    return Looked(view.id, view.anchor, view.label, shorten(said, LONGEST))
