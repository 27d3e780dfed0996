"""Real-world faults of judges over HTTP, at once and under a ticket, through the command line (B13, B55 to B71).

The same replies from a chat model are in `test_judges_llm.py`; judges in this process and judges that are
programs in `test_faults_judges.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.canonical import parse_json
from tests.e2e.faulty import cli, decided, not_measured, python, state_of, suite_of
from tests.e2e.suites import ledger, lines
from tests.judgeserver import Fault, JudgeServer, answer, status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.e2e.suites import Suite

ECHO = 'return case["input"]'
FAILED = ("failed", None)
GATE = {"id": "gate", "metric": "judge", "min": 0}


@pytest.fixture(params=[0, 1], ids=["at-once", "later"])
def judge(request: pytest.FixtureRequest) -> Iterator[JudgeServer]:
    """A judge that answers either way."""
    with JudgeServer(after=request.param) as server:
        yield server


def suite_with(folder: Path, judge: JudgeServer, scores: Mapping[str, Any], **spec: Any) -> Suite:
    """A suite in which the judge gives each case the `Score` beside its name."""
    judge.score = lambda asked: scores[asked["case"]["id"]]
    return suite_of(
        folder,
        [{"id": name, "input": f"about {name}"} for name in scores],
        python(folder, ECHO),
        {"id": "judge", "type": "http", "url": judge.url, "concurrency": 2, **spec},
        gates=[GATE],
    )


def failure(suite: Suite, case: str) -> tuple[str, str, bool]:
    """Class, code and whether it is retryable, of the record that ended a score."""
    (found,) = [
        row["failure"]
        for row in ledger(suite.out / "results")
        if (row["record"], row.get("case"), row.get("state")) == ("score", case, "failed")
    ]
    return found["class"], found["code"], found["retryable"]


NO_VERDICT: dict[str, Any] = {
    "reason-only": {"reason": "The policy text does not mention refunds at all."},
    "old-score": {"score": 0, "reason": "wrong"},
    "verdict": {"verdict": "yes"},
    "nested": {"result": {"pass": True, "score": 1}},
    "empty": {},
    "list": [],
    "bare-true": True,
    "error": {"error": "rate limited"},
    "null": None,
    "null-value": {"value": None},
    "text": {"value": "true"},
    "value-and-state": {"value": 1, "state": "failed", "reason": "x"},
    "skipped": {"state": "skipped", "reason": "x"},
    "off-absurd": {"value": 9.2e124},
    "off-above": {"value": 3.85},
    "off-below": {"value": -0.1},
    "off-percent": {"value": 85},
    "off-text": {"value": "8/10"},
    "off-a-hair": {"value": 1.0000000000000002},
    "nan": {"value": float("nan")},
    "infinite": {"value": float("inf")},
    "nan-text": {"value": "NaN"},
}
MEASURED: dict[str, Any] = {
    "yes": {"value": True, "reason": "because"},
    "zero": {"value": 0},
    "minus-zero": {"value": -0.0},
}


def test_b56_b58_b59__no_verdict_is_neither_pass_nor_fail(
    tmp_path: Path, judge: JudgeServer
) -> None:
    """B13, B56, B58, B59, B61: each fails its own pair, never 0, never in the mean, and no gate passes."""
    suite = suite_with(tmp_path, judge, NO_VERDICT | MEASURED, scale=[0, 1])
    card = not_measured(cli("run", suite.path, cwd=tmp_path), suite)
    for name in NO_VERDICT:
        assert state_of(suite.out, name, "judge") == FAILED, name
        cls, code, retryable = failure(suite, name)
        assert (cls, retryable) == ("judge", False), name
        assert code in ("contract_violation", "malformed"), name
    assert state_of(suite.out, "yes", "judge") == ("scored", 1.0)
    assert state_of(suite.out, "zero", "judge") == ("scored", 0.0)
    assert state_of(suite.out, "minus-zero", "judge") == ("scored", 0.0)
    (mean,) = [m for m in card["metrics"] if m["metric"] == "judge" and m["split"] == "all"]
    assert (mean["n_scored"], mean["n_expected"]) == (3, 3 + len(NO_VERDICT))
    assert mean["value"] == pytest.approx(1 / 3)
    count = f"{len(NO_VERDICT)} of {3 + len(NO_VERDICT)}"
    assert count in card["incomplete"][0]["message"]
    for path in suite.out.rglob("*.json*"):
        data = path.read_bytes()
        for text in data.splitlines() if path.suffix == ".jsonl" else [data]:
            parse_json(text)  # knows no NaN


def test_b62__an_outage_is_no_zero(tmp_path: Path, judge: JudgeServer) -> None:
    """B62: two of four without a score are no mean of 0.5 and no pass of 1.0."""
    scores = {
        "c1": {"value": 1.0}, "c2": {"value": 1.0},
        "c3": {"state": "failed", "reason": "520 from the model"},
        "c4": {"state": "failed", "reason": "520 from the model"},
    }  # fmt: skip
    suite = suite_with(tmp_path, judge, scores)
    card = not_measured(cli("run", suite.path, cwd=tmp_path), suite)
    assert card["incomplete"][0]["message"] == "no score from judge:judge for 2 of 4 cases"
    rows = {row["case"]: row["scores"]["judge"] for row in lines(suite.out / "results.jsonl")}
    assert "520 from the model" in rows["c3"]["reason"]
    assert (card["gates"][0]["value"], card["gates"][0]["outcome"]) == (None, "blocked_missing")


@pytest.mark.parametrize(
    ("fault", "retryable"),
    [
        (status(503), True),
        (status(429, {"retry-after": "0"}), True),
        (answer(b"<html>busy</html>"), False),
        (answer(b""), False),
    ],
    ids=["503", "429", "html", "empty"],
)
def test_b62__a_judge_that_is_down_for_good_decides_nothing(
    tmp_path: Path, fault: Fault, *, retryable: bool
) -> None:
    """B47, B62: whatever a proxy answers in its place is no verdict; what may pass is asked again on resume."""
    with JudgeServer(after=0) as judge:
        judge.always["judge"] = fault
        suite = suite_with(tmp_path, judge, {"c1": {"value": 1.0}})
        card = not_measured(cli("run", suite.path, cwd=tmp_path), suite)
        assert card["counts"]["failed"] == 1
        assert failure(suite, "c1")[2] == retryable
        del judge.always["judge"]
        done = cli("resume", "out", cwd=tmp_path)
    assert done.code == (0 if retryable else 2), done


def test_b65__not_applicable_to_all_is_no_pass(tmp_path: Path, judge: JudgeServer) -> None:
    """B65, G-10: each pair has a record, and a gate over none measured is no verdict."""
    scores = {f"c{n}": {"state": "not-applicable", "reason": "no question"} for n in range(3)}
    suite = suite_with(tmp_path, judge, scores)
    card = decided(cli("run", suite.path, cwd=tmp_path), suite, code=2)
    assert card["counts"]["not_applicable"] == 3
    assert card["gates"][0]["value"] is None


def test_b71__an_empty_answer_is_judged_or_failed_and_never_lost(
    tmp_path: Path, judge: JudgeServer
) -> None:
    """B71: an http judge sees what the target said, also when that is nothing."""
    suite = suite_with(tmp_path, judge, {"c1": {"value": 0}, "c2": {"value": 1}})
    suite.cases = [{"id": "c1", "input": ""}, {"id": "c2", "input": "8.4%"}]
    suite.write(cases=[{"path": "cases.jsonl", "empty_input": "run"}])
    done = cli("run", suite.path, cwd=tmp_path)
    assert done.code == 0, done
    assert {asked["output"] for asked in judge.asked} == {"", "8.4%"}
    assert state_of(suite.out, "c1", "judge") == ("scored", 0.0)
