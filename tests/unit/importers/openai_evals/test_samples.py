"""Samples and registry files of openai/evals as suites (issue 6, item 6)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.errors import UsageError
from releasecheck.importers.openai_evals import import_samples, is_log, samples_plan
from releasecheck.importers.openai_evals_registry import registry_plan
from releasecheck.importers.sections import named_target
from tests.unit.importers.suites import refusal, rows, written

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.importers.imported import Imported

TALK = [{"role": "system", "content": "short"}, {"role": "user", "content": "2+2?", "name": "me"}]
REGISTRY = """\
math:
  id: math.dev.v0
  metrics: [accuracy]
math.dev.v0:
  class: evals.elsuite.basic.match:Match
  args: {samples_jsonl: math/s.jsonl, num_few_shot: 1, few_shot_jsonl: math/few.jsonl}
fuzzy.test.v1:
  class: evals.elsuite.basic.fuzzy_match:FuzzyMatch
  args: {samples_jsonl: math/s.jsonl, max_tokens: 7}
graded.dev.v0:
  class: evals.elsuite.modelgraded.classify:ModelBasedClassify
  args: {samples_jsonl: math/s.jsonl}
odd.dev.v0:
  class: evals.elsuite.basic.includes:Includes
  args: {samples_jsonl: math/absent.jsonl}
extra.dev.v0:
  class: evals.elsuite.basic.includes:Includes
  args: {samples_jsonl: math/s.jsonl, ignore_case: 1, shuffle: true}
"""


def lines(path: Path, *found: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
    return path


def imported(path: Path, kind: str = "match", *, ignore_case: bool = False) -> Imported:
    return import_samples(samples_plan(path, kind, ignore_case=ignore_case, suite=None), None)


def registry(folder: Path) -> Path:
    lines(folder / "data" / "math" / "s.jsonl", {"input": TALK, "ideal": "4"})
    shot = [{"role": "system", "content": "1+1?", "name": "example_user"}]
    lines(folder / "data" / "math" / "few.jsonl", {"sample": shot}, {"sample": []})
    path = folder / "evals" / "math.yaml"
    path.parent.mkdir()
    path.write_text(REGISTRY, encoding="utf-8")
    return path


def test_import_samples__asks_a_chat_model_as_the_tool_does(tmp_path: Path) -> None:
    path = lines(tmp_path / "q.jsonl", {"input": TALK, "ideal": ["4", "four"], "topic": "sums"}, {"input": "2+3=", "ideal": "5"})  # fmt: skip
    made = imported(path)
    suite = written(made, tmp_path)
    assert rows(made, "cases.jsonl") == [
        {"id": "q.0", "input": TALK, "expected": ["4", "four"], "metadata": {"topic": "sums"}},
        # A text is sent as a message of the system, which is what openai/evals does.
        {"id": "q.1", "input": [{"role": "system", "content": "2+3="}], "expected": ["5"]},
    ]
    target = suite["target"]
    assert (target["type"], target["messages"], target["params"]) == (
        "openai",
        "{{ input }}",
        {"temperature": 0},
    )
    assert suite["judges"][0]["function"] == "judges:match"
    assert suite["gates"] == [
        {"id": "match-no-worse", "metric": "match", "no_regression": {"max_drop": 0}}
    ]
    assert suite["baseline"]["on_missing"] == "bootstrap"


@pytest.mark.parametrize(
    ("kind", "ignore_case", "ideals", "judges"),
    [("includes", False, "4", ["contains"]), ("includes", False, ["4", "5"], ["judges:includes"]),
     ("includes", True, "4", ["judges:includes_ignore_case"]),
     ("fuzzy-match", False, "4", ["judges:fuzzy_match", "judges:f1_score"])],
)  # fmt: skip
def test_import_samples__takes_our_own_judge_where_it_means_the_same(
    kind: str, ignore_case: bool, ideals: object, judges: list[str], tmp_path: Path
) -> None:
    path = lines(tmp_path / "q.jsonl", {"input": "q", "ideal": ideals})
    suite = written(imported(path, kind, ignore_case=ignore_case), tmp_path)
    assert [judge.get("function", judge["type"]) for judge in suite["judges"]] == judges


@pytest.mark.parametrize(
    ("row", "words"),
    [({"input": "q"}, "no `ideal`"), ({"ideal": "a"}, "no `input`"), ({"input": "", "ideal": "a"}, "empty text"),
     ({"input": [], "ideal": "a"}, "an empty list"), ({"input": [{"role": "user"}], "ideal": "a"}, "message 0"),
     ({"input": "q", "ideal": []}, "no completion could be right"), ({"input": "q", "ideal": 4}, "found a number"),
     ({"input": "q", "ideal": ["", "a"]}, "an empty ideal is in every completion"),
     ({"input": "q", "ideal": "a", "gates": []}, "belongs in the config")],
)  # fmt: skip
def test_import_samples__refuses_samples_by_line(
    row: dict[str, Any], words: str, tmp_path: Path
) -> None:
    path = lines(
        tmp_path / "q.jsonl", {"input": "fine", "ideal": "a"}, row, {"input": 3, "ideal": "x"}
    )
    text = refusal(lambda: imported(path))
    assert words in text
    # Every bad line is named at once.
    assert "q.jsonl:2" in text
    assert "q.jsonl:3" in text


def test_import_samples__ignores_case_only_where_the_tool_can(tmp_path: Path) -> None:
    assert "only `includes`" in refusal(lambda: imported(tmp_path / "q", "match", ignore_case=True))


def test_registry_plan__finds_class_samples_and_examples(tmp_path: Path) -> None:
    plan = registry_plan(registry(tmp_path), "math", None)
    made = import_samples(plan, None)
    suite = written(made, tmp_path)
    assert suite["suite"] == "math"
    case = rows(made, "cases.jsonl")[0]
    # The id is the one that a log of this eval has.
    assert case["id"] == "math.dev.0"
    assert [message["content"] for message in case["input"]] == ["short", "1+1?", "2+2?"]
    fuzzy = import_samples(
        registry_plan(tmp_path / "evals" / "math.yaml", "fuzzy.test.v1", None), None
    )
    assert written(fuzzy, tmp_path)["target"]["params"] == {"temperature": 0, "max_tokens": 7}


@pytest.mark.parametrize(
    ("name", "words"),
    [("graded.dev.v0", "'evals.elsuite.modelgraded.classify:ModelBasedClassify' is not converted"),
     ("odd.dev.v0", "there is no file"), ("extra.dev.v0", "argument 'shuffle' of this class is not converted"),
     ("extra.dev.v0", "expected true or false")],
)  # fmt: skip
def test_registry_plan__refuses_by_name_and_place(name: str, words: str, tmp_path: Path) -> None:
    path = registry(tmp_path)
    text = refusal(lambda: registry_plan(path, name, None))
    assert words in text
    assert "math.yaml:" in text


def test_registry_plan__asks_which_of_several(tmp_path: Path) -> None:
    path = registry(tmp_path)
    with pytest.raises(UsageError, match="it has 5 evals, choose one with --eval"):
        registry_plan(path, None, None)
    with pytest.raises(UsageError, match="there is no eval 'maths'"):
        registry_plan(path, "maths", None)


def test_named_target__takes_a_target_alone_or_in_a_suite(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text("target: {type: http, url: 'http://127.0.0.1:1/'}\n", encoding="utf-8")
    target = named_target(path)
    assert target == {"type": "http", "url": "http://127.0.0.1:1/"}
    made = import_samples(samples_plan(lines(tmp_path / "q.jsonl", {"input": "q", "ideal": "a"}), "match", ignore_case=False, suite="mine"), target)  # fmt: skip
    assert written(made, tmp_path)["target"] == target
    path.write_text("[]", encoding="utf-8")
    assert "expected the target" in refusal(lambda: named_target(path))


@pytest.mark.parametrize(
    ("start", "log"), [('\ufeff{"spec": {}}', True), ('{"input": "spec"}', False), ("", False)]
)
def test_is_log__by_its_first_line(start: str, log: bool, tmp_path: Path) -> None:
    path = tmp_path / "l.jsonl"
    path.write_text(start, encoding="utf-8")
    assert is_log(path) is log


def test_registry_plan__no_file_of_the_machine(tmp_path: Path) -> None:
    """A registry of others carries no file from outside of its folders into cases."""
    inside = tmp_path / "registry"
    inside.mkdir()
    path = registry(inside)
    secret = lines(tmp_path / "s.jsonl", {"input": "x", "ideal": "y"})
    (inside / "evals" / "link.jsonl").symlink_to(secret)
    for name in (str(secret), "../../s.jsonl", "link.jsonl"):
        path.write_text(REGISTRY.replace("math/absent.jsonl", name), encoding="utf-8")
        said = refusal(lambda: registry_plan(path, "odd.dev.v0", None))
        assert "outside of the registry" in said, name
