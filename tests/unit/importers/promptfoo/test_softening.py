"""What would make an imported suite pass more than promptfoo does, or carry files of the machine (B34)."""

from __future__ import annotations

import re
import runpy
from typing import TYPE_CHECKING

import pytest

from releasecheck.assets import templates_dir
from releasecheck.importers.promptfoo.patterns import check_pattern
from tests.unit.importers.promptfoo.suites import ECHO, asserting, cases, imported, problems

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("{repeat: '5'}", None),
        ("{repeat: many}", "expected a number as evaluateOptions.repeat"),
        ("{repeat: 2.5}", "expected a whole number from 1"),
        ("{repeat: 0}", "expected a whole number from 1"),
        ("[repeat]", "expected a mapping as `evaluateOptions`"),
    ],
)
def test_settings_of__repeats_are_not_lost(tmp_path: Path, options: str, said: str | None) -> None:
    text = asserting("{type: equals, value: Paris}") + f"evaluateOptions: {options}\n"
    if said is None:
        assert b"trials: 5" in imported(tmp_path, text).files["releasecheck.yaml"]
    else:
        assert said in str(problems(tmp_path, text))


def test_import__helpers_of_two_scripts_do_not_replace_each_other(tmp_path: Path) -> None:
    for name, answer in (("a", "True"), ("b", "False")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "helper.py").write_text(f"OK = {answer}\n", encoding="utf-8")
        code = f"import helper\ndef get_assert(output, context):\n    return helper.OK  # {name}\n"
        (folder / "check.py").write_text(code, encoding="utf-8")
    both = (
        "{type: python, value: 'file://a/check.py'}",
        "{type: python, value: 'file://b/check.py'}",
    )
    assert "two files helper.py" in str(problems(tmp_path, asserting(*both)))
    assert imported(tmp_path, asserting(both[0])).files["helper.py"] == b"OK = True\n"


def test_import__what_a_script_imports_and_git_keeps_stays_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("private = 1\n", encoding="utf-8")
    inside = tmp_path / "suite"
    (inside / ".git").mkdir(parents=True)
    (inside / ".git" / "config").write_text("private\n", encoding="utf-8")
    (inside / "helper.py").symlink_to(tmp_path / "secret.txt")
    code = "import helper\ndef get_assert(output, context):\n    return True\n"
    (inside / "check.py").write_text(code, encoding="utf-8")
    found = problems(inside, asserting("{type: python, value: 'file://check.py'}"))
    assert "helper.py lies outside" in str(found)
    found = problems(inside, asserting("{type: equals, value: 'file://.git/config'}"))
    assert "config lies outside" in str(found)


def test_import__of_several_files_none_is_left_out(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.yaml").write_text(f"{name}: [1, 2]\n", encoding="utf-8")
    tests = "tests: [{vars: 'file://[ab].yaml', assert: [{type: equals, value: x}]}]\n"
    assert "it names 2 files" in str(
        problems(tmp_path, "prompts: [p]\nproviders: [echo]\n" + tests)
    )
    found = problems(tmp_path, asserting("{type: equals, value: 'file://[ab].yaml'}"))
    assert "it names 2 files" in str(found)


def test_import__a_setting_of_one_cell_loosens_no_other(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "q,__expected1,__expected2,__config:__expected:threshold\n"
        "x,levenshtein(1):ab,levenshtein(2):abc,9\n",
        encoding="utf-8",
    )
    (case,) = cases(imported(tmp_path, ECHO + "tests: file://t.csv\n"))
    assert sorted(one["most"] for one in case["expected"].values()) == [2, 9]


def test_check_pattern__a_brace_allows_no_errors() -> None:
    import regex

    made, problem = check_pattern("(?:foo){e} a{2}")
    assert problem is None
    assert regex.search(made, "bar aa") is None
    assert re.search(made, "foo{e} aa") is not None


def test_judges__case_is_folded_as_javascript_does() -> None:
    made = runpy.run_path(str(templates_dir() / "promptfoo" / "judges.py"))
    for name in ("icontains", "icontains-any"):
        assert made["CHECKS"][name]("Stra\u00dfe", ["STRASSE"])[0] is False
        assert made["CHECKS"][name]("PARIS", ["paris"])[0] is True


def test_import__what_is_nearly_a_check_is_no_silence(tmp_path: Path) -> None:
    assert "word-count needs a number" in str(
        problems(tmp_path, asserting("{type: word-count, value: \u00b2}"))
    )
    scenario = "scenarios: [{config: [{vars: {q: b}}], tests: []}]\n"
    found = problems(tmp_path, asserting("{type: equals, value: Paris}") + scenario)
    assert "`tests` are empty" in str(found)
