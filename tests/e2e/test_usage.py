"""What targets and judges say that they used is untrusted, too: no amount ends a run (G-31)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.deferring import deferred_suite, settled, slow
from tests.judgeserver import JudgeServer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.program import Program
    from tests.e2e.suites import Answers

MOST = 2**53 - 1


@pytest.mark.parametrize("cost", [1.7e308, float(MOST)])
def test_usage__of_any_size_ends_no_run(
    cost: float, tmp_path: Path, program: Program, answers: Answers
) -> None:
    """Sums that no reader of JSON keeps are not said; each amount alone was one that it keeps."""
    used = {"total_tokens": MOST, "cost_usd": cost}
    answers.reply = lambda asked: (200, {"answer": asked.question.upper(), "usage": used})
    usage = {"tokens": MOST, "cost_usd": MOST}
    with JudgeServer(score=lambda _: {"value": 1, "usage": usage}) as judge:
        suite = deferred_suite(tmp_path / "suite", answers, slow(judge.url), cases=3)
        run = settled("shards", program, suite)
        assert run.done.code == 0, run.done
    assert run.card["costs"]["target_tokens"] is None
    assert run.card["costs"]["judges_tokens"] is None
    assert program("verify", run.out, cwd=tmp_path).code == 0
