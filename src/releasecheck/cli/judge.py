"""`releasecheck judge check`, and what else is done with a judge by itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from releasecheck.cli import calibrate, judge_export
from releasecheck.cli.options import EXISTING, Duration, json_option
from releasecheck.errors import UsageError

if TYPE_CHECKING:
    from releasecheck.pipeline.checking import Checked, CheckRequest, Probe
    from releasecheck.pipeline.checking.report import Outcome

_WIDTH: Final = 80
_NAME: Final = 17
_MARKS: Final = {"ok": "ok", "warning": "WARNING", "failed": "FAILED", "not-applicable": "-"}


@click.group("judge")
def command() -> None:
    """Check or calibrate a judge, or export answers for people to judge."""


@command.command("check", short_help="Hold a judge to its contract.")
@click.argument("config", type=EXISTING, required=False)
@click.argument("judge_id", required=False)
@click.option("--url", help="Address of an evaluator@2 judge, without any suite.")
@click.option(
    "--header",
    "headers",
    multiple=True,
    metavar="'NAME: VALUE'",
    help="Sent with each call to --url; ${NAME} reads the environment.",
)
@click.option("--profile", help="Overlay of the config to use.")
@click.option(
    "--deadline", type=Duration(), default="30s", show_default=True, help="For a deferred score."
)
@click.option(
    "--samples",
    type=click.IntRange(1, 50),
    default=5,
    show_default=True,
    help="Outputs that are judged to fill a batch.",
)
@json_option
def check(
    *,
    config: Path | None,
    judge_id: str | None,
    url: str | None,
    headers: tuple[str, ...],
    profile: str | None,
    deadline: float,
    samples: int,
    as_json: bool,
) -> int:
    """Hold a judge to its contract: CONFIG JUDGE_ID, or --url.

    It asks the judge a few questions, collects what is deferred, and says what held. Exit codes: 0 all held,
    2 something did not, 3 usage or configuration, 4 the judge cannot be reached.
    """
    import asyncio
    import uuid

    from releasecheck.cli.output import document
    from releasecheck.pipeline.checking import CheckRequest

    if deadline <= 0:
        message = "--deadline must be above 0: a deferred score needs some time"
        raise UsageError(message)
    request = CheckRequest(uuid.uuid4().hex[:12], deadline, samples)
    checked = asyncio.run(_check(config, judge_id, url, headers, profile, request))
    document(checked.to_json()) if as_json else _show(checked)
    return checked.exit_code


async def _check(
    config: Path | None,
    judge_id: str | None,
    url: str | None,
    headers: tuple[str, ...],
    profile: str | None,
    request: CheckRequest,
) -> Checked:
    from releasecheck.drivers.local.world import local_world
    from releasecheck.pipeline.checking import check_address, check_judge_of

    world = local_world(quiet=True)
    if url is not None and config is None and profile is None:
        return await check_address(url, _headers(headers), world, request)
    if config is None or judge_id is None or url is not None or headers:
        message = "name a judge as CONFIG JUDGE_ID, or its address with --url (and --header 'name: value')"
        raise UsageError(message)
    return await check_judge_of(config, profile, judge_id, world, request)


def _headers(written: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in written:
        name, colon, value = text.partition(":")
        if not colon or not name.strip() or not value.strip():
            # The text may hold a secret; its name is before the colon, if there is one.
            message = "--header needs 'NAME: VALUE', with something on both sides of the colon"
            raise UsageError(message)
        found[name.strip()] = value.strip()
    return found


def _show(checked: Checked) -> None:
    from releasecheck.cli.output import say

    counts = checked.counts
    say(checked.verdict)
    said = [f"{counts[outcome]} {words}" for outcome, words in _COUNTED.items() if counts[outcome]]
    say(", ".join(said))
    say()
    for probe in checked.probes:
        for line in _lines(probe):
            say(line)


_COUNTED: Final[dict[Outcome, str]] = {
    "ok": "held",
    "failed": "failed",
    "warning": "with a warning",
    "not-applicable": "not applicable",
}


def _lines(probe: Probe) -> list[str]:
    import textwrap

    head = f"{_MARKS[probe.outcome]:<8} {probe.name:<{_NAME - 1}}"
    indent = " " * len(head)
    # One line each, so that what a judge answered cannot draw a report of its own.
    parts = [" ".join(probe.found.split())]
    if probe.todo:
        parts.append(f"do: {probe.todo}")
    lines: list[str] = []
    for part in parts:
        start = indent if lines else head
        lines += textwrap.wrap(part, _WIDTH, initial_indent=start, subsequent_indent=indent) or [
            start
        ]
    return lines


command.add_command(calibrate.command)
command.add_command(judge_export.command)
