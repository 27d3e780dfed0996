"""The list of breaks is whole: every rule has one, each can be applied, and its tests are there.

Whether the tests turn red is what `make sabotage` sees.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.sabotage.breaks import BREAKS, Break
from tests.sabotage.rules import RULES
from tests.sabotage.running import ROOT, Job, Report, changed, verdict_of


def test_breaks__every_rule_has_one_and_every_break_a_rule() -> None:
    """Issue 5: for each rule of contract section 6 a deliberate break."""
    assert {one.rule for one in BREAKS} == set(RULES)
    names = [one.name for one in BREAKS]
    assert len(set(names)) == len(names)
    assert len({(one.file, one.old, one.new) for one in BREAKS}) == len(BREAKS)


@pytest.mark.parametrize("one", BREAKS, ids=lambda one: one.name)
def test_breaks__can_be_applied_and_have_tests(one: Break) -> None:
    """A rule that was written anew needs its break written anew: the text must be there once, and still compile."""
    text = changed(one)
    compile(text, one.file, "exec")
    assert one.tests
    for test in one.tests:
        file, _, function = test.partition("::")
        assert function in functions(ROOT / file), test


@cache
def functions(file: Path) -> frozenset[str]:
    tree = ast.parse(file.read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def test_changed__refuses_a_text_that_is_not_there_once() -> None:
    for old in ("no such text anywhere", "import"):
        broken = Break("x", "gates/evidence.py", old, "", ())
        with pytest.raises(ValueError, match="has to be there once"):
            changed(broken)


@pytest.mark.parametrize(
    ("passed", "failed", "broken", "code", "says"),
    [
        ((), ("a", "b"), (), 1, None),
        (("a",), ("a", "b"), (), 1, None),
        (("a",), ("b",), (), 1, "nobody noticed: a passed"),
        (("a", "b"), (), (), 0, "nobody noticed: a, b passed"),
        ((), (), (), 5, "nobody noticed: a, b passed"),
        ((), ("a", "b"), ("tests/x.py",), 1, "could not be run: tests/x.py"),
        ((), ("a", "b"), (), 2, "pytest ended with 2"),
    ],
)
def test_verdict_of__every_named_test_has_to_fail(
    passed: tuple[str, ...],
    failed: tuple[str, ...],
    broken: tuple[str, ...],
    code: int,
    says: str | None,
) -> None:
    """A module that cannot be imported is no red test: the break would be noticed by none."""
    report = Report(code, frozenset(passed), frozenset(failed), broken, "", 0.0)
    found = verdict_of(Job("x", ("a", "b")), report)
    assert found is None if says is None else (found is not None and says in found)
