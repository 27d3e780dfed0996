"""What every stage of the Action stands on: where it runs, what it was asked, what it may hand on."""

from __future__ import annotations

import os
import shutil
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from releasecheck.assets import templates_dir
from releasecheck.cli.output import say
from releasecheck.drivers.github.commands import mask, write_outputs
from releasecheck.drivers.github.context import read_context
from releasecheck.drivers.github.dotenv import read_dotenv
from releasecheck.drivers.github.inputs import read_inputs
from releasecheck.drivers.github.rest import GitHubClient
from releasecheck.drivers.local.world import local_world
from releasecheck.errors import EnvironmentMissing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from releasecheck.drivers.github.context import GitHubContext
    from releasecheck.drivers.github.inputs import Inputs
    from releasecheck.pipeline.world import World

RUNNERS_OWN: Final = (
    "GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY",
    "ACTIONS_RUNTIME_TOKEN", "ACTIONS_RUNTIME_URL", "ACTIONS_RESULTS_URL", "ACTIONS_CACHE_URL",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_URL",
)  # fmt: skip
"""What a target or judge could change the job with; none of them is handed on to one."""


WORTH_A_LINE_S: Final = 10.0
"""Whoever waits longer says so: a log that stands still looks like a job that hangs."""


def waited(seconds: float, sleep: Callable[[float], None] = time.sleep) -> None:
    """Wait for GitHub, and say it where it takes long."""
    if seconds >= WORTH_A_LINE_S:
        say(
            f"waiting {seconds:.0f} s before GitHub is asked again: it limits requests, or did not answer"
        )
        sys.stdout.flush()
    sleep(seconds)


@dataclass(frozen=True, slots=True)
class Job:
    """One stage in one job."""

    context: GitHubContext
    inputs: Inputs
    token: str
    world: World
    """Its environment is what targets and judges get: the secret `env` in it, the runner's own out of it."""
    folder: Path
    """This stage's own, outside of the workspace; empty at the start."""
    outputs_path: Path
    summary_path: Path | None
    uv: str | None
    """What installed this environment; None for pip."""
    lock: Path
    """What is installed in it."""

    def client(self) -> GitHubClient:
        """The REST interface.

        Raises:
            EnvironmentMissing: there is no token.
        """
        if not self.token:
            raise EnvironmentMissing(("GITHUB_TOKEN",), (), "pass `github-token` to the action")
        return GitHubClient(
            self.context.api_url, self.token, clock=self.world.clock, sleep=waited,
            environment=self.world.environment,
        )  # fmt: skip

    def tell(self, **outputs: str) -> None:
        """Hand outputs on to later steps; underscores in names stand for dashes."""
        write_outputs(
            self.outputs_path, {name.replace("_", "-"): value for name, value in outputs.items()}
        )


def this_job(stage: str) -> Job:
    """The job that this process runs in.

    Raises:
        EnvironmentMissing, ConfigError: this is no job of Actions, or an input cannot be what it is.
    """
    given = dict(os.environ)
    context = read_context(given)
    secrets = read_dotenv(given.get("RC_ENV", ""))
    for value in secrets.values():
        for line in mask(value).splitlines():
            sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    inputs = read_inputs(given)
    folder = context.runner_temp / "releasecheck" / stage
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    world = local_world()
    summary = given.get("GITHUB_STEP_SUMMARY")
    return Job(
        context=context,
        inputs=inputs,
        token=given.get("RC_GITHUB_TOKEN", ""),
        world=replace(world, environment=_handed_on(given, secrets)),
        folder=folder,
        outputs_path=Path(given["GITHUB_OUTPUT"]),
        summary_path=Path(summary) if summary else None,
        uv=given.get("RC_UV") or None,
        lock=Path(given.get("RC_LOCK") or templates_dir().parent / "requirements/runtime.txt"),
    )


def _handed_on(given: Mapping[str, str], secrets: Mapping[str, str]) -> dict[str, str]:
    kept = {
        name: value
        for name, value in given.items()
        if name not in RUNNERS_OWN and not name.startswith(("RC_", "INPUT_"))
    }
    return {**kept, **secrets}
