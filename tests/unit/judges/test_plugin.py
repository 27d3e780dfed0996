"""What a plug-in answers is held to the ports, object by object (S1-31, S1-33, S1-38, G-14)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from releasecheck.judges.plugin import Held, HeldBulk, HeldDeferred
from releasecheck.model.failure import Failure, failure
from releasecheck.model.judge import PluginJudge
from releasecheck.model.record import Usage
from releasecheck.model.score import JudgeFailed, NotApplicable, Pending, Scored
from releasecheck.ports import Arrived, Collected, Judged, Purged
from tests.unit.judges.builders import ask, reason, said, spec_of

WRONG = "contract_violation"


class Plugin:
    """Says what it is told to; an exception is raised."""

    most = 10

    def __init__(self, *says: Any) -> None:
        self.says = list(says)
        self.closed = 0

    async def _say(self, *_: Any) -> Any:
        found = self.says.pop(0)
        if isinstance(found, BaseException):
            raise found
        return await found if asyncio.isfuture(found) else found

    judge = collect = purge = submit = _say

    async def aclose(self) -> None:
        self.closed += 1
        message = "not today"
        raise RuntimeError(message)


def spec(**settings: Any) -> PluginJudge:
    found = spec_of("plugin", plugin="p", **settings)
    assert isinstance(found, PluginJudge)
    return found


def judged(says: Any, *, later: bool = False, **settings: Any) -> Judged:
    kind = HeldDeferred if later else Held
    return asyncio.run(kind(Plugin(says), spec(**settings)).judge(ask("x")))


def unreadable(**wrong: Any) -> Failure:
    """A failure that could be written to a record, and never read back."""
    return replace(failure("judge", "judge", "down", "it is down"), **wrong)


def unchecked(value: Any) -> Scored:
    """A score that went around its own check."""
    found = object.__new__(Scored)
    object.__setattr__(found, "value", value)
    object.__setattr__(found, "reason", None)
    return found


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        (Judged(Scored(0.5, "so so")), 0.5),
        (Judged(Scored(True)), 1.0),
        (Judged(NotApplicable("no links")), "not-applicable"),
        (Judged(JudgeFailed(failure("infra", "judge", "down", "it is down"))), "down"),
        (Judged(Pending("t")), WRONG),
        (Scored(1.0), WRONG),
        (1.0, WRONG),
        (None, WRONG),
        (Judged(1.0), WRONG),  # type: ignore[arg-type]
        (Judged(None), WRONG),  # type: ignore[arg-type]
        (Judged(unchecked(float("nan"))), WRONG),
        (Judged(unchecked("1")), WRONG),
        (Judged(Scored(1.0, 5)), WRONG),  # type: ignore[arg-type]
        (Judged(NotApplicable(" ")), WRONG),
        (Judged(JudgeFailed("broken")), WRONG),  # type: ignore[arg-type]
        (Judged(JudgeFailed(unreadable(cls="nope"))), WRONG),
        (Judged(JudgeFailed(unreadable(stage="moon"))), WRONG),
        (Judged(JudgeFailed(unreadable(code=5))), WRONG),
        (Judged(JudgeFailed(unreadable(retryable="yes"))), WRONG),
        (Judged(JudgeFailed(unreadable(message=5))), WRONG),
        (Judged(Scored(1.0), Usage(-1)), WRONG),
        (Judged(Scored(1.0), Usage(1.5)), WRONG),  # type: ignore[arg-type]
        (Judged(Scored(1.0), {"tokens": 3}), WRONG),  # type: ignore[arg-type]
        (Judged(Scored(2.0)), WRONG),
        (Judged(Scored(1.0), notes=5), WRONG),  # type: ignore[arg-type]
        (KeyError("case"), WRONG),
        (SystemExit(1), WRONG),
        (TimeoutError("inner"), WRONG),
    ],
)
def test_judge__what_is_no_answer_is_a_violation(says: Any, expected: float | str) -> None:
    found = judged(says, scale=[0, 1]).answer
    assert said(found) == expected
    if expected == WRONG:
        assert reason(found).startswith("plug-in 'p' ")


@pytest.mark.parametrize("ticket", ["", " ", 5, "t" * 5000, "t\ud800"])
def test_judge__pending_needs_a_ticket(ticket: Any) -> None:
    """S1-38."""
    assert said(judged(Judged(Pending(ticket)), later=True).answer) == WRONG
    assert judged(Judged(Pending("t")), later=True).answer == Pending("t")


def test_judge__an_answer_is_waited_for_as_long_as_the_suite_says() -> None:
    async def run() -> Judged:
        never = asyncio.get_running_loop().create_future()
        return await Held(Plugin(never), spec(timeout=0.01)).judge(ask("x"))

    found = asyncio.run(run()).answer
    assert isinstance(found, JudgeFailed)
    assert (found.failure.code, found.failure.retryable) == ("timeout", True)


def test_judge__a_cancellation_is_not_its_own() -> None:
    with pytest.raises(asyncio.CancelledError):
        judged(asyncio.CancelledError())


def test_aclose__a_goodbye_that_fails_harms_nobody() -> None:
    plugin = Plugin()
    asyncio.run(Held(plugin, spec()).aclose())
    assert plugin.closed == 1


def collected(says: Any) -> Collected:
    return asyncio.run(HeldDeferred(Plugin(says), spec()).collect(["t1", "t2"], 60.0))


def test_collect__each_answer_is_checked_by_itself() -> None:
    """S1-33, S1-37: one bad score fails its own pair and keeps the others."""
    found = collected(
        Collected(
            {
                "t1": Arrived(Scored(1.0), made_at="2026-01-05T09:00:00Z"),
                "t2": Arrived(unchecked(float("inf"))),
                "t3": Arrived(Scored(0.0)),
            },
            again_s=3.0,
        )
    )
    assert found.scores["t1"] == Arrived(Scored(1.0), made_at="2026-01-05T09:00:00Z")
    assert said(found.scores["t2"].answer) == WRONG
    assert set(found.scores) == {"t1", "t2"}
    assert found.violations == ("an answer to the ticket 't3', never asked for",)
    assert found.again_s == 3.0


@pytest.mark.parametrize(
    "arrived",
    [
        Scored(1.0),
        Arrived(Pending("t2")),
        Arrived(Scored(1.0), made_at=7),  # type: ignore[arg-type]
        None,
    ],
)
def test_collect__what_is_no_answer_is_a_violation(arrived: Any) -> None:
    assert said(collected(Collected({"t1": arrived})).scores["t1"].answer) == WRONG


@pytest.mark.parametrize("wrong", [{"cls": "nope"}, {"message": 5}, {"retryable": None}])
def test_collect__a_failure_that_no_record_can_hold_is_one_of_ours(wrong: Any) -> None:
    """S1-32: what else came is kept."""
    found = collected(Collected({"t1": Arrived(Scored(1.0))}, unreadable(**wrong)))
    assert found.scores["t1"].answer == Scored(1.0)
    assert found.failure is not None
    assert found.failure.code == WRONG
    assert Failure.from_json(found.failure.to_json()) == found.failure


def test_collect__notes_are_texts() -> None:
    found = collected(Collected({"t1": Arrived(Scored(1.0), notes=(5, None))}))  # type: ignore[arg-type]
    assert found.scores["t1"].notes == ("5", "None")


def test_collect__pending_again_stays_pending() -> None:
    """S1-37."""
    assert collected(Collected({"t1": Arrived(Pending("t1"))})).scores["t1"].answer == Pending("t1")


@pytest.mark.parametrize(
    "says",
    [
        {"t1": 1.0},
        None,
        RuntimeError("lost"),
        SystemExit(2),
        Collected([("t1", 1.0, 2)]),  # type: ignore[arg-type]
        Collected(violations=5),  # type: ignore[arg-type]
    ],
)
def test_collect__a_question_that_breaks_is_a_failure(says: Any) -> None:
    found = collected(says)
    assert found.scores == {}
    assert found.failure is not None
    assert (found.failure.code, found.failure.stage) == (WRONG, "collect")


@pytest.mark.parametrize(
    ("says", "state"),
    [
        (Purged("done", "gone"), "done"),
        (Purged("unsupported", ""), "unsupported"),
        (Purged("maybe", ""), "failed"),  # type: ignore[arg-type]
        (True, "failed"),
        (OSError("down"), "failed"),
    ],
)
def test_purge__only_done_is_done(says: Any, state: str) -> None:
    held = HeldDeferred(Plugin(says), spec())
    assert asyncio.run(held.purge(["t1"], 1.0)).state == state


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        ([Judged(Pending("t1")), Judged(Scored(1.0))], ["pending", 1.0]),
        ([Judged(Pending("t1")), 1.0], ["pending", WRONG]),
        ([Judged(Pending("t1"))], [WRONG, WRONG]),
        (None, [WRONG, WRONG]),
        (ValueError("no"), [WRONG, WRONG]),
    ],
)
def test_submit__gives_one_answer_each(says: Any, expected: list[Any]) -> None:
    """G-14: fewer answers than outputs are nobody's answers."""
    held = HeldBulk(Plugin(says), spec())
    found = asyncio.run(held.submit([ask("x"), ask("y")]))
    assert [said(one.answer) for one in found] == expected
