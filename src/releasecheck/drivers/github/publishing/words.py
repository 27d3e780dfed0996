"""The notice for a run without a decision: what happened and what to do, in escaped Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from releasecheck.drivers.github.publishing.evidence import Absent, Unverifiable
from releasecheck.scorecard.escape import Markdown
from releasecheck.scorecard.templating import markdown_environment

if TYPE_CHECKING:
    from releasecheck.drivers.github.publishing.request import Request


@dataclass(frozen=True, slots=True)
class Notice:
    """What is said instead of a scorecard."""

    headline: str
    badge: str
    why: tuple[str, ...]
    steps: tuple[str, ...]


def notice_of(evidence: Unverifiable | Absent) -> Notice:
    """The words for each kind."""
    match evidence:
        case Unverifiable(why=why):
            return Notice(
                "Unverifiable: this run decided nothing",
                "unverifiable",
                why,
                (
                    "Do not rely on any number of this bundle: it contradicts itself, or is of another run.",
                    "Re-run all jobs of the workflow. If it stays so, find out who wrote to the artifacts.",
                ),
            )
        case Absent(why=why):
            return Notice(
                "No verdict: this run decided nothing",
                "no verdict",
                why,
                (
                    "Look at the log of the first job that failed. Push a repair when it names a file of yours; else re-run "
                    "the failed jobs.",
                ),
            )


def notice_markdown(request: Request, notice: Notice) -> str:
    """The notice for a summary or comment."""
    text = (
        markdown_environment()
        .get_template("notice.md.j2")
        .render(
            notice=notice,
            suite=request.suite,
            commit=request.context.head_sha,
            run=run_link(request),
        )
    )
    return str(text)


def run_link(request: Request) -> Markdown:
    """The page of this run's attempt; addresses were held to their shape when they were read."""
    context = request.context
    return Markdown(f"[Run {context.run_number}, attempt {context.run_attempt}]({context.run_url})")
