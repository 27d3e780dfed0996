"""Rounds of questions, with judges of our own and time that passes when a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from typing_extensions import override

from releasecheck.model.failure import failure
from releasecheck.model.record import Record, ScoreRecord
from releasecheck.model.score import Missing, Scored
from releasecheck.pipeline.asking import Moments, Rounds, no_wait
from releasecheck.ports import Arrived, Collected, DeferredJudge, JudgeAsk, Judged, Purged
from releasecheck.settle import Owed, Pair, Rule, Settling
from tests.bundles import fake_world

DIGEST = "sha256:" + "0" * 64


class Collecting(DeferredJudge):
    """Answers questions for scores, and nothing else."""

    def __init__(self, answer: Collected | None) -> None:
        self._answer = answer
        self.asked: list[tuple[str, ...]] = []

    @override
    async def judge(self, ask: JudgeAsk) -> Judged:
        raise AssertionError

    @override
    async def collect(self, tickets: Sequence[str], within_s: float) -> Collected:
        self.asked.append(tuple(tickets))
        if self._answer is not None:
            return self._answer
        return Collected({ticket: Arrived(Scored(1.0)) for ticket in tickets})

    @override
    async def purge(self, tickets: Sequence[str], within_s: float) -> Purged:
        raise AssertionError

    @override
    async def aclose(self) -> None:
        return None


def swept(folder: Path, judge: Collecting, tickets: int) -> list[Record]:
    """What one sweep over overdue tickets records, ten at a time."""
    world = fake_world(folder)
    clock = Moments(world.clock)
    settling = Settling({"j": Rule("j", 5.0, 300.0, 10, 300.0)})
    owed = [Owed("j", f"t{n}", (Pair(f"c{n}", 0, DIGEST),), 0.0) for n in range(tickets)]
    over = {("j", one.ticket): clock.now() - 10 for one in owed}
    records = list(settling.begin(owed, over, clock.now()))
    rounds = Rounds(settling, {"j": judge}, {"j": 1}, records.append, world, clock)
    assert not asyncio.run(rounds.until_settled(no_wait))
    return records


def test_last_sweep__asks_for_all(tmp_path: Path) -> None:
    """C-13."""
    judge = Collecting(None)
    records = swept(tmp_path, judge, 35)
    assert [len(tickets) for tickets in judge.asked] == [10, 10, 10, 5]
    assert sum(isinstance(one, ScoreRecord) and one.score == Scored(1.0) for one in records) == 35


def test_last_sweep__of_a_judge_that_hangs_is_one_question_long(tmp_path: Path) -> None:
    """Each would hang as long as the first: many overdue tickets must not take minutes."""
    hung = failure("judge", "collect", "timeout", "nobody answers", retryable=True)
    judge = Collecting(Collected(failure=hung))
    records = swept(tmp_path, judge, 35)
    assert len(judge.asked) == 1
    scores = [one.score for one in records if isinstance(one, ScoreRecord)]
    assert scores == [Missing("interrupted", hung)] * 35


def test_last_sweep__one_call_that_failed_costs_the_others_nothing(tmp_path: Path) -> None:
    """S1-32."""
    lost = failure("infra", "collect", "connect", "reset", retryable=True)
    judge = Collecting(Collected(failure=lost))
    swept(tmp_path, judge, 35)
    assert len(judge.asked) == 4
