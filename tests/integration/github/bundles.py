"""Real bundles: the quickstart example through the command line, as jobs of GitHub Actions run it."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.githubfake import zipped

if TYPE_CHECKING:
    from tests.e2e.program import Program

EXAMPLE: Final = Path(__file__).resolve().parents[3] / "examples" / "quickstart"
REPO: Final = "octo/app"
SUITE: Final = "starter"
A, B, C, D = (letter * 40 for letter in "abcd")
"""Commits, oldest first."""


@dataclass(frozen=True, slots=True)
class Made:
    """One bundle and whose it is."""

    folder: Path
    run: int
    commit: str
    plan12: str

    def files(self) -> dict[str, bytes]:
        """Its files by name."""
        return files_of(self.folder)

    def zip(self) -> bytes:
        """As it is uploaded."""
        return zipped(self.files())

    def name(self, attempt: int = 1, kind: str = "scorecard", suite: str = SUITE) -> str:
        """Its artifact's name."""
        return f"releasecheck-{kind}-{suite}-{self.plan12}-a{attempt}"


def files_of(folder: Path) -> dict[str, bytes]:
    """Files by relative name."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


class Bakery:
    """Makes bundles in one folder, each once."""

    def __init__(self, root: Path, program: Program) -> None:
        self.root = root
        self._program = program
        self.suite = root / "suite"
        shutil.copytree(EXAMPLE, self.suite)
        self.made: dict[str, Made] = {}

    def run(self, name: str, run: int, commit: str, *more: str, suite: Path | None = None) -> Made:
        """Run the check as a job of this run at this commit."""
        out = self.root / name
        where = suite or self.suite
        self.command(
            where, "run", "releasecheck.yaml", "--out", str(out), *more, run=run, commit=commit
        )
        plan = json.loads((out / "plan" / "plan.json").read_bytes())
        digest = plan["plan_digest"].removeprefix("sha256:")[:12]
        return Made(out, run, commit, digest)

    def command(self, cwd: Path, *arguments: str, run: int = 1, commit: str = A) -> None:
        """One command in the environment of a job; whatever it decides is not looked at here."""
        given = {
            "GITHUB_ACTIONS": "true",
            "GITHUB_RUN_ID": str(run),
            "GITHUB_REPOSITORY": REPO,
            "GITHUB_SHA": commit,
        }
        done = self._program(*arguments, cwd=cwd, env=given)
        assert done.code in (0, 1, 2), done

    def variant(self, name: str, **edits: tuple[str, str]) -> Path:
        """A copy of the suite with one text replaced in each named file."""
        folder = self.root / f"suite-{name}"
        shutil.copytree(self.suite, folder)
        for stem, (old, new) in edits.items():
            (path,) = (found for found in folder.glob(f"{stem}.*") if found.suffix != ".json")
            text = path.read_text("utf-8")
            assert old in text, (stem, old)
            path.write_text(text.replace(old, new), "utf-8")
        return folder

    def all(self) -> dict[str, Made]:
        """Every kind of bundle that the tests need."""
        made = self.made
        made["boot"] = self.run("boot", 1001, A)
        self.command(self.suite, "baseline", "promote", str(made["boot"].folder))
        made["pass"] = self.run("pass", 1002, B)
        made["newer"] = self.run("newer", 1003, C)
        worse = self.variant("worse", helpdesk=("question = case", "question = '' and case"))
        made["block"] = self.run("block", 1003, C, suite=worse)
        made["preview"] = self.run("preview", 1003, C, "--preview", "5")
        made["open"] = self.run("open", 1003, C, "--time-budget", "0.001")
        old = self.variant("old", releasecheck=("suite: starter", "suite: old-name"))
        made["old-name"] = self.run("old-name", 1003, C, suite=old)
        extra = ("judges:\n", "judges:\n  - {id: size, type: python, function: 'helpdesk:size'}\n")
        size = "def size(_):\n    raise ValueError\n\n\ndef answer("
        lax = self.variant("lax", releasecheck=extra, helpdesk=("def answer(", size))
        made["incomplete"] = self.run("incomplete", 1003, C, suite=lax)
        return made
