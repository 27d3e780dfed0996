"""`releasecheck beat --github`: a sweep by hand, and the stage of the Action."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.githubfake import FakeGitHub, Run
from tests.integration.github.beating import WORKFLOW, name
from tests.processes import environment

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with FakeGitHub("octo/app") as fake:
        fake.repository.commit({"README.md": "x"}, branch="main")
        yield fake


def dead(github: FakeGitHub) -> Run:
    run = github.repository.add_run(path=WORKFLOW, conclusion="failure")
    run.add_artifact(name("plan"), {"plan.json": "{}"})
    run.add_job("shard", "cancelled")
    return run


def call(*arguments: str, **given: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "releasecheck", *arguments],
        env=environment(**given), capture_output=True, text=True, check=False, timeout=50,
    )  # fmt: skip


def by_hand(github: FakeGitHub) -> dict[str, str]:
    return {
        "GITHUB_API_URL": github.api_url,
        "GITHUB_REPOSITORY": "octo/app",
        "GITHUB_TOKEN": github.token,
    }


def test_beat__dry_run_says_and_then_it_is_done(github: FakeGitHub) -> None:
    run = dead(github)
    said = call("beat", "--github", "--dry-run", **by_hand(github))
    assert (said.returncode, run.reruns) == (0, [])
    assert f"would_rerun: run {run.id}" in said.stdout
    done = call("beat", "--github", "--workflow", "check.yml", "--json", **by_hand(github))
    assert (done.returncode, run.reruns) == (0, ["failed"])
    document = json.loads(done.stdout)
    assert document["counts"] == {"rerun": 1}
    assert document["runs"][0]["run"] == run.id


@pytest.mark.parametrize(
    ("arguments", "given", "code", "said"),
    [
        # Asked again and again before it gives up, which takes a quarter of a minute.
        pytest.param(
            ["--github"], {"GITHUB_API_URL": "http://127.0.0.1:9"}, 4, "", marks=pytest.mark.soak
        ),
        (["--github"], {"GITHUB_TOKEN": ""}, 3, "GITHUB_TOKEN is set but empty"),
        (["--github"], {"GITHUB_REPOSITORY": "nobody"}, 3, "owner/name"),
        (["--github", "--workflow", "gone.yml"], {}, 3, "no workflow 'gone.yml'"),
        ([], {}, 3, "--github"),
    ],
    ids=["no answer", "no token", "no repository", "no workflow", "nothing named"],
)
def test_beat__exit_codes(
    github: FakeGitHub, arguments: list[str], given: dict[str, str], code: int, said: str
) -> None:
    variables = {"GH_TOKEN": "", **by_hand(github), **given}
    done = call("beat", *arguments, **variables)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr


def test_stage__sweeps_with_the_inputs_of_the_action(github: FakeGitHub, tmp_path: Path) -> None:
    """Contract section 7, stage `beat`: the token comes as an input, the summary is written."""
    run = dead(github)
    own = github.repository.add_run(
        path=".github/workflows/beat.yml", event="schedule", status="in_progress"
    )
    event = {"repository": {"id": github.repository.id, "default_branch": "main"}}
    variables = github.environment(
        own, event, tmp_path, RC_WORKFLOWS="check.yml", RC_GITHUB_TOKEN=github.token
    )
    done = call("action", "beat", **variables)
    assert (done.returncode, run.reruns) == (0, ["failed"]), done.stderr
    summary = (tmp_path / "summary.md").read_text("utf-8")
    assert "its failed jobs were started again" in summary
