"""How fast and how many at once: a pace per target, and one gate per host for all who call it (B47)."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from releasecheck.ports import Clock

LONGEST_PENALTY: Final = 32
NEVER: Final = -math.inf
"""Before every moment of a monotonic clock: no host asked for a pause."""


class Pace:
    """Spaces calls evenly, so that no window of a server's own counting sees a burst."""

    def __init__(self, per_second: float, clock: Clock) -> None:
        self._gap = 1.0 / per_second
        self._clock = clock
        self._next = -math.inf

    async def turn(self) -> None:
        """Wait for the next free moment and take it."""
        now = self._clock.monotonic()
        at = max(now, self._next)
        self._next = at + self._gap
        if at > now:
            await self._clock.sleep(at - now)


class Gate:
    """Lets calls to one host in; narrows when the host says 429, widens again with success.

    Unlimited until the first 429: until then only the callers' own concurrency counts. After it the
    gate holds half of what was in flight, and each further 429 makes it widen more slowly, since
    every probe costs somebody an attempt. A call on its last attempt goes in alone: with nobody else
    in flight, a host that takes any call takes this one.
    """

    def __init__(self) -> None:
        self.not_before = NEVER
        """Monotonic time until which the host asked to be left alone; callers wait before `enter`."""
        self._limit = math.inf
        self._in_flight = 0
        self._alone = False
        self._epoch = 0
        self._good = 0
        self._penalty = 1
        self._first: deque[asyncio.Future[None]] = deque()
        self._rest: deque[asyncio.Future[None]] = deque()

    async def enter(self, *, alone: bool = False) -> int:
        """Wait to be let in; gives the pass to hand to `leave`."""
        if alone or self._first or self._rest or not self._room():
            await self._queue(alone=alone)
        else:
            self._in_flight += 1
        return self._epoch

    async def _queue(self, *, alone: bool) -> None:
        queue = self._first if alone else self._rest
        place = asyncio.get_running_loop().create_future()
        queue.append(place)
        self._admit()
        try:
            await place
        except asyncio.CancelledError:
            if place.cancelled():
                queue.remove(place)
                self._admit()
            else:  # let in at the very moment of the cancellation
                self.leave(self._epoch, told_to_slow=False, worked=False)
            raise

    def leave(self, admitted: int, *, told_to_slow: bool, worked: bool) -> None:
        """Give the place back and say how it went.

        Args:
            admitted: What `enter` gave.
            told_to_slow: The host answered 429.
            worked: It gave an answer.
        """
        # Calls let in before the last narrowing say nothing about the new width.
        if told_to_slow and admitted == self._epoch:
            self._limit = max(1, self._in_flight // 2)
            self._epoch += 1
            self._good = 0
            self._penalty = min(self._penalty * 2, LONGEST_PENALTY)
        elif worked and self._limit != math.inf:
            self._good += 1
            if self._good >= self._limit * self._penalty:
                self._limit += 1
                self._good = 0
        self._in_flight -= 1
        self._alone = False
        self._admit()

    def _room(self) -> bool:
        return not self._alone and self._in_flight < self._limit

    def _admit(self) -> None:
        if not self._first and not self._rest:  # nearly always
            return
        # A cancelled place leaves its queue by itself, in the task that waits for it.
        while not self._in_flight and (place := _next(self._first)):
            self._alone = True
            self._let_in(self._first, place)
        # Those who must go alone come first, or a stream of others would keep them out for ever.
        while not _next(self._first) and self._room() and (place := _next(self._rest)):
            self._let_in(self._rest, place)

    def _let_in(self, queue: deque[asyncio.Future[None]], place: asyncio.Future[None]) -> None:
        self._in_flight += 1
        queue.remove(place)
        place.set_result(None)


def _next(queue: deque[asyncio.Future[None]]) -> asyncio.Future[None] | None:
    return next((place for place in queue if not place.cancelled()), None)


class Gates:
    """One gate per host for the whole run: targets and judges that share a host share its gate."""

    def __init__(self) -> None:
        self._gates: dict[str, Gate] = {}

    def of(self, origin: str) -> Gate:
        """The gate of `scheme://host:port`."""
        gate = self._gates.get(origin)
        if gate is None:
            gate = self._gates[origin] = Gate()
        return gate
