"""The `langfuse` judge over a real server on loopback (S1-L1 to S1-L4, S1-47, G-14)."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, TypeVar

import pytest

from releasecheck.judges import open_judges
from releasecheck.judges.langfuse import MOST_PAGES
from releasecheck.model.plan import PlannedJudge
from releasecheck.model.score import JudgeAnswer, JudgeFailed, Pending, Scored
from releasecheck.ports import Collected, DeferredJudge, JudgeAsk, JudgeCase, Judged, Purged
from releasecheck.redact import NOTHING_SECRET, Redactor
from releasecheck.transport import open_client
from tests.fakes import FakeClock
from tests.langfusestub import LangfuseStub, boolean, category, numeric
from tests.unit.judges.builders import DIGEST, reason, said, spec_of

T = TypeVar("T")
INGESTION = "/api/public/ingestion"
V3, V2 = "/api/public/v3/scores", "/api/public/v2/scores"


def question(case: str = "c1", output: Any = "an answer", **rest: Any) -> JudgeAsk:
    asked = JudgeCase(case, "the question", rest.pop("expected", None), {}, ("math",))
    return JudgeAsk(asked, 0, output, DIGEST, "rc-1", "tone", f"rc-1:{case}#t0:tone:{DIGEST}")


def using(
    stub: LangfuseStub,
    act: Callable[[DeferredJudge], Awaitable[T]],
    *,
    clock: FakeClock | None = None,
    redactor: Redactor = NOTHING_SECRET,
    **settings: Any,
) -> T:
    """Do something with a judge that is opened as a run opens it."""
    spec = spec_of("langfuse", **{"id": "tone", "score": "tone"} | settings)

    async def run() -> T:
        async with open_client({}) as client:
            judge = open_judges(
                [PlannedJudge(spec=spec, contract="langfuse@1", digest=DIGEST)],
                root=None,
                environment=stub.environment,
                clock=clock or FakeClock(),
                redactor=redactor,
                client=client,
            )["tone"]
            assert isinstance(judge, DeferredJudge)
            try:
                return await act(judge)
            finally:
                await judge.aclose()

    return asyncio.run(run())


def sent(stub: LangfuseStub, *cases: str, **settings: Any) -> list[str]:
    """Tickets of cases whose traces were sent."""

    async def act(judge: DeferredJudge) -> list[str]:
        answers = [(await judge.judge(question(case))).answer for case in cases]
        return [answer.ticket for answer in answers if isinstance(answer, Pending)]

    return using(stub, act, **settings)


def collected(stub: LangfuseStub, tickets: list[str], **settings: Any) -> Collected:
    return using(stub, lambda judge: judge.collect(tickets, 60.0), **settings)


def one(stub: LangfuseStub, **settings: Any) -> JudgeAnswer:
    """What comes of one case whose trace is scored by the stub."""
    tickets = sent(stub, "c1", **settings)
    return collected(stub, tickets, **settings).scores[tickets[0]].answer


def judged(stub: LangfuseStub, asked: JudgeAsk, **settings: Any) -> JudgeAnswer:
    async def act(judge: DeferredJudge) -> Judged:
        return await judge.judge(asked)

    return using(stub, act, **settings).answer


# --- sending


def test_judge__a_trace_holds_all_that_an_evaluator_needs() -> None:
    with LangfuseStub() as stub:
        answer = judged(stub, question(expected="42"), environment="ci")
        assert isinstance(answer, Pending)
        assert re.fullmatch("[0-9a-f]{32}", answer.ticket)
        trace = stub.traces[answer.ticket]
        del trace["at"]
        assert trace == {
            "id": answer.ticket,
            "name": "releasecheck",
            "sessionId": "rc-1",
            "environment": "ci",
            "input": "the question",
            "output": "an answer",
            "tags": ["releasecheck", "math"],
            "metadata": {
                "run": "rc-1",
                "judge": "tone",
                "case": "c1",
                "trial": 0,
                "output_digest": DIGEST,
                "expected": "42",
            },
        }


def test_judge__asking_again_sends_the_same_trace() -> None:
    """Whoever sends it and how often: one trace, one ticket."""
    with LangfuseStub() as stub:
        assert sent(stub, "c1", "c1") == 2 * sent(stub, "c1")
        assert len(stub.traces) == 1
        assert len(set(sent(stub, "c1", "c2", "c3"))) == 3


def test_judge__an_event_that_is_refused_is_a_failure_although_the_status_is_207() -> None:
    with LangfuseStub(refuse=lambda _: (400, "metadata is too deep")) as stub:
        answer = judged(stub, question())
        assert said(answer) == "trace_refused"
        assert "refused with status 400: metadata is too deep" in reason(answer)
        assert len(stub.to(INGESTION)) == 1


def test_judge__an_event_that_hit_an_outage_is_sent_again() -> None:
    answers = iter([(500, "queue is down"), (429, "slow down"), None])
    with LangfuseStub(refuse=lambda _: next(answers)) as stub:
        assert isinstance(judged(stub, question()), Pending)
        assert len(stub.to(INGESTION)) == 3


def test_judge__wrong_keys_are_a_failure_of_the_configuration() -> None:
    with LangfuseStub() as stub:
        answer = judged(stub, question(), secret_key="wrong-key-of-mine")  # noqa: S106
        assert isinstance(answer, JudgeFailed)
        assert (answer.failure.cls, answer.failure.code) == ("config", "unauthorized")
        assert len(stub.to(INGESTION)) == 1


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"<html>log in</html>", "not_json"),
        (b"{}", "contract_violation"),
        (b'{"successes": [{"id": "another"}], "errors": []}', "contract_violation"),
    ],
)
def test_judge__an_answer_that_does_not_say_it_took_the_trace_is_none(
    body: bytes, code: str
) -> None:
    with LangfuseStub() as stub:
        stub.plan(INGESTION, 207, body)
        assert said(judged(stub, question())) == code


def test_judge__what_is_too_large_is_not_sent() -> None:
    with LangfuseStub() as stub:
        assert said(judged(stub, question(output="x" * 3_500_000))) == "too_large"
        assert stub.requests == []


def test_judge__429_waits_as_long_as_is_asked() -> None:
    """S1-L3."""
    clock = FakeClock()
    with LangfuseStub() as stub:
        stub.plan(INGESTION, 429, b"{}", Retry_After="7")
        assert isinstance(judged(stub, question(), clock=clock), Pending)
        assert clock.monotonic() >= 7


def test_judge__secrets_do_not_leave_in_a_trace() -> None:
    with LangfuseStub() as stub:
        redactor = Redactor({"TOKEN": "very-secret-token"})
        judged(stub, question(output={"said": "very-secret-token"}), redactor=redactor)
        (trace,) = stub.traces.values()
        assert trace["output"] == {"said": "[redacted:TOKEN]"}


# --- collecting


@pytest.mark.parametrize("has_v3", [True, False])
@pytest.mark.parametrize(
    ("score", "settings", "expected"),
    [
        (numeric("tone", 0.25), {}, 0.25),
        (numeric("tone", 0), {}, 0.0),
        (boolean("tone", True), {}, 1.0),
        (boolean("tone", False), {}, 0.0),
        (category("tone", "good"), {"values": {"good": 1, "bad": 0}}, 1.0),
        (category("tone", "awful"), {"values": {"good": 1, "bad": 0}}, "unmapped_category"),
        (category("tone", "good"), {}, "unmapped_category"),
        (numeric("tone", 7), {"scale": [1, 5]}, "contract_violation"),
        ({"name": "tone", "dataType": "TEXT", "value": "0.9"}, {}, "contract_violation"),
        ({"name": "tone", "dataType": "NUMERIC", "value": None}, {}, "contract_violation"),
    ],
)
def test_collect__reads_each_type_in_both_versions(
    has_v3: bool, score: Any, settings: dict[str, Any], expected: float | str
) -> None:
    """S1-L1."""
    with LangfuseStub(evaluator=lambda _: [score], has_v3=has_v3, has_v2=not has_v3) as stub:
        assert said(one(stub, **settings)) == expected


def test_collect__comment_and_time_come_with_the_value() -> None:
    made = "2026-01-05T09:00:01.500Z"
    with LangfuseStub(
        evaluator=lambda _: [numeric("tone", 1, comment="friendly", timestamp=made)]
    ) as stub:
        (ticket,) = sent(stub, "c1")
        arrived = collected(stub, [ticket]).scores[ticket]
        assert arrived.answer == Scored(1.0, "friendly")
        assert arrived.made_at == made
        assert datetime.fromisoformat(made).tzinfo is not None


def test_collect__a_trace_without_a_score_is_still_to_come() -> None:
    """S1-L2: what is not queryable yet is no failure."""
    with LangfuseStub(evaluator=lambda _: [numeric("tone", 1)], lag_s=3600) as stub:
        tickets = sent(stub, "c1", "c2")
        assert collected(stub, tickets) == Collected()
        stub.lag_s = 0
        assert set(collected(stub, tickets).scores) == set(tickets)


def test_collect__fifty_traces_are_one_question() -> None:
    """S1-L1, S1-39: with the filters in it, and no longer than an address may be."""
    with LangfuseStub(evaluator=lambda _: [numeric("tone", 1), numeric("other", 0)]) as stub:
        tickets = sent(stub, *(f"c{n}" for n in range(50)))
        found = collected(stub, tickets, source="EVAL")
        assert len(found.scores) == 50
        (asked,) = stub.to("/api/public/v")
        assert asked.query == {
            "traceId": ",".join(tickets),
            "name": "tone",
            "source": "EVAL",
            "fields": "details,subject",
            "limit": "100",
        }


@pytest.mark.parametrize("has_v3", [True, False])
def test_collect__reads_every_page(has_v3: bool) -> None:
    with LangfuseStub(evaluator=lambda _: [numeric("tone", 1)] * 3, page=2, has_v3=has_v3) as stub:
        tickets = sent(stub, "c1", "c2", "c3")
        found = collected(stub, tickets)
        assert [said(one.answer) for one in found.scores.values()] == [1.0] * 3
        assert found.failure is None
        assert len(stub.to(V3 if has_v3 else V2)) == (5 if has_v3 else 6)


def test_collect__an_old_deployment_is_asked_for_version_3_once() -> None:
    """S1-L1."""
    with LangfuseStub(evaluator=lambda _: [numeric("tone", 1)], has_v3=False) as stub:
        tickets = sent(stub, "c1", "c2")

        async def twice(judge: DeferredJudge) -> list[Collected]:
            return [await judge.collect(tickets, 60.0), await judge.collect(tickets, 60.0)]

        assert [len(found.scores) for found in using(stub, twice)] == [2, 2]
        assert len(stub.to(V3)) == 1
        assert {seen.query["traceId"] for seen in stub.to(V2)} == set(tickets)


def test_collect__no_version_at_all_is_said() -> None:
    with LangfuseStub(has_v3=False, has_v2=False) as stub:
        found = collected(stub, ["0" * 32])
        assert found.failure is not None
        assert found.failure.code == "not_found"
        assert "/api/public/v2/scores: answered 404" in (found.failure.message or "")


def test_collect__scores_that_differ_are_ambiguous() -> None:
    """S1-L4: never the first one, never a mean."""

    def evaluator(_: Any) -> list[Any]:
        return [numeric("tone", 0.9), numeric("tone", 0.1, source="ANNOTATION")]

    with LangfuseStub(evaluator=evaluator) as stub:
        answer = one(stub)
        assert said(answer) == "ambiguous"
        assert '2 scores named \'tone\' that differ: 0.9 from "EVAL", 0.1 from "ANNOTATION"' in (
            reason(answer)
        )
        assert said(one(stub, source="ANNOTATION")) == 0.1


def test_collect__equal_scores_are_one() -> None:
    later, first = "2026-01-05T09:00:09Z", "2026-01-05T10:00:01+01:00"

    def evaluator(_: Any) -> list[Any]:
        return [
            numeric("tone", 1, timestamp=later, comment="later"),
            boolean("tone", True, timestamp=first, comment="first", source="API"),
        ]

    with LangfuseStub(evaluator=evaluator) as stub:
        (ticket,) = sent(stub, "c1")
        arrived = collected(stub, [ticket]).scores[ticket]
        assert (arrived.answer, arrived.made_at) == (Scored(1.0, "first"), first)


def test_collect__a_page_that_breaks_keeps_no_half_read_trace() -> None:
    """What contradicts a score may stand on the page that did not come (S1-L4); asked again, it is seen."""

    def evaluator(_: Any) -> list[Any]:
        return [numeric("tone", 0.9), numeric("tone", 0.1, source="ANNOTATION")]

    with LangfuseStub(evaluator=evaluator, page=1) as stub:
        (ticket,) = sent(stub, "c1")
        assert said(collected(stub, [ticket]).scores[ticket].answer) == "ambiguous"
        first = stub.v3({"traceId": ticket, "fields": "details,subject", "limit": "1"})[1]
        stub.plan(V3, 200, json.dumps(first).encode())
        stub.plan(V3, 200, b"<html>gateway</html>")
        found = collected(stub, [ticket])
        assert found.scores == {}
        assert found.failure is not None
        assert found.failure.code == "not_json"


def test_collect__an_old_deployment_keeps_the_traces_whose_question_was_answered() -> None:
    """S1-32."""
    with LangfuseStub(evaluator=lambda _: [numeric("tone", 1)], has_v3=False) as stub:
        tickets = sent(stub, "c1", "c2", "c3")
        stub.plan(V2, 500, b"{}")
        found = collected(stub, tickets)
        assert len(found.scores) == 2
        assert found.failure is not None
        assert found.failure.code == "server_error"


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (200, b"<html>maintenance</html>", "not_json"),
        (200, b"[]", "contract_violation"),
        (200, b'{"data": [1], "meta": {}}', "contract_violation"),
        (200, b'{"data": [], "meta": {"cursor": 5}}', "contract_violation"),
        (500, b"{}", "server_error"),
        (401, b"{}", "unauthorized"),
        (503, b"<html></html>", "server_error"),
    ],
)
def test_collect__whatever_is_no_page_is_a_failure(status: int, body: bytes, code: str) -> None:
    with LangfuseStub() as stub:
        stub.plan(V3, status, body)
        found = collected(stub, ["0" * 32])
        assert found.scores == {}
        assert found.failure is not None
        assert found.failure.code == code
        assert found.failure.stage == "collect"


def test_collect__429_says_when_to_come_back() -> None:
    """S1-L3: one call; whoever settles decides whether the deadline allows another."""
    with LangfuseStub() as stub:
        stub.plan(V3, 429, b"{}", Retry_After="9")
        found = collected(stub, ["0" * 32])
        assert found.again_s == 9.0
        assert found.failure is not None
        assert found.failure.code == "rate_limited"
        assert len(stub.to(V3)) == 1


def test_collect__a_cursor_that_comes_twice_ends_the_question() -> None:
    with LangfuseStub() as stub:
        for _ in range(3):
            stub.plan(V3, 200, b'{"data": [], "meta": {"cursor": "again"}}')
        found = collected(stub, ["0" * 32])
        assert found.failure is not None
        assert found.failure.code == "page_loop"
        assert len(stub.to(V3)) == 2


def test_collect__pages_without_end_end() -> None:
    with LangfuseStub() as stub:
        for number in range(MOST_PAGES + 5):
            cursor = base64.urlsafe_b64encode(str(number).encode()).decode()
            body = f'{{"data": [], "meta": {{"cursor": "{cursor}"}}}}'
            stub.plan(V3, 200, body.encode())
        found = collected(stub, ["0" * 32])
        assert found.failure is not None
        assert found.failure.code == "too_many_pages"
        assert len(stub.to(V3)) == MOST_PAGES


def test_collect__traces_never_asked_for_are_named_and_nothing_else() -> None:
    """G-14: a deployment that ignores the filter changes no score."""
    with LangfuseStub(evaluator=lambda _: [numeric("tone", 1)]) as stub:
        mine, other = sent(stub, "c1", "c2")
        everything = stub.v3({"fields": "details,subject", "limit": "100"})[1]
        everything["data"] += [
            {**everything["data"][0], "name": "another", "value": 0},
            {**everything["data"][0], "subject": None},
        ]
        stub.plan(V3, 200, json.dumps(everything).encode())
        found = collected(stub, [mine])
        assert {key: said(one.answer) for key, one in found.scores.items()} == {mine: 1.0}
        assert found.violations == (
            f'scores of 1 traces that were not asked for: "{other}"',
            "1 scores do not say which trace they are of",
        )


def test_collect__a_score_on_an_observation_counts_for_its_trace() -> None:
    with LangfuseStub() as stub:
        (ticket,) = sent(stub, "c1")
        subject = {"kind": "observation", "id": "o1", "traceId": ticket}
        stub.score(ticket, numeric("tone", 0.5, subject=subject))
        assert said(collected(stub, [ticket]).scores[ticket].answer) == 0.5


# --- purging


def test_purge__deletes_what_was_sent_and_may_be_repeated() -> None:
    """S1-47."""
    with LangfuseStub(evaluator=lambda _: [numeric("tone", 1)]) as stub:
        tickets = sent(stub, "c1", "c2", "c3")

        async def twice(judge: DeferredJudge) -> list[Purged]:
            return [await judge.purge(tickets[:2], 60.0), await judge.purge(tickets[:2], 60.0)]

        assert [done.state for done in using(stub, twice)] == ["done", "done"]
        assert stub.deleted == tickets[:2]
        assert list(stub.traces) == tickets[2:]


@pytest.mark.parametrize(
    ("status", "state"),
    [(404, "unsupported"), (405, "unsupported"), (429, "failed"), (500, "failed"), (401, "failed")],
)
def test_purge__says_what_it_could_not_do(status: int, state: str) -> None:
    with LangfuseStub() as stub:
        stub.plan("/api/public/traces", status, b"{}")
        done = using(stub, lambda judge: judge.purge(["0" * 32], 60.0))
        assert done.state == state
        assert f"answered {status}" in done.message
