"""Rules from the base commit: what a change edits of them does not apply to itself, and is shown (G-27)."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.faulty import EXACT, PYTHON, asks, cli, function, suite_of
from tests.e2e.suites import Suite, document, outcomes, scorecard

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.e2e.program import Done

STRICT = "def judge(ask):\n    return ask['output'] == ask['case']['expected']\n"
LAX = "def judge(ask):\n    return True\n"
OWN = {"id": "own", "type": "python", "function": "judge:judge", "interpreter": PYTHON}
GATES = [
    {"id": "quality", "metric": "exact", "min": 0.9},
    {"id": "own", "metric": "own", "min": 0.9},
]


@dataclass(frozen=True)
class Checkout:
    """The base, and the change as it was branched from it; the target of the change answers wrongly."""

    base: Suite
    head: Suite

    def run(self, *options: str | Path, command: str = "run") -> Done:
        """A run of the change under the rules of the base."""
        folder = self.head.folder.parent
        return cli(command, self.head.path, "--policy", self.base.path, *options, cwd=folder)

    @property
    def out(self) -> Path:
        """Its bundle."""
        return self.head.folder.parent / "out"


def suite(folder: Path, answer: str, **changes: Any) -> Suite:
    target = {"type": "python", "function": function(folder, answer), "interpreter": PYTHON}
    (folder / "judge.py").write_text(STRICT, "utf-8")
    return suite_of(folder, asks("a", "b", "c"), target, EXACT, OWN, gates=GATES, **changes)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    base = suite(tmp_path / "base", "return 'x'", expect_cases=3)
    head = suite(tmp_path / "head", "return 'wrong'", expect_cases=3)
    return Checkout(base, head)


def lower_min(head: Suite) -> None:
    head.config["gates"] = [{"id": "quality", "metric": "exact", "min": 0.01}, GATES[1]]
    head.write()


def delete_gate(head: Suite) -> None:
    head.write(gates=[GATES[1]])


def weaken_module(head: Suite) -> None:
    (head.folder / "judge.py").write_text(LAX, "utf-8")


def replace_judge(head: Suite) -> None:
    head.write(judges=[{"id": "exact", "type": "regex", "pattern": "."}, OWN])


def more_time(head: Suite) -> None:
    head.write(confidence=0.6, store_outputs="none", trials=2)


@pytest.mark.parametrize(
    ("edit", "shown"),
    [
        (lower_min, "gate quality: min: 0.9 -> 0.01"),
        (delete_gate, "gate quality removed (was"),
        (weaken_module, "judge own: file judge.py: sha256:"),
        (replace_judge, "judge exact: type: exact -> regex"),
        (more_time, "confidence: 0.95 -> 0.6"),
    ],
)
def test_run__a_weaker_policy_is_shown_and_does_not_apply(
    checkout: Checkout, edit: Callable[[Suite], None], shown: str
) -> None:
    """G-27: with its own rules the change would pass, or at least lose a gate."""
    edit(checkout.head)
    done = checkout.run()
    assert done.code == 1, done
    assert outcomes(checkout.out) == {"quality": "block", "own": "block"}
    assert shown in done.out
    assert "which does not apply until merged" in done.out
    escaped = shown.replace(">", "&gt;")
    assert escaped in (checkout.out / "summary.md").read_text("utf-8")
    assert escaped in (checkout.out / "scorecard.html").read_text("utf-8")
    policy = scorecard(checkout.out)["policy"]
    assert (policy["mode"], policy["introduced"]) == ("base", False)
    assert policy["changes"]["settings"]
    assert cli("verify", checkout.out, cwd=checkout.out.parent).code == 0


def test_run__nothing_edited_is_nothing_shown(checkout: Checkout) -> None:
    done = checkout.run()
    assert done.code == 1
    assert "What this change edits" not in (checkout.out / "summary.md").read_text("utf-8")
    assert "this change edits" not in done.out
    plan = document(checkout.out / "plan" / "plan.json")
    assert plan["policy"]["changes"]["settings"] == []
    assert (plan["root"]["from_cwd"], plan["policy_root"]["from_cwd"]) == ("head", "base")


def test_plan__the_digest_does_not_cover_what_was_edited(checkout: Checkout) -> None:
    """What does not apply decides nothing: the same plan, shown differently."""
    first = checkout.run("--out", "one", "--json", command="plan").json()
    lower_min(checkout.head)
    second = checkout.run("--out", "two", "--json", command="plan").json()
    assert first["plan_digest"] == second["plan_digest"]
    assert second["policy"]["changes"]["settings"][0]["what"] == "gate quality: min"


def test_run__cases_and_their_number_are_those_of_the_change(checkout: Checkout) -> None:
    """The pin applies, so its change is shown first; cases are told by content."""
    checkout.head.cases = [
        {"id": "c0", "input": "a", "expected": "x"},
        {"id": "moved", "input": "b", "expected": "x"},
        {"id": "new", "input": "d", "expected": "x"},
        {"id": "new2", "input": "e", "expected": "x"},
    ]
    checkout.head.write(expect_cases=4)
    assert checkout.run().code == 1
    card = scorecard(checkout.out)
    assert card["counts"]["cases"] == 4
    assert "expect_cases: 3 -> 4" in card["notices"][0]
    changes = card["policy"]["changes"]
    assert changes["expect_cases"]["what"] == "expect_cases"
    dataset = changes["dataset"]
    assert (dataset["before"], dataset["after"]) == (3, 4)
    assert dataset["added"] == {"count": 2, "ids": ["new", "new2"]}
    assert dataset["removed"] == {"count": 1, "ids": ["c2"]}
    assert dataset["renamed"] == {"count": 1, "pairs": [["c1", "moved"]]}
    assert dataset["changed"] == {"count": 0, "ids": []}


def test_run__a_lost_case_is_caught_by_the_pin_of_the_change(checkout: Checkout) -> None:
    checkout.head.cases.pop()
    checkout.head.write()
    done = checkout.run()
    assert done.code == 3
    assert "expected 3 cases, found 2" in done.err


def test_run__settings_of_the_target_apply_and_are_shown(checkout: Checkout) -> None:
    checkout.head.config["target"]["timeout"] = "5s"
    checkout.head.write()
    checkout.run()
    assert document(checkout.out / "plan" / "plan.json")["target"]["timeout"] == 5.0
    assert any(
        "edits the target: target: timeout" in line or "target.timeout: 20.0 -> 5.0" in line
        for line in scorecard(checkout.out)["notices"]
    )


def test_run__the_baseline_is_that_of_the_base(checkout: Checkout) -> None:
    """A change that puts a worse baseline in the repository is compared with the old one all the same."""
    rule = {"id": "no-worse", "metric": "exact", "no_regression": {"max_drop": 0.1}}
    folder = checkout.base.folder.parent
    for side, accepting in ((checkout.base, {"min": 0.5}), (checkout.head, {"max": 0.5})):
        side.write(gates=[{"id": "q", "metric": "exact", **accepting}])
        assert cli("run", side.path, "--out", "first", cwd=folder).code == 0
        promoted = cli("baseline", "promote", "first", "--to", side.folder / "baseline", cwd=folder)
        assert promoted.code == 0, promoted
        side.write(gates=[rule])
    done = checkout.run()
    assert done.code == 1, done
    gate = scorecard(checkout.out)["gates"][0]
    assert (gate["baseline_value"], gate["value"]) == (1.0, 0.0)
    assert "baseline: file results.jsonl: sha256:" in (checkout.out / "summary.md").read_text()


def test_run__a_renamed_suite_is_said(checkout: Checkout) -> None:
    checkout.head.write(suite="other")
    done = checkout.run()
    assert done.code == 3
    assert "is the suite 'other' and the policy" in done.err
    assert "renamed" in done.err
    assert not checkout.out.exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"gates": "none"},
        {"judges": []},
        {"unheard": 1},
        {"gates": [{"id": "quality", "metric": "nothing", "min": 1}]},
        {"judges": [{"id": "s", "type": "json-schema", "schema": "gone.json"}]},
    ],
)
def test_run__a_config_that_is_broken_where_it_does_not_count(
    checkout: Checkout, changes: dict[str, Any]
) -> None:
    checkout.head.write(**changes)
    done = checkout.run()
    assert done.code == 1, done
    assert "cannot be used as it is" in (checkout.out / "summary.md").read_text("utf-8")


@pytest.mark.parametrize("text", ["{", "", "- a list", "version: 1\nsuite: faults\n"])
def test_run__a_config_that_cannot_be_read_is_an_error(checkout: Checkout, text: str) -> None:
    checkout.head.path.write_text(text, "utf-8")
    done = checkout.run()
    assert done.code == 3, done
    assert "head/releasecheck.yaml" in done.err
    assert not checkout.out.exists()


def test_run__cases_given_twice_are_an_error(checkout: Checkout) -> None:
    """Which of the two counts would be anybody's guess, and they do count."""
    text = checkout.head.path.read_text("utf-8")
    checkout.head.path.write_text(
        text.rstrip()[:-1] + ', "cases": [{"path": "cases.jsonl"}]}', "utf-8"
    )
    done = checkout.run()
    assert done.code == 3
    assert "'cases' is given twice" in done.err


def test_run__no_such_policy(checkout: Checkout) -> None:
    done = cli("run", checkout.head.path, "--policy", "gone.yaml", cwd=checkout.head.folder)
    assert done.code == 3
    assert "gone.yaml: there is no such file" in done.err


def planned(checkout: Checkout) -> Path:
    folder = checkout.head.folder.parent
    done = checkout.run("--out", folder / "plan", "--shards", "1", command="plan")
    assert done.code == 0, done
    return folder


def shard(folder: Path, *options: str | Path) -> Done:
    return cli("shard", "--plan", "plan", "--index", "0", "--out", "r", *options, cwd=folder)


def test_shard__judges_run_in_the_folder_of_the_policy(checkout: Checkout) -> None:
    """The change's own module stands at the same name in its folder, and is never run."""
    weaken_module(checkout.head)
    folder = planned(checkout)
    assert shard(folder).code == 0
    done = cli("finish", "--plan", "plan", "--results", "r", cwd=folder)
    assert done.code == 1
    assert outcomes(checkout.out) == {"quality": "block", "own": "block"}


def test_shard__without_the_folder_of_the_policy_nothing_is_called(checkout: Checkout) -> None:
    folder = planned(checkout)
    moved = folder / "elsewhere" / "policy"
    moved.parent.mkdir()
    shutil.move(checkout.base.folder, moved)
    done = shard(folder)
    assert done.code == 3, done
    assert "--policy-root" in done.err
    assert "own" in done.err
    assert not list(folder.glob("r/*.jsonl"))
    assert shard(folder, "--judges", "none").code == 0  # no judge, no need for it
    wrong = shard(folder, "--policy-root", folder)
    assert wrong.code == 3
    assert "there is no releasecheck.yaml in it" in wrong.err
    assert shard(folder, "--policy-root", moved).code == 0
    done = cli("finish", "--plan", "plan", "--results", "r", "--policy-root", moved, cwd=folder)
    assert done.code == 1, done


@pytest.mark.parametrize("where", ["tampered", "head"])
def test_shard__a_judge_that_is_not_the_planned_one_is_refused(
    checkout: Checkout, where: str
) -> None:
    """G-26: neither a changed file at the base, nor the folder of the change given for it."""
    weaken_module(checkout.base if where == "tampered" else checkout.head)
    if where == "tampered":
        (checkout.base.folder / "judge.py").write_text(STRICT, "utf-8")
    folder = planned(checkout)
    options: tuple[str | Path, ...] = ("--policy-root", checkout.head.folder)
    if where == "tampered":
        weaken_module(checkout.base)
        options = ()
    done = shard(folder, *options)
    assert done.code == 4, done
    assert "judge own is not the planned one" in done.err
    assert "judge.py" in done.err
    assert not list(folder.glob("r/*.jsonl"))


def test_finish__repairs_only_with_the_planned_judges(checkout: Checkout) -> None:
    folder = planned(checkout)
    assert shard(folder, "--judges", "none").code == 0
    weaken_module(checkout.base)
    done = cli("finish", "--plan", "plan", "--results", "r", "--repair", "9", cwd=folder)
    assert done.code == 4, done
    assert "judge own is not the planned one" in done.err


def test_validate__says_what_the_change_edits(checkout: Checkout) -> None:
    lower_min(checkout.head)
    done = cli(
        "validate", checkout.head.path, "--policy", checkout.base.path, cwd=checkout.out.parent
    )
    assert done.code == 0, done
    assert "change    gate quality: min: 0.9 -> 0.01" in done.out


def test_resume__finds_the_policy_again(checkout: Checkout) -> None:
    folder = checkout.head.folder.parent
    assert checkout.run("--time-budget", "0.001").code == 2
    weaken_module(checkout.head)
    done = cli("resume", "out", cwd=folder)
    assert done.code == 1, done
    assert outcomes(checkout.out) == {"quality": "block", "own": "block"}
    assert "changed since this run was planned" not in done.err
