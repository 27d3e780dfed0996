"""A repository on the fake whose runs left real bundles, and searches in it."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from releasecheck.drivers.github.baseline import find_baseline
from releasecheck.drivers.github.found import Chosen, NoneFound
from releasecheck.drivers.github.rest import GitHubClient, Patience
from releasecheck.drivers.github.wanted import DEFAULT, Committed, Limits, Wanted
from releasecheck.pipeline.world import World
from tests.fakes import FakeClock, HeardProgress
from tests.githubfake import EMPTY_TREE, Asset, Commit, FakeGitHub, Repository, Run, stamp
from tests.integration.github.bundles import REPO, SUITE, A, B, C, D, Made, files_of

WORKFLOW = ".github/workflows/check.yml"
START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
TOOL = "releasecheck/test"
Bundles = dict[str, Made]


@dataclass
class Place:
    """One repository with four commits on main, and a search in it."""

    github: FakeGitHub
    into: Path
    bundles: Bundles
    slept: list[float] = field(default_factory=list)
    later: int = 0

    def __post_init__(self) -> None:
        parents: tuple[str, ...] = ()
        for number, sha in enumerate((A, B, C, D)):
            self.commit(sha, parents, number)
            parents = (sha,)
        self.repository.refs["heads/main"] = D
        self.repository.workflow(WORKFLOW)

    @property
    def repository(self) -> Repository:
        """The first one."""
        return self.github.repository

    def commit(self, sha: str, parents: tuple[str, ...], hour: int, tree: str = EMPTY_TREE) -> None:
        """A commit that one of the bundles names."""
        date = stamp(START + timedelta(hours=hour))
        self.repository.commits[sha] = Commit(sha, tree, parents, "change", date)

    def run(self, made: Made, *, upload: bool = True, attempt: int = 1, **given: Any) -> Run:
        """The run that made a bundle, some hours after its commit; each call a minute later."""
        self.later += 1
        created = START + timedelta(hours=5, minutes=self.later)
        given = {"id": made.run, "head_sha": made.commit, "created_at": created, **given}
        run = self.repository.add_run(path=given.pop("path", WORKFLOW), attempt=attempt, **given)
        if upload:
            run.add_artifact(made.name(attempt), made.zip(), attempt=attempt)
        return run

    def release(self, made: Made, tag: str, commit: str) -> Asset:
        """A release with the bundle."""
        release = self.repository.add_release(tag, target="main")
        self.repository.refs[f"tags/{tag}"] = commit
        name = f"releasecheck-{SUITE}-{made.plan12}.zip"
        asset = Asset(self.github.next_id(), name, made.zip(), "application/zip")
        release.assets.append(asset)
        return asset

    def accept(self, at: str, parent: str, hour: float, folder: Path) -> Committed:
        """Commit `at` puts the folder into `baseline/`; what comes after keeps it."""
        entries = {
            f"baseline/{name}": ("100644", self.repository.blob(data))
            for name, data in files_of(folder).items()
        }
        tree = self.repository.tree(entries)
        for sha in (A, B, C, D):
            one = self.repository.commits[sha]
            if sha >= at:
                self.repository.commits[sha] = replace(one, tree=tree)
        date = stamp(START + timedelta(hours=hour))
        self.repository.commits[at] = replace(self.repository.commits[at], date=date)
        assert self.repository.commits[at].parents == (parent,)
        return Committed(folder, "baseline")

    def wanted(self, **given: Any) -> Wanted:
        """For a pull request against the newest commit."""
        return Wanted(
            **{
                "repository": REPO,
                "suite": SUITE,
                "base": D,
                "branch": "main",
                "workflow": WORKFLOW,
                "own_run": 9999,
                **given,
            }
        )

    def search(self, limits: Limits = DEFAULT, **given: Any) -> Chosen | NoneFound:
        """Look for a baseline."""
        shutil.rmtree(self.into / "found", ignore_errors=True)
        world = World(FakeClock(), {}, self.into, HeardProgress(), TOOL)
        with GitHubClient(
            self.github.api_url,
            self.github.token,
            clock=FakeClock(),
            sleep=self.slept.append,
            patience=Patience(tries=2, longest_wait_s=5),
        ) as client:
            return find_baseline(
                client, self.wanted(**given), self.into / "found", world, limits=limits
            )

    def chosen(self, **given: Any) -> Chosen:
        """Look, and expect one."""
        found = self.search(**given)
        assert isinstance(found, Chosen), found
        return found

    def none(self, **given: Any) -> NoneFound:
        """Look, and expect that there is none."""
        found = self.search(**given)
        assert isinstance(found, NoneFound), found
        assert not list((self.into / "found").glob("*")), "what was refused is removed"
        return found


def committed_folder(bundles: Bundles, folder: Path, name: str = "boot") -> Path:
    """A baseline as somebody accepted it, with the reason."""
    folder.mkdir()
    for file in ("scorecard.json", "results.jsonl", "manifest.json"):
        shutil.copy(bundles[name].folder / file, folder / file)
    note = {"schema": "releasecheck/promotion@1", "accepted": "new rubric, | reviewed"}
    (folder / "promotion.json").write_text(json.dumps(note), "utf-8")
    return folder
