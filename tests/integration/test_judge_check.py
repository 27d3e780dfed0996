"""`judge check` against judges that keep evaluator@2 and judges that break it, over loopback."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typing_extensions import override

from releasecheck.drivers.local.clock import SystemClock
from releasecheck.errors import ConfigError, EnvironmentMissing, UsageError
from releasecheck.pipeline.checking import Checked, CheckRequest, check_address, check_judge_of
from releasecheck.pipeline.world import World
from tests.fakes import HeardProgress
from tests.judgeserver import DIE, HANG, HTML, Fault, JudgeServer, answer, status
from tests.processes import environment as our_environment

if TYPE_CHECKING:
    from collections.abc import Mapping

REQUEST = CheckRequest("u1", deadline_s=5.0, interval_s=0.01)
IMPATIENT = CheckRequest("u1", deadline_s=0.3, interval_s=0.01)


class HastyClock(SystemClock):
    """Sleeps a twentieth."""

    @override
    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 20)


def world(**variables: str) -> World:
    return World(
        clock=HastyClock(),
        environment=our_environment(**variables),
        cwd=Path(),
        progress=HeardProgress(),
        tool="releasecheck/test",
    )


def checked(
    server: JudgeServer,
    request: CheckRequest = REQUEST,
    headers: Mapping[str, str] | None = None,
    **variables: str,
) -> Checked:
    return asyncio.run(check_address(server.url, headers or {}, world(**variables), request))


def outcomes(found: Checked) -> dict[str, str]:
    return {probe.name: probe.outcome for probe in found.probes}


def failures(found: Checked) -> dict[str, str]:
    return {probe.name: probe.found for probe in found.probes if probe.outcome == "failed"}


# --- judges that keep it ------------------------------------------------------------------------------


@pytest.mark.parametrize("after", [1, 3])
def test_check__deferred(after: int) -> None:
    """S1-13, S1-30: the ticket is collected, and every probe has something to try."""
    with JudgeServer(after=after) as server:
        found = checked(server)
        assert outcomes(found) == dict.fromkeys(
            (
                *("identity", "sample", "collect", "deadline", "delivered-again"),
                *("strange-ticket", "batch", "idempotency", "malformed", "cancel", "purge"),
            ),
            "ok",
        )
        assert found.exit_code == 0
        assert found.reached
        # S1-39: fifty and never more.
        assert max(len(tickets) for tickets in server.collected) == 50
        assert all(len(tickets) <= 50 for tickets in server.purged)
        given = {server_ticket for tickets in server.purged for server_ticket in tickets}
        assert given == set(server._asked_at)
        assert len(given) >= 7  # sample, five of the batch, and those that were broken off


def test_check__immediate() -> None:
    """S1-13: the same suite."""
    with JudgeServer(after=0) as server:
        found = checked(server)
    assert found.exit_code == 0
    assert {name for name, outcome in outcomes(found).items() if outcome == "ok"} == {
        *("identity", "sample", "idempotency", "malformed", "cancel"),
    }
    assert set(outcomes(found).values()) == {"ok", "not-applicable"}


class Slow(JudgeServer):
    """Hangs with the first request that comes to be broken off."""

    @override
    def on_judge(self, body: bytes) -> Fault:
        made = super().on_judge(body)
        return HANG if b"sample-51" in body and not self.hanging.is_set() else made


GLANCE_S = 0.05
"""How long a request that is to be broken off is under way, at first."""


class ClockOfSlow(HastyClock):
    """Breaks a request off once it has arrived: on a busy machine it may not have, after a moment."""

    def __init__(self, server: Slow) -> None:
        super().__init__()
        self._server = server

    @override
    async def sleep(self, seconds: float) -> None:
        if seconds != GLANCE_S:
            await super().sleep(seconds)
            return
        async with asyncio.timeout(30):
            while not self._server.hanging.is_set():  # noqa: ASYNC110 - a thread sets it
                await asyncio.sleep(0.005)


@pytest.mark.parametrize("after", [0, 1])
def test_check__a_request_that_is_broken_off(after: int) -> None:
    """S1-27, S1-41: the client leaves, and the same request comes again."""
    with Slow(after=after) as server:
        patient = replace(world(), clock=ClockOfSlow(server))
        found = asyncio.run(check_address(server.url, {}, patient, REQUEST))
        assert server.left.wait(5)
        names = [asked["case"]["id"] for asked in server.asked]
        assert names.count("sample-51") == 2
        assert "sample-52" not in names
    (cancel,) = [probe for probe in found.probes if probe.name == "cancel"]
    assert cancel.outcome == "ok"
    assert cancel.found.startswith("a request was broken off; the next one: ")


def test_check__as_many_samples_as_wanted() -> None:
    with JudgeServer() as server:
        found = checked(server, CheckRequest("u1", 5.0, samples=50, interval_s=0.01))
        assert "50 tickets in one question brought 50 of 50 scores" in str(found.probes)
        keys = Counter(asked["idempotency_key"] for asked in server.asked)
        assert len(keys) >= 52


def test_check__a_judge_that_fails_by_its_own_word__is_a_warning() -> None:
    with JudgeServer(after=0, score=lambda _: {"state": "failed", "reason": "no credit"}) as server:
        found = checked(server)
    assert outcomes(found)["sample"] == "warning"
    assert found.exit_code == 0


def test_check__purge_not_supported__is_allowed() -> None:
    with JudgeServer() as server:
        server.always["purge"] = status(405)
        found = checked(server)
    assert outcomes(found)["purge"] == "not-applicable"
    assert found.exit_code == 0


# --- judges that break it -----------------------------------------------------------------------------


class AnswersOnlyWhenAskedAgain(JudgeServer):
    """Never delivers under its ticket, and would score at once if the output came again."""

    @override
    def on_judge(self, body: bytes) -> Fault:
        made = super().on_judge(body)
        keys = [asked["idempotency_key"] for asked in self.asked]
        if made.status == 202 and keys.count(keys[-1]) > 1:
            return answer({"score": {"value": 1}})
        return made


def test_check__a_ticket_that_is_never_collected__fails() -> None:
    """S1-40, S1-30: even if asking again would answer at once; and it is not asked again instead."""
    with AnswersOnlyWhenAskedAgain(after=None) as server:
        found = checked(server, IMPATIENT)
        sample = server.asked[0]["idempotency_key"]
        assert [asked["idempotency_key"] for asked in server.asked].count(sample) == 1
        assert len(server.collected) > 1
        assert all(len(tickets) == 1 for tickets in server.collected)
    assert list(failures(found)) == ["collect"]
    assert "no score came for it" in failures(found)["collect"]
    assert "the last answer was pending" in failures(found)["collect"]
    assert found.exit_code == 2
    assert outcomes(found)["idempotency"] == "not-applicable"


class Breaking(JudgeServer):
    """Breaks the contract in the way of its name."""

    def __init__(self, how: str, **more: Any) -> None:
        super().__init__(**more)
        self.how = how
        self.scored = 0
        if how == "changes":
            self.score = self._next

    def _next(self, _: object) -> dict[str, Any]:
        self.scored += 1
        return {"value": self.scored}

    @override
    def on_judge(self, body: bytes) -> Fault:
        made = super().on_judge(body)
        if made.status == 400 and self.how == "crashes":
            return status(500)
        if made.status == 400 and self.how == "scores-nothing":
            return answer({"score": {"value": 0}})
        if self.how == "dies-after-cancel" and "sample-5" in body.decode():
            return status(503)
        if self.how == "one-ticket" and made.status == 202:
            return answer({"state": "pending", "ticket": self.ticket_of("sample")}, 202)
        return made

    @override
    def on_collect(self, body: bytes) -> Fault:
        tickets = json.loads(body)["tickets"]
        if self.how == "small-batches" and len(tickets) > 10:
            return status(413)
        if self.how == "refuses-strangers" and any("made-up" in ticket for ticket in tickets):
            return status(400, body=b"unknown ticket")
        if self.how == "once" and self.collected:
            self.omits = {"sample"}
        made = super().on_collect(body)
        if self.how == "scores-strangers":
            return answer(made.body.replace(b'"state": "failed"', b'"value": 1'))
        return made


@pytest.mark.parametrize(
    ("how", "after", "probe", "says"),
    [
        ("once", 1, "delivered-again", "the last answer left it out"),
        ("changes", 1, "delivered-again", "first scored 1.0, then scored 2.0"),
        ("changes", 0, "idempotency", "first scored 1.0, then scored 2.0"),
        ("crashes", 0, "malformed", "a request without `output`"),
        ("scores-nothing", 1, "malformed", "a request without `output` was answered 200"),
        ("scores-strangers", 1, "strange-ticket", "a made-up ticket got scored 1.0"),
        ("refuses-strangers", 1, "strange-ticket", "unknown ticket"),
        ("small-batches", 1, "batch", "answered 413"),
        ("one-ticket", 1, "batch", "5 outputs got 0 tickets of their own"),
        ("dies-after-cancel", 0, "cancel", "server_error"),
    ],
)
def test_check__names_what_is_broken(how: str, after: int, probe: str, says: str) -> None:
    with Breaking(how, after=after) as server:
        found = checked(server, IMPATIENT)
    assert says in failures(found)[probe]
    assert found.exit_code == 2
    assert all(one.todo for one in found.probes if one.outcome == "failed")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"omits": {"sample"}}, "the last answer left it out"),
        ({"twice": {"sample": {"value": 0}}}, "conflict"),
        ({"invents": {"stranger": {"value": 1}}}, "a ticket that was not asked for"),
        ({"score": lambda _: {"value": float("nan")}}, "NaN is not JSON"),
        ({"score": lambda _: {}}, "neither `value` nor `state`"),
        ({"always": {"collect": HTML}}, "not JSON"),
        ({"always": {"collect": DIE}}, "the last question failed"),
        ({"always": {"collect": status(404)}}, "answered 404"),
        ({"always": {"collect": answer({"contract": "evaluator@1"})}}, "evaluator@1"),
    ],
)
def test_check__collect__names_what_is_broken(change: dict[str, Any], says: str) -> None:
    """S1-31, S1-33, G-14."""
    with JudgeServer() as server:
        for name, value in change.items():
            setattr(server, name, value)
        found = checked(server, IMPATIENT)
    assert says in failures(found)["collect"]
    assert found.exit_code == 2


def test_check__collect__is_not_asked_again_where_it_is_not_served() -> None:
    with JudgeServer() as server:
        server.always["collect"] = status(404)
        assert checked(server).exit_code == 2
        assert server.calls["collect"] == 1


def test_check__an_answer_that_breaks_the_contract__ends_with_the_sample() -> None:
    with JudgeServer(after=0) as server:
        server.always["judge"] = answer({"state": "pending"})
        found = checked(server)
    assert "pending without a `ticket`" in failures(found)["sample"]
    assert "collect" not in outcomes(found)


@pytest.mark.parametrize(
    ("who", "says"),
    [
        (answer({"contract": "evaluator@1"}), "it speaks evaluator@1, which is refused"),
        (answer({"contract": "evaluator@9"}), '"evaluator@9"'),
        (HTML, "a judge answers GET with"),
        (status(405), "answered 405"),
    ],
)
def test_check__another_contract__ends_it(who: Fault, says: str) -> None:
    """S1-14: nothing is judged."""
    with JudgeServer() as server:
        server.always["identity"] = who
        found = checked(server)
        assert server.calls == {"identity": 1}
    assert says in failures(found)["identity"]
    assert (found.exit_code, found.reached) == (2, True)


def test_check__nobody_there() -> None:
    with JudgeServer() as server:
        pass
    found = checked(server)
    assert (found.exit_code, found.reached) == (4, False)
    assert "could not be reached" in found.verdict


def test_check__a_header_is_sent_and_never_shown() -> None:
    def telling(_: object) -> dict[str, Any]:
        return {"state": "not-applicable", "reason": "key is abcdefgh-secret and ijklmnop-token"}

    with JudgeServer(after=0, score=telling) as server:
        headers = {"X-Key": "abcdefgh-secret", "Authorization": "Bearer ${BEARER}"}
        found = checked(server, headers=headers, BEARER="ijklmnop-token")
        assert server.headers[0]["x-key"] == "abcdefgh-secret"
        assert server.headers[0]["authorization"] == "Bearer ijklmnop-token"
    assert found.exit_code == 0
    assert "secret" not in json.dumps(found.to_json())
    assert "[redacted:BEARER]" in json.dumps(found.to_json())


def test_check__a_variable_that_is_not_set() -> None:
    with JudgeServer() as server, pytest.raises(EnvironmentMissing, match="NO_SUCH_TOKEN"):
        checked(server, headers={"a": "${NO_SUCH_TOKEN}"})
    with pytest.raises(ConfigError, match="is no http"):
        asyncio.run(check_address("nowhere", {}, world(), REQUEST))


# --- judges of a suite --------------------------------------------------------------------------------


def suite(folder: Path, judge: str) -> Path:
    (folder / "c.jsonl").write_text('{"id": "c1", "input": "a", "expected": "A", "tags": ["x"]}\n')
    path = folder / "r.yaml"
    path.write_text(
        "version: 1\nsuite: s\ncases: [{path: c.jsonl}]\n"
        "target: {type: http, url: 'http://127.0.0.1:9/${TARGET_ONLY}'}\n"
        f"judges: [{judge}]\ngates: [{{id: g, metric: j, stat: pass_rate, min: 0.5}}]\n"
    )
    return path


def of_suite(config: Path, judge: str = "j") -> Checked:
    return asyncio.run(check_judge_of(config, None, judge, world(), REQUEST))


def test_check__of_a_suite__http(tmp_path: Path) -> None:
    """The suite's own case is the sample; what the target needs is not needed here."""
    with JudgeServer() as server:
        written = f"{{id: j, type: http, url: '{server.url}', pass_at: 1, when: {{tags: [x]}}, input: text, interval: 1s}}"
        found = of_suite(suite(tmp_path, written))
        assert server.asked[0]["case"] == {
            "id": "c1",
            "input": "a",
            "expected": "A",
            "metadata": {},
        }
        assert server.asked[0]["output"] == "A"
        assert server.asked[0]["judge"] == "j"
    assert (found.judge, found.contract, found.exit_code) == ("j", "evaluator@2", 0)


def test_check__of_a_suite__a_sentinel_is_the_sample(tmp_path: Path) -> None:
    sentinel = "{output: known, expected: known, expect: pass}"
    with JudgeServer(after=0) as server:
        written = f"{{id: j, type: http, url: '{server.url}', pass_at: 1, sentinels: [{sentinel}]}}"
        assert of_suite(suite(tmp_path, written)).exit_code == 0
        assert server.asked[0]["output"] == "known"


@pytest.mark.parametrize(
    ("body", "code", "says"),
    [
        ("return 1", 0, "scored 1.0"),
        ("return {'state': 'not-applicable', 'reason': 'x'}", 0, "not applicable (x)"),
        ("return {}", 2, "neither `value` nor `state`"),
        ("return 7", 2, "outside the scale"),
        ("raise ValueError('no')", 2, "no"),
    ],
)
def test_check__of_a_suite__python(tmp_path: Path, body: str, code: int, says: str) -> None:
    (tmp_path / "mine.py").write_text(f"def judge(asked):\n    {body}\n")
    written = "{id: j, type: python, function: 'mine:judge', scale: [0, 1], pass_at: 1}"
    found = of_suite(suite(tmp_path, written))
    assert found.exit_code == code
    assert says in found.probes[0].found


def test_check__of_a_suite__another_value_each_time__is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "seen = []\ndef judge(asked):\n    seen.append(1)\n    return len(seen)\n"
    )
    written = "{id: j, type: python, function: 'mine:judge', pass_at: 1}"
    found = of_suite(suite(tmp_path, written))
    assert outcomes(found)["idempotency"] == "warning"
    assert found.exit_code == 0


def test_check__of_a_suite__no_such_judge(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no judge 'k'.*\(judges: 'j'\)"):
        of_suite(suite(tmp_path, "{id: j, type: exact}"), "k")
