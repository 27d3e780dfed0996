"""Workflows run for real with act, on this machine and without containers."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.githubfake import FakeGitHub

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT: Final = Path(__file__).parent.parent
STAND_INS: Final = Path(__file__).parent / "e2e/actions"
PINS: Final = {
    "checkout": "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1",
    "setup-uv": "astral-sh/setup-uv@20cfd1bf945f4377ade1205e4dbc17946fc9a30d",
    "upload-artifact": "actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f",
    "attest": "actions/attest@1e69f48acb82d1966a394da916b4c1698aa569d6",
}
OURS: Final = "releasecheck/releasecheck@v1"


def program(name: str) -> str:
    """A program of the development requirements.

    Raises:
        RuntimeError: it is not installed; a test that needs it fails and is never skipped.
    """
    path = Path(sys.executable).parent / name
    if not path.exists():
        message = f"{name} is not installed beside {sys.executable}: run `make setup`"
        raise RuntimeError(message)
    return str(path)


@dataclass(frozen=True)
class Acted:
    """How a workflow went."""

    code: int
    log: str
    artifacts: Path
    """`<run>/<name>/<name>.zip`."""

    def names(self) -> list[str]:
        """Names of the artifacts that were uploaded whole."""
        return sorted(path.stem for path in self.artifacts.glob("*/*/*.zip") if path.stat().st_size)

    def job(self, name: str) -> str:
        """The log lines of one job."""
        return "\n".join(
            line for line in self.log.splitlines() if re.match(rf"\[[^\]]*\b{name}\b", line)
        )


@dataclass
class Repository:
    """A repository with one suite and one workflow, and the GitHub that it talks to."""

    folder: Path
    artifacts: Path
    github: FakeGitHub
    action: Path
    """Our action, without what a checkout has beside it: act copies it for every job."""
    environment: dict[str, str] = field(default_factory=dict)

    def commit(self, message: str = "change") -> str:
        """Commit everything, there and on GitHub; returns the commit."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        sha = self.git("rev-parse", "HEAD")
        there = self.github.repository
        files = self.git("ls-files", "-z").split("\0")
        made = there.commit(
            {
                name: (self.folder / name).read_bytes()
                for name in files
                if (self.folder / name).is_file()
            },
            parents=self.git("log", "-1", "--format=%P").split(),
        )
        there.commits[sha] = replace(there.commits.pop(made), sha=sha)
        there.refs[f"heads/{self.git('branch', '--show-current')}"] = sha
        return sha

    def git(self, *arguments: str) -> str:
        """Run git in it."""
        done = subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments],
            cwd=self.folder, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.strip()

    def write(self, name: str, content: str) -> None:
        """Write a file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")

    def act(
        self,
        event: str = "push",
        payload: Mapping[str, Any] | None = None,
        *,
        job: str | None = None,
        workflow: str = ".github/workflows/check.yml",
        timeout: int = 300,
    ) -> Acted:
        """Run a workflow as if `event` had happened."""
        given = self.folder.parent / "event.json"
        given.write_text(json.dumps(payload or {}), encoding="utf-8")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [
            program("act"), event, "-W", workflow, "-e", str(given),
            "-P", "ubuntu-latest=-self-hosted",
            "--artifact-server-path", str(self.artifacts), "--artifact-server-addr", "127.0.0.1",
            "--artifact-server-port", str(port), "--no-cache-server",
            "-s", f"GITHUB_TOKEN={self.github.token}",
            "--env", f"GITHUB_API_URL={self.github.api_url}",
            "--env", f"TEST_UV={program('uv')}", "--env", f"TEST_PYTHON={sys.executable}",
        ]  # fmt: skip
        for name, value in self.environment.items():
            command += ["--env", f"{name}={value}"]
        for name, reference in PINS.items():
            command += ["--local-repository", f"{reference}={STAND_INS / name}"]
        command += ["--local-repository", f"{OURS}={self.action}"]
        if job is not None:
            command += ["-j", job]
        home = self.folder.parent / "home"
        home.mkdir(exist_ok=True)
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=False, timeout=timeout,
            env={
                "PATH": os.environ["PATH"], "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"),
                "UV_CACHE_DIR": str(ROOT / ".venv/uv-cache"), "LANG": "C.UTF-8",
                **{k: v for k, v in os.environ.items() if k.startswith(("PIP_", "UV_", "SSL_"))},
            },
        )  # fmt: skip
        return Acted(done.returncode, done.stdout + done.stderr, self.artifacts)


def action_alone(folder: Path) -> Path:
    """What users get of our repository, as far as the action needs it."""
    folder.mkdir()
    for name in ("action.yml", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    for name in ("action", "requirements", "templates", "src"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def repository(folder: Path, github: FakeGitHub, artifacts: Path, action: Path) -> Repository:
    """A new repository with our reusable workflow in it."""
    folder.mkdir(parents=True)
    made = Repository(folder, artifacts, github, action)
    made.git("init", "-q", "-b", "main")
    made.git("remote", "add", "origin", f"https://github.com/{github.repository.name}.git")
    workflows = folder / ".github/workflows"
    workflows.mkdir(parents=True)
    shutil.copy(ROOT / ".github/workflows/release-check.yml", workflows)
    return made
