"""A reader's shell: runs the commands of a page, ours without paying for their imports each time."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.processes import environment

if TYPE_CHECKING:
    from tests.e2e.program import Program

_HERE = re.compile(r"cat >(>?) ?(\S+) <<'END'\n(.*\n)?END", re.DOTALL)
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_BASH = re.compile(r"[|;&<>$`(*?~\n\\]")
"""What this shell leaves to bash, unless it stands between single quotes."""


@dataclass
class Shell:
    """Where the reader is, and what is set there."""

    folder: Path
    program: Program
    env: dict[str, str] = field(default_factory=dict)
    swapped: dict[str, str] = field(default_factory=dict)
    """Addresses on a page -> what stands in for them."""

    def run(self, script: str) -> tuple[int, str]:
        """Run one command of a page; gives its exit code and what it wrote."""
        for shown, real in self.swapped.items():
            script = script.replace(shown, real)
        code, said = self._run(script)
        for shown, real in self.swapped.items():
            said = said.replace(real, shown)
        return code, said

    def _run(self, script: str) -> tuple[int, str]:
        if here := _HERE.fullmatch(script):
            with (self.folder / here[2]).open("a" if here[1] else "w", encoding="utf-8") as file:
                file.write(here[3] or "")
            return 0, ""
        if _BASH.search(re.sub(r"'[^']*'", "", script)):
            return self._bash(script)
        return self._words(shlex.split(script, comments=True), script)

    def _words(self, words: list[str], script: str) -> tuple[int, str]:
        if words[0] == "export" and all(_ASSIGNED.match(word) for word in words[1:]):
            self.env |= dict(word.split("=", 1) for word in words[1:])
            return 0, ""
        if words[0] == "cd" and len(words) == 2 and (self.folder / words[1]).is_dir():
            self.folder = (self.folder / words[1]).resolve()
            return 0, ""
        own: dict[str, str] = {}
        while words and _ASSIGNED.match(words[0]):
            name, _, value = words.pop(0).partition("=")
            own[name] = value
        if words[:1] != ["releasecheck"]:
            return self._bash(script)
        done = self.program(*words[1:], cwd=self.folder, env=self.env | own)
        return done.code, done.err + done.out

    def _bash(self, script: str) -> tuple[int, str]:
        note = self.program.scratch / "folder"
        path = f"{Path(sys.executable).parent}:{environment()['PATH']}"
        done = subprocess.run(
            ["bash", "-c", f"{script}\ncode=$?\npwd >{shlex.quote(str(note))}\nexit $code"],
            cwd=self.folder,
            env=environment(**{"PATH": path, "NO_COLOR": "1", **self.env}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            check=False,
        )
        self.folder = Path(note.read_text(encoding="utf-8").strip())
        return done.returncode, done.stdout
