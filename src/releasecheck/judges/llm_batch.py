"""The provider's batch way: all votes of many outputs as one job, whose answers are collected later.

A ticket is `<batch>/<hash of the idempotency key>`. Nothing about a batch is kept on our side: whoever comes back
with the tickets, in whatever process, reads the answers from the provider.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from typing_extensions import override

from releasecheck.canonical import digest_bytes
from releasecheck.judges.llm_api import encoded
from releasecheck.judges.llm_jobs import Batch, BatchApi, answered
from releasecheck.judges.llm_votes import Vote, count
from releasecheck.judges.outcome import cannot
from releasecheck.model.score import JudgeFailed, Pending
from releasecheck.ports import Arrived, BulkJudge, Collected, Judged, Purged
from releasecheck.transport.classify import Trouble

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from releasecheck.judges.llm_api import LlmApi
    from releasecheck.judges.llm_prompt import Prompt
    from releasecheck.model.score import JudgeAnswer
    from releasecheck.ports import JudgeAsk

MOST_REQUESTS: Final = 5_000
"""Requests in one batch; providers take up to 50,000."""
MOST_BYTES: Final = 90 * 10**6
"""Bytes of one batch's file; providers take 100 to 200 MB."""
_KEPT: Final = 4
"""Batches whose answers are kept in memory."""
_AT_ONCE: Final = 200
"""Lines that are read before others get their turn."""
_FRESH_S: Final = 1.0
"""Seconds for which a batch's state is taken as known."""


class _Lines(NamedTuple):
    """The requests of one output."""

    position: int
    name: str
    lines: list[bytes]


class _Known(NamedTuple):
    """A batch with what it brought, as of a moment."""

    batch: Batch
    votes: Mapping[str, Vote]
    at: float


class LlmBatch(BulkJudge):
    """Hands outputs over as batch jobs and collects their votes."""

    def __init__(self, api: LlmApi, prompt: Prompt, *, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._api = api
        self._prompt = prompt
        self._jobs = BatchApi(api)
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._locks: dict[str, asyncio.Lock] = {}
        self.most = max(1, MOST_REQUESTS // api.spec.votes)

    @override
    async def judge(self, ask: JudgeAsk) -> Judged:
        return (await self.submit([ask]))[0]

    @override
    async def submit(self, asks: Sequence[JudgeAsk]) -> Sequence[Judged]:
        found: list[JudgeAnswer | None] = [None] * len(asks)
        waiting: list[_Lines] = []
        size = 0
        for position, ask in enumerate(asks):
            messages = self._prompt.messages(ask)
            if isinstance(messages, JudgeFailed):
                found[position] = messages
                continue
            name = sha256(ask.idempotency_key.encode()).hexdigest()[:32]
            lines = [
                _line(custom_id(name, vote), self._api.body(messages, vote))
                for vote in range(self._api.spec.votes)
            ]
            added = sum(map(len, lines))
            full = len(waiting) >= self.most or size + added > self._most_bytes
            if waiting and full:
                await self._hand_over(waiting, found)
                waiting, size = [], 0
            waiting.append(_Lines(position, name, lines))
            size += added
        if waiting:
            await self._hand_over(waiting, found)
        return [Judged(one) for one in found if one is not None]

    async def _hand_over(self, waiting: list[_Lines], found: list[JudgeAnswer | None]) -> None:
        content = b"".join(line for one in waiting for line in one.lines)
        batch = await self._jobs.batch_of(content, digest_bytes(content))
        for one in waiting:
            found[one.position] = (
                JudgeFailed(batch.failure)
                if isinstance(batch, Trouble)
                else Pending(f"{batch}/{one.name}")
            )

    @override
    async def collect(self, tickets: Sequence[str], within_s: float) -> Collected:
        by_batch: dict[str, list[str]] = {}
        for ticket in tickets:
            by_batch.setdefault(ticket.partition("/")[0], []).append(ticket)
        scores: dict[str, Arrived] = {}
        failure, again_s = None, None
        for name, mine in by_batch.items():
            known = await self._look(name, within_s)
            if isinstance(known, Trouble):
                failure = failure or known.failure
                again_s = known.asked_s if again_s is None else again_s
            elif known.batch.over:
                scores |= {ticket: self._arrived(ticket, known) for ticket in mine}
        return Collected(scores, failure, again_s)

    async def _look(self, name: str, within_s: float) -> _Known | Trouble:
        """The batch and, once it is over, its answers; one question at a time for each batch."""
        async with self._locks.setdefault(name, asyncio.Lock()):
            now = self._api.clock.monotonic()
            known = self._known.get(name)
            if known is not None and (known.batch.over or now - known.at < _FRESH_S):
                return known
            batch = await self._jobs.look(name, within_s)
            if isinstance(batch, Trouble):
                return batch
            votes: dict[str, Vote] = {}
            if batch.over:
                lines = await self._jobs.lines(batch, within_s)
                if isinstance(lines, Trouble):
                    return lines
                for start in range(0, len(lines), _AT_ONCE):
                    answered(lines[start : start + _AT_ONCE], self._api, votes)
                    await asyncio.sleep(0)  # a cancellation need not wait for thousands of lines
            known = self._known[name] = _Known(batch, votes, now)
            self._known.move_to_end(name)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
            return known

    def _arrived(self, ticket: str, known: _Known) -> Arrived:
        name = ticket.partition("/")[2]
        votes = [
            known.votes.get(custom_id(name, number)) or Vote(_not_there(known.batch))
            for number in range(self._api.spec.votes)
        ]
        answer, usage, notes = count(votes, self._api.spec.combine)
        return Arrived(answer, usage, known.batch.ended_at, notes)

    @override
    async def purge(self, tickets: Sequence[str], within_s: float) -> Purged:
        names = list(dict.fromkeys(ticket.partition("/")[0] for ticket in tickets))
        for name in names:
            trouble = await self._jobs.forget(name, within_s)
            if trouble is not None:
                said = trouble.failure.message or ""
                if trouble.failure.code == "method_not_allowed":
                    return Purged("unsupported", said)
                return Purged("failed", said)
            self._known.pop(name, None)
        return Purged("done", f"the files of {len(names)} batches are deleted at the provider")

    @override
    async def aclose(self) -> None:
        self._known.clear()


def custom_id(name: str, vote: int) -> str:
    """The name of one request in a batch."""
    return f"{name}-{vote}"


def _line(name: str, body: object) -> bytes:
    request = {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}
    return encoded(request) + b"\n"


def _not_there(batch: Batch) -> JudgeFailed:
    if batch.state == "gone":
        message = f"the provider knows the batch {batch.name} no more: {batch.said}"
        return cannot("ticket_expired", message, retryable=True)
    if batch.state == "completed":
        message = f"the batch {batch.name} is completed and has no answer to this request"
        return cannot("no_line", message, retryable=True)
    said = f": {batch.said}" if batch.said else ""
    message = f"the batch {batch.name} ended as {batch.state}{said}"
    return cannot(f"batch_{batch.state}", message, retryable=True)
