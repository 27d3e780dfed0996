"""Reports and progress on a real terminal of 80 columns, and without colours (issue 6, item 7)."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from releasecheck.assets import templates_dir
from tests.processes import environment

if TYPE_CHECKING:
    from pathlib import Path

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
COLUMNS = 80


def on_a_terminal(folder: Path, *words: str, **variables: str) -> str:
    """What a command writes to a terminal of 80 columns, stdout and stderr together."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "releasecheck", *words],
        cwd=folder,
        env=environment(TERM="xterm-256color", **variables),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    found = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # how Linux says that nobody holds the other end any more
            break
        if not piece:
            break
        found += piece
    process.wait(30)
    os.close(ours)
    return found.decode("utf-8")


@pytest.fixture(scope="module")
def blocked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The starter, whose help desk forgets a word."""
    folder = tmp_path_factory.mktemp("terminal") / "suite"
    shutil.copytree(templates_dir() / "starter", folder)
    desk = folder / "helpdesk.py"
    desk.write_text(desk.read_text("utf-8").replace("password", "passphrase"), encoding="utf-8")
    return folder


def test_run__reads_well_in_80_columns(blocked: Path) -> None:
    shown = on_a_terminal(blocked, "run", "releasecheck.yaml")
    assert "\x1b[1;31mblock: measured, and a gate blocked\x1b[0m" in shown
    # What the live line of progress wrote was wiped by it, with a return to its start.
    lines = [
        line.rpartition("\r")[2] for line in COLOUR.sub("", shown).replace("\r\n", "\n").split("\n")
    ]
    assert max(map(cell_len, lines)) <= COLUMNS
    verdict = next(at for at, line in enumerate(lines) if line.startswith("block:"))
    assert "scorecard: out/scorecard.html" in lines
    # Four gates, and no page of scrolling between the verdict and what to do.
    assert len(lines) - verdict <= 20, "\n".join(lines)
    assert re.match(r"  block +smoke +every case passes +0\.8$", lines[verdict + 2]), lines


def test_validate__no_color(blocked: Path) -> None:
    shown = on_a_terminal(blocked, "validate", "releasecheck.yaml", NO_COLOR="1")
    assert "\x1b" not in shown
    lines = shown.replace("\r\n", "\n").split("\n")
    assert max(map(cell_len, lines)) <= COLUMNS
    assert "gate      smoke: topic in all, every case passes" in lines
