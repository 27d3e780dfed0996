"""A judge over HTTP against a real server on loopback that does what servers do to people (S1-36)."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.drivers.local.clock import SystemClock
from releasecheck.judges import open_judges
from releasecheck.model.plan import PlannedJudge
from releasecheck.model.score import JudgeFailed, Pending, Scored
from releasecheck.ports import Collected, DeferredJudge, Judged
from releasecheck.redact import NOTHING_SECRET
from releasecheck.transport import open_client
from tests.integration.targets_running import QuickClock
from tests.judgeserver import DIE, HANG, HTML, Fault, JudgeServer, answer, status
from tests.unit.judges.builders import DIGEST, ask, reason, spec_of
from tests.unit.judges.builders import said as word

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from releasecheck.ports import Clock, JudgeAsk


@contextlib.asynccontextmanager
async def opened(
    server: JudgeServer, clock: Clock | None = None, **settings: Any
) -> AsyncIterator[DeferredJudge]:
    """The judge as a run opens it."""
    spec = spec_of("http", url=server.url, **settings)
    async with open_client({}) as client:
        judge = open_judges(
            [PlannedJudge(spec=spec, contract="evaluator@2", digest=DIGEST)],
            root=None,
            environment={},
            clock=clock or QuickClock(),
            redactor=NOTHING_SECRET,
            client=client,
        )[spec.id]
        assert isinstance(judge, DeferredJudge)
        yield judge


def asks(count: int) -> list[JudgeAsk]:
    """So many outputs, of which every second one is right."""
    made = []
    for n in range(count):
        one = ask("right" if n % 2 == 0 else "wrong", "right")
        case = one.case._replace(id=f"c{n}")
        made.append(one._replace(case=case, idempotency_key=f"key-{n}"))
    return made


async def tickets_of(judge: DeferredJudge, count: int) -> list[str]:
    """Tickets of so many outputs."""
    judged = await asyncio.gather(*[judge.judge(one) for one in asks(count)])
    return [one.answer.ticket for one in judged if isinstance(one.answer, Pending)]


def words(found: Collected) -> list[str | float]:
    return [word(one.answer) for one in found.scores.values()]


def test_judge__immediate() -> None:
    """S1-13."""

    async def run() -> list[Judged]:
        async with opened(server) as judge:
            return [await judge.judge(one) for one in asks(2)]

    with JudgeServer(after=0) as server:
        assert [one.answer for one in asyncio.run(run())] == [Scored(1.0), Scored(0.0)]
        assert server.calls == {"identity": 1, "judge": 2}
        assert server.headers[-1]["idempotency-key"] == "key-1"


def test_collect__fifty_at_once_and_again() -> None:
    """S1-12, S1-37, S1-39, C-14: asking again for what was delivered changes nothing."""

    async def run() -> list[Collected]:
        async with opened(server, concurrency=8) as judge:
            tickets = await tickets_of(judge, 50)
            assert len(tickets) == 50
            return [await judge.collect(tickets, 5.0) for _ in range(3)]

    with JudgeServer(after=2) as server:
        first, second, third = asyncio.run(run())
        assert server.most_in_flight <= 8
        assert server.calls["identity"] == 1
    assert words(first) == ["pending"] * 50
    assert words(second) == [1.0, 0.0] * 25
    assert second == third


def test_collect__omitted_twice_and_invented() -> None:
    """G-14, through the server's own writing."""

    async def run() -> Collected:
        async with opened(server) as judge:
            return await judge.collect(await tickets_of(judge, 4), 5.0)

    with JudgeServer() as server:
        server.omits = {"c1"}
        server.twice = {"c2": {"value": 0}}
        server.invents = {"stranger": {"value": 1}}
        found = asyncio.run(run())
        assert list(found.scores) == [server.ticket_of(case) for case in ("c0", "c2", "c3")]
    assert words(found) == [1.0, "conflict", 0.0]
    assert len(found.violations) == 1
    assert "stranger" in found.violations[0]


@pytest.mark.parametrize(
    ("fault", "code", "retryable"),
    [
        (HTML, "not_json", False),
        (DIE, "incomplete_body", True),
        (status(429, {"retry-after": "3"}), "rate_limited", True),
        (status(500), "server_error", True),
        (answer({"contract": "evaluator@1", "scores": {}}), "contract_refused", False),
    ],
    ids=["html", "dies", "429", "500", "evaluator@1"],
)
def test_collect__a_call_that_fails__keeps_the_tickets(
    fault: Fault, code: str, retryable: bool
) -> None:
    """S1-32: what failed is the call; the next one brings the scores."""
    clock = SystemClock()

    async def run() -> tuple[Collected, Collected]:
        async with opened(server, clock) as judge:
            tickets = await tickets_of(judge, 2)
            failed = await judge.collect(tickets, 5.0)
        async with opened(server, clock) as judge:  # another process, without the pause of the 429
            return failed, await judge.collect(tickets, 5.0)

    with JudgeServer() as server:
        server.faults["collect"] = [fault]
        failed, later = asyncio.run(run())
        assert server.calls["collect"] == 2
    assert failed.failure is not None
    assert (failed.failure.code, failed.failure.retryable) == (code, retryable)
    assert failed.failure.stage == "collect"
    assert failed.scores == {}
    assert failed.again_s == (3.0 if code == "rate_limited" else None)
    assert words(later) == [1.0, 0.0]


def test_collect__is_bounded_by_the_time_left() -> None:
    """S1-25: not by the judge's own time limit of a minute."""

    async def run() -> Collected:
        async with opened(server, SystemClock()) as judge:
            return await judge.collect(["t1"], 0.2)

    with JudgeServer() as server:
        server.always["collect"] = HANG
        found = asyncio.run(run())
        assert server.left.wait(5)  # S1-26, S1-41: the request itself was given up
    assert found.failure is not None
    assert (found.failure.code, found.failure.retryable) == ("timeout", True)


def test_collect__waiting_for_a_place__is_bounded_too() -> None:
    """S1-25: calls that hang hold every place."""

    async def run() -> Collected:
        async with opened(server, SystemClock(), concurrency=1) as judge:
            holding = asyncio.ensure_future(judge.judge(ask("out")))
            await asyncio.to_thread(server.hanging.wait, 10)
            found = await judge.collect(["t1"], 0.2)
            holding.cancel()
            await asyncio.wait([holding])
            return found

    with JudgeServer() as server:
        server.always["judge"] = HANG
        found = asyncio.run(run())
        assert server.calls["collect"] == 0
    assert found.failure is not None
    assert (found.failure.stage, found.failure.code) == ("collect", "timeout")


@pytest.mark.parametrize("call", ["identity", "judge", "collect", "purge"])
def test_cancel__ends_the_request(call: Any) -> None:
    """S1-27, S1-34, S1-41: when judging, collecting and asking who it is."""

    async def run() -> None:
        async with opened(server, SystemClock()) as judge:
            task: asyncio.Future[object]
            if call == "collect":
                task = asyncio.ensure_future(judge.collect(["t1"], 60.0))
            elif call == "purge":
                task = asyncio.ensure_future(judge.purge(["t1"], 60.0))
            else:
                task = asyncio.ensure_future(judge.judge(ask("out")))
            await asyncio.to_thread(server.hanging.wait, 10)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(server.left.wait, 10)

    with JudgeServer() as server:
        server.always[call] = HANG
        asyncio.run(run())


def test_judge__dies_half_way__is_asked_again() -> None:
    """X-18: the same key, so that nothing is done twice."""

    async def run() -> Judged:
        async with opened(server) as judge:
            return await judge.judge(ask("right", "right"))

    with JudgeServer(after=0) as server:
        server.faults["judge"] = [DIE, status(429, {"retry-after": "2"})]
        assert asyncio.run(run()).answer == Scored(1.0)
        keys = [sent.get("idempotency-key") for sent in server.headers]
        assert keys == [None, "key", "key", "key"]


def test_judge__who_is_not_there() -> None:
    async def run() -> Judged:
        async with opened(server) as judge:
            return await judge.judge(ask("right", "right"))

    with JudgeServer() as server:
        pass
    found = asyncio.run(run()).answer
    assert isinstance(found, JudgeFailed)
    assert (found.failure.cls, found.failure.code) == ("infra", "connect")
    assert "after 3 attempts" in reason(found)


def test_purge__is_passed_on() -> None:
    """S1-47."""

    async def run() -> list[str]:
        async with opened(server) as judge:
            tickets = await tickets_of(judge, 2)
            return [(await judge.purge(tickets, 5.0)).state for _ in range(2)]

    with JudgeServer() as server:
        assert asyncio.run(run()) == ["done", "done"]
        assert [len(tickets) for tickets in server.purged] == [2, 2]
