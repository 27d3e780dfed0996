"""Attempts, waits, budgets and what may never be sent twice (B47, B49, X-03, S2-59)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from typing_extensions import override

from releasecheck.model.record import Usage
from releasecheck.ports import Answered, TargetAnswer, TargetCall, TargetFailed
from releasecheck.targets.ask import Asker, Attempt, Got, Lost
from releasecheck.targets.retrying import RetryingTarget, Rules
from releasecheck.transport.classify import Classifier, Kind, Trouble
from releasecheck.transport.limits import Gate, Pace
from releasecheck.transport.retry import Backoff
from tests.fakes import FakeClock
from tests.unit.targets.opened import call_of

if TYPE_CHECKING:
    from collections.abc import Iterable

CLASSIFY = Classifier("target", str)


def trouble(code: str = "server_error", *, again: bool = True, sent: bool = True) -> Trouble:
    return CLASSIFY.trouble(Kind("infra", code, again=again, retryable=True, sent=sent), "boom")


class Scripted(Asker):
    """Gives attempts in turn; each takes a second."""

    def __init__(self, attempts: Iterable[Attempt], clock: FakeClock) -> None:
        self.classify = CLASSIFY
        self.gate: Gate | None = Gate()
        self._attempts = iter(attempts)
        self._clock = clock
        self.keys: list[str] = []
        self.closed = 0

    @override
    async def ask(self, call: TargetCall) -> Attempt:
        self.keys.append(call.idempotency_key)
        self._clock.advance(1)
        return next(self._attempts)

    @override
    async def aclose(self) -> None:
        self.closed += 1


def run(
    attempts: Iterable[Attempt],
    *,
    retries: int = 2,
    clock: FakeClock | None = None,
    irreversible: bool = False,
    pace: Callable[[FakeClock], Pace] | None = None,
) -> tuple[TargetAnswer, Scripted, FakeClock]:
    clock = clock or FakeClock()
    asker = Scripted(attempts, clock)
    rules = Rules(4, retries, 10.0, irreversible)
    target = RetryingTarget(
        asker,
        rules,
        clock=clock,
        backoff=Backoff(lambda: 0.5),
        pace=pace(clock) if pace else None,
    )
    return asyncio.run(target.answer(call_of())), asker, clock


def test_answer__latency_is_that_of_the_attempt_that_succeeded_and_usage_of_all() -> None:
    answer, asker, clock = run(
        [Lost(trouble(), Usage(5, 0.1)), Got("Oslo", Usage(7, None), "t1", ("note",))]
    )
    assert answer == Answered("Oslo", 1000.0, Usage(12, 0.1), "t1", 2, ("note",))
    assert clock.slept == [0.5]
    assert asker.keys == ["rc-1:c1#t0"] * 2  # C-06


def test_answer__gives_up_after_the_retries_and_says_how_often_it_tried() -> None:
    answer, asker, clock = run([Lost(trouble())] * 9, retries=2)
    assert isinstance(answer, TargetFailed)
    assert answer.failure.message == "after 3 attempts: boom"
    assert answer.failure.retryable
    assert (answer.calls, len(asker.keys)) == (3, 3)
    assert clock.slept == [0.5, 2.0]


def test_answer__no_retries_means_none() -> None:
    """B49: `retries: 0` is not ignored."""
    answer, asker, clock = run([Lost(trouble())] * 9, retries=0)
    assert isinstance(answer, TargetFailed)
    assert (answer.failure.message, len(asker.keys), clock.slept) == ("boom", 1, [])


def test_answer__what_asking_again_cannot_mend_is_not_asked_again() -> None:
    answer, asker, _ = run([Lost(trouble("unauthorized", again=False))] * 9, retries=5)
    assert (len(asker.keys), answer.calls) == (1, 1)


def test_answer__waits_as_long_as_the_server_asked() -> None:
    asked = Trouble(trouble("rate_limited").failure, again=True, asked_s=7.0)
    answer, _, clock = run([Lost(asked), Got("x")])
    assert isinstance(answer, Answered)
    assert clock.slept == [7.5]


def test_answer__does_not_wait_for_a_server_that_asks_for_hours() -> None:
    asked = Trouble(trouble("rate_limited").failure, again=True, asked_s=7200.0)
    answer, asker, clock = run([Lost(asked), Got("x")])
    assert isinstance(answer, TargetFailed)
    assert (len(asker.keys), clock.slept) == (1, [])


def test_answer__a_budget_of_time_ends_it_before_the_attempts_do() -> None:
    """B49: attempts and time."""
    clock = FakeClock()

    class Slow(Scripted):
        @override
        async def ask(self, call: TargetCall) -> Attempt:
            clock.advance(400)
            return await super().ask(call)

    asker = Slow([Lost(trouble())] * 9, clock)
    rules = Rules(1, 5, 10.0)
    target = RetryingTarget(asker, rules, clock=clock, backoff=Backoff(lambda: 0.5))
    answer = asyncio.run(target.answer(call_of()))
    assert rules.budget_s == 720.0
    assert answer.calls == 2


@pytest.mark.parametrize(("sent", "calls", "retryable"), [(True, 1, False), (False, 3, True)])
def test_answer__what_may_have_been_done_is_never_sent_again_when_it_cannot_be_undone(
    sent: bool, calls: int, retryable: bool
) -> None:
    answer, _, _ = run([Lost(trouble("timeout", sent=sent))] * 9, irreversible=True)
    assert isinstance(answer, TargetFailed)
    assert (answer.calls, answer.failure.retryable) == (calls, retryable)


def test_answer__every_attempt_takes_its_turn_in_the_pace() -> None:
    answer, _, clock = run([Lost(trouble()), Got("x")], pace=lambda clock: Pace(0.1, clock))
    assert isinstance(answer, Answered)
    assert clock.slept == [0.5, 8.5]  # ten seconds between the two starts
    assert answer.latency_ms == 1000.0  # waiting for a turn is not the target's time


def test_answer__no_more_at_once_than_the_suite_allows() -> None:
    clock = FakeClock()
    together = most = 0

    class Counting(Scripted):
        @override
        async def ask(self, call: TargetCall) -> Attempt:
            nonlocal together, most
            together += 1
            most = max(most, together)
            await asyncio.sleep(0)
            together -= 1
            return Got("x")

    async def everybody() -> None:
        target = RetryingTarget(
            Counting([], clock), Rules(3, 0, 10.0), clock=clock, backoff=Backoff(lambda: 0.0)
        )
        await asyncio.gather(*[target.answer(call_of()) for _ in range(20)])

    asyncio.run(everybody())
    assert most == 3


def test_aclose__closes_what_it_holds() -> None:
    clock = FakeClock()
    asker = Scripted([], clock)
    target = RetryingTarget(asker, Rules(1, 0, 1.0), clock=clock, backoff=Backoff(lambda: 0.0))
    asyncio.run(target.aclose())
    assert asker.closed == 1
