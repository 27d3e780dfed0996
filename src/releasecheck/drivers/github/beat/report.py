"""A sweep in words: lines for a log, a job summary, annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.drivers.github.beat.findings import MEANING, Swept
from releasecheck.drivers.github.commands import Annotation, worst
from releasecheck.scorecard.escape import markdown

if TYPE_CHECKING:
    from collections.abc import Iterator

TITLE = "releasecheck beat"


def lines(swept: Swept) -> Iterator[str]:
    """For a terminal or a log; none of them is escaped yet."""
    looked = ", ".join(path.rpartition("/")[2] for path in swept.workflows)
    yield f"repository {swept.repository}"
    yield f"workflows  {looked or 'none with artifacts of ours'}"
    told = [f"{count} {kind}" for kind, count in swept.counts.items()]
    yield f"runs       {', '.join(told) or 'none that is stranded'}"
    for one in swept.findings:
        if one.kind != "finished":
            yield one.line()
    for note in swept.schedules:
        yield f"schedule: {note.message}"
    for badge in swept.badges:
        yield f"badge: {badge.kind}: {badge.message}"
    for text in swept.notes:
        yield f"note: {text}"
    if swept.stopped:
        yield f"stopped: {swept.stopped}"


def summary(swept: Swept, server_url: str) -> str:
    """The job's summary."""
    return "\n".join(_summary(swept, server_url)) + "\n"


def _summary(swept: Swept, server_url: str) -> Iterator[str]:
    yield "## Runs that nobody finishes"
    yield ""
    looked = ", ".join(markdown(path.rpartition("/")[2]) for path in swept.workflows)
    dry = " Nothing was changed: this was a dry run." if swept.dry_run else ""
    yield f"Looked at {looked or 'no workflow, since none has artifacts of ours'}.{dry}"
    if swept.stopped:
        yield ""
        yield f"**The sweep was not finished:** {markdown(swept.stopped)}"
    if swept.findings:
        yield from ("", "| runs | what became of them |", "| ---: | --- |")
        for kind, count in swept.counts.items():
            yield f"| {count} | {MEANING[kind]} |"
    shown = [one for one in swept.findings if one.kind not in ("finished", "superseded")]
    if shown:
        yield from (
            "",
            "| run | attempt | pull request | state | why |",
            "| --- | ---: | --- | --- | --- |",
        )
    for one in shown:
        run = f"[{one.run.id}]({server_url}/{swept.repository}/actions/runs/{one.run.id})"
        pull = one.pull_request
        link = f"[{pull}]({server_url}/{swept.repository}/pull/{pull})" if pull else ""
        yield f"| {run} | {one.run.attempt} | {link} | {one.kind} | {markdown(one.why)} |"
    told = [
        *(note.message for note in swept.schedules),
        *(f"badge: {badge.message}" for badge in swept.badges),
        *swept.notes,
    ]
    if told:
        yield ""
        yield from (f"- {markdown(text)}" for text in told)


def notices(swept: Swept) -> tuple[Annotation, ...]:
    """At most ten: what somebody must do, and where nobody else is told."""
    return worst(tuple(_notices(swept)))


def _notices(swept: Swept) -> Iterator[Annotation]:
    if swept.stopped:
        yield Annotation("error", f"the sweep was not finished: {swept.stopped}", title=TITLE)
    for one in swept.findings:
        if one.kind == "error" or (one.kind == "lost" and one.pull_request is None):
            yield Annotation("warning", f"{one.run.what}: {one.why}", title=TITLE)
    for note in swept.schedules:
        yield Annotation("warning", note.message, file=note.workflow, title=TITLE)
    for text in swept.notes:
        yield Annotation("warning", text, title=TITLE)
