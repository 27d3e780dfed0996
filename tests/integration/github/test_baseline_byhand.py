"""`baseline pull` and `baseline show --auto`: the search of `auto`, by hand (issue item 4)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.githubfake import FakeGitHub
from tests.integration.github.bundles import EXAMPLE, REPO, A, B, C, D
from tests.integration.github.place import Bundles, Place, committed_folder
from tests.processes import environment

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def place(tmp_path: Path, bundles: Bundles) -> Iterator[Place]:
    with FakeGitHub(REPO) as github:
        place = Place(github, tmp_path, bundles)
        github.repository.private = True
        github.repository.refs["HEAD"] = D
        shutil.copytree(EXAMPLE, tmp_path / "app" / "suite")
        subprocess.run(["git", "init", "-q", tmp_path / "app"], check=True)
        yield place


def call(
    place: Place, command: str, *arguments: str, **given: str
) -> subprocess.CompletedProcess[str]:
    variables = {
        "GITHUB_API_URL": place.github.api_url,
        "GITHUB_REPOSITORY": REPO,
        "GITHUB_TOKEN": place.github.token,
        **given,
    }
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "releasecheck",
            "baseline",
            command,
            "releasecheck.yaml",
            *arguments,
        ],
        cwd=place.into / "app" / "suite",
        env=environment(**variables),
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )


def run_id(folder: Path) -> Any:
    return json.loads((folder / "manifest.json").read_bytes())["run_id"]


def test_pull__writes_the_suites_baseline(place: Place) -> None:
    """As a promotion writes it; what was refused goes to stderr."""
    place.run(place.bundles["pass"])
    place.run(place.bundles["block"])
    done = call(place, "pull")
    assert done.returncode == 0, done
    folder = place.into / "app" / "suite" / "baseline"
    assert run_id(folder) == f"rc-{place.bundles['pass'].plan12}-1002"
    assert (folder / "promotion.json").is_file()
    assert "run 1002 attempt 1" in done.stdout
    assert "refused run 1003" in done.stderr


def test_pull__reference_and_folder(place: Place) -> None:
    """G-21: a branch's own runs count for it, and none that it does not hold."""
    place.repository.refs["heads/release/1"] = B
    place.run(place.bundles["newer"])
    place.run(place.bundles["pass"], head_branch="release/1")
    arguments = ("--ref", "release/1", "--to", "there", "--workflow", "check.yml", "--json")
    done = call(place, "pull", *arguments)
    assert done.returncode == 0, done
    found = json.loads(done.stdout)
    assert (found["context"]["baseline_run"], found["commit"]) == ("1002", B)
    assert run_id(place.into / "app" / "suite" / "there") == found["run_id"]


def test_pull__accepted_one_of_the_repository(place: Place) -> None:
    """The committed folder of the reference, whatever the checkout holds; its reason is kept."""
    folder = committed_folder(place.bundles, place.into / "accepted")
    place.accept(C, B, 5.5, folder)
    entries = place.repository.trees[place.repository.commits[D].tree]
    moved = place.repository.tree({f"suite/{path}": blob for path, blob in entries.items()})
    for sha in (C, D):
        one = place.repository.commits[sha]
        place.commit(sha, one.parents, 6, moved)
    place.run(place.bundles["pass"])
    done = call(place, "pull", "--json")
    assert done.returncode == 0, done
    found = json.loads(done.stdout)
    assert found["context"]["baseline_accepted_in"] == C
    assert found["refused"][0]["reason"] == "older_than_accepted"
    here = place.into / "app" / "suite" / "baseline"
    assert (here / "promotion.json").read_bytes() == (folder / "promotion.json").read_bytes()


def test_pull__nothing_found(place: Place) -> None:
    """Trap 24: exit 2, and nothing is written."""
    place.run(place.bundles["pass"]).artifacts[0].expired = True
    done = call(place, "pull")
    assert done.returncode == 2, done
    assert "there was a baseline of this suite, and it has expired" in done.stdout
    assert not (place.into / "app" / "suite" / "baseline").exists()
    done = call(place, "show", "--auto", "--json")
    assert done.returncode == 2, done
    assert json.loads(done.stdout)["run_id"] is None


def test_show__auto_says_where_from(place: Place) -> None:
    place.run(place.bundles["pass"])
    done = call(place, "show", "--auto", GITHUB_TOKEN="", GH_TOKEN=place.github.token)
    assert done.returncode == 0, done
    assert "from       newest passing run of main" in done.stdout
    assert not (place.into / "app" / "suite" / "baseline").exists()


@pytest.mark.parametrize(
    ("arguments", "given", "code", "said"),
    [
        ((), {"GITHUB_REPOSITORY": ""}, 3, "--repository"),
        (("--repository", "octo"), {}, 3, "--repository"),
        (("--ref", "nowhere"), {}, 3, "'nowhere'"),
        ((), {"GITHUB_TOKEN": "", "GH_TOKEN": ""}, 3, "GITHUB_TOKEN"),
        ((), {"GITHUB_TOKEN": "wrong"}, 4, "401"),
    ],
)
def test_pull__cannot_ask(
    place: Place, arguments: tuple[str, ...], given: dict[str, str], code: int, said: str
) -> None:
    done = call(place, "pull", *arguments, **given)
    assert done.returncode == code, done
    assert said in done.stderr


def test_pull__failing_request(place: Place) -> None:
    """Trap 24: 403 in the middle of the search is exit 4."""
    place.run(place.bundles["pass"])
    place.github.fail_next("GET", "/compare/", 403)
    done = call(place, "pull")
    assert done.returncode == 4, done
    assert A not in done.stdout
