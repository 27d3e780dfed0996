"""Every command that README.md and docs/getting-started.md show in a `console` block works as shown."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.console import Command, read_commands, shows
from tests.processes import environment

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def run(command: Command, folder: Path, note: Path) -> subprocess.CompletedProcess[str]:
    """Run one command as a reader's shell would; `note` gets the folder it leaves the reader in."""
    script = f"{command.script}\ncode=$?\npwd >{shlex.quote(str(note))}\nexit $code"
    return subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environment(
            PATH=f"{Path(sys.executable).parent}:{environment()['PATH']}", NO_COLOR="1"
        ),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.timeout(240)  # a dozen commands, one process each, on a machine that has other work
@pytest.mark.parametrize("name", ["README.md", "docs/getting-started.md"])
def test_console_blocks__work_as_shown(name: str, tmp_path: Path) -> None:
    """Issue 2: from init to a first own suite with a failing gate, by the README alone."""
    folder, note = tmp_path / "reader", tmp_path / "folder"
    folder.mkdir()
    commands = read_commands(ROOT / name)
    assert any("releasecheck init" in command.script for command in commands)
    assert 1 in {command.exit_code for command in commands}
    for command in commands:
        done = run(command, folder, note)
        folder = Path(note.read_text(encoding="utf-8").strip())
        where = f"{name}:{command.line}: $ {command.script}\n{done.stdout}"
        assert done.returncode == command.exit_code, where
        assert shows(command.output, done.stdout), f"{where}\nthe page shows: {command.output}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links__lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_index__links_every_page() -> None:
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert [p.name for p in PAGES[1:] if p.name != "index.md" and f"({p.name})" not in text] == []


def test_shows__wants_every_line_in_order() -> None:
    actual = "verdict: pass\n  quality  0.91  pass\n"
    assert shows(("verdict: ...", "...", "quality ... pass"), actual)
    assert not shows(("quality ... pass", "verdict: pass"), actual)
    assert not shows(("verdict: block",), actual)
