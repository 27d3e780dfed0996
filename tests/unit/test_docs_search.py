"""The questions of examples/docs-search name sections that exist, and its search does what it says."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "docs-search"


def load_service() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_search_serve", EXAMPLE / "serve.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their own module up
    spec.loader.exec_module(module)
    return module


serve = load_service()


def read_cases(split: str) -> list[dict[str, Any]]:
    lines = (EXAMPLE / "cases" / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


QUESTIONS = [*read_cases("main"), *read_cases("hard")]


def test_questions__name_sections_that_exist() -> None:
    known = {section.id for section in serve.load()}
    stale = [
        f"{case['id']} expects {section}"
        for case in QUESTIONS
        for section in case["expected"]
        if section not in known
    ]
    assert not stale, (
        "A heading in docs/ was renamed or removed, and these questions of examples/docs-search "
        "still expect it; give them the section that answers them now, then promote a new "
        "baseline (docs/docs-search-example.md):\n" + "\n".join(stale)
    )


def test_questions__are_enough_and_told_apart() -> None:
    """Issue 2: at least 60 questions, splits main and hard; ids and wordings are unique."""
    assert len(QUESTIONS) >= 60
    assert min(len(read_cases("main")), len(read_cases("hard"))) >= 20
    for field in ("id", "input"):
        repeated = [text for text, n in Counter(case[field] for case in QUESTIONS).items() if n > 1]
        assert not repeated


def test_expect_cases__is_the_number_of_questions() -> None:
    pinned = re.search(
        r"^expect_cases: (\d+)", (EXAMPLE / "releasecheck.yaml").read_text(), re.MULTILINE
    )
    assert pinned is not None
    assert int(pinned[1]) == len(QUESTIONS)


def test_load__gives_many_distinct_sections() -> None:
    sections = serve.load()
    repeated = [name for name, n in Counter(section.id for section in sections).items() if n > 1]
    assert not repeated, "two headings of one page are the same"
    assert len(sections) >= 70


def test_sections__cut_at_second_level_headings_outside_fences(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\nIntro.\n## One: *a* `b_c`\ntext\n```sh\n## no heading\n```\n## Two\n")
    cut = list(serve.sections(page))
    assert [section.id for section in cut] == ["page.md", "page.md#one-a-b_c", "page.md#two"]
    assert "## no heading" in cut[1].text


def test_search__orders_equal_scores_by_id() -> None:
    twins = [serve.Section(name, "same", "words here") for name in ("b", "a", "c")]
    other = serve.Section("z", "other", "something else entirely")
    assert serve.Index([*twins, other]).search("the same words", 10) == ["a", "b", "c"]


@pytest.mark.parametrize("question", ["", "zzzz qqqq", "the of and"])
def test_search__finds_nothing_for_no_known_word(question: str) -> None:
    assert serve.Index(serve.load()).search(question, 10) == []
