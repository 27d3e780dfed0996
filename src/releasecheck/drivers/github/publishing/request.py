"""What every surface is given."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from releasecheck.drivers.github.context import AfterRun, GitHubContext, MergeGroup, PullRequest
from releasecheck.drivers.github.publishing.evidence import Evidence, Expected

if TYPE_CHECKING:
    from releasecheck.drivers.github.rest import GitHubClient
    from releasecheck.pipeline.world import World

_URL: Final = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+/[A-Za-z0-9._~/?&=%@+-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishOptions:
    """What the workflow asks to be published, and what it knows of the run."""

    out: Path
    """Folder for `published.json` and for what later steps upload or sign; made when it is not there."""
    expected: Expected = field(default_factory=Expected)
    """What other jobs know of the run: a bundle of another one is refused."""
    config_folder: str = "."
    """Of the config, relative to the repository's root, with `/`."""
    scorecard_url: str | None = None
    """Page of the uploaded scorecard."""
    summary: bool = True
    annotations: bool = True
    comment: bool = True
    comment_author: str | None = None
    """Login whose comment is ours; None: asked of GitHub, else `github-actions[bot]`."""
    pull_request: int | None = None
    """For `workflow_run`, whose event names no pull request of a fork; checked against its head."""
    badge_branch: str | None = None
    """None: no badge is published."""
    status: bool = False
    """Set `releasecheck/<suite>` on the commit that the event is about."""
    asset: bool = True
    attest: bool = False
    promotion: bool = True


@dataclass(frozen=True, slots=True)
class Request:
    """One publish stage."""

    evidence: Evidence
    suite: str | None
    """None where nobody trusted names it."""
    client: GitHubClient | None
    """None: there is no token."""
    context: GitHubContext
    options: PublishOptions
    world: World

    @property
    def scorecard_url(self) -> str | None:
        """The page of the scorecard; None for what is no address."""
        url = self.options.scorecard_url
        return url if url and len(url) <= 1000 and _URL.fullmatch(url) else None

    @property
    def read_only(self) -> str | None:
        """Why this job's token cannot write; None where it may."""
        subject = self.context.subject
        if isinstance(subject, PullRequest) and self.context.event == "pull_request":
            if subject.fork:
                return "a pull request from a fork has a token that cannot write"
            if "dependabot[bot]" in (self.context.actor.raw, self.context.triggering_actor.raw):
                return "a pull request of Dependabot has a token that cannot write"
        return None

    @property
    def not_default_branch(self) -> str | None:
        """Why this run may claim nothing for the default branch; None where it may."""
        match self.context.subject:
            case PullRequest():
                return "a pull request publishes none"
            case MergeGroup():
                return "a merge group publishes none"
            case AfterRun():
                return "a run about another run publishes none"
            case _:
                if self.context.on_default_branch:
                    return None
                return "this run is not about the default branch"


def in_repository(folder: str, path: str) -> str | None:
    """A dataset file as the repository knows it; None where it would lie outside of it."""
    found = posixpath.normpath(posixpath.join(folder.replace("\\", "/") or ".", path))
    return None if found.startswith(("../", "/")) or found in ("..", ".") else found
