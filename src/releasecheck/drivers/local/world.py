"""The one place that looks at this process: environment, platform, versions, streams."""

from __future__ import annotations

import os
import platform
import sys
import uuid
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from releasecheck.drivers.local.clock import SystemClock
from releasecheck.drivers.local.git import commit_of
from releasecheck.drivers.local.progress import ConsoleProgress
from releasecheck.pipeline.world import World


def tool_name() -> str:
    """`releasecheck/0.1.0`."""
    try:
        return f"releasecheck/{version('releasecheck')}"
    except PackageNotFoundError:
        return "releasecheck/unknown"


def local_world(
    *, quiet: bool = False, policy_root: Path | None = None, unit: str = "trials"
) -> World:
    """The world of this process; progress goes to stderr and counts in `unit`."""
    clock = SystemClock()
    live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return World(
        clock=clock,
        environment=dict(os.environ),
        cwd=Path.cwd(),
        progress=ConsoleProgress(sys.stderr, clock, live=live, quiet=quiet, unit=unit),
        tool=tool_name(),
        policy_root=policy_root,
        commit_of=commit_of,
        platform={
            "os": platform.system(),
            "os_release": platform.release(),
            "machine": platform.machine(),
            "python": platform.python_version(),
            "implementation": platform.python_implementation(),
        },
    )


def unique_run() -> str:
    """What makes a run id unique: the workflow run on Actions, else random."""
    if os.environ.get("GITHUB_ACTIONS") == "true" and os.environ.get("GITHUB_RUN_ID", "").isdigit():
        return os.environ["GITHUB_RUN_ID"]
    return uuid.uuid4().hex[:12]


def unique_retry() -> str:
    """What makes the run id of a retry unique, also within one workflow run."""
    return f"retry-{uuid.uuid4().hex[:12]}"


def ci_context() -> dict[str, str]:
    """Facts of the CI run for the manifest; shown, never decided from."""
    names = {
        "repository": "GITHUB_REPOSITORY",
        "commit": "GITHUB_SHA",
        "ref": "GITHUB_REF",
        "event": "GITHUB_EVENT_NAME",
        "workflow_ref": "GITHUB_WORKFLOW_REF",
        "run_attempt": "GITHUB_RUN_ATTEMPT",
        "actor": "GITHUB_ACTOR",
        "triggering_actor": "GITHUB_TRIGGERING_ACTOR",
        "base_ref": "GITHUB_BASE_REF",
        "head_ref": "GITHUB_HEAD_REF",
    }
    found = {key: os.environ[name] for key, name in names.items() if os.environ.get(name)}
    server, run_id = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_RUN_ID")
    if server and run_id and "repository" in found:
        found["run_url"] = f"{server}/{found['repository']}/actions/runs/{run_id}"
    return found
