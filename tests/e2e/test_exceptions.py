"""Waivers, quarantine and the anchor through the command line: what is let pass, and what is not (G-22, G-30, G-34)."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.suites import document, http_suite, outcomes, scorecard

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.program import Program
    from tests.e2e.suites import Answers, Suite

ALL = {"id": "quality", "metric": "exact", "min": 1}
FOR_EVER, OVER = "2999-12-31", "2020-01-01"
HOSTILE = "</script><b>@everyone ::error::x"


def waiver(**other: Any) -> dict[str, Any]:
    return {"gate": "quality", "who": "A. Person", "why": "known", "until": FOR_EVER} | other


def quarantined(**other: Any) -> dict[str, Any]:
    return {"case": "c0", "owner": "team", "reason": "known to be flaky", "until": FOR_EVER} | other


def no_worse(**rule: Any) -> dict[str, Any]:
    return {"id": "no-worse", "metric": "exact", "no_regression": {"max_drop": 0.1} | rule}


def reports(suite: Suite) -> str:
    return "".join(
        (suite.out / name).read_text("utf-8") for name in ("scorecard.html", "summary.md")
    )


@pytest.mark.parametrize(
    ("waivers", "status", "code"),
    [
        ({}, 200, 0),  # it overrides a block
        ({"until": OVER}, 200, 1),  # not after its last day
        ({}, 400, 2),  # and nothing that was not measured
    ],
)
def test_waiver__overrides_a_block_and_nothing_else(
    waivers: dict[str, Any], status: int, code: int,
    tmp_path: Path, program: Program, answers: Answers,
) -> None:  # fmt: skip
    """G-34: the verdict stays `block`, the run is told at the top, and is never a baseline."""
    suite = http_suite(tmp_path, answers, 4, gates=[ALL], waivers=[waiver(why=HOSTILE, **waivers)])
    answers.wrong = {"q1"}
    answers.status = {} if status == 200 else {"q1": status}
    done = program("run", suite.path, cwd=tmp_path)
    card = scorecard(suite.out)
    assert done.code == code == card["exit_code"], done
    assert card["verdict"] == ("blocked_missing" if code == 2 else "block")
    assert card["overridden"] is (code == 0)
    assert program("verify", "out", cwd=tmp_path).code == 0
    assert program("baseline", "promote", "out", cwd=tmp_path).code == 3
    assert HOSTILE not in reports(suite)
    if code == 0:
        assert done.out.startswith("Blocked, and waived: gate quality"), done
        assert "waived until 2999-12-31 by A. Person" in "\n".join(card["reasons"])
        assert document(suite.out / "manifest.json")["decision"]["overridden"] is True


def test_waiver__of_one_gate_releases_nothing_while_another_stops_it(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """G-34: neither a second block nor a refusal is overridden along with the first."""
    other = {"id": "other", "metric": "exact", "require": "all"}
    suite = http_suite(tmp_path, answers, 4, gates=[ALL, other], waivers=[waiver()])
    answers.wrong = {"q1"}
    assert program("run", suite.path, cwd=tmp_path).code == 1
    assert scorecard(suite.out)["overridden"] is False
    suite.write(gates=[ALL, no_worse()])  # which refuses: there is no baseline
    assert program("run", suite.path, cwd=tmp_path).code == 1
    card = scorecard(suite.out)
    assert (card["overridden"], outcomes(suite.out)["no-worse"]) == (False, "not_comparable")
    assert "releases nothing while 'no-worse'" in "\n".join(card["reasons"])


@pytest.mark.parametrize(
    ("quarantine", "outcome"),
    [
        ([quarantined()], "pass"),
        ([quarantined(judge="exact")], "pass"),
        ([quarantined(judge="latency_ms")], "block"),
        ([quarantined(until=OVER)], "block"),
        ([quarantined(case="no-such-case")], "block"),
        ([quarantined(case=f"c{n}") for n in range(3)], "blocked_missing"),
    ],
)
def test_quarantine__leaves_a_case_out_and_says_so(
    quarantine: list[dict[str, Any]], outcome: str,
    tmp_path: Path, program: Program, answers: Answers,
) -> None:  # fmt: skip
    """G-30: asked and scored, looked at by no gate, told with owner, reason and end; more than half is too much."""
    suite = http_suite(tmp_path, answers, 5, gates=[ALL], quarantine=quarantine)
    answers.wrong = {"q0"}
    program("run", suite.path, cwd=tmp_path)
    card = scorecard(suite.out)
    assert outcomes(suite.out)["quality"] == outcome
    assert card["counts"]["scored"] == 5
    assert program("verify", "out", cwd=tmp_path).code == 0
    notices = "\n".join(card["notices"])
    if outcome == "pass":
        assert card["gates"][0]["quarantined"] == 1
        assert card["gates"][0]["compared"] == 4
        assert "known to be flaky" in notices
        assert "known to be flaky" in reports(suite)
    elif quarantine[0]["until"] == OVER:
        assert "the case counts again" in notices
    elif quarantine[0]["case"] == "no-such-case":
        assert "there is no such case" in notices


def test_waiver__does_not_outlive_itself_in_a_plan_that_is_kept(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """G-30, G-34: shards and finish months after the plan, as by a re-run of an old workflow."""
    ends = datetime.fromtimestamp(tmp_path.stat().st_mtime, UTC) + timedelta(days=2)
    suite = http_suite(
        tmp_path, answers, 4, gates=[ALL], waivers=[waiver(until=f"{ends:%Y-%m-%d}")]
    )
    answers.wrong = {"q1"}
    assert program("plan", suite.path, "--out", "plan", cwd=tmp_path).code == 0
    later = {"hasten": True, "ahead_s": 7_776_000}
    shard = ("shard", "--plan", "plan", "--index", "0", "--out", "results")
    assert program(*shard, cwd=tmp_path, fault=later).code == 0
    finish = ("finish", "--plan", "plan", "--results", "results", "--out", "out")
    assert program(*finish, cwd=tmp_path).code == 0
    assert scorecard(suite.out)["overridden"] is True
    shutil.rmtree(suite.out)
    done = program(*finish, cwd=tmp_path, fault=later)
    assert done.code == 1, done
    card = scorecard(suite.out)
    assert (card["overridden"], card["waivers"]) == (False, [])
    told = f"the waiver for gate quality (by A. Person) ended on {ends:%Y-%m-%d}"
    assert any(line.startswith(told) for line in card["notices"])
    assert program("verify", "out", cwd=tmp_path).code == 0


def test_exceptions__come_from_the_rules_of_the_base(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """G-27, G-34: a change cannot waive or quarantine what it breaks itself."""
    base = http_suite(tmp_path / "base", answers, 4, gates=[ALL])
    change = http_suite(
        tmp_path / "change", answers, 4, gates=[ALL], waivers=[waiver()], quarantine=[quarantined()]
    )
    answers.wrong = {"q0"}
    assert program("run", change.path, cwd=tmp_path).code == 0
    done = program("run", change.path, "--policy", base.path, "--out", "checked", cwd=tmp_path)
    assert done.code == 1, done
    card = scorecard(tmp_path / "checked")
    assert (card["overridden"], card["quarantine"], card["waivers"]) == (False, [], [])


def test_anchor__stops_a_chain_of_small_drops(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """G-22: each step is within what is allowed, and the sum of them is not."""
    suite = http_suite(
        tmp_path, answers, 20, gates=[no_worse()],
        baseline={"on_missing": "bootstrap", "anchor": "released"},
    )  # fmt: skip
    assert program("run", suite.path, cwd=tmp_path).code == 0
    for place in ("baseline", "released"):
        assert program("baseline", "promote", "out", "--to", place, cwd=tmp_path).code == 0
    answers.wrong = {"q0", "q1"}
    assert program("run", suite.path, cwd=tmp_path).code == 0
    assert program("baseline", "promote", "out", cwd=tmp_path).code == 0
    answers.wrong = {"q0", "q1", "q2"}
    done = program("run", suite.path, cwd=tmp_path)
    assert done.code == 1, done
    assert outcomes(suite.out) == {"no-worse": "pass", "no-worse-anchor": "block"}
    card = scorecard(suite.out)
    assert card["anchor"]["run_id"] != card["baseline"]["run_id"]
    assert {axis["axis"]: axis["answer"] for axis in card["anchor"]["axes"]}["cases"] == "held"
    assert program("verify", "out", cwd=tmp_path).code == 0
    forged = json.loads((suite.out / "plan" / "anchor" / "scorecard.json").read_text("utf-8"))
    forged["verdict"] = "block"
    (suite.out / "plan" / "anchor" / "scorecard.json").write_text(json.dumps(forged), "utf-8")
    assert program("verify", "out", cwd=tmp_path).code == 4
