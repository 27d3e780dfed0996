"""What the beat says on pull requests: one comment for each workflow, found by its marker and author."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.drivers.github.context import ForeignText
from releasecheck.drivers.github.errors import (
    BadAnswer,
    GitHubError,
    RateLimited,
    TooManyPages,
    Unauthorized,
    quoted,
)
from releasecheck.scorecard.escape import markdown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from releasecheck.canonical import Json
    from releasecheck.drivers.github.beat.findings import Finding
    from releasecheck.drivers.github.beat.options import Where
    from releasecheck.drivers.github.rest import GitHubClient

_OPEN: Final = "<!-- releasecheck-beat-open -->"
_RESOLVED: Final = "<!-- releasecheck-beat-resolved -->"
_ISSUE: Final = re.compile(r"/issues/([1-9][0-9]{0,17})")
MOST_PAGES: Final = 10
"""Of comments of the whole repository, newest first, that are looked through for ones to correct."""


@dataclass(frozen=True, slots=True)
class _Comment:
    id: int
    body: str
    issue: int


def marker(workflow: str) -> str:
    """The first line of the beat's comment about one workflow."""
    return f"<!-- releasecheck-beat workflow={ForeignText(workflow)} -->"


def speak(
    client: GitHubClient,
    where: Where,
    workflows: Sequence[str],
    findings: Sequence[Finding],
    me: str,
) -> list[str]:
    """Say on each pull request what the beat has given up, and correct what it said before.

    Returns:
        What could not be said.
    """
    given_up: dict[tuple[int, str], list[Finding]] = {}
    for one in findings:
        if one.kind == "lost" and one.pull_request is not None:
            given_up.setdefault((one.pull_request, one.run.path), []).append(one)
    notes = []
    for (number, path), lost in given_up.items():
        try:
            _write(client, where, number, path, lost, me)
        except (RateLimited, Unauthorized):
            raise
        except GitHubError as error:
            notes.append(
                f"nothing could be said on pull request {number}: {quoted(str(error), 400)}; the job "
                "needs `pull-requests: write`, or the conversation is locked"
            )
    failed = {one.run.path for one in findings if one.kind == "error"}
    firsts = {marker(path): path for path in workflows if path not in failed}
    try:
        _correct(client, where, firsts, set(given_up), me)
    except (RateLimited, Unauthorized):
        raise
    except GitHubError as error:
        notes.append(f"older comments could not be corrected: {quoted(str(error), 400)}")
    return notes


def _write(
    client: GitHubClient, where: Where, number: int, path: str, lost: list[Finding], me: str
) -> None:
    issues = f"/repos/{where.repository}/issues"
    first = marker(path)
    body = "\n".join([first, _OPEN, *_given_up(where, path, lost)]) + "\n"
    ours = [
        one
        for item in client.pages(f"{issues}/{number}/comments")
        for one in _ours(item, me)
        if one.body.partition("\n")[0].rstrip("\r") == first
    ]
    if not ours:
        client.post(f"{issues}/{number}/comments", {"body": body})
    elif ours[0].body.replace("\r\n", "\n").strip() != body.strip():
        client.patch(f"{issues}/comments/{ours[0].id}", {"body": body})


def _given_up(where: Where, path: str, lost: list[Finding]) -> Iterator[str]:
    name = markdown(path.rpartition("/")[2])
    yield f"**{name} is not decided, and is not started again by itself.**"
    yield ""
    for one in sorted(lost, key=lambda found: found.run.id):
        link = f"{where.server_url}/{where.repository}/actions/runs/{one.run.id}"
        yield f"- [Run {one.run.id}]({link}), attempt {one.run.attempt}: {markdown(one.why)}"
    yield ""
    yield "A check that is not decided is not passed. This comment is kept up to date."


def _correct(
    client: GitHubClient,
    where: Where,
    firsts: dict[str, str],
    given_up: set[tuple[int, str]],
    me: str,
) -> None:
    """Edit comments that say of a run what is true no more (trap 30)."""
    issues = f"/repos/{where.repository}/issues"
    asked = {"sort": "updated", "direction": "desc"}
    listed = client.pages(f"{issues}/comments", None, asked, most=MOST_PAGES)
    comments: list[_Comment] = []
    with suppress(TooManyPages):  # ours among those that were read are corrected all the same
        for item in listed:
            comments += _ours(item, me)
    for one in comments:
        first, _, rest = one.body.replace("\r\n", "\n").partition("\n")
        path = firsts.get(first)
        if path is None or (one.issue, path) in given_up or not rest.startswith(_OPEN):
            continue
        name = markdown(path.rpartition("/")[2])
        said = f"The beat had given up a run of {name} here. No run of it is stuck any more."
        client.patch(f"{issues}/comments/{one.id}", {"body": f"{first}\n{_RESOLVED}\n{said}\n"})


def _ours(item: Json, me: str) -> Iterator[_Comment]:
    """A listed comment, if it is ours: anybody can write our marker, nobody can write as us."""
    if not isinstance(item, dict) or type(item.get("id")) is not int:
        message = "GET comments: the list holds something that is no comment"
        raise BadAnswer(message, status=200)
    user, body = item.get("user") or {}, item.get("body")
    match = _ISSUE.search(str(item.get("issue_url") or ""))
    if isinstance(body, str) and user.get("login") == me and match is not None:
        yield _Comment(item["id"], body, int(match[1]))
