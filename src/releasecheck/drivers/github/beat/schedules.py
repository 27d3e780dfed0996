"""Schedules that are late, dropped or switched off: nothing else would tell (trap 29, P-12)."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

import yaml

from releasecheck.drivers.github.beat.cards import read_moment
from releasecheck.drivers.github.beat.cron import Cron, parse_cron
from releasecheck.drivers.github.beat.findings import ScheduleNote
from releasecheck.drivers.github.beat.runs import list_runs
from releasecheck.drivers.github.context import ForeignText
from releasecheck.drivers.github.errors import NotFound, quoted
from releasecheck.drivers.github.rest import segment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.canonical import Json
    from releasecheck.drivers.github.beat.options import BeatOptions, Where
    from releasecheck.drivers.github.rest import GitHubClient

LARGEST: Final = 512 * 1024
"""Bytes of a workflow file that are read."""
_DISABLED: Final = {
    "disabled_inactivity": "GitHub has switched it off after 60 days without activity; "
    "enable it again on the Actions page or with `gh workflow enable`",
    "disabled_manually": "somebody has switched it off; it checks nothing until it is enabled again",
}


def check_schedule(
    client: GitHubClient, where: Where, path: str, options: BeatOptions, now: datetime
) -> Iterator[ScheduleNote]:
    """What is wrong with the schedule of one workflow.

    Raises:
        GitHubError: as for any request.
    """
    name = path.rpartition("/")[2]
    try:
        workflow = client.get(f"/repos/{where.repository}/actions/workflows/{segment(name)}")
    except NotFound:
        return
    state = workflow.get("state") if isinstance(workflow, dict) else None
    if state in _DISABLED:
        yield ScheduleNote(path, "disabled", f"{ForeignText(name)}: {_DISABLED[state]}")
        return
    try:
        crons = _crons(client, where.repository, path, options)
    except ValueError as error:
        message = f"{ForeignText(name)}: its schedule cannot be read: {quoted(str(error), 200)}"
        yield ScheduleNote(path, "unreadable", message)
        return
    if crons:
        since = now - options.look_back
        begun = read_moment(_text(workflow, "updated_at")) or read_moment(
            _text(workflow, "created_at")
        )
        yield from _punctual(client, where, path, options, crons, now, max(since, begun or since))


def _text(value: Json, key: str) -> str | None:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def _punctual(
    client: GitHubClient,
    where: Where,
    path: str,
    options: BeatOptions,
    crons: tuple[Cron, ...],
    now: datetime,
    begun: datetime,
) -> Iterator[ScheduleNote]:
    since = now - options.look_back
    listed = list_runs(client, where.repository, since, path, "schedule")
    newest = listed.runs[0].created if listed.runs else None
    name = ForeignText(path.rpartition("/")[2])
    said = " and ".join(repr(one.text) for one in crons)
    # A run that has not begun an hour after its time may still come; a day later it will not.
    after = newest or begun
    missed = _due(crons, after, now - options.late_after)
    if missed:
        last = (
            "it never ran by schedule since" if newest is None else "its last scheduled run was at"
        )
        times = "1 start" if len(missed) == 1 else f"{len(missed)} starts"
        message = (
            f"{name}: {times} of {said} did not happen, the first one at {_stamp(missed[0])}; {last} "
            f"{_stamp(after)}. GitHub may delay or drop them, most of all at the start of an hour"
        )
        yield ScheduleNote(path, "missed", message)
    elif newest is not None:
        owed = _due(crons, newest - timedelta(days=2), newest)
        late = newest - owed[-1] if owed else timedelta()
        if late > options.late_after:
            minutes = int(late.total_seconds() // 60)
            message = f"{name}: the run of {_stamp(owed[-1])} ({said}) began {minutes} minutes late"
            yield ScheduleNote(path, "late", message)


def _due(crons: tuple[Cron, ...], after: datetime, until: datetime) -> list[datetime]:
    return sorted({moment for one in crons for moment in one.between(after, until)})


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _crons(
    client: GitHubClient, repository: str, path: str, options: BeatOptions
) -> tuple[Cron, ...]:
    """The schedules of a workflow; none when it has none.

    Raises:
        ValueError: they cannot be read.
    """
    if options.cron:
        return tuple(parse_cron(text) for text in options.cron)
    place = "/".join(segment(part) for part in path.split("/"))
    try:
        # Without a reference GitHub shows the default branch, the only one whose schedules count.
        shown = client.get(f"/repos/{repository}/contents/{place}")
    except NotFound:
        return ()
    return tuple(_entries(_parsed(shown)))


def _parsed(shown: Json) -> object:
    content = shown.get("content") if isinstance(shown, dict) else None
    if not isinstance(content, str) or len(content) > 2 * LARGEST:
        message = "GitHub does not show the file"
        raise ValueError(message)
    try:
        return yaml.safe_load(base64.b64decode(content))
    except (binascii.Error, yaml.YAMLError, RecursionError) as error:
        message = f"it is no YAML: {quoted(str(error), 150)}"
        raise ValueError(message) from None


def _entries(workflow: object) -> Iterator[Cron]:
    # `on` without quotes is a truth value to readers of YAML 1.1.
    triggers: object = None
    if isinstance(workflow, dict):
        triggers = workflow.get("on", workflow.get(True))
    entries = triggers.get("schedule") if isinstance(triggers, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict) or not isinstance(entry.get("cron"), str):
            message = "an entry of `schedule` names no cron"
            raise ValueError(message)  # noqa: TRY004 - the file is wrong, not our code
        yield parse_cron(entry["cron"], _zone(entry.get("timezone")))


def _zone(name: object) -> tzinfo:
    if name is None:
        return UTC
    try:
        return ZoneInfo(str(name))
    except (KeyError, OSError, ValueError):
        message = f"the time zone {quoted(str(name), 60)!r} is not known here"
        raise ValueError(message) from None
