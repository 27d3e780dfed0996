"""What is due, until when, and what is recorded (contract section 5): pure, on moments given by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from releasecheck.model.failure import failure
from releasecheck.model.record import (
    RESUMED,
    BridgeRecord,
    DeadlineRecord,
    LateRecord,
    Record,
    ScoreRecord,
    SentinelRecord,
)
from releasecheck.model.score import JudgeFailed, Missing, NotApplicable, Pending, Scored
from releasecheck.ports import Arrived, Collected
from releasecheck.settle import (
    LEAST_S,
    SKEW_S,
    Ask,
    Closing,
    Earlier,
    Owed,
    Pair,
    Pause,
    Rule,
    Settling,
    Shown,
    moment_of,
    text_of,
)

NOW = moment_of("2026-01-05T09:00:00Z")
DIGEST = "sha256:" + "0" * 64
LOST = failure("infra", "collect", "connect", "nobody there", retryable=True)


def owed(*names: str, sent_at: float = NOW, judge: str = "j") -> list[Owed]:
    """Tickets `t-NAME`, one for each case."""
    return [Owed(judge, f"t-{name}", (Pair(name, 0, DIGEST),), sent_at) for name in names]


def rule(
    interval_s: float = 5.0, deadline_s: float = 300.0, batch: int = 50, grace_s: float = 300.0
) -> Rule:
    """Of the judge `j`, as `settle` has it by default."""
    return Rule("j", interval_s, deadline_s, batch, grace_s)


class Waiting:
    """A settling with what it said to record."""

    def __init__(
        self,
        tickets: list[Owed],
        of: Rule | None = None,
        *,
        at: float = NOW,
        deadlines: dict[tuple[str, str], float] | None = None,
        pause: Pause = "interrupted",
        closing: Closing | None = None,
    ) -> None:
        self.settling = Settling({"j": of or rule()}, closing)
        self.records: list[Record] = list(self.settling.begin(tickets, deadlines or {}, at, pause))

    def ask(self, at: float) -> list[Ask]:
        """The questions that are due."""
        return self.settling.asks(at)

    def answer(self, ask: Ask, at: float, found: Collected | None = None, **scores: object) -> None:
        """Fold in scores by case."""
        if found is None:
            found = Collected({f"t-{name}": Arrived(value) for name, value in scores.items()})  # type: ignore[arg-type]
        self.records += self.settling.fold(ask, found, at)

    def expire(self, at: float) -> None:
        """Close what is over."""
        self.records += self.settling.expire(at)

    @property
    def deadlines(self) -> list[DeadlineRecord]:
        """Those recorded."""
        return [one for one in self.records if isinstance(one, DeadlineRecord)]

    def score(self, case: str) -> object:
        """The terminal score of a case, None while there is none."""
        found = [o for o in self.records if isinstance(o, ScoreRecord) and o.case == case]
        assert len(found) <= 1
        return found[0].score if found else None


def test_begin__the_deadline_is_fixed_and_recorded_first() -> None:
    """S1-04, contract 5: the judge's deadline after the last case was sent."""
    run = Waiting(owed("a", sent_at=NOW - 20) + owed("b", sent_at=NOW - 10))
    assert run.records == [DeadlineRecord("j", ("t-a", "t-b"), text_of(NOW - 10 + 300))]


def test_begin__a_case_that_was_answered_at_once_is_a_case_that_was_sent() -> None:
    """S1-04: the deadline counts from the judge's last case of all."""
    (one,) = owed("a", sent_at=NOW - 200)
    run = Waiting([one._replace(last_sent=NOW - 10)])
    assert run.deadlines[0].deadline == text_of(NOW + 290)


def test_begin__a_ticket_seen_late_still_gets_half_a_minute() -> None:
    run = Waiting(owed("a", sent_at=NOW - 1000))
    assert run.deadlines[0].deadline == text_of(NOW + LEAST_S)


def test_begin__a_clock_ahead_of_ours_gains_no_more_than_the_skew() -> None:
    """G-11."""
    run = Waiting(owed("a", sent_at=NOW + 86_400))
    assert run.deadlines[0].deadline == text_of(NOW + SKEW_S + 300)


def test_begin__a_deadline_on_record_stands_and_new_tickets_have_their_own() -> None:
    """Contract 5: a re-run's new tickets have their own deadline."""
    run = Waiting(owed("a", "b"), deadlines={("j", "t-a"): NOW + 7})
    assert run.deadlines == [DeadlineRecord("j", ("t-b",), text_of(NOW + 300))]
    one, other = run.ask(NOW)
    assert {(one.tickets, one.within_s), (other.tickets, other.within_s)} == {
        (("t-a",), 7.0), (("t-b",), 300.0),
    }  # fmt: skip


def test_begin__one_ticket_for_two_outputs_is_a_violation_of_both() -> None:
    both = Owed("j", "t", (Pair("a", 0, DIGEST), Pair("b", 0, DIGEST)), NOW)
    run = Waiting([both])
    for case in "ab":
        score = run.score(case)
        assert isinstance(score, JudgeFailed)
        assert score.failure.code == "contract_violation"
    assert run.ask(NOW) == []


def test_asks__at_most_a_batch_in_a_call() -> None:
    """S1-12, S1-39."""
    run = Waiting(owed(*(f"c{n}" for n in range(120))))
    assert [len(ask.tickets) for ask in run.ask(NOW)] == [50, 50, 20]


def test_asks__again_after_the_interval_and_not_before() -> None:
    """S1-03."""
    run = Waiting(owed("a"))
    (ask,) = run.ask(NOW)
    run.answer(ask, NOW)
    assert run.ask(NOW + 4.9) == []
    assert run.settling.next_at(NOW + 1) == NOW + 5
    assert len(run.ask(NOW + 5)) == 1


def test_asks__each_judge_has_its_own_rhythm() -> None:
    """G-12."""
    settling = Settling({"j": rule(), "k": Rule("k", 60.0, 600.0, 10, 0.0)})
    list(settling.begin([*owed("a"), *owed("a", judge="k")], {}, NOW))
    assert {ask.judge for ask in settling.asks(NOW)} == {"j", "k"}
    assert [ask.judge for ask in settling.asks(NOW + 5)] == ["j"]
    assert {ask.judge for ask in settling.asks(NOW + 60)} == {"j", "k"}


def test_asks__the_last_question_comes_before_the_deadline() -> None:
    run = Waiting(owed("a"), rule(interval_s=60, deadline_s=100))
    for at, due in ((0, 60), (60, 99)):
        (ask,) = run.ask(NOW + at)
        run.answer(ask, NOW + at)
        assert run.settling.next_at(NOW + at) == NOW + due
    (ask,) = run.ask(NOW + 99)
    assert ask.within_s == pytest.approx(1)
    run.answer(ask, NOW + 99.5)
    assert run.ask(NOW + 99.6) == []
    assert run.settling.next_at(NOW + 99.6) == NOW + 100


def test_fold__an_omitted_or_pending_ticket_stays_open_and_records_nothing() -> None:
    """S1-37, G-14."""
    run = Waiting(owed("a", "b", "c"))
    (ask,) = run.ask(NOW)
    run.answer(ask, NOW, b=Pending("t-b"), c=Scored(0.5))
    assert run.settling.open == 2
    assert (run.score("a"), run.score("b"), run.score("c")) == (None, None, Scored(0.5))


@pytest.mark.parametrize("answer", [Scored(1.0, "well"), NotApplicable("no"), JudgeFailed(LOST)])
def test_fold__a_terminal_answer_closes_its_ticket(answer: object) -> None:
    """S1-02, S1-33: a bad score fails its own pair."""
    run = Waiting(owed("a", "b"))
    (ask,) = run.ask(NOW)
    run.answer(ask, NOW, a=answer, b=Scored(1.0))
    assert (run.score("a"), run.score("b")) == (answer, Scored(1.0))
    assert run.settling.next_at(NOW) is None


def test_fold__what_a_failed_call_brought_is_kept() -> None:
    """S1-32."""
    run = Waiting(owed("a", "b"))
    (ask,) = run.ask(NOW)
    run.answer(ask, NOW, Collected({"t-a": Arrived(Scored(1.0))}, failure=LOST))
    assert run.score("a") == Scored(1.0)
    assert run.settling.open == 1


def test_fold__failed_calls_are_asked_again_ever_later() -> None:
    """X-18, G-12: back-off inside of the deadline."""
    run = Waiting(owed("a"))
    at, gaps = NOW, []
    for _ in range(5):
        (ask,) = run.ask(at)
        run.answer(ask, at, Collected(failure=LOST))
        due = run.settling.next_at(at)
        assert due is not None
        gaps.append(due - at)
        at = due
    assert gaps == [5, 10, 20, 40, 80]


def test_fold__retry_after_is_kept_to_and_the_deadline_too() -> None:
    """S1-L3."""
    run = Waiting(owed("a"))
    (ask,) = run.ask(NOW)
    run.answer(ask, NOW, Collected(failure=LOST, again_s=77))
    assert run.settling.next_at(NOW) == NOW + 77
    assert run.ask(NOW + 76) == []
    (ask,) = run.ask(NOW + 77)
    run.answer(ask, NOW + 77, Collected(failure=LOST, again_s=100_000))
    assert run.settling.next_at(NOW + 77) == NOW + 300
    assert run.ask(NOW + 299) == []
    run.expire(NOW + 300)
    assert run.score("a") == Missing("deadline", LOST)


def test_fold__a_score_after_the_deadline_is_late_evidence() -> None:
    """S1-25, G-13: never counted, kept."""
    run = Waiting(owed("a"))
    (ask,) = run.ask(NOW + 299)
    run.answer(ask, NOW + 300.1, a=Scored(1.0, "too late"))
    assert run.score("a") == Missing("deadline")
    (late,) = [one for one in run.records if isinstance(one, LateRecord)]
    assert (late.case, late.value, late.reason, late.ticket) == ("a", 1.0, "too late", "t-a")


def test_fold__a_score_that_says_it_was_made_after_the_deadline_is_late() -> None:
    run = Waiting(owed("a", "b", "c"), deadlines={("j", f"t-{n}"): NOW - 10 for n in "abc"})
    (ask,) = run.ask(NOW)
    run.answer(
        ask,
        NOW,
        Collected(
            {
                "t-a": Arrived(Scored(1.0), made_at=text_of(NOW - 9)),
                "t-b": Arrived(Scored(1.0), made_at=text_of(NOW - 11)),
                "t-c": Arrived(Scored(1.0), made_at="yesterday"),
            }
        ),
    )
    assert run.score("a") == Missing("deadline")
    assert run.score("b") == run.score("c") == Scored(1.0)


def test_expire__what_has_not_come_is_missing() -> None:
    """S1-05."""
    run = Waiting(owed("a", "b"))
    (ask,) = run.ask(NOW)
    run.answer(ask, NOW, a=Scored(1.0))
    run.expire(NOW + 299.9)
    assert run.score("b") is None
    run.expire(NOW + 300)
    assert run.score("b") == Missing("deadline")
    assert run.settling.next_at(NOW + 300) is None


def test_overdue__one_last_sweep_within_the_grace_marked_as_such() -> None:
    """G-02, C-13."""
    run = Waiting(owed("a", "b"), deadlines={("j", "t-a"): NOW - 299, ("j", "t-b"): NOW - 299})
    (ask,) = run.ask(NOW)
    assert ask.last
    run.answer(ask, NOW + 1, a=Scored(1.0))
    run.expire(NOW + 1)
    (taken,) = [o for o in run.records if isinstance(o, ScoreRecord) and o.case == "a"]
    assert (taken.score, taken.notes) == (Scored(1.0), (RESUMED,))
    assert run.score("b") == Missing("interrupted")
    assert run.settling.next_at(NOW + 1) is None


@pytest.mark.parametrize(("pause", "grace_s"), [("interrupted", 300), ("planned", 3600)])
def test_overdue__nobody_is_asked_after_the_grace(pause: Pause, grace_s: float) -> None:
    """Contract 5: the grace, at least an hour after a planned pause."""
    inside = Waiting(owed("a"), deadlines={("j", "t-a"): NOW - grace_s + 1}, pause=pause)
    assert len(inside.ask(NOW)) == 1
    outside = Waiting(owed("a"), deadlines={("j", "t-a"): NOW - grace_s}, pause=pause)
    assert outside.ask(NOW) == []
    assert outside.score("a") == Missing("interrupted")


@pytest.mark.parametrize("reason", ["cancelled", "interrupted"])
def test_closing__one_last_question_and_then_no_more(reason: Closing) -> None:
    run = Waiting(owed("a", "b"), closing=reason)
    run.expire(NOW)
    assert run.score("a") is None
    (ask,) = run.ask(NOW)
    run.answer(ask, NOW, a=Scored(1.0))
    run.expire(NOW)
    assert (run.score("a"), run.score("b")) == (Scored(1.0), Missing(reason))


def test_begin__a_recorded_deadline_is_no_promise_without_end() -> None:
    """A forged record, or one by a clock that was years ahead, holds up nobody for longer than a new ticket."""
    run = Waiting(owed("a"), deadlines={("j", "t-a"): NOW + 10**9})
    (ask,) = run.ask(NOW)
    assert ask.deadline == NOW + SKEW_S + 300
    run.expire(NOW + SKEW_S + 300)
    assert run.score("a") == Missing("deadline")


@pytest.mark.parametrize("again_s", [400.0, 1e12, 1e300])
def test_fold__a_judge_is_left_alone_until_the_last_deadline_at_most(again_s: float) -> None:
    """A number of seconds that no calendar holds is no moment to come back."""
    run = Waiting(owed("a"))
    (ask,) = run.ask(NOW)
    run.answer(ask, NOW, Collected(again_s=again_s))
    assert run.ask(NOW + 299) == []
    assert run.settling.waiting()["j"] == (1, NOW + 300, NOW + 300)
    run.expire(NOW + 300)
    assert run.score("a") == Missing("deadline")


def test_earlier__its_record_names_the_side_and_the_trial_there() -> None:
    """An output of the baseline is no output of this run, whatever its case and trial are called."""
    run = Waiting([Owed("j", "t", (Earlier("anchor", "a", 2, DIGEST),), NOW)])
    (ask,) = run.ask(NOW)
    run.answer(ask, NOW, Collected({"t": Arrived(Scored(1.0))}))
    (record,) = [one for one in run.records if isinstance(one, BridgeRecord)]
    assert (record.side, record.case, record.trial, record.output_digest) == (
        "anchor",
        "a",
        2,
        DIGEST,
    )
    assert (record.score, record.ticket) == (Scored(1.0), "t")


def test_earlier__late_is_kept_and_never_counted() -> None:
    run = Waiting([Owed("j", "t", (Earlier("baseline", "a", 0, DIGEST),), NOW)])
    (ask,) = run.ask(NOW)
    run.answer(ask, NOW + 301, Collected({"t": Arrived(Scored(1.0))}))
    (late,) = [one for one in run.records if isinstance(one, LateRecord)]
    assert (late.side, late.value) == ("baseline", 1.0)
    (record,) = [one for one in run.records if isinstance(one, BridgeRecord)]
    assert record.score == Missing("deadline")


def test_earlier__one_ticket_for_both_runs_fails_both() -> None:
    both = (Pair("a", 0, DIGEST), Earlier("baseline", "a", 0, DIGEST))
    run = Waiting([Owed("j", "t", both, NOW)])
    failed = [one for one in run.records if isinstance(one, ScoreRecord | BridgeRecord)]
    assert len(failed) == 2
    assert all(isinstance(one.score, JudgeFailed) for one in failed)


def test_sentinel__its_record_names_it() -> None:
    run = Waiting([Owed("j", "t", (Shown("good", 3, DIGEST),), NOW)])
    (ask,) = run.ask(NOW)
    run.answer(ask, NOW, Collected({"t": Arrived(Scored(1.0))}))
    (record,) = [one for one in run.records if isinstance(one, SentinelRecord)]
    assert (record.sentinel, record.shard, record.score, record.ticket) == (
        "good",
        3,
        Scored(1.0),
        "t",
    )


@given(
    behaviours=st.lists(
        st.sampled_from(["at once", "later", "never", "lost", "twice"]), min_size=1, max_size=30
    ),
    interval=st.floats(0.5, 40),
    deadline=st.floats(30, 200),
    batch=st.integers(1, 50),
    call_s=st.floats(0, 10),
    lag=st.floats(0, 250),
)
def test_settling__every_ticket_ends_once_and_nothing_is_taken_late(
    behaviours: list[str], interval: float, deadline: float, batch: int, call_s: float, lag: float
) -> None:
    """S1-02, S1-05, S1-25: whatever judges do, it ends at the deadline with one answer each."""
    run = Waiting(
        owed(*(f"c{n}" for n in range(len(behaviours)))),
        rule(interval_s=interval, deadline_s=deadline, batch=batch),
    )
    of = {f"t-c{n}": what for n, what in enumerate(behaviours)}
    at, rounds = NOW, 0
    while True:
        asks = run.ask(at)
        rounds += bool(asks)
        for ask in asks:
            took = min(call_s, ask.within_s)
            came = {
                name: Arrived(Scored(1.0))
                for name in ask.tickets
                if of[name] == "at once"
                or (of[name] in ("later", "twice") and at + took > NOW + lag)
            }
            if call_s >= ask.within_s:
                came = {}  # cut off at the deadline
            failed = LOST if any(of[name] == "lost" for name in ask.tickets) else None
            run.answer(ask, at + took, Collected(came, failure=failed))
        if asks:
            at += min(call_s, max(ask.within_s for ask in asks))
        run.expire(at)
        due = run.settling.next_at(at)
        if due is None:
            break
        assert due <= NOW + deadline
        at = max(at, due)
    assert at <= NOW + deadline + 1e-6
    assert rounds <= deadline / interval + 3
    scores = [one for one in run.records if isinstance(one, ScoreRecord)]
    assert sorted(one.ticket or "" for one in scores) == sorted(of)
    for one in scores:
        if isinstance(one.score, Scored):
            assert moment_of(one.at) <= NOW + deadline + 0.001
            assert of[one.ticket or ""] in ("at once", "later", "twice")
        else:
            assert isinstance(one.score, Missing)
