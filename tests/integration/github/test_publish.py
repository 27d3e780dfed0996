"""The publish stage against a whole GitHub on loopback (C-17, C-20, C-35, G-23, G-25, G-26; traps 15-18, 30)."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from releasecheck.drivers.github.context import GitHubContext, read_context
from releasecheck.drivers.github.publishing import (
    Done,
    Expected,
    Failed,
    Published,
    PublishOptions,
    Skipped,
    publish,
)
from releasecheck.drivers.github.publishing.results import Result, SurfaceName
from releasecheck.drivers.github.rest import GitHubClient, Patience
from releasecheck.pipeline.baselines import read_baseline
from releasecheck.pipeline.verify import verify
from tests.bundles import GATES, Made, baseline_of, contents, decision, fake_world
from tests.fakes import FakeClock
from tests.githubfake import BOT, FakeGitHub, Run

SUITE = "docs-search"
MARKER = f"<!-- releasecheck suite={SUITE} workflow=.github/workflows/check.yml -->"


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with FakeGitHub("octo/app") as fake:
        fake.repository.commit({"README.md": "x"}, branch="main")
        yield fake


@dataclass
class Stage:
    """A publish job."""

    github: FakeGitHub
    folder: Path
    client: GitHubClient

    @property
    def home(self) -> Any:
        return self.github.repository

    def main_sha(self) -> str:
        """The head of the default branch."""
        return str(self.home.refs["heads/main"])

    def on_main(self, number: int = 5, attempt: int = 1, **given: Any) -> GitHubContext:
        """A push to the default branch."""
        event = {"repository": {"id": self.home.id, "default_branch": "main"}}
        return self.context(self.home.add_run(attempt=attempt, **given), event, number)

    def on_pull(self, number: int = 5, attempt: int = 1, *, fork: bool = False) -> GitHubContext:
        """Pull request 3."""
        head = "d" * 40
        if 3 not in self.home.pulls:
            self.home.add_pull(3, head, self.main_sha())
        owner = {"id": 1, "full_name": "stranger/app"}
        mine = {"id": self.home.id, "full_name": self.home.name}
        event = {
            "repository": {"id": self.home.id, "default_branch": "main"},
            "pull_request": {
                "number": 3,
                "base": {"sha": self.main_sha(), "ref": "main"},
                "head": {"sha": head, "ref": "topic", "repo": owner if fork else mine},
            },
        }
        run = self.home.add_run(event="pull_request", pull_requests=(3,), attempt=attempt)
        return self.context(run, event, number)

    def on_release(self) -> GitHubContext:
        """A release of the default branch's head."""
        release = self.home.releases[0]
        event = {
            "action": "published",
            "repository": {"id": self.home.id, "default_branch": "main"},
            "release": {
                "id": release.id, "tag_name": release.tag, "draft": False, "prerelease": False,
            },
        }  # fmt: skip
        return self.context(self.home.add_run(event="release", head_branch=None), event, 5)

    def context(self, run: Run, event: Any, number: int) -> GitHubContext:
        """Of a job of this run."""
        told = self.github.environment(
            run, event, self.folder / "job", GITHUB_RUN_NUMBER=str(number)
        )
        return read_context(told)

    def publish(
        self, bundle: Path, context: GitHubContext, *, client: bool = True, **given: Any
    ) -> Published:
        """Publish, after which the bundle is as it was."""
        before = contents(bundle)
        summary = self.folder / "summary.md"
        options = PublishOptions(out=self.folder / "published", **given)
        world = fake_world(self.folder, GITHUB_STEP_SUMMARY=str(summary))
        found = publish(bundle, self.client if client else None, context, options, world)
        assert contents(bundle) == before
        return found

    def wrote(self, method: str = "(POST|PATCH|PUT|DELETE)") -> list[str]:
        """What was asked of GitHub that changes something."""
        writing = ("POST", "PATCH", "PUT", "DELETE")
        return [f"{one.method} {one.path}" for one in self.github.journal if one.method in writing]

    def comments(self) -> list[str]:
        """Bodies of our comments."""
        bot = BOT["login"]
        return [one.body for one in self.home.comments if one.user["login"] == bot]

    def badge(self, name: str = "badge.json") -> Any:
        """A file of the badge branch."""
        return json.loads(self.home.files("badges")[f"{SUITE}/{name}"])


@pytest.fixture
def stage(github: FakeGitHub, tmp_path: Path) -> Iterator[Stage]:
    with GitHubClient(
        github.api_url,
        github.token,
        clock=FakeClock(),
        sleep=lambda _: None,
        patience=Patience(tries=2),
    ) as client:
        yield Stage(github, tmp_path, client)


def result(published: Published, surface: SurfaceName) -> Result:
    return next(one.result for one in published.records if one.surface == surface)


def done(published: Published, surface: SurfaceName) -> Done:
    found = result(published, surface)
    assert isinstance(found, Done), found
    return found


def skipped(published: Published, surface: SurfaceName) -> str:
    found = result(published, surface)
    assert isinstance(found, Skipped), found
    return found.why


def failed(published: Published, surface: SurfaceName) -> str:
    found = result(published, surface)
    assert isinstance(found, Failed), found
    return found.error


BAD = {"c0": "good", "c1": "bad", "c2": "bad", "c3": "good"}


@pytest.fixture
def blocked(tmp_path: Path) -> Path:
    return Made(cases=BAD).write(tmp_path / "blocked")


@pytest.fixture
def passed(stage: Stage, tmp_path: Path) -> Path:
    return Made(commit=stage.main_sha()).write(tmp_path / "passed")


# --- the comment ------------------------------------------------------------------------------------


def test_comment__created_then_edited_in_place(stage: Stage, blocked: Path) -> None:
    first = done(stage.publish(blocked, stage.on_pull(5)), "comment")
    assert first.change == "created"
    second = done(stage.publish(blocked, stage.on_pull(6)), "comment")
    assert (second.change, second.url) == ("updated", first.url)
    (body,) = stage.comments()
    assert body.startswith(MARKER + "\n")
    assert "d" * 40 in body
    assert body.index("Blocked") < body.index("What to do now") < body.index("### Gates")


def test_comment__unchanged_is_no_call(stage: Stage, blocked: Path) -> None:
    context = stage.on_pull()
    stage.publish(blocked, context)
    before = stage.wrote()
    assert done(stage.publish(blocked, context), "comment").change == "unchanged"
    assert stage.wrote() == before


def test_comment__c_20_killed_before_the_receipt_is_edited_by_the_rerun(
    stage: Stage, blocked: Path
) -> None:
    """The comment was posted and the answer lost: there is no record of it anywhere but on GitHub."""
    stage.github.fail_next("POST", "/comments$", 0, after=True)
    assert "POST" in failed(stage.publish(blocked, stage.on_pull(5)), "comment")
    assert len(stage.comments()) == 1
    assert done(stage.publish(blocked, stage.on_pull(5, attempt=2)), "comment").change == "updated"
    assert len(stage.comments()) == 1


def test_comment__found_on_the_third_page(stage: Stage, blocked: Path) -> None:
    stage.on_pull()
    for number in range(230):
        stage.home.add_comment(3, f"comment {number}")
    stage.home.add_comment(3, f"{MARKER}\nold", str(BOT["login"]))
    assert done(stage.publish(blocked, stage.on_pull()), "comment").change == "updated"
    assert len(stage.comments()) == 1
    assert len(stage.github.seen("GET", "/issues/3/comments$")) == 3


def test_comment__a_stranger_with_our_marker_is_left_alone(stage: Stage, blocked: Path) -> None:
    stage.on_pull()
    forged = stage.home.add_comment(3, f"{MARKER}\n<!-- mine -->", "mallory")
    assert done(stage.publish(blocked, stage.on_pull()), "comment").change == "created"
    assert forged.body == f"{MARKER}\n<!-- mine -->"


def test_comment__another_bot_with_our_marker_is_left_alone(stage: Stage, blocked: Path) -> None:
    """An app that quotes comments, and a person whose name only looks like the bot's."""
    stage.on_pull()
    for login, kind in (("quoter[bot]", "Bot"), (str(BOT["login"]), "User")):
        one = stage.home.add_comment(3, f"{MARKER}\nx", "somebody")
        one.user = {"login": login, "type": kind, "id": 2}
    assert done(stage.publish(blocked, stage.on_pull()), "comment").change == "created"
    again = stage.publish(blocked, stage.on_pull(6), comment_author="quoter[bot]")
    assert "write" in failed(
        again, "comment"
    )  # it went for that app's own, which this token cannot edit


def test_comment__of_another_suite_or_workflow_is_left_alone(stage: Stage, blocked: Path) -> None:
    stage.on_pull()
    for other in (MARKER.replace(SUITE, "other"), MARKER.replace("check.yml", "nightly.yml")):
        stage.home.add_comment(3, f"{other}\nx", str(BOT["login"]))
    stage.home.add_comment(3, f"quoted: {MARKER}", str(BOT["login"]))
    assert done(stage.publish(blocked, stage.on_pull()), "comment").change == "created"
    assert len(stage.comments()) == 4


def test_comment__an_older_run_does_not_overwrite(stage: Stage, blocked: Path) -> None:
    stage.publish(blocked, stage.on_pull(7, attempt=2))
    (newer,) = stage.comments()
    for number, attempt in ((6, 9), (7, 1)):
        assert "newer" in skipped(stage.publish(blocked, stage.on_pull(number, attempt)), "comment")
    assert stage.comments() == [newer]


def test_comment__read_only_token_is_recorded_and_changes_nothing_else(
    stage: Stage, blocked: Path
) -> None:
    stage.github.read_only = True
    found = stage.publish(blocked, stage.on_pull())
    assert "pull-requests: write" in failed(found, "comment")
    assert (found.verdict, found.exit_code) == ("block", 4)
    done(found, "summary")
    record = json.loads((stage.folder / "published" / "published.json").read_text("utf-8"))
    states = {one["surface"]: one["state"] for one in record["publications"]}
    assert (states["comment"], states["summary"], states["badge"]) == ("failed", "done", "skipped")
    assert record["verdict"] == "block"


def test_comment__502_then_the_rerun_posts_it(stage: Stage, blocked: Path) -> None:
    before = contents(blocked)
    stage.github.fail_next("POST", "/comments$", 502)
    failed(stage.publish(blocked, stage.on_pull(5)), "comment")
    assert not stage.comments()
    assert done(stage.publish(blocked, stage.on_pull(5, attempt=2)), "comment").change == "created"
    assert contents(blocked) == before


def test_comment__fork_is_skipped_before_it_is_tried(stage: Stage, blocked: Path) -> None:
    assert "fork" in skipped(stage.publish(blocked, stage.on_pull(fork=True)), "comment")
    assert not stage.wrote()


def test_comment__no_pull_request(stage: Stage, passed: Path) -> None:
    assert "no single pull request" in skipped(stage.publish(passed, stage.on_main()), "comment")


def after_run(stage: Stage, head: str) -> GitHubContext:
    event = {
        "repository": {"id": stage.home.id, "default_branch": "main"},
        "workflow_run": {
            "id": 12, "run_attempt": 1, "event": "pull_request", "conclusion": "success",
            "head_sha": head, "head_branch": "topic", "pull_requests": [],
            "path": ".github/workflows/untrusted.yml",
            "head_repository": {"id": 1, "full_name": "stranger/app"},
        },
    }  # fmt: skip
    return stage.context(stage.home.add_run(event="workflow_run"), event, 5)


def test_comment__after_a_run_only_on_the_pull_request_of_its_head(
    stage: Stage, blocked: Path
) -> None:
    """The number comes out of a stranger's artifact; the head SHA comes from the event."""
    stage.on_pull()
    other = after_run(stage, "e" * 40)
    assert "is at" in skipped(stage.publish(blocked, other, pull_request=3), "comment")
    assert "no open pull" in skipped(stage.publish(blocked, other), "comment")
    assert not stage.comments()
    same = after_run(stage, "d" * 40)
    assert done(stage.publish(blocked, same, pull_request=3), "comment").change == "created"


# --- what cannot be trusted -------------------------------------------------------------------------


def tampered(bundle: Path) -> Path:
    card = json.loads((bundle / "scorecard.json").read_text("utf-8"))
    card["verdict"], card["exit_code"] = "pass", 0
    (bundle / "scorecard.json").write_text(json.dumps(card), "utf-8")
    return bundle


def test_publish__c_35_a_tampered_bundle_publishes_its_refusal_alone(
    stage: Stage, blocked: Path
) -> None:
    known = Expected(suite=SUITE)
    found = stage.publish(tampered(blocked), stage.on_pull(), expected=known, attest=True)
    assert (found.trust, found.verdict, found.exit_code) == ("unverifiable", None, 4)
    (body,) = stage.comments()
    assert "Unverifiable" in body
    assert "No gate was decided" in body
    assert "Passed" not in body
    for surface in ("asset", "attest", "promotion"):
        skipped(found, surface)
    assert "Unverifiable" in (stage.folder / "summary.md").read_text("utf-8")
    (line,) = found.lines
    assert line.startswith("::error title=Unverifiable")


def test_publish__a_whole_bundle_of_another_run_is_refused(stage: Stage, passed: Path) -> None:
    """Consistent in itself, and not what this workflow planned (G-26)."""
    for known in (
        Expected(suite="other"),
        Expected(run_id="rc-0-1"),
        Expected(plan_digest="sha256:" + "0" * 64),
    ):
        found = stage.publish(passed, stage.on_main(), expected=known, badge_branch="badges")
        assert found.trust == "unverifiable"
        skipped(found, "promotion")
    right = decision(passed)
    known = Expected(SUITE, right.run_id, right.plan_digest)
    assert stage.publish(passed, stage.on_main(), expected=known).trust == "verified"


@pytest.mark.parametrize("content", [b"", b"[]", b"{" * 100_000, b"\xff\xfe", b"null"])
def test_publish__any_damage_is_no_crash(stage: Stage, passed: Path, content: bytes) -> None:
    for name in ("scorecard.json", "manifest.json", "plan/plan.json"):
        whole = (passed / name).read_bytes()
        (passed / name).write_bytes(content)
        found = stage.publish(passed, stage.on_main())
        assert (found.trust, found.exit_code) == ("unverifiable", 4), name
        (passed / name).write_bytes(whole)
    assert stage.publish(passed, stage.on_main()).exit_code == 0


def test_publish__no_bundle_is_no_verdict(stage: Stage, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    note = {"code": "config_invalid", "message": "cases.jsonl:3: <b>@all</b> ::error::x"}
    (empty / "failure.json").write_text(json.dumps(note), "utf-8")
    known = Expected(suite=SUITE)
    found = stage.publish(empty, stage.on_pull(), expected=known)
    assert (found.trust, found.exit_code) == ("absent", 4)
    (body,) = stage.comments()
    assert "No verdict" in body
    assert "config&#95;invalid" in body or "config_invalid" in body
    assert "<b>" not in body
    assert "@all" not in body
    assert found.outputs["published-artifact"] == f"releasecheck-published-{SUITE}-noplan-a1"


def test_publish__an_open_run_is_published_as_open(stage: Stage, tmp_path: Path) -> None:
    half = {"c0": "good", "c1": "...", "c2": "good", "c3": "good"}
    out = Made(cases=half, commit=stage.main_sha()).write(tmp_path / "open")
    assert verify(out, fake_world(tmp_path)).exit_code == 0
    found = stage.publish(out, stage.on_pull(), attest=True)
    assert (found.trust, found.exit_code) == ("open", 0)
    assert "Provisional" in stage.comments()[0]
    assert "open" in skipped(found, "attest")
    main = stage.publish(out, stage.on_main(), badge_branch="badges")
    assert "not finalized" in skipped(main, "promotion")
    assert stage.badge()["color"] == "lightgrey"
    assert stage.badge()["message"].startswith("not final 2026-01-05")


def test_publish__each_surface_fails_alone(stage: Stage, passed: Path) -> None:
    stage.github.fail_next("GET", "/git/ref/", 500, times=9)
    found = stage.publish(passed, stage.on_main(), badge_branch="badges")
    assert "500" in failed(found, "badge")
    done(found, "summary")
    done(found, "promotion")
    assert found.exit_code == 4


def test_publish__without_a_token(stage: Stage, passed: Path) -> None:
    found = stage.publish(passed, stage.on_main(), client=False, badge_branch="badges")
    assert skipped(found, "badge") == "there is no token"
    assert found.exit_code == 0


# --- the badge --------------------------------------------------------------------------------------


def test_badge__made_on_a_branch_of_its_own(stage: Stage, passed: Path) -> None:
    found = stage.publish(passed, stage.on_main(), badge_branch="badges")
    assert done(found, "badge").change == "created"
    files = stage.home.files("badges")
    names = ("badge.json", "badge.svg", "published.json")
    assert sorted(files) == [f"{SUITE}/{name}" for name in names]
    head = stage.home.commits[stage.home.refs["heads/badges"]]
    assert head.parents == ()
    assert stage.badge()["color"] == "brightgreen"
    manifest = (passed / "manifest.json").read_bytes()
    record = stage.badge("published.json")
    assert record["manifest_digest"] == "sha256:" + hashlib.sha256(manifest).hexdigest()
    assert record["commit"] == stage.main_sha()
    assert record["stale_after"] > record["at"]
    assert files[f"{SUITE}/badge.json"] == (passed / "badge.json").read_bytes()
    again = stage.publish(passed, stage.on_main(), badge_branch="badges")
    assert done(again, "badge").change == "updated"  # another run says the same


def test_badge__again_is_no_commit(stage: Stage, passed: Path) -> None:
    context = stage.on_main()
    stage.publish(passed, context, badge_branch="badges")
    before = stage.wrote()
    again = stage.publish(passed, context, badge_branch="badges")
    assert done(again, "badge").change == "unchanged"
    assert stage.wrote() == before


def test_badge__other_suites_stay(stage: Stage, passed: Path) -> None:
    stage.home.commit({"other/badge.json": "{}", "README.md": "badges"}, branch="badges")
    stage.publish(passed, stage.on_main(), badge_branch="badges")
    assert {"other/badge.json", "README.md"} < set(stage.home.files("badges"))


def test_badge__two_lost_races_then_taken(stage: Stage, passed: Path) -> None:
    """Somebody commits between our reading and our writing, twice; nothing of theirs is lost."""
    stage.home.commit({"a/badge.json": "1"}, branch="badges")
    raced: list[str] = []

    class Racing(GitHubClient):
        @override
        def patch(self, path: str, body: Any) -> Any:
            if "/git/refs/" in path and len(raced) < 2:
                theirs = {**stage.home.files("badges"), f"r{len(raced)}/badge.json": b"1"}
                raced.append(stage.home.commit(theirs, branch="badges"))
            return super().patch(path, body)

    with Racing(
        stage.github.api_url, stage.github.token, clock=FakeClock(), sleep=lambda _: None
    ) as client:
        racing = replace(stage, client=client)
        found = racing.publish(passed, stage.on_main(), badge_branch="badges")
    assert done(found, "badge").change == "created"
    names = set(stage.home.files("badges"))
    assert {"a/badge.json", "r0/badge.json", "r1/badge.json", f"{SUITE}/badge.json"} <= names
    assert [one["force"] for one in patches(stage)] == [False] * 3


def patches(stage: Stage) -> list[Any]:
    return [one.json() for one in stage.github.seen("PATCH", "/git/refs/")]


def test_badge__a_race_without_end_is_given_up(stage: Stage, passed: Path) -> None:
    stage.home.commit({"a": "1"}, branch="badges")

    class Racing(GitHubClient):
        @override
        def patch(self, path: str, body: Any) -> Any:
            stage.home.commit({"a": str(len(stage.github.journal))}, branch="badges")
            return super().patch(path, body)

    with Racing(
        stage.github.api_url, stage.github.token, clock=FakeClock(), sleep=lambda _: None
    ) as client:
        found = replace(stage, client=client).publish(
            passed, stage.on_main(), badge_branch="badges"
        )
    assert "faster" in failed(found, "badge")


def test_badge__a_refusal_that_is_no_race_is_not_repeated(stage: Stage, passed: Path) -> None:
    """A protected branch answers 422 too."""
    stage.home.commit({"a": "1"}, branch="badges")
    stage.github.fail_next("PATCH", "/git/refs/", 422, times=99)
    found = stage.publish(passed, stage.on_main(), badge_branch="badges")
    assert "422" in failed(found, "badge")
    assert len(patches(stage)) == 1


def test_badge__created_by_somebody_at_the_same_time(stage: Stage, passed: Path) -> None:
    stage.github.fail_next("POST", "/git/refs$", 0, after=True)
    found = stage.publish(passed, stage.on_main(), badge_branch="badges")
    assert isinstance(result(found, "badge"), Done)
    assert stage.badge()["color"] == "brightgreen"


def test_badge__an_older_run_does_not_overwrite(stage: Stage, passed: Path, tmp_path: Path) -> None:
    """Trap 30."""
    red = Made(cases=BAD, commit=stage.main_sha()).write(tmp_path / "red")
    stage.publish(red, stage.on_main(8), badge_branch="badges")
    head = stage.home.refs["heads/badges"]
    for number in (7, 3):
        old = stage.publish(passed, stage.on_main(number), badge_branch="badges")
        assert "newer" in skipped(old, "badge")
    assert stage.home.refs["heads/badges"] == head
    assert stage.badge()["color"] == "red"
    new = stage.publish(passed, stage.on_main(9), badge_branch="badges")
    assert done(new, "badge").change == "updated"


def test_badge__of_another_workflow_the_later_commit_counts(stage: Stage, passed: Path) -> None:
    stage.publish(passed, stage.on_main(900), badge_branch="badges")
    files = stage.home.files("badges")
    place = f"{SUITE}/published.json"
    record = json.loads(files[place]) | {"workflow": ".github/workflows/other.yml"}
    for at, change in (("2020-01-01T00:00:00Z", "updated"), ("2090-01-01T00:00:00Z", None)):
        written = {**files, place: json.dumps(record | {"commit_time": at})}
        stage.home.commit(written, branch="badges")
        found = result(stage.publish(passed, stage.on_main(1), badge_branch="badges"), "badge")
        assert found.change == change if isinstance(found, Done) else change is None


def test_badge__a_run_without_verdict_replaces_a_green_one(
    stage: Stage, passed: Path, tmp_path: Path
) -> None:
    stage.publish(passed, stage.on_main(5), badge_branch="badges")
    known = Expected(suite=SUITE)
    gone = stage.publish(
        tmp_path / "nothing", stage.on_main(6), badge_branch="badges", expected=known
    )
    assert done(gone, "badge").change == "updated"
    assert stage.badge()["message"].startswith("no verdict ")
    assert (stage.badge()["color"], stage.badge()["isError"]) == ("orange", True)
    bad = stage.publish(tampered(passed), stage.on_main(7), badge_branch="badges", expected=known)
    done(bad, "badge")
    assert stage.badge()["message"].startswith("unverifiable ")


def test_badge__never_from_less_than_a_full_run_of_the_branch(
    stage: Stage, passed: Path, tmp_path: Path
) -> None:
    sha = stage.main_sha()
    preview = Made(commit=sha, preview=2).write(tmp_path / "preview")
    local = Made(commit=sha, provenance="local").write(tmp_path / "local")
    elsewhere = Made(commit="e" * 40).write(tmp_path / "elsewhere")
    for bundle, why in ((preview, "preview"), (local, "local"), (elsewhere, "is of commit")):
        found = stage.publish(bundle, stage.on_main(), badge_branch="badges")
        assert why in skipped(found, "badge")
        skipped(found, "promotion")
    for context in (
        stage.on_pull(),
        replace(stage.on_main(), event="merge_group"),
        stage.on_main(head_branch="topic"),
        after_run(stage, sha),
    ):
        found = stage.publish(passed, context, badge_branch="badges")
        skipped(found, "badge")
        skipped(found, "promotion")
    assert "heads/badges" not in stage.home.refs


@pytest.mark.parametrize("name", ["main", "../x", "-x", "a..b", "a b", "x.lock", "/x", "x/"])
def test_badge__a_branch_that_cannot_be(stage: Stage, passed: Path, name: str) -> None:
    failed(stage.publish(passed, stage.on_main(), badge_branch=name), "badge")
    assert not stage.wrote()


# --- the release's asset ----------------------------------------------------------------------------


def test_asset__attached_once(stage: Stage, passed: Path) -> None:
    release = stage.home.add_release("v1")
    assert done(stage.publish(passed, stage.on_release()), "asset").change == "created"
    first, sums = release.assets
    plan12 = decision(passed).plan_digest[7:19]
    assert first.name == f"releasecheck-{SUITE}-{plan12}.zip"
    assert sums.data.decode() == f"{hashlib.sha256(first.data).hexdigest()}  {first.name}\n"
    with zipfile.ZipFile(io.BytesIO(first.data)) as packed:
        assert {name: packed.read(name) for name in packed.namelist()} == contents(passed)
    again = stage.publish(passed, stage.on_release())
    assert done(again, "asset").change == "unchanged"
    assert release.assets == [first, sums]


def test_asset__another_bundle_stands_beside(stage: Stage, passed: Path, tmp_path: Path) -> None:
    release = stage.home.add_release("v1")
    stage.publish(passed, stage.on_release())
    kept = list(release.assets)
    other = Made(commit=stage.main_sha(), unique="78").write(tmp_path / "other")
    for change in ("created", "unchanged"):
        assert done(stage.publish(other, stage.on_release()), "asset").change == change
        assert release.assets[:2] == kept
        assert len(release.assets) == 4
    assert not stage.github.seen("DELETE", "/assets/")


def test_asset__what_a_failed_upload_left_is_replaced(stage: Stage, passed: Path) -> None:
    release = stage.home.add_release("v1")
    stage.publish(passed, stage.on_release())
    whole = release.assets[0].data
    release.assets[0].state, release.assets[0].data = "starter", b""
    assert done(stage.publish(passed, stage.on_release()), "asset").change == "created"
    assert sorted(one.state for one in release.assets) == ["uploaded", "uploaded"]
    assert whole in [one.data for one in release.assets]


def test_asset__never_of_an_open_or_partial_run(stage: Stage, tmp_path: Path) -> None:
    stage.home.add_release("v1")
    opened = Made(cases={"c0": "good", "c1": "..."}).write(tmp_path / "open")
    preview = Made(preview=2).write(tmp_path / "preview")
    for bundle, why in ((opened, "open"), (preview, "preview")):
        assert why in skipped(stage.publish(bundle, stage.on_release()), "asset")


# --- attestation and promotion ----------------------------------------------------------------------


def test_attest__predicate_and_subject(stage: Stage, passed: Path) -> None:
    found = stage.publish(passed, stage.on_main(), attest=True)
    folder = stage.folder / "published" / "attestation"
    predicate = json.loads((folder / "predicate.json").read_text("utf-8"))
    assert predicate["result"] == "PASSED"
    assert predicate["passedTests"] == ["quality"]
    names = [one["name"] for one in predicate["configuration"]]
    assert names == ["plan", "policy", "releasecheck.yaml", "commit"]
    hexed = hashlib.sha256((passed / "manifest.json").read_bytes()).hexdigest()
    assert (folder / "subject.checksums").read_text("utf-8") == f"{hexed}  manifest.json\n"
    subject = json.loads((folder / "subject.json").read_text("utf-8"))["subject"]
    assert [one["digest"] for one in subject] == [
        {"sha256": hexed},
        {"gitCommit": stage.main_sha()},
    ]
    assert found.outputs["attest-predicate-path"].endswith("attestation/predicate.json")
    assert '"c0"' not in json.dumps(predicate)


def test_attest__blocked_is_failed(stage: Stage, blocked: Path) -> None:
    stage.publish(blocked, stage.on_pull(), attest=True)
    path = stage.folder / "published" / "attestation" / "predicate.json"
    predicate = json.loads(path.read_text("utf-8"))
    assert (predicate["result"], predicate["failedTests"]) == ("FAILED", ["quality"])


def test_promotion__a_folder_that_is_a_baseline(stage: Stage, passed: Path) -> None:
    found = stage.publish(passed, stage.on_main(attempt=2))
    folder = Path(found.outputs["baseline-path"])
    plan12 = decision(passed).plan_digest[7:19]
    assert found.outputs["baseline-artifact"] == f"releasecheck-baseline-{SUITE}-{plan12}-a2"
    assert read_baseline(folder, "test").manifest.run_id == decision(passed).run_id
    note = json.loads((folder / "promotion.json").read_text("utf-8"))
    assert (note["commit"], note["verdict"], note["by"]) == (stage.main_sha(), "pass", "octocat")
    assert (note["run_attempt"], note["event"]) == (2, "push")


def test_promotion__trap_25_a_blocked_run_stores_nothing(stage: Stage, tmp_path: Path) -> None:
    red = Made(cases=BAD, commit=stage.main_sha()).write(tmp_path / "red")
    found = stage.publish(red, stage.on_main())
    assert "block" in skipped(found, "promotion")
    assert "baseline-path" not in found.outputs
    assert not list((stage.folder / "published").rglob("manifest.json"))


# --- annotations and hostile cases ------------------------------------------------------------------


def test_annotations__worst_first_at_the_dataset_line(stage: Stage, tmp_path: Path) -> None:
    names = [f"c{n:02d}" for n in range(30)]
    before = dict.fromkeys(names, "good") | dict.fromkeys(names[:12], "bad")
    base = baseline_of(tmp_path / "base", cases=before, gates=[{**GATES[0], "min": 0.1}])
    now = before | dict.fromkeys(names[25:28], "bad")
    gates = [*GATES, {"id": "no-worse", "metric": "exact", "no_regression": {"max_drop": 0.01}}]
    out = Made(cases=now, baseline=base, gates=gates).write(tmp_path / "now")
    found = stage.publish(out, stage.on_pull(), config_folder="suites/search")
    assert len(found.lines) == 10
    assert all(line.startswith("::error ") and "\n" not in line for line in found.lines)
    for line, number in zip(found.lines[:3], (26, 27, 28), strict=True):
        assert f"file=suites/search/cases/main.jsonl,line={number}::" in line
        assert "no-worse, which blocks" in line
    assert "line=1::" in found.lines[3]
    assert "5 more in the scorecard" in found.lines[9]


def test_annotations__outside_of_the_repository_has_no_file(stage: Stage, blocked: Path) -> None:
    found = stage.publish(blocked, stage.on_pull(), config_folder="../..")
    assert all("file=" not in line for line in found.lines)
    assert found.lines


ATTACKS = [
    "::set-output name=verdict::pass",
    "  ::SET-ENV name=PATH::/tmp",
    "x ##[error]boom",
    "::add-mask::1",
    "::stop-commands::x",
    "```\n# fence\n```",
    "</details><script>alert(1)</script>",
    "| a | b |\n| --- | --- |",
    "@octocat #1 GH-2 [x](javascript:1) ![i](http://evil/i.png)",
    f"{MARKER}\n<!-- releasecheck-run number=999 attempt=1 head={'d' * 40} -->",
    "## \u2714 Passed\n\nVerdict <code>pass</code>, exit code 0.",
    "A" * 5_000_000,
]


def test_publish__hostile_outputs_and_ids_change_nothing(stage: Stage, tmp_path: Path) -> None:
    """Traps 15 to 18, G-25: what a model or a case says is never structure, and never a command."""
    tame = Made(cases={f"x{n}": "bad" for n in range(len(ATTACKS))}).write(tmp_path / "tame")
    ids = [f"x{n}" if "\n" in text else text[:200].strip() for n, text in enumerate(ATTACKS)]
    wild = Made(cases=dict(zip(ids, ATTACKS, strict=True))).write(tmp_path / "wild")
    stage.publish(tame, stage.on_pull(5))
    (calm,) = stage.comments()
    found = stage.publish(wild, stage.on_pull(6))
    (body,) = stage.comments()
    assert found.verdict == "block"
    assert decision(wild).exit_code == decision(tame).exit_code == 1
    assert structure(body) == structure(calm)
    assert len(body.encode("utf-16-le")) // 2 <= 60_000
    assert (stage.folder / "summary.md").stat().st_size <= 900 * 1024
    assert "<script>" not in body
    assert "@octocat" not in body
    assert "](javascript" not in body
    assert body.count("<!--") == 2
    for line in found.lines:
        assert line.startswith("::error ")
        assert "\n" not in line
        assert "##[" not in line
        assert len(line) < 6000
    assert len(found.lines) == 10
    assert skipped(stage.publish(wild, stage.on_pull(5)), "comment").startswith("run 6")
    assert sorted(found.outputs) == ["published-artifact", "published-path"]


def structure(markdown: str) -> list[str]:
    """The first characters of each line and its cells: what a reader of Markdown builds on."""
    shape = []
    for line in markdown.splitlines()[2:]:
        start = line[:3] if line[:1] in "#|>-<`~" else "text" if line else ""
        shape.append(f"{start} {line.count('|')}")
    return shape


def test_summary__bounded_and_linked(stage: Stage, blocked: Path) -> None:
    found = stage.publish(
        blocked, stage.on_pull(), scorecard_url="https://github.com/octo/app/artifacts/1"
    )
    done(found, "summary")
    text = (stage.folder / "summary.md").read_text("utf-8")
    assert "(https://github.com/octo/app/artifacts/1)" in text
    assert "Verdict <code>block</code>" in text
    for url in ("javascript:alert(1)", "https://x/)[y](z", "https://x y/"):
        stage.publish(blocked, stage.on_pull(), scorecard_url=url)
    assert "javascript" not in (stage.folder / "summary.md").read_text("utf-8")
    assert "[y]" not in (stage.folder / "summary.md").read_text("utf-8")
