"""What checks of written reports have in common: how a file is read, and how a difference is said."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from releasecheck.model.scorecard import Scorecard

Reader: TypeAlias = "Callable[[], Iterable[bytes]]"
"""Gives the bytes of a written file in pieces, from its start at each call."""
STATES: Final = ("scored", "not_applicable", "failed", "missing", "pending")
"""The states of a score, as the scorecard's counts name them."""


class Differs(Exception):
    """What a report says and what is so; becomes `Untrusted` with the file's name."""


def same(what: str, found: object, expected: object) -> None:
    """Hold one thing that a report says against the scorecard.

    Raises:
        Differs: they are not the same.
    """
    if found != expected:
        message = f"it says {what} {found!r}, and the scorecard says {expected!r}"
        raise Differs(message)


def expected_states(scorecard: Scorecard) -> dict[str, int]:
    """How many scores are in each state."""
    return {state: getattr(scorecard.counts, state) for state in STATES}


def same_states(found: Mapping[str, int], scorecard: Scorecard) -> None:
    """Compare counted states.

    Raises:
        Differs: one of them is not the scorecard's.
    """
    for state, number in expected_states(scorecard).items():
        same(f"{state} scores", found.get(state, 0), number)


def outcomes(scorecard: Scorecard) -> dict[str, int]:
    """How many gates have each outcome."""
    return dict(Counter(gate.outcome for gate in scorecard.gates))
