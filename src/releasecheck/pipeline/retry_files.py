"""The ledger files of a retry while what is carried is written into them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from releasecheck.ledger.jsonl import JsonlWriter, shard_file_name
from releasecheck.model.record import UNKNOWN_CODE, Code, FileHeader, OutputRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from releasecheck.model.plan import Plan
    from releasecheck.model.record import Record
    from releasecheck.pipeline.world import World


class Origin(NamedTuple):
    """What all answers in one file have in common."""

    code: Code = UNKNOWN_CODE
    approved_by: str | None = None


class RetryFiles:
    """The ledger files of a new run, one for each shard and version of the target's code."""

    def __init__(self, results: Path, plan: Plan, world: World) -> None:
        self._results = results
        self._plan = plan
        self._world = world
        self._writers: dict[int, dict[Origin, JsonlWriter]] = {}

    def add(self, shard: int, origin: Origin | None, records: Sequence[Record]) -> None:
        """Write records of one shard; what came from no file in particular goes to any."""
        if not records:
            return
        open_ = self._writers.setdefault(shard, {})
        if origin is None:
            origin = next(iter(open_), Origin())
        if origin not in open_:
            open_[origin] = self._begin(shard, len(open_) + 1, origin)
        attempt = list(open_).index(origin) + 1
        for record in records:
            if isinstance(record, OutputRecord):
                open_[origin].append(record._replace(attempt=attempt))
            else:
                open_[origin].append(record)

    def _begin(self, shard: int, attempt: int, origin: Origin) -> JsonlWriter:
        header = FileHeader(
            run_id=self._plan.run_id,
            plan_digest=self._plan.plan_digest,
            shard=shard,
            shards=len(self._plan.shards),
            attempt=attempt,
            started_at=self._world.clock.now(),
            tool=self._world.tool,
            approved_by=origin.approved_by,
            code=origin.code,
        )
        path = self._results / shard_file_name(shard, attempt)
        return JsonlWriter(path, header, self._world.clock)

    def close(self) -> None:
        """End every file."""
        for writer in self._all():
            writer.close(None)

    def abandon(self) -> None:
        """Leave them as a kill would."""
        for writer in self._all():
            writer.abandon()

    def _all(self) -> Iterator[JsonlWriter]:
        for writers in self._writers.values():
            yield from writers.values()
