"""The client against a whole GitHub on loopback: what the stages ask of it, and what goes wrong."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from releasecheck.drivers.github.context import PullRequest, read_context
from releasecheck.drivers.github.errors import (
    Forbidden,
    NotFound,
    RateLimited,
    Unauthorized,
    Unprocessable,
)
from releasecheck.drivers.github.rest import GitHubClient
from tests.fakes import FakeClock
from tests.githubfake import FakeGitHub

R = "/repos/octo/app"


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with FakeGitHub("octo/app") as fake:
        yield fake


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def client(github: FakeGitHub, slept: list[float]) -> Iterator[GitHubClient]:
    with GitHubClient(github.api_url, github.token, clock=FakeClock(), sleep=slept.append) as made:
        yield made


def test_context__of_a_job(github: FakeGitHub, tmp_path: Path) -> None:
    home = github.repository
    run = home.add_run(event="pull_request", pull_requests=(3,), head_branch="topic", attempt=2)
    head = {"sha": "c" * 40, "ref": "topic", "repo": {"id": home.id, "full_name": home.name}}
    pull = {"number": 3, "base": {"sha": "b" * 40, "ref": "main"}, "head": head}
    told = github.environment(run, {"pull_request": pull}, tmp_path)
    context = read_context(told)
    assert isinstance(context.subject, PullRequest)
    assert (context.api_url, context.run_id, context.run_attempt) == (github.api_url, run.id, 2)
    assert context.workflow_path == run.path
    assert not context.is_fork


def test_limits__waited_for(github: FakeGitHub, client: GitHubClient, slept: list[float]) -> None:
    github.fail_next("GET", "/repos", 403, headers={"retry-after": "5"})
    github.fail_next("GET", "/repos", 429, body={"message": "secondary rate limit"})
    reset = int(github.now().timestamp()) + 40
    primary = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(reset)}
    github.fail_next("GET", "/repos", 403, headers=primary)
    assert client.get(R)["default_branch"] == "main"
    assert slept[:2] == [5, 120]
    assert 30 <= slept[2] <= 41
    github.fail_next("POST", "/statuses", 429, headers={"retry-after": "9999"})
    with pytest.raises(RateLimited, match="Run it again then"):
        client.post(f"{R}/statuses/{'a' * 40}", {"state": "success"})


def test_failures__tried_again(
    github: FakeGitHub, client: GitHubClient, slept: list[float]
) -> None:
    github.fail_next("GET", "/repos", 500)
    github.fail_next("GET", "/repos", 502)
    github.fail_next("GET", "/repos", 0)
    assert client.get(R)["full_name"] == "octo/app"
    assert slept == [1, 2, 4]


def test_failures__a_lost_answer(github: FakeGitHub, client: GitHubClient) -> None:
    """C-20: the change was made, and the same change again is none."""
    comment = github.repository.add_comment(1, "old", "github-actions[bot]")
    github.fail_next("PATCH", "/comments/", 0, after=True)
    shown = client.patch(f"{R}/issues/comments/{comment.id}", {"body": "new"})
    assert shown["body"] == comment.body == "new"
    assert len(github.seen("PATCH", "/comments/")) == 2


def test_tokens__wrong_none_and_read_only(github: FakeGitHub) -> None:
    """Trap 28: a fork's token reads and does not write."""
    status = (f"{R}/statuses/{'a' * 40}", {"state": "success"})
    none = GitHubClient(github.api_url, "", clock=FakeClock(), sleep=lambda _: None)
    assert none.get(R)["id"] == github.repository.id
    with pytest.raises(Unauthorized, match="Requires authentication"):
        none.post(*status)
    wrong = GitHubClient(github.api_url, "ghs_other", clock=FakeClock(), sleep=lambda _: None)
    with pytest.raises(Unauthorized, match="Bad credentials"):
        wrong.get(R)
    github.read_only = True
    right = GitHubClient(github.api_url, github.token, clock=FakeClock(), sleep=lambda _: None)
    with pytest.raises(Forbidden, match="Resource not accessible by integration"):
        right.post(*status)
    for one in (none, wrong, right):
        one.close()


def test_comments__over_all_pages(github: FakeGitHub, client: GitHubClient) -> None:
    home = github.repository
    home.add_pull(3, "c" * 40, "b" * 40)
    for number in range(250):
        home.add_comment(3, f"comment {number}")
    made = client.post(f"{R}/issues/3/comments", {"body": "ours <!-- marker -->"})
    found = [one for one in client.pages(f"{R}/issues/3/comments") if "marker" in one["body"]]
    assert [one["id"] for one in found] == [made["id"]]
    assert found[0]["user"]["login"] == "github-actions[bot]"
    assert len(github.seen("GET", "/comments$")) == 3
    with pytest.raises(Unprocessable, match="too long"):
        client.post(f"{R}/issues/3/comments", {"body": "x" * 65_537})
    foreign = home.comments[0].id
    with pytest.raises(Forbidden):
        client.patch(f"{R}/issues/comments/{foreign}", {"body": "mine now"})


def test_git__an_orphan_branch_and_a_race(github: FakeGitHub, client: GitHubClient) -> None:
    """Trap 30: a branch is moved only forward, and who comes second hears of it."""

    def commit(text: str, *parents: str) -> str:
        blob = client.post(f"{R}/git/blobs", {"content": text, "encoding": "utf-8"})["sha"]
        entry = {"path": "s/badge.json", "mode": "100644", "type": "blob", "sha": blob}
        tree = client.post(f"{R}/git/trees", {"tree": [entry]})["sha"]
        body = {"message": "badge", "tree": tree, "parents": list(parents)}
        return str(client.post(f"{R}/git/commits", body)["sha"])

    with pytest.raises(NotFound):
        client.get(f"{R}/git/ref/heads/badges")
    first = commit("1")
    client.post(f"{R}/git/refs", {"ref": "refs/heads/badges", "sha": first})
    with pytest.raises(Unprocessable, match="already exists"):
        client.post(f"{R}/git/refs", {"ref": "refs/heads/badges", "sha": commit("2")})
    second, late = commit("2", first), commit("3", first)
    client.patch(f"{R}/git/refs/heads/badges", {"sha": second, "force": False})
    with pytest.raises(Unprocessable, match="not a fast forward"):
        client.patch(f"{R}/git/refs/heads/badges", {"sha": late, "force": False})
    shown = client.get(f"{R}/contents/s/badge.json", {"ref": "badges"})
    assert base64.b64decode(shown["content"]) == b"2"
    assert client.get(f"{R}/commits/badges")["parents"] == [{"sha": first}]
    assert github.repository.files("badges") == {"s/badge.json": b"2"}


def test_compare__who_is_whose_ancestor(github: FakeGitHub, client: GitHubClient) -> None:
    """G-21: a baseline's commit must be an ancestor of the base."""
    home = github.repository
    root = home.commit({"a": "1"}, branch="main")
    tip = home.commit({"a": "2"}, branch="main")
    side = home.commit({"a": "3"}, parents=[root])

    def status(base: str, head: str) -> object:
        return client.get(f"{R}/compare/{base}...{head}")["status"]

    assert status(root, tip) == "ahead"
    assert status(tip, root) == "behind"
    assert status(tip, "main") == "identical"
    assert status(tip, side) == "diverged"
    with pytest.raises(NotFound):
        status(tip, "f" * 40)
    assert [one["sha"] for one in client.pages(f"{R}/commits", params={"sha": "main"})] == [
        tip,
        root,
    ]


def test_releases__assets(github: FakeGitHub, client: GitHubClient, tmp_path: Path) -> None:
    github.repository.add_release("v1")
    release = client.get(f"{R}/releases/tags/v1")
    name = {"name": "scorecard.zip"}
    made = client.upload(release["upload_url"], b"PK", "application/zip", name)
    with pytest.raises(Unprocessable, match="already_exists"):
        client.upload(release["upload_url"], b"PK", "application/zip", name)
    path = f"{R}/releases/assets/{made['id']}"
    done = client.download(path, tmp_path / "a.zip", 100, accept="application/octet-stream")
    assert (tmp_path / "a.zip").read_bytes() == b"PK"
    assert done.digest == made["digest"]
    assert not [one for one in github.journal if one.place == "blob" and one.authorized]


def test_statuses__the_last_one_of_a_context_counts(
    github: FakeGitHub, client: GitHubClient
) -> None:
    sha = "a" * 40
    for state in ("pending", "failure", "success"):
        client.post(f"{R}/statuses/{sha}", {"state": state, "context": "releasecheck/s"})
    assert client.get(f"{R}/commits/{sha}/status")["state"] == "success"
    assert next(iter(client.pages(f"{R}/commits/{sha}/statuses")))["state"] == "success"
    with pytest.raises(Unprocessable):
        client.post(f"{R}/statuses/{sha}", {"state": "fine"})


def test_rerun__trap_29(github: FakeGitHub, client: GitHubClient) -> None:
    """403 while it runs, after 30 days, after 50 re-runs; P-03: who was green keeps its result."""
    run = github.repository.add_run(conclusion="failure")
    run.add_job("plan", "success")
    run.add_job("finish", "failure")
    path = f"{R}/actions/runs/{run.id}/rerun-failed-jobs"
    client.post(path)
    assert client.get(f"{R}/actions/runs/{run.id}")["run_attempt"] == 2
    jobs = list(client.pages(f"{R}/actions/runs/{run.id}/jobs", "jobs"))
    assert [(one["name"], one["conclusion"]) for one in jobs] == [
        ("plan", "success"),
        ("finish", None),
    ]
    every = list(client.pages(f"{R}/actions/runs/{run.id}/jobs", "jobs", {"filter": "all"}))
    assert len(every) == 4
    with pytest.raises(Forbidden, match="already running"):
        client.post(path)
    run.finish("failure")
    run.created_at = datetime.now(UTC) - timedelta(days=31)  # noqa: TID251 - the fake's clock
    with pytest.raises(Forbidden, match="over a month ago"):
        client.post(path)
    run.created_at, run.attempt = github.now(), 51
    with pytest.raises(Forbidden, match="50 times"):
        client.post(path)
    assert run.reruns == ["failed"]


def test_runs__a_branch_of_a_fork_may_be_called_main(
    github: FakeGitHub, client: GitHubClient
) -> None:
    """Trap 23: the list by branch holds a fork's runs, and its head repository tells."""
    github.add_repository("evil/app")
    github.repository.add_run()
    github.repository.add_run(head_repository="evil/app")
    query = {"branch": "main", "status": "success"}
    runs = client.pages(f"{R}/actions/workflows/check.yml/runs", "workflow_runs", query)
    assert {one["head_repository"]["full_name"] for one in runs} == {"octo/app", "evil/app"}


def test_workflows__switched_off(github: FakeGitHub, client: GitHubClient) -> None:
    """P-12: a schedule is off after sixty quiet days."""
    github.repository.workflow(".github/workflows/beat.yml").state = "disabled_inactivity"
    (one,) = client.pages(f"{R}/actions/workflows", "workflows")
    assert one["state"] == "disabled_inactivity"
    client.put(f"{R}/actions/workflows/beat.yml/enable")
    assert client.get(f"{R}/actions/workflows/beat.yml")["state"] == "active"
