"""Where a job's rules come from: the base commit on pull requests and merge groups, else its own checkout."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from releasecheck.drivers.github.context import MergeGroup, PullRequest
from releasecheck.drivers.github.tree import files_at, not_read_at
from releasecheck.errors import UsageError
from releasecheck.pipeline.policy import PolicySource

if TYPE_CHECKING:
    from releasecheck.cli.action.job import Job
    from releasecheck.model.plan import Plan


@dataclass(frozen=True, slots=True)
class Place:
    """Where a config is in the repository."""

    folder: str
    """Of the config, relative to the repository's root, with `/`; `.` for the root itself."""
    name: str
    """Of the config file."""


def place_of(job: Job, config: Path) -> Place:
    """Where the config is in the repository, as the workflow names it.

    Links are not followed: a change that puts one in the way would choose where its own rules are found.

    Raises:
        UsageError: it lies outside of the checkout.
    """
    workspace = Path(os.path.normpath(job.context.workspace))
    named = workspace / job.inputs.working_directory
    # The system tells a process where links have led it.
    start = named if named.resolve() == job.world.cwd.resolve() else job.world.cwd
    path = Path(os.path.normpath(start / config))
    for parent, root in ((path.parent, workspace), (path.parent.resolve(), workspace.resolve())):
        if parent.is_relative_to(root):
            return Place(parent.relative_to(root).as_posix(), path.name)
    message = f"{config}: this lies outside of the checkout {workspace}; give a path below it"
    raise UsageError(message)


def in_tree(job: Job, tree: Path, path: Path) -> Path:
    """Where a path of the checkout is in the tree of another commit.

    Raises:
        UsageError: it lies outside of the checkout.
    """
    place = place_of(job, path)
    return tree / place.folder / place.name


def policy_of(job: Job, config: Path) -> tuple[PolicySource | None, Path | None]:
    """Whose rules apply, and the root of the base commit's tree; (None, None) where they are the job's own.

    Raises:
        InfrastructureError: the base commit's files cannot be read.
    """
    subject = job.context.subject
    if (
        not isinstance(subject, PullRequest | MergeGroup)
        or job.context.event == "pull_request_target"
    ):
        return None, None
    base = subject.base_sha
    tree = _tree(job, base)
    place = place_of(job, config)
    there = tree / place.folder / place.name
    if not there.is_file():
        _check_absent(job, base, place)
        return PolicySource(config, base, introduced=True), tree
    return PolicySource(there, base, mode=job.inputs.policy), tree


def _check_absent(job: Job, commit: str, place: Place) -> None:
    """Refuse a config that is at a commit in a way that is not read: it is not one that was never there.

    Raises:
        UsageError: a link or a submodule stands in its place or above it.
    """
    path = (PurePosixPath(place.folder) / place.name).as_posix()
    odd = not_read_at(job.context.workspace, commit, path, job.world.environment)
    if odd is not None:
        message = (
            f"{path}: at the base commit {commit[:12]} {odd}, so the rules of this change cannot be read there; "
            "let the workflow name the config by the path that it really has"
        )
        raise UsageError(message)


def policy_tree_of(job: Job, plan: Plan) -> Path | None:
    """The files of the commit that a plan took its rules from; None where they are the checkout's own.

    Raises:
        InfrastructureError: the commit's files cannot be read.
    """
    policy = plan.policy
    if policy.mode != "base" or policy.introduced or policy.commit is None:
        return None
    return _tree(job, policy.commit)


def policy_root_of(job: Job, tree: Path) -> Path:
    """The folder that judges run in, in the tree of the commit whose rules apply."""
    return tree / place_of(job, Path(job.inputs.config)).folder


def _tree(job: Job, commit: str) -> Path:
    return files_at(
        job.context, commit, job.folder / "base", token=job.token, environment=job.world.environment
    )
