"""A judge over HTTP: what it is asked, and what each answer of it means (contract section 5)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from releasecheck.errors import ConfigError, EnvironmentMissing
from releasecheck.model.record import Usage
from releasecheck.model.score import JudgeAnswer, JudgeFailed, NotApplicable, Pending, Scored
from releasecheck.ports import Collected, Judged
from tests.fakes import FakeClock
from tests.unit.judges.builders import ask, reason
from tests.unit.judges.builders import said as word
from tests.unit.judges.httpjudge import WHO, Script, answering, http_judge, in_turn, said

BROKEN = "contract_violation"
LONG = "t" * 4096


def judged(script: Script, **spec: Any) -> Judged:
    return asyncio.run(http_judge(script, **spec).judge(ask("out", "exp")))


def collected(body: object, *tickets: str, status: int = 200, **headers: str) -> Collected:
    judge = http_judge(answering(body, status, **headers))
    return asyncio.run(judge.collect(tickets or ("t1", "t2"), 5.0))


def code_of(answer: JudgeAnswer) -> tuple[str, str, str]:
    assert isinstance(answer, JudgeFailed), answer
    return answer.failure.cls, answer.failure.stage, answer.failure.code


def failed(found: Collected) -> tuple[str, str, bool, str]:
    assert found.failure is not None
    assert found.scores == {}
    failure = found.failure
    return failure.cls, failure.code, failure.retryable, failure.message or ""


# --- what is sent -------------------------------------------------------------------------------------


def test_judge__asks_as_the_contract_says() -> None:
    """Contract section 5; S2-48: the same key in body and header."""
    seen: list[httpx.Request] = []

    def script(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return said(WHO if request.method == "GET" else {"score": {"value": 1}})

    judge = http_judge(
        script,
        headers={"Authorization": "Bearer ${TOKEN}", "Idempotency-Key": "mine"},
        environment={"TOKEN": "abcdefgh-secret"},
    )
    asyncio.run(judge.judge(ask("out", "exp", metadata={"k": 1})))
    who, posted = seen
    assert (who.method, str(who.url), who.content) == ("GET", "http://judge.test/score", b"")
    assert who.headers["authorization"] == "Bearer abcdefgh-secret"
    assert posted.headers["idempotency-key"] == "key"
    assert posted.headers.get_list("idempotency-key") == ["key"]
    assert posted.headers["content-type"] == "application/json"
    assert json.loads(posted.content) == {
        "contract": "evaluator@2",
        "run": "rc-1",
        "judge": "j",
        "case": {"id": "c1", "input": "the question", "expected": "exp", "metadata": {"k": 1}},
        "trial": 0,
        "output": "out",
        "idempotency_key": "key",
    }


def test_collect_and_purge__ask_below_the_address() -> None:
    seen: list[tuple[str, str, object]] = []

    def script(request: httpx.Request) -> httpx.Response:
        seen.append((request.method, str(request.url), json.loads(request.content)))
        return said({"scores": {}})

    judge = http_judge(script, url="http://judge.test/score/?v=1")
    asyncio.run(judge.collect(["t1"], 5.0))
    asyncio.run(judge.purge(["t1", "t2"], 5.0))
    assert seen == [
        (
            "POST",
            "http://judge.test/score/collect?v=1",
            {"contract": "evaluator@2", "tickets": ["t1"]},
        ),
        (
            "DELETE",
            "http://judge.test/score/traces?v=1",
            {"contract": "evaluator@2", "tickets": ["t1", "t2"]},
        ),
    ]


def test_collect__more_than_fifty__is_a_defect_of_ours() -> None:
    """S1-39."""
    judge = http_judge(answering({"scores": {}}))
    asyncio.run(judge.collect([f"t{n}" for n in range(50)], 5.0))
    with pytest.raises(ValueError, match="at most 50 tickets in one question, found 51"):
        asyncio.run(judge.collect([f"t{n}" for n in range(51)], 5.0))


def test_open__what_cannot_work_is_said() -> None:
    with pytest.raises(ConfigError, match=r"judge j\.url: 'judge.example' is no http"):
        http_judge(answering({}), url="judge.example")
    with pytest.raises(EnvironmentMissing, match="TOKEN is not set"):
        http_judge(answering({}), headers={"a": "${TOKEN}"})


# --- an answer to an output ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"score": {"value": 0.25, "reason": "so"}}, Scored(0.25, "so")),
        ({"score": {"value": False}}, Scored(0.0)),
        ({"score": {"value": 0}, "contract": "evaluator@2", "more": 1}, Scored(0.0)),
        ({"score": {"value": 1, "at": "2026-01-05T09:00:00Z"}}, Scored(1.0)),
        ({"score": {"state": "not-applicable", "reason": "no links"}}, NotApplicable("no links")),
        ({"state": "pending", "ticket": "t1"}, Pending("t1")),
        ({"state": "pending", "ticket": "../../t6?x=1#y"}, Pending("../../t6?x=1#y")),
        ({"state": "pending", "ticket": LONG}, Pending(LONG)),
    ],
)
def test_judge__answers(body: object, expected: JudgeAnswer) -> None:
    """S1-02, S1-12; B133: a hostile ticket is text like any other."""
    assert judged(answering(body)).answer == expected


@pytest.mark.parametrize(
    ("body", "code", "says"),
    [
        # S1-31: neither a value nor a state is never "not applicable".
        ({"score": {}}, BROKEN, "neither `value` nor `state`"),
        ({"score": {"reason": "x"}}, BROKEN, "its keys: reason"),
        ({}, BROKEN, "neither `score` nor the state pending in the answer; its keys: none"),
        ({"result": 1}, BROKEN, "its keys: result"),
        ({"score": None}, BROKEN, "a score is an object"),
        ({"score": 0.5}, BROKEN, 'write {"value": 0.5}'),
        ({"value": 0.5}, BROKEN, "`value` stands inside `score`"),
        ({"state": "failed", "reason": "x"}, BROKEN, 'the state "failed" stands inside `score`'),
        ({"state": "scored"}, BROKEN, "stands inside `score`"),
        # A value beside a state without one.
        ({"score": {"state": "failed", "value": 1, "reason": "x"}}, BROKEN, "beside the state"),
        ({"state": "pending", "ticket": "t", "value": 0}, BROKEN, "the value 0 beside the state"),
        ({"state": "pending", "ticket": "t", "score": {"value": 1}}, BROKEN, "beside a `score`"),
        # S1-38: pending without a ticket.
        ({"state": "pending"}, BROKEN, "pending without a `ticket`"),
        ({"state": "pending", "ticket": None}, BROKEN, "pending without a `ticket`"),
        ({"state": "pending", "ticket": " "}, BROKEN, "pending under an empty ticket"),
        ({"state": "pending", "ticket": 7}, BROKEN, "a ticket that is a number, 7"),
        ({"state": "pending", "ticket": ["t"]}, BROKEN, "a ticket that is a list"),
        ({"state": "pending", "ticket": LONG + "t"}, BROKEN, "a ticket of 4097 characters"),
        ({"state": "pending", "ticket": "\ud800"}, BROKEN, "half a surrogate pair"),
        ({"score": {"state": "pending", "ticket": "t"}}, BROKEN, "in its place"),
        # B58, B59, B61.
        ({"score": {"value": "1.0"}}, BROKEN, "must be a number"),
        ({"score": {"value": 1.5}}, BROKEN, "outside the scale 0 to 1"),
        ({"score": {"value": float("nan")}}, "malformed", "NaN is not JSON"),
        ({"score": {"value": float("inf")}}, "malformed", "Infinity is not JSON"),
        (b'{"score": {"value": 1e999}}', "malformed", "too large"),
        (b'{"score": {"value": 1, "value": 0}}', "malformed", "'value' is given twice"),
        (b'{"score": {"value": 12345678901234567890}}', "malformed", "beyond 2^53"),
        ({"score": {"value": 1, "at": "yesterday"}}, BROKEN, "`at` must be a time"),
        ({"score": {"value": 1, "usage": {"tokens": -1}}}, BROKEN, "usage.tokens"),
        ([], "malformed", "expected an object, found a list"),
        (b"", "not_json", "not JSON"),
        (b"<html>Sign in</html>", "not_json", "it starts '<html>Sign in</html>'"),
        (b"[" * 100_000, "not_json", "nested deeper than 200 levels"),
        (b'{"a":' + b"[" * 300 + b"]" * 300 + b"}", "malformed", "nested deeper than 200"),
        (b"\xff", "not_json", "not UTF-8"),
    ],
)
def test_judge__violations__are_named(body: object, code: str, says: str) -> None:
    """S1-31, S1-38, B13, B14, B43, B56, B58, B59: never 0, never not-applicable."""
    found = judged(answering(body), scale=[0, 1]).answer
    assert code_of(found) == ("judge", "judge", code)
    assert says in reason(found)


def test_judge__its_own_failure__is_told_apart() -> None:
    found = judged(answering({"score": {"state": "failed", "reason": "out of credit"}})).answer
    assert code_of(found) == ("judge", "judge", "judge_failed")
    assert reason(found) == "out of credit"


def test_judge__usage() -> None:
    score = {"value": 1, "usage": {"tokens": 3, "cost_usd": 0.5}}
    assert judged(answering({"score": score})).usage == Usage(3, 0.5)
    pending = {"state": "pending", "ticket": "t", "usage": {"tokens": 2}}
    assert judged(answering(pending)).usage == Usage(2, None)


def test_judge__one_ticket_for_two_outputs__is_no_answer_to_either() -> None:
    """B133: the first would get the other's score as well, so both are left to settling, which refuses both."""
    judge = http_judge(answering({"state": "pending", "ticket": "t1"}))

    async def run() -> list[str | float]:
        first = ask("out")
        again = await judge.judge(first), await judge.judge(first)
        other = await judge.judge(first._replace(idempotency_key="other"))
        return [word(one.answer) for one in (*again, other)]

    assert asyncio.run(run()) == ["pending", "pending", "pending"]


def test_judge__a_secret_in_a_ticket__is_not_kept() -> None:
    secrets = {"TOKEN": "abcdefgh-secret"}
    found = judged(
        answering({"state": "pending", "ticket": "x-abcdefgh-secret"}), environment=secrets
    )
    assert code_of(found.answer)[2] == BROKEN
    assert "abcdefgh" not in reason(found.answer)
    told = judged(
        answering({"score": {"value": 1, "reason": "key abcdefgh-secret"}}), environment=secrets
    )
    assert told.answer == Scored(1.0, "key [redacted:TOKEN]")


@pytest.mark.parametrize(
    ("status", "found"),
    [
        (400, ("judge", "bad_request", False)),
        (401, ("config", "unauthorized", False)),
        (404, ("config", "not_found", False)),
        (422, ("judge", "bad_request", False)),
        (429, ("infra", "rate_limited", True)),
        (500, ("infra", "server_error", True)),
        (302, ("config", "redirect", False)),
        (206, ("infra", "partial_content", True)),
    ],
)
def test_judge__statuses(status: int, found: tuple[str, str, bool]) -> None:
    answer = judged(answering({"score": {"value": 1}}, status)).answer
    assert isinstance(answer, JudgeFailed)
    assert (answer.failure.cls, answer.failure.code, answer.failure.retryable) == found


def test_judge__three_attempts_at_most_as_the_server_asks() -> None:
    """X-18."""
    clock = FakeClock()
    slow = in_turn(
        said({}, 429, **{"retry-after": "7"}), said({}, 503), said({"score": {"value": 1}})
    )
    assert judged(slow, clock=clock).answer == Scored(1.0)
    assert clock.slept[0] >= 7.0
    down = in_turn(*[said({}, 503)] * 3, said({"score": {"value": 1}}))
    answer = judged(down).answer
    assert code_of(answer) == ("infra", "judge", "server_error")
    assert reason(answer).startswith("after 3 attempts: ")


# --- who it is ----------------------------------------------------------------------------------------


def identity(body: object, status: int = 200) -> tuple[JudgeAnswer, int]:
    """What every output gets from a judge that says this of itself, and how often it was judged."""
    posted = 0

    def script(request: httpx.Request) -> httpx.Response:
        nonlocal posted
        if request.method == "GET":
            return said(body, status)
        posted += 1
        return said({"score": {"value": 1}})

    judge = http_judge(script)

    async def run() -> JudgeAnswer:
        await judge.judge(ask("a"))
        return (await judge.judge(ask("b"))).answer

    return asyncio.run(run()), posted


def test_identity__is_asked_once() -> None:
    gets = 0

    def script(request: httpx.Request) -> httpx.Response:
        nonlocal gets
        gets += request.method == "GET"
        return said(WHO if request.method == "GET" else {"score": {"value": 1}})

    judge = http_judge(script)

    async def run() -> None:
        await asyncio.gather(*[judge.judge(ask(n)) for n in range(20)])

    asyncio.run(run())
    assert gets == 1


@pytest.mark.parametrize(
    ("body", "status", "code", "says"),
    [
        ({"contract": "evaluator@1"}, 200, "contract_refused", "it speaks evaluator@1, which is"),
        ({"contract": "evaluator@3"}, 200, "contract_refused", '"evaluator@3"; expected evalu'),
        ({"contract": 2}, 200, "contract_refused", "the contract 2;"),
        ({"name": "x"}, 200, "contract_unknown", "no `contract` in it"),
        (b"<html>", 200, "contract_unknown", "not JSON"),
        ({}, 404, "contract_unknown", "answered 404"),
        ({}, 405, "contract_unknown", "answered 405"),
        ({}, 401, "unauthorized", "answered 401"),
    ],
)
def test_identity__another_contract__judges_nothing(
    body: object, status: int, code: str, says: str
) -> None:
    """S1-14, S1-15: refused by name, and no output is sent."""
    answer, posted = identity(body, status)
    assert code_of(answer) == ("config", "judge", code)
    assert says in reason(answer)
    assert posted == 0


def test_identity__a_judge_that_is_down_is_asked_again_later() -> None:
    left = iter([*[said({}, 503)] * 3, said(WHO)])

    def script(request: httpx.Request) -> httpx.Response:
        return next(left) if request.method == "GET" else said({"score": {"value": 1}})

    judge = http_judge(script)

    async def run() -> list[str | float]:
        # Both wait for the same three questions.
        first = await asyncio.gather(judge.judge(ask("a")), judge.judge(ask("b")))
        return [word(one.answer) for one in (*first, await judge.judge(ask("a")))]

    assert asyncio.run(run()) == ["server_error", "server_error", 1.0]


@pytest.mark.parametrize("contract", ["evaluator@1", "evaluator@3", None])
def test_answers__in_another_contract__are_refused(contract: object) -> None:
    """S1-15: also where the judge changed after it was asked who it is."""
    body = {"contract": contract, "score": {"value": 1}, "scores": {"t1": {"value": 1}}}
    assert code_of(judged(answering(body)).answer) == ("config", "judge", "contract_refused")
    cls, code, retryable, message = failed(collected(body))
    assert (cls, code, retryable) == ("config", "contract_refused", False)
    assert str(contract or "null") in message


# --- what was deferred --------------------------------------------------------------------------------


def test_collect__each_ticket_by_itself() -> None:
    """S1-32, S1-33, S1-37, G-14: one bad score fails its own pair, an omitted one stays pending."""
    found = collected(
        {
            "scores": {
                "good": {"value": 0.5, "reason": "so", "at": "2026-01-05T10:00:00.5+01:00"},
                "later": {"state": "pending"},
                "not": {"state": "not-applicable", "reason": "n"},
                "broken": {"state": "failed", "reason": "f"},
                "nothing": {},
                "null": None,
                "nan": {"value": float("nan"), "reason": "r"},
                "text": {"value": "1"},
                "both": {"state": "pending", "value": 1},
                "moved": {"state": "pending", "ticket": "elsewhere"},
                "late": {"value": 1, "at": "2026-01-05"},
            }
        },
        *("good", "later", "not", "broken", "nothing", "null", "nan", "text", "both", "moved"),
        *("late", "omitted"),
    )
    assert found.failure is None
    assert found.violations == ()
    assert {ticket: word(one.answer) for ticket, one in found.scores.items()} == {
        "good": 0.5,
        "later": "pending",
        "not": "not-applicable",
        "broken": "judge_failed",
        "nothing": BROKEN,
        "null": BROKEN,
        "nan": "malformed",
        "text": BROKEN,
        "both": BROKEN,
        "moved": BROKEN,
        "late": BROKEN,
    }
    assert found.scores["good"].made_at == "2026-01-05T09:00:00.500Z"
    assert found.scores["later"].answer == Pending("later")
    assert code_of(found.scores["nan"].answer) == ("judge", "collect", "malformed")
    assert "NaN is not JSON" in reason(found.scores["nan"].answer)
    assert "neither `value` nor `state`" in reason(found.scores["nothing"].answer)


def test_collect__tickets_nobody_asked_for__are_violations() -> None:
    """G-14: named, and they bring no score."""
    scores = {"t1": {"value": 1}, **{f"x{n}": {"value": 1} for n in range(8)}}
    found = collected({"scores": scores}, "t1", "t2")
    assert {ticket: word(one.answer) for ticket, one in found.scores.items()} == {"t1": 1.0}
    assert len(found.violations) == 6
    assert 'a ticket that was not asked for, "x0"' in found.violations[0]
    assert "3 more" in found.violations[-1]


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        ('{"value": 1}', '{"value": 1, "reason": "again"}', 1.0),
        ('{"value": 1}', '{"value": true}', 1.0),
        ('{"value": 1}', '{"value": 0}', "conflict"),
        ('{"value": 1}', '{"state": "failed", "reason": "x"}', "conflict"),
        ('{"value": 1}', '{"state": "not-applicable", "reason": "x"}', "conflict"),
        ('{"value": 1}', '{"value": NaN}', "conflict"),
        ('{"value": 1}', '{"state": "pending"}', 1.0),
        ('{"state": "pending"}', '{"state": "pending"}', "pending"),
    ],
)
def test_collect__the_same_ticket_twice(first: str, second: str, outcome: str | float) -> None:
    """G-14: a different value is a conflict, the same one is none; B20: the last one never just wins."""
    for one, other in ((first, second), (second, first)):
        body = f'{{"scores": {{"t1": {one}, "t2": {{"value": 0}}, "t1": {other}}}}}'
        found = collected(body.encode())
        assert word(found.scores["t1"].answer) == outcome
        assert word(found.scores["t2"].answer) == 0.0


@pytest.mark.parametrize(
    ("body", "code", "says"),
    [
        (b"<html>Sign in</html>", "not_json", "starts '<html>Sign in</html>'"),
        (b"", "not_json", "not JSON"),
        ([], "malformed", "expected an object, found a list"),
        (b"NaN", "malformed", "NaN is not JSON"),
        ({}, "malformed", "`scores` must be an object with tickets as keys, and is not there"),
        ({"scores": [{"ticket": "t1"}]}, "malformed", "and is a list"),
        ({"scores": None}, "malformed", "and is null"),
        (b'{"scores": {}, "scores": {}}', "malformed", "'scores' is given twice"),
        (b'{"scores": NaN}', "malformed", "`scores` must be"),
    ],
)
def test_collect__an_answer_that_is_none__is_a_failure(body: object, code: str, says: str) -> None:
    """B43, S1-32: the call failed; every ticket stays as it was."""
    cls, found, retryable, message = failed(collected(body))
    assert (cls, found, retryable) == ("judge", code, False)
    assert message.startswith("POST http://judge.test/score/collect: ")
    assert says in message


@pytest.mark.parametrize(
    ("status", "found"),
    [
        (429, ("infra", "rate_limited", True)),
        (503, ("infra", "server_error", True)),
        (400, ("judge", "bad_request", False)),
        (404, ("config", "not_found", False)),
    ],
)
def test_collect__one_call_without_retries(status: int, found: tuple[str, str, bool]) -> None:
    calls = 0

    def script(_: httpx.Request) -> httpx.Response:
        nonlocal calls
        calls += 1
        return said({}, status, **{"retry-after": "9"})

    brought = asyncio.run(http_judge(script).collect(["t1"], 5.0))
    assert failed(brought)[:3] == found
    assert brought.again_s == 9.0
    assert calls == 1


@pytest.mark.parametrize("rejudge", [True, False])
def test_collect__an_expired_ticket_is_judged_anew_where_that_is_asked_for(rejudge: bool) -> None:
    """G-15: a failure either way, and worth another attempt with `rejudge: true`."""
    body = {"scores": {"t1": {"state": "failed", "reason": "ticket_expired after a day"},
                       "t2": {"state": "failed", "reason": "no ticket_expired here"}}}  # fmt: skip
    judge = http_judge(answering(body), rejudge=rejudge)
    found = asyncio.run(judge.collect(("t1", "t2"), 5.0)).scores
    expired, other = found["t1"].answer, found["t2"].answer
    assert code_of(expired) == ("judge", "collect", "ticket_expired")
    assert isinstance(expired, JudgeFailed)
    assert expired.failure.retryable is rejudge
    assert code_of(other) == ("judge", "collect", "judge_failed")
    assert isinstance(other, JudgeFailed)
    assert not other.failure.retryable


def test_collect__leaves_the_host_alone_as_long_as_it_asked() -> None:
    """G-12: nothing is sent, and nothing is waited for in here."""
    clock = FakeClock()
    judge = http_judge(
        in_turn(said({}, 429, **{"retry-after": "9"}), said({"scores": {}})), clock=clock
    )

    async def run() -> list[float | None]:
        waits = [(await judge.collect(["t1"], 5.0)).again_s]
        clock.advance(4.0)
        waits.append((await judge.collect(["t1"], 5.0)).again_s)
        clock.advance(5.0)
        waits.append((await judge.collect(["t1"], 5.0)).again_s)
        return waits

    assert asyncio.run(run()) == [9.0, 5.0, None]
    assert clock.slept == []


def test_collect__retry_after_beside_scores() -> None:
    pending = {"scores": {"t1": {"state": "pending"}}}
    found = collected(pending, status=200, **{"retry-after": "30"})
    assert found.again_s == 30.0
    assert found.failure is None


def test_collect__scale_and_secrets() -> None:
    judge = http_judge(
        answering(
            {"scores": {"t1": {"value": 2}, "t2": {"value": 1, "reason": "abcdefgh-secret"}}}
        ),
        scale=[0, 1],
        environment={"TOKEN": "abcdefgh-secret"},
    )
    found = asyncio.run(judge.collect(["t1", "t2"], 5.0)).scores
    assert code_of(found["t1"].answer) == ("judge", "collect", BROKEN)
    assert found["t2"].answer == Scored(1.0, "[redacted:TOKEN]")


@pytest.mark.parametrize(
    ("status", "state"),
    [(200, "done"), (204, "done"), (404, "unsupported"), (405, "unsupported"), (500, "failed")],
)
def test_purge__states(status: int, state: str) -> None:
    """S1-47."""
    judge = http_judge(answering(b"", status))
    assert asyncio.run(judge.purge(["t1"], 5.0)).state == state
