"""`releasecheck init --github`: what it writes, where, and that it overwrites nothing."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from releasecheck.cli.starters import WORKFLOWS
from tests.e2e.faulty import cli

STARTERS = Path(__file__).resolve().parents[2] / "templates" / "github"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


def written(root: Path) -> dict[str, str]:
    """Workflow files by name."""
    found = sorted((root / ".github/workflows").iterdir())
    return {path.name: path.read_text("utf-8") for path in found}


def configs(text: str) -> set[str]:
    """Configs that the jobs of a workflow name."""
    jobs: dict[str, Any] = yaml.safe_load(text)["jobs"]
    found = [job.get("with", {}) for job in jobs.values()]
    found += [step.get("with", {}) for job in jobs.values() for step in job.get("steps", [])]
    return {given["config"] for given in found if "config" in given}


def test_init__writes_every_starter_as_it_is(root: Path) -> None:
    done = cli("init", root, "--github", cwd=root.parent)
    assert done.code == 0, done
    assert written(root) == {
        name: (STARTERS / starter).read_text("utf-8") for starter, name in WORKFLOWS.items()
    }
    assert {path.name for path in STARTERS.iterdir()} == set(WORKFLOWS)
    assert (root / "releasecheck.yaml").is_file()
    for said in ("wrote", "check / finish", "RELEASECHECK_ENV", "docs/action.md"):
        assert said in done.out + done.err


def test_init__only_gate_release_and_beat_run_at_once(root: Path) -> None:
    """The others take the place of the gate: GitHub does not read them under these names."""
    cli("init", root, "--github", cwd=root.parent)
    read = [name for name in written(root) if name.endswith((".yml", ".yaml"))]
    assert read == ["releasecheck-beat.yml", "releasecheck-release.yml", "releasecheck.yml"]


@pytest.mark.parametrize("folder", ["checks/search", "my checks", "a'b\"c", "- x: #"])
def test_init__workflows_go_to_the_root_and_name_the_suite(root: Path, folder: str) -> None:
    done = cli("init", root / folder, "--github", cwd=root)
    assert done.code == 0, done
    assert (root / folder / "releasecheck.yaml").is_file()
    for name in ("releasecheck.yml", "releasecheck-release.yml", "releasecheck-judge.yml.example"):
        assert configs(written(root)[name]) == {f"{folder}/releasecheck.yaml"}


def test_init__keeps_a_suite_that_is_there(root: Path) -> None:
    (root / "releasecheck.yaml").write_text("mine", "utf-8")
    (root / "README.md").write_text("mine too", "utf-8")
    done = cli("init", "--github", cwd=root)
    assert done.code == 0, done
    assert (root / "releasecheck.yaml").read_text("utf-8") == "mine"
    assert sorted(path.name for path in root.iterdir()) == [
        ".git", ".github", "README.md", "releasecheck.yaml",
    ]  # fmt: skip
    assert "kept releasecheck.yaml" in done.out + done.err


@pytest.mark.parametrize("name", WORKFLOWS.values())
def test_init__overwrites_no_workflow(root: Path, name: str) -> None:
    """One that is there is enough to write none."""
    mine = root / ".github/workflows" / name
    mine.parent.mkdir(parents=True)
    mine.write_text("mine", "utf-8")
    done = cli("init", "--github", cwd=root)
    assert done.code == 3
    assert name in done.err
    assert written(root) == {name: "mine"}
    assert not (root / "releasecheck.yaml").exists()


def test_init__without_it_writes_no_workflow(root: Path) -> None:
    assert cli("init", cwd=root).code == 0
    assert not (root / ".github").exists()


def test_init__outside_of_a_repository(tmp_path: Path) -> None:
    assert cli("init", "made", "--github", cwd=tmp_path).code == 0
    assert (tmp_path / "made/.github/workflows/releasecheck.yml").is_file()


def test_init__json_says_what_was_written(tmp_path: Path) -> None:
    """Contract, section 2: `--json` where a command reports."""
    done = cli("init", "suite", "--json", cwd=tmp_path)
    said = done.json()
    assert (done.code, said["config"], said["kept"]) == (0, "suite/releasecheck.yaml", False)
    assert said["wrote"]
    assert all((tmp_path / name).is_file() for name in said["wrote"])
