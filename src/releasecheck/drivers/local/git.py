"""What git knows: the commit a plan is made at, and the cases as they were at another one."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from releasecheck.errors import ReleaseCheckError, UsageError
from releasecheck.model.plan import GitState
from releasecheck.pipeline.freezing import ChangedCases, read_suite
from releasecheck.pipeline.unpacking import extract_files

if TYPE_CHECKING:
    from collections.abc import Callable

TIMEOUT_S = 60


def _git(folder: Path, *arguments: str) -> bytes | None:
    """Output of a git command; None when it failed or there is no git."""
    try:
        done = subprocess.run(  # noqa: S603 - fixed program, arguments never start with a dash
            ["git", "-C", str(folder), *arguments],  # noqa: S607
            capture_output=True,
            check=False,
            timeout=TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def git_state(folder: Path) -> GitState | None:
    """Commit, ref and whether tracked files differ; None outside of a repository."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return None
    ref = _git(folder, "symbolic-ref", "-q", "HEAD")
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return GitState(
        commit=commit.decode().strip(),
        ref=None if ref is None else ref.decode().strip(),
        # What git could not tell is taken for changed: a clean tree must be known to be clean.
        dirty=changed is None or bool(changed.strip()),
    )


def commit_of(folder: Path) -> str | None:
    """The commit that a folder is at; None outside of a repository."""
    commit = _git(folder, "rev-parse", "HEAD")
    return None if commit is None else commit.decode().strip()


def place_in_repository(root: Path, below: str) -> str | None:
    """Where a folder below `root` is in its repository, with `/`; None outside of one."""
    top = _git(root, "rev-parse", "--show-toplevel")
    if top is None:
        return None
    repository = Path(top.decode().strip()).resolve()
    place = Path(os.path.normpath(root.resolve() / below))
    return place.relative_to(repository).as_posix() if place.is_relative_to(repository) else None


def changed_since(
    config: Path, profile: str | None, reference: str, note: Callable[[str], None]
) -> ChangedCases:
    """The digests of the cases as they were at `reference`.

    Where the suite did not exist or could not be read there, every case counts as changed, which runs
    more, never less.

    Raises:
        UsageError: no repository, or no such reference.
    """
    root = config.resolve().parent
    top = _git(root, "rev-parse", "--show-toplevel")
    commit = None
    if top is not None and not reference.startswith("-"):
        commit = _git(root, "rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}")
    if top is None or commit is None:
        what = "is not in a git repository" if top is None else f"knows no commit {reference!r}"
        message = f"{config}: its folder {what}; --changed-since needs one to compare with"
        raise UsageError(message)
    try:
        digests = _digests_at(
            root, Path(top.decode().strip()), commit.decode().strip(), config, profile
        )
    except (ReleaseCheckError, OSError, tarfile.TarError) as error:
        first = str(error).partition("\n")[0]
        note(f"the cases at {reference} cannot be read ({first}); every case counts as changed")
        digests = frozenset()
    return ChangedCases(reference, digests)


def _digests_at(
    root: Path, top: Path, commit: str, config: Path, profile: str | None
) -> frozenset[str]:
    archive = _git(top, "archive", "--format=tar", commit)
    if archive is None:
        message = f"git cannot read the files of {commit}"
        raise UsageError(message)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            extract_files(tar, Path(folder))
        there = Path(folder) / root.relative_to(top.resolve()) / config.name
        _, cases = read_suite(there, profile)
    return frozenset(case.digest for case in cases)
