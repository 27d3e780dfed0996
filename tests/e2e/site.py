"""A repository on a GitHub of the test's own, with one suite whose target counts its calls."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.acting import Repository
from tests.e2e.suites import http_suite, questions
from tests.staging import Fate, Interpreter, Play

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.program import Program
    from tests.e2e.suites import Answers, Suite
    from tests.githubfake import FakeGitHub, Run, Stored

SCORECARD, SHARD, PLAN = (f"releasecheck-{kind}-" for kind in ("scorecard", "shard", "plan"))


@dataclass
class Site:
    """Where workflow runs happen."""

    folder: Path
    github: FakeGitHub
    answers: Answers
    interpreter: Interpreter
    repository: Repository = field(init=False)
    suite: Suite = field(init=False)
    _plays: int = 0

    def __post_init__(self) -> None:
        """Make the repository, with a first commit on its default branch."""
        checkout = self.folder / "checkout"
        checkout.mkdir()
        self.repository = Repository(checkout, self.folder, self.github, self.folder)
        self.repository.git("init", "-q", "-b", "main")
        self.suite = http_suite(checkout, self.answers, 4, shards=2, target={"retries": 0})
        self.repository.commit()

    @property
    def checkout(self) -> Path:
        """The working tree that jobs see."""
        return self.repository.folder

    @property
    def head(self) -> str:
        """The commit that is checked out."""
        return self.repository.git("rev-parse", "HEAD")

    def change(self, cases: int | None = None, **config: Any) -> str:
        """Change the suite and commit; returns the commit."""
        if cases is not None:
            self.suite.cases = questions(cases)
        self.suite.write(**config)
        return self.repository.commit()

    def push(self, branch: str = "main", **inputs: Any) -> Play:
        """A push, ready to be played."""
        event = {"ref": f"refs/heads/{branch}"}
        return self._play(self._run("push", head_branch=branch), event, inputs)

    def pull(self, base: str, number: int = 7, **inputs: Any) -> Play:
        """A pull request of what is checked out against the commit `base`."""
        home, head = self.github.repository, self.head
        if number not in home.pulls:
            home.add_pull(number, head, base)
        home.pulls[number].head_sha = head
        mine = {"id": home.id, "full_name": home.name}
        event = {
            "action": "synchronize",
            "number": number,
            "pull_request": {
                "number": number,
                "base": {"sha": base, "ref": "main", "repo": mine},
                "head": {"sha": head, "ref": f"topic-{number}", "repo": mine},
            },
        }
        run = self._run("pull_request", head_branch=f"topic-{number}", pull_requests=(number,))
        return self._play(run, event, inputs)

    def _run(self, event: str, **given: Any) -> Run:
        return self.github.repository.add_run(
            event=event, head_sha=self.head, status="in_progress", **given
        )

    def _play(self, run: Run, event: dict[str, Any], inputs: dict[str, Any]) -> Play:
        self._plays += 1
        home = self.github.repository
        about = {"id": home.id, "full_name": home.name, "default_branch": "main"}
        return Play(
            self.github,
            run,
            {"repository": about, **event},
            self.checkout,
            self.folder / f"run-{self._plays}",
            self.interpreter,
            inputs,
        )

    def asked(self) -> dict[str, int]:
        """Trial -> calls of the target since the last look."""
        found = dict(self.answers.counts())
        self.answers.asked.clear()
        return found

    @property
    def comments(self) -> list[str]:
        """Bodies of all comments."""
        return [one.body for one in self.github.repository.comments]


def site_in(folder: Path, github: FakeGitHub, answers: Answers, program: Program) -> Site:
    """A site of its own."""
    return Site(folder, github, answers, Interpreter(program, folder))


def artifacts(play: Play, start: str = "") -> list[Stored]:
    """Artifacts of a run that can be seen now, in the order of their uploads."""
    return [
        one
        for one in play.run.artifacts
        if one.finalized and not one.hidden and one.name.startswith(start)
    ]


def names(play: Play, start: str = "") -> list[str]:
    """Their names."""
    return [one.name for one in artifacts(play, start)]


def unpacked(one: Stored) -> dict[str, bytes]:
    """The files of an artifact."""
    with zipfile.ZipFile(io.BytesIO(one.data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def bundle(play: Play) -> dict[str, bytes]:
    """The files of the newest scorecard artifact."""
    return unpacked(
        [one for one in artifacts(play, SCORECARD) if not one.name.endswith(".html")][-1]
    )


def card(play: Play) -> dict[str, Any]:
    """The newest scorecard."""
    found: dict[str, Any] = json.loads(bundle(play)["scorecard.json"])
    return found


def bundle_folder(play: Play, into: Path) -> Path:
    """The newest bundle as a folder."""
    shutil.rmtree(into, ignore_errors=True)
    for name, data in bundle(play).items():
        path = into / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return into


def ready(site: Site, **inputs: Any) -> Play:
    """A run whose shards are done and whose finish never began."""
    play = site.push(**inputs)
    play.attempt(finish=Fate(never=True))
    return play
