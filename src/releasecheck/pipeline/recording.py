"""Begins and ends the ledger file that a shard, or `finish`, writes its records into."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from releasecheck.engine import run_shard
from releasecheck.model.record import UNKNOWN_CODE, Code, FileHeader

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from releasecheck.engine import Shard, Tally
    from releasecheck.ledger.jsonl import JsonlWriter
    from releasecheck.model.plan import Plan
    from releasecheck.pipeline.world import World


def header_of(
    plan: Plan,
    world: World,
    shard: int | None,
    attempt: int,
    approved_by: str | None,
    code: Code = UNKNOWN_CODE,
) -> FileHeader:
    """The header of a ledger file to be written now."""
    return FileHeader(
        run_id=plan.run_id,
        plan_digest=plan.plan_digest,
        shard=shard,
        shards=len(plan.shards),
        attempt=attempt,
        started_at=world.clock.now(),
        tool=world.tool,
        approved_by=approved_by,
        code=code,
        revision=plan.revision,
    )


async def run_recording(
    shard: Shard, writer: JsonlWriter, then: Callable[[], Awaitable[None]] | None = None
) -> Tally:
    """Run a shard and end its file, with the reason when trials are left undone.

    Whatever breaks leaves the file as a kill would; calls cancelled by a signal leave it whole. `then` is
    done after the trials, while the file is still open.
    """
    try:
        tally = await run_shard(shard)
        if then is not None:
            await then()
    except asyncio.CancelledError:
        if shard.stop.reason is None:
            writer.abandon()
        writer.close(shard.stop.reason)
        raise
    except BaseException:
        writer.abandon()
        raise
    # Syncing takes milliseconds, in which another shard of this process has better things to do.
    await asyncio.to_thread(writer.close, shard.stop.reason if tally.done < shard.total else None)
    return tally
