"""The baseline artifact of a passing run on the default branch, made after judging alone (trap 25).

Nothing is stored for a run that did not pass its own gates, so that no regression becomes what the next
run is compared with.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

from releasecheck.canonical import dump_document, parse_own
from releasecheck.drivers.github.names import BaselineName
from releasecheck.drivers.github.publishing.evidence import Judged
from releasecheck.drivers.github.publishing.results import Done, Result, Skipped
from releasecheck.errors import UsageError
from releasecheck.pipeline.baselines import PROMOTION, promote
from releasecheck.pipeline.files import read_bytes, write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.drivers.github.publishing.request import Request

FOLDER: Final = "baseline"


def publish_promotion(request: Request) -> Result:
    """Write the folder that a later step uploads as the suite's baseline of this attempt.

    Raises:
        Untrusted: the three files of a baseline contradict each other.
        InfrastructureError: a file cannot be written.
    """
    evidence = request.evidence
    if not request.options.promotion:
        return Skipped("not asked for")
    if (why := request.not_default_branch) is not None:
        return Skipped(why)
    if not isinstance(evidence, Judged):
        return Skipped("there is no verified bundle to promote")
    if evidence.manifest.provenance == "local":
        return Skipped("a local run is promoted by `releasecheck baseline promote`")
    if evidence.commit != request.context.sha:
        return Skipped("the bundle does not name the commit of this job")
    name = artifact_name(request, evidence)
    folder = request.options.out / FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    try:
        promote(evidence.bundle.path, folder, accept=None, now=request.world.clock.now())
    except UsageError as error:
        shutil.rmtree(folder, ignore_errors=True)
        return Skipped(str(error))
    _say_whose(request, folder, evidence.commit)
    return Done(
        "created",
        file=f"{FOLDER}/{name}",
        note=f"written; a later step of this job uploads it as {name}",
    )


def artifact_name(request: Request, evidence: Judged) -> str:
    """`releasecheck-baseline-<suite>-<plan12>-a<attempt>`."""
    return str(BaselineName(evidence.plan.suite, evidence.plan12, request.context.run_attempt))


def _say_whose(request: Request, folder: Path, commit: str) -> None:
    """Add to the note of the promotion which run of which commit it is, and who let it run."""
    context = request.context
    note = parse_own(read_bytes(folder / PROMOTION))
    said = {
        **note,
        "commit": commit,
        "workflow_run": context.run_id,
        "run_attempt": context.run_attempt,
        "run_number": context.run_number,
        "run_url": context.run_url,
        "event": context.event,
        "by": str(context.triggering_actor),
    }
    write_whole(folder / PROMOTION, [dump_document(said)])
