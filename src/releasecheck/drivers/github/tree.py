"""The files of another commit: where the rules of a pull request come from (contract section 7, G-27).

Taken from git's own objects with `git archive`, which runs no hook and no filter of the repository. A
shallow checkout lacks the commit; it is fetched alone, with the job's token in the environment of that one
process, never on a command line.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import tarfile
import tempfile
from typing import IO, TYPE_CHECKING, Final

from releasecheck.drivers.github.errors import quoted
from releasecheck.errors import InfrastructureError
from releasecheck.pipeline.unpacking import extract_files

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from releasecheck.drivers.github.context import GitHubContext

TIMEOUT_S: Final = 600


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
    if _git(workspace, environment, "cat-file", "-e", f"{commit}^{{commit}}") is not None:
        _fetch(context, commit, token, environment)
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    with tempfile.TemporaryFile() as archive:
        problem = _git(workspace, environment, "archive", "--format=tar", commit, to=archive)
        if problem is not None:
            message = f"git cannot read the files of commit {commit}: {problem}"
            raise InfrastructureError(message)
        archive.seek(0)
        try:
            with tarfile.open(fileobj=archive) as tar:
                extract_files(tar, into)
        except (tarfile.TarError, OSError) as error:
            message = f"the files of commit {commit} cannot be unpacked: {type(error).__name__}"
            raise InfrastructureError(message) from None
    return into


def _fetch(context: GitHubContext, commit: str, token: str, environment: Mapping[str, str]) -> None:
    """Fetch one commit, without its history."""
    address = f"{context.server_url}/{context.repository}"
    basic = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    settings = {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"http.{context.server_url}/.extraheader",
        "GIT_CONFIG_VALUE_0": f"AUTHORIZATION: basic {basic}",
    }
    problem = _git(
        context.workspace,
        {**environment, **(settings if token else {"GIT_TERMINAL_PROMPT": "0"})},
        "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", address, commit,
    )  # fmt: skip
    if problem is not None:
        message = (
            f"commit {commit} is not in this checkout and could not be fetched: {problem}; give the token "
            "`contents: read`, or check out with fetch-depth: 0"
        )
        raise InfrastructureError(message)


def _git(
    folder: Path, environment: Mapping[str, str], *arguments: str, to: IO[bytes] | None = None
) -> str | None:
    """Run git; None when it worked, else what it said."""
    try:
        done = subprocess.run(  # noqa: S603 - fixed program; a commit is hex digits
            ["git", "-c", f"safe.directory={folder}", "-C", os.fspath(folder), *arguments],  # noqa: S607
            stdout=to or subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env=dict(environment),
            check=False,
            timeout=TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{type(error).__name__}"
    if done.returncode == 0:
        return None
    return quoted(done.stderr.decode("utf-8", "replace").strip() or f"exit {done.returncode}", 300)
