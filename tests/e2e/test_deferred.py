"""The named tests of judges that answer later, over a real server, in one process and over jobs (S1-02 to S1-43).

S1-42, runs stored before scores had states, is in `test_old_results.py`; what a signal stops (S1-27, S1-34,
S1-41) in `test_deferred_signals.py`. Pauses take no time here (`faultpoints.hasten`): the rhythm and the
deadlines are those that a judge has by default.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from typing_extensions import override

from releasecheck.model.plan import plan_digest
from tests.e2e.deferring import (
    FAILED,
    HASTEN,
    MISSING,
    SCORED,
    WAYS,
    WRONG,
    Settled,
    Way,
    deferred_suite,
    finish,
    settled,
    shards,
    slow,
)
from tests.e2e.forge import edit
from tests.e2e.suites import Answers
from tests.judgeserver import HANG, Fault, JudgeServer, answer, by_equality, status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tests.e2e.program import Program

CASES = tuple(f"c{n}" for n in range(6))
QUESTIONS_OF_A_DEADLINE = 60
"""300 s at 5 s."""


class Losing(JudgeServer):
    """Never answers a question that asks for a certain case."""

    loses = "c2"

    @override
    def on_collect(self, body: bytes) -> Fault:
        if self.ticket_of(self.loses) in json.loads(body)["tickets"]:
            return status(500)
        return super().on_collect(body)


def but(case: str, odd: Any) -> Callable[[Mapping[str, Any]], Any]:
    """One case has another score."""
    return lambda asked: odd if asked["case"]["id"] == case else by_equality(asked)


PENDING = answer({"scores": {}})
LATER = "2099-01-01T00:00:00Z"


@pytest.fixture(scope="module", params=WAYS)
def scene(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, program: Program
) -> Iterator[tuple[Settled, dict[str, JudgeServer]]]:
    """One run with a judge for each behaviour; the target is wrong about one case."""
    judges = {
        "lands": JudgeServer(after=3),
        "never": JudgeServer(after=None),
        "neither": JudgeServer(score=but("c2", {"reason": "hm"})),
        "bare": JudgeServer(),
        "lost": Losing(),
        "odd": JudgeServer(score=but("c3", {"value": "high"})),
        "late": JudgeServer(score=but("c4", {"value": True, "at": LATER})),
        "hangs": JudgeServer(after=None),
    }
    judges["bare"].always["judge"] = answer({"state": "pending"}, 202)
    # A shard asks once, and finish once before the end: the next question is open at the deadline.
    judges["hangs"].faults["collect"] = [PENDING] * (1 if request.param == "run" else 3)
    judges["hangs"].always["collect"] = HANG
    more: dict[str, dict[str, Any]] = {"lost": {"batch": 2}, "hangs": {"interval": "299s"}}
    with Answers() as answers:
        answers.wrong = {"q1"}
        for judge in judges.values():
            judge.__enter__()
        suite = deferred_suite(
            tmp_path_factory.mktemp("deferred") / "suite",
            answers,
            *(slow(judge.url, name, **more.get(name, {})) for name, judge in judges.items()),
        )
        yield settled(request.param, program, suite), judges
        assert len(answers.asked) == 6
        for judge in judges.values():
            judge.__exit__()


Scene = tuple[Settled, dict[str, JudgeServer]]
GOOD = dict.fromkeys(CASES, SCORED) | {"c1": WRONG}


def test_s1_02__a_pending_score_lands(scene: Scene) -> None:
    """S1-02, S1-12: given a ticket, asked for again, taken as it is."""
    run, judges = scene
    assert run.scores("lands") == GOOD
    assert run.incomplete("lands") is None
    assert run.gate("has-lands")["outcome"] == "pass"
    assert all(
        row["ticket"] == judges["lands"].ticket_of(row["case"]) for row in run.records("lands")
    )


def test_s1_05_s1_06__what_has_not_come_in_time_is_missing(scene: Scene) -> None:
    """S1-03, S1-04, S1-05, S1-06, S1-09: asked every 5 s for 5 min, then missing, counted, and no gate passes."""
    run, judges = scene
    assert run.scores("never") == dict.fromkeys(CASES, MISSING)
    assert run.incomplete("never") == {
        "judge": "never", "missing": 6, "failed": 0, "expected": 6, "given_up": {"deadline": 6},
        "message": "no score from judge:never for 6 of 6 cases",
    }  # fmt: skip
    assert "no score from judge:never for 6 of 6 cases" in run.done.out + run.done.err
    gate = run.gate("has-never")
    assert (gate["outcome"], gate["value"]) == ("blocked_missing", None)
    assert "6 of 6" in gate["reason"]
    questions = len(judges["never"].collected)
    assert QUESTIONS_OF_A_DEADLINE <= questions <= QUESTIONS_OF_A_DEADLINE + 4
    assert (run.done.code, run.card["verdict"]) == (2, "blocked_missing")


def test_s1_04__the_deadline_counts_from_the_last_case_and_is_on_record(scene: Scene) -> None:
    """S1-04, G-02: one moment for all tickets of a judge, five minutes after the last of them was given."""
    run, _ = scene
    (fixed,) = run.records("never", "deadline")
    given = [row["at"] for row in run.records("never") if row["state"] == "pending"]
    assert len(fixed["tickets"]) == len(given) == 6
    assert _seconds(max(given), fixed["deadline"]) == pytest.approx(300, abs=0.01)


def test_s1_25__a_score_made_too_late_is_no_score(scene: Scene) -> None:
    """S1-25, G-13: kept as evidence, never counted."""
    run, _ = scene
    assert run.scores("late") == GOOD | {"c4": MISSING}
    (late,) = run.records("late", "late")
    assert (late["case"], late["value"]) == ("c4", 1.0)
    missing = run.incomplete("late")
    assert missing is not None
    assert missing["message"] == "no score from judge:late for 1 of 6 cases"
    assert run.gate("has-late")["outcome"] == "blocked_missing"


def test_s1_25_s1_26__status_counts_what_was_given_up(scene: Scene, program: Program) -> None:
    """A score that did not come is on record, as not there: it does not pass for one."""
    run, _ = scene
    given_up = sum(sum(one["given_up"].values()) for one in run.card["incomplete"])
    assert given_up >= 6
    found = program("status", run.out, "--json", cwd=run.out.parent).json()
    assert found["given_up"] == given_up
    done = program("status", run.out, cwd=run.out.parent)
    assert f", {given_up} given up" in done.out


def test_s1_25_s1_26__a_question_open_at_the_deadline_is_cancelled(scene: Scene) -> None:
    """S1-25, S1-26: it gets the second that is left, not the minute that a call may take."""
    run, judges = scene
    assert judges["hangs"].left.wait(5)
    assert run.scores("hangs") == dict.fromkeys(CASES, MISSING)
    ended = run.ended("hangs", "c0")
    assert ended["reason"] == "deadline"
    assert ended["failure"]["code"] == "timeout"
    missing = run.incomplete("hangs")
    assert missing is not None
    assert missing["given_up"] == {"deadline": 6}


def test_s1_37__pending_again_records_nothing(scene: Scene) -> None:
    """S1-37: one record when it is given, one when it has come."""
    run, judges = scene
    assert len(judges["lands"].collected) >= 3
    for case in CASES:
        states = [row["state"] for row in run.records("lands") if row["case"] == case]
        assert sorted(states) == ["pending", "scored"]


def test_s1_31__a_score_without_value_and_state_is_refused(scene: Scene) -> None:
    """S1-31, S1-33: a failure of its own case, never `not applicable`."""
    run, _ = scene
    assert run.scores("neither") == GOOD | {"c2": FAILED}
    found = run.ended("neither", "c2")["failure"]
    assert (found["class"], found["stage"], found["code"]) == (
        "judge", "collect", "contract_violation",
    )  # fmt: skip
    assert "neither `value` nor `state`" in found["message"]


def test_s1_38__pending_without_a_ticket_is_refused(scene: Scene) -> None:
    """S1-38: nobody could ask for it."""
    run, judges = scene
    assert run.scores("bare") == dict.fromkeys(CASES, FAILED)
    assert "ticket" in run.ended("bare", "c0")["failure"]["message"]
    assert judges["bare"].collected == []
    missing = run.incomplete("bare")
    assert missing is not None
    assert (missing["failed"], missing["missing"]) == (6, 0)


def test_s1_32__a_failed_question_keeps_what_others_brought(scene: Scene) -> None:
    """S1-32: only the batch with the lost case has no scores, and the reason is told."""
    run, judges = scene
    found = run.scores("lost")
    lost = {case for case, state in found.items() if state == MISSING}
    assert "c2" in lost
    assert len(lost) <= 2
    assert {case: found[case] for case in CASES if case not in lost} == {
        case: GOOD[case] for case in CASES if case not in lost
    }
    ended = run.ended("lost", "c2")
    assert (ended["reason"], ended["failure"]["code"]) == ("deadline", "server_error")
    assert max(len(asked) for asked in judges["lost"].collected) <= 2


def test_s1_33__a_malformed_score_fails_its_own_case(scene: Scene) -> None:
    """S1-33: with the reason; the judge's other scores are kept."""
    run, _ = scene
    assert run.scores("odd") == GOOD | {"c3": FAILED}
    assert "high" in run.ended("odd", "c3")["failure"]["message"]
    missing = run.incomplete("odd")
    assert missing is not None
    assert missing["message"] == "no score from judge:odd for 1 of 6 cases"


def _seconds(one: str, other: str) -> float:
    return (datetime.fromisoformat(other) - datetime.fromisoformat(one)).total_seconds()


@pytest.mark.parametrize("way", WAYS)
def test_s1_39__at_most_fifty_tickets_in_a_question(
    way: Way, tmp_path: Path, program: Program, answers: Answers
) -> None:
    """S1-12, S1-39: and every ticket is asked for."""
    with JudgeServer(after=2) as judge:
        suite = deferred_suite(
            tmp_path / "suite", answers, slow(judge.url, concurrency=4), cases=103, shards=1,
            target={"concurrency": 8},
        )  # fmt: skip
        run = settled(way, program, suite)
    assert run.done.code == 0, run.done
    assert [len(asked) for asked in judge.collected].count(50) == 4
    assert sorted(map(len, judge.collected)) == [3, 3, 50, 50, 50, 50]
    assert len({ticket for asked in judge.collected for ticket in asked}) == 103
    assert run.card["counts"]["scored"] == 103


@pytest.mark.parametrize("way", WAYS)
def test_s1_10__who_does_not_wait_is_told_what_is_pending(
    way: Way, tmp_path: Path, program: Program, answers: Answers
) -> None:
    """S1-10, S1-20, G-03: exit 5, counts in scorecard and status; later it is carried on, from the bundle alone."""
    with JudgeServer(after=3) as judge:
        suite = deferred_suite(tmp_path / "suite", answers, slow(judge.url))
        run = settled(way, program, suite, "--no-wait")
        assert run.done.code == 5, run.done
        (waiting,) = run.card["waiting"]
        assert (waiting["judge"], waiting["pending"]) == ("slow", 6)
        (fixed,) = run.records("slow", "deadline")
        assert waiting["deadline"] == fixed["deadline"]
        assert run.card["verdict"] is None
        found = program("status", run.out, "--json", cwd=tmp_path).json()
        assert (found["state"], found["pending"]) == ("waiting_for_scores", 6)
        asked = len(judge.asked)
        done = program("resume", run.out, cwd=tmp_path, fault=HASTEN)
    assert done.code == 0, done
    assert (len(judge.asked), len(answers.asked)) == (asked, 6)
    assert run.scores("slow") == dict.fromkeys(CASES, SCORED)
    assert [row["deadline"] for row in run.records("slow", "deadline")] == [fixed["deadline"]]


@pytest.mark.parametrize(
    ("ahead_s", "state", "notes"),
    [
        (3000, SCORED, ["resumed_after_deadline"]),  # an hour after a planned pause
        (4000, MISSING, []),
    ],
)
@pytest.mark.parametrize("way", WAYS)
def test_c_13__resumed_after_the_deadline(
    way: Way, ahead_s: float, state: Any, notes: list[str], tmp_path: Path,
    program: Program, answers: Answers,
) -> None:  # fmt: skip
    """C-13, G-02: one last look after a planned pause, marked; nobody is asked after the grace."""
    with JudgeServer(after=3) as judge:
        suite = deferred_suite(tmp_path / "suite", answers, slow(judge.url))
        run = settled(way, program, suite, "--no-wait")
        assert run.done.code == 5, run.done
        judge.after = 0
        questions = len(judge.collected)
        fault = {"hasten": True, "ahead_s": ahead_s}
        if way == "run":
            done = program("resume", "out", cwd=suite.folder, fault=fault)
        else:
            done = finish(program, run.out.parent, fault=fault)
    assert done.code == (0 if notes else 2), done
    assert run.scores("slow") == dict.fromkeys(CASES, state)
    assert len(judge.collected) - questions == len(notes)
    for case in CASES:
        ended = run.ended("slow", case)
        assert ended.get("notes", []) == notes
        assert ended["reason"] == (None if notes else "interrupted")


@pytest.mark.parametrize("way", WAYS)
def test_s1_43__a_gate_refuses_for_its_run_and_for_its_baseline(
    way: Way, tmp_path: Path, program: Program, answers: Answers
) -> None:
    """S1-09, S1-29, S1-43: what is lacking on either side is counted, and nothing is compared."""
    no_worse = {"id": "no-worse", "metric": "slow", "no_regression": {"max_drop": 1}}
    exact = {"id": "exact", "type": "exact"}
    with JudgeServer() as judge:
        judge.omits = {"c0", "c3"}
        suite = deferred_suite(
            tmp_path / "suite", answers, exact, slow(judge.url),
            gates=[{"id": "quality", "metric": "exact", "min": 0.5}],
        )  # fmt: skip
        before = settled("run", program, suite)
        assert before.done.code == 0, before.done
        assert before.incomplete("slow") is not None
        promoted = program("baseline", "promote", "out", cwd=suite.folder)
        assert promoted.code == 0, promoted
        (before.out).rename(tmp_path / "first")
        suite.write(gates=[no_worse])
        judge.omits = {"c5"} if way == "run" else ()
        run = settled(way, program, suite)
    assert run.done.code == 2, run.done
    gate = run.gate("no-worse")
    assert (gate["outcome"], gate["delta"]) == ("blocked_missing", None)
    if way == "run":  # the candidate is looked at first
        assert "1 of 6" in gate["reason"]
    else:
        assert "baseline" in gate["reason"]
        assert "2 of 6" in gate["reason"]


@pytest.mark.parametrize("way", WAYS)
def test_s1_28__a_score_that_cannot_be_recorded_fails_the_run(
    way: Way, tmp_path: Path, program: Program, answers: Answers
) -> None:
    """S1-28: no file can grow once the scores come; exit 4, no `failed` score, and nothing is lost."""
    with JudgeServer(after=2 if way == "run" else 3) as judge:
        suite = deferred_suite(tmp_path / "suite", answers, slow(judge.url))
        if way == "run":
            started = settled("run", program, suite, "--no-wait")
            where, argv = suite.folder, ["resume", "out"]
        else:
            where = shards(program, suite)
            argv = ["finish", "--plan", "plan", "--results", "results", "--out", "out"]
            started = Settled(finish(program, where, "--no-wait", fault=HASTEN), where / "out")
        full = {"before": "append c3#0 slow", "largest": 900, **HASTEN}
        broken = program(*argv, cwd=where, fault=full)
        assert broken.code == 4, (broken, started.done)
        assert "cannot write the ledger" in broken.err
        assert "Traceback" not in broken.err
        kept = [row["case"] for row in started.records("slow") if row["state"] == "scored"]
        assert len(kept) < 6
        assert {row["state"] for row in started.records("slow")} <= {"pending", "scored"}
        done = program(*argv, cwd=where, fault=HASTEN)
    assert done.code == 0, done
    assert started.scores("slow") == dict.fromkeys(CASES, SCORED)
    assert len(judge.asked) == len(answers.asked) == 6


def test_s1_13__the_contract_check_collects_its_ticket(tmp_path: Path, program: Program) -> None:
    """S1-13, S1-30: one suite for both kinds of answers."""
    with JudgeServer(after=1) as judge:
        done = program("judge", "check", "--url", judge.url, cwd=tmp_path, fault=HASTEN)
        assert done.code == 0, done
        assert judge.collected
    with JudgeServer(after=0) as judge:
        done = program("judge", "check", "--url", judge.url, cwd=tmp_path, fault=HASTEN)
        assert done.code == 0, done


def test_s1_40__a_ticket_that_is_never_collected_fails_the_check(
    tmp_path: Path, program: Program
) -> None:
    """S1-40: even if asking again would answer at once."""

    class Twofaced(JudgeServer):
        @override
        def on_judge(self, body: bytes) -> Fault:
            again = json.loads(body).get("idempotency_key") in {
                asked["idempotency_key"] for asked in self.asked
            }
            return answer({"score": {"value": 1}}) if again else super().on_judge(body)

    with Twofaced(after=None) as judge:
        done = program("judge", "check", "--url", judge.url, cwd=tmp_path, fault=HASTEN)
    assert done.code == 2, done
    assert "FAILED   collect" in done.out


def test_s1_14__a_judge_of_the_old_contract_is_refused(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """S1-14: by name, by the server's word and by the config's; the target's answers stay."""
    with JudgeServer(contract="evaluator@1") as judge:
        suite = deferred_suite(tmp_path / "suite", answers, slow(judge.url))
        run = settled("run", program, suite)
        assert judge.asked == []
        suite.write(judges=[slow(judge.url, contract="evaluator@1")])
        refused = program("plan", suite.path, cwd=tmp_path)
    assert run.done.code == 2, run.done
    assert run.scores("slow") == dict.fromkeys(CASES, FAILED)
    assert "evaluator@1" in run.ended("slow", "c0")["failure"]["message"]
    assert refused.code == 3, refused
    assert "evaluator@1 is refused" in refused.err


def test_s1_15__a_stored_judge_of_the_old_contract_judges_nothing(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """S1-15, G-37: a plan with one is refused by every command that opens it, never half-used."""

    def outdate(plan: dict[str, Any]) -> None:
        plan["judges"][0]["contract"] = "evaluator@1"
        plan["plan_digest"] = plan_digest(plan)

    with JudgeServer() as judge:
        suite = deferred_suite(tmp_path / "suite", answers, slow(judge.url))
        assert program("plan", suite.path, "--out", "plan", cwd=tmp_path).code == 0
        edit(tmp_path / "plan/plan.json", outdate)
        for argv in (
            ("shard", "--plan", "plan", "--index", "0", "--out", "results"),
            ("finish", "--plan", "plan", "--results", "plan", "--out", "out"),
        ):
            done = program(*argv, cwd=tmp_path)
            assert done.code == 3, done
            assert "evaluator@1" in done.err
        assert not judge.headers
    assert not answers.asked
