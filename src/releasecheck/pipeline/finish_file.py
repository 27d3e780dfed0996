"""The ledger file of one `finish`: what it fixed, and what came of its questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.ledger.jsonl import JsonlWriter, finish_file_name
from releasecheck.pipeline.folders import LEDGER_FILE
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
        self._attempt = next_finish_attempt(recorded)
        self._writer: JsonlWriter | None = None

    def append(self, record: Record) -> None:
        """Record it."""
        if self._writer is None:
            self.path = self._results / finish_file_name(self._attempt)
            header = header_of(self._folder.plan, self._world, None, self._attempt, None)
            self._writer = JsonlWriter(self.path, header, self._world.clock)
        self._writer.append(record)

    def append_all(self, records: Iterable[Record]) -> None:
        """Record all of them, and put them on the disk before anything is asked."""
        for record in records:
            self.append(record)
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


def next_finish_attempt(recorded: Recorded) -> int:
    """The number of the next finish file."""
    attempts = [
        int(found[2])
        for path in recorded.paths
        if (found := LEDGER_FILE.fullmatch(path.name)) and found[1] is None
    ]
    return max(attempts, default=0) + 1
