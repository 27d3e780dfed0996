"""Section 7 of the catalogue through the command line, where `test_faults_gates.py` does not have it yet.

Here are its inputs as they stand there (B74, B80, B91), what it wants beside the exit code (B76, B77, B79,
B83, B85), and what makes a gate refuse that could only judge the survivors: time-outs, and usage that was
not said. Filters are `--ids`, `--ids-file` and `--preview` here, groups are splits and tags, and there is no
cache to answer for somebody else: every planned trial is asked.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.faulty import EXACT, PYTHON, cli, decided, rows
from tests.e2e.suites import (
    Suite,
    document,
    http_suite,
    lines,
    noted,
    outcomes,
    python_suite,
    scorecard,
)
from tests.processes import environment

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from tests.e2e.suites import Answers, Asked

NO_WORSE = {"id": "no-worse", "metric": "exact", "no_regression": {"max_drop": 0.02}}


@pytest.mark.soak
def test_b73__no_later_step_makes_it_green(tmp_path: Path) -> None:
    """B73: what did not load has no results to be considered, whoever is asked afterwards."""
    suite = python_suite(tmp_path, 2)
    (tmp_path / "app.py").write_text(
        'import os\nKEY = os.environ["RC_DOES_NOT_EXIST"]\n\n\ndef answer(case):\n    return case["input"]\n',
        "utf-8",
    )
    assert cli("run", suite.path, cwd=tmp_path).code == 3
    for command in (("resume", "out"), ("status", "out"), ("verify", "out")):
        done = cli(*command, cwd=tmp_path)
        assert done.code in (3, 4), done
    assert cli("baseline", "promote", "out", cwd=tmp_path).code in (2, 3, 4)
    # A plan made where it loaded: the shard says so, and finishing on nothing is no pass.
    fine = python_suite(tmp_path / "fine", 2)
    assert cli("plan", fine.path, cwd=fine.folder).code == 0
    shutil.copy(tmp_path / "app.py", fine.folder / "app.py")
    done = cli("shard", "--plan", "plan", "--index", "0", cwd=fine.folder)
    assert done.code in (3, 4), done
    assert "RC_DOES_NOT_EXIST" in done.err
    (fine.folder / "results").mkdir(exist_ok=True)
    done = cli("finish", "--plan", "plan", "--results", "results", cwd=fine.folder)
    assert done.code == 2, done
    assert scorecard(fine.out)["verdict"] == "blocked_missing"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--ids", "refnud-*"], "refund-1"),  # --filter "refnud-*"
        (["--ids", "c1,c99"], "c99"),  # --case c1 --case c99
        (["--preview", "0"], "0"),  # --limit 0
    ],
    ids=" ".join,
)
def test_b74__its_own_commands(tmp_path: Path, options: list[str], says: str) -> None:
    """B74: an error with the nearest ids; a baseline that is there stays what it was."""
    cases = [{"id": name, "input": "x", "expected": "X"} for name in ("c1", "c2", "refund-1")]
    suite = python_suite(tmp_path, 3)
    suite.cases = cases
    suite.write()
    done = cli("run", suite.path, *options, cwd=tmp_path)
    assert done.code == 3, done
    assert says in done.err
    assert not noted(suite)


def test_b74__a_tag_or_split_that_no_case_has(tmp_path: Path) -> None:
    """B74: `--tag nightly` is a gate's or a judge's choice of cases here; each of them is refused."""
    suite = python_suite(tmp_path, 2)
    gate = {"id": "night", "metric": "exact", "min": 0.5}
    for gates, judges in (
        ([gate | {"cases": {"tags": ["nightly"]}}], [EXACT]),
        ([gate | {"cases": {"ids": ["c0", "c99"]}}], [EXACT]),
        ([gate | {"split": "nightly"}], [EXACT]),
        ([gate], [EXACT | {"when": {"tags": ["nightly"]}}]),
        ([gate], [EXACT | {"when": {"split": "nightly"}}]),
    ):
        suite.write(gates=gates, judges=judges)
        done = cli("run", suite.path, cwd=tmp_path)
        assert done.code == 3, done
        assert "c99" in done.err if "c99" in str(gates) else "nightly" in done.err
        assert not noted(suite)


def test_b74__the_same_part_again(tmp_path: Path, answers: Answers) -> None:
    """B74: a filter that is used again picks the same cases, and resuming one asks no others."""
    suite = http_suite(tmp_path, answers, 9)
    picked = []
    for out in ("one", "two"):
        assert cli("run", suite.path, "--preview", "3", "--out", out, cwd=tmp_path).code == 0
        picked.append([row["case"] for row in lines(tmp_path / out / "results.jsonl")])
    assert picked[0] == picked[1]
    assert len(picked[0]) == 3
    assert {asked.trial for asked in answers.asked} == {f"{case}#t0" for case in picked[0]}
    assert cli("resume", "two", cwd=tmp_path).code == 0
    assert len(answers.asked) == 6


def test_b76__a_report_that_cannot_be_written_loses_no_result(
    tmp_path: Path, answers: Answers
) -> None:
    """B76: results are on disk before any summary; its error is exit 4, and nothing is asked again."""
    suite = http_suite(tmp_path, answers, 3)
    assert cli("plan", suite.path, cwd=tmp_path).code == 0
    assert cli("shard", "--plan", "plan", "--index", "0", cwd=tmp_path).code == 0
    (suite.out / "summary.md").mkdir(parents=True)
    finish = ("finish", "--plan", "plan", "--results", "results")
    done = cli(*finish, cwd=tmp_path)
    assert done.code == 4, done
    assert "summary.md" in done.err
    assert [row["output"] for row in lines(suite.out / "results.jsonl")] == ["Q0", "Q1", "Q2"]
    assert not (suite.out / "manifest.json").exists()
    (suite.out / "summary.md").rmdir()
    assert cli(*finish, cwd=tmp_path).code == 0
    assert set(answers.counts().values()) == {1}


def test_b76__groups_by_tag(tmp_path: Path, answers: Answers) -> None:
    """B76: easy has a case, medium and hard have none; a group that is not there has no mean."""
    suite = http_suite(tmp_path, answers, 2)
    for case, tag in zip(suite.cases, ("easy", "n/a"), strict=True):
        case["tags"] = [tag]
    for tag, code in (("easy", 0), ("n/a", 0), ("medium", 3), ("hard", 3)):
        gate = {"id": "group", "metric": "exact", "min": 0.5, "cases": {"tags": [tag]}}
        done = cli("run", suite.write(gates=[gate]).path, "--out", tag[:1], cwd=tmp_path)
        assert done.code == code, done
        assert code == 0 or tag in done.err


@pytest.mark.soak
def test_b77__the_verdict_is_in_a_file_too(tmp_path: Path, answers: Answers) -> None:
    """B77: behind `| tee` the exit code is lost; the scorecard, and `resume` on it, still say 1."""
    suite = http_suite(tmp_path, answers, 2)
    answers.wrong = {"q0", "q1"}
    program = f"{PYTHON} -m releasecheck"
    env = environment(NO_COLOR="1")

    def bash(script: str) -> int:
        run = ["bash", "-e", "-c", script]  # no pipefail, as the default shell of a step
        return subprocess.run(
            run, cwd=tmp_path, env=env, capture_output=True, check=False
        ).returncode

    assert bash(f"{program} run {suite.path.name} | tee out.log") == 0
    assert "block" in (tmp_path / "out.log").read_text("utf-8")
    card = scorecard(suite.out)
    assert (card["verdict"], card["exit_code"]) == ("block", 1)
    assert cli("resume", "out", cwd=tmp_path).code == 1
    reads = "import json, sys; sys.exit(json.load(open('out/scorecard.json'))['exit_code'])"
    assert bash(f'{sys.executable} -c "{reads}"') == 1


def test_b79__two_shards_of_three_are_no_pass(tmp_path: Path, answers: Answers) -> None:
    """B79: one job of the matrix failed before it recorded anything; the gate reads files, not colours."""
    suite = http_suite(tmp_path, answers, 6, shards=3)
    assert cli("plan", suite.path, cwd=tmp_path).code == 0
    for index in ("0", "2"):
        assert cli("shard", "--plan", "plan", "--index", index, cwd=tmp_path).code == 0
    done = cli("finish", "--plan", "plan", "--results", "results", cwd=tmp_path)
    card = decided(done, suite, code=2)
    assert card["verdict"] == "blocked_missing"
    assert "2 of 6 cases have no score (2 missing)" in card["gates"][0]["reason"]
    assert [(one["index"], one["outputs"]) for one in card["shards"]] == [(0, 2), (1, 0), (2, 2)]
    # A job that was skipped left no folder: that is no empty result.
    assert (
        cli("finish", "--plan", "plan", "--results", "gone", "--out", "o", cwd=tmp_path).code == 3
    )


B80 = {
    "missing_metric.json": b'{"schema":1,"metrics":{"other":0.9}}',
    "empty.json": b"",
    "html.json": b"<!doctype html>404",
    "truncated.json": b'{"schema":1,"metrics":{"pass_rate":0.9',
    "null.json": b'{"schema":1,"metrics":{"pass_rate":null}}',
    "nan.json": b'{"schema":1,"metrics":{"pass_rate":NaN}}',
    "future.json": b'{"schema":99,"metrics":{"pass_rate":0.9}}',
    "partial.json": b'{"schema":1,"cases":{"c1":1.0},"metrics":{"pass_rate":1.0},"planned":40}',
    "lfs.json": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n",
}
"""The nine files of the catalogue, byte for byte."""


@pytest.fixture(scope="module")
def with_baseline(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    """A suite with a promoted baseline, to copy from."""
    folder = tmp_path_factory.mktemp("baseline")
    suite = python_suite(folder, 3, gates=[NO_WORSE], baseline={"on_missing": "bootstrap"})
    assert cli("run", suite.path, "--out", "before", cwd=folder).code == 0
    assert cli("baseline", "promote", "before", cwd=folder).code == 0
    return suite


@pytest.mark.parametrize("place", ["scorecard.json", "results.jsonl", "manifest.json"])
@pytest.mark.parametrize("name", B80)
def test_b80__each_broken_baseline_in_each_place(
    tmp_path: Path, with_baseline: Suite, name: str, place: str
) -> None:
    """B80: with `bootstrap` as well, before the first call, and named; the baseline is what is said to be broken."""
    shutil.copytree(with_baseline.folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "calls.txt").unlink()
    suite = Suite(tmp_path, dict(with_baseline.config), with_baseline.cases)
    (tmp_path / "baseline" / place).write_bytes(B80[name])
    done = cli("run", suite.path, "--out", "after", cwd=tmp_path)
    assert done.code in (3, 4), done
    assert "baseline" in done.err
    assert place in done.err
    assert not noted(suite)
    assert not (tmp_path / "after" / "scorecard.json").exists()


def test_b80__a_first_run_is_called_unverified(tmp_path: Path, answers: Answers) -> None:
    """B80: with `bootstrap` every report says that nothing was compared, and none says pass."""
    changes = {"gates": [NO_WORSE], "baseline": {"on_missing": "bootstrap"}}
    suite = http_suite(tmp_path, answers, 3, **changes)
    done = cli("run", suite.path, cwd=tmp_path)
    assert done.code == 0, done
    for text in (
        done.out,
        *((suite.out / n).read_text("utf-8") for n in ("summary.md", "scorecard.html")),
    ):
        assert "nothing was compared" in text
        assert "bootstrap" in text
    assert document(suite.out / "badge.json")["color"] not in ("green", "brightgreen", "success")


def test_b83__a_change_does_not_edit_its_own_baseline(tmp_path: Path, answers: Answers) -> None:
    """B83: prompt broken, baseline and gate lowered in the same change: blocked by the base's, and said first."""
    base, head = tmp_path / "base", tmp_path / "head"
    rules = [NO_WORSE, {"id": "level", "metric": "exact", "min": 0.9}]

    def side(folder: Path, right: int) -> Suite:
        # 20 cases, of which so many are answered right: the prompt is in the suite's own body.
        asked = {"q": "{{ input }}", "right": right}
        return http_suite(folder, answers, 20, target={"body": asked}, gates=rules)

    def reply(asked: Asked) -> tuple[int, Any]:
        right = int(asked.question[1:]) < json.loads(asked.body)["right"]
        return 200, {"answer": asked.question.upper() if right else "wrong"}

    answers.reply = reply
    one, other = side(base, 19), side(head, 8)
    for suite, least in ((one, 0.9), (other, 0.3)):
        suite.write(gates=[{"id": "level", "metric": "exact", "min": least}])
        assert cli("run", suite.path, "--out", "first", cwd=suite.folder).code == 0
        assert cli("baseline", "promote", "first", cwd=suite.folder).code == 0
    one.write(gates=rules)
    lax = {"id": "level", "metric": "exact", "min": 0.3}
    other.write(gates=[NO_WORSE | {"no_regression": {"max_drop": 0.5}}, lax])
    done = cli("run", other.path, "--policy", one.path, "--out", "out", cwd=tmp_path)
    assert done.code == 1, done
    card = scorecard(tmp_path / "out")
    gate = card["gates"][0]
    assert (gate["outcome"], gate["baseline_value"], gate["value"]) == ("block", 0.95, 0.4)
    assert outcomes(tmp_path / "out") == {"no-worse": "block", "level": "block"}
    summary = (tmp_path / "out" / "summary.md").read_text("utf-8")
    for said in ("baseline: file results.jsonl", "gate level: min: 0.9", "gate no-worse"):
        assert said in summary, said
    pinned = document(tmp_path / "out" / "manifest.json")["baseline"]
    assert pinned["run_id"] == document(base / "baseline" / "manifest.json")["run_id"]


def test_b85__the_group_that_collapsed_is_named(tmp_path: Path, answers: Answers) -> None:
    """B85: by tag as by split; the summary names the cases that broke though the mean stands still."""
    suite = http_suite(
        tmp_path,
        answers,
        20,
        baseline={"on_missing": "bootstrap"},
        target={"concurrency": 4},
        gates=[
            NO_WORSE,
            NO_WORSE | {"id": "multi", "cases": {"tags": ["multi"]}},
            NO_WORSE | {"id": "flips", "no_regression": {"max_drop": 1, "max_new_failures": 0}},
        ],
    )
    for number, case in enumerate(suite.cases):
        case["tags"] = ["single" if number < 10 else "multi"]
    suite.write()
    ids = [case["id"] for case in suite.cases]
    answers.wrong = {f"q{number}" for number in (*range(6, 10), 18, 19)}
    assert cli("run", suite.path, "--out", "before", cwd=tmp_path).code == 0
    assert cli("baseline", "promote", "before", cwd=tmp_path).code == 0
    answers.wrong = {f"q{number}" for number in range(14, 20)}
    card = decided(cli("run", suite.path, cwd=tmp_path), suite, code=1)
    assert outcomes(suite.out) == {"no-worse": "pass", "multi": "block", "flips": "block"}
    gates = {gate["id"]: gate for gate in card["gates"]}
    assert (gates["multi"]["baseline_value"], gates["multi"]["value"]) == (0.8, 0.4)
    assert gates["flips"]["new_failures"] == ids[14:18]
    assert ids[14] in (suite.out / "summary.md").read_text("utf-8")


@pytest.mark.soak
def test_b91__nobody_answers_for_somebody_else(tmp_path: Path, answers: Answers) -> None:
    """B91: six askings that differ in what can change the answer are six calls, and again six the next time."""
    by_model: dict[str, str] = {"a": "from a", "b": "from b"}

    def reply(asked: Asked) -> tuple[int, Any]:
        body = json.loads(asked.body)
        return 200, {
            "answer": by_model.get(body.get("model", ""), asked.headers.get("x-tenant", ""))
        }

    answers.reply = reply
    prompt = {"q": "{{ input }}"}
    asked = [
        ({"body": prompt | {"model": "a", "temperature": 0}}, 1, "from a"),
        ({"body": prompt | {"model": "b", "temperature": 0}}, 1, "from b"),
        ({"body": prompt | {"model": "a", "temperature": 1}}, 2, "from a"),
        ({"headers": {"X-Tenant": "1"}}, 1, "1"),
        ({"headers": {"X-Tenant": "2"}}, 1, "2"),
    ]
    seen: list[tuple[str, str]] = []
    for number, (target, trials, _) in enumerate(asked):
        suite = http_suite(tmp_path / str(number), answers, 1, target=target, trials=trials)
        suite.cases = [{"id": "c0", "input": "hi", "expected": "hi"}]
        suite.write()
    for again in ("one", "two"):
        for number, (_, trials, answer) in enumerate(asked):
            before = len(answers.asked)
            done = cli("run", "releasecheck.yaml", "--out", again, cwd=tmp_path / str(number))
            assert done.code == 1, done  # nothing is right; what counts is who was asked
            assert len(answers.asked) - before == trials
            assert rows(tmp_path / str(number) / again)["c0"]["output"] == answer
            plan = document(tmp_path / str(number) / again / "plan" / "plan.json")
            seen.append((plan["target_digest"], again))
    assert len({digest for digest, _ in seen}) == len(asked)
    assert len(answers.asked) == 12
    keys = [one.key for one in answers.asked]
    assert len(set(keys)) == 12


def test_b91__two_cases_that_share_a_prompt_are_two_calls(tmp_path: Path, answers: Answers) -> None:
    """B91: and an error, or an empty answer, stands for nobody else's."""
    served: list[str] = []

    def reply(asked: Asked) -> tuple[int, Any]:
        served.append(asked.trial)
        return (500, {}) if len(served) == 1 else (200, {"answer": f"number {len(served)}"})

    answers.reply = reply
    suite = http_suite(tmp_path, answers, 3, gates=[{"id": "any", "metric": "exact", "min": 0}])
    for case in suite.cases:
        case |= {"input": "the same", "expected": "the same"}
    done = cli("run", suite.write().path, cwd=tmp_path)
    assert done.code == 2, done
    assert sorted(served) == ["c0#t0", "c1#t0", "c2#t0"]
    found = rows(suite.out)
    assert found["c0"]["output"] is None
    assert [found[name]["output"] for name in ("c1", "c2")] == ["number 2", "number 3"]


def test_b92__a_bundle_resumed_after_the_config_changed(tmp_path: Path, answers: Answers) -> None:
    """B92: it keeps what it was planned with and says so; a new run reuses nothing of it."""
    suite = http_suite(tmp_path, answers, 2)
    assert cli("run", suite.path, "--ids", "c0", cwd=tmp_path).code == 0
    suite.cases[0]["input"] = "changed text"
    suite.write(trials=3)
    resumed = cli("resume", "out", cwd=tmp_path)
    assert resumed.code == 0, resumed
    assert len(answers.asked) == 1
    assert len(lines(suite.out / "results.jsonl")) == 1
    done = cli("run", suite.path, cwd=tmp_path)
    card = decided(done, suite, code=0)
    assert card["counts"]["scored"] == 6
    assert len(answers.asked) == 7


LATENCY = [
    {"id": "p95", "metric": "latency_ms", "stat": "p95", "max": 60_000},
    {"id": "mean", "metric": "latency_ms", "max": 60_000},
    {"id": "slowest", "metric": "latency_ms", "stat": "max", "max": 60_000},
]
SPENDING = [
    {"id": "sum", "metric": "cost_usd", "stat": "sum", "max": 1_000},
    {"id": "cost", "metric": "cost_usd", "max": 1_000},
    {"id": "tokens", "metric": "tokens", "stat": "p50", "max": 1_000_000},
]


def metered(
    answers: Answers, slow: Collection[str] = (), silent: Collection[str] = ()
) -> Callable[[Asked], tuple[int, Any]]:
    """A server that lets some questions wait too long, and of some does not say what they cost."""

    def reply(asked: Asked) -> tuple[int, Any]:
        if asked.question in slow:
            answers.open.wait(30)
        used = {} if asked.question in silent else {"cost": 0.01, "usage": {"total_tokens": 7}}
        return 200, {"answer": asked.question.upper(), **used}

    return reply


def metered_suite(folder: Path, answers: Answers, *gates: dict[str, Any]) -> Suite:
    """Ten questions at once, a second for each."""
    usage = {"tokens": "usage.total_tokens", "cost_usd": "cost"}
    target = {"timeout": "1s", "concurrency": 10, "usage": usage}
    return http_suite(folder, answers, 10, target=target, gates=list(gates))


def test_timeouts__thirty_percent_make_latency_and_cost_gates_refuse(
    tmp_path: Path, answers: Answers
) -> None:
    """However fast and cheap the survivors were; open and closed by hand alike."""
    suite = metered_suite(tmp_path, answers, *LATENCY, *SPENDING)
    answers.reply = metered(answers, slow={"q1", "q4", "q7"})
    card: dict[str, Any] = {}
    for command in (("run", suite.path), ("resume", "out", "--final")):
        card = decided(cli(*command, cwd=tmp_path), suite, code=2)
        assert card["verdict"] == "blocked_missing"
        for gate in card["gates"]:
            assert gate["outcome"] == "blocked_missing", gate
            assert "3 of 10 cases have no" in gate["reason"]
            assert "3 failed" in gate["reason"]
            assert (gate["value"], gate["compared"]) == (None, None)
    # What arrived is described, with how much of it there is.
    (p95,) = [m for m in card["metrics"] if (m["metric"], m["stat"]) == ("latency_ms", "p95")]
    assert (p95["n_scored"], p95["n_expected"]) == (7, 10)


@pytest.mark.soak
def test_timeouts__against_a_baseline_too(tmp_path: Path, answers: Answers) -> None:
    """A run in which the slow ones were cut off is not faster than one that waited for them."""
    faster = {"id": "faster", "metric": "latency_ms", "no_regression": {"max_drop": 60_000}}
    fail = {"id": "errors", "metric": "target_errors", "stat": "sum", "max": 0}
    suite = metered_suite(tmp_path, answers, faster)
    suite.write(baseline={"on_missing": "bootstrap"})
    answers.reply = metered(answers)
    assert cli("run", suite.path, "--out", "before", cwd=tmp_path).code == 0
    assert cli("baseline", "promote", "before", cwd=tmp_path).code == 0
    suite.write(gates=[faster, fail])
    answers.reply = metered(answers, slow={"q1", "q4", "q7"})
    assert cli("run", suite.path, cwd=tmp_path).code == 2
    closed = cli("resume", "out", "--final", cwd=tmp_path)
    # The errors themselves are measured, and block.
    card = decided(closed, suite, code=1)
    assert outcomes(suite.out) == {"faster": "blocked_missing", "errors": "block"}
    assert card["gates"][0]["delta"] is None


@pytest.mark.parametrize(
    "silent", [{"q1", "q4", "q7"}, {f"q{n}" for n in range(10)}], ids=["some", "all"]
)
def test_usage__that_was_not_said_makes_cost_gates_refuse(
    tmp_path: Path, answers: Answers, silent: set[str]
) -> None:
    """Not said is not 0; the time was measured for all of them, so that is judged."""
    suite = metered_suite(tmp_path, answers, *SPENDING, LATENCY[0])
    answers.reply = metered(answers, silent=silent)
    card = decided(cli("run", suite.path, cwd=tmp_path), suite, code=2)
    for gate in card["gates"][:3]:
        assert gate["outcome"] == "blocked_missing", gate
        assert f"{len(silent)} of 10 cases have no {gate['metric']}" in gate["reason"]
        assert f"{len(silent)} not reported" in gate["reason"]
        assert gate["value"] is None
    assert card["gates"][3]["outcome"] == "pass"
    assert card["costs"]["unknown"] == len(silent)


@pytest.mark.parametrize("kind", ["cost", "time"])
def test_budget__that_was_spent_is_told_by_every_gate_that_lacks_cases(
    tmp_path: Path, answers: Answers, kind: str
) -> None:
    """A spent budget is `blocked_missing` with `budget_exceeded`; a gate whose cases were all asked decides."""
    first = {"id": "first", "metric": "exact", "min": 0.5, "cases": {"ids": ["c0"]}}
    whole = {"id": "whole", "metric": "exact", "min": 0.5}
    budget = {"cost_usd": 0.025} if kind == "cost" else {"time": "300ms"}
    suite = http_suite(
        tmp_path,
        answers,
        6,
        batch=1,
        shards=1,
        budget=budget,
        target={"usage": {"cost_usd": "cost"}},
        gates=[first, whole],
    )

    def reply(asked: Asked) -> tuple[int, Any]:
        if kind == "time":
            time.sleep(0.2)
        return 200, {"answer": asked.question.upper(), "cost": 0.01}

    answers.reply = reply
    done = cli("run", suite.path, cwd=tmp_path)
    card = decided(done, suite, code=2)
    said = f"budget_exceeded: the {kind} budget"
    assert card["verdict"] == "blocked_missing"
    assert any(reason.startswith(said) for reason in card["reasons"])
    assert outcomes(suite.out) == {"first": "pass", "whole": "blocked_missing"}
    assert said not in card["gates"][0]["reason"]
    assert said in card["gates"][1]["reason"]
    assert said in done.out
    assert said in (suite.out / "summary.md").read_text("utf-8")
    assert cli("verify", "out", cwd=tmp_path).code == 0
    # With what was missing it is told no more.
    if kind == "cost":
        return
    answers.reply = None
    for _ in range(6):
        if (done := cli("resume", "out", cwd=tmp_path)).code == 0:
            break
    assert done.code == 0, done
    assert "budget" not in (suite.out / "scorecard.json").read_text("utf-8")
