"""Modules that go into imported suites decide as the tools do they came from.

The tables were taken from the tools themselves: random texts through both gave no difference.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from releasecheck.importers.inspect_scorer import Scorer, scorer_judge
from releasecheck.importers.replay import WRITTEN, Answered, Failed, Reply, replay_files


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"written_{path.stem}_{id(path)}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def judged(judge: Any, output: object, expected: object) -> Any:
    return judge({"case": {"id": "c", "expected": expected}, "output": output, "trial": 0})["value"]


OPENAI = loaded(WRITTEN / "openai_evals.py")


@pytest.mark.parametrize(
    ("function", "output", "ideals", "right"),
    [("match", "Paris, France", ["Rome", "Paris"], True), ("match", " Paris", ["Paris"], False),
     ("match", "paris", ["Paris"], False), ("includes", "It is Paris", ["Rome", "Paris"], True),
     ("includes", "it is paris", ["Paris"], False), ("includes_ignore_case", "it is PARIS", ["Paris"], True),
     ("fuzzy_match", "The  Eiffel-Tower!", ["a eiffeltower"], True), ("fuzzy_match", "tower", ["Eiffel Tower"], True),
     ("fuzzy_match", "", ["Paris"], False), ("fuzzy_match", "the", ["a"], True), ("fuzzy_match", "yes", ["a"], False)],
)  # fmt: skip
def test_openai_evals__decides_as_its_classes(
    function: str, output: str, ideals: list[str], right: bool
) -> None:
    assert judged(getattr(OPENAI, function), output, ideals) is right


@pytest.mark.parametrize(
    ("output", "ideals", "score"),
    [("the cat sat", ["a cat sat down"], 0.8), ("dog", ["cat", "dog"], 1.0), ("x", ["y"], 0.0), ("", [""], 0.0)],
)  # fmt: skip
def test_openai_evals__scores_f1(output: str, ideals: list[str], score: float) -> None:
    assert judged(OPENAI.f1_score, output, ideals) == pytest.approx(score)


def inspect_judge(tmp_path: Path, scorer: Scorer) -> Any:
    judge, files, _ = scorer_judge(scorer, [["a", "b"]])
    path = tmp_path / "judges.py"
    path.write_bytes(files["judges.py"])
    return getattr(loaded(path), judge["function"].partition(":")[2])


@pytest.mark.parametrize(
    ("scorer", "output", "targets", "right"),
    [(Scorer("match"), "I think it is Paris. ", ["paris"], True), (Scorer("match"), "Paris it is", ["Paris"], False),
     (Scorer("match", "begin"), "**Paris** it is", "paris", True), (Scorer("match", "any"), "well, paris then", ["x", "Paris"], True),
     (Scorer("match", "exact"), "(Paris)", ["Paris"], True), (Scorer("match", "end", ignore_case=False), "PARIS", "Paris", False),
     (Scorer("includes"), "STRASSE", ["straße"], True), (Scorer("includes", ignore_case=False), "PARIS", ["Paris"], False),
     (Scorer("exact"), "The 42.0!", ["42"], True), (Scorer("exact"), "", ["the"], False), (Scorer("exact"), "New-York", ["new york"], True),
     (Scorer("pattern", pattern=r"ANSWER: (\w)"), "...\nanswer: b", ["B"], True),
     (Scorer("pattern", pattern=r"(\w)(\d)"), "a1", ["1"], True),
     (Scorer("pattern", pattern=r"(\w)(\d)", match_all=True), "a1", ["1"], False),
     (Scorer("pattern", pattern=r"(\d*)"), "x", [""], False), (Scorer("pattern", pattern="yes"), "no", ["yes"], False)],
)  # fmt: skip
def test_inspect_scorers__decide_as_they_do_there(
    scorer: Scorer, output: str, targets: object, right: bool, tmp_path: Path
) -> None:
    assert judged(inspect_judge(tmp_path, scorer), output, targets) is right


def test_judges__fail_on_what_is_no_text(tmp_path: Path) -> None:
    # A judge that cannot read an answer must not call it wrong.
    for judge in (OPENAI.match, inspect_judge(tmp_path, Scorer("match"))):
        with pytest.raises(TypeError, match="not a text"):
            judged(judge, {"a": 1}, ["x"])
        with pytest.raises(TypeError, match="`expected` must be"):
            judged(judge, "x", [1])


def test_replay__gives_what_was_recorded_and_fails_where_that_failed(tmp_path: Path) -> None:
    replies = [
        Reply("a", 0, Answered("", 12)),
        Reply("a", 1, Failed("Timeout")),
        Reply("ü\n", 0, Answered({"x": None})),
    ]
    for name, content in replay_files(replies).items():
        (tmp_path / name).write_bytes(content)
    answer = loaded(tmp_path / "replay.py").answer
    assert answer({"id": "a", "trial": 0}) == {"output": "", "usage": {"total_tokens": 12}}
    assert answer({"id": "ü\n", "trial": 0}) == {"output": {"x": None}, "usage": {}}
    with pytest.raises(Exception, match="Timeout") as failed:
        answer({"id": "a", "trial": 1})
    assert type(failed.value).__name__ == "RecordedFailure"
    with pytest.raises(Exception, match="holds no answer to case 'b', trial 0") as unknown:
        answer({"id": "b", "trial": 0})
    assert type(unknown.value).__name__ == "NotRecorded"
