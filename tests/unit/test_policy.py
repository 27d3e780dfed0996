"""Whose rules a plan holds, and what it says of the others: G-27, P-11."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.errors import ConfigError
from releasecheck.model.case import Case, Source
from releasecheck.model.policy import SettingChange
from releasecheck.pipeline.freezing import PlanRequest, make_plan
from releasecheck.pipeline.noticing import policy_notices
from releasecheck.pipeline.policy import PolicySource
from releasecheck.pipeline.world import World
from releasecheck.plan.changes import (
    LONGEST_VALUE,
    MOST_CASES,
    MOST_SETTINGS,
    dataset_changes,
    file_changes,
    pin_change,
    setting_changes,
    target_changes,
)
from releasecheck.scorecard.policy import change_lines, policy_words, setting_words
from tests.fakes import FakeClock, HeardProgress

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.model.plan import Plan

COMMIT = "3f2a9c1d" * 5


def write(folder: Path, cases: int = 3, **changes: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "version": 1,
        "suite": "small",
        "cases": [{"path": "cases.jsonl"}],
        "target": {"id": "app", "type": "http", "url": "http://127.0.0.1:9/x"},
        "judges": [{"id": "exact", "type": "exact"}],
        "gates": [{"id": "quality", "metric": "exact", "min": 0.9}],
    }
    rows = [{"id": f"c{n}", "input": f"q{n}", "expected": "x"} for n in range(cases)]
    (folder / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (folder / "releasecheck.yaml").write_text(json.dumps(config | changes), "utf-8")
    return folder / "releasecheck.yaml"


def planned(folder: Path, config: Path, policy: PolicySource | None, **more: Any) -> Plan:
    world = World(FakeClock(), {}, folder, HeardProgress(), "releasecheck/test")
    request = PlanRequest(config, policy=policy, unique="1", **more)
    out = folder / f"plan-{len(list(folder.iterdir()))}"
    return make_plan(request, world, out, check=lambda *_: None).plan


LOW = [{"id": "quality", "metric": "exact", "min": 0.1}]


def test_make_plan__rules_of_the_base(tmp_path: Path) -> None:
    base, head = write(tmp_path / "base"), write(tmp_path / "head", gates=LOW)
    plan = planned(tmp_path, head, PolicySource(base, COMMIT))
    assert plan.gates[0].min == 0.9
    assert (plan.policy.mode, plan.policy.commit, plan.policy.introduced) == ("base", COMMIT, False)
    assert plan.policy_root is not None
    assert plan.policy.changes is not None
    (change,) = plan.policy.changes.settings
    assert setting_words(change) == "gate quality: min: 0.9 -> 0.1"
    assert policy_words(plan.policy).startswith(
        f"releasecheck.yaml of the base, at {COMMIT}, sha256:"
    )


def test_make_plan__rules_of_the_head_because_somebody_asked(tmp_path: Path) -> None:
    """They apply, and what they change is shown all the same."""
    base, head = write(tmp_path / "base"), write(tmp_path / "head", gates=LOW)
    plan = planned(tmp_path, head, PolicySource(base, COMMIT, mode="head"))
    assert plan.gates[0].min == 0.1
    assert plan.policy.mode == "head"
    assert plan.policy_root is None
    assert plan.policy.changes is not None
    assert [change.what for change in plan.policy.changes.settings] == ["gate quality: min"]


def test_make_plan__rules_that_are_introduced(tmp_path: Path) -> None:
    head = write(tmp_path / "head", gates=LOW)
    plan = planned(tmp_path, head, PolicySource(head, COMMIT, introduced=True))
    assert plan.gates[0].min == 0.1
    assert (plan.policy.mode, plan.policy.introduced) == ("base", True)
    assert plan.policy.changes is None
    assert "introduced by it" in policy_words(plan.policy)


def test_make_plan__its_own_rules(tmp_path: Path) -> None:
    plan = planned(tmp_path, write(tmp_path / "head"), None)
    assert (plan.policy.mode, plan.policy.changes, plan.policy_root) == ("own", None, None)


def test_make_plan__rules_with_extends_and_a_profile(tmp_path: Path) -> None:
    """What the policy is put together from is read beside it."""
    base = write(tmp_path / "base", extends="more.yaml", profiles={"pr": {"trials": 2}})
    (base.parent / "more.yaml").write_text("confidence: 0.8\n", "utf-8")
    head = write(tmp_path / "head", profiles={"pr": {"trials": 1, "expect_cases": 3}})
    plan = planned(tmp_path, head, PolicySource(base), profile="pr")
    assert (plan.trials, plan.confidence) == (2, 0.8)
    assert plan.policy.changes is not None
    assert plan.policy.changes.expect_cases == SettingChange(
        what="expect_cases", change="added", after="3"
    )


def test_make_plan__a_schema_file_is_that_of_the_base(tmp_path: Path) -> None:
    judge = {"id": "exact", "type": "json-schema", "schema": "s.json"}
    base, head = write(tmp_path / "base", judges=[judge]), write(tmp_path / "head", judges=[judge])
    (base.parent / "s.json").write_text('{"type": "object"}', "utf-8")
    (head.parent / "s.json").write_text('{"type": ["object", "null"]}', "utf-8")
    plan = planned(tmp_path, head, PolicySource(base))
    assert plan.judges[0].spec.model_dump(by_alias=True)["schema"] == {"type": "object"}
    assert plan.policy.changes is not None
    lines = change_lines(plan.policy.changes)
    assert lines == ('judge exact: schema.type: object -> ["object","null"]',)


def test_make_plan__cases_that_the_rules_do_not_reach(tmp_path: Path) -> None:
    """A change that removes every case of a gate does not make the gate go away."""
    hard = [{"id": "hard", "metric": "exact", "min": 0.9, "cases": {"tags": ["hard"]}}]
    base, head = write(tmp_path / "base", gates=hard), write(tmp_path / "head")
    with pytest.raises(ConfigError, match="hard"):
        planned(tmp_path, head, PolicySource(base))


def test_make_plan__a_base_whose_cases_cannot_be_read(tmp_path: Path) -> None:
    base, head = write(tmp_path / "base"), write(tmp_path / "head")
    (base.parent / "cases.jsonl").write_text("no json\n", "utf-8")
    plan = planned(tmp_path, head, PolicySource(base))
    assert plan.policy.changes is not None
    assert plan.policy.changes.dataset is None
    (note,) = plan.policy.changes.notes
    assert note.startswith("the cases of the policy's config cannot be compared: cases.jsonl:1:")


def case(name: str, content: str, **changes: Any) -> Case:
    values: dict[str, Any] = {"expected": None, "split": "main", "tags": (), "metadata": {}}
    return Case(name, content, source=Source("c.jsonl", 1), index=0, **{**values, **changes})


def test_dataset_changes__by_id_and_by_content() -> None:
    before = [case("same", "1"), case("old", "2"), case("gone", "3"), case("edited", "4")]
    after = [case("same", "1"), case("new", "2"), case("edited", "5"), case("more", "6")]
    found = dataset_changes(before, after)
    assert found.renamed.pairs == (("old", "new"),)
    assert found.removed.ids == ("gone",)
    assert found.changed.ids == ("edited",)
    assert found.added.ids == ("more",)


def test_dataset_changes__a_content_that_is_there_twice_is_no_rename() -> None:
    found = dataset_changes([case("a", "1"), case("b", "1")], [case("c", "1"), case("d", "1")])
    assert (found.renamed.count, found.added.count, found.removed.count) == (0, 2, 2)


@pytest.mark.parametrize("changes", [{"split": "hard"}, {"tags": ("x",)}, {"expected": 1}])
def test_dataset_changes__what_gates_look_at_counts_too(changes: dict[str, Any]) -> None:
    assert dataset_changes([case("a", "1")], [case("a", "1", **changes)]).changed.ids == ("a",)


def test_dataset_changes__are_bounded_and_counted() -> None:
    found = dataset_changes([], [case(f"c{n}", str(n)) for n in range(MOST_CASES + 7)])
    assert (found.added.count, len(found.added.ids)) == (MOST_CASES + 7, MOST_CASES)
    assert found.any


def test_dataset_changes__nothing() -> None:
    assert not dataset_changes([case("a", "1")], [case("a", "1")]).any


def test_setting_changes__values_are_one_short_line() -> None:
    """They are written by whoever made the change."""
    after = {"gates": [{"id": "x", "rule": "\n::error::" + "y" * 1000}]}
    (change,) = setting_changes({"gates": []}, after)
    assert change.change == "added"
    assert change.after is not None
    assert "\n" not in change.after
    assert len(change.after) < LONGEST_VALUE + 40
    (named,) = target_changes({}, {"a\nb": 1})
    assert named.what == "target.a\\u000ab"


def test_setting_changes__another_type_comes_first() -> None:
    before = {"judges": [{"id": "j", "type": "exact", "a": 1}]}
    after = {"judges": [{"id": "j", "type": "regex", "a": 2}]}
    assert [c.what for c in setting_changes(before, after)] == ["judge j: type", "judge j: a"]


def test_setting_changes__false_is_not_zero() -> None:
    assert setting_changes({"x": False}, {"x": 0})
    assert pin_change(3, 3) is None
    assert file_changes("judge j", {"a.py": "1"}, {"a.py": "1"}) == []


def test_policy_changes__settings_are_bounded_and_files_come_first(tmp_path: Path) -> None:
    """A judge's changed file cannot be hidden behind a hundred new gates."""
    judge = {"id": "own", "type": "python", "function": "j:judge"}
    both = [{"id": "exact", "type": "exact"}, judge]
    many = [{"id": f"g{n}", "metric": "exact", "min": 0.5} for n in range(MOST_SETTINGS + 5)]
    base, head = (
        write(tmp_path / "base", judges=both),
        write(tmp_path / "head", judges=both, gates=many),
    )
    (base.parent / "j.py").write_text("def judge(ask): return 0\n", "utf-8")
    (head.parent / "j.py").write_text("def judge(ask): return 1\n", "utf-8")
    changes = planned(tmp_path, head, PolicySource(base)).policy.changes
    assert changes is not None
    assert changes.settings[0].what == "judge own: file j.py"
    assert (len(changes.settings), changes.more_settings) == (MOST_SETTINGS, 7)
    assert "and 7 more settings" in change_lines(changes)[-1]


def test_policy_notices__say_whose_rules_decided(tmp_path: Path) -> None:
    base, head = write(tmp_path / "base"), write(tmp_path / "head", gates=LOW)
    kept = policy_notices(planned(tmp_path, head, PolicySource(base)))
    assert kept == (
        "this change also edits its own policy, which does not apply until merged: gate quality: min: 0.9 -> 0.1",
    )
    asked = policy_notices(planned(tmp_path, head, PolicySource(base, mode="head")))
    assert asked[0].startswith("`policy: head` was asked for")
    assert "which applies here" in asked[1]
    (introduced,) = policy_notices(planned(tmp_path, head, PolicySource(head, introduced=True)))
    assert introduced.startswith("introduced: there is no releasecheck.yaml at the base")
    assert policy_notices(planned(tmp_path, head, None)) == ()


def test_policy_notices__the_pin_comes_first(tmp_path: Path) -> None:
    base = write(tmp_path / "base", cases=4, expect_cases=4)
    head = write(tmp_path / "head", cases=3, expect_cases=3, gates=LOW)
    found = policy_notices(planned(tmp_path, head, PolicySource(base)))
    assert found[0].endswith("expect_cases: 4 -> 3")
    assert found[-1] == "this change edits the dataset: 1 case removed"
