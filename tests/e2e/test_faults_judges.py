"""Real-world faults of judges that answer at once, through the command line (B55 to B71).

B55, the chat replies of B56, B58 and B59, and the short cut of B71 before a model is called are in
`test_judges_llm.py`. B59's and B64's records are made by judges and shards, as ledger files are only read under a
plan.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.faulty import (
    EXACT,
    PYTHON,
    asks,
    cli,
    command,
    decided,
    judge_failure,
    not_measured,
    python,
    rows,
    state_of,
    suite_of,
)
from tests.e2e.suites import Suite, document

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

ECHO = 'return case["input"]'
SAYS_OUTPUT = "import json, sys\nsys.stdout.write(json.load(sys.stdin)['output'])"
"""A judge whose reply is the output, byte for byte."""
FAILED = ("failed", None)


def replies(folder: Path, said: Mapping[str, str], gate: Mapping[str, Any], **judge: Any) -> Suite:
    """A suite whose judge, a program, replies with what the target said; plain and negated."""
    program = {"type": "command", "run": [PYTHON, "-c", SAYS_OUTPUT], **judge}
    return suite_of(
        folder,
        [{"id": name, "input": text} for name, text in said.items()],
        python(folder, ECHO),
        {"id": "judge", **program},
        gates=[{"id": "gate", "metric": "judge", **gate}],
        cases=[{"path": "cases.jsonl", "empty_input": "run"}],
    )


def mean_of(card: Mapping[str, Any], judge: str) -> Any:
    """The metric over all cases."""
    wanted = (judge, "all", "mean")
    (found,) = [m for m in card["metrics"] if (m["metric"], m["split"], m["stat"]) == wanted]
    return found


NO_VERDICT = {
    "no-pass": ('{"reason": "The policy text does not mention refunds at all."}', "contract_violation"),
    "old-score": ('{"score": 0, "reason": "wrong"}', "contract_violation"),
    "verdict": ('{"verdict": "yes"}', "contract_violation"),
    "nested": ('{"result": {"pass": true, "score": 1}}', "contract_violation"),
    "empty-object": ("{}", "contract_violation"),
    "list": ("[]", "malformed"),
    "text": ('"yes"', "malformed"),
    "null": ("null", "malformed"),
    "prose": ("Yes, this passes.", "malformed"),
    "nothing": (" ", "malformed"),
    "two": ('{"value": 1} {"value": 0}', "malformed"),
    "error": ('{"error": "rate limited"}', "contract_violation"),
    "pending": ('{"state": "pending"}', "contract_violation"),
    "value-and-state": ('{"value": 1, "state": "failed", "reason": "x"}', "contract_violation"),
    "pass-text": ('{"value": "true"}', "contract_violation"),
}  # fmt: skip


@pytest.mark.parametrize("negate", [False, True], ids=["plain", "negated"])
def test_b56__no_verdict_is_neither_pass_nor_fail(tmp_path: Path, *, negate: bool) -> None:
    """B32, B56: a reply without the agreed fields is a failure of the judge, negated or not."""
    said = {name: text for name, (text, _) in NO_VERDICT.items()}
    suite = replies(
        tmp_path, said | {"true": "true", "said-false": '{"value": false}'}, {"min": 0},
        pass_at=1, negate=negate, concurrency=2,
    )  # fmt: skip
    card = not_measured(cli("run", suite.path, cwd=tmp_path), suite)
    for name, (_, code) in NO_VERDICT.items():
        assert judge_failure(suite.out, name, "judge") == ("judge", code, False), name
        assert state_of(suite.out, name, "judge") == FAILED
        assert rows(suite.out)[name]["passed"].get("judge") is not True
    # A bare `true` is a whole answer by the contract of this program.
    assert state_of(suite.out, "true", "judge") == ("scored", 0.0 if negate else 1.0)
    assert state_of(suite.out, "said-false", "judge") == ("scored", 1.0 if negate else 0.0)
    assert card["counts"]["failed"] == len(NO_VERDICT)


OFF_SCALE = {
    "absurd": '{"value": 9.2e124}', "of-one": '{"value": 3.85}', "negative": '{"value": -0.1}',
    "percent": '{"value": 85}', "text": '{"value": "8/10"}', "a-hair": "1.0000000000000002",
    "list": '{"value": [1]}',
}  # fmt: skip


def test_b58__scores_off_the_scale_are_failures(tmp_path: Path) -> None:
    """B58: not clamped, not averaged; what is on the scale stays."""
    said = OFF_SCALE | {"top": '{"value": 1}', "bottom": "0", "minus-zero": "-0.0"}
    suite = replies(tmp_path, said, {"min": 0}, scale=[0, 1], concurrency=2)
    card = not_measured(cli("run", suite.path, cwd=tmp_path), suite)
    for name in OFF_SCALE:
        assert judge_failure(suite.out, name, "judge") == ("judge", "contract_violation", False)
    assert state_of(suite.out, "minus-zero", "judge") == ("scored", 0.0)
    mean = mean_of(card, "judge")
    assert (mean["n_scored"], mean["n_expected"]) == (3, 10)
    assert mean["value"] == pytest.approx(1 / 3)
    assert "-0" not in json.dumps(card["metrics"]).replace("-0.", "")


NOT_FINITE = {
    "nan": "NaN",
    "inf": '{"value": Infinity}',
    "huge": "1e999",
    "text": '{"value": "NaN"}',
}


def test_b59__one_nan_leaves_the_mean_alone(tmp_path: Path) -> None:
    """B13, B59, B61: not finite is a failure, out of the mean and counted beside it; no gate passes."""
    suite = replies(tmp_path, NOT_FINITE | {"good": "0.9", "fair": "0.8"}, {"min": 0})
    card = not_measured(cli("run", suite.path, cwd=tmp_path), suite)
    for name in NOT_FINITE:
        cls, code, _ = judge_failure(suite.out, name, "judge")
        assert (cls, code in ("malformed", "contract_violation")) == ("judge", True)
    mean = mean_of(card, "judge")
    assert (mean["value"], mean["n_scored"], mean["n_expected"]) == (0.85, 2, 6)
    assert "4 of 6" in card["incomplete"][0]["message"]
    for path in suite.out.rglob("*.json*"):
        for line in (
            path.read_text("utf-8").splitlines()
            if path.suffix == ".jsonl"
            else [path.read_text("utf-8")]
        ):
            json.loads(line, parse_constant=pytest.fail)


def test_b61__function_that_returns_nan_is_no_full_mark(tmp_path: Path) -> None:
    """B61: a judge's own clamp has made 1.0 of NaN before we see it; a bare NaN, we do see."""
    (tmp_path / "scores.py").write_text(
        'def judge(ask):\n    return float(ask["output"])\n', encoding="utf-8"
    )
    judge = {"type": "python", "function": "scores:judge", "interpreter": PYTHON}
    suite = suite_of(
        tmp_path,
        asks("nan", "inf", "-inf", "1"),
        python(tmp_path, ECHO),
        {"id": "plain", **judge},
        {"id": "negated", **judge, "negate": True},
        gates=[{"id": "gate", "metric": "plain", "min": 0}],
    )
    not_measured(cli("run", suite.path, cwd=tmp_path), suite)
    for case in ("c0", "c1", "c2"):
        for name in ("plain", "negated"):
            assert judge_failure(suite.out, case, name)[0] == "judge"
    assert state_of(suite.out, "c3", "negated") == ("scored", 0.0)


NUMERIC: list[tuple[Any, Any, dict[str, Any], str]] = [
    ("The total is 72 clips, altogether.", 72, {"extract": True}, "pass"),
    ("$9,500", 9500, {"extract": True}, "pass"),
    ("\\boxed{8{,}000}", 8000, {"extract": True}, "pass"),
    ("29.00", 29, {}, "pass"),
    ("1.234,56", 1234.56, {}, "ambiguous_number"),
    ("1.234,56", 1234.56, {"extract": True}, "ambiguous_number"),
    ("\uff11\uff12", 12, {}, "pass"),
    ("between 3 and 5", 5, {"extract": True}, "several_numbers"),
    ("none at all", 5, {"extract": True}, "no_number"),
    ("NaN", 1, {}, "fail"),
    ("1e999", 1, {}, "fail"),
    ("true", 1, {}, "fail"),
    (True, 1, {}, "fail"),
    ("\u22125", -5, {}, "pass"),
    ("0.30000000000000004", 0.3, {"tolerance": 1e-9}, "pass"),
    ("100.1", 100, {"tolerance": "0.1%"}, "pass"),
    ("100.11", 100, {"tolerance": "0.1%"}, "fail"),
    ("72 clips", 72, {}, "fail"),
    ("", 0, {}, "fail"),
    (0, 0, {}, "pass"),
]


def test_b68__numbers_in_prose(tmp_path: Path) -> None:
    """B61, B68: every row of the fault, with the judge that it names; failures are no mismatches."""
    judges = [
        {"id": f"n{number}", "type": "numeric", "when": {"tags": [f"t{number}"]}, **spec}
        for number, (_, _, spec, _) in enumerate(NUMERIC)
    ]
    suite = suite_of(
        tmp_path,
        [
            {
                "id": f"c{number}", "input": {"say": output}, "expected": expected,
                "tags": [f"t{number}"],
            }
            for number, (output, expected, _, _) in enumerate(NUMERIC)
        ],
        python(tmp_path, 'return case["input"]["say"]'),
        *judges,
        gates=[{"id": "gate", "metric": "n0", "min": 1}],
    )  # fmt: skip
    done = cli("run", suite.path, cwd=tmp_path)
    assert done.code == 0, done  # its one gate is about a judge that measured all of its cases
    for number, (output, _, _, want) in enumerate(NUMERIC):
        case, judge = f"c{number}", f"n{number}"
        if want in ("pass", "fail"):
            expected = ("scored", 1.0 if want == "pass" else 0.0)
            assert state_of(suite.out, case, judge) == expected, output
        else:
            assert judge_failure(suite.out, case, judge) == ("judge", want, False), output


def test_b62__broken_judge_is_no_zero(tmp_path: Path) -> None:
    """B62: an outage of the judge and one of the target: no verdict, with the count, not a fail at 0.5."""
    judge = "import json, sys\nsys.exit('HTTP 520') if json.load(sys.stdin)['case']['id'] == 'c2' else print(1)"
    suite = suite_of(
        tmp_path,
        asks(1, 2, 3, 4),
        command("time.sleep(600) if case['id'] == 'c3' else print('x')", timeout="1s"),
        {"id": "judge", "type": "command", "run": [PYTHON, "-c", judge], "pass_at": 1},
        gates=[
            {"id": "rate", "metric": "judge", "stat": "pass_rate", "min": 0.9},
            {"id": "low", "metric": "judge", "stat": "pass_rate", "min": 0},
            {"id": "all", "metric": "judge", "require": "all"},
        ],
    )
    card = not_measured(cli("run", suite.path, cwd=tmp_path), suite)
    assert {gate["outcome"] for gate in card["gates"]} == {"blocked_missing"}
    assert all(gate["value"] is None for gate in card["gates"])
    assert "2 of 4" in card["incomplete"][0]["message"]
    assert judge_failure(suite.out, "c2", "judge") == ("judge", "exit_code", False)
    assert rows(suite.out)["c3"]["failure"]["code"] == "timeout"
    assert [state_of(suite.out, f"c{n}", "judge") for n in range(4)] == [
        ("scored", 1.0), ("scored", 1.0), FAILED, FAILED,
    ]  # fmt: skip


def test_b64__planned_is_the_sum_of_all(tmp_path: Path) -> None:
    """B64: cases whose shard brought nothing are missing, never absent; the mean of the rest decides nothing."""
    suite = suite_of(tmp_path, asks(*"xxxx"), python(tmp_path, ECHO))
    assert cli("plan", suite.path, "--shards", "2", "--out", "plan", cwd=tmp_path).code == 0
    assert cli("shard", "--plan", "plan", "--index", "0", cwd=tmp_path).code == 0
    done = cli("finish", "--plan", "plan", "--results", "results", cwd=tmp_path)
    card = not_measured(done, suite)
    assert card["counts"] | {"cases": 4, "pairs": 4, "scored": 2, "missing": 2} == card["counts"]
    assert [state_of(suite.out, f"c{n}", "exact")[0] for n in range(4)] == [
        "scored", "missing", "scored", "missing",
    ]  # fmt: skip
    assert document(suite.out / "manifest.json")["finalized_at"] is None


def test_b65__judge_that_never_ran_leaves_no_pass(tmp_path: Path) -> None:
    """B65: every planned pair has a record; "not applicable" counts for nothing."""
    judge = EXACT | {"when": {"has": "expected"}}
    suite = suite_of(
        tmp_path,
        [{"id": "c1", "input": "hi"}, {"id": "c2", "input": "hi", "expected": "hi"}],
        python(tmp_path, ECHO),
        judge,
        {"id": "polite", "type": "contains", "value": "hi"},
        gates=[{"id": "rate", "metric": "exact", "stat": "pass_rate", "min": 1}],
    )
    card = decided(cli("run", suite.path, cwd=tmp_path), suite, code=0)
    assert state_of(suite.out, "c1", "exact") == ("not-applicable", None)
    assert "exact" not in rows(suite.out)["c1"]["passed"]
    assert card["counts"] | {"scored": 3, "not_applicable": 1} == card["counts"]
    assert "1 case" in card["gates"][0]["reason"]
    junit = (suite.out / "junit.xml").read_text("utf-8")
    assert 'skipped="1"' in junit
    # A case that no judge applies to is refused, and so is a judge that applies to no case.
    alone = Suite(suite.folder, suite.config | {"judges": [judge]}, suite.cases).write()
    refused = cli("run", alone.path, "--out", "none", cwd=tmp_path)
    assert refused.code == 3
    assert "no judge applies to 1 of 2 cases" in refused.err
    idle = Suite(suite.folder, suite.config, suite.cases[:1]).write()
    refused = cli("run", idle.path, "--out", "none", cwd=tmp_path)
    assert refused.code == 3
    assert "judges nothing" in refused.err


@pytest.mark.parametrize("others", ["pass", "fail"])
def test_b70__sampled_out_is_not_passed(tmp_path: Path, others: str) -> None:
    """B70: 0 of 1 judged is 0, not 0.67; and a gate over none judged is no verdict."""
    (tmp_path / "sample.py").write_text(
        "def judge(ask):\n"
        '    if ask["case"]["id"] != "c2":\n'
        '        return {"state": "not-applicable", "reason": "sampled out"}\n'
        f"    return {others == 'pass'}\n",
        encoding="utf-8",
    )
    judge = {"type": "python", "function": "sample:judge", "interpreter": PYTHON, "pass_at": 1}
    suite = suite_of(
        tmp_path,
        [case | {"tags": [f"t{n}"]} for n, case in enumerate(asks(*"abc"))],
        python(tmp_path, ECHO),
        {"id": "judge", **judge},
        gates=[{"id": "rate", "metric": "judge", "stat": "pass_rate", "min": 0.6}],
    )
    card = decided(cli("run", suite.path, cwd=tmp_path), suite, code=0 if others == "pass" else 1)
    assert card["gates"][0]["value"] == (1.0 if others == "pass" else 0.0)
    assert "1 case" in card["gates"][0]["reason"]
    gate = {"id": "none", "metric": "judge", "require": "all", "cases": {"tags": ["t0", "t1"]}}
    suite.write(gates=[gate])
    card = not_measured(
        cli("run", suite.path, "--out", "none", cwd=tmp_path), suite, tmp_path / "none"
    )
    assert card["gates"][0]["value"] is None


def test_b67__pattern_that_never_comes_back(tmp_path: Path) -> None:
    """B67: bounded, a failure of the judge, plain or negated; other cases go on meanwhile."""
    hard = {"type": "regex", "pattern": "(a|aa)+$", "timeout": "300ms"}
    suite = suite_of(
        tmp_path,
        asks("a" * 40 + "!", "fine", "a" * 44 + "b!"),
        python(tmp_path, ECHO, concurrency=3),
        {"id": "hard", **hard},
        {"id": "negated", **hard, "negate": True},
        {"id": "other", "type": "regex", "pattern": r"^(\w+\s?)*$"},
        gates=[{"id": "gate", "metric": "hard", "min": 0}],
    )
    not_measured(cli("run", suite.path, cwd=tmp_path), suite)
    for case in ("c0", "c2"):
        for judge in ("hard", "negated"):
            assert judge_failure(suite.out, case, judge) == ("judge", "timeout", False)
        assert state_of(suite.out, case, "other")[1] != 1.0
    assert state_of(suite.out, "c1", "hard")[0] == "scored"


@pytest.mark.parametrize(
    "judge",
    [
        {"type": "exact"},
        {"type": "contains"},
        {"type": "similarity", "pass_at": 0.5},
        {"type": "regex", "pattern": "[0-9.]+%"},
        {"type": "json-schema", "schema": {"type": "string", "pattern": "%"}, "input": "text"},
    ],
    ids=lambda judge: judge["type"],
)
def test_b71__empty_answer_pleases_nobody(tmp_path: Path, judge: dict[str, Any]) -> None:
    """B71: empty, blank and null never pass; a short answer is a full one."""
    said = {"empty": "", "blank": "   ", "short": "8.4%", "unsaid": "N/A", "null": None}
    suite = suite_of(
        tmp_path,
        [{"id": name, "input": {"say": text}, "expected": "8.4%"} for name, text in said.items()],
        python(
            tmp_path,
            'said = case["input"]["say"]\n'
            + ('return {"text": json.dumps(said)}' if "input" in judge else "return said"),
        ),
        {"id": "judge", **judge},
        gates=[{"id": "all", "metric": "judge", "require": "all"}],
    )
    done = cli("run", suite.path, cwd=tmp_path)
    assert done.code in (1, 2), done
    passed = {name: row["passed"].get("judge") for name, row in rows(suite.out).items()}
    assert [name for name, good in passed.items() if good] == ["short"]
    if "input" not in judge:
        assert rows(suite.out)["null"]["failure"]["code"] == "no_answer"
        assert done.code == 2


def test_run__huge_finite_scores_are_reported(tmp_path: Path) -> None:
    """What the gate says decides, whatever no picture can show."""
    judge = {"id": "own", "type": "python", "function": "huge:judge", "interpreter": PYTHON}
    (tmp_path / "huge.py").write_text("def judge(ask):\n    return 1.7e308\n", "utf-8")
    gate = {"id": "quality", "metric": "own", "min": 0.5}
    suite = suite_of(tmp_path, asks("a", "b"), python(tmp_path, "return 1"), judge, gates=[gate])
    done = cli("run", suite.path, cwd=tmp_path)
    assert done.code == 0, done
    assert "internal" not in done.err
