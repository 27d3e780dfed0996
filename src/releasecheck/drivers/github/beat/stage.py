"""The stage `beat` of the Action, and the same by hand: one sweep, and what it says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from releasecheck.drivers.github.beat.options import BeatOptions, Where
from releasecheck.drivers.github.beat.report import lines, notices, summary
from releasecheck.drivers.github.beat.sweep import sweep
from releasecheck.drivers.github.byhand import DEFAULT_API
from releasecheck.drivers.github.commands import log_text, write_summary
from releasecheck.drivers.github.rest import GitHubClient
from releasecheck.errors import EnvironmentMissing, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from releasecheck.drivers.github.beat.findings import Swept
    from releasecheck.ports import Clock

_REPOSITORY: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}")
DEFAULT_SERVER: Final = "https://github.com"


def run_beat(
    client: GitHubClient,
    where: Where,
    options: BeatOptions,
    clock: Clock,
    *,
    write: Callable[[str], object],
    summary_path: Path | None,
) -> int:
    """Carry out the stage: sweep, write the log with its annotations, and the job's summary.

    Args:
        client: Whose token may write actions and pull requests.
        where: The repository; `where_of(context)`.
        options: What is asked for.
        clock: Tells what is due.
        write: Takes whole lines for the step's log, line end included.
        summary_path: The file that GITHUB_STEP_SUMMARY names.

    Returns:
        The exit code: 0 when the sweep worked, whatever it found; 4 when GitHub could not be asked.

    Raises:
        UsageError: a workflow that was named is not there.
    """
    swept = sweep(client, where, options, clock)
    for line in lines(swept):
        write(log_text(line) + "\n")
    for one in notices(swept):
        write(one.command() + "\n")
    if summary_path is not None:
        write_summary(summary_path, summary(swept, where.server_url))
    return swept.exit_code


def sweep_by_hand(
    environment: Mapping[str, str],
    options: BeatOptions,
    clock: Clock,
    sleep: Callable[[float], None],
) -> Swept:
    """One sweep with the token of GITHUB_TOKEN or GH_TOKEN at GITHUB_API_URL.

    Raises:
        EnvironmentMissing: there is no token.
        UsageError: no repository, or no such workflow.
    """
    where = _where(environment)
    token = environment.get("GITHUB_TOKEN") or environment.get("GH_TOKEN") or ""
    if not token:
        names = ["GITHUB_TOKEN"]
        empty = [name for name in names if name in environment]
        hint = "The beat needs a token with `actions: write` and `pull-requests: write`."
        raise EnvironmentMissing([] if empty else names, empty, hint)
    api = environment.get("GITHUB_API_URL") or DEFAULT_API
    with GitHubClient(api, token, clock=clock, sleep=sleep, environment=environment) as client:
        return sweep(client, where, options, clock)


def _where(environment: Mapping[str, str]) -> Where:
    name = environment.get("GITHUB_REPOSITORY", "")
    if not _REPOSITORY.fullmatch(name):
        message = f"found {name[:100]!r} as repository; set GITHUB_REPOSITORY to owner/name"
        raise UsageError(message)
    run = environment.get("GITHUB_RUN_ID", "")
    server = environment.get("GITHUB_SERVER_URL") or DEFAULT_SERVER
    return Where(
        repository=name,
        server_url=server.rstrip("/"),
        own_run=int(run) if run.isdigit() else None,
    )
