"""Sentinels ride in every shard, and a judge that misses one makes its gates refuse (issue 4, deliver 6)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typing_extensions import override

from tests.e2e.suites import Suite, http_suite, ledger, scorecard
from tests.judgeserver import Fault, JudgeServer, answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.e2e.program import Program
    from tests.e2e.suites import Answers

GOOD = {"id": "good", "output": "A", "expected": "A", "expect": "pass"}
BAD = {"id": "bad", "output": "A", "expected": "B", "expect": "fail"}


@pytest.fixture
def judge() -> Iterator[JudgeServer]:
    with JudgeServer(after=0) as server:
        yield server


def suite_of(
    folder: Path, answers: Answers, judge: JudgeServer, *sentinels: dict[str, Any], **more: Any
) -> Suite:
    """Four cases, judged by the server; by default a good and a bad sentinel."""
    spec = {
        "id": "grounded", "type": "http", "url": judge.url, "pass_at": 1, "interval": "200ms",
        "sentinels": list(sentinels or (GOOD, BAD)), **more.pop("spec", {}),
    }  # fmt: skip
    gates = [{"id": "quality", "metric": "grounded", "min": 0.5}]
    return http_suite(folder, answers, 4, judges=[spec], gates=gates, **more)


def sentinels_in(suite: Suite) -> list[dict[str, Any]]:
    """Every record of a sentinel, with the shard it is of."""
    return [one for one in ledger(suite.out) if one["record"] == "sentinel"]


def test_sentinels__ride_in_every_shard(
    tmp_path: Path, program: Program, answers: Answers, judge: JudgeServer
) -> None:
    suite = suite_of(tmp_path, answers, judge, shards=2)
    done = program("run", suite.path, cwd=suite.folder)
    assert done.code == 0, done
    seen = {(one["sentinel"], one["shard"], one["value"]) for one in sentinels_in(suite)}
    assert seen == {("good", 0, 1.0), ("bad", 0, 0.0), ("good", 1, 1.0), ("bad", 1, 0.0)}
    (found,) = scorecard(suite.out)["sentinels"]
    assert (found["shown"], found["held"], found["missed"], found["unscored"]) == (4, 4, [], 0)
    # They are no cases: nothing counts them.
    assert scorecard(suite.out)["counts"]["pairs"] == 4


@pytest.mark.parametrize(
    ("value", "verdict_without"), [(1, "pass"), (0, "block")], ids=["says yes", "says no"]
)
def test_missed__refuses_rather_than_passes_or_blocks(
    tmp_path: Path,
    program: Program,
    answers: Answers,
    judge: JudgeServer,
    value: float,
    verdict_without: str,
) -> None:
    """A judge that gives everything the same score is caught, whichever way it would have decided."""
    judge.score = lambda _: {"value": value}
    suite = suite_of(tmp_path, answers, judge)
    done = program("run", suite.path, cwd=suite.folder)
    assert done.code == 2, done
    card = scorecard(suite.out)
    assert card["verdict"] == "blocked_missing"
    (gate,) = card["gates"]
    assert "grounded missed 1 of 2 sentinels" in gate["reason"]
    assert card["reasons"][0].endswith("because a judge cannot be trusted")
    assert (gate["value"], gate["delta"]) == (None, None)
    assert card["sentinels"][0]["missed"] == ["bad" if value else "good"]
    assert "judge calibrate" in done.out
    assert program("verify", suite.out, cwd=tmp_path).code == 0
    summary = (suite.out / "summary.md").read_text("utf-8")
    assert "held 1 of 2 sentinels" in summary
    # The same records without sentinels would have decided.
    plain = suite_of(tmp_path / "plain", answers, judge, spec={"sentinels": []})
    program("run", plain.path, cwd=plain.folder)
    assert scorecard(plain.out)["verdict"] == verdict_without


@pytest.mark.parametrize("value", [1, 0], ids=["says yes", "says no"])
def test_missed_in_the_baseline__nothing_is_compared_with_it(
    tmp_path: Path, program: Program, answers: Answers, judge: JudgeServer, value: float
) -> None:
    """A run passes without asking that judge and is promoted; what the judge scored there is no measure."""
    judge.score = lambda _: {"value": value}
    suite = suite_of(tmp_path, answers, judge)
    suite.config["judges"].append({"id": "exact", "type": "exact"})
    suite.write(gates=[{"id": "exact", "metric": "exact", "min": 0.5}])
    done = program("run", suite.path, cwd=suite.folder)
    assert done.code == 0, done
    assert program("baseline", "promote", suite.out, cwd=suite.folder).code == 0
    judge.score = lambda asked: {
        "value": asked["output"] == asked["case"]["expected"] and asked["case"]["id"] != "c0"
    }
    suite.write(gates=[{"id": "same", "metric": "grounded", "no_regression": {"max_drop": 0.1}}])
    done = program("run", suite.path, cwd=suite.folder)
    assert done.code == 2, done
    (gate,) = scorecard(suite.out)["gates"]
    assert (gate["outcome"], gate["delta"]) == ("blocked_missing", None)
    assert "its baseline cannot be trusted: judge grounded missed" in gate["reason"]


def test_unscored__refuses_too(
    tmp_path: Path, program: Program, answers: Answers, judge: JudgeServer
) -> None:
    def score(asked: Mapping[str, Any]) -> dict[str, Any]:
        if asked["case"]["id"] == "bad":
            return {"state": "failed", "reason": "overloaded"}
        return {"value": asked["output"] == asked["case"]["expected"]}

    judge.score = score
    suite = suite_of(tmp_path, answers, judge)
    done = program("run", suite.path, cwd=suite.folder)
    assert (done.code, scorecard(suite.out)["verdict"]) == (2, "blocked_missing")
    reason = scorecard(suite.out)["gates"][0]["reason"]
    assert "1 of 2 sentinels of judge grounded" in reason
    assert "judge_failed" in reason
    # Words of the judge would be gone after a purge, and the scorecard would no longer follow from its records.
    purged = program("purge", suite.out, "--yes", "--no-judges", cwd=tmp_path)
    assert purged.code == 0, purged
    verified = program("verify", suite.out, cwd=tmp_path)
    assert verified.code == 0, verified


def test_not_applicable__is_a_miss(
    tmp_path: Path, program: Program, answers: Answers, judge: JudgeServer
) -> None:
    """G-10: not even a sentinel may be waved through as not applicable."""
    judge.score = lambda asked: (
        {"state": "not-applicable", "reason": "no"}
        if asked["case"]["id"] == "bad"
        else {"value": asked["output"] == asked["case"]["expected"]}
    )
    suite = suite_of(tmp_path, answers, judge)
    assert program("run", suite.path, cwd=suite.folder).code == 2
    assert scorecard(suite.out)["sentinels"][0]["missed"] == ["bad"]


def test_when__sentinels_are_among_the_cases_that_it_means(
    tmp_path: Path, program: Program, answers: Answers, judge: JudgeServer
) -> None:
    suite = suite_of(tmp_path, answers, judge, spec={"when": {"split": "main"}})
    assert program("run", suite.path, cwd=suite.folder).code == 0
    assert scorecard(suite.out)["sentinels"][0]["held"] == 2


def test_deferred__are_waited_for_like_scores(
    tmp_path: Path, program: Program, answers: Answers, judge: JudgeServer
) -> None:
    judge.after = 2
    suite = suite_of(tmp_path, answers, judge)
    waiting = program("run", suite.path, "--no-wait", cwd=suite.folder)
    assert waiting.code == 5, waiting
    card = scorecard(suite.out)
    assert (card["verdict"], card["counts"]["pending"]) == (None, 4)
    assert card["waiting"][0]["pending"] == 6
    assert "4 scores and 2 sentinels" in waiting.out
    done = program("resume", suite.out, cwd=tmp_path)
    assert done.code == 0, done
    assert scorecard(suite.out)["sentinels"][0]["held"] == 2


def test_shards__show_them_once_and_finish_needs_them(
    tmp_path: Path, program: Program, answers: Answers, judge: JudgeServer
) -> None:
    """What was measured is not asked again; what was removed is missed."""
    suite = suite_of(tmp_path, answers, judge, shards=2)
    plan, results = tmp_path / "plan", tmp_path / "results"
    program("plan", suite.path, "--out", plan, cwd=suite.folder)
    for index in (0, 1):
        shard = program(
            "shard", "--plan", plan, "--index", str(index), "--out", results, cwd=tmp_path
        )
        assert shard.code == 0, shard
    asked = len(judge.asked)
    again = program("shard", "--plan", plan, "--index", "0", "--out", results, cwd=tmp_path)
    assert again.code == 0, again
    assert len(judge.asked) == asked == 8
    # A file without the sentinels' records decides nothing, and a shard has something to do.
    path = next(results.glob("shard-0001*"))
    rows = [line for line in path.read_text("utf-8").splitlines() if '"sentinel"' not in line]
    path.write_text("".join(line + "\n" for line in rows[:-1]), "utf-8")
    finish = ("finish", "--plan", plan, "--results", results, "--out", tmp_path / "out")
    assert program(*finish, cwd=tmp_path).code == 2
    assert "was never shown" in scorecard(tmp_path / "out")["gates"][0]["reason"]
    repaired = program("shard", "--plan", plan, "--index", "1", "--out", results, cwd=tmp_path)
    assert repaired.code == 0, repaired
    assert [one["case"]["id"] for one in judge.asked[asked:]] == ["good", "bad"]
    assert program(*finish, cwd=tmp_path).code == 0


def test_measured_first__a_rerun_does_not_reroll_a_miss(
    tmp_path: Path, program: Program, answers: Answers, judge: JudgeServer
) -> None:
    judge.score = lambda _: {"value": 1}
    suite = suite_of(tmp_path, answers, judge)
    plan, results = tmp_path / "plan", tmp_path / "results"
    program("plan", suite.path, "--out", plan, cwd=suite.folder)
    program("shard", "--plan", plan, "--index", "0", "--out", results, cwd=tmp_path)
    judge.score = lambda asked: {"value": asked["output"] == asked["case"]["expected"]}
    asked = len(judge.asked)
    program("shard", "--plan", plan, "--index", "0", "--out", results, cwd=tmp_path)
    assert len(judge.asked) == asked
    out = tmp_path / "out"
    assert (
        program("finish", "--plan", plan, "--results", results, "--out", out, cwd=tmp_path).code
        == 2
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sentinel": "other"}, "does not have"),
        ({"shard": 1}, "sentinel of shard 1"),
        ({"judge": "nobody"}, "does not name"),
        ({"value": 7.0}, None),
    ],
    ids=["unknown sentinel", "another shard", "unknown judge", "another value"],
)
def test_forged__records_are_refused(
    tmp_path: Path,
    program: Program,
    answers: Answers,
    judge: JudgeServer,
    change: dict[str, Any],
    said: str | None,
) -> None:
    suite = suite_of(tmp_path, answers, judge, spec={"scale": [0, 1]}, shards=1)
    plan, results = tmp_path / "plan", tmp_path / "results"
    program("plan", suite.path, "--out", plan, cwd=suite.folder)
    program("shard", "--plan", plan, "--index", "0", "--out", results, cwd=tmp_path)
    (path,) = results.glob("shard-*")
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()][:-1]
    forged = [row | change if row["record"] == "sentinel" else row for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in forged), "utf-8")
    done = program(
        "finish", "--plan", plan, "--results", results, "--out", tmp_path / "out", cwd=tmp_path
    )
    assert done.code == 4, done
    assert (said or "expected a number from 0 to 1") in done.err


class OnlySentinelsLater(JudgeServer):
    """Answers about cases at once, and about sentinels never."""

    @override
    def on_judge(self, body: bytes) -> Fault:
        asked, later = json.loads(body), super().on_judge(body)
        if asked["case"]["id"] in {"good", "bad"}:
            return later
        return answer({"score": self.score(asked)})


def test_pending__status_says_that_it_waits(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """S1-10: a sentinel that is still to come is waited for as a score is."""
    with OnlySentinelsLater(after=None) as judge:
        suite = suite_of(tmp_path, answers, judge, shards=1)
        done = program("run", suite.path, "--no-wait", cwd=suite.folder)
        assert done.code == 5, done
    found = program("status", suite.out, "--json", cwd=suite.folder).json()
    assert (found["state"], found["done"], found["total"]) == ("waiting_for_scores", 4, 4)
    assert [(one["judge"], one["pending"]) for one in found["waiting"]] == [("grounded", 2)]
    assert done.out.count("grounded still owes 2 scores") == 1
    assert "grounded has no score" not in done.out, "not yet"
    assert "`releasecheck resume out`" in done.out


def test_config__a_sentinel_that_cannot_be_missed_is_refused(
    tmp_path: Path, program: Program, answers: Answers, judge: JudgeServer
) -> None:
    for wrong, said in (
        ({"output": "A"}, "expect: pass"),
        ({"output": "A", "min": 2, "max": 1}, "at least 2 and at most 1"),
        ({"output": None, "expect": "pass"}, "output"),
    ):
        suite = suite_of(tmp_path, answers, judge, wrong)
        done = program("validate", suite.path, cwd=suite.folder)
        assert done.code == 3, done
        assert said in done.err
