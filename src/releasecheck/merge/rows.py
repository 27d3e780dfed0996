"""Every record that counts for something, as columns of numbers: a million of them are a few dozen megabytes."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from releasecheck.model.record import OUTPUT_NOT_STORED

if TYPE_CHECKING:
    from releasecheck.model.record import DeadlineRecord, LateRecord, SentinelRecord

Mark: TypeAlias = tuple[int, ...]
"""How far each column reaches."""


@dataclass(slots=True)
class Rows:
    """Every record of interest as columns, in precedence order."""

    out_at: array[int] = field(default_factory=lambda: array("q"))
    out_digest: array[int] = field(default_factory=lambda: array("q"))
    out_flags: array[int] = field(default_factory=lambda: array("b"))
    out_numbers: array[float] = field(default_factory=lambda: array("d"))
    out_place: array[int] = field(default_factory=lambda: array("q"))
    pair: array[int] = field(default_factory=lambda: array("q"))
    digest: array[int] = field(default_factory=lambda: array("q"))
    state: array[int] = field(default_factory=lambda: array("b"))
    value: array[float] = field(default_factory=lambda: array("d"))
    flags: array[int] = field(default_factory=lambda: array("b"))
    ticket: array[int] = field(default_factory=lambda: array("q"))
    place: array[int] = field(default_factory=lambda: array("q"))
    used: array[float] = field(default_factory=lambda: array("d"))
    deadlines: list[DeadlineRecord] = field(default_factory=list)
    sentinels: list[SentinelRecord] = field(default_factory=list)
    late: list[LateRecord] = field(default_factory=list)
    sent: dict[str, str] = field(default_factory=dict)
    """Judge -> when a shard last recorded a score of it."""
    out_model: array[int] = field(default_factory=lambda: array("i"))
    """Number of the model's name that answered; -1 where it was not said."""
    score_model: array[int] = field(default_factory=lambda: array("i"))
    """The same of each score."""
    names: dict[str, int] = field(default_factory=dict)
    """Digests, tickets and names of models, interned."""
    bridge: Rows | None = None
    """What was said about outputs of earlier runs, if anything was: columns of scores of their own."""

    def of_bridge(self) -> Rows:
        """The columns of the bridge."""
        if self.bridge is None:
            self.bridge = Rows(names=self.names)
        return self.bridge

    def intern(self, text: str) -> int:
        """The number of a digest, ticket or name."""
        return self.names.setdefault(text, len(self.names))

    def mark(self) -> Mark:
        """How far the columns reach."""
        return (
            len(self.out_at), len(self.pair), len(self.deadlines), len(self.sentinels), len(self.late),
            *((0, 0) if self.bridge is None else (len(self.bridge.pair), len(self.bridge.late))),
        )  # fmt: skip

    def drop(self, start: Mark, stop: Mark) -> None:
        """Remove what came between two marks."""
        for column, width in (
            (self.out_at, 1), (self.out_digest, 1), (self.out_flags, 1), (self.out_numbers, 3),
            (self.out_place, 2), (self.out_model, 1),
        ):  # fmt: skip
            del column[start[0] * width : stop[0] * width]
        self.drop_scores(start[1], stop[1])
        if self.bridge is not None:
            self.bridge.drop_scores(start[5], stop[5])
            del self.bridge.late[start[6] : stop[6]]
        del self.deadlines[start[2] : stop[2]]
        del self.sentinels[start[3] : stop[3]]
        del self.late[start[4] : stop[4]]

    def drop_scores(self, start: int, stop: int) -> None:
        """Remove scores between two marks."""
        for column, width in (
            (self.pair, 1), (self.digest, 1), (self.state, 1), (self.value, 1), (self.flags, 1),
            (self.ticket, 1), (self.place, 2), (self.used, 2), (self.score_model, 1),
        ):  # fmt: skip
            del column[start * width : stop * width]


HAS_OUTPUT, RETRYABLE, ASKED_AGAIN, CARRIED_OUTPUT = 1, 2, 4, 8
"""Flags of an output row: its content is in the file; its failure is worth another try; it was asked
again because the output before it could no longer be judged; it was recorded in the run that this one
retries. A score row has `RETRYABLE` too."""
CARRIED_SCORE: Final = 1
"""Flag of a score row: recorded in the run that this one retries, or by an earlier revision."""
AFTER_DEADLINE: Final = 8
"""Flag of a score row: taken after its deadline, since settling had been interrupted."""
WHY_MISSING: Final = {OUTPUT_NOT_STORED: 4, "deadline": 16, "interrupted": 32, "cancelled": 64}
"""Flags of a score row that says that no score came."""
