"""The files of a base commit, as git gives them (contract section 7, G-27)."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from releasecheck.drivers.github.context import read_context
from releasecheck.drivers.github.tree import files_at
from releasecheck.errors import InfrastructureError


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    return folder


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=somebody", "-c", "user.email=somebody@localhost")
    command = ["git", "-C", str(folder), *who, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def commit(folder: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    git(folder, "add", "--all")
    git(folder, "commit", "-q", "-m", "change")
    return git(folder, "rev-parse", "HEAD")


def at(checkout: Path, sha: str) -> Path:
    folder = checkout.parent
    (folder / "event.json").write_text(json.dumps({}), encoding="utf-8")
    given = {
        "GITHUB_REPOSITORY": "octo/app", "GITHUB_RUN_ID": "1", "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_EVENT_NAME": "push", "GITHUB_EVENT_PATH": str(folder / "event.json"),
        "GITHUB_SHA": sha, "GITHUB_REF": "refs/heads/main", "GITHUB_WORKSPACE": str(checkout),
        "RUNNER_TEMP": str(folder), "GITHUB_SERVER_URL": "http://127.0.0.1:9",
    }  # fmt: skip
    environment = {"PATH": str(Path(shutil.which("git") or "").parent)}
    return files_at(read_context(given), sha, folder / "base", token="", environment=environment)


def found(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().decode("utf-8")
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_files_at__hold_what_archives_leave_out(checkout: Path) -> None:
    """G-27: rules that `export-ignore` names are rules of the base all the same, and nothing is expanded."""
    files = {
        ".gitattributes": "evals/ export-ignore\nrubric.md export-subst\n",
        "evals/releasecheck.yaml": "version: 1\n",
        "rubric.md": "$Format:%H$\n",
    }
    sha = commit(checkout, files)
    assert found(at(checkout, sha)) == files


def test_files_at__are_those_of_the_commit_and_the_checkout_stays(checkout: Path) -> None:
    base = commit(checkout, {"releasecheck.yaml": "old\n", "gone.md": "gone\n"})
    git(checkout, "rm", "-q", "gone.md")
    commit(checkout, {"releasecheck.yaml": "new\n", ".gitattributes": "* text eol=crlf\n"})
    (checkout / "untracked").write_text("here", encoding="utf-8")
    (checkout / "releasecheck.yaml").write_text("not committed\n", encoding="utf-8")
    before = git(checkout, "status", "--porcelain"), git(checkout, "ls-files", "--stage")
    assert found(at(checkout, base)) == {"releasecheck.yaml": "old\n", "gone.md": "gone\n"}
    assert (git(checkout, "status", "--porcelain"), git(checkout, "ls-files", "--stage")) == before


def test_files_at__follow_no_link_and_start_no_hook(checkout: Path) -> None:
    (checkout / "rubric.md").symlink_to("/etc/passwd")
    sha = commit(checkout, {"releasecheck.yaml": "version: 1\n"})
    hook = checkout / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {checkout}/hooked\n", encoding="utf-8")
    hook.chmod(0o755)
    assert found(at(checkout, sha)) == {"releasecheck.yaml": "version: 1\n"}
    assert not (checkout / "hooked").exists()


def test_files_at__a_sparse_checkout_gives_all(checkout: Path) -> None:
    files = {"app.py": "x\n", "evals/releasecheck.yaml": "version: 1\n"}
    sha = commit(checkout, files)
    git(checkout, "sparse-checkout", "set", "--no-cone", "/app.py")
    assert not (checkout / "evals").exists()
    assert found(at(checkout, sha)) == files


def test_files_at__content_of_git_lfs_is_not_fetched(checkout: Path, tmp_path: Path) -> None:
    """A machine with git lfs has its filter in the settings of everybody; no plan may wait for it."""
    sha = commit(checkout, {".gitattributes": "*.bin filter=lfs\n", "model.bin": "pointer\n"})
    said = 'test "$GIT_LFS_SKIP_SMUDGE" = 1 && cat'
    git(checkout, "config", "filter.lfs.smudge", said)
    git(checkout, "config", "filter.lfs.required", "true")
    assert found(at(checkout, sha))["model.bin"] == "pointer\n"


def test_files_at__no_such_commit_is_an_error(checkout: Path) -> None:
    commit(checkout, {"releasecheck.yaml": "version: 1\n"})
    with pytest.raises(InfrastructureError, match="could not be fetched"):
        at(checkout, "f" * 40)


def test_files_at__no_checkout_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "checkout").mkdir()
    with pytest.raises(InfrastructureError, match="actions/checkout"):
        at(tmp_path / "checkout", "f" * 40)
