"""The files of another commit: where the rules of a pull request come from (contract section 7, G-27).

Written out of git's own objects through an index of its own, which runs no hook, leaves the checkout as it is,
and follows the attributes of that commit; `git archive` would leave out what `export-ignore` names, and rules
that are left out would be taken for rules that were never there. A shallow checkout lacks the commit; it is
fetched alone, with the job's token in the environment of that one process, never on a command line.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from releasecheck.drivers.github.errors import quoted
from releasecheck.errors import InfrastructureError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from releasecheck.drivers.github.context import GitHubContext

TIMEOUT_S: Final = 600
_NOT_READ: Final = {b"120000 ": "a symbolic link", b"160000 ": "a submodule"}


def files_at(
    context: GitHubContext, commit: str, into: Path, *, token: str, environment: Mapping[str, str]
) -> Path:
    """The tree of `commit` in the folder `into`, which is replaced.

    Raises:
        InfrastructureError: there is no git, no checkout, or the commit cannot be had.
    """
    workspace = context.workspace
    if not (workspace / ".git").exists():
        message = (
            f"{workspace}: there is no git checkout here, so the rules of commit {commit[:12]} cannot be read; "
            "check the repository out with actions/checkout (and git on the machine) before this step"
        )
        raise InfrastructureError(message)
    git = _Git(workspace, environment)
    if isinstance(git.run("cat-file", "-e", f"{commit}^{{commit}}"), _Failed):
        _fetch(git, context, commit, token)
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="releasecheck-index-") as folder:
        _write_files(git, commit, into.resolve(), Path(folder) / "index")
    return into


def not_read_at(
    workspace: Path, commit: str, path: str, environment: Mapping[str, str]
) -> str | None:
    """What stands in the place of a file, or above it, that `files_at` does not read; None: nothing does.

    Raises:
        InfrastructureError: git cannot tell.
    """
    git = _Git(workspace, environment)
    parts = path.split("/")
    for depth in range(1, len(parts) + 1):
        part = "/".join(parts[:depth])
        listed = _read(git, commit, "ls-tree", "-z", "--full-tree", commit, "--", part)
        for mode, kind in _NOT_READ.items():
            if listed.startswith(mode):
                return f"{quoted(part, 200)} is {kind}"
    return None


def _write_files(git: _Git, commit: str, into: Path, index: Path) -> None:
    """All plain files; links and submodules are no files of a suite."""
    place = _read(git, commit, "rev-parse", "--absolute-git-dir").decode("utf-8").strip()
    listed = _read(git, commit, "ls-tree", "-r", "-z", commit)
    files = [line.partition(b"\t")[2] for line in listed.split(b"\0") if line.startswith(b"100")]
    settings = {
        "GIT_DIR": place,
        "GIT_WORK_TREE": str(into),
        "GIT_INDEX_FILE": str(index),
        # As actions/checkout has it unless it is asked for more: content that git lfs keeps is not fetched.
        "GIT_LFS_SKIP_SMUDGE": "1",
    }
    there = _Git(into, {**git.environment, **settings})
    _read(there, commit, "read-tree", commit)
    _read(
        there,
        commit,
        "checkout-index",
        "-z",
        "--stdin",
        given=b"".join(one + b"\0" for one in files),
    )


def _read(git: _Git, commit: str, *arguments: str, given: bytes = b"") -> bytes:
    done = git.run(*arguments, given=given)
    if isinstance(done, _Failed):
        message = f"git cannot read the files of commit {commit}: {done.why}"
        raise InfrastructureError(message)
    return done


def _fetch(git: _Git, context: GitHubContext, commit: str, token: str) -> None:
    """Fetch one commit, without its history."""
    address = f"{context.server_url}/{context.repository}"
    basic = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    settings = {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"http.{context.server_url}/.extraheader",
        "GIT_CONFIG_VALUE_0": f"AUTHORIZATION: basic {basic}",
    }
    asking = _Git(
        git.folder,
        {**git.environment, **(settings if token else {"GIT_TERMINAL_PROMPT": "0"})},
    )
    done = asking.run(
        "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", address, commit
    )
    if isinstance(done, _Failed):
        message = (
            f"commit {commit} is not in this checkout and could not be fetched: {done.why}; give the token "
            "`contents: read`, or check out with fetch-depth: 0"
        )
        raise InfrastructureError(message)


@dataclass(frozen=True, slots=True)
class _Failed:
    """A git command that did not work."""

    why: str


# Settings of a checkout that would leave files out, start a program, or refuse long names on Windows.
_SETTINGS: Final = ("core.sparseCheckout=false", "core.fsmonitor=false", "core.longpaths=true")


@dataclass(frozen=True, slots=True)
class _Git:
    """Git in one folder, with one environment."""

    folder: Path
    environment: Mapping[str, str]

    def run(self, *arguments: str, given: bytes = b"") -> bytes | _Failed:
        """What it wrote, or why it failed."""
        settings = [f"safe.directory={self.folder}", *_SETTINGS]
        try:
            done = subprocess.run(  # noqa: S603 - fixed program; a commit is hex digits
                [  # noqa: S607
                    "git",
                    *(part for one in settings for part in ("-c", one)),
                    "-C", os.fspath(self.folder),
                    *arguments,
                ],
                input=given,
                capture_output=True,
                env=dict(self.environment),
                check=False,
                timeout=TIMEOUT_S,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return _Failed(type(error).__name__)
        if done.returncode == 0:
            return done.stdout
        said = done.stderr.decode("utf-8", "replace").strip()
        return _Failed(quoted(said or f"exit {done.returncode}", 300))
