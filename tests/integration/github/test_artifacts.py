"""Artifacts over real sockets (traps 2, 3, 4, 6, 7, 8; P-04, P-05, P-06, C-09, C-29)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from releasecheck.drivers.github.artifacts import (
    Artifact,
    choose,
    fetch,
    fetch_raw,
    get_artifact,
    list_artifacts,
)
from releasecheck.drivers.github.errors import (
    ArtifactExpired,
    ArtifactRefused,
    NotFound,
    Unreachable,
    ZipRefused,
)
from releasecheck.drivers.github.names import PageName, PlanName, ScorecardName, ShardName
from releasecheck.drivers.github.rest import GitHubClient, Patience
from releasecheck.errors import DigestMismatch
from tests.fakes import FakeClock
from tests.githubfake import FakeGitHub, Run, zipped

PLAN = "0123456789ab"
REPO = "octo/app"


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with FakeGitHub(REPO) as fake:
        yield fake


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def client(github: FakeGitHub, slept: list[float]) -> Iterator[GitHubClient]:
    with GitHubClient(
        github.api_url,
        github.token,
        clock=FakeClock(),
        sleep=slept.append,
        patience=Patience(tries=3),
    ) as made:
        yield made


def shard(
    run: Run, index: int, attempt: int, content: bytes, upload: int = 1, **given: object
) -> str:
    name = str(ShardName("s", PLAN, attempt, upload, index=index))
    run.add_artifact(name, {"shard.jsonl": content}, attempt=attempt, **given)  # type: ignore[arg-type]
    return name


def listed(client: GitHubClient, run: Run) -> tuple[Artifact, ...]:
    return list_artifacts(client, REPO, run.id)


def test_list_artifacts__all_pages(github: FakeGitHub, client: GitHubClient) -> None:
    """Trap 1: 256 shards are three pages, and a shard on the last one counts."""
    run = github.repository.add_run()
    for index in range(256):
        shard(run, index, 1, b"x")
    found = choose(listed(client, run), ShardName, suite="s", plan=PLAN)
    assert [one.name.index for one in found] == list(range(256))
    assert len(github.seen("GET", "/artifacts$")) == 3


def test_list_artifacts__what_github_tells(github: FakeGitHub, client: GitHubClient) -> None:
    fork = github.add_repository("evil/app")
    run = github.repository.add_run(head_repository="evil/app", head_branch="main")
    stored = run.add_artifact(str(PlanName("s", PLAN, 1)), {"plan.json": "{}"})
    (one,) = listed(client, run)
    assert one == get_artifact(client, REPO, stored.id)
    assert (one.id, one.size, one.digest) == (stored.id, len(stored.data), stored.digest)
    assert (one.run_id, one.head_sha, one.head_branch) == (run.id, run.head_sha, "main")
    assert (one.head_repository_id, one.repository_id) == (fork.id, github.repository.id)
    assert one.from_fork  # trap 23, whatever its branch is called


def test_list_artifacts__none_and_no_run(github: FakeGitHub, client: GitHubClient) -> None:
    """Trap 2: nothing found is nothing, and no run is an error."""
    assert listed(client, github.repository.add_run()) == ()
    with pytest.raises(NotFound, match="runs/4/artifacts: 404"):
        list_artifacts(client, REPO, 4)


def test_choose__p_04_by_name_and_never_by_id(github: FakeGitHub, client: GitHubClient) -> None:
    """Trap 6: the later attempt has the lower id; both are given, in order of attempts."""
    run = github.repository.add_run(attempt=2)
    shard(run, 0, 1, b"first", id=900)
    shard(run, 0, 2, b"second", id=100)
    shard(run, 0, 2, b"third", upload=2, id=50)
    shard(run, 0, 2, b"same name", id=101)
    run.add_artifact(
        str(ShardName("s", "ba9876543210", 2, index=0)), {"shard.jsonl": b"other plan"}
    )
    run.add_artifact(str(ShardName("s-2", PLAN, 2, index=0)), {"shard.jsonl": b"other suite"})
    run.add_artifact("coverage", {"a": b""})
    found = choose(listed(client, run), ShardName, suite="s", plan=PLAN)
    told = [(one.name.attempt, one.name.upload, one.artifact.id) for one in found]
    assert told == [(1, 1, 900), (2, 1, 100), (2, 1, 101), (2, 2, 50)]
    assert len(choose(listed(client, run), ShardName, suite="s")) == 5


def test_choose__the_page_is_no_scorecard(github: FakeGitHub, client: GitHubClient) -> None:
    run = github.repository.add_run()
    run.add_artifact(str(ScorecardName("s", PLAN, 1)), {"scorecard.json": "{}"})
    run.add_artifact(str(PageName("s", PLAN, 1)), b"<html>")
    everything = listed(client, run)
    assert [str(one.name) for one in choose(everything, ScorecardName, suite="s")] == [
        str(ScorecardName("s", PLAN, 1))
    ]
    (page,) = choose(everything, PageName, suite="s")
    assert page.artifact.name.endswith(".html")


def test_fetch__trap_3_each_into_its_own_folder(
    github: FakeGitHub, client: GitHubClient, tmp_path: Path
) -> None:
    """Traps 3, 4: one artifact or two with the same file names, the layout is the same."""
    run = github.repository.add_run(attempt=2)
    shard(run, 0, 1, b"one")
    first = [fetch(client, REPO, one, tmp_path) for one in listed(client, run)]
    assert first[0].folder == tmp_path / str(first[0].artifact.id)
    shard(run, 0, 2, b"two")
    both = [fetch(client, REPO, one, tmp_path) for one in listed(client, run)]
    contents = {(one.folder / "shard.jsonl").read_bytes() for one in both}
    assert contents == {b"one", b"two"}
    assert all(one.files == ("shard.jsonl",) for one in both)
    assert both[0].digest == both[0].artifact.digest
    assert sorted(tmp_path.iterdir()) == sorted(one.folder for one in both)


def test_fetch__the_storage_sees_no_token(
    github: FakeGitHub, client: GitHubClient, tmp_path: Path
) -> None:
    run = github.repository.add_run()
    shard(run, 0, 1, b"x")
    fetch(client, REPO, listed(client, run)[0], tmp_path)
    (away,) = [one for one in github.journal if one.place == "blob"]
    assert not away.authorized
    assert away.status == 200
    assert all(one.authorized for one in github.journal if one.place == "api")


def test_fetch__expired(github: FakeGitHub, client: GitHubClient, tmp_path: Path) -> None:
    """C-29: it was there once, and that is what is said."""
    run = github.repository.add_run()
    name = shard(run, 0, 1, b"x", expired=True)
    (one,) = choose(listed(client, run), ShardName, suite="s")
    with pytest.raises(ArtifactExpired, match=f"'{name}'.*has expired"):
        fetch(client, REPO, one.artifact, tmp_path)
    assert not github.seen("GET", "/zip$")
    run.artifacts[0].expired = False
    fresh = listed(client, run)[0]
    run.artifacts[0].expired = True  # between the list and the download
    with pytest.raises(ArtifactExpired):
        fetch(client, REPO, fresh, tmp_path)
    assert not list(tmp_path.iterdir())


def test_fetch__a_swapped_archive(github: FakeGitHub, client: GitHubClient, tmp_path: Path) -> None:
    """G-26: other bytes than those that were uploaded."""
    run = github.repository.add_run()
    shard(run, 0, 1, b"x")
    (one,) = listed(client, run)
    run.artifacts[0].data = zipped({"shard.jsonl": b"y"})
    with pytest.raises(DigestMismatch, match=str(one.id)):
        fetch(client, REPO, one, tmp_path)
    assert not list(tmp_path.iterdir())


def test_fetch__a_server_that_tells_no_digest(
    github: FakeGitHub, client: GitHubClient, tmp_path: Path
) -> None:
    run = github.repository.add_run()
    shard(run, 0, 1, b"x", digest=None)
    assert fetch(client, REPO, listed(client, run)[0], tmp_path).digest.startswith("sha256:")


def test_fetch__too_large(github: FakeGitHub, client: GitHubClient, tmp_path: Path) -> None:
    run = github.repository.add_run()
    shard(run, 0, 1, b"x")
    (one,) = listed(client, run)
    with pytest.raises(ArtifactRefused, match="at most 10 are read"):
        fetch(client, REPO, one, tmp_path, max_bytes=10)
    assert not github.seen("GET", "/zip$")


def test_fetch__unexpected_content(
    github: FakeGitHub, client: GitHubClient, tmp_path: Path
) -> None:
    """C-35: what a fork's run uploaded is refused by name."""
    run = github.repository.add_run()
    run.add_artifact(str(PlanName("s", PLAN, 1)), {"plan.json": "{}", "../../evil.py": "1"})
    run.add_artifact(str(PlanName("s", PLAN, 2)), {"plan.json": "{}", "setup.py": "1"})
    for one, said in zip(listed(client, run), ("evil", "setup"), strict=True):
        with pytest.raises(ZipRefused, match=said):
            fetch(client, REPO, one, tmp_path, allowed=lambda name: name == "plan.json")
    assert not list(tmp_path.rglob("*"))


def test_fetch__a_download_that_breaks_is_begun_anew(
    github: FakeGitHub, client: GitHubClient, tmp_path: Path, slept: list[float]
) -> None:
    run = github.repository.add_run()
    shard(run, 0, 1, b"x" * 1000)
    github.fail_next("GET", "/container/", 0)
    github.fail_next("GET", "/zip$", 502)
    assert fetch(client, REPO, listed(client, run)[0], tmp_path).files == ("shard.jsonl",)
    assert slept == [1, 2]
    github.fail_next("GET", "/container/", 0, times=3)
    with pytest.raises(Unreachable, match="no whole answer after 3 tries"):
        fetch(client, REPO, listed(client, run)[0], tmp_path / "b")


def test_fetch_raw__the_page_is_not_zipped(
    github: FakeGitHub, client: GitHubClient, tmp_path: Path
) -> None:
    run = github.repository.add_run()
    run.add_artifact(str(PageName("s", PLAN, 1)), b"<html>")
    fetch_raw(client, REPO, listed(client, run)[0], tmp_path / "page.html")
    assert (tmp_path / "page.html").read_bytes() == b"<html>"


def test_rerun__p_05_what_each_kind_still_sees(github: FakeGitHub, client: GitHubClient) -> None:
    run = github.repository.add_run(conclusion="failure")
    run.add_job("shard (0)", "failure")
    shard(run, 0, 1, b"x")
    run.rerun("failed")
    assert len(listed(client, run)) == 1
    run.jobs[-1].conclusion = "failure"
    run.finish("failure")
    run.rerun("all")
    assert listed(client, run) == ()


def test_list_artifacts__what_act_stores(tmp_path: Path) -> None:
    """`DIR/<run>/<name>/<name>.zip`, empty while an upload is on its way."""
    stored = tmp_path / "act/1"
    for name, data in (
        (str(PlanName("s", PLAN, 1)), zipped({"plan.json": "{}"})),
        (str(PageName("s", PLAN, 1)), b"<html>"),
        ("unfinished", b""),
    ):
        (stored / name).mkdir(parents=True)
        (stored / name / f"{name}.zip").write_bytes(data)
    with FakeGitHub(REPO, act_folder=tmp_path / "act") as fake:
        client = GitHubClient(fake.api_url, fake.token, clock=FakeClock(), sleep=lambda _: None)
        found = list_artifacts(client, REPO, 1)
        (plan,) = choose(found, PlanName, suite="s")
        got = fetch(client, REPO, plan.artifact, tmp_path / "out")
        client.close()
    assert len(found) == 2
    assert got.files == ("plan.json",)
