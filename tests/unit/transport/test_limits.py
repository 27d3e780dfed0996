"""The pace of a target and the gate of a host (B47, S0-33)."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from releasecheck.transport.limits import Gate, Gates, Pace
from tests.fakes import FakeClock


def test_pace__calls_are_spaced_evenly_without_a_burst() -> None:
    clock = FakeClock()
    pace = Pace(10.0, clock)

    async def run() -> list[float]:
        moments = []
        for _ in range(4):
            await pace.turn()
            moments.append(clock.monotonic())
        return moments

    assert asyncio.run(run()) == pytest.approx([0.0, 0.1, 0.2, 0.3])


def test_pace__time_not_used_is_not_saved_up() -> None:
    clock = FakeClock()
    pace = Pace(1.0, clock)

    async def run() -> None:
        await pace.turn()
        clock.advance(100)
        await pace.turn()
        await pace.turn()

    asyncio.run(run())
    assert clock.monotonic() == 101.0


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def leave(gate: Gate, epoch: int, *, slow: bool = False) -> None:
    gate.leave(epoch, told_to_slow=slow, worked=not slow)


def test_gate__lets_everybody_in_until_the_first_429() -> None:
    async def run() -> None:
        gate = Gate()
        async with asyncio.timeout(1):
            for _ in range(500):
                await gate.enter()

    asyncio.run(run())


def test_gate__a_burst_of_429_halves_once_and_not_once_each() -> None:
    async def run() -> int:
        gate = Gate()
        passes = [await gate.enter() for _ in range(8)]
        for epoch in passes:
            leave(gate, epoch, slow=True)
        waiting = [asyncio.ensure_future(gate.enter()) for _ in range(8)]
        await settle()
        entered = sum(task.done() for task in waiting)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return entered

    assert asyncio.run(run()) == 4


def test_gate__widens_again_with_success() -> None:
    async def run() -> int:
        gate = Gate()
        leave(gate, await gate.enter(), slow=True)  # down to one at a time
        for _ in range(200):
            leave(gate, await gate.enter())
        waiting = [asyncio.ensure_future(gate.enter()) for _ in range(8)]
        await settle()
        entered = sum(task.done() for task in waiting)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return entered

    assert 2 <= asyncio.run(run()) <= 100


def test_gate__alone_waits_for_all_and_keeps_all_out() -> None:
    async def run() -> None:
        gate = Gate()
        first = await gate.enter()
        alone = asyncio.ensure_future(gate.enter(alone=True))
        other = asyncio.ensure_future(gate.enter())
        await settle()
        assert (alone.done(), other.done()) == (False, False)
        leave(gate, first)
        await settle()
        assert (alone.done(), other.done()) == (True, False)
        leave(gate, await alone)
        await settle()
        assert other.done()
        leave(gate, await other)

    asyncio.run(run())


@pytest.mark.parametrize("alone", [False, True])
def test_gate__who_gives_up_waiting_leaves_no_trace(alone: bool) -> None:
    async def run() -> None:
        gate = Gate()
        first = await gate.enter()
        quitter = asyncio.ensure_future(gate.enter(alone=True))
        behind = asyncio.ensure_future(gate.enter(alone=alone))
        await settle()
        quitter.cancel()
        leave(gate, first)  # in the same turn as the cancellation
        await asyncio.gather(quitter, return_exceptions=True)
        async with asyncio.timeout(1):
            leave(gate, await behind)
            leave(gate, await gate.enter(alone=True))

    asyncio.run(run())


def test_gate__cancelled_at_the_moment_of_entry_gives_its_place_back() -> None:
    async def run() -> None:
        gate = Gate()
        first = await gate.enter()
        quitter = asyncio.ensure_future(gate.enter(alone=True))
        await settle()
        leave(gate, first)  # lets it in
        quitter.cancel()  # before it runs
        await asyncio.gather(quitter, return_exceptions=True)
        async with asyncio.timeout(1):
            leave(gate, await gate.enter(alone=True))

    asyncio.run(run())


@given(
    capacity=st.integers(1, 6),
    callers=st.integers(1, 24),
    retries=st.integers(1, 3),
    steps=st.lists(st.integers(1, 4), min_size=1, max_size=8),
)
def test_gate__whoever_is_on_the_last_attempt_gets_through(
    capacity: int, callers: int, retries: int, steps: list[int]
) -> None:
    """B47: no verdict is lost to 429 on a host that takes any call at all."""

    async def run() -> list[bool]:
        gate = Gate()
        in_flight = 0

        async def call(number: int) -> bool:
            nonlocal in_flight
            for attempt in range(retries + 1):
                epoch = await gate.enter(alone=attempt == retries)
                in_flight += 1
                refused = in_flight > capacity
                for _ in range(0 if refused else steps[number % len(steps)]):
                    await asyncio.sleep(0)
                in_flight -= 1
                leave(gate, epoch, slow=refused)
                if not refused:
                    return True
            return False

        return await asyncio.gather(*[call(number) for number in range(callers)])

    assert all(asyncio.run(run()))


def test_gates__one_per_host() -> None:
    gates = Gates()
    assert gates.of("http://a:1") is gates.of("http://a:1")
    assert gates.of("http://a:1") is not gates.of("http://a:2")
