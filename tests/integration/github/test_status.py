"""The commit status: what to require where trusted jobs check a stranger's change (P-11; traps 10, 28)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from releasecheck.drivers.github.context import GitHubContext, read_context
from releasecheck.drivers.github.publishing import (
    Done,
    Expected,
    Failed,
    PublishOptions,
    Skipped,
    publish,
)
from releasecheck.drivers.github.publishing.results import Result
from releasecheck.drivers.github.publishing.status import LONGEST, Said, set_pending, set_status
from releasecheck.drivers.github.rest import GitHubClient, Patience
from tests.bundles import Made, fake_world
from tests.fakes import FakeClock
from tests.githubfake import FakeGitHub

HEAD = "d" * 40
NAME = "releasecheck/docs-search"


@dataclass
class Stage:
    """A publish job after another run."""

    github: FakeGitHub
    folder: Path
    client: GitHubClient

    def context(
        self,
        number: int = 5,
        attempt: int = 1,
        *,
        event: str = "pull_request",
        branch: str = "topic",
    ) -> GitHubContext:
        """After a run of a fork, which names no pull request."""
        home = self.github.repository
        theirs = {"id": 1, "full_name": "stranger/app"}
        said = {
            "repository": {"id": home.id, "default_branch": "main"},
            "workflow_run": {
                "id": 77, "run_attempt": 1, "event": event, "conclusion": "success", "head_sha": HEAD,
                "head_branch": branch, "head_repository": theirs, "pull_requests": [],
                "path": ".github/workflows/record.yml",
            },
        }  # fmt: skip
        run = home.add_run(event="workflow_run", attempt=attempt)
        told = self.github.environment(
            run, said, self.folder / "job", GITHUB_RUN_NUMBER=str(number)
        )
        return read_context(told)

    def status(self, bundle: Path, context: GitHubContext | None = None, **given: Any) -> Result:
        """Publish a bundle; what became of its status."""
        return self.surface("status", bundle, context, **{"status": True, **given})

    def surface(
        self, name: str, bundle: Path, context: GitHubContext | None = None, **given: Any
    ) -> Result:
        """Publish a bundle; what became of one surface."""
        given.setdefault("expected", Expected(suite="docs-search"))
        options = PublishOptions(out=self.folder / "published", **given)
        world = fake_world(self.folder)
        found = publish(bundle, self.client, context or self.context(), options, world)
        return next(one.result for one in found.records if one.surface == name)

    def said(self) -> list[tuple[str, str]]:
        """States and descriptions that were set on the event's commit, oldest first."""
        rows = self.github.repository.statuses
        assert {(one["sha"], one["context"]) for one in rows} <= {(HEAD, NAME)}
        return [(one["state"], one["description"]) for one in rows]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with FakeGitHub("octo/app") as fake:
        fake.repository.commit({"README.md": "x"}, branch="main")
        fake.add_repository("stranger/app").id = 1
        with GitHubClient(
            fake.api_url, fake.token, clock=FakeClock(), sleep=lambda _: None,
            patience=Patience(tries=2),
        ) as client:  # fmt: skip
            yield Stage(fake, tmp_path, client)


BAD = {"c0": "good", "c1": "bad", "c2": "bad", "c3": "good"}
LOST = {"c0": "good", "c1": "good", "c2": "...", "c3": "good"}


@pytest.mark.parametrize(
    ("made", "state", "words"),
    [
        (Made(), "success", "passed"),
        (Made(cases=BAD), "failure", "Blocked"),
        (Made(cases=LOST), "error", "may still change"),
    ],
)
def test_status__is_what_the_bundle_comes_to(
    stage: Stage, made: Made, state: str, words: str
) -> None:
    bundle = made.write(stage.folder / "made")
    found = stage.status(bundle)
    assert isinstance(found, Done), found
    ((set_to, description),) = stage.said()
    assert set_to == state
    assert words.lower() in description.lower()
    assert description.endswith(" · run 5.1")
    (row,) = stage.github.repository.statuses
    assert row["target_url"].endswith("/attempts/1")


def test_status__nothing_decided_is_an_error(stage: Stage) -> None:
    stage.status(stage.folder / "absent")
    ((state, description),) = stage.said()
    assert (state, description.partition(":")[0]) == ("error", "No verdict")


def test_status__a_bundle_that_was_edited_is_an_error(stage: Stage) -> None:
    """A blocked run whose scorecard says that it passed."""
    bundle = Made(cases=BAD).write(stage.folder / "made")
    card = bundle / "scorecard.json"
    card.write_text(card.read_text("utf-8").replace('"block"', '"pass"'), "utf-8")
    stage.status(bundle)
    ((state, description),) = stage.said()
    assert (state, description.partition(":")[0]) == ("error", "Unverifiable")


def test_status__part_of_a_stranger_s_choosing_passes_nothing(stage: Stage) -> None:
    """A fork that runs one easy case by a preview of its own; not even if every gate held (trap 28)."""
    theirs = Made(preview=1).write(stage.folder / "theirs")

    def adopting(request: Any) -> Any:
        return replace(request, adopt=theirs.parent / "plan", mode=None, shards=None)

    bundle = Made(edit=adopting).write(stage.folder / "ours")
    stage.status(bundle)
    ((state, description),) = stage.said()
    assert state == "error"
    assert "part of the suite" in description


def test_status__pending_replaces_what_an_earlier_run_came_to(stage: Stage) -> None:
    passed = Made().write(stage.folder / "passed")
    stage.status(passed, stage.context(5))
    set_pending(stage.client, stage.context(6), "docs-search")
    assert [state for state, _ in stage.said()] == ["success", "pending"]


def test_status__an_older_run_can_only_say_no(stage: Stage) -> None:
    """Whichever ends last: a newer run's failure is never turned green by an older one."""
    blocked = Made(cases=BAD).write(stage.folder / "blocked")
    passed = Made().write(stage.folder / "passed")
    stage.status(blocked, stage.context(6))
    assert isinstance(set_pending(stage.client, stage.context(5), "docs-search"), Skipped)
    assert isinstance(stage.status(passed, stage.context(5, attempt=9)), Skipped)
    assert [state for state, _ in stage.said()] == ["failure"]
    assert isinstance(stage.status(blocked, stage.context(5)), Done)
    assert isinstance(stage.status(passed, stage.context(5)), Skipped)
    assert isinstance(stage.status(passed, stage.context(6, attempt=2)), Done)
    assert [state for state, _ in stage.said()] == ["failure", "failure", "success"]


def test_status__unchanged_is_no_call(stage: Stage) -> None:
    passed, context = Made().write(stage.folder / "passed"), stage.context()
    stage.status(passed, context)
    found = stage.status(passed, context)
    assert isinstance(found, Done)
    assert found.change == "unchanged"
    assert len(stage.said()) == 1


def test_status__a_lost_answer_is_set_by_the_rerun(stage: Stage) -> None:
    passed = Made().write(stage.folder / "passed")
    stage.github.fail_next("POST", "/statuses/", 502)
    assert isinstance(stage.status(passed), Failed)
    assert isinstance(stage.status(passed, stage.context(attempt=2)), Done)


def test_status__without_permission_says_which(stage: Stage) -> None:
    stage.github.read_only = True
    found = stage.status(Made().write(stage.folder / "passed"))
    assert isinstance(found, Failed)
    assert "statuses: write" in found.error


def test_status__not_asked_for_sets_none(stage: Stage) -> None:
    found = stage.status(Made().write(stage.folder / "passed"), status=False)
    assert isinstance(found, Skipped)
    assert stage.said() == []


def test_status__nobody_trusted_names_the_suite(stage: Stage) -> None:
    """A failure, not a skip: a status that was asked for stays missing."""
    found = stage.status(stage.folder / "absent", expected=Expected())
    assert isinstance(found, Failed)


def test_set_status__long_words_are_cut(stage: Stage) -> None:
    set_status(stage.client, stage.context(), "docs-search", Said("error", "x\n" * 500))
    ((_, description),) = stage.said()
    assert len(description) == LONGEST
    assert description.endswith("... · run 5.1")


def test_comment__the_pull_request_of_a_fork_is_found_by_its_head(stage: Stage) -> None:
    """The event names none; the branch's name is a stranger's, and other pull requests have it too."""
    bundle = Made(cases=BAD).write(stage.folder / "made")
    home, branch = stage.github.repository, "a&state=all#%2f..?x=$(id)"
    home.add_pull(3, HEAD, home.refs["heads/main"], head_ref=branch, head_repository="stranger/app")
    home.add_pull(4, HEAD, home.refs["heads/main"], head_ref=branch)
    found = stage.surface("comment", bundle, stage.context(branch="a&state=all#%2f$(id)"))
    assert isinstance(found, Skipped)
    assert "no open pull request" in found.why
    home.pulls[3].head_ref = "a&state=all#%2f$(id)"
    found = stage.surface("comment", bundle, stage.context(branch="a&state=all#%2f$(id)"))
    assert isinstance(found, Done), found
    assert [one.issue for one in home.comments] == [3]
    home.pulls[3].head_sha = "e" * 40
    found = stage.surface("comment", bundle, stage.context(branch="a&state=all#%2f$(id)"))
    assert isinstance(found, Skipped)
