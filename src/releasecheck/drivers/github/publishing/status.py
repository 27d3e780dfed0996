"""The commit status `releasecheck/<suite>`: what to require where the job that decides is not a check itself.

After a `workflow_run` event the trusted jobs belong to the default branch, so nothing of them shows on the
pull request but this (P-11). Green only for exit code 0 of a final bundle that was recomputed; a status that
is never set stays missing, and a required one that is missing does not let anything through (trap 10).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from releasecheck.drivers.github.errors import Forbidden, quoted
from releasecheck.drivers.github.publishing.evidence import Absent, Judged, Unverifiable
from releasecheck.drivers.github.publishing.results import Done, Failed, Result, Skipped
from releasecheck.scorecard.verdict import headline
from releasecheck.stats import count

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.drivers.github.context import GitHubContext
    from releasecheck.drivers.github.publishing.evidence import Evidence
    from releasecheck.drivers.github.publishing.request import Request
    from releasecheck.drivers.github.rest import GitHubClient
    from releasecheck.model.scorecard import Scorecard

State: TypeAlias = Literal["pending", "success", "failure", "error"]
LONGEST: Final = 140
"""Characters of a description; GitHub refuses more."""
_LONGEST_READ: Final = 1000
"""Statuses of one commit that are looked through; GitHub keeps that many for one name."""
_BY: Final = re.compile(r" · run ([0-9]{1,9})\.([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Said:
    """One status in words."""

    state: State
    description: str


def publish_status(request: Request) -> Result:
    """Set the status of the commit that the event is about.

    Raises:
        GitHubError: as for any request.
    """
    if not request.options.status:
        return Skipped("not asked for")
    if request.suite is None:
        return Failed("nobody trusted names the suite, so nobody knows whose status to set")
    if request.client is None:
        return Failed("there is no token")
    if request.read_only:
        return Skipped(request.read_only)
    return set_status(request.client, request.context, request.suite, state_of(request.evidence))


def set_pending(client: GitHubClient, context: GitHubContext, suite: str) -> Result:
    """Say that a check of the event's commit has begun, in place of what an earlier run came to.

    Raises:
        GitHubError: as for any request.
    """
    return set_status(client, context, suite, Said("pending", "The check is running"))


def state_of(evidence: Evidence) -> Said:
    """The status that a bundle comes to."""
    match evidence:
        case Judged():
            return _judged(evidence)
        case Unverifiable():
            return Said(
                "error", "Unverifiable: the bundle contradicts itself, or is of another run"
            )
        case Absent():
            return Said("error", "No verdict: this run decided nothing")


def _judged(evidence: Judged) -> Said:
    card, plan = evidence.scorecard, evidence.plan
    if plan.adopted is not None and plan.mode != "full":
        # Whoever opens a pull request from a fork chooses what was run: a part of it passes nothing.
        return Said(
            "error", f"Only part of the suite was run ({plan.mode}), so nothing was decided"
        )
    words = headline(card)
    if card.exit_code == 5:
        return Said("pending", _until(card))
    if card.exit_code == 1:
        return Said("failure", words)
    if not evidence.final:
        return Said("error", f"{words}; it may still change")
    return Said("success" if card.exit_code == 0 else "error", words)


def _until(card: Scorecard) -> str:
    """How many scores are still to come, and until when they are waited for."""
    owed = count(sum(one.pending for one in card.waiting), "score")
    ends = [one.deadline for one in card.waiting if one.deadline is not None]
    by = f" until {max(ends)[:16].replace('T', ' ')} UTC" if ends else ""
    # Last, where a description that is too long is cut.
    return f"Waiting for {owed}{by} ({', '.join(one.judge for one in card.waiting)})"


def set_status(client: GitHubClient, context: GitHubContext, suite: str, said: Said) -> Result:
    """Set it, unless it stands there already; a run that is older than one that spoke may only say no.

    Raises:
        GitHubError: as for any request.
    """
    name, head = f"releasecheck/{suite}", context.head_sha
    end = f" · run {context.run_number}.{context.run_attempt}"
    description = quoted(said.description, LONGEST - len(end)) + end
    before = _before(client, context, name)
    newest = max((order for one in before if (order := _order(one))), default=(0, 0))
    own = (context.run_number, context.run_attempt)
    if newest > own and said.state in ("pending", "success"):
        return Skipped(f"run {newest[0]}, attempt {newest[1]}, is newer and has set it already")
    standing = before[0] if before else None
    if standing is not None and (standing.get("state"), standing.get("description")) == (
        said.state, description,
    ):  # fmt: skip
        return Done("unchanged", url=context.run_url, note=f"{name}: {said.state}")
    try:
        client.post(
            f"/repos/{context.repository}/statuses/{head}",
            {
                "state": said.state,
                "context": name,
                "description": description,
                "target_url": context.run_url,
            },
        )
    except Forbidden as error:
        return Failed(f"{quoted(str(error), 600)}; the job needs `statuses: write`")
    change: Literal["created", "updated"] = "created" if standing is None else "updated"
    return Done(change, url=context.run_url, note=f"{name}: {said.state}")


def _before(client: GitHubClient, context: GitHubContext, name: str) -> list[dict[str, Json]]:
    """Statuses of this name, newest first; the first one counts."""
    path = f"/repos/{context.repository}/commits/{context.head_sha}/statuses"
    listed = islice(client.pages(path), _LONGEST_READ)
    return [item for item in listed if isinstance(item, dict) and item.get("context") == name]


def _order(standing: dict[str, Json]) -> tuple[int, int] | None:
    """Number and attempt of the run that set it; None when somebody else did."""
    description = standing.get("description")
    match = _BY.search(description) if isinstance(description, str) else None
    return None if match is None else (int(match[1]), int(match[2]))
