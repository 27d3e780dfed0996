"""The beat against a whole GitHub on loopback (trap 29; P-01, P-12, C-17, C-36)."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from releasecheck.drivers.github.beat import BeatOptions, Where, run_beat
from releasecheck.drivers.github.beat.repair import Busy, Started, rerun_failed
from releasecheck.drivers.github.beat.runs import get_run
from releasecheck.errors import UsageError
from tests.bundles import Made, contents
from tests.fakes import FakeClock
from tests.githubfake import BOT, FakeGitHub, Run, zipped
from tests.integration.github.beating import (
    NOW,
    PLAN,
    SUITE,
    WORKFLOW,
    Beating,
    at,
    card,
    kinds,
    name,
    shard_file,
)

RERUN = r"/rerun-failed-jobs$"


@pytest.fixture
def place() -> Iterator[Beating]:
    clock = FakeClock(NOW)
    held: list[Beating] = []
    with FakeGitHub("octo/app", now=lambda: held[0].now() if held else NOW) as github:
        held.append(Beating(github, clock))
        github.repository.commit({"README.md": "x"}, branch="main")
        yield held[0]


def on_pull(place: Beating, number: int = 3, **given: Any) -> Run:
    """A run of a pull request that is open, at its head."""
    head = str(number) * 40
    if number not in place.home.pulls:
        place.home.add_pull(number, head, "b" * 40)
    given = {
        "event": "pull_request",
        "head_sha": head,
        "head_branch": f"topic-{number}",
        "pull_requests": (number,),
        **given,
    }
    return place.run(**given)


# What is started again.


@pytest.mark.parametrize("conclusion", ["failure", "cancelled", "timed_out"])
def test_sweep__starts_failed_jobs_of_a_dead_run(place: Beating, conclusion: str) -> None:
    """Trap 29, C-17: its own failed jobs, since no other run turns its check green."""
    run = place.run(conclusion=conclusion)
    swept = place.sweep()
    assert kinds(swept) == ["rerun"]
    assert run.reruns == ["failed"]
    assert (run.attempt, run.actors[2]) == (2, BOT["login"])
    assert swept.exit_code == 0


@pytest.mark.parametrize(
    ("cases", "expected"),
    [
        ({"a": "good", "b": "..."}, "rerun"),
        ({"a": "good", "b": "good"}, "finished"),
        ({"a": "bad", "b": "bad"}, "finished"),
    ],
    ids=["blocked_missing and mendable", "passed", "measured and blocked"],
)
def test_sweep__believes_whole_bundles(
    place: Beating, tmp_path: Path, cases: dict[str, Any], expected: str
) -> None:
    """A finalized run is never started again, whatever its verdict; a mendable one is."""
    run = place.run(planned=False)
    out = Made(cases=cases, unique=str(run.id)).write(tmp_path)
    digest = json.loads((out / "scorecard.json").read_text("utf-8"))["plan_digest"]
    plan12 = digest.removeprefix("sha256:")[:12]
    run.add_artifact(f"releasecheck-plan-{SUITE}-{plan12}-a1", {"plan.json": "{}"})
    run.add_artifact(f"releasecheck-scorecard-{SUITE}-{plan12}-a1", contents(out))
    assert kinds(place.sweep()) == [expected]
    assert run.reruns == (["failed"] if expected == "rerun" else [])


def test_sweep__a_suite_beside_a_finished_one_is_mended(place: Beating) -> None:
    run = place.run()
    run.add_artifact(name("scorecard"), card(10, final=True, verdict="block"))
    run.add_artifact(name("plan", suite="other"), {"plan.json": "{}"})
    assert kinds(place.sweep()) == ["rerun"]


@pytest.mark.parametrize(
    "files",
    [b"PK no archive", zipped({"failure.json": "{}"}), zipped({"../x": "y"})],
    ids=["broken", "no decision", "hostile"],
)
def test_sweep__what_is_no_decision_is_none(place: Beating, files: bytes) -> None:
    run = place.run()
    run.add_artifact(name("scorecard"), files)
    assert kinds(place.sweep()) == ["rerun"]


def test_sweep__a_decision_of_another_plan_is_none(place: Beating) -> None:
    run = place.run()
    files = card(10, final=True, verdict="pass")
    foreign = {file: text.replace(PLAN, "f" * 12) for file, text in files.items()}
    run.add_artifact(name("scorecard"), foreign)
    assert kinds(place.sweep()) == ["rerun"]


@pytest.mark.parametrize(
    "given",
    [
        {"conclusion": "success"},
        {"conclusion": "action_required"},
        {"planned": False},
        {"planned": False, "status": "queued"},
    ],
)
def test_sweep__others_are_none_of_its_business(place: Beating, given: dict[str, Any]) -> None:
    place.run()
    other = place.run(**given)
    assert [one.run.id for one in place.sweep().findings if one.run.id == other.id] == []
    assert other.reruns == []


def test_sweep__dry_run_changes_nothing(place: Beating) -> None:
    place.run()
    swept = place.sweep(dry_run=True)
    assert kinds(swept) == ["would_rerun"]
    assert [one.method for one in place.github.journal if one.method != "GET"] == []


def test_sweep__one_failing_run_does_not_stop_the_others(place: Beating) -> None:
    first, second = place.run(), place.run(created_at=NOW - timedelta(hours=2))
    place.github.fail_next("POST", f"/runs/{first.id}/rerun", 422)
    swept = place.sweep()
    assert kinds(swept) == ["error", "rerun"]
    assert "422" in swept.findings[0].why
    assert (second.reruns, swept.exit_code) == (["failed"], 0)


# Waiting.


def waits(**moments: str | None) -> dict[str, str]:
    one = {"judge": "later", "pending": 4, "not_before": None, "deadline": None, **moments}
    return card(6, verdict=None, pending=4, waiting=[one])


def test_sweep__nothing_before_the_scores_may_be_there(place: Beating) -> None:
    """Trap 29: a deadline ahead is waited for, and then the run is carried on."""
    run = place.run()
    run.add_artifact(name("scorecard"), waits(not_before=at(hours=3), deadline=at(hours=9)))
    swept = place.sweep()
    assert kinds(swept) == ["waiting"]
    assert swept.findings[0].until == "2026-03-10T15:00:00Z"
    assert run.reruns == []
    place.clock.advance(3 * 3600 + 60)
    assert kinds(place.sweep()) == ["rerun"]


def test_sweep__after_not_before_it_is_the_deadline_that_counts(place: Beating) -> None:
    run = place.run()
    moments = {"not_before": at(hours=-3), "deadline": at(hours=9)}
    run.add_artifact(name("scorecard"), waits(**moments))
    assert place.sweep().findings[0].until == "2026-03-10T21:00:00Z"


def test_sweep__waiting_is_no_attempt_without_progress(place: Beating) -> None:
    """C-36: three attempts that ended waiting do not use up what dead ones may need."""
    run = place.run(attempt=4)
    for attempt in (1, 2, 3, 4):
        files = waits(deadline=at(minutes=-20))
        run.add_artifact(name("scorecard", attempt), files, attempt=attempt)
        run.actors[attempt] = str(BOT["login"])
    # Each was decided two hours ago, when the deadline lay ahead.
    assert kinds(place.sweep()) == ["rerun"]


# Three times without progress.


def test_sweep__gives_up_after_three_attempts_without_progress(place: Beating) -> None:
    """Trap 29: the count is derived, so that no state can be lost or doubled."""
    run = place.run()
    run.add_artifact(name("shard", index=0), shard_file(good=False))
    assert place.beats(run, 6) == ["rerun", "rerun", "rerun", "lost", "lost", "lost"]
    assert run.reruns == ["failed"] * 3


def progressing(kind: str) -> Callable[[Run], None]:
    def leave(run: Run) -> None:
        if kind == "index":
            run.add_artifact(name("shard", run.attempt, index=run.attempt), b"PK")
        elif kind == "records":
            run.add_artifact(name("shard", run.attempt, index=0), shard_file(good=True))
        elif kind == "counts":
            run.add_artifact(name("scorecard", run.attempt), card(run.attempt))
        elif kind == "same counts":
            run.add_artifact(name("scorecard", run.attempt), card(5))
        elif kind == "up and down":
            run.add_artifact(name("scorecard", run.attempt), card(5 + run.attempt % 2))
        elif kind == "failures":
            run.add_artifact(name("shard", run.attempt, index=0), shard_file(good=False))

    return leave


@pytest.mark.parametrize("kind", ["index", "records", "counts"])
def test_sweep__progress_begins_a_new_count(place: Beating, kind: str) -> None:
    run = place.run()
    run.on_rerun = progressing(kind)
    assert place.beats(run, 6) == ["rerun"] * 6


@pytest.mark.parametrize("kind", ["same counts", "failures"])
def test_sweep__what_was_there_before_is_no_progress(place: Beating, kind: str) -> None:
    run = place.run()
    progressing(kind)(run)
    run.on_rerun = progressing(kind)
    assert place.beats(run, 4) == ["rerun", "rerun", "rerun", "lost"]


def test_sweep__going_up_and_down_for_ever_ends(place: Beating) -> None:
    run = place.run()
    progressing("up and down")(run)
    run.on_rerun = progressing("up and down")
    assert place.beats(run, 6)[-1] == "lost"


def test_sweep__a_person_who_presses_the_button_begins_a_new_count(place: Beating) -> None:
    run = place.run()
    assert place.beats(run, 4)[-1] == "lost"
    run.rerun("failed")
    run.finish("failure")
    for job in run.jobs:
        job.status, job.conclusion = "completed", job.conclusion or "failure"
    assert place.beats(run, 4) == ["rerun", "rerun", "rerun", "lost"]


# What is said.


def test_sweep__says_it_on_the_pull_request_once(place: Beating) -> None:
    """Trap 29: one comment with its own marker, edited and never doubled, behind hundreds of others."""
    run = on_pull(place)
    for number in range(120):
        place.home.add_comment(3, f"comment {number}")
    place.home.add_comment(3, f"<!-- releasecheck-beat workflow={WORKFLOW} -->\nnot ours")
    place.beats(run, 6)
    ours = [one for one in place.home.comments if one.user["login"] == BOT["login"]]
    assert len(ours) == 1
    assert ours[0].body.startswith(f"<!-- releasecheck-beat workflow={WORKFLOW} -->\n")
    assert f"/actions/runs/{run.id}" in ours[0].body
    assert "started again 3 times" in ours[0].body
    assert place.github.seen("PATCH", "/issues/comments/") == []


def test_sweep__takes_back_what_is_true_no_more(place: Beating) -> None:
    """Trap 30: a comment does not outlive its truth."""
    run = on_pull(place)
    place.beats(run, 4)
    run.conclusion = "success"
    place.sweep()
    place.sweep()
    (ours,) = (one for one in place.home.comments if one.user["login"] == BOT["login"])
    assert "No run of it is stuck any more" in ours.body
    assert len(place.github.seen("PATCH", "/issues/comments/")) == 1


def test_sweep__takes_it_back_among_thousands_of_comments(place: Beating) -> None:
    """Trap 30: a repository with more comments than are looked through keeps none of ours that is wrong."""
    run = on_pull(place)
    for number in range(1200):
        place.home.add_comment(4, f"comment {number}").updated_at = "2025-01-01T00:00:00Z"
    place.beats(run, 4)
    run.conclusion = "success"
    place.sweep()
    (ours,) = (one for one in place.home.comments if one.user["login"] == BOT["login"])
    assert "No run of it is stuck any more" in ours.body


def test_sweep__a_locked_conversation_is_said_elsewhere(place: Beating) -> None:
    run = on_pull(place, attempt=51)
    place.home.pulls[3].locked = True
    swept = place.sweep()
    assert kinds(swept) == ["lost"]
    assert "pull request 3" in swept.notes[0]
    assert (run.reruns, swept.exit_code) == ([], 0)


def stage(place: Beating, folder: Path, **options: Any) -> tuple[int, str, str]:
    """The stage as a job runs it: exit code, log, summary."""
    log, path = io.StringIO(), folder / "summary.md"
    where = Where(repository="octo/app", server_url=place.github.server_url)
    with place.client() as client:
        code = run_beat(
            client, where, BeatOptions(**options), place.clock,
            write=log.write, summary_path=path,
        )  # fmt: skip
    return code, log.getvalue(), path.read_text("utf-8") if path.exists() else ""


def test_run_beat__without_a_pull_request_warns_and_sums_up(place: Beating, tmp_path: Path) -> None:
    place.run(attempt=51)
    code, log, summary = stage(place, tmp_path)
    assert code == 0
    assert "::warning title=releasecheck beat::run " in log
    assert "the most that GitHub allows" in log
    assert "| 1 | it will not be run again by the beat |" in summary


def test_run_beat__a_name_of_somebody_else_commands_nothing(place: Beating, tmp_path: Path) -> None:
    """Traps 15 and 16."""
    place.run(path=".github/workflows/x|##[error]@all ::set-output.yml", attempt=51)
    _, log, summary = stage(place, tmp_path)
    assert "##[error]" not in log + summary
    assert "@all" not in summary
    assert all(line.startswith("::warning") or "::" not in line[:2] for line in log.splitlines())


# Limits.


def test_sweep__after_thirty_days_it_is_named_as_lost(place: Beating) -> None:
    """P-01, C-36: GitHub would answer 403; nothing is asked, and it is said."""
    run = place.run(created_at=NOW - timedelta(days=31))
    forgotten = place.run(created_at=NOW - timedelta(days=38))
    swept = place.sweep()
    assert [(one.run.id, one.kind) for one in swept.findings] == [(run.id, "lost")]
    assert "30 days after" in swept.findings[0].why
    assert "Start a new run" in swept.findings[0].why
    assert place.github.seen("POST", RERUN) == []
    assert forgotten.reruns == []


def test_sweep__after_fifty_reruns_it_is_named_as_lost(place: Beating) -> None:
    """P-01: everybody's together, whoever pressed."""
    last, over = place.run(attempt=50), place.run(attempt=51)
    by_run = {one.run.id: one for one in place.sweep().findings}
    assert by_run[last.id].kind == "rerun"
    assert by_run[over.id].kind == "lost"
    assert "50 times" in by_run[over.id].why
    assert place.github.seen("POST", f"/{over.id}/rerun") == []


def test_sweep__an_expired_plan_is_lost(place: Beating) -> None:
    run = place.run()
    run.artifacts[0].expired = True
    swept = place.sweep()
    assert kinds(swept) == ["lost"]
    assert "has expired" in swept.findings[0].why


def test_sweep__an_expired_scorecard_may_have_been_final(place: Beating) -> None:
    run = place.run()
    run.add_artifact(name("scorecard"), card(10, final=True), expired=True)
    assert kinds(place.sweep()) == ["lost"]
    assert run.reruns == []


def test_sweep__no_failed_jobs_is_no_endless_retry(place: Beating) -> None:
    run = place.run()
    for job in run.jobs:
        job.conclusion = "success"
    swept = place.sweep()
    assert kinds(swept) == ["lost"]
    assert "no job of it failed" in swept.findings[0].why


# Never twice.


def test_sweep__a_running_one_is_busy(place: Beating) -> None:
    run = place.run(status="in_progress")
    assert kinds(place.sweep()) == ["busy"]
    assert run.reruns == []


def test_rerun_failed__403_of_a_run_in_progress_is_busy(place: Beating) -> None:
    """Trap 29: it began between our last look and our request."""
    run = place.run()
    body = {"message": f"The workflow run {run.id} is already running"}
    place.github.fail_next("POST", RERUN, 403, body=body)
    assert kinds(place.sweep()) == ["busy"]


def test_rerun_failed__403_of_a_token_that_may_not_is_an_error(place: Beating) -> None:
    place.run()
    place.github.fail_next(
        "POST", RERUN, 403, body={"message": "Resource not accessible by integration"}
    )
    swept = place.sweep()
    assert kinds(swept) == ["error"]
    assert "actions: write" in swept.findings[0].why


def test_rerun_failed__looks_again_before_it_asks(place: Beating) -> None:
    """Somebody started it, and it ended, since the sweep listed it: that attempt is not ours to repeat."""
    run = place.run()
    with place.client() as client:
        seen = get_run(client, "octo/app", run.id)
        run.rerun("failed")
        assert rerun_failed(client, "octo/app", seen) == Busy(
            "somebody has started attempt 2 meanwhile"
        )
        run.finish("failure")
        assert isinstance(rerun_failed(client, "octo/app", seen), Busy)
    assert run.reruns == ["failed"]


@pytest.mark.parametrize("status", [0, 502])
def test_rerun_failed__a_lost_answer_is_read_and_not_repeated(place: Beating, status: int) -> None:
    run = place.run()
    place.github.fail_next("POST", RERUN, status, after=True)
    assert kinds(place.sweep()) == ["rerun"]
    assert run.reruns == ["failed"]


def test_rerun_failed__a_lost_request_is_an_error_of_this_run(place: Beating) -> None:
    run = place.run()
    place.github.fail_next("POST", RERUN, 502)
    assert kinds(place.sweep()) == ["error"]
    assert run.reruns == []


def test_rerun_failed__two_beats_at_once_start_it_once(place: Beating) -> None:
    """Trap 29: both have looked before either asks; GitHub takes one."""
    run = place.run()
    results: list[object] = []
    gate = threading.Barrier(2)

    def beat() -> None:
        with place.client() as client:
            seen = get_run(client, "octo/app", run.id)
            gate.wait(10)
            results.append(rerun_failed(client, "octo/app", seen))

    beats = [threading.Thread(target=beat) for _ in range(2)]
    for one in beats:
        one.start()
    for one in beats:
        one.join(30)
    assert sorted(type(one).__name__ for one in results) == ["Busy", "Started"]
    assert Started(2) in results
    assert run.reruns == ["failed"]


# Pull requests.


def test_sweep__a_closed_pull_request_is_left_alone(place: Beating) -> None:
    run = on_pull(place, pull_requests=())
    place.home.pulls[3].state = "closed"
    assert kinds(place.sweep()) == ["superseded"]
    assert run.reruns == []


def test_sweep__an_older_commit_of_a_pull_request_is_left_alone(place: Beating) -> None:
    run = on_pull(place)
    place.home.pulls[3].head_sha = "e" * 40
    swept = place.sweep()
    assert kinds(swept) == ["superseded"]
    assert "eeeeeee" in swept.findings[0].why
    assert run.reruns == []


@pytest.mark.parametrize(
    ("newer", "expected"),
    [
        ({"status": "in_progress", "planned": False}, ["superseded"]),
        ({"conclusion": "success"}, ["superseded"]),
        ({"conclusion": "success", "planned": False}, ["rerun"]),
    ],
    ids=["running", "of the same suite", "of no suite"],
)
def test_sweep__a_newer_run_of_the_same_pull_request(
    place: Beating, newer: dict[str, Any], expected: list[str]
) -> None:
    run = on_pull(place)
    on_pull(place, created_at=NOW - timedelta(minutes=5), **newer)
    assert [one.kind for one in place.sweep().findings if one.run.id == run.id] == expected


def test_sweep__runs_of_the_default_branch_do_not_supersede_each_other(place: Beating) -> None:
    place.run(created_at=NOW - timedelta(hours=3))
    place.run()
    assert kinds(place.sweep()) == ["rerun", "rerun"]


@pytest.mark.parametrize(("there", "expected"), [(True, "rerun"), (False, "superseded")])
def test_sweep__a_merge_queue_that_has_gone_on(place: Beating, there: bool, expected: str) -> None:
    branch = "gh-readonly-queue/main/pr-3-abc"
    if there:
        place.home.refs[f"heads/{branch}"] = place.home.refs["heads/main"]
    place.run(event="merge_group", head_branch=branch, head_sha="c" * 40)
    assert kinds(place.sweep()) == [expected]


# Forks.


def from_fork(place: Beating) -> Run:
    place.github.add_repository("mallory/app")
    place.home.add_pull(7, "7" * 40, "b" * 40, head_ref="main", head_repository="mallory/app")
    return place.run(
        event="pull_request", head_sha="7" * 40, head_branch="main", head_repository="mallory/app"
    )


def test_sweep__a_forks_run_is_started_and_nothing_of_it_is_read(place: Beating) -> None:
    """Trap 28: names are listed, content is never fetched, whatever it claims."""
    run = from_fork(place)
    run.add_artifact(name("scorecard"), card(10, final=True, verdict="pass"))
    run.add_artifact(name("shard", index=0), shard_file(good=True))
    run.on_rerun = progressing("records")
    assert place.beats(run, 1) == ["rerun"]
    assert place.github.seen("GET", "/zip$") == []


def test_sweep__a_forks_run_that_ended_with_a_scorecard_is_not_read(place: Beating) -> None:
    run = from_fork(place)
    run.jobs[1].conclusion = "success"
    run.add_artifact(name("scorecard"), card(3))
    assert kinds(place.sweep()) == ["unread"]
    assert (run.reruns, place.github.seen("GET", "/zip$")) == ([], [])


def test_sweep__a_forks_run_is_given_up_by_names_alone(place: Beating) -> None:
    """Trap 28: whatever its scorecards claim to have reached."""
    run = from_fork(place)

    def die_again(again: Run) -> None:
        again.add_artifact(name("scorecard", again.attempt), card(again.attempt))
        for job in again.jobs:
            job.status, job.conclusion = "completed", job.conclusion or "cancelled"

    run.on_rerun = die_again
    assert place.beats(run, 4) == ["rerun", "rerun", "rerun", "lost"]
    assert place.github.seen("GET", "/zip$") == []
    assert [one.issue for one in place.home.comments] == [7]


# Which workflows.


def test_sweep__finds_its_workflows_by_their_artifacts(place: Beating) -> None:
    place.run()
    stranger = place.home.add_run(path=".github/workflows/ci.yml", conclusion="failure")
    stranger.add_artifact("coverage", {"x": "y"})
    swept = place.sweep()
    assert swept.workflows == (WORKFLOW,)
    assert stranger.reruns == []


def test_sweep__only_the_workflows_that_are_named(place: Beating) -> None:
    place.run()
    named = place.run(path=".github/workflows/nightly.yml")
    swept = place.sweep(workflows=("nightly.yml",))
    assert [one.run.id for one in swept.findings] == [named.id]


@pytest.mark.parametrize("workflow", ["gone.yml", "../x"])
def test_sweep__a_workflow_that_is_not_there_is_a_usage_error(
    place: Beating, workflow: str
) -> None:
    with pytest.raises(UsageError, match="workflow"):
        place.sweep(workflows=(workflow,))


def test_sweep__reads_all_pages(place: Beating) -> None:
    """A dead run behind hundreds of green ones is found."""
    run = place.run(created_at=NOW - timedelta(days=20))
    for number in range(230):
        created = NOW - timedelta(minutes=number)
        place.home.add_run(path=WORKFLOW, created_at=created)
    swept = place.sweep(workflows=("check.yml",))
    assert [(one.run.id, one.kind) for one in swept.findings] == [(run.id, "rerun")]


# GitHub that cannot be asked.


def test_run_beat__a_limit_ends_the_sweep_and_says_so(place: Beating, tmp_path: Path) -> None:
    first, second = place.run(), place.run(created_at=NOW - timedelta(hours=2))
    place.github.fail_next(
        "GET", f"/runs/{second.id}/artifacts", 403, headers={"retry-after": "900"}
    )
    code, log, summary = stage(place, tmp_path, workflows=("check.yml",))
    assert code == 4
    assert "::error title=releasecheck beat::the sweep was not finished" in log
    assert "was not finished" in summary
    assert (first.reruns, second.reruns) == (["failed"], [])


def test_run_beat__no_answer_is_four(place: Beating, tmp_path: Path) -> None:
    place.run()
    place.github.fail_next("GET", "/actions/runs$", 503, times=9)
    assert stage(place, tmp_path)[0] == 4


# Schedules.


def scheduled(place: Beating, cron: str, *, newest: timedelta | None, **more: str) -> None:
    entry = json.dumps([{"cron": cron, **more}])
    text = f"name: check\non:\n  schedule: {entry}\njobs: {{}}\n"
    place.home.commit({WORKFLOW: text}, branch="main")
    place.run(conclusion="success")
    if newest is not None:
        place.home.add_run(path=WORKFLOW, event="schedule", created_at=NOW - newest)


@pytest.mark.parametrize(
    ("cron", "newest", "expected"),
    [
        ("17 */6 * * *", timedelta(hours=5, minutes=40), None),
        ("17 */6 * * *", timedelta(hours=11, minutes=40), "missed"),
        ("17 */6 * * *", timedelta(hours=3), "late"),
        ("17 11 * * *", timedelta(hours=24), None),
        ("17 9 * * *", timedelta(hours=26), "missed"),
        ("17 9 * * *", None, "missed"),
        ("nonsense", timedelta(hours=1), "unreadable"),
    ],
)
def test_sweep__schedules_that_are_late_or_dropped(
    place: Beating, cron: str, newest: timedelta | None, expected: str | None
) -> None:
    """Trap 29, P-12; it is 12:00, and an hour late is still in time."""
    scheduled(place, cron, newest=newest)
    found = [one.kind for one in place.sweep().schedules]
    assert found == ([] if expected is None else [expected])


def test_sweep__a_schedule_in_a_zone_of_its_own(place: Beating) -> None:
    # 10:17 in UTC+5 was 05:17 UTC.
    scheduled(place, "17 10 * * *", newest=timedelta(hours=6), timezone="Etc/GMT-5")
    assert place.sweep().schedules == ()


def test_sweep__a_new_schedule_owes_nothing_before_it_was_there(place: Beating) -> None:
    scheduled(place, "17 9 * * *", newest=None)
    place.home.workflow(WORKFLOW).created_at = "2026-03-10T10:00:00Z"
    assert place.sweep().schedules == ()


@pytest.mark.parametrize("state", ["disabled_inactivity", "disabled_manually"])
def test_run_beat__a_workflow_that_is_switched_off(
    place: Beating, tmp_path: Path, state: str
) -> None:
    """Trap 29, P-12: 60 quiet days switch off the whole file."""
    scheduled(place, "17 9 * * *", newest=timedelta(hours=2))
    place.home.workflow(WORKFLOW).state = state
    _, log, _ = stage(place, tmp_path)
    assert f"::warning title=releasecheck beat,file={WORKFLOW}::check.yml" in log
    assert "switched it off" in log


def badges(place: Beating, suite: str = SUITE, **record: Any) -> None:
    """A green badge on the branch of badges."""
    claim = {
        "schemaVersion": 1, "label": f"{suite} release check", "color": "brightgreen", "isError": False,
        "message": "pass 2026-02-01 3f2a9c1 manifest abababab", "cacheSeconds": 300,
    }  # fmt: skip
    published = {
        "schema": "releasecheck/badge@1", "suite": suite, "manifest_digest": "sha256:" + "ab" * 32,
        "at": at(days=-31), "stale_after": at(days=-1), "run_number": 7, **record,
    }  # fmt: skip
    there = place.home.files("badges") if "heads/badges" in place.home.refs else {}
    new = {"badge.json": claim, "badge.svg": "<svg/>", "published.json": published}
    written = {f"{suite}/{name}": json.dumps(body) for name, body in new.items()}
    place.home.commit({**there, **written}, branch="badges")


def badge_of(place: Beating, suite: str = SUITE, file: str = "badge.json") -> Any:
    return json.loads(place.home.files("badges")[f"{suite}/{file}"])


def test_sweep__an_old_badge_turns_stale_once(place: Beating) -> None:
    """G-23: the claim of a suite that nobody runs any more is not shown for ever."""
    badges(place)
    badges(place, "fresh", stale_after=at(days=3))
    badges(place, "broken", stale_after="soon")
    head = place.home.refs["heads/badges"]
    dry = place.sweep(badge_branch="badges", dry_run=True)
    assert [(one.suite, one.kind) for one in dry.badges] == [
        ("broken", "unreadable"), (SUITE, "would_be_stale"),
    ]  # fmt: skip
    assert place.sweep().badges == ()
    assert place.home.refs["heads/badges"] == head
    done = place.sweep(badge_branch="badges")
    assert [(one.suite, one.kind) for one in done.badges] == [
        ("broken", "unreadable"), (SUITE, "stale"),
    ]  # fmt: skip
    old = badge_of(place)
    assert old["message"] == "stale, was pass 2026-02-01 3f2a9c1 manifest abababab"
    assert (old["color"], old["isError"]) == ("lightgrey", True)
    assert badge_of(place, file="published.json")["stale"] is True
    assert badge_of(place, file="published.json")["run_number"] == 7
    assert b"stale, was pass" in place.home.files("badges")[f"{SUITE}/badge.svg"]
    assert badge_of(place, "fresh")["color"] == "brightgreen"
    head = place.home.refs["heads/badges"]
    assert [one.kind for one in place.sweep(badge_branch="badges").badges] == ["unreadable"]
    assert place.home.refs["heads/badges"] == head


def test_sweep__a_branch_of_badges_that_is_not_there_is_none(place: Beating) -> None:
    swept = place.sweep(badge_branch="badges")
    assert (swept.badges, swept.notes, swept.exit_code) == ((), (), 0)
