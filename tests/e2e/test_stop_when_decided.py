"""`stop_when_decided`: a run ends once nothing can save it from blocking, and never early towards a pass (X-21)."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.suites import document, http_suite, ledger, noted, python_suite, recorded, scorecard
from tests.judgeserver import JudgeServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.program import Done, Program
    from tests.e2e.suites import Answers, Suite

STRICT = {"id": "quality", "metric": "exact", "min": 0.8}
STOPPING = {"stop_when_decided": True, "batch": 2, "gates": [STRICT]}


@pytest.fixture
def judge() -> Iterator[JudgeServer]:
    with JudgeServer(after=10**6) as server:
        yield server


def wrong(answers: Answers, *cases: int) -> None:
    """These questions get a wrong answer."""
    answers.wrong = {f"q{case}" for case in cases}


def promoted(program: Program, suite: Suite) -> None:
    """Make a run of the suite its baseline."""
    done = program("run", suite.path, "--out", "before", cwd=suite.folder)
    assert done.code == 0, done
    done = program("baseline", "promote", "before", cwd=suite.folder)
    assert done.code == 0, done


def blocked_early(done: Done, suite: Suite, asked: int, cases: int) -> dict[str, Any]:
    """The scorecard of a run that ended after so many cases, checked in every part that follows."""
    assert done.code == 1, done
    card = scorecard(suite.out)
    assert (card["verdict"], card["exit_code"], card["status"]) == ("block", 1, "completed")
    assert card["decided_early"] is True
    assert card["counts"]["missing"] == cases - asked
    assert card["counts"]["pending"] == 0
    notice = f"decided early: {cases - asked} of {cases} cases were not asked"
    assert any(line.startswith(notice) for line in card["notices"]), card["notices"]
    assert document(suite.out / "manifest.json")["finalized_at"]
    return card


def stays(program: Program, suite: Suite) -> None:
    """It verifies, there is nothing to resume, and it is no baseline."""
    before = (suite.out / "scorecard.json").read_bytes()
    assert program("verify", "out", cwd=suite.folder).code == 0
    again = program("resume", "out", cwd=suite.folder)
    assert again.code == 1, again
    assert "nothing was asked" in again.err
    assert (suite.out / "scorecard.json").read_bytes() == before
    for accept in ((), ("--accept", "it is fine")):
        refused = program("baseline", "promote", "out", *accept, cwd=suite.folder)
        assert refused.code == 3, refused
    assert "green" not in document(suite.out / "badge.json")["color"]


def test_run__ends_between_batches_once_it_must_block(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """Three wrong answers of twelve are too many for 0.8: two batches, and not one call more."""
    suite = http_suite(tmp_path, answers, 12, shards=1, **STOPPING)
    wrong(answers, 1, 2, 3)
    done = program("run", suite.path, cwd=tmp_path)
    card = blocked_early(done, suite, 4, 12)
    assert "decided: gate quality blocks whatever the rest brings" in done.err
    (gate,) = card["gates"]
    assert (gate["outcome"], gate["compared"]) == ("block", 4)
    assert (gate["value"], gate["delta"]) == (None, None)
    assert "with 4 of 12 cases measured" in gate["reason"]
    assert "3 of 12 cases fail" in gate["reason"]
    assert "all 8 others" in gate["reason"]
    assert "0.75, below 0.8" in gate["reason"]
    assert len(answers.asked) == 4
    assert [line["stopped"] for line in ledger(suite.out) if line["record"] == "end"] == ["decided"]
    for name in ("summary.md", "scorecard.html"):
        assert "decided early" in (suite.out / name).read_text("utf-8")
    stays(program, suite)
    assert len(answers.asked) == 4


def test_run__several_shards_in_one_process_know_of_each_other(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    suite = http_suite(tmp_path, answers, 12, shards=4, **STOPPING | {"batch": 1})
    wrong(answers, *range(12))
    done = program("run", suite.path, cwd=tmp_path)
    blocked_early(done, suite, 3, 12)
    assert len(answers.asked) == 3
    stays(program, suite)


@pytest.mark.parametrize(
    "change",
    [{"stop_when_decided": False}, {"gates": [{"id": "quality", "metric": "exact", "min": 0.1}]}],
    ids=["not asked for", "not decided"],
)
def test_run__goes_to_its_end_otherwise(
    tmp_path: Path, program: Program, answers: Answers, change: dict[str, Any]
) -> None:
    """Without the setting, and towards a pass however sure that is, every case is asked."""
    suite = http_suite(tmp_path, answers, 12, shards=1, **STOPPING | change)
    wrong(answers, 1, 2, 3)
    done = program("run", suite.path, cwd=tmp_path)
    assert done.code == (0 if "gates" in change else 1), done
    assert len(answers.asked) == 12
    card = scorecard(suite.out)
    assert card["decided_early"] is False
    assert card["counts"]["missing"] == 0


def test_run__a_case_that_must_not_fail_ends_it(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    suite = http_suite(
        tmp_path,
        answers,
        6,
        shards=1,
        **STOPPING | {"gates": [{"id": "smoke", "metric": "exact", "require": "all"}]},
    )
    wrong(answers, 0)
    card = blocked_early(program("run", suite.path, cwd=tmp_path), suite, 2, 6)
    assert "1 of 6 cases fails, and none may" in card["gates"][0]["reason"]


def test_run__new_failures_against_the_baseline_end_it(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """The other gate is not certain, and says what it lacks."""
    gates = [
        {"id": "flips", "metric": "exact", "no_regression": {"max_drop": 1, "max_new_failures": 1}},
        {"id": "level", "metric": "exact", "min": 0.3},
    ]
    suite = http_suite(
        tmp_path,
        answers,
        10,
        shards=1,
        **STOPPING | {"gates": gates, "baseline": {"on_missing": "bootstrap"}},
    )
    promoted(program, suite)
    wrong(answers, 1, 2)
    answers.asked.clear()
    card = blocked_early(program("run", suite.path, cwd=tmp_path), suite, 4, 10)
    assert [gate["outcome"] for gate in card["gates"]] == ["block", "blocked_missing"]
    assert "2 new failures against the baseline, at most 1 allowed" in card["gates"][0]["reason"]
    assert card["gates"][0]["compared"] == 4
    stays(program, suite)


def test_run__without_a_baseline_nothing_is_certain(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    gates = [{"id": "flips", "metric": "exact", "no_regression": {"max_new_failures": 0}}]
    suite = http_suite(tmp_path, answers, 4, shards=1, **STOPPING | {"gates": gates})
    wrong(answers, 0, 1, 2, 3)
    done = program("run", suite.path, cwd=tmp_path)
    assert done.code == 2, done
    assert len(answers.asked) == 4
    assert scorecard(suite.out)["verdict"] == "not_comparable"


def test_run__a_waived_gate_ends_nothing(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """What it lets through must be measured by the others to the end."""
    waiver = {"gate": "quality", "who": "A", "why": "known", "until": "2999-12-31"}
    suite = http_suite(tmp_path, answers, 6, shards=1, **STOPPING | {"waivers": [waiver]})
    wrong(answers, *range(6))
    done = program("run", suite.path, cwd=tmp_path)
    assert done.code == 0, done
    card = scorecard(suite.out)
    assert (card["verdict"], card["overridden"], card["decided_early"]) == ("block", True, False)
    assert len(answers.asked) == 6
    told = program("status", "out", cwd=tmp_path)
    assert "verdict: block, overridden by a waiver" in told.out
    assert program("status", "out", "--json", cwd=tmp_path).json()["overridden"] is True


def test_run__a_quarantined_case_is_no_evidence(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    aside = {"case": "c0", "owner": "A", "reason": "flaky", "until": "2999-12-31"}
    gates = [{"id": "smoke", "metric": "exact", "require": "all"}]
    suite = http_suite(
        tmp_path, answers, 6, shards=1, **STOPPING | {"gates": gates, "quarantine": [aside]}
    )
    wrong(answers, 0)
    done = program("run", suite.path, cwd=tmp_path)
    assert done.code == 0, done
    assert len(answers.asked) == 6


def test_run__a_failure_that_may_be_mended_is_no_evidence(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """Counted as failing or not: another attempt may bring an answer."""
    gates = [STRICT | {"on_target_failure": "count_as_fail"}]
    suite = http_suite(tmp_path, answers, 6, shards=1, **STOPPING | {"gates": gates})
    answers.status = {f"q{case}": 503 for case in range(6)}
    done = program("run", suite.path, cwd=tmp_path)
    assert done.code == 2, done
    assert len(answers.asked) == 6
    # One that no retry mends is its judge's worst value for good.
    answers.status = {f"q{case}": 404 for case in range(6)}
    answers.asked.clear()
    done = program("run", suite.path, "--out", "other", cwd=tmp_path)
    assert done.code == 1, done
    assert len(answers.asked) == 2
    assert scorecard(tmp_path / "other")["decided_early"] is True


def test_shards__stop_with_0_and_have_nothing_left_to_do(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """A job knows its own shard; finish knows all of them, and asks nothing that need not be asked."""
    suite = http_suite(tmp_path, answers, 12, shards=2, **STOPPING)
    wrong(answers, *range(12))
    assert program("plan", suite.path, cwd=tmp_path).code == 0
    shard = ("shard", "--plan", "plan", "--index", "0", "--json")
    done = program(*shard, cwd=tmp_path)
    assert done.code == 0, done
    said = done.json()
    assert (said["stopped"], said["done"], said["open_pairs"]) == ("decided", 4, 0)
    assert "decided: gate quality blocks" in done.err
    again = program(*shard, cwd=tmp_path)
    assert (again.code, again.json()["file"], again.json()["stopped"]) == (0, None, "decided")
    assert len(answers.asked) == 4
    done = program(
        "finish", "--plan", "plan", "--results", "results", "--out", "out", "--repair", "9",
        cwd=tmp_path,
    )  # fmt: skip
    blocked_early(done, suite, 4, 12)
    assert len(answers.asked) == 4
    stays(program, suite)
    # What arrives later is never a way out: the decision stands, and anew it is the same.
    done = program("shard", "--plan", "plan", "--index", "1", "--out", "late", cwd=tmp_path)
    assert done.code == 0, done
    finish = ("finish", "--plan", "plan", "--results", "results", "--results", "late")
    assert program(*finish, "--out", "out", cwd=tmp_path).code == 4
    done = program(*finish, "--out", "anew", cwd=tmp_path)
    assert done.code == 1, done
    assert scorecard(tmp_path / "anew")["decided_early"] is True


def test_shards__one_that_is_not_decided_alone_goes_on(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """Half of twelve are open for a job that knows six: two wrong answers could still come to 0.8 and more."""
    suite = http_suite(tmp_path, answers, 12, shards=2, **STOPPING)
    assert program("plan", suite.path, cwd=tmp_path).code == 0
    wrong(answers, 0, 1)
    for index in ("0", "1"):
        done = program("shard", "--plan", "plan", "--index", index, cwd=tmp_path)
        assert done.code == 0, done
    assert len(answers.asked) == 12
    done = program("finish", "--plan", "plan", "--results", "results", cwd=tmp_path)
    assert done.code == 0, done
    assert scorecard(suite.out)["decided_early"] is False


def test_killed__between_the_stop_and_the_decision(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """Derived from plan and ledger: whoever carries such a run on asks nothing."""
    suite = http_suite(tmp_path, answers, 12, shards=1, **STOPPING)
    wrong(answers, *range(12))
    assert program("plan", suite.path, "--out", "out/plan", cwd=tmp_path).code == 0
    shard = ("shard", "--plan", "out/plan", "--index", "0", "--out", "out/results")
    assert program(*shard, cwd=tmp_path).code == 0
    assert program("status", "out", "--json", cwd=tmp_path).json()["state"] == "finalizing"
    blocked_early(program("resume", "out", cwd=tmp_path), suite, 4, 12)
    assert len(answers.asked) == 4
    assert len(list((suite.out / "results").glob("*.jsonl"))) == 1


def test_waiting__ends_when_the_run_is_decided(
    tmp_path: Path, program: Program, answers: Answers, judge: JudgeServer
) -> None:
    """A judge that still owes scores is asked once more, and not waited for."""
    judges = [{"id": "exact", "type": "exact"}, {"id": "slow", "type": "http", "url": judge.url}]
    gates = [STRICT, {"id": "has-slow", "metric": "slow", "min": 0}]
    suite = http_suite(
        tmp_path, answers, 12, shards=1, **STOPPING | {"judges": judges, "gates": gates}
    )
    wrong(answers, *range(12))
    done = program("run", suite.path, cwd=tmp_path)
    assert done.code == 1, done
    card = scorecard(suite.out)
    assert (card["verdict"], card["decided_early"], card["waiting"]) == ("block", True, [])
    assert card["counts"]["pending"] == 0
    assert len(answers.asked) == 4
    assert program("verify", "out", cwd=tmp_path).code == 0


@pytest.mark.parametrize("held", [True, False])
def test_sentinels__a_judge_must_be_proven_before_it_ends_a_run(
    tmp_path: Path, program: Program, answers: Answers, *, held: bool
) -> None:
    """One that missed a sentinel blocks nothing, so that nothing is certain."""
    sentinel = {"output": "A", "expected": "A" if held else "B", "expect": "pass"}
    judges = [{"id": "exact", "type": "exact", "sentinels": [sentinel]}]
    suite = http_suite(tmp_path, answers, 6, shards=3, **STOPPING | {"judges": judges})
    wrong(answers, *range(6))
    done = program("run", suite.path, cwd=tmp_path)
    card = scorecard(suite.out)
    if held:
        assert (done.code, card["verdict"], card["decided_early"]) == (1, "block", True)
        assert len(answers.asked) < 6
        assert program("verify", "out", cwd=tmp_path).code == 0
    else:
        assert (done.code, card["verdict"]) == (2, "blocked_missing")
        assert len(answers.asked) == 6


def test_trials__a_case_counts_once_its_verdict_is_certain(
    tmp_path: Path, program: Program
) -> None:
    """`any` of three trials: a case is open until its last trial."""
    body = 'return "no" if case["trial"] < 2 else "no"'
    suite = python_suite(
        tmp_path,
        4,
        body,
        trials=3,
        shards=1,
        judges=[{"id": "exact", "type": "exact", "pass_rule": "any"}],
        **STOPPING | {"batch": 1, "gates": [{"id": "smoke", "metric": "exact", "require": "all"}]},
        target={"concurrency": 1},
    )
    done = program("run", suite.path, cwd=tmp_path)
    assert done.code == 1, done
    assert sum(noted(suite).values()) == 3
    assert len(recorded(suite.out)) == 3
    # By `all` the first wrong trial of any case decides; the batch is ended all the same.
    suite.config["judges"][0]["pass_rule"] = "all"
    suite.write()
    shutil.rmtree(suite.out)
    assert program("run", suite.path, cwd=tmp_path).code == 1
    assert "1 of 4 cases fails" in scorecard(suite.out)["gates"][0]["reason"]


def test_rescore_and_retry__of_a_run_that_ended_early(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """No other rules make a pass of what was never asked, and a retry of it has nothing to ask either."""
    suite = http_suite(tmp_path, answers, 12, shards=1, **STOPPING)
    wrong(answers, *range(12))
    blocked_early(program("run", suite.path, cwd=tmp_path), suite, 4, 12)
    done = program("retry", "out", "--out", "again", cwd=tmp_path)
    assert done.code == 1, done
    assert len(answers.asked) == 4
    assert scorecard(tmp_path / "again")["decided_early"] is True
    suite.write(gates=[STRICT | {"min": 0.01}])
    done = program("rescore", "out", "--config", suite.path, cwd=tmp_path)
    assert done.code == 2, done
    card = scorecard(suite.out)
    assert (card["revision"], card["verdict"], card["decided_early"]) == (
        2,
        "blocked_missing",
        False,
    )
    assert len(answers.asked) == 4
    assert program("verify", "out", cwd=tmp_path).code == 0
