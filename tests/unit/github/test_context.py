"""What a job is told about itself (traps 23, 28; G-27)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from releasecheck.drivers.github.context import (
    AfterRun,
    Commit,
    ForeignText,
    GitHubContext,
    MergeGroup,
    PullRequest,
    Release,
    read_context,
)
from releasecheck.errors import ConfigError, EnvironmentMissing

SHA, BASE, HEAD = "a" * 40, "b" * 40, "c" * 40
REPOSITORY = {"id": 7, "full_name": "octo/app", "default_branch": "main"}
PULL: dict[str, Any] = {
    "action": "opened",
    "repository": REPOSITORY,
    "pull_request": {
        "number": 12,
        "draft": False,
        "base": {"sha": BASE, "ref": "main"},
        "head": {"sha": HEAD, "ref": "topic", "repo": {"id": 7, "full_name": "octo/app"}},
    },
}
AFTER: dict[str, Any] = {
    "repository": REPOSITORY,
    "workflow_run": {
        "id": 99,
        "run_attempt": 2,
        "event": "pull_request",
        "conclusion": "success",
        "head_sha": HEAD,
        "head_branch": "main",
        "path": ".github/workflows/check.yml@refs/heads/x",
        "head_repository": {"id": 8, "full_name": "evil/app"},
        "pull_requests": [],
    },
}


def environment(folder: Path, event: object, name: str = "push", **more: str) -> dict[str, str]:
    path = folder / "event.json"
    path.write_text(event if isinstance(event, str) else json.dumps(event), "utf-8")
    return {
        "GITHUB_REPOSITORY": "octo/app",
        "GITHUB_REPOSITORY_ID": "7",
        "GITHUB_RUN_ID": "1001",
        "GITHUB_RUN_ATTEMPT": "3",
        "GITHUB_RUN_NUMBER": "17",
        "GITHUB_EVENT_NAME": name,
        "GITHUB_EVENT_PATH": str(path),
        "GITHUB_WORKFLOW": "Check",
        "GITHUB_WORKFLOW_REF": "octo/app/.github/workflows/check.yml@refs/heads/main",
        "GITHUB_SHA": SHA,
        "GITHUB_REF": "refs/heads/main",
        "GITHUB_REF_NAME": "main",
        "GITHUB_ACTOR": "octocat",
        "GITHUB_TRIGGERING_ACTOR": "hubot",
        "GITHUB_WORKSPACE": str(folder),
        "RUNNER_TEMP": str(folder),
        **more,
    }


def read(folder: Path, event: object, name: str = "push", **more: str) -> GitHubContext:
    return read_context(environment(folder, event, name, **more))


def changed(event: dict[str, Any], place: str, value: object) -> dict[str, Any]:
    """The event with another value at a dotted place."""
    copy: dict[str, Any] = json.loads(json.dumps(event))
    *parents, last = place.split(".")
    inner = copy
    for key in parents:
        inner = inner[key]
    inner[last] = value
    return copy


def test_read_context__push(tmp_path: Path) -> None:
    context = read(tmp_path, {"repository": REPOSITORY})
    assert context.repository == "octo/app"
    assert context.repository_id == 7
    assert (context.run_id, context.run_attempt, context.run_number) == (1001, 3, 17)
    assert context.workflow_path == ".github/workflows/check.yml"
    assert context.api_url == "https://api.github.com"
    assert context.subject == Commit()
    assert context.on_default_branch
    assert context.head_sha == SHA
    assert (context.base_sha, context.pull_request, context.release_tag) == (None, None, None)
    assert not context.is_fork
    assert context.run_url == "https://github.com/octo/app/actions/runs/1001/attempts/3"
    assert str(context.triggering_actor) == "hubot"


def test_read_context__pull_request(tmp_path: Path) -> None:
    ref = "refs/pull/12/merge"
    context = read(tmp_path, PULL, "pull_request", GITHUB_REF=ref, GITHUB_REF_NAME="12/merge")
    assert isinstance(context.subject, PullRequest)
    assert context.pull_request == 12
    assert (context.base_sha, context.head_sha, context.sha) == (BASE, HEAD, SHA)
    assert context.base_ref == ForeignText("main")
    assert context.head_repository == "octo/app"
    assert not context.is_fork
    assert not context.on_default_branch


@pytest.mark.parametrize("repo", [{"id": 8, "full_name": "evil/app"}, None])
def test_read_context__trap_28_a_fork(tmp_path: Path, repo: object) -> None:
    context = read(tmp_path, changed(PULL, "pull_request.head.repo", repo), "pull_request_target")
    assert context.is_fork
    # Its ref is the default branch, and it is about somebody else's commit.
    assert not context.on_default_branch


def test_read_context__a_renamed_repository_is_no_fork(tmp_path: Path) -> None:
    event = changed(PULL, "pull_request.head.repo.full_name", "octo/renamed")
    assert not read(tmp_path, event, "pull_request").is_fork


def test_read_context__merge_group(tmp_path: Path) -> None:
    group = {
        "base_sha": BASE,
        "base_ref": "refs/heads/main",
        "head_sha": HEAD,
        "head_ref": "refs/heads/q/1",
    }
    context = read(tmp_path, {"merge_group": group, "repository": REPOSITORY}, "merge_group")
    assert isinstance(context.subject, MergeGroup)
    assert context.base_sha == BASE
    assert context.base_ref == ForeignText("main")
    assert context.head_sha == HEAD
    assert not context.on_default_branch


def test_read_context__trap_23_a_run_of_a_fork_whose_branch_is_main(tmp_path: Path) -> None:
    context = read(tmp_path, AFTER, "workflow_run")
    assert isinstance(context.subject, AfterRun)
    assert context.subject.id == 99
    assert context.subject.workflow_path == ".github/workflows/check.yml"
    assert context.is_fork
    assert not context.on_default_branch
    assert context.pull_request is None
    assert context.head_sha == HEAD


def test_read_context__workflow_run_of_one_pull_request(tmp_path: Path) -> None:
    event = changed(AFTER, "workflow_run.pull_requests", [{"number": 5}])
    assert read(tmp_path, event, "workflow_run").pull_request == 5
    event = changed(AFTER, "workflow_run.pull_requests", [{"number": 5}, {"number": 6}])
    assert read(tmp_path, event, "workflow_run").pull_request is None


def test_read_context__release(tmp_path: Path) -> None:
    event = {"action": "published", "release": {"id": 4, "tag_name": "v1.0", "prerelease": True}}
    context = read(tmp_path, event, "release", GITHUB_REF="refs/tags/v1.0")
    assert context.subject == Release(
        id=4, tag=ForeignText("v1.0"), action="published", prerelease=True, draft=False
    )
    assert context.release_tag == ForeignText("v1.0")
    assert not context.on_default_branch


def test_read_context__schedule_says_nothing_and_is_the_default_branch(tmp_path: Path) -> None:
    context = read(tmp_path, {"schedule": "1 2 * * *"}, "schedule")
    assert context.on_default_branch
    assert not read(tmp_path, {}, "push").on_default_branch


def test_read_context__what_act_leaves_out(tmp_path: Path) -> None:
    told = environment(tmp_path, {})
    for name in ("GITHUB_REPOSITORY_ID", "GITHUB_WORKFLOW_REF", "GITHUB_TRIGGERING_ACTOR"):
        del told[name]
    context = read_context(told)
    assert (context.repository_id, context.workflow_ref, context.workflow_path) == (None,) * 3
    assert str(context.triggering_actor) == "octocat"


def test_read_context__names_are_shown_escaped(tmp_path: Path) -> None:
    """Traps 15, 16, 19: a branch may be called almost anything."""
    raw = "x`$(curl${IFS}evil)`|<b>@all\u200b"
    context = read(tmp_path, changed(PULL, "pull_request.head.ref", raw), "pull_request")
    assert isinstance(context.subject, PullRequest)
    assert context.subject.head_ref.raw == raw
    shown = f"{context.subject.head_ref}"
    assert not set(shown) & set("`$(){}|<>: \n")
    assert len(str(ForeignText("é" * 9000))) < 2000


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ("{", "is no JSON"),
        ("[1]", "holds a list; expected an object"),
        ("null", "holds None"),
        ("{}", "pull_request.number: the event holds nothing here; expected a positive number"),
        (changed(PULL, "pull_request.number", "1"), "holds '1' here"),
        (changed(PULL, "pull_request.number", True), "holds True here"),
        (
            changed(PULL, "pull_request.base.sha", "main"),
            "pull_request.base.sha: the event holds 'main'",
        ),
        (changed(PULL, "pull_request.base.sha", SHA + "\n"), "40 hex digits"),
        (changed(PULL, "pull_request.base.ref", "a b"), "the name of a branch"),
        (
            changed(PULL, "pull_request.head.ref", "a\n::set-output name=x::y"),
            "the name of a branch",
        ),
        (changed(PULL, "pull_request.head.repo.full_name", "a/b/c"), "owner/name"),
        (changed(PULL, "pull_request.head", []), "pull_request.head.sha"),
        (changed(PULL, "action", "X\n"), "a word"),
    ],
)
def test_read_context__an_event_that_is_none(tmp_path: Path, event: object, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        read(tmp_path, event, "pull_request")
    assert said in str(error.value)
    assert str(tmp_path / "event.json") in str(error.value)
    assert str(error.value).isprintable()


def test_read_context__no_event_file(tmp_path: Path) -> None:
    told = environment(tmp_path, {})
    (tmp_path / "event.json").unlink()
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_context(told)


def test_read_context__no_job(tmp_path: Path) -> None:
    told = environment(tmp_path, {})
    del told["GITHUB_SHA"]
    told["RUNNER_TEMP"] = ""
    with pytest.raises(EnvironmentMissing) as error:
        read_context(told)
    assert error.value.unset == ("GITHUB_SHA",)
    assert error.value.empty == ("RUNNER_TEMP",)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_REPOSITORY", "octo"),
        ("GITHUB_RUN_ID", "0"),
        ("GITHUB_RUN_ATTEMPT", "x"),
        ("GITHUB_SHA", "main"),
        ("GITHUB_REF", "a b"),
        ("GITHUB_API_URL", "https://user:secret@host"),
        ("GITHUB_EVENT_NAME", "PUSH\n"),
    ],
)
def test_read_context__a_variable_of_another_shape(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name):
        read(tmp_path, {}, **{name: value})
