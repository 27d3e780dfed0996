"""The bridge: stored outputs of a baseline or an anchor, scored by a judge that has changed (issue 5, deliver 5)."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.forge import edit_lines
from tests.e2e.suites import Suite, http_suite, ledger, lines, outcomes, scorecard
from tests.judgeserver import JudgeServer, answer, status
from tests.openaistub import OpenAiStub, serving, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.program import Done, Program
    from tests.e2e.suites import Answers

STRICT = """\
def judge(ask):
    return ask["output"] == ask["case"]["expected"]
"""
LAX = """\
def judge(ask):
    return ask["output"] != "nonsense" or ask["case"]["id"] in ("c0", "k0")
"""
NOTING = """\
import pathlib

def judge(ask):
    with open(pathlib.Path(__file__).parent / "judged.txt", "a") as file:
        file.write(ask["case"]["id"] + "\\n")
    return ask["output"] != "nonsense" or ask["case"]["id"] in ("c0", "k0")
"""

PASSES = answer({"score": {"value": 1}})


@pytest.fixture
def judge() -> Iterator[JudgeServer]:
    with JudgeServer(after=0) as server:
        yield server


def suite_of(folder: Path, answers: Answers, cases: int = 4, **more: Any) -> Suite:
    """A suite with one python judge, and a gate that compares what it says with the baseline."""
    baseline = {"on_missing": "bootstrap", "rejudge_baseline": True} | more.pop("baseline", {})
    suite = http_suite(
        folder,
        answers,
        cases,
        judges=[{"id": "good", "type": "python", "function": "judging:judge", "pass_at": 1}],
        gates=[{"id": "no-worse", "metric": "good", "no_regression": more.pop("rule", {})}],
        baseline=baseline,
        **more,
    )
    (folder / "judging.py").write_text(STRICT, "utf-8")
    return suite


def promoted(suite: Suite, program: Program, *to: str) -> None:
    """Run, and make that the baseline (or what `to` says)."""
    done = program("run", suite.path, cwd=suite.folder)
    assert done.code in (0, 2), done
    done = program("baseline", "promote", suite.out, "--accept", "first", *to, cwd=suite.folder)
    assert done.code == 0, done


def bridges(out: Path) -> list[dict[str, Any]]:
    """Every record of an earlier run's output."""
    return [one for one in ledger(out) if one["record"] == "bridge"]


def values(out: Path) -> dict[tuple[str, str, int, str], float | None]:
    """(side, case, trial, judge) -> value."""
    return {
        (one["side"], one["case"], one["trial"], one["judge"]): one["value"] for one in bridges(out)
    }


def verified(suite: Suite, program: Program) -> None:
    done = program("verify", suite.out, cwd=suite.folder)
    assert done.code == 0, done


def run(suite: Suite, program: Program) -> Done:
    return program("run", suite.path, cwd=suite.folder)


def test_changed_judge__both_sides_are_scored_by_the_new_one(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """X-25: by the old judge's word the baseline was worse than it looks to the new one."""
    suite = suite_of(tmp_path, answers)
    answers.wrong = {"q0", "q1"}
    promoted(suite, program)
    (tmp_path / "judging.py").write_text(LAX, "utf-8")
    answers.wrong = {"q1", "q2"}
    done = run(suite, program)
    # Then by STRICT 2 of 4, by LAX 3 of 4; now by LAX 2 of 4: a regression that STRICT's word would hide.
    assert done.code == 1, done
    (gate,) = scorecard(suite.out)["gates"]
    assert (gate["outcome"], gate["compared"]) == ("block", 4)
    assert (gate["value"], gate["baseline_value"], gate["delta"]) == (0.5, 0.75, -0.25)
    assert gate["reason"].endswith("; baseline judged anew")
    card = scorecard(suite.out)
    assert card["baseline"]["rejudged"] == {"good": 4}
    assert card["baseline"]["judges_changed"] == ["good"]
    assert card["flips"]["good"] == {"new_failures": ["c2"], "new_passes": []}
    assert any(line.startswith("baseline judged anew by 'good'") for line in card["notices"])
    means = {(m["metric"], m["stat"]): m for m in card["metrics"]}
    assert means["good", "mean"]["baseline_value"] == 0.75
    assert card["counts"]["pairs"] == card["counts"]["scored"] == 4
    assert values(suite.out) == {
        ("baseline", "c0", 0, "good"): 1.0,
        ("baseline", "c1", 0, "good"): 0.0,
        ("baseline", "c2", 0, "good"): 1.0,
        ("baseline", "c3", 0, "good"): 1.0,
    }
    verified(suite, program)


def test_changed_judge__without_a_regression_the_run_passes_and_is_promoted(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """What is promoted is an ordinary baseline of the new judge."""
    suite = suite_of(tmp_path, answers)
    answers.wrong = {"q1"}
    promoted(suite, program)
    (tmp_path / "judging.py").write_text(LAX, "utf-8")
    done = run(suite, program)
    assert done.code == 0, done
    verified(suite, program)
    done = program("baseline", "promote", suite.out, cwd=suite.folder)
    assert done.code == 0, done
    held = lines(tmp_path / "baseline" / "results.jsonl")
    assert [row["case"] for row in held] == ["c0", "c1", "c2", "c3"]
    suite.write(baseline={})
    done = run(suite, program)
    assert done.code == 0, done
    assert bridges(suite.out) == []
    assert scorecard(suite.out)["baseline"]["rejudged"] == {}


@pytest.mark.soak
def test_changed_judge__is_not_comparable_unless_it_is_asked_for(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    suite = suite_of(tmp_path, answers)
    promoted(suite, program)
    (tmp_path / "judging.py").write_text(LAX, "utf-8")
    suite.write(baseline={})
    done = run(suite, program)
    assert (done.code, outcomes(suite.out)) == (2, {"no-worse": "not_comparable"}), done
    assert bridges(suite.out) == []


@pytest.mark.soak
def test_new_judge__reads_the_outputs_that_are_there(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """The baseline never had it; its outputs are there all the same."""
    suite = suite_of(tmp_path, answers)
    answers.wrong = {"q1"}
    promoted(suite, program)
    suite.config["judges"].append({"id": "exact", "type": "exact"})
    suite.write(gates=[{"id": "exact", "metric": "exact", "no_regression": {}}])
    answers.wrong = {"q1", "q3"}
    done = run(suite, program)
    assert done.code == 1, done
    (gate,) = scorecard(suite.out)["gates"]
    assert (gate["value"], gate["baseline_value"]) == (0.5, 0.75)
    verified(suite, program)


@pytest.mark.soak
def test_renamed_and_changed_cases__count_as_everywhere(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """A renamed case is judged under its new id; what the plan does not hold only counts for overlap."""
    suite = suite_of(tmp_path, answers, rule={"max_drop": 0.1})
    promoted(suite, program)
    (tmp_path / "judging.py").write_text(LAX, "utf-8")
    suite.cases[0]["id"] = "k0"
    suite.cases[3]["input"] = "q33"
    suite.write()
    done = run(suite, program)
    assert (done.code, outcomes(suite.out)) == (2, {"no-worse": "not_comparable"}), done
    assert "only 3 of the baseline's 4 scored cases" in scorecard(suite.out)["gates"][0]["reason"]
    means = {(m["metric"], m["stat"]): m for m in scorecard(suite.out)["metrics"]}
    assert means["good", "mean"]["baseline_value"] is None  # of two judges there is no mean
    suite.write(baseline=suite.config["baseline"] | {"min_overlap": 0.7})
    done = run(suite, program)
    assert done.code == 0, done
    assert sorted(case for _, case, _, _ in values(suite.out)) == ["c1", "c2", "k0"]
    assert scorecard(suite.out)["gates"][0]["compared"] == 3
    verified(suite, program)


@pytest.mark.parametrize(("then", "now"), [(3, 1), pytest.param(1, 2, marks=pytest.mark.soak)])
def test_trials__may_differ_in_number(
    tmp_path: Path, program: Program, answers: Answers, then: int, now: int
) -> None:
    """Each trial of the baseline is judged anew, by its own number."""
    suite = suite_of(tmp_path, answers, 2, trials=then)
    promoted(suite, program)
    (tmp_path / "judging.py").write_text(LAX, "utf-8")
    suite.write(trials=now)
    done = run(suite, program)
    assert done.code == 0, done
    assert sorted(trial for _, _, trial, _ in values(suite.out)) == sorted([*range(then)] * 2)
    assert scorecard(suite.out)["baseline"]["rejudged"] == {"good": 2 * then}
    verified(suite, program)


def test_anchor__is_bridged_like_the_baseline(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    suite = suite_of(tmp_path, answers)
    promoted(suite, program)
    shutil.copytree(tmp_path / "baseline", tmp_path / "release")
    answers.wrong = {"q3"}
    (tmp_path / "judging.py").write_text(LAX, "utf-8")
    # The baseline is of the new judge; the anchor is of the old one.
    shutil.rmtree(tmp_path / "baseline")
    promoted(suite, program)
    suite.write(baseline=suite.config["baseline"] | {"anchor": "release"})
    done = run(suite, program)
    assert done.code == 1, done
    assert outcomes(suite.out) == {"no-worse": "pass", "no-worse-anchor": "block"}
    assert {side for side, _, _, _ in values(suite.out)} == {"anchor"}
    card = scorecard(suite.out)
    assert (card["anchor"]["rejudged"], card["baseline"]["rejudged"]) == ({"good": 4}, {})
    assert card["gates"][1]["reason"].endswith("; anchor judged anew")
    verified(suite, program)


@pytest.mark.parametrize("kept", ["digest", pytest.param("purged", marks=pytest.mark.soak)])
def test_outputs_that_were_not_stored__are_named(
    tmp_path: Path, program: Program, answers: Answers, kept: str
) -> None:
    """Absence is never success: a baseline that cannot be judged again is incomplete."""
    more: dict[str, Any] = {"store_outputs": "digest"} if kept == "digest" else {}
    suite = suite_of(tmp_path, answers, **more)
    done = run(suite, program)
    assert done.code == 0, done
    if kept == "purged":
        assert program("purge", suite.out, "--yes", cwd=tmp_path).code == 0
    done = program("baseline", "promote", suite.out, cwd=tmp_path)
    assert done.code == 0, done
    (tmp_path / "judging.py").write_text(LAX, "utf-8")
    done = run(suite, program)
    assert done.code == 2, done
    assert "4 outputs of the baseline" in done.err  # said before anything is called
    card = scorecard(suite.out)
    (gate,) = card["gates"]
    assert (card["status"], gate["outcome"], gate["delta"]) == (
        "completed",
        "blocked_missing",
        None,
    )
    assert "its baseline, judged anew, is incomplete: 4 of 4 cases" in gate["reason"]
    assert "4 outputs of the baseline were not stored" in gate["reason"]
    assert bridges(suite.out) == []
    verified(suite, program)


@pytest.mark.soak
def test_shards__judge_what_belongs_to_their_cases(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """`none` judges nothing, `only` does; what is recorded is not judged again; `finish` says what lacks."""
    suite = suite_of(tmp_path, answers, shards=2)
    promoted(suite, program)
    (tmp_path / "judging.py").write_text(NOTING, "utf-8")
    shutil.rmtree(suite.out)
    done = program("plan", suite.path, "--out", "plan", cwd=tmp_path)
    assert done.code == 0, done

    def shard(index: int, *more: str) -> int:
        words = ("--plan", "plan", "--index", str(index), "--out", "results", *more)
        return program("shard", *words, cwd=tmp_path).code

    assert [shard(0, "--judges", "none"), shard(1, "--judges", "none")] == [0, 0]
    assert bridges(tmp_path / "results") == []
    assert shard(0) == 0
    assert len(bridges(tmp_path / "results")) == 2
    words = ("finish", "--plan", "plan", "--results", "results", "--out", "out")
    done = program(*words, cwd=tmp_path)
    assert done.code == 2, done
    status = program("status", "out", "--json", cwd=tmp_path).json()
    assert "2 outputs of the baseline still to be judged anew by good" in status["missing"]
    assert shard(1, "--judges", "only") == 0
    assert shard(1) == 0
    judged = (tmp_path / "judged.txt").read_text("utf-8").split()
    assert sorted(judged) == sorted([*("c0", "c1", "c2", "c3")] * 2)
    done = program(*words, cwd=tmp_path)
    assert done.code == 0, done
    verified(suite, program)


@pytest.mark.soak
def test_repair__mends_what_is_missing(tmp_path: Path, program: Program, answers: Answers) -> None:
    suite = suite_of(tmp_path, answers, shards=2)
    promoted(suite, program)
    (tmp_path / "judging.py").write_text(LAX, "utf-8")
    shutil.rmtree(suite.out)
    assert program("plan", suite.path, "--out", "plan", cwd=tmp_path).code == 0
    for index in ("0", "1"):
        asked = ("shard", "--plan", "plan", "--index", index, "--out", "results")
        assert program(*asked, cwd=tmp_path).code == 0
    path = tmp_path / "results" / "shard-0001.attempt-1.jsonl"
    kept = [line for line in lines(path) if line["record"] not in ("bridge", "end")]
    path.write_text("".join(json.dumps(line) + "\n" for line in kept), "utf-8")
    words = ("finish", "--plan", "plan", "--results", "results", "--out", "out")
    assert program(*words, "--repair", "1", cwd=tmp_path).code == 2
    assert program(*words, "--repair", "1", cwd=tmp_path).code == 0
    assert len(bridges(suite.out)) == 4
    verified(suite, program)


@pytest.mark.parametrize(
    "what",
    [
        "value",
        "output",
        *(
            pytest.param(name, marks=pytest.mark.soak)
            for name in ("output_digest", "judge", "side")
        ),
    ],
)
def test_tampering__is_told(tmp_path: Path, program: Program, answers: Answers, what: str) -> None:
    """Exit 4: an edited record, or another output in the plan's copy of the baseline."""
    suite = suite_of(tmp_path, answers)
    promoted(suite, program)
    (tmp_path / "judging.py").write_text(LAX, "utf-8")
    assert run(suite, program).code == 0

    def change(row: dict[str, Any]) -> None:
        if row.get("record") == "bridge":
            changed: dict[str, Any] = {
                "value": 0.0,
                "output_digest": "sha256:" + "0" * 64,
                "judge": "other",
                "side": "anchor",
            }
            row[what] = changed[what]

    if what == "output":
        edit_lines(
            suite.out / "plan" / "baseline" / "results.jsonl", lambda row: row.update(output="x")
        )
    else:
        edit_lines(suite.out / "results" / "shard-0000.attempt-1.jsonl", change)
    done = program("verify", suite.out, cwd=tmp_path)
    assert done.code == 4, done


def test_edited_outputs__are_refused_before_anything_is_judged(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """A baseline's results say what was scored by bytes; its outputs are held by its run's digest over them."""
    suite = suite_of(tmp_path, answers)
    promoted(suite, program)
    (tmp_path / "judging.py").write_text(LAX, "utf-8")
    edit_lines(tmp_path / "baseline" / "results.jsonl", lambda row: row.update(output="nonsense"))
    done = run(suite, program)
    assert done.code == 4, done
    assert "its outputs" in done.err


def deferring(folder: Path, answers: Answers, judge: JudgeServer, cases: int = 4) -> Suite:
    """A suite whose judge answers later."""
    one = {"id": "good", "type": "http", "url": judge.url, "pass_at": 1, "interval": "200ms"}
    suite = suite_of(folder, answers, cases, shards=2)
    return suite.write(judges=[one])


@pytest.mark.soak
def test_deferred__tickets_are_waited_for_like_any(
    tmp_path: Path, program: Program, answers: Answers, judge: JudgeServer
) -> None:
    suite = suite_of(tmp_path, answers, shards=2)
    promoted(suite, program)
    judge.after = 2
    deferring(tmp_path, answers, judge)
    done = run(suite, program)
    assert done.code == 0, done
    found = bridges(suite.out)
    assert len([one for one in found if one["state"] == "pending"]) == 4
    assert len([one for one in found if one["state"] == "scored"]) == 4
    asked = [one for one in judge.asked if "baseline-t0" in one["idempotency_key"]]
    assert len(asked) == 4
    keys = {one["idempotency_key"] for one in judge.asked}
    assert len(keys) == 8  # the same output of this run is another question
    verified(suite, program)


def test_deferred__no_wait_says_what_is_owed_and_resume_takes_it(
    tmp_path: Path, program: Program, answers: Answers, judge: JudgeServer
) -> None:
    suite = suite_of(tmp_path, answers, shards=2)
    promoted(suite, program)
    judge.after = None
    judge.score = lambda asked: {"value": asked["output"] == asked["case"]["expected"]}
    deferring(tmp_path, answers, judge)
    done = program("run", suite.path, "--no-wait", cwd=tmp_path)
    assert done.code == 5, done
    card = scorecard(suite.out)
    assert "and 4 scores of outputs of earlier runs" in card["reasons"][0]
    assert card["waiting"][0]["pending"] == 8
    assert program("verify", suite.out, cwd=tmp_path).code == 5
    judge.after = 0
    done = program("resume", suite.out, cwd=tmp_path)
    assert done.code == 0, done
    assert len({one["idempotency_key"] for one in judge.asked}) == len(judge.asked) == 8
    verified(suite, program)


@pytest.mark.soak
def test_deferred__what_does_not_come_is_missing_and_refuses(
    tmp_path: Path, program: Program, answers: Answers, judge: JudgeServer
) -> None:
    """The candidate is scored, the baseline is not: nobody takes a part of it for all."""
    suite = suite_of(tmp_path, answers, shards=2)
    promoted(suite, program)
    judge.after = None
    deferring(tmp_path, answers, judge)
    done = program("run", suite.path, "--no-wait", cwd=tmp_path)
    assert done.code == 5, done
    judge.after = 0
    judge.withheld = {one["ticket"] for one in bridges(suite.out)[:1]}
    done = program("resume", suite.out, "--final", cwd=tmp_path)
    assert done.code == 2, done
    card = scorecard(suite.out)
    assert card["gates"][0]["outcome"] == "blocked_missing"
    assert "1 of 4 cases" in card["gates"][0]["reason"]
    assert any("1 score of the baseline's outputs" in line for line in card["reasons"])
    verified(suite, program)


@pytest.mark.soak
def test_deferred__one_ticket_for_both_sides_is_worth_nothing(
    tmp_path: Path, program: Program, answers: Answers, judge: JudgeServer
) -> None:
    suite = suite_of(tmp_path, answers, 2)
    promoted(suite, program)
    judge.after = 1
    judge.ticket = lambda asked: asked["case"]["id"]
    deferring(tmp_path, answers, judge, 2).write(shards=1)
    done = run(suite, program)
    assert done.code == 2, done
    card = scorecard(suite.out)
    assert (card["counts"]["failed"], card["gates"][0]["outcome"]) == (2, "blocked_missing")
    assert {one["state"] for one in bridges(suite.out)} == {"pending", "failed"}
    verified(suite, program)


@pytest.mark.soak
def test_deferred__a_retry_asks_both_holders_of_one_ticket_again(
    tmp_path: Path, program: Program, answers: Answers, judge: JudgeServer
) -> None:
    """B133, G-19: one score came for an answer of this run and one of the baseline, in two shards."""
    suite = suite_of(tmp_path, answers, 4, shards=2)
    promoted(suite, program)
    judge.after = 1

    def ticket(asked: Any) -> str:
        key = str(asked["idempotency_key"].partition(":")[2])
        return "T" if key.startswith(("c0#baseline-t0", "c3#t0")) else key

    judge.ticket = ticket
    deferring(tmp_path, answers, judge)
    assert program("plan", suite.path, "--out", "plan", cwd=tmp_path).code == 0
    for index in ("0", "1"):
        shard = ("shard", "--plan", "plan", "--index", index, "--out", "results")
        assert program(*shard, cwd=tmp_path).code == 0
    finish = ("finish", "--plan", "plan", "--results", "results", "--out", "first")
    assert program(*finish, cwd=tmp_path).code == 2
    judge.asked.clear()
    judge.ticket = None
    done = program("retry", "first", "--out", "again", cwd=tmp_path)
    assert done.code == 0, done
    assert "and 2 scores of what is there" in done.err
    assert len(judge.asked) == 2
    assert {one["ticket"] for one in bridges(tmp_path / "again")} & {"T"} == set()


@pytest.mark.soak
def test_failed_judge__is_asked_again_by_a_rerun(
    tmp_path: Path, program: Program, answers: Answers, judge: JudgeServer
) -> None:
    """A retryable failure leaves the shard something to do, and what was measured is not asked again."""
    suite = suite_of(tmp_path, answers, 2)
    promoted(suite, program)
    deferring(tmp_path, answers, judge, 2).write(shards=1)
    shutil.rmtree(suite.out)
    assert program("plan", suite.path, "--out", "plan", cwd=tmp_path).code == 0
    words = ("shard", "--plan", "plan", "--index", "0", "--out", "results")
    judge.faults["judge"] = [PASSES] * 3
    judge.always["judge"] = status(503)
    assert program(*words, cwd=tmp_path).code == 2
    judge.always.clear()
    assert [one["state"] for one in bridges(tmp_path)] == ["scored", "failed"]
    assert program(*words, cwd=tmp_path).code == 0
    assert len(judge.asked) == 1
    finish = ("finish", "--plan", "plan", "--results", "results", "--out", "out")
    done = program(*finish, cwd=tmp_path)
    assert done.code == 0, done
    verified(suite, program)


@pytest.mark.soak
def test_spent_budget__leaves_the_baseline_incomplete(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """X-21: what no budget was left for is said, and nothing is decided on the part that is there."""
    answers.reply = lambda asked: (200, {"answer": asked.question.upper(), "cost": 0.01})
    suite = suite_of(tmp_path, answers, target={"usage": {"cost_usd": "cost"}})
    promoted(suite, program)
    (tmp_path / "judging.py").write_text(LAX, "utf-8")
    suite.write(budget={"cost_usd": 0.04})
    done = run(suite, program)
    assert done.code == 2, done
    (gate,) = scorecard(suite.out)["gates"]
    assert gate["outcome"] == "blocked_missing"
    assert gate["reason"].endswith(
        "budget_exceeded: the cost budget was spent before every output of the baseline was judged anew"
    )
    verified(suite, program)


@pytest.mark.soak
def test_preview__judges_the_outputs_of_its_own_cases(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    suite = suite_of(tmp_path, answers)
    promoted(suite, program)
    (tmp_path / "judging.py").write_text(LAX, "utf-8")
    done = program("run", suite.path, "--ids", "c1,c3", cwd=tmp_path)
    assert done.code == 0, done
    assert sorted(case for _, case, _, _ in values(suite.out)) == ["c1", "c3"]
    assert scorecard(suite.out)["gates"][0]["compared"] == 2
    verified(suite, program)


@pytest.mark.soak
def test_purged__reasons_and_tickets_of_the_bridge_go_too(
    tmp_path: Path, program: Program, answers: Answers, judge: JudgeServer
) -> None:
    """Whatever a judge was given under a ticket it is asked to forget, the baseline's outputs included."""
    suite = suite_of(tmp_path, answers, 2)
    promoted(suite, program)
    judge.after = 1
    judge.score = lambda _: {"value": 1, "reason": "private words"}
    deferring(tmp_path, answers, judge, 2)
    done = run(suite, program)
    assert done.code == 0, done
    done = program("purge", suite.out, "--yes", cwd=tmp_path)
    assert done.code == 0, done
    assert sorted(len(tickets) for tickets in judge.purged) == [4]
    held = b"".join(path.read_bytes() for path in (suite.out / "results").iterdir())
    assert b"private words" not in held
    verified(suite, program)


@pytest.mark.soak
def test_batch__a_judge_that_takes_many_gets_the_outputs_of_both_sides(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    suite = suite_of(tmp_path, answers, 2)
    promoted(suite, program)
    with serving(OpenAiStub(say=lambda _: verdict(1))) as stub:
        llm = {
            "id": "good", "type": "llm", "base_url": stub.url, "model": "m", "pass_at": 0.7,
            "rubric": {"name": "own", "text": "Is it right?"}, "mode": "batch", "interval": "100ms",
            "deadline": "20s",
        }  # fmt: skip
        suite.write(judges=[llm])
        done = run(suite, program)
        assert done.code == 0, done
        assert len(stub.batches) == 1
    assert scorecard(suite.out)["baseline"]["rejudged"] == {"good": 2}
    verified(suite, program)


def test_killed_anywhere__only_what_was_in_flight_is_judged_again(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """SIGKILL before each bridge record is written: every other one is judged once."""
    suite = suite_of(tmp_path, answers, 2)
    promoted(suite, program)
    (tmp_path / "judging.py").write_text(NOTING, "utf-8")
    assert run(suite, program).code == 0
    whole = values(suite.out)
    for case in ("c0", "c1"):
        shutil.rmtree(suite.out)
        (tmp_path / "judged.txt").unlink()
        fault = {"before": f"append baseline {case}#0 good"}
        done = program("run", suite.path, cwd=tmp_path, fault=fault)
        assert done.code == -9, done
        done = program("resume", suite.out, cwd=tmp_path)
        assert done.code == 0, done
        judged = (tmp_path / "judged.txt").read_text("utf-8").split()
        # Two outputs on each side, and the one in flight once more.
        assert sorted(judged) == sorted(["c0", "c1"] * 2 + [case])
        assert values(suite.out) == whole
        verified(suite, program)


@pytest.mark.soak
@pytest.mark.timeout(400)
@pytest.mark.parametrize("later", [False, True], ids=["at once", "later"])
def test_killed_at_every_point__comes_to_the_same(
    tmp_path: Path, program: Program, answers: Answers, judge: JudgeServer, later: bool
) -> None:
    """SIGKILL before each change on disk, and a resume: the same scores, and no output judged in vain."""
    suite = suite_of(tmp_path, answers, 2)
    promoted(suite, program)
    judge.after = 2 if later else 0
    deferring(tmp_path, answers, judge, 2).write(shards=1)
    shutil.rmtree(suite.out)
    noted = tmp_path / "points.txt"
    fault = {"record": str(noted), "hasten": True}
    assert program("run", suite.path, cwd=tmp_path, fault=fault).code == 0
    points = noted.read_text("utf-8").splitlines()
    first = next(n for n, name in enumerate(points) if name.startswith("append"))
    for number in range(first, len(points)):
        shutil.rmtree(suite.out)
        judge.asked.clear()
        fault = {"before": number, "hasten": True}
        assert program("run", suite.path, cwd=tmp_path, fault=fault).code in (-9, 0)
        done = program("resume", suite.out, cwd=tmp_path, fault={"hasten": True})
        assert done.code == 0, (points[number], done)
        assert len(judge.asked) <= 5, points[number]
        found = [one for one in bridges(suite.out) if one["state"] == "scored"]
        assert sorted(one["case"] for one in found) == ["c0", "c1"], points[number]
        verified(suite, program)
