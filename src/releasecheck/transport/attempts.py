"""Ask again after a transport failure, 429 or 5xx: for everything that is called but the target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from releasecheck.model.failure import failure
from releasecheck.transport.classify import Trouble
from releasecheck.transport.retry import LONGEST_RETRY_AFTER_S

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from releasecheck.ports import Clock
    from releasecheck.transport.limits import Gate
    from releasecheck.transport.retry import Backoff

T = TypeVar("T")
ATTEMPTS: Final = 3
"""Calls for one answer of a judge (X-18)."""
RATE_LIMITED: Final = "rate_limited"
"""Code of a failure that tells us to slow down."""


async def attempts(
    send: Callable[[], Awaitable[T | Trouble]],
    *,
    gate: Gate,
    clock: Clock,
    backoff: Backoff,
    most: int = ATTEMPTS,
) -> T | Trouble:
    """What came of at most `most` calls, spaced by the back-off or as the server asks.

    A server that asks to be left alone for more than five minutes is not waited for.
    """
    calls = 0
    while True:
        answer = await once(send, gate=gate, clock=clock)
        calls += 1
        if not isinstance(answer, Trouble):
            return answer
        asked_s = answer.asked_s
        too_long = asked_s is not None and asked_s > LONGEST_RETRY_AFTER_S
        if calls >= most or not answer.again or too_long:
            return answer if calls == 1 else _after(calls, answer)
        await clock.sleep(backoff.wait_s(calls, asked_s))


async def once(
    send: Callable[[], Awaitable[T | Trouble]], *, gate: Gate, clock: Clock
) -> T | Trouble:
    """One call through the gate of its host."""
    while (wait := gate.not_before - clock.monotonic()) > 0:
        await clock.sleep(wait)
    admitted = await gate.enter()
    slow = worked = False
    try:
        answer = await send()
        if isinstance(answer, Trouble):
            slow = answer.failure.code == RATE_LIMITED
            if answer.asked_s is not None and answer.asked_s <= LONGEST_RETRY_AFTER_S:
                gate.not_before = max(gate.not_before, clock.monotonic() + answer.asked_s)
        else:
            worked = True
    finally:
        gate.leave(admitted, told_to_slow=slow, worked=worked)
    return answer


def _after(calls: int, trouble: Trouble) -> Trouble:
    found = trouble.failure
    said = f"after {calls} attempts: {found.message or ''}"
    return Trouble(
        failure(found.cls, found.stage, found.code, said, retryable=found.retryable),
        again=trouble.again,
        sent=trouble.sent,
        asked_s=trouble.asked_s,
    )
