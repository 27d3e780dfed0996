"""One sticky comment on a pull request: found by its marker and its author, edited, never doubled (C-20)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from releasecheck.drivers.github.context import AfterRun, PullRequest
from releasecheck.drivers.github.errors import BadAnswer, Forbidden, quoted
from releasecheck.drivers.github.login import own_login
from releasecheck.drivers.github.publishing.comment_text import comment_text
from releasecheck.drivers.github.publishing.marker import (
    WrittenBy,
    is_marked,
    marker,
    read_writer,
    written_by,
)
from releasecheck.drivers.github.publishing.results import Done, Failed, Result, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.canonical import Json
    from releasecheck.drivers.github.publishing.request import Request
    from releasecheck.drivers.github.rest import GitHubClient


@dataclass(frozen=True, slots=True)
class _Ours:
    """A comment of our own."""

    id: int
    body: str
    url: str | None
    by: WrittenBy | None


def publish_comment(request: Request) -> Result:
    """Create or edit the comment of this suite and workflow.

    Raises:
        GitHubError: as for any request.
    """
    if not request.options.comment:
        return Skipped("not asked for")
    client = request.client
    number = _number(request)
    if number is None and isinstance(request.context.subject, AfterRun):
        return Skipped("no open pull request of this repository is at the commit of the event")
    if number is None:
        return Skipped(f"a {request.context.event} event is about no single pull request")
    if request.suite is None:
        return Skipped("nobody trusted names the suite, so no comment of ours can be found")
    if client is None:
        return Skipped("there is no token")
    if request.read_only:
        return Skipped(request.read_only)
    if isinstance(request.context.subject, AfterRun) and (why := _elsewhere(request, number)):
        return Skipped(why)
    try:
        return _write(request, client, number, request.suite)
    except Forbidden as error:
        advice = "the job needs `pull-requests: write`, or the conversation is locked"
        return Failed(f"{quoted(str(error), 600)}; {advice}")


def _number(request: Request) -> int | None:
    subject = request.context.subject
    if isinstance(subject, PullRequest):
        return subject.number
    if isinstance(subject, AfterRun):
        return (
            request.options.pull_request
            or request.context.pull_request
            or _open_at(request, subject)
        )
    return None


def _open_at(request: Request, subject: AfterRun) -> int | None:
    """The one open pull request that is at the event's commit; the event of a fork's run names none."""
    owner = (subject.head_repository or "").partition("/")[0]
    if request.client is None or not owner or subject.head_branch is None:
        return None
    if subject.event not in ("pull_request", "pull_request_target"):
        return None
    # The branch is a stranger's text: the client encodes it, and the head's commit is what decides.
    listed = request.client.pages(
        f"/repos/{request.context.repository}/pulls",
        params={"state": "open", "head": f"{owner}:{subject.head_branch.raw}"},
    )
    found = [
        item["number"]
        for item in listed
        if isinstance(item, dict)
        and isinstance(head := item.get("head"), dict)
        and head.get("sha") == subject.head_sha
        and type(item.get("number")) is int
    ]
    return found[0] if len(found) == 1 else None


def _elsewhere(request: Request, number: int) -> str | None:
    """Why a pull request is not the one that this run is about: its number may come from a stranger."""
    client = request.client
    path = f"/repos/{request.context.repository}/pulls/{number}"
    pull = None if client is None else client.get(path)
    head = pull.get("head") if isinstance(pull, dict) else None
    sha = head.get("sha") if isinstance(head, dict) else None
    if sha == request.context.head_sha:
        return None
    return (
        f"pull request {number} is at {quoted(str(sha), 40)} and this run is about "
        f"{request.context.head_sha}"
    )


def _write(request: Request, client: GitHubClient, number: int, suite: str) -> Result:
    first, by = marker(suite, request.context), written_by(request.context)
    issues = f"/repos/{request.context.repository}/issues"
    author = request.options.comment_author or own_login(client)
    # All pages, to the last: ours may be behind hundreds of others.
    listed = client.pages(f"{issues}/{number}/comments")
    ours = [one for item in listed for one in _ours(item, first, author)]
    newer = [one.by for one in ours if one.by is not None and one.by.order > by.order]
    if newer:
        return Skipped(
            f"run {newer[0].number}, attempt {newer[0].attempt}, is newer and has commented already"
        )
    body = f"{first}\n{by.line()}\n{comment_text(request)}"
    if not ours:
        made = client.post(f"{issues}/{number}/comments", {"body": body})
        return Done("created", url=_url(made))
    kept = ours[0]
    if kept.body.replace("\r\n", "\n").rstrip("\n") == body.rstrip("\n"):
        return Done("unchanged", url=kept.url)
    made = client.patch(f"{issues}/comments/{kept.id}", {"body": body})
    return Done("updated", url=_url(made) or kept.url)


def _ours(item: Json, first: str, author: str) -> Iterator[_Ours]:
    """A listed comment, if it is ours: anybody can write our marker, nobody can write as us."""
    if not isinstance(item, dict) or type(item.get("id")) is not int:
        message = "GET comments: the list holds something that is no comment"
        raise BadAnswer(message, status=200)
    user, body = item.get("user") or {}, item.get("body")
    bot = author.endswith("[bot]")
    if (
        isinstance(body, str)
        and user.get("login") == author
        and (user.get("type") == "Bot") is bot
        and is_marked(body, first)
    ):
        yield _Ours(item["id"], body, _url(item), read_writer(body))


def _url(item: Json) -> str | None:
    url = item.get("html_url") if isinstance(item, dict) else None
    return quoted(url) if isinstance(url, str) else None
