"""The llm judge's batch way against files and batches on loopback."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.judges import open_judges
from releasecheck.judges.llm_api import LlmApi
from releasecheck.judges.llm_batch import LlmBatch
from releasecheck.judges.llm_prompt import Prompt
from releasecheck.judges.wrap import WrappedBulk
from releasecheck.model.judge import LlmJudge, Rubric
from releasecheck.model.score import Pending
from releasecheck.ports import Arrived, BulkJudge, Collected
from releasecheck.redact import NOTHING_SECRET
from releasecheck.transport import open_client
from releasecheck.transport.context import Context
from tests.integration.targets_running import QuickClock
from tests.integration.test_judges_llm import planned
from tests.openaistub import OpenAiStub, completion, verdict
from tests.processes import environment as our_environment
from tests.stubs import Request, reply
from tests.unit.judges.builders import ask, reason, said

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from releasecheck.ports import JudgeAsk

ASKS = [ask(f"answer {n}")._replace(idempotency_key=f"k{n}") for n in range(3)]


def with_judge(
    stub: OpenAiStub, do: Callable[[Any], Awaitable[Any]], *, processes: int = 1, **settings: Any
) -> list[Any]:
    """What `do` gives with the open judge, in as many processes one after the other."""

    async def once() -> Any:
        environment = our_environment()
        async with open_client(environment) as client:
            judge = open_judges(
                [planned(stub, mode="batch", **settings)],
                root=None,
                environment=environment,
                clock=QuickClock(),
                redactor=NOTHING_SECRET,
                client=client,
            )["j"]
            assert isinstance(judge, WrappedBulk)
            try:
                return await do(judge)
            finally:
                await judge.aclose()

    async def all_of_them() -> list[Any]:
        async with stub.open():
            return [await once() for _ in range(processes)]

    return asyncio.run(all_of_them())


async def tickets_of(judge: BulkJudge, asks: list[JudgeAsk]) -> list[str]:
    answers = [one.answer for one in await judge.submit(asks)]
    assert all(isinstance(one, Pending) for one in answers), answers
    return [one.ticket for one in answers if isinstance(one, Pending)]


def both(asks: list[JudgeAsk] = ASKS) -> Callable[[BulkJudge], Awaitable[list[Arrived]]]:
    """Hand over and collect."""

    async def do(judge: BulkJudge) -> list[Arrived]:
        tickets = await tickets_of(judge, asks)
        found = await judge.collect(tickets, 5)
        return [found.scores[ticket] for ticket in tickets]

    return do


def by_output(body: dict[str, Any]) -> str:
    text = body["messages"][1]["content"]
    return verdict(int(text.split("answer ")[1][0]) / 2)


def test_batch__one_job_for_all_outputs_and_votes() -> None:
    stub = OpenAiStub(say=by_output)
    (found,) = with_judge(stub, both(), votes=2)
    assert [said(one.answer) for one in found] == [0.0, 0.5, 1.0]
    assert [one.usage.tokens for one in found] == [50, 50, 50]
    assert found[0].notes == ("model=judge-1-2026-01-05", "fingerprint=fp_77")
    assert found[0].made_at == "2026-01-05T09:00:00.000Z"
    assert len(stub.batches) == 1
    sent = [json.loads(line) for line in stub.files["file-1"].splitlines()]
    assert len({one["custom_id"] for one in sent}) == 6
    assert {one["body"]["seed"] for one in sent} == {7, 8}
    assert stub.asked == []


def test_batch__one_ask_is_a_batch_of_one() -> None:
    async def do(judge: Any) -> Any:
        return await judge.judge(ASKS[0])

    (found,) = with_judge(OpenAiStub(), do)
    assert isinstance(found.answer, Pending)


def test_batch__an_answer_file_is_read_once_for_all_tickets() -> None:
    stub = OpenAiStub()

    async def do(judge: BulkJudge) -> list[Collected]:
        tickets = await tickets_of(judge, ASKS)
        found = await asyncio.gather(*(judge.collect([one], 5) for one in tickets))
        return [*found, await judge.collect(tickets, 5)]

    (found,) = with_judge(stub, do)
    assert [len(one.scores) for one in found] == [1, 1, 1, 3]
    assert sum("/content" in line for line in stub.lines()) == 1


def test_batch__in_progress_is_nothing_yet() -> None:
    stub = OpenAiStub(at_once=False)

    async def do(judge: BulkJudge) -> Collected:
        return await judge.collect(await tickets_of(judge, ASKS), 5)

    assert with_judge(stub, do) == [Collected()]


def test_batch__another_process_collects_by_the_tickets() -> None:
    """C-13: nothing of a batch is kept on our side."""
    stub = OpenAiStub(say=by_output)
    kept: list[str] = []

    async def do(judge: BulkJudge) -> list[float | str]:
        if not kept:
            kept.extend(await tickets_of(judge, ASKS))
            return []
        found = await judge.collect(kept, 5)
        return [said(found.scores[ticket].answer) for ticket in kept]

    assert with_judge(stub, do, processes=2) == [[], [0.0, 0.5, 1.0]]


def test_batch__handing_over_again_takes_the_job_that_is_there() -> None:
    """A process that is killed after handing over and before recording pays nothing twice."""
    stub = OpenAiStub()

    async def do(judge: BulkJudge) -> list[str]:
        return await tickets_of(judge, ASKS)

    first, second = with_judge(stub, do, processes=2)
    assert first == second
    assert len(stub.batches) == 1


def test_batch__one_of_which_every_request_failed_is_made_anew() -> None:
    stub = OpenAiStub()

    async def do(judge: BulkJudge) -> list[str]:
        tickets = await tickets_of(judge, ASKS)
        await judge.collect(tickets, 5)
        stub.batches["batch_1"]["request_counts"] = {"total": 3, "completed": 0, "failed": 3}
        return tickets

    first, second = with_judge(stub, do, processes=2)
    assert set(first).isdisjoint(second)


def test_batch__a_creation_whose_answer_is_lost_is_not_made_twice() -> None:
    """C-14 at the other end: the provider made the batch and the answer never came."""
    lost: list[str] = []

    def lose(request: Request) -> Any:
        if request.line.startswith("POST /v1/batches") and not lost:
            lost.append(request.line)
            return reply(502, b"gone")
        return False

    stub = OpenAiStub(lose=lose)
    (found,) = with_judge(stub, both())
    assert [said(one.answer) for one in found] == [1.0, 1.0, 1.0]
    assert len(stub.batches) == 1


@pytest.mark.parametrize("state", ["failed", "expired", "cancelled"])
def test_batch__one_that_ended_without_answers_fails_its_tickets_and_is_made_anew(
    state: str,
) -> None:
    stub = OpenAiStub(at_once=False)

    async def do(judge: BulkJudge) -> Any:
        tickets = await tickets_of(judge, ASKS)
        name = tickets[0].partition("/")[0]
        if name == "batch_1":
            stub.batches[name]["errors"] = {"data": [{"message": "token limit exceeded"}]}
            stub.finish(name, state)
        return name, (await judge.collect(tickets, 5)).scores

    (first, scores), (second, none) = with_judge(stub, do, processes=2)
    assert (first, second, none) == ("batch_1", "batch_2", {})
    for arrived in scores.values():
        assert said(arrived.answer) == f"batch_{state}"
        assert "token limit exceeded" in reason(arrived.answer)
        assert arrived.answer.failure.retryable


def test_batch__each_request_is_judged_by_its_own_line() -> None:
    """S1-33: one that is bad fails its own pair and keeps the others."""
    answers: dict[str, Any] = {
        "0": verdict(),
        "1": reply(400, {"error": {"message": "too long"}}),
        "2": "hm",
    }
    stub = OpenAiStub(
        say=lambda body: answers[body["messages"][1]["content"].split("answer ")[1][0]]
    )
    (found,) = with_judge(stub, both())
    assert [said(one.answer) for one in found] == [1.0, "bad_request", "unreadable_verdict"]


def changed(stub: OpenAiStub, change: Callable[[list[bytes]], list[bytes]]) -> list[float | str]:
    async def do(judge: BulkJudge) -> list[float | str]:
        tickets = await tickets_of(judge, ASKS)
        stub.finish("batch_1")
        made = stub.batches["batch_1"]
        lines = stub.files[made["output_file_id"]].splitlines(keepends=True)
        stub.files[made["output_file_id"]] = b"".join(change(lines))
        found = await judge.collect(tickets, 5)
        return [said(found.scores[ticket].answer) for ticket in tickets]

    (found,) = with_judge(stub, do)
    return list(found)


def test_batch__lines_in_any_order_lost_twice_or_broken() -> None:
    """G-14: never a wrong score, never another's."""
    stub = OpenAiStub(say=by_output, at_once=False)
    assert changed(stub, lambda lines: lines[::-1]) == [0.0, 0.5, 1.0]
    stub = OpenAiStub(say=by_output, at_once=False)
    assert changed(stub, lambda lines: lines[1:]) == ["no_line", 0.5, 1.0]
    stub = OpenAiStub(say=by_output, at_once=False)
    assert changed(stub, lambda lines: [b"{torn\n", *lines[1:], lines[1]]) == ["no_line", 0.5, 1.0]
    stub = OpenAiStub(say=by_output, at_once=False)
    other = json.dumps(verdict(1)).encode()
    two = lambda lines: [*lines, lines[1].replace(json.dumps(verdict(0.5)).encode(), other)]  # noqa: E731
    assert changed(stub, two) == [0.0, "conflict", 1.0]


def test_batch__errors_stand_in_a_file_of_their_own() -> None:
    stub = OpenAiStub(at_once=False)

    async def do(judge: BulkJudge) -> list[float | str]:
        tickets = await tickets_of(judge, ASKS)
        name, rest = tickets[0].split("/")
        row = {"custom_id": f"{rest}-0", "error": {"code": "batch_expired", "message": "too late"}}
        stub.files["errors"] = json.dumps(row).encode()
        stub.finish(name, "expired")
        stub.batches[name]["error_file_id"] = "errors"
        found = await judge.collect(tickets, 5)
        return [said(found.scores[ticket].answer) for ticket in tickets]

    assert with_judge(stub, do) == [["batch_request_failed", "batch_expired", "batch_expired"]]


def test_batch__one_that_the_provider_forgot_has_expired_tickets() -> None:
    """G-15."""

    async def do(judge: BulkJudge) -> Any:
        return await judge.collect(["batch_9/abc"], 5)

    (found,) = with_judge(OpenAiStub(), do)
    assert said(found.scores["batch_9/abc"].answer) == "ticket_expired"


def test_batch__a_question_that_fails_keeps_what_other_batches_brought() -> None:
    """S1-32."""

    def busy(request: Request) -> Any:
        return reply(429, b"", {"retry-after": "7"}) if "batch_8" in request.line else False

    stub = OpenAiStub(lose=busy)

    async def do(judge: BulkJudge) -> Collected:
        (ticket,) = await tickets_of(judge, ASKS[:1])
        return await judge.collect(["batch_8/abc", ticket], 5)

    (found,) = with_judge(stub, do)
    assert len(found.scores) == 1
    assert found.failure is not None
    assert (found.failure.code, found.again_s) == ("rate_limited", 7.0)


def test_batch__what_cannot_be_judged_is_not_sent() -> None:
    stub = OpenAiStub()

    async def do(judge: BulkJudge) -> Any:
        return await judge.submit([ASKS[0], ask(" "), ASKS[1]])

    (found,) = with_judge(stub, do)
    assert [said(one.answer) for one in found] == ["pending", "empty_output", "pending"]
    assert len(stub.files["file-1"].splitlines()) == 2


def test_batch__is_cut_where_it_holds_enough() -> None:
    stub = OpenAiStub(say=by_output)

    async def inside() -> list[Arrived]:
        async with stub.open(), open_client({}) as client:
            spec = planned(stub).spec
            assert isinstance(spec, LlmJudge)
            assert isinstance(spec.rubric, Rubric)
            context = Context({}, Path(), QuickClock(), client, str, lambda: 0.5)
            prompt = Prompt(spec, spec.rubric)
            return await both()(LlmBatch(LlmApi(spec, context), prompt, most_bytes=1))

    assert [said(one.answer) for one in asyncio.run(inside())] == [0.0, 0.5, 1.0]
    assert len(stub.batches) == 3


def test_batch__its_size_counts_votes() -> None:
    async def do(judge: BulkJudge) -> int:
        return judge.most

    assert with_judge(OpenAiStub(), do, votes=3) == [1666]


@pytest.mark.parametrize("path", ["GET /v1/batches?", "POST /v1/files"])
def test_batch__that_cannot_be_handed_over_fails_every_output(path: str) -> None:
    down = lambda request: reply(503, b"down") if request.line.startswith(path) else False  # noqa: E731

    async def do(judge: BulkJudge) -> Any:
        return await judge.submit(ASKS)

    (found,) = with_judge(OpenAiStub(lose=down), do)
    assert [said(one.answer) for one in found] == ["server_error"] * 3


def test_batch__an_api_that_lists_none_is_used_all_the_same() -> None:
    stub = OpenAiStub(
        lose=lambda request: reply(404) if request.line.startswith("GET /v1/batches?") else False
    )
    (found,) = with_judge(stub, both())
    assert [said(one.answer) for one in found] == [1.0, 1.0, 1.0]


def test_purge__deletes_the_files_and_may_be_repeated() -> None:
    """S1-47."""
    stub = OpenAiStub()

    async def do(judge: BulkJudge) -> list[str]:
        tickets = await tickets_of(judge, ASKS)
        await judge.collect(tickets, 5)
        return [(await judge.purge(tickets, 5)).state for _ in range(2)]

    assert with_judge(stub, do) == [["done", "done"]]
    assert stub.files == {}


def test_batch__a_completion_that_is_cut_is_a_failure() -> None:
    """B55, in a batch."""
    stub = OpenAiStub(say=lambda _: completion('{"score": 1}', finish="length"))
    (found,) = with_judge(stub, both())
    assert {said(one.answer) for one in found} == {"truncated"}
