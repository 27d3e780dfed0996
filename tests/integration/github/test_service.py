"""The fake's artifact service, as an upload step talks to it (P-04, P-06, C-09, trap 8)."""

from __future__ import annotations

import hashlib
import ssl
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.githubfake import TWIRP, FakeGitHub, Run, zipped

NO_TRUST = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
DATA = zipped({"a": b"1"})


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with FakeGitHub() as fake:
        yield fake


@pytest.fixture
def run(github: FakeGitHub) -> Run:
    return github.repository.add_run(conclusion="failure")


def ask(method: str, url: httpx.URL | str, **given: Any) -> httpx.Response:
    with httpx.Client(trust_env=False, verify=NO_TRUST) as client:
        return client.request(method, url, **given)


def call(github: FakeGitHub, run: Run, method: str, **body: Any) -> httpx.Response:
    ids = {
        "workflow_run_backend_id": f"{run.id}.{run.attempt}",
        "workflow_job_run_backend_id": "job",
    }
    return ask(
        "POST",
        github.results_url.rstrip("/") + TWIRP + method,
        json={**ids, **body},
        headers={"authorization": f"Bearer {github.runtime_token(run)}"},
    )


def upload(github: FakeGitHub, run: Run, name: str, data: bytes = DATA) -> int:
    """The status of the call that failed, or 200."""
    created = call(github, run, "CreateArtifact", name=name, version=4)
    if created.status_code != 200:
        return created.status_code
    url = created.json()["signed_upload_url"]
    block = {"comp": "block", "blockid": "MDAw"}
    address = httpx.URL(url)
    ask("PUT", address.copy_merge_params(block), content=data).raise_for_status()
    blocks = b"<BlockList><Latest>MDAw</Latest></BlockList>"
    listed = address.copy_merge_params({"comp": "blocklist"})
    ask("PUT", listed, content=blocks).raise_for_status()
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    told = {"name": name, "size": str(len(data)), "hash": {"value": digest}}
    return call(github, run, "FinalizeArtifact", **told).status_code


def test_service__an_upload_can_be_listed_and_read(github: FakeGitHub, run: Run) -> None:
    assert upload(github, run, "x") == 200
    (one,) = call(github, run, "ListArtifacts").json()["artifacts"]
    assert (one["name"], one["size"]) == ("x", str(len(DATA)))
    signed = call(github, run, "GetSignedArtifactURL", name="x").json()["signed_url"]
    assert ask("GET", signed).content == DATA
    url = f"{github.api_url}/repos/{run.repository.name}/actions/runs/{run.id}/artifacts"
    assert ask("GET", url).json()["artifacts"][0]["size_in_bytes"] == len(DATA)


def test_service__p_06_a_name_is_taken_once_per_attempt(github: FakeGitHub, run: Run) -> None:
    assert upload(github, run, "x") == 200
    assert upload(github, run, "x") == 409
    run.add_job("finish", "failure")
    run.rerun("failed")
    assert upload(github, run, "x") == 200
    assert [(one.name, one.attempt) for one in run.artifacts] == [("x", 1), ("x", 2)]


def test_service__p_06_a_failed_finalize_reserves_the_name(github: FakeGitHub, run: Run) -> None:
    github.fail_next("POST", "FinalizeArtifact", 500)
    assert upload(github, run, "x") == 500
    assert call(github, run, "ListArtifacts").json() == {"artifacts": []}
    assert call(github, run, "DeleteArtifact", name="x").status_code == 404
    assert upload(github, run, "x") == 409
    assert upload(github, run, "x-u2") == 200


def test_service__delete_gives_a_new_id(github: FakeGitHub, run: Run) -> None:
    upload(github, run, "x")
    before = call(github, run, "DeleteArtifact", name="x").json()["artifact_id"]
    assert upload(github, run, "x") == 200
    assert str(run.artifacts[0].id) != before


def test_service__who_may(github: FakeGitHub, run: Run) -> None:
    other = github.repository.add_run()
    ids = {"workflow_run_backend_id": f"{other.id}.1", "workflow_job_run_backend_id": "job"}
    assert call(github, run, "ListArtifacts", **ids).status_code == 403
    url = github.results_url.rstrip("/") + TWIRP + "ListArtifacts"
    assert ask("POST", url, json={}).status_code == 401
    assert upload(github, run, "a/b") == 400


def test_ids__do_not_grow_with_time(github: FakeGitHub) -> None:
    ids = [github.next_id() for _ in range(20)]
    assert len(set(ids)) == 20
    assert ids != sorted(ids)
