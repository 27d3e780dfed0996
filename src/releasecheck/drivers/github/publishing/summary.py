"""The job summary: the bundle's own, bounded in bytes and never dropped whole (trap 17, P-09)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from releasecheck.drivers.github.commands import write_summary
from releasecheck.drivers.github.publishing.evidence import Judged
from releasecheck.drivers.github.publishing.results import Done, Result, Skipped
from releasecheck.drivers.github.publishing.words import notice_markdown, notice_of
from releasecheck.scorecard.summary import render_summary

if TYPE_CHECKING:
    from releasecheck.drivers.github.publishing.request import Request


def publish_summary(request: Request) -> Result:
    """Append to the file that GITHUB_STEP_SUMMARY names."""
    if not request.options.summary:
        return Skipped("not asked for")
    name = request.world.environment.get("GITHUB_STEP_SUMMARY")
    if not name:
        return Skipped("GITHUB_STEP_SUMMARY names no file")
    left = write_summary(Path(name), summary_text(request))
    note = f"{left:,} bytes were left out" if left else None
    return Done("created", url=request.context.run_url, note=note)


def summary_text(request: Request) -> str:
    """The Markdown, with a link to the whole scorecard first: what is cut is cut at the end."""
    evidence = request.evidence
    if not isinstance(evidence, Judged):
        return notice_markdown(request, notice_of(evidence))
    text = render_summary(evidence.report())
    first, _, rest = text.partition("\n")
    url = request.scorecard_url
    link = f"\n[The whole scorecard]({url}) with every case\n" if url else ""
    at = f"\nRun {request.context.run_number}, attempt {request.context.run_attempt}, of "
    return f"{first}\n{link}{at}<code>{request.context.head_sha}</code>\n{rest}"
