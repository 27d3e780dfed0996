"""Answers of several versions of a target never pass for a measurement of one (X-08, S2-02, G-21)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tests.e2e.faulty import asks, cli, python, suite_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.suites import Suite

SAME = "return 'x'"
OTHER = "return str('x')"


def two_shards(folder: Path, second: str) -> Suite:
    """A finished run whose second shard ran with `second` as the target's code."""
    suite = suite_of(folder, asks("a", "b"), python(folder, SAME))
    commands = (
        ("plan", suite.path, "--shards", "2", "--out", "plan"),
        ("shard", "--plan", "plan", "--index", "0", "--out", "r"),
        ("shard", "--plan", "plan", "--index", "1", "--out", "r"),
        ("finish", "--plan", "plan", "--results", "r", "--out", "out"),
    )
    for number, arguments in enumerate(commands):
        if number == 2:
            python(folder, second)
        done = cli(*arguments, cwd=folder)
        assert done.code == 0, done
    return suite


def test_run__answers_of_two_versions_are_named_and_never_promoted(tmp_path: Path) -> None:
    two_shards(tmp_path, OTHER)
    card = cli("verify", "out", "--json", cwd=tmp_path)
    assert card.code == 0
    shown = cli("resume", "out", cwd=tmp_path)
    assert "code changed while the run was under way (app.py)" in shown.out
    assert "Start a new run" in shown.out
    refused = cli("baseline", "promote", "out", cwd=tmp_path)
    assert refused.code == 3
    assert "several versions of the target (app.py changed" in refused.err
    assert not (tmp_path / "baseline").exists()


def test_run__one_version_is_not_suspected(tmp_path: Path) -> None:
    two_shards(tmp_path, SAME)
    assert "code changed" not in cli("resume", "out", cwd=tmp_path).out
    assert cli("baseline", "promote", "out", cwd=tmp_path).code == 0


def test_shard__a_judge_replaced_since_the_plan_is_not_asked(tmp_path: Path) -> None:
    """Scores of another judge under the planned one's name are worth nothing: exit 4, nothing called."""
    judge = {"id": "own", "type": "python", "function": "myj:judge", "interpreter": sys.executable}
    code = "def judge(ask):\n    return {}\n"
    (tmp_path / "myj.py").write_text(code.format(0), "utf-8")
    gate = {"id": "quality", "metric": "own", "min": 0.5}
    suite = suite_of(tmp_path, asks("a"), python(tmp_path, SAME), judge, gates=[gate])
    assert cli("plan", suite.path, "--out", "plan", cwd=tmp_path).code == 0
    (tmp_path / "myj.py").write_text(code.format(1), "utf-8")
    done = cli("shard", "--plan", "plan", "--index", "0", "--out", "r", cwd=tmp_path)
    assert done.code == 4, done
    assert "myj.py" in done.err
    assert "plan anew" in done.err
    assert not list((tmp_path / "r").glob("*.jsonl"))
