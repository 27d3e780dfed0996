"""A target around one kind of asking: how many at once, how fast, and whether to ask again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from typing_extensions import override

from releasecheck.model.failure import failure
from releasecheck.model.record import NO_USAGE, Usage
from releasecheck.ports import Answered, Target, TargetAnswer, TargetCall, TargetFailed
from releasecheck.targets.ask import Asker, Attempt, Lost
from releasecheck.transport.attempts import RATE_LIMITED
from releasecheck.transport.limits import NEVER
from releasecheck.transport.reading import add
from releasecheck.transport.retry import LONGEST_RETRY_AFTER_S, LONGEST_WAIT_S

if TYPE_CHECKING:
    from releasecheck.model.failure import Failure
    from releasecheck.ports import Clock
    from releasecheck.targets.start import Started
    from releasecheck.transport.classify import Trouble
    from releasecheck.transport.limits import Pace
    from releasecheck.transport.retry import Backoff


@dataclass(frozen=True, slots=True)
class Rules:
    """What the suite says about asking."""

    concurrency: int
    retries: int
    """More attempts after the first; 0 is none."""
    timeout_s: float
    """Of one attempt."""
    irreversible: bool = False
    """Whether a call that may have arrived must never be sent again."""

    @property
    def budget_s(self) -> float:
        """Seconds after which no further attempt starts."""
        return (self.retries + 1) * (self.timeout_s + LONGEST_WAIT_S) + LONGEST_RETRY_AFTER_S


class RetryingTarget(Target):
    """The target that the engine sees."""

    def __init__(
        self,
        asker: Asker,
        rules: Rules,
        *,
        clock: Clock,
        backoff: Backoff,
        pace: Pace | None = None,
        started: Started | None = None,
    ) -> None:
        """Compose.

        Args:
            asker: Asks once.
            rules: From the suite, its limits already divided among shards.
            clock: For waiting and measuring.
            backoff: How long to wait between attempts.
            pace: The rate limit, shared with nobody.
            started: The program that is the target, when we started it.
        """
        self._asker = asker
        self._rules = rules
        self._clock = clock
        self._backoff = backoff
        self._pace = pace
        self._started = started
        self._slots = asyncio.Semaphore(rules.concurrency)

    @override
    async def answer(self, call: TargetCall) -> TargetAnswer:
        async with self._slots:
            return await self._attempts(call)

    async def _attempts(self, call: TargetCall) -> TargetAnswer:
        began = self._clock.monotonic()
        used: Usage = NO_USAGE
        calls = 0
        limited = False
        while True:
            last = calls >= self._rules.retries
            attempt, before, after = await self._once(call, alone=limited and last)
            calls += 1
            used = add(used, attempt.usage)
            if not isinstance(attempt, Lost):
                latency_ms = (after - before) * 1000
                return Answered(
                    attempt.output,
                    latency_ms,
                    used,
                    attempt.trace_id,
                    calls,
                    attempt.notes,
                    attempt.fingerprint,
                )
            trouble = attempt.trouble
            limited = trouble.failure.code == RATE_LIMITED
            wait_s = self._wait_s(trouble, calls)
            over = self._clock.monotonic() + (wait_s or 0.0) - began > self._rules.budget_s
            if last or wait_s is None or over:
                return TargetFailed(self._final(trouble, calls), used, calls)
            await self._clock.sleep(wait_s)

    async def _once(self, call: TargetCall, *, alone: bool) -> tuple[Attempt, float, float]:
        """One attempt, and when on the monotonic scale it began and ended."""
        gate = self._asker.gate
        if gate is None:
            if self._pace is not None:
                await self._pace.turn()
            before = self._clock.monotonic()
            attempt = await self._asker.ask(call)
            return attempt, before, self._clock.monotonic()
        while gate.not_before > NEVER and (wait := gate.not_before - self._clock.monotonic()) > 0:
            await self._clock.sleep(wait)
        admitted = await gate.enter(alone=alone)
        slow = worked = False
        try:
            if self._pace is not None:
                await self._pace.turn()
            before = self._clock.monotonic()
            attempt = await self._asker.ask(call)
            after = self._clock.monotonic()
            if isinstance(attempt, Lost):
                slow = attempt.trouble.failure.code == RATE_LIMITED
                asked_s = attempt.trouble.asked_s
                if asked_s is not None and asked_s <= LONGEST_RETRY_AFTER_S:
                    gate.not_before = max(gate.not_before, after + asked_s)
            else:
                worked = True
        finally:
            gate.leave(admitted, told_to_slow=slow, worked=worked)
        return attempt, before, after

    def _wait_s(self, trouble: Trouble, failed: int) -> float | None:
        """Seconds to wait before another attempt; None for no other attempt."""
        if not trouble.again or (self._rules.irreversible and trouble.sent):
            return None
        if trouble.asked_s is not None and trouble.asked_s > LONGEST_RETRY_AFTER_S:
            return None
        return self._backoff.wait_s(failed, trouble.asked_s)

    def _final(self, trouble: Trouble, calls: int) -> Failure:
        found = trouble.failure
        message = found.message or ""
        if self._started is not None and found.cls == "infra":
            message = self._started.explain(message)
        if calls > 1:
            message = f"after {calls} attempts: {message}"
        if self._rules.irreversible and trouble.sent and found.retryable:
            # A later run would send again what may have been done already.
            found = replace(found, retryable=False)
            message = f"{message}; not sent again, since side_effects is irreversible"
        return failure(found.cls, found.stage, found.code, message, retryable=found.retryable)

    @override
    async def aclose(self) -> None:
        try:
            await self._asker.aclose()
        finally:
            if self._started is not None:
                await self._started.aclose()
