"""Outputs of an untrusted job, judged by trusted definitions; hostile plans and results (G-26, P-11)."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.faulty import EXACT, PYTHON, asks, cli, function, rows, suite_of
from tests.e2e.forge import edit, edit_lines, rewrite_ledger, seal_plan
from tests.e2e.suites import Suite, document, ledger, lines, scorecard

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.e2e.program import Done

STRICT = "def judge(ask):\n    return ask['output'] == ask['case']['expected']\n"
OWN = {"id": "own", "type": "python", "function": "judge:judge", "interpreter": PYTHON}
GATES = [{"id": "quality", "metric": "own", "min": 0.9}]
FOREIGN = "sha256:" + "f" * 64


@dataclass(frozen=True)
class Pair:
    """A trusted checkout, and what an untrusted job left: `bad-plan`, `bad-results`."""

    trusted: Suite
    fork: Suite

    @property
    def folder(self) -> Path:
        """Where both stand side by side."""
        return self.trusted.folder.parent

    @property
    def plan(self) -> Path:
        """The untrusted plan."""
        return self.folder / "bad-plan"

    @property
    def results(self) -> Path:
        """The untrusted results."""
        return self.folder / "bad-results"

    def adopt(self, *options: str | Path) -> Done:
        """Plan anew from trusted definitions."""
        config = self.trusted.path
        return cli(
            "plan", config, "--adopt", "bad-plan", "--out", "plan", *options, cwd=self.folder
        )

    def judge(self, index: int = 0, *options: str | Path) -> Done:
        """Judge what was recorded."""
        return cli(
            "shard", "--plan", "plan", "--index", str(index), "--out", "r", "--judges", "only",
            "--resume", "bad-results", *options, cwd=self.folder,
        )  # fmt: skip

    def finish(self) -> Done:
        """Decide."""
        return cli("finish", "--plan", "plan", "--results", "r", "--out", "out", cwd=self.folder)


def suite(folder: Path, answer: str, inputs: str = "abcd", **changes: Any) -> Suite:
    target = {"type": "python", "function": function(folder, answer), "interpreter": PYTHON}
    (folder / "judge.py").write_text(STRICT, "utf-8")
    return suite_of(folder, asks(*inputs), target, EXACT, OWN, gates=GATES, **changes)


def recorded(tmp_path: Path, *options: str, **changes: Any) -> Pair:
    """A fork whose own judge and gates let everything through, run without judges."""
    trusted = suite(tmp_path / "trusted", "raise SystemExit('the trusted target is never called')")
    fork = suite(tmp_path / "fork", "return 'x' if case['input'] != 'c' else 'wrong'", **changes)
    (fork.folder / "judge.py").write_text("def judge(ask):\n    return True\n", "utf-8")
    pair = Pair(trusted, fork)
    done = cli("plan", fork.path, "--shards", "2", "--out", "bad-plan", *options, cwd=tmp_path)
    assert done.code == 0, done
    for index in ("0", "1"):
        arguments = ("--plan", "bad-plan", "--index", index, "--out", "bad-results")
        done = cli("shard", *arguments, "--judges", "none", cwd=tmp_path)
        assert done.code == 0, done
    return pair


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """What an untrusted job left, made once and copied for each test."""
    return recorded(tmp_path_factory.mktemp("pair"))


@pytest.fixture
def pair(once: Pair, tmp_path: Path) -> Pair:
    folder = tmp_path / "pair"
    shutil.copytree(once.folder, folder)
    sides = (replace(side, folder=folder / side.folder.name) for side in (once.trusted, once.fork))
    return Pair(*sides)


def first(pair: Pair) -> Path:
    return pair.results / "shard-0000.attempt-1.jsonl"


def test_adopt__outputs_are_judged_by_trusted_definitions(pair: Pair) -> None:
    """The fork's judge would pass everything; ours finds the wrong answer, and no target is called."""
    assert pair.adopt().code == 0
    theirs, ours = document(pair.plan / "plan.json"), document(pair.folder / "plan" / "plan.json")
    assert ours["run_id"] == theirs["run_id"]
    assert ours["plan_digest"] != theirs["plan_digest"]
    assert ours["adopted"] == {"run_id": theirs["run_id"], "plan_digest": theirs["plan_digest"]}
    assert [shard["cases"] for shard in ours["shards"]] == [2, 2]
    assert ours["judges"][1]["files"] != theirs["judges"][1]["files"]
    for index in (0, 1):
        done = pair.judge(index)
        assert done.code == 0, done
        assert "adopted 2 outputs" in done.err
    done = pair.finish()
    assert done.code == 1, done
    assert "outputs were adopted from the untrusted run" in done.out
    found = rows(pair.folder / "out")
    assert [found[case]["scores"]["own"]["value"] for case in sorted(found)] == [1, 1, 0, 1]
    card = scorecard(pair.folder / "out")
    assert card["adopted"] == ours["adopted"]
    manifest = document(pair.folder / "out" / "manifest.json")
    assert manifest["adopted"] == ours["adopted"]
    badge = document(pair.folder / "out" / "badge.json")
    assert badge["message"] == "adopted outputs"
    assert cli("verify", "out", cwd=pair.folder).code == 0
    # Again, as a re-run of the job does: what is recorded is neither asked nor judged anew.
    before = sorted(path.name for path in (pair.folder / "r").iterdir())
    assert pair.judge(0).code == 0
    assert sorted(path.name for path in (pair.folder / "r").iterdir()) == before


def test_adopt__is_never_promoted(pair: Pair) -> None:
    assert pair.adopt().code == 0
    pair.judge(0)
    pair.judge(1)
    pair.finish()
    done = cli("baseline", "promote", "out", cwd=pair.folder)
    assert done.code == 3
    assert "untrusted run" in done.err


@pytest.mark.parametrize("judges", ["all", "none"])
def test_adopt__the_target_is_never_called(pair: Pair, judges: str) -> None:
    assert pair.adopt().code == 0
    done = cli(
        "shard", "--plan", "plan", "--index", "0", "--out", "r", "--judges", judges,
        cwd=pair.folder,
    )  # fmt: skip
    assert done.code == 3, done
    assert "--judges only" in done.err
    pair.judge(0)
    done = cli(
        "finish", "--plan", "plan", "--results", "r", "--out", "out", "--repair", "9",
        cwd=pair.folder,
    )  # fmt: skip
    assert done.code == 3, done
    assert "never calls the target" in done.err


def test_adopt__nothing_else_of_the_plan_is_taken(tmp_path: Path) -> None:
    """Trials, budget, settle, expiry, baseline and policy are those of our own config."""
    pair = recorded(
        tmp_path, trials=1, expires="1h", store_outputs="full", confidence=0.6,
        settle={"deadline": "1s"}, budget={"cost_usd": 99},
    )  # fmt: skip
    pair.trusted.write(confidence=0.9, expires="2h")
    assert pair.adopt().code == 0
    plan = document(pair.folder / "plan" / "plan.json")
    assert (plan["confidence"], plan["expires_s"], plan["budget"]) == (0.9, 7200.0, None)
    assert plan["target"]["function"] == "app:answer"
    assert plan["policy"]["mode"] == "own"


def test_adopt__what_differs_in_the_dataset_is_shown(tmp_path: Path) -> None:
    pair = recorded(tmp_path, inputs="abce")
    assert pair.adopt().code == 0
    dataset = document(pair.folder / "plan" / "plan.json")["policy"]["changes"]["dataset"]
    assert dataset["changed"] == {"count": 1, "ids": ["c3"]}


def test_adopt__a_pin_of_the_trusted_config_holds(tmp_path: Path) -> None:
    """Dropping the hard cases is no way to pass."""
    pair = recorded(tmp_path, inputs="ab")
    pair.trusted.write(expect_cases=4)
    done = pair.adopt()
    assert done.code == 3, done
    assert "expect_cases pins 4 cases, and the adopted plan holds 2" in done.err


def test_adopt__a_partial_plan_stays_partial(tmp_path: Path) -> None:
    pair = recorded(tmp_path, "--ids", "c0,c1")
    pair.trusted.write(expect_cases=4)
    assert pair.adopt().code == 0
    plan = document(pair.folder / "plan" / "plan.json")
    assert (plan["mode"], plan["selection"]["of"]) == ("delta", 4)
    assert plan["policy"]["changes"]["dataset"]["removed"]["count"] == 0


@pytest.mark.parametrize("option", ["--ids=c0", "--shards=3", "--mode=preview"])
def test_adopt__brings_its_own_cases_and_shards(pair: Pair, option: str) -> None:
    done = pair.adopt(option)
    assert done.code == 3
    assert "brings its own cases and shards" in done.err


def _plan(change: Callable[[dict[str, Any]], object]) -> Callable[[Pair], None]:
    return lambda pair: edit(pair.plan / "plan.json", change)


def _case(change: Callable[[dict[str, Any]], object]) -> Callable[[Pair], None]:
    """Change each case of shard 0, every digest made to match again."""

    def spoil(pair: Pair) -> None:
        edit_lines(pair.plan / "cases-0000.jsonl", change)
        sealed(pair)

    return spoil


def sealed(pair: Pair) -> None:
    """Make every digest match again, and the run id too."""
    seal_plan(pair.plan)

    def rename(plan: dict[str, Any]) -> None:
        plan["run_id"] = f"rc-{plan['plan_digest'][7:19]}-1"

    edit(pair.plan / "plan.json", rename)


def _link(pair: Pair) -> None:
    path = pair.plan / "cases-0000.jsonl"
    path.rename(pair.folder / "secret.jsonl")
    path.symlink_to(pair.folder / "secret.jsonl")


def _twice(pair: Pair) -> None:
    shutil.copy(pair.plan / "cases-0000.jsonl", pair.plan / "cases-0001.jsonl")
    sealed(pair)


def _nested(pair: Pair) -> None:
    (pair.plan / "plan.json").write_text("[" * 100_000, "utf-8")


def _huge(pair: Pair) -> None:
    os.truncate(pair.plan / "plan.json", 1 << 30)  # sparse: only its size is large


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (_plan(lambda plan: plan.update(run_id="../../etc/passwd")), "run_id"),
        (_plan(lambda plan: plan.update(run_id="rc-" + "0" * 12 + "-1")), "its own plan digest"),
        (_plan(lambda plan: plan.update(plan_digest="x")), "plan_digest"),
        (_plan(lambda plan: plan.update(suite="another")), "suite 'another'"),
        (_plan(lambda plan: plan.update(mode="everything")), "mode"),
        (_plan(lambda plan: plan.update(cases=10**9)), "cases"),
        (_plan(lambda plan: plan.update(cases=3)), "it plans 3 cases"),
        (_plan(lambda plan: plan.update(shards=[])), "shards"),
        (_plan(lambda plan: plan.update(shards=plan["shards"] * 200)), "at most 256"),
        (_plan(lambda plan: plan["shards"][0].update(file="../secret.jsonl")), "another number or file"),
        (_plan(lambda plan: plan["shards"][0].update(digest=FOREIGN)), "cases-0000.jsonl"),
        (_plan(lambda plan: plan["shards"][0].update(cases=1)), "it holds 2 cases"),
        (_plan(lambda plan: plan.update(cases_digest=FOREIGN)), "cases_digest"),
        (_case(lambda case: case.update(id="c0")), "twice"),
        (_case(lambda case: case.update(id="a\nb")), "control character"),
        (_case(lambda case: case.update(id=7)), "not written as we write them"),
        (_case(lambda case: case.update(id=" c0")), "white space"),
        (_case(lambda case: case.update(id="x" * 600)), "at most 512"),
        (_case(lambda case: case.update(split="all")), "`all` is every case"),
        (_case(lambda case: case.update(split="../x")), "expected a split"),
        (_case(lambda case: case.update(tags=["\u0007"])), "tags"),
        (_case(lambda case: case.update(metadata=[1])), "expected an object"),
        (_case(lambda case: case.update(input=None)), "the input is null"),
        (_case(lambda case: case.update(source={"path": "a\n::error::x", "line": 1})), "source"),
        (_case(lambda case: case.update(source={"path": "a", "line": True})), "no path and line"),
        (_case(lambda case: case.update(index=True)), "index"),
        (_link, "found a link"),
        (_twice, "twice"),
        (_nested, "not JSON"),
        (_huge, "at most"),
    ],
)  # fmt: skip
def test_adopt__a_hostile_plan_is_refused_by_name(
    pair: Pair, spoil: Callable[[Pair], None], says: str
) -> None:
    """P-11: the folder is data, checked as if somebody had made it up."""
    spoil(pair)
    done = pair.adopt()
    assert done.code == 4, done
    assert says in done.err, done
    assert not (pair.folder / "plan").exists()


def test_adopt__a_case_that_contradicts_its_digest(pair: Pair) -> None:
    edit_lines(pair.plan / "cases-0000.jsonl", lambda case: case.update(expected="wrong"))
    data = (pair.plan / "cases-0000.jsonl").read_bytes()
    from releasecheck.canonical import digest_bytes

    edit(pair.plan / "plan.json", lambda plan: plan["shards"][0].update(digest=digest_bytes(data)))
    done = pair.adopt()
    assert done.code == 4
    assert "cases-0000.jsonl:1: case 'c0'" in done.err


def test_adopt__no_plan_there(pair: Pair) -> None:
    done = cli("plan", pair.trusted.path, "--adopt", "nowhere", "--out", "plan", cwd=pair.folder)
    assert done.code == 3
    assert "there is no plan.json in it" in done.err


def score(case: str, trial: int = 0, judge: str = "own") -> dict[str, Any]:
    return {
        "record": "score", "case": case, "trial": trial, "judge": judge, "output_digest": FOREIGN,
        "state": "scored", "value": 1.0, "reason": None, "failure": None, "ticket": None,
        "usage": {"tokens": None, "cost_usd": None}, "revision": 1, "at": "2026-01-05T09:00:00Z",
    }  # fmt: skip


def _record(change: Callable[[dict[str, Any]], object]) -> Callable[[Pair], None]:
    """Change the outputs of shard 0; counts and digest of the file hold again."""

    def spoil(pair: Pair) -> None:
        rewrite_ledger(first(pair), lambda row: row["record"] == "output" and change(row))

    return spoil


def _header(**changes: Any) -> Callable[[Pair], None]:
    def spoil(pair: Pair) -> None:
        rewrite_ledger(first(pair), lambda row: row["record"] == "shard" and row.update(changes))

    return spoil


def _added(*more: dict[str, Any]) -> Callable[[Pair], None]:
    """Add records to the end of shard 0, without an end record."""

    def spoil(pair: Pair) -> None:
        kept = [row for row in lines(first(pair)) if row["record"] != "end"]
        text = "".join(json.dumps(row) + "\n" for row in [*kept, *more])
        first(pair).write_text(text, "utf-8")

    return spoil


def _renamed(pair: Pair) -> None:
    first(pair).rename(pair.results / "shard-0000.attempt-7.jsonl")


def _linked(pair: Pair) -> None:
    first(pair).rename(pair.folder / "kept.jsonl")
    first(pair).symlink_to(pair.folder / "kept.jsonl")


def _impossible(pair: Pair) -> None:
    outputs = [row for row in lines(first(pair)) if row["record"] == "output"]
    _added(outputs[0] | {"latency_ms": -1})(pair)


def _answered_twice(pair: Pair) -> None:
    outputs = [row for row in lines(first(pair)) if row["record"] == "output"]
    _added(outputs[0])(pair)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (_header(plan_digest=FOREIGN), "another plan digest"),
        (_header(run_id="rc-000000000000-1"), "another run"),
        (_header(shards=9), "another number of shards"),
        (_header(shard=1), "another shard"),
        (_header(started_at="<script>"), "is no time"),
        (_header(attempt=10**6), "attempt-1000000"),
        (_renamed, "name"),
        (_record(lambda row: row.update(case="c1")), "output of case 'c1'"),
        (_record(lambda row: row.update(case="extra")), "output of case 'extra'"),
        (_record(lambda row: row.update(trial=5)), "trial 5"),
        (_record(lambda row: row.update(output="x'")), "the output of case 'c0'"),
        (_record(lambda row: row.update(output_digest="x", output=None)), "has no digest"),
        (_record(lambda row: row.update(at="::error::")), "'::error::' is no time"),
        (_record(lambda row: row.update(trace_id="a\nb")), "trace id"),
        (_record(lambda row: row.update(fingerprint="m" * 201)), "names a model"),
        (_record(lambda row: row.update(attempt=2)), "another attempt"),
        (_impossible, "latency_ms"),
        (_linked, "found a link"),
        (_answered_twice, "twice"),
        (_added(score("extra")), "a score of case 'extra'"),
        (_added(score("c0", trial=3)), "trial 3"),
        (_added(score("c1")), "a score of case 'c1'"),
    ],
)  # fmt: skip
def test_adopt__hostile_results_are_refused_by_name(
    pair: Pair, spoil: Callable[[Pair], None], says: str
) -> None:
    """G-26: a foreign digest, extra cases, forged scores for unplanned pairs, claims that do not hold."""
    assert pair.adopt().code == 0
    spoil(pair)
    done = pair.judge()
    assert done.code == 4, done
    assert "shard-0000.attempt-" in done.err
    assert says in done.err, done
    assert not ledger(pair.folder / "r") if (pair.folder / "r").exists() else True


def test_adopt__forged_scores_of_planned_pairs_count_for_nothing(pair: Pair) -> None:
    """The untrusted job says that its wrong answer is right, in our own judge's name."""
    assert pair.adopt().code == 0
    path = pair.results / "shard-0000.attempt-1.jsonl"
    wrong = next(row for row in lines(path) if row.get("case") == "c2")
    forged = score("c2") | {"output_digest": wrong["output_digest"]}
    _added(
        forged,
        {"record": "deadline", "judge": "x", "tickets": ["t"], "deadline": "2099-01-01T00:00:00Z"},
    )(pair)
    done = pair.judge(0)
    assert done.code == 0, done
    assert "2 other records were left out" in done.err
    pair.judge(1)
    assert pair.finish().code == 1
    assert rows(pair.folder / "out")["c2"]["scores"]["own"]["value"] == 0


def test_adopt__what_was_never_recorded_is_missing(pair: Pair) -> None:
    """Absence is no pass: a shard that brought no file leaves the run without a verdict."""
    assert pair.adopt().code == 0
    first(pair).unlink()
    assert pair.judge(0).code == 2
    assert pair.judge(1).code == 0
    done = pair.finish()
    assert done.code == 2, done
    assert scorecard(pair.folder / "out")["verdict"] == "blocked_missing"


def test_adopt__the_raw_files_are_refused_by_finish(pair: Pair) -> None:
    assert pair.adopt().code == 0
    done = cli(
        "finish", "--plan", "plan", "--results", "bad-results", "--out", "out", cwd=pair.folder
    )
    assert done.code == 4
    assert "another plan digest" in done.err


def test_adopt__an_attempt_with_other_content_is_refused(pair: Pair) -> None:
    assert pair.adopt().code == 0
    assert pair.judge(0).code == 0
    rewrite_ledger(
        first(pair), lambda row: row.update(latency_ms=1.0) if "latency_ms" in row else 0
    )
    done = pair.judge(0)
    assert done.code == 4, done
    assert "recorded already, with other content" in done.err


def test_adopt__a_torn_file_brings_what_is_whole(pair: Pair) -> None:
    assert pair.adopt().code == 0
    data = first(pair).read_bytes().splitlines(keepends=True)
    first(pair).write_bytes(b"".join(data[:2]) + data[2][:20])
    done = pair.judge(0)
    assert done.code == 2, done
    assert "adopted 1 outputs" in done.err
