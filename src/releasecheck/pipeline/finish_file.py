"""The ledger file of one `finish`, or of a later revision: what was fixed, and what came of the questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.ledger.jsonl import JsonlWriter, finish_file_name, rescore_file_name
from releasecheck.model.record import FIRST_REVISION, ScoreRecord
from releasecheck.pipeline.folders import LEDGER_FILE, revision_of
from releasecheck.pipeline.recording import header_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from releasecheck.model.record import Record
    from releasecheck.pipeline.folders import PlanFolder
    from releasecheck.pipeline.remaining import Recorded
    from releasecheck.pipeline.world import World


class FinishFile:
    """Begun with its first record: a finish that asks nobody leaves none behind."""

    def __init__(self, folder: PlanFolder, recorded: Recorded, results: Path, world: World) -> None:
        self.path: Path | None = None
        self._folder = folder
        self._world = world
        self._results = results
        self._attempt = next_attempt(recorded, folder.plan.revision)
        self._writer: JsonlWriter | None = None

    def append(self, record: Record) -> None:
        """Record it."""
        if self._writer is None:
            self.path = self._results / file_name(self._folder.plan.revision, self._attempt)
            header = header_of(self._folder.plan, self._world, None, self._attempt, None)
            self._writer = JsonlWriter(self.path, header, self._world.clock)
        self._writer.append(in_revision(record, self._folder.plan.revision))

    def append_all(self, records: Iterable[Record]) -> None:
        """Record all of them, and put them on the disk before anything is asked."""
        for record in records:
            self.append(record)
        if self._writer is not None:
            self._writer.sync()

    def sync(self) -> None:
        """Force what was recorded to the disk."""
        if self._writer is not None:
            self._writer.sync()

    def close(self, stopped: str | None) -> None:
        """End the file, saying why it was stopped; None when it was not."""
        if self._writer is not None:
            self._writer.close(stopped)

    def abandon(self) -> None:
        """Leave the file as a kill would."""
        if self._writer is not None:
            self._writer.abandon()


def file_name(revision: int, attempt: int) -> str:
    """What the file of an attempt is called."""
    if revision == FIRST_REVISION:
        return finish_file_name(attempt)
    return rescore_file_name(revision, attempt)


def in_revision(record: Record, revision: int) -> Record:
    """A record as it stands in the file of a revision."""
    return record._replace(revision=revision) if isinstance(record, ScoreRecord) else record


def next_attempt(recorded: Recorded, revision: int) -> int:
    """The number of the next such file."""
    attempts = [
        int(found[2])
        for path in recorded.paths
        if (found := LEDGER_FILE.fullmatch(path.name)) and found[1] is None
        if revision_of(path) == revision
    ]
    return max(attempts, default=0) + 1
