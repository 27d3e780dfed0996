"""The stage `beat` of the Action, and the same by hand: a client, one sweep, and what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from releasecheck.drivers.github.beat.options import BeatOptions, Where
from releasecheck.drivers.github.beat.report import lines, notices, summary
from releasecheck.drivers.github.beat.sweep import sweep
from releasecheck.drivers.github.byhand import DEFAULT_API
from releasecheck.drivers.github.commands import log_text, write_summary
from releasecheck.drivers.github.rest import GitHubClient, Patience
from releasecheck.errors import EnvironmentMissing, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from releasecheck.drivers.github.beat.findings import Swept
    from releasecheck.ports import Clock

PATIENT: Final = Patience()
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}")


def where_by(environment: Mapping[str, str]) -> Where:
    """The repository that an environment names, in a job or by hand.

    Raises:
        UsageError: it names none.
    """
    name = environment.get("GITHUB_REPOSITORY", "")
    if not _REPOSITORY.fullmatch(name):
        message = f"found {name[:100]!r} as repository; set GITHUB_REPOSITORY to owner/name"
        raise UsageError(message)
    run = environment.get("GITHUB_RUN_ID", "")
    server = environment.get("GITHUB_SERVER_URL") or "https://github.com"
    return Where(
        repository=name,
        server_url=server.rstrip("/"),
        own_run=int(run) if run.isdigit() else None,
    )


def sweep_by(
    environment: Mapping[str, str],
    options: BeatOptions,
    clock: Clock,
    sleep: Callable[[float], None],
    patience: Patience = PATIENT,
) -> Swept:
    """One sweep with the token of GITHUB_TOKEN or GH_TOKEN at GITHUB_API_URL.

    Raises:
        EnvironmentMissing: there is no token.
        UsageError: no repository, or no such workflow.
    """
    where = where_by(environment)
    token = environment.get("GITHUB_TOKEN") or environment.get("GH_TOKEN") or ""
    if not token:
        names = ["GITHUB_TOKEN"]
        empty = [name for name in names if name in environment]
        hint = "The beat needs a token with `actions: write` and `pull-requests: write`."
        raise EnvironmentMissing([] if empty else names, empty, hint)
    api = environment.get("GITHUB_API_URL") or DEFAULT_API
    with GitHubClient(
        api, token, clock=clock, sleep=sleep, environment=environment, patience=patience
    ) as client:
        return sweep(client, where, options, clock)


def run_beat(
    options: BeatOptions,
    *,
    environment: Mapping[str, str],
    clock: Clock,
    sleep: Callable[[float], None],
    write: Callable[[str], object],
    patience: Patience = PATIENT,
) -> int:
    """Carry out the stage: sweep, write the log, its annotations and the job's summary.

    Args:
        options: What is asked for.
        environment: Of the job.
        clock: Tells what is due.
        sleep: Waits for limits; called with seconds.
        write: Takes whole lines for the step's log, line end included.
        patience: How often and how long a request is tried.

    Returns:
        The exit code: 0 when the sweep worked, whatever it found; 4 when GitHub could not be asked.

    Raises:
        UsageError: nothing was asked.
    """
    swept = sweep_by(environment, options, clock, sleep, patience)
    for line in lines(swept):
        write(log_text(line) + "\n")
    for one in notices(swept):
        write(one.command() + "\n")
    path = environment.get("GITHUB_STEP_SUMMARY", "")
    if path:
        server = environment.get("GITHUB_SERVER_URL") or "https://github.com"
        write_summary(Path(path), summary(swept, server.rstrip("/")))
    return swept.exit_code
