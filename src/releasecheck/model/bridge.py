"""The bridge to an earlier run: its stored outputs, judged anew by judges that were others there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from releasecheck.model.table import PENDING

if TYPE_CHECKING:
    from releasecheck.model.gate import Against
    from releasecheck.model.table import Codes, Flags, Floats, Indices

Side: TypeAlias = "Against"
SIDES: Final[tuple[Side, ...]] = ("baseline", "anchor")
NOT_STORED: Final = ""
"""In place of a digest, where there is no output to be judged."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier run whose outputs are judged anew: E cases of it, U trials; C are the plan's cases."""

    side: Side
    run_id: str
    judges: tuple[str, ...]
    """Who judges them, in plan order."""
    partner: Indices
    """[C]: of each planned case the index of the same content there, or -1."""
    trials: int
    """U."""
    target: Codes
    """[E, U]: what the target did there."""
    digests: tuple[str, ...]
    """[E * U]: of each stored output, or `NOT_STORED`."""

    @property
    def cells(self) -> int:
        """E x U."""
        return len(self.digests)


@dataclass(frozen=True, slots=True)
class Bridge:
    """All that a plan has judged anew; it follows from the plan and the files that it pins."""

    sides: tuple[Earlier, ...] = ()

    def side(self, name: str) -> Earlier | None:
        """One of them; None where nothing of it is judged anew."""
        return next((one for one in self.sides if one.side == name), None)

    def start_of(self, name: str) -> int:
        """Where the cells of a side begin when those of all sides stand one after the other."""
        start = 0
        for one in self.sides:
            if one.side == name:
                break
            start += one.cells
        return start

    @property
    def cells(self) -> int:
        """Of all sides."""
        return sum(one.cells for one in self.sides)


NO_BRIDGE: Final = Bridge()
"""Every judge is the one that it was, or nobody wants another one to look back."""


class OpenTicket(NamedTuple):
    """A score of an earlier run's output that a judge owes."""

    judge: str
    ticket: str
    case: str
    """Its id in this plan."""
    trial: int
    """Of the earlier run."""
    digest: str
    source: int
    """File of the record, and where in it."""
    offset: int


@dataclass(frozen=True, slots=True)
class Bridged:
    """What became of an earlier run's outputs: E cases of it, U trials, K judges."""

    side: Side
    judges: tuple[str, ...]
    """K, in plan order."""
    partner: Indices
    """As of `Earlier`."""
    matched: Flags
    """[E]: whether this plan holds the case; of others nothing is known."""
    state: Codes
    """[E, U, K]: codes of `STATES`."""
    value: Floats
    """[E, U, K]; NaN unless scored."""
    passed: Codes
    """[E, U, K]: by the pass mark of the judge that it is now."""
    mendable: Flags
    """[E, U, K]: another attempt, or waiting, has something to do."""
    asked: Flags
    """[E, U]: matched, answered and stored: what the judges have to read."""
    unstored: Flags
    """[E, U]: matched and answered, but the output is not there to be judged."""
    used: Floats
    """[E, U, K, 2]: cost in USD and tokens; NaN where nobody said."""
    open: tuple[OpenTicket, ...]
    given_up: dict[tuple[str, str], int]
    """(judge, reason) -> scores that did not come and were given up."""
    late: int
    """Scores that came after their deadline: kept, never counted."""
    resumed: int
    """Scores that count and were taken after their deadline, since settling had been interrupted."""
    conflicts: tuple[str, ...]
    """`judge of case`, where a later measurement contradicts the one that counts."""

    @property
    def undone(self) -> Flags:
        """[E, U, K]: another attempt has something to do, beyond waiting for a judge."""
        return self.mendable & np.not_equal(self.state, PENDING)

    @property
    def owed(self) -> int:
        """Scores that judges still owe."""
        return len(self.open)


class Rejudged(NamedTuple):
    """What a baseline says of a judge whose column was made anew."""

    outputs: int
    """That it scored, or called not applicable."""
    unstored: int
    """(case, trial)s whose output is not there to be judged."""
    mixed: bool
    """Whether the column still holds what another judge scored, of cases that this plan does not hold."""
