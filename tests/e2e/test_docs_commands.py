"""Every command in a `console` block of README.md and docs/ works as shown (issue 6 item 8)."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from releasecheck.cli import group
from tests.e2e.console import Scene, read_scenes, shows
from tests.e2e.shell import Shell
from tests.e2e.stages import STAGES, Stage
from tests.reference.commands import leaves
from tests.reference.outputs import known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.program import Program

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def scenes() -> Iterator[tuple[str, Scene]]:
    for page in PAGES:
        name = page.relative_to(ROOT).as_posix()
        yield from ((name, scene) for scene in read_scenes(page))


SCENES = list(scenes())
ELSEWHERE = {
    "action": "the tests of the Action call it with the environment of a job",
    "baseline pull": "asks GitHub",
    "beat": "asks GitHub",
}
"""Commands that no page shows in a block that is run, and why."""


@pytest.fixture(scope="session")
def made() -> dict[str, Path]:
    """What stages made, for the next one that wants it."""
    return {}


@pytest.mark.parametrize(
    ("name", "scene"),
    [pytest.param(name, one, id=f"{name}:{one.commands[0].line}") for name, one in SCENES],
)
def test_console_blocks__work_as_shown(
    name: str, scene: Scene, tmp_path: Path, program: Program, made: dict[str, Path]
) -> None:
    folder = tmp_path / "reader"
    folder.mkdir()
    shell = Shell(folder, program)
    with ExitStack() as stack:
        for need in scene.needs:
            STAGES[need](Stage(shell, program, stack, made))
        for command in scene.commands:
            code, said = shell.run(command.script)
            where = f"{name}:{command.line}: $ {command.script}\n{said}"
            assert code == command.exit_code, f"exit code {code} at {where}"
            assert shows(command.output, said), f"{where}\nthe page shows: {command.output}"
    assert [path for path in files_of_bundles(tmp_path) if not known(path)] == []


def files_of_bundles(folder: Path) -> Iterator[str]:
    """Every file of every bundle below a folder, by its path in the bundle that is nearest to it."""
    plans = folder.rglob("plan/plan.json")
    bundles = {plan.parents[1] for plan in plans if (plan.parents[1] / "scorecard.json").exists()}
    for bundle in bundles:
        for path in bundle.rglob("*"):
            if path.is_file() and not path.name.startswith("."):
                nearest = next(parent for parent in path.parents if parent in bundles)
                yield path.relative_to(nearest).as_posix()


def test_every_command__is_run_on_some_page() -> None:
    scripts = "\n".join(command.script for _, scene in SCENES for command in scene.commands)
    paths = {" ".join(path) for path, _ in leaves(group)}
    assert set(ELSEWHERE) <= paths
    assert {path for path in paths if f"releasecheck {path} " not in scripts} == set(ELSEWHERE)


@pytest.mark.parametrize("name", ["README.md", "docs/getting-started.md"])
def test_first_pages__go_from_nothing_to_a_gate_that_blocks(name: str) -> None:
    """Issue 2: from init to a first own suite with a failing gate, by the page alone."""
    (scene,) = (scene for page, scene in SCENES if page == name)
    assert scene.needs == ()
    assert any("releasecheck init" in command.script for command in scene.commands)
    assert 1 in {command.exit_code for command in scene.commands}


def test_stages__are_all_used() -> None:
    used = {need for _, scene in SCENES for need in scene.needs}
    assert used == set(STAGES)


def test_shows__wants_every_line_in_order() -> None:
    actual = "verdict: pass\n  quality  0.91  pass\n"
    assert shows(("verdict: ...", "...", "quality ... pass"), actual)
    assert not shows(("quality ... pass", "verdict: pass"), actual)
    assert not shows(("verdict: block",), actual)
