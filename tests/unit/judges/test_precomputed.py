"""Scores from a file: each found for the answer it was given to, or named as not found (S1-01, G-14)."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.judges import check_judge, open_judges
from releasecheck.model.plan import PlannedJudge
from releasecheck.model.score import JudgeAnswer, Pending, Scored
from releasecheck.ports import Collected, DeferredJudge, JudgeAsk, JudgeCase
from releasecheck.redact import NOTHING_SECRET
from releasecheck.transport import open_client
from tests.fakes import FakeClock
from tests.unit.judges.builders import reason, said, spec_of

if TYPE_CHECKING:
    from pathlib import Path

NOW, OLD = "sha256:" + "a" * 64, "sha256:" + "b" * 64


def lines(root: Path, *rows: dict[str, Any] | str) -> None:
    texts = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    (root / "scores.jsonl").write_text("".join(text + "\n" for text in texts), encoding="utf-8")


def opened(root: Path, *, trials: int = 1, **settings: Any) -> DeferredJudge:
    spec = spec_of("precomputed", **{"path": "scores.jsonl"} | settings)
    judge = open_judges(
        [PlannedJudge(spec=spec, contract="precomputed@1", digest=NOW)],
        root=root,
        environment={},
        clock=FakeClock(),
        redactor=NOTHING_SECRET,
        client=open_client({}),
        trials=trials,
    )["j"]
    assert isinstance(judge, DeferredJudge)
    return judge


def ask(case: str = "c1", trial: int = 0, digest: str = NOW) -> JudgeAsk:
    return JudgeAsk(JudgeCase(case, "q", None, {}), trial, "an answer", digest, "rc-1", "j", "k")


def judged(root: Path, asked: JudgeAsk | None = None, **settings: Any) -> JudgeAnswer:
    judge = opened(root, **settings)
    return asyncio.run(judge.judge(asked or ask())).answer


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{"id": "c1", "value": 0.5}], 0.5),
        ([{"id": "c1", "value": 0}], 0.0),
        ([{"id": "c1", "value": False}], 0.0),
        ([{"id": "c1", "value": True, "trial": 0}], 1.0),
        ([{"id": "c1", "value": 1, "epoch": 1}], 1.0),
        ([{"id": "c1", "value": 1, "epoch": 1, "trial": 0}], 1.0),
        ([{"id": "c1", "value": 1, "input": "q", "output": "a", "expected": 3}], 1.0),
        # said twice
        ([{"id": "c1", "value": 1}, {"id": "c1", "value": 1}], 1.0),
        ([{"id": "c1", "value": 1}, {"id": "c1", "value": True, "explanation": "x"}], 1.0),
        ([{"id": "c1", "value": 1}, {"id": "c1", "value": 0}], "conflict"),
        ([{"id": "c1", "value": 1}, {"id": "c1", "value": 0, "trial": 0}], "conflict"),
        ([{"id": "c1", "value": None}, {"id": "c1", "value": 0}], 0.0),
        # another judge's
        ([{"id": "c1", "value": 1, "judge": "other"}], "no_score"),
        ([{"id": "c1", "value": 0, "judge": "other"}, {"id": "c1", "value": 1, "judge": "j"}], 1.0),
        # nobody's
        ([], "no_score"),
        ([{"id": "c1", "value": None}], "no_score"),
        ([{"id": "c2", "value": 1}], "no_score"),
        ([{"id": "c1", "value": 1, "trial": 1}], "no_score"),
        ([{"id": "c1", "value": 1, "epoch": 2}], "no_score"),
        # of which answer
        ([{"id": "c1", "value": 1, "output_digest": NOW}], 1.0),
        ([{"id": "c1", "value": 1, "output_digest": OLD}], "stale_score"),
        ([{"id": "c1", "value": 0, "output_digest": OLD},
          {"id": "c1", "value": 1, "output_digest": NOW}], 1.0),
        ([{"id": "c1", "value": 0}, {"id": "c1", "value": 1, "output_digest": NOW}], "conflict"),
        ([{"id": "c1", "value": None, "output_digest": OLD}], "no_score"),
    ],
)  # fmt: skip
def test_judge__finds_the_score_of_this_answer(
    tmp_path: Path, rows: list[dict[str, Any]], expected: float | str
) -> None:
    lines(tmp_path, *rows)
    assert said(judged(tmp_path)) == expected


def test_judge__each_trial_has_its_own_line(tmp_path: Path) -> None:
    lines(tmp_path, {"id": "c1", "epoch": 1, "value": 0.1}, {"id": "c1", "trial": 1, "value": 0.2})
    assert [said(judged(tmp_path, ask(trial=trial), trials=2)) for trial in (0, 1)] == [0.1, 0.2]


def test_judge__a_line_without_a_trial_is_no_score_of_several(tmp_path: Path) -> None:
    """One score must not stand for trials that nobody judged."""
    lines(tmp_path, {"id": "c1", "value": 1})
    for trial in (0, 1):
        answer = judged(tmp_path, ask(trial=trial), trials=2)
        assert said(answer) == "ambiguous"
        assert "scores.jsonl:1: the line of case" in reason(answer)


def test_judge__messages_name_what_was_found(tmp_path: Path) -> None:
    lines(
        tmp_path,
        {"id": "c1", "value": 1, "output_digest": OLD, "explanation": "good"},
        {"id": "c2", "value": 1, "explanation": "good"},
        {"id": "c2", "value": 0.5},
    )
    stale = reason(judged(tmp_path))
    assert f"({OLD} in line 1), the answer now is {NOW}" in stale
    assert "1 in line 2, 0.5 in line 3" in reason(judged(tmp_path, ask("c2")))
    lines(tmp_path, {"id": "c1", "value": 0.25, "explanation": "good"})
    assert judged(tmp_path) == Scored(0.25, "good")


def test_judge__a_value_outside_the_scale_is_no_score(tmp_path: Path) -> None:
    lines(tmp_path, {"id": "c1", "value": 7})
    assert said(judged(tmp_path, scale=[1, 5])) == "contract_violation"


# --- waiting


def test_judge__a_score_that_is_to_come_is_pending_until_the_line_is_there(tmp_path: Path) -> None:
    """People judge and come back: the ticket is enough for another process to collect."""
    first = judged(tmp_path, wait=True)
    assert isinstance(first, Pending)
    assert judged(tmp_path, wait=True) == first

    async def later() -> list[Collected]:
        judge = opened(tmp_path, wait=True)
        found = [await judge.collect([first.ticket], 1.0)]
        lines(tmp_path, {"id": "c1", "value": None})
        found.append(await judge.collect([first.ticket], 1.0))
        lines(tmp_path, {"id": "c1", "value": 0.75, "explanation": "fine"})
        found.append(await judge.collect([first.ticket], 1.0))
        return found

    none, null, there = asyncio.run(later())
    assert none == null == Collected()
    assert there.scores[first.ticket].answer == Scored(0.75, "fine")


def test_judge__a_score_of_an_older_answer_is_waited_past(tmp_path: Path) -> None:
    lines(tmp_path, {"id": "c1", "value": 1, "output_digest": OLD})
    assert isinstance(judged(tmp_path, wait=True), Pending)


def test_collect__a_broken_file_is_a_failure_that_names_the_line(tmp_path: Path) -> None:
    pending = judged(tmp_path, wait=True)
    assert isinstance(pending, Pending)
    lines(tmp_path, {"id": "c1", "value": 1}, '{"id": "c1", "val')
    found = asyncio.run(opened(tmp_path, wait=True).collect([pending.ticket], 1.0))
    assert found.scores == {}
    assert found.failure is not None
    assert (found.failure.code, found.failure.stage) == ("unreadable_scores", "collect")
    assert "scores.jsonl:2: path: no JSON" in (found.failure.message or "")


def test_collect__a_ticket_of_another_judge_is_a_violation(tmp_path: Path) -> None:
    found = asyncio.run(opened(tmp_path, wait=True).collect(["t1", "[1, 2, 3]"], 1.0))
    assert found.scores == {}
    assert len(found.violations) == 2


# --- before the first call


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "no JSON"),
        ("[1]", "expected an object, found [1]"),
        ('{"value": 1}', "`id` names the case, found null"),
        ('{"id": 5, "value": 1}', "`id` names the case, found 5"),
        ('{"id": "c1"}', "there is no `value`; write null where nobody has judged yet"),
        ('{"id": "c1", "value": "0.9"}', "`value` is a number, true, false or null"),
        ('{"id": "c1", "value": NaN}', "no JSON"),
        ('{"id": "c1", "value": 1, "trial": -1}', "`trial` is a whole number from 0, found -1"),
        ('{"id": "c1", "value": 1, "epoch": 0}', "`epoch` is a whole number from 1, found 0"),
        ('{"id": "c1", "value": 1, "epoch": 1, "trial": 1}', "are not the same trial"),
        ('{"id": "c1", "value": 1, "explanation": 3}', "`explanation` is a text, found 3"),
    ],
)
def test_check_judge__a_line_that_is_no_score_is_named(
    tmp_path: Path, line: str, problem: str
) -> None:
    lines(tmp_path, {"id": "c1", "value": 1}, line)
    spec = spec_of("precomputed", path="scores.jsonl")
    (found,) = check_judge(spec, tmp_path, {})
    assert (found.path, found.line) == ("scores.jsonl", 2)
    assert problem in found.message
    assert said(judged(tmp_path)) == "unreadable_scores"


def test_check_judge__a_file_that_nobody_waits_for_must_be_there(tmp_path: Path) -> None:
    (found,) = check_judge(spec_of("precomputed", path="scores.jsonl"), tmp_path, {})
    assert "'scores.jsonl' is not there" in found.message
    assert check_judge(spec_of("precomputed", path="scores.jsonl", wait=True), tmp_path, {}) == []


def test_check_judge__marks_and_empty_lines_are_no_content(tmp_path: Path) -> None:
    """B02."""
    text = '\ufeff{"id": "c1", "value": 1}\r\n\n'
    (tmp_path / "scores.jsonl").write_bytes(text.encode())
    assert check_judge(spec_of("precomputed", path="scores.jsonl"), tmp_path, {}) == []
    assert said(judged(tmp_path)) == 1.0
