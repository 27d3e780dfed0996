"""Baseline `auto` over real sockets, with real bundles (G-21, G-22, G-23, C-29; traps 23, 24, 25, 28)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from releasecheck.drivers.github.errors import (
    BadAnswer,
    Forbidden,
    NotFound,
    RateLimited,
    ServerFailed,
)
from releasecheck.drivers.github.found import (
    Chosen,
    FromRelease,
    FromRepository,
    FromRun,
    NoneFound,
)
from releasecheck.drivers.github.wanted import Committed, Limits
from releasecheck.errors import InfrastructureError, Untrusted, UsageError
from releasecheck.pipeline.baselines import open_baseline
from releasecheck.pipeline.folders import open_plan
from releasecheck.pipeline.freezing import PlanRequest, make_plan
from releasecheck.pipeline.world import World
from tests.e2e.forge import edit, seal
from tests.fakes import FakeClock, HeardProgress
from tests.githubfake import FakeGitHub, zipped
from tests.integration.github.bundles import EXAMPLE, REPO, SUITE, A, B, C, D, Made, files_of
from tests.integration.github.place import START, TOOL, WORKFLOW, Bundles, Place, committed_folder

pytestmark = pytest.mark.timeout(240)  # the bundles are made in the first test


@pytest.fixture
def place(tmp_path: Path, bundles: Bundles) -> Iterator[Place]:
    """A repository of its own for each test."""
    with FakeGitHub(REPO) as github:
        yield Place(github, tmp_path, bundles)


def run_of(found: Chosen | NoneFound) -> int:
    assert isinstance(found, Chosen), found
    assert isinstance(found.source, FromRun), found
    return found.source.run_id


def reasons(found: Chosen | NoneFound) -> dict[str, int]:
    return {str(reason): count for reason, count in found.refused.counts.items()}


def forged(
    made: Made, folder: Path, change: Callable[[dict[str, Any]], object]
) -> dict[str, bytes]:
    """The bundle with another scorecard, every digest around it made to match."""
    shutil.copytree(made.folder, folder)
    edit(folder / "scorecard.json", change)
    seal(folder)
    return files_of(folder)


# What is chosen.


def test_find__newest_passing_run(place: Place) -> None:
    """G-21: named by run, artifact, digest and commit; the older one is not looked at."""
    place.run(place.bundles["pass"])
    run = place.run(place.bundles["newer"])
    (stored,) = run.artifacts
    found = place.chosen()
    assert found.source == FromRun(
        run_id=1003,
        attempt=1,
        workflow=WORKFLOW,
        artifact_id=stored.id,
        artifact=stored.name,
        digest=str(stored.digest),
    )
    assert (found.commit, found.run_id) == (C, f"rc-{place.bundles['newer'].plan12}-1003")
    assert (found.folder / "results.jsonl").is_file()
    for part in ("1003", str(stored.id), str(stored.digest), C[:12], "main"):
        assert part in found.why
    assert found.context() == {
        "baseline_source": "run",
        "baseline_run": "1003",
        "baseline_artifact": stored.name,
        "baseline_artifact_id": str(stored.id),
        "baseline_artifact_digest": stored.digest,
        "baseline_commit": C,
    }
    assert found.refused.total == 0


def test_find__newest_by_time_not_by_id(place: Place) -> None:
    """Trap 6: ids of runs and artifacts do not grow with time."""
    older = place.run(place.bundles["newer"], created_at=START + timedelta(hours=6))
    newer = place.run(place.bundles["pass"], created_at=START + timedelta(hours=7))
    assert newer.id < older.id
    older.artifacts[0].id, newer.artifacts[0].id = 9_000_000_000, 5
    assert run_of(place.search()) == 1002


def test_find__runs_of_every_event_that_may(place: Place) -> None:
    """A merge queue's run is on its own branch, a release's on its tag; the base holds their commits."""
    for event, branch in (
        ("push", "main"),
        ("schedule", "main"),
        ("workflow_dispatch", "main"),
        ("repository_dispatch", "main"),
        ("merge_group", "gh-readonly-queue/main/pr-7-abc"),
        ("release", "v1"),
    ):
        place.repository.runs.clear()
        place.run(place.bundles["pass"], event=event, head_branch=branch)
        assert run_of(place.search()) == 1002, event


def test_find__run_at_the_base_itself(place: Place) -> None:
    """Yesterday's schedule of the same commit counts, but never the run that asks."""
    place.run(place.bundles["newer"], event="schedule")
    assert run_of(place.search(base=C)) == 1003
    none = place.none(base=C, own_run=1003)
    assert reasons(none) == {"itself": 1}
    assert "no earlier run of " in none.why
    assert "itself" not in none.why


def test_find__other_suites_failed_beside_it(place: Place) -> None:
    """A failed run may hold a suite that passed: the bundle tells, not the colour of the run."""
    place.run(place.bundles["pass"], conclusion="failure")
    assert run_of(place.search()) == 1002


def test_find__workflow_beside_ours(place: Place) -> None:
    """A gate of pull requests has no runs of its own; those of the schedule count, other files' do not."""
    place.run(place.bundles["pass"], path=".github/workflows/nightly.yml", event="schedule")
    for _ in range(130):
        place.run(place.bundles["newer"], upload=False, id=None, path=".github/workflows/ci.yml")
    assert run_of(place.search()) == 1002
    assert len(place.github.seen("GET", "/runs/[0-9]+/artifacts$")) == 3
    assert run_of(place.search(workflow=None)) == 1002


def test_find__workflow_that_github_does_not_know(place: Place) -> None:
    """The first pull request that brings a workflow."""
    found = place.none(workflow=".github/workflows/new.yml")
    assert "no workflow .github/workflows/new.yml" in found.why


def test_find__default_branch_is_asked_for(place: Place) -> None:
    place.run(place.bundles["pass"])
    assert run_of(place.search(branch=None)) == 1002


# What is refused before anything of it is read.


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"head_repository": "evil/app"}, "fork"),
        ({"head_repository": "gone/app"}, "fork"),
        ({"status": "in_progress"}, "running"),
        ({"conclusion": "cancelled"}, "cancelled"),
        ({"event": "merge_group", "head_branch": "gh-readonly-queue/other/pr-1-a"}, "branch"),
    ],
    ids=["fork", "deleted-fork", "running", "cancelled", "other-queue"],
)
def test_find__run_that_does_not_count(place: Place, given: dict[str, Any], reason: str) -> None:
    """Trap 23: a fork's branch called main, a cancelled run, one under way."""
    place.github.add_repository("evil/app")
    place.run(place.bundles["pass"], **given)
    found = place.none()
    assert reasons(found) == {reason: 1}
    assert found.refused.kept[0].run_id == 1002
    assert not place.github.seen("GET", "/runs/1002/artifacts$")


def test_find__artifact_of_a_forks_code(place: Place) -> None:
    """Trap 28: the artifact says itself whose code made it."""
    run = place.run(place.bundles["pass"])
    place.github.add_repository("evil/app")
    place.github.strange_artifacts = {"id": run.id, "repository_id": 1, "head_repository_id": 2}
    assert reasons(place.none()) == {"fork": 1}


def test_find__pull_requests_never_count(place: Place) -> None:
    """Traps 25 and 28: a pull request's own result is no baseline, even of a branch called main."""
    for event in ("pull_request", "pull_request_target", "workflow_run"):
        place.run(place.bundles["pass"], event=event, id=1002)
        found = place.none()
        assert "no run of .github/workflows/check.yml on main yet" in found.why
    for one in place.github.seen("GET", "/runs$"):
        assert "event" in one.query


def test_find__events_are_checked_again(place: Place) -> None:
    """A server that leaves the filter out of account is not believed."""
    place.run(place.bundles["pass"], event="pull_request")
    real = place.repository.runs[1002].show
    place.repository.runs[1002].event = "push"
    place.repository.runs[1002].show = lambda *a: real(*a) | {"event": "pull_request"}  # type: ignore[method-assign]
    assert reasons(place.none()) == {"event": 1}


def test_find__not_an_ancestor(place: Place) -> None:
    """G-21: main moved on, a branch went elsewhere, history was rewritten."""
    side = "e" * 40
    place.commit(side, (A,), 3)
    place.run(place.bundles["newer"])
    place.run(place.bundles["pass"], head_sha=side)
    gone = place.run(place.bundles["boot"], head_sha="f" * 40)
    found = place.none(base=B)
    assert reasons(found) == {"not_ancestor": 3}
    assert {one.run_id for one in found.refused.kept} == {1002, 1003, gone.id}


# What is refused after it was read.


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("block", "verdict"),
        ("preview", "partial"),
        ("open", "not_final"),
        ("incomplete", "incomplete"),
    ],
)
def test_find__run_without_a_whole_passing_result(place: Place, kind: str, reason: str) -> None:
    """Traps 23 to 25: the older passing one is taken instead, and that is said."""
    place.run(place.bundles["pass"])
    place.run(place.bundles[kind])
    found = place.chosen()
    assert run_of(found) == 1002
    assert reasons(found) == {reason: 1}
    assert "refused before it: 1 " in found.why
    assert found.context()["baseline_refused"] == found.refused.summary
    assert not (place.into / "found" / str(found.refused.kept[0].artifact_id)).exists()


def test_find__forged_verdict(place: Place) -> None:
    """Trap 28: a scorecard that says pass over records that say block is recomputed and refused."""
    block = place.bundles["block"]

    def passes(card: dict[str, Any]) -> None:
        card |= {"verdict": "pass", "exit_code": 0}
        for gate in card["gates"]:
            gate["outcome"] = "pass"

    run = place.run(block, upload=False)
    run.add_artifact(block.name(), forged(block, place.into / "forged", passes))
    found = place.none()
    assert reasons(found) == {"not_verified": 1}
    assert "scorecard.json" in found.refused.kept[0].why


@pytest.mark.parametrize("other", ["run", "plan", "commit"])
def test_find__bundle_of_somebody_else(place: Place, other: str) -> None:
    """Trap 28: an honest bundle, uploaded where it does not belong."""
    made = place.bundles["pass"]
    run = place.run(made, upload=False)
    files, name = made.files(), made.name()
    if other == "run":
        files, name = place.bundles["newer"].files(), place.bundles["newer"].name()
    elif other == "plan":
        name = name.replace(made.plan12, "0123456789ab")
    else:
        run.head_sha = A
    run.add_artifact(name, files)
    assert reasons(place.none()) == {"stranger": 1}


def test_find__bundle_of_another_suite_under_our_name(place: Place) -> None:
    """Trap 23: what the name says is compared with what the bundle says."""
    made = place.bundles["old-name"]
    run = place.run(made, upload=False)
    run.add_artifact(made.name(), made.files())
    assert reasons(place.none()) == {"stranger": 1}


@pytest.mark.parametrize(
    "data",
    [
        zipped({"../scorecard.json": "{}"}),
        zipped({"/etc/passwd": "x"}),
        zipped({"scorecard.json": "{}"}),
        zipped({"plan/plan.json": '{"schema": "releasecheck/plan@1"}', "manifest.json": "{}"}),
        zipped({"plan/plan.json": "[" * 5000, "manifest.json": "{}"}),
        zipped({"bomb": b"0" * (64 * 2**20)}),
        b"PK\x05\x06 no archive",
    ],
    ids=["dots", "absolute", "no-plan", "empty-plan", "deep", "bomb", "no-zip"],
)
def test_find__archive_that_is_no_bundle(place: Place, data: bytes) -> None:
    """Zip tricks and nonsense are refused by name, and an older run is found behind them (trap 28)."""
    place.run(place.bundles["pass"])
    made = place.bundles["newer"]
    place.run(made, upload=False).add_artifact(made.name(), data)
    found = place.chosen()
    assert run_of(found) == 1002
    assert sum(reasons(found).values()) == 1
    assert set(reasons(found)) <= {"unreadable", "not_verified"}
    assert not list(place.into.parent.glob("scorecard.json"))


def test_find__archive_with_other_bytes_or_too_many(place: Place) -> None:
    run = place.run(place.bundles["pass"])
    assert reasons(place.none(limits=Limits(bytes=1000))) == {"unreadable": 1}
    run.artifacts[0].digest = "sha256:" + "0" * 64
    assert reasons(place.none()) == {"unreadable": 1}


# Attempts.


def test_find__newest_attempt_decides(place: Place) -> None:
    """Traps 6 and 23: a pass of the first attempt does not outlive a block of the second."""
    newer, block = place.bundles["newer"], place.bundles["block"]
    run = place.run(newer, id=1003)
    run.attempt = 2
    run.add_artifact(block.name(2), block.zip(), id=7)
    assert reasons(place.none()) == {"verdict": 1}


def test_find__open_attempt_leaves_the_one_before(place: Place) -> None:
    """The newest finalized one that verifies counts; ids say nothing about which that is."""
    newer, pending = place.bundles["newer"], place.bundles["open"]
    run = place.run(newer, id=1003, upload=False)
    run.attempt = 3
    run.add_artifact(newer.name(2), newer.zip(), attempt=2, id=4)
    run.add_artifact(pending.name(1), pending.zip(), attempt=1, id=9_000_000_000)
    run.add_artifact(pending.name(3), pending.zip(), id=5)
    found = place.chosen()
    assert isinstance(found.source, FromRun)
    assert (found.source.attempt, found.source.artifact_id) == (2, 4)
    assert reasons(found) == {"not_final": 1}


def test_find__artifacts_over_pages(place: Place) -> None:
    """A matrix leaves hundreds of artifacts before the scorecard."""
    made = place.bundles["pass"]
    run = place.run(made, upload=False)
    for index in range(230):
        run.add_artifact(f"releasecheck-shard-{SUITE}-{made.plan12}-{index}-a1", b"x")
    run.add_artifact(made.name(), made.zip())
    assert run_of(place.search()) == 1002
    assert len(place.github.seen("GET", "/artifacts$")) == 3


# Bootstraps.


def test_find__bootstrap_only_when_promoted(place: Place) -> None:
    """Issue item 4: a first baseline counts once the run itself promoted it, of this very plan."""
    boot = place.bundles["boot"]
    run = place.run(boot)
    assert reasons(place.none()) == {"not_promoted": 1}
    run.add_artifact(f"releasecheck-baseline-{SUITE}-0123456789ab-a1", {"x": "y"})
    run.add_artifact(boot.name(kind="baseline", suite="other"), {"x": "y"})
    assert reasons(place.none()) == {"not_promoted": 1}
    run.add_artifact(boot.name(attempt=2, kind="baseline"), {"x": "y"})
    found = place.chosen()
    assert run_of(found) == 1001
    assert "promoted bootstrap" in found.why


# Absence is said.


def test_find__all_expired(place: Place) -> None:
    """C-29, trap 24: expired is not the same as never there."""
    for name in ("pass", "newer"):
        place.run(place.bundles[name]).artifacts[0].expired = True
    found = place.none()
    assert reasons(found) == {"expired": 2}
    assert "there were baselines of this suite, but all 2 have expired" in found.why
    assert found.context()["baseline_search"] == found.why
    assert not place.github.seen("GET", "/zip$")


def test_find__expires_while_it_is_fetched(place: Place) -> None:
    place.run(place.bundles["pass"])
    place.github.fail_next("GET", "/zip$", 410)
    assert reasons(place.none()) == {"expired": 1}


def test_find__expired_newer_one_is_said_beside_the_older(place: Place) -> None:
    """Trap 24: an older one is never silently put in its place."""
    place.run(place.bundles["pass"])
    place.run(place.bundles["newer"]).artifacts[0].expired = True
    found = place.chosen()
    assert "refused before it: 1 expired" in found.why
    assert found.lines()[1].startswith("refused run 1003")


def test_find__renamed_suite(place: Place) -> None:
    """Trap 26: a renamed suite has no baseline, and its old name is told."""
    made = place.bundles["old-name"]
    place.run(made, upload=False).add_artifact(made.name(suite="old-name"), made.zip())
    found = place.none()
    assert reasons(found) == {"no_scorecard": 1}
    assert "runs exist for the suite old-name only - was starter renamed?" in found.why


def test_find__limits_are_said(place: Place) -> None:
    for number in range(5):
        place.run(place.bundles["newer"], upload=False, id=2000 + number)
    assert "the search ended after 3 runs" in place.none(limits=Limits(runs=3)).why
    place.run(place.bundles["block"], id=1003)
    assert "the search ended after 1 downloads" in place.none(limits=Limits(downloads=1)).why


def test_find__more_runs_than_are_listed(place: Place) -> None:
    """What was left out is said; a flood of other branches' runs does not count."""
    for number in range(150):
        place.run(place.bundles["newer"], upload=False, id=2000 + number, conclusion="cancelled")
        place.run(place.bundles["newer"], upload=False, id=5000 + number, head_branch="topic")
    found = place.none()
    assert "older runs than GitHub lists at once were not looked at" in found.why
    assert reasons(found) == {"cancelled": 100}
    assert len(found.refused.kept) == 50
    assert found.refused.lines()[-1].startswith("refused 50 more (100 cancelled")


# Errors are errors.


@pytest.mark.parametrize(
    "path",
    [
        f"/commits/{D}$",
        "/workflows/check.yml/runs$",
        "/runs/1002/artifacts$",
        "/compare/",
        "/artifacts/[0-9]+/zip$",
        "/actions/runs$",
        "/releases$",
    ],
)
@pytest.mark.parametrize("status", [403, 500, 429])
def test_find__failing_request_is_no_answer(place: Place, path: str, status: int) -> None:
    """Trap 24: 403, 5xx and limits are exit code 4 wherever they come, and never "no baseline"."""
    place.run(
        place.bundles["block" if path in ("/actions/runs$", "/releases$") else "pass"], id=1002
    )
    place.github.fail_next(
        "GET", path, status, times=9, headers={"retry-after": "900"} if status == 429 else {}
    )
    kinds = {403: Forbidden, 500: ServerFailed, 429: RateLimited}
    with pytest.raises(kinds[status]) as caught:
        place.search()
    assert isinstance(caught.value, InfrastructureError)
    assert caught.value.exit_code == 4


def test_find__unknown_base_is_no_answer(place: Place) -> None:
    """A token that may not read the contents would find every commit unrelated."""
    place.run(place.bundles["pass"])
    with pytest.raises(NotFound):
        place.search(base="9" * 40)


def test_find__answer_that_is_not_githubs(place: Place) -> None:
    run = place.run(place.bundles["pass"])
    run.head_sha = "main; rm -rf /"
    with pytest.raises(BadAnswer):
        place.search()


# Releases and the repository.


def test_find__release_when_artifacts_are_gone(place: Place) -> None:
    """G-23: the newest release whose commit the base holds."""
    place.run(place.bundles["newer"]).artifacts[0].expired = True
    older = place.release(place.bundles["pass"], "v1", B)
    place.release(place.bundles["newer"], "v2", C)
    found = place.chosen(base=B)
    assert found.source == FromRelease(
        tag="v1",
        asset_id=older.id,
        asset=older.name,
        digest=found.source.digest,  # type: ignore[union-attr] # checked against GitHub's own
        run_id=1002,
    )
    assert reasons(found) == {"not_ancestor": 2}
    assert found.context()["baseline_release"] == "v1"
    assert (found.folder / "manifest.json").is_file()


def test_find__release_that_does_not_count(place: Place) -> None:
    """Of a draft, of another suite, blocked, of this run, measured elsewhere, not promoted."""
    place.release(place.bundles["pass"], "draft", B)
    place.repository.releases[-1].draft = True
    place.release(place.bundles["block"], "v1", C)
    place.release(place.bundles["boot"], "v2", A)
    place.release(place.bundles["pass"], "v3", B).name = "releasecheck-other-0123456789ab.zip"
    del place.repository.refs["tags/v2"]
    place.release(place.bundles["boot"], "v4", A)
    place.release(place.bundles["newer"], "v5", B)
    found = place.none(base=B)
    assert reasons(found) == {"not_ancestor": 3, "not_promoted": 1}
    assert reasons(place.none(base=C, own_run=1003)) == {
        "not_ancestor": 1, "not_promoted": 1, "verdict": 1, "itself": 1,
    }  # fmt: skip


def test_find__release_with_a_bundle_of_another_repository(place: Place) -> None:
    """Trap 28: no run vouches for what somebody attached; a run's own bundle outlives a new name."""
    made, folder = place.bundles["pass"], place.into / "other"
    shutil.copytree(made.folder, folder)
    edit(folder / "plan" / "plan.json", lambda plan: plan["context"].update(repository="x/y"))
    edit(folder / "manifest.json", lambda one: one["context"].update(repository="x/y"))
    seal(folder)
    place.release(made, "v1", B).data = zipped(files_of(folder))
    assert reasons(place.none()) == {"stranger": 1}
    place.run(made, upload=False).add_artifact(made.name(), files_of(folder))
    assert run_of(place.search()) == 1002


def test_find__release_of_a_promoted_bootstrap(place: Place) -> None:
    """The names of its run's artifacts outlive their content."""
    boot = place.bundles["boot"]
    run = place.run(boot)
    run.add_artifact(boot.name(kind="baseline"), {"x": "y"})
    for one in run.artifacts:
        one.expired = True
    place.release(boot, "v1", A)
    found = place.chosen()
    assert isinstance(found.source, FromRelease)


def test_find__repository_last(place: Place) -> None:
    """The committed folder, when neither run nor release is left."""
    folder = committed_folder(place.bundles, place.into / "baseline")
    committed = place.accept(B, A, 1, folder)
    place.run(place.bundles["newer"]).artifacts[0].expired = True
    found = place.chosen(committed=committed)
    assert found.source == FromRepository(path="baseline", accepted_in=B)
    assert found.folder == folder
    assert "new rubric" in found.why
    assert "1 expired" in found.why
    assert found.context()["baseline_accepted_in"] == B


def test_find__newer_run_before_the_accepted_one(place: Place) -> None:
    """A run on a commit after the acceptance was itself compared with what was accepted."""
    committed = place.accept(B, A, 1, committed_folder(place.bundles, place.into / "baseline"))
    place.run(place.bundles["newer"])
    assert run_of(place.search(committed=committed)) == 1003


def test_find__accepted_one_before_older_runs(place: Place) -> None:
    """Contract 7: `auto` prefers what was accepted in the repository to runs at its ancestors."""
    committed = place.accept(C, B, 5.5, committed_folder(place.bundles, place.into / "baseline"))
    at, before = place.bundles["newer"], place.bundles["pass"]
    place.run(before, created_at=START + timedelta(hours=5))  # before it was committed
    place.run(at, created_at=START + timedelta(hours=6))  # at it
    place.run(
        place.bundles["boot"], created_at=START + timedelta(hours=7)
    )  # again, at its ancestor
    place.release(before, "v1", B)
    found = place.chosen(committed=committed)
    assert found.source == FromRepository(path="baseline", accepted_in=C)
    assert reasons(found) == {"older_than_accepted": 4}
    assert C[:7] in found.refused.kept[0].why
    # Made before the acceptance: no request is spent on it.
    assert not place.github.seen("GET", "/runs/1002/artifacts$")
    assert not place.github.seen("GET", "/zip$")


def test_find__folder_that_no_commit_holds(place: Place) -> None:
    """It is what is left, and is not preferred to anything."""
    folder = committed_folder(place.bundles, place.into / "baseline")
    place.run(place.bundles["pass"])
    assert run_of(place.search(committed=Committed(folder, "baseline"))) == 1002
    place.repository.runs.clear()
    found = place.chosen(committed=Committed(folder, "baseline"))
    assert found.source == FromRepository(path="baseline", accepted_in=None)
    assert "which no commit holds" in found.why


def test_find__broken_folder_is_an_error(place: Place) -> None:
    """Trap 24: an unreadable baseline is never no baseline."""
    folder = committed_folder(place.bundles, place.into / "baseline")
    (folder / "results.jsonl").unlink()
    with pytest.raises(UsageError, match=r"results\.jsonl"):
        place.search(committed=Committed(folder, "baseline"))
    (folder / "results.jsonl").write_text("{}\n", "utf-8")
    with pytest.raises(Untrusted):
        place.search(committed=Committed(folder, "baseline"))


def test_find__absent_folder_is_none(place: Place) -> None:
    found = place.none(committed=Committed(place.into / "nothing", "baseline"))
    assert found.lines() == (f"no baseline: {found.why}",)


def test_plan__pins_what_was_found(place: Place) -> None:
    """C-29, trap 24: the plan holds the bytes, why they were chosen and what names them."""
    place.run(place.bundles["pass"])
    place.run(place.bundles["newer"]).artifacts[0].expired = True
    found = place.chosen()
    config = Path(shutil.copytree(EXAMPLE, place.into / "app")) / "releasecheck.yaml"
    request = PlanRequest(
        config=config,
        baseline=found.folder,
        baseline_why=found.why,
        unique="77",
        context={"repository": REPO, **found.context()},
    )
    world = World(FakeClock(), {}, place.into, HeardProgress(), TOOL)
    plan = make_plan(request, world, place.into / "plan", check=lambda *_: None).plan
    assert plan.baseline is not None
    assert (plan.baseline.run_id, plan.baseline.commit) == (found.run_id, B)
    assert plan.baseline.why == found.why
    assert "1 expired" in plan.baseline.why
    assert plan.context["baseline_artifact_digest"] == found.context()["baseline_artifact_digest"]
    shutil.rmtree(found.folder)
    opened = open_baseline(open_plan(place.into / "plan"))
    assert opened is not None
    assert opened.run_id == found.run_id
