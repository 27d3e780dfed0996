"""Judges that break every rule of answering later: no hang, no wrong score, no lost score, the right words.

One run with a judge for each vice, in one process and over jobs. Pauses take no time
(`faultpoints.hasten`), deadlines are the usual five minutes.
"""

from __future__ import annotations

import json
import threading
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from typing_extensions import override

from tests.e2e.deferring import (
    FAILED,
    HASTEN,
    MISSING,
    SCORED,
    WAYS,
    WRONG,
    Settled,
    deferred_suite,
    settled,
    slow,
)
from tests.e2e.suites import Answers, lines
from tests.judgeserver import DIE, HANG, HTML, Fault, JudgeServer, answer, status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.deferring import Way
    from tests.e2e.program import Program

CASES = tuple(f"c{n}" for n in range(6))
GOOD = dict.fromkeys(CASES, SCORED) | {"c1": WRONG}
NOTHING = dict.fromkeys(CASES, MISSING)
Scene = tuple[Settled, dict[str, JudgeServer]]


class Leaving(JudgeServer):
    """Answers one question of `finish`, for half of the cases, and is gone in the middle of the next."""

    def __init__(self, answers: int) -> None:
        super().__init__()
        self.answers = answers
        self.omits = {"c3", "c4", "c5"}

    @override
    def on_collect(self, body: bytes) -> Fault:
        if len(self.collected) < self.answers:
            return super().on_collect(body)
        threading.Thread(target=self.__exit__).start()
        return HANG


class OneTicket(JudgeServer):
    """Gives each output the same ticket."""

    @override
    def on_judge(self, body: bytes) -> Fault:
        self.asked.append(json.loads(body))
        self._tickets.setdefault("the-only-one", json.loads(body))
        self._asked_at.setdefault("the-only-one", 0.0)
        return answer({"state": "pending", "ticket": "the-only-one"}, 202)


class Either(JudgeServer):
    """Answers some at once and others later."""

    @override
    def on_judge(self, body: bytes) -> Fault:
        asked = json.loads(body)
        later = super().on_judge(body)
        return answer({"score": self.score(asked)}) if asked["case"]["id"] in "c0 c1" else later


def judges_for(way: Way) -> dict[str, JudgeServer]:
    """One for each vice."""
    shards = 0 if way == "run" else 2  # each of them asks once
    found = {
        "lags": JudgeServer(after=50),
        "omits": JudgeServer(),
        "twice": JudgeServer(),
        "same": JudgeServer(),
        "invents": JudgeServer(),
        "hangs": JudgeServer(),
        "hung": JudgeServer(),
        "busy": JudgeServer(),
        "shut": JudgeServer(),
        "dies": JudgeServer(),
        "died": JudgeServer(),
        "page": JudgeServer(),
        "paged": JudgeServer(),
        "down": JudgeServer(),
        "leaves": Leaving(1 + shards),
        "one": OneTicket(after=shards),
        "either": Either(after=2),
    }
    found["omits"].omits = {"c2", "c4"}
    found["twice"].twice = {"c3": {"value": False}}
    found["same"].twice = {"c3": {"value": 1.0, "reason": "again"}}
    found["invents"].invents = {"t-invented": {"value": 1.0}, "t-other": {"value": 0.0}}
    for name, fault in (("hangs", HANG), ("dies", DIE), ("page", HTML), ("down", status(503))):
        found[name].always["collect"] = fault
    for name, fault in (("hung", HANG), ("died", DIE), ("paged", HTML)):
        found[name].faults["collect"] = [fault] * (shards + 2)
    found["busy"].faults["collect"] = [status(429, {"retry-after": "7"})] * (shards + 3)
    found["shut"].always["collect"] = status(429, {"retry-after": "100000"})
    return found


@pytest.fixture(scope="module", params=WAYS)
def scene(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, program: Program
) -> Iterator[Scene]:
    """The run with all of them; the target is wrong about one case."""
    judges = judges_for(request.param)
    with Answers() as answers:
        answers.wrong = {"q1"}
        for judge in judges.values():
            judge.__enter__()
        suite = deferred_suite(
            tmp_path_factory.mktemp("misbehaving") / "suite",
            answers,
            *(slow(judge.url, name, timeout="200ms") for name, judge in judges.items()),
        )
        yield settled(request.param, program, suite), judges
        for judge in judges.values():
            judge.__exit__()


def lacks(run: Settled, judge: str, missing: int, failed: int = 0) -> None:
    """Assert how much is said to lack, and that the gate is refused for it."""
    entry = run.incomplete(judge)
    assert entry is not None
    assert (entry["missing"], entry["failed"], entry["expected"]) == (missing, failed, 6)
    assert entry["message"] == f"no score from judge:{judge} for {missing + failed} of 6 cases"
    assert entry["given_up"] == ({"deadline": missing} if missing else {})
    gate = run.gate(f"has-{judge}")
    assert (gate["outcome"], gate["value"]) == ("blocked_missing", None)
    assert f"{missing + failed} of 6" in gate["reason"]


def whole(run: Settled, judge: str) -> None:
    """Assert that all scores came, and the gate passed."""
    assert run.scores(judge) == GOOD
    assert run.incomplete(judge) is None
    assert run.gate(f"has-{judge}")["outcome"] == "pass"


def trouble(run: Settled, judge: str, case: str = "c0") -> tuple[str, str]:
    """The reason of a missing score, and what the last question came to."""
    ended = run.ended(judge, case)
    return ended["reason"], ended["failure"]["code"]


def test_nothing_ends_after_its_deadline(scene: Scene) -> None:
    """Issue 4: no hang past the deadline (+ one second); each ticket ended once."""
    run, judges = scene
    assert run.done.code == 2, run.done
    for name in judges:
        until = {
            ticket: datetime.fromisoformat(row["deadline"])
            for row in run.records(name, "deadline")
            for ticket in row["tickets"]
        }
        ended = [row for row in run.records(name) if row["state"] != "pending"]
        assert len(ended) == 6, name
        for row in ended:
            if row["ticket"] in until:
                at = datetime.fromisoformat(row["at"])
                assert at <= until[row["ticket"]] + timedelta(seconds=1), (name, row)


def test_a_judge_that_lags__is_waited_for(scene: Scene) -> None:
    """G-12: four minutes are less than five."""
    run, judges = scene
    whole(run, "lags")
    assert len(judges["lags"].collected) >= 50


def test_omitted_ids__stay_pending_and_end_as_missing(scene: Scene) -> None:
    """G-14: the others are taken."""
    run, _ = scene
    assert run.scores("omits") == GOOD | {"c2": MISSING, "c4": MISSING}
    assert run.ended("omits", "c2")["reason"] == "deadline"
    assert run.ended("omits", "c2")["failure"] is None
    lacks(run, "omits", 2)


def test_two_values_for_one_ticket__are_none(scene: Scene) -> None:
    """G-14: neither is taken, the others are; the same value twice is one."""
    run, _ = scene
    assert run.scores("twice") == GOOD | {"c3": FAILED}
    found = run.ended("twice", "c3")["failure"]
    assert (found["class"], found["code"], found["retryable"]) == ("judge", "conflict", False)
    lacks(run, "twice", 0, 1)
    whole(run, "same")


def test_invented_tickets__are_told_and_nothing_else(scene: Scene) -> None:
    """G-14: a ticket nobody asked for scores nothing."""
    run, _ = scene
    whole(run, "invents")
    if (
        len(run.card["shards"]) == 1
    ):  # shards have taken all in jobs of their own, and told it there
        assert "judge invents: POST" in run.done.err
        assert 'a ticket that was not asked for, "t-invented"' in run.done.err
    assert not [row for row in run.records("invents") if row["ticket"] == "t-invented"]


def test_questions_that_hang__end_at_their_timeout(scene: Scene) -> None:
    """X-18: asked ever less often, until the deadline; one that recovers loses nothing."""
    run, judges = scene
    assert run.scores("hangs") == NOTHING
    assert trouble(run, "hangs") == ("deadline", "timeout")
    lacks(run, "hangs", 6)
    assert 4 <= judges["hangs"].calls["collect"] <= 12
    whole(run, "hung")


def test_429__is_waited_out_or_ends_at_the_deadline(scene: Scene) -> None:
    """S1-L3: Retry-After is kept to, inside of the deadline."""
    run, judges = scene
    whole(run, "busy")
    assert run.scores("shut") == NOTHING
    assert trouble(run, "shut") == ("deadline", "rate_limited")
    lacks(run, "shut", 6)
    assert judges["shut"].calls["collect"] <= 3


def test_half_an_answer__is_none(scene: Scene) -> None:
    """S1-32: the tickets stay open; what follows is taken."""
    run, _ = scene
    assert run.scores("dies") == NOTHING
    assert trouble(run, "dies")[0] == "deadline"
    lacks(run, "dies", 6)
    whole(run, "died")


def test_200_with_html__is_no_answer(scene: Scene) -> None:
    """Not a failed score either: a sign-in page says nothing about an output."""
    run, _ = scene
    assert run.scores("page") == NOTHING
    assert trouble(run, "page") == ("deadline", "not_json")
    lacks(run, "page", 6)
    whole(run, "paged")


def test_503__is_asked_again_until_the_deadline(scene: Scene) -> None:
    run, judges = scene
    assert run.scores("down") == NOTHING
    assert trouble(run, "down") == ("deadline", "server_error")
    lacks(run, "down", 6)
    assert judges["down"].calls["collect"] <= 12


def test_a_judge_that_goes_away__leaves_what_it_said(scene: Scene) -> None:
    """S1-32: half of the scores stand, the rest is missing with the reason."""
    run, _ = scene
    lost = {"c3", "c4", "c5"}
    assert run.scores("leaves") == GOOD | dict.fromkeys(lost, MISSING)
    assert trouble(run, "leaves", "c4")[0] == "deadline"
    lacks(run, "leaves", 3)


def test_one_ticket_for_several_outputs__scores_none_of_them(scene: Scene) -> None:
    """Nobody can tell whose score it will bring: no wrong score, not even for the first."""
    run, _ = scene
    assert run.scores("one") == dict.fromkeys(CASES, FAILED)
    reasons = [row["scores"]["one"]["reason"] for row in lines(run.out / "results.jsonl")]
    assert all(
        reason.startswith("contract_violation: the judge gave the ticket") for reason in reasons
    )
    lacks(run, "one", 0, 6)


def test_a_ticket_for_one_and_a_score_for_another__are_both_taken(scene: Scene) -> None:
    """S1-02: each output has its own answer."""
    run, judges = scene
    whole(run, "either")
    asked = {ticket for question in judges["either"].collected for ticket in question}
    assert len(asked) == 4


def test_the_words_of_a_judge_are_said_once(scene: Scene) -> None:
    """S1-19: sixty rounds of one trouble are one line."""
    run, _ = scene
    said = [line for line in run.done.err.splitlines() if line.startswith("judge page:")]
    assert len(said) == 1, run.done.err


@pytest.mark.parametrize("way", WAYS)
def test_who_does_not_wait_for_it__is_left_waiting(
    way: Way, tmp_path: Path, program: Program, answers: Answers
) -> None:
    """A judge behind a sign-in page, and nobody waits: exit 5, nothing failed; repaired, it all comes."""
    with JudgeServer() as judge:
        judge.always["collect"] = HTML
        suite = deferred_suite(tmp_path / "suite", answers, slow(judge.url))
        run = settled(way, program, suite, "--time-budget", "20s")
        assert run.done.code == 5, run.done
        assert run.card["counts"]["pending"] == 6
        assert run.card["incomplete"] == []
        del judge.always["collect"]
        done = program("resume", run.out, cwd=tmp_path, fault=HASTEN)
    assert done.code == 0, done
    assert run.scores("slow") == dict.fromkeys(CASES, SCORED)
    assert len(judge.asked) == 6


def test_one_ticket_for_outputs_of_two_shards__scores_neither(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """Each shard asked before it ended, and could not know of the other: what they got is not taken."""
    with OneTicket(after=1) as judge:
        suite = deferred_suite(tmp_path / "suite", answers, slow(judge.url), cases=2)
        run = settled("shards", program, suite)
    assert [row["state"] for row in run.records("slow")].count("scored") == 2
    assert run.done.code == 2, run.done
    assert set(run.scores("slow").values()) == {FAILED}
    assert run.gate("has-slow")["outcome"] == "blocked_missing"
    verified = program("verify", run.out, cwd=tmp_path)
    assert verified.code == 0, verified
