"""The publish stage: recompute the verdict, then each surface for itself, and record what became of it.

It runs no code of the suite, writes nothing into the bundle, and never changes the verdict: a comment that
cannot be posted is a publication that failed, and a re-run posts it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from releasecheck.drivers.github.names import NO_PLAN, PublishedName
from releasecheck.drivers.github.publishing.annotations import annotations_of
from releasecheck.drivers.github.publishing.asset import publish_asset
from releasecheck.drivers.github.publishing.attest import (
    CHECKSUMS,
    PREDICATE,
    PREDICATE_TYPE,
    publish_attest,
)
from releasecheck.drivers.github.publishing.badge import publish_badge
from releasecheck.drivers.github.publishing.comment import publish_comment
from releasecheck.drivers.github.publishing.evidence import (
    Absent,
    Evidence,
    Judged,
    Unverifiable,
    suite_of,
    weigh,
)
from releasecheck.drivers.github.publishing.promotion import publish_promotion
from releasecheck.drivers.github.publishing.request import PublishOptions, Request
from releasecheck.drivers.github.publishing.results import (
    FILE,
    SURFACES,
    Done,
    Failed,
    Publication,
    Published,
    Result,
    Skipped,
    SurfaceName,
    Trust,
    document,
    failure_text,
)
from releasecheck.drivers.github.publishing.status import publish_status
from releasecheck.drivers.github.publishing.summary import publish_summary
from releasecheck.pipeline.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.drivers.github.context import GitHubContext
    from releasecheck.drivers.github.rest import GitHubClient
    from releasecheck.pipeline.world import World

_SURFACES: Final[dict[SurfaceName, Callable[[Request], Result]]] = {
    "summary": publish_summary,
    "status": publish_status,
    "comment": publish_comment,
    "badge": publish_badge,
    "asset": publish_asset,
    "attest": publish_attest,
    "promotion": publish_promotion,
}


def publish(
    bundle: Path,
    client: GitHubClient | None,
    context: GitHubContext,
    options: PublishOptions,
    world: World,
) -> Published:
    """Publish what a bundle says, everywhere that the options name.

    Args:
        bundle: The folder that `finish` wrote; data from another job, trusted in nothing.
        client: None without a token: what needs one is skipped.
        context: Of this job.
        options: What is asked for.
        world: Its clock and tool, and the environment, for GITHUB_STEP_SUMMARY.

    Returns:
        What became of each surface; `published.json` in `options.out` says the same.

    Raises:
        InfrastructureError: the record cannot be written.
    """
    evidence = weigh(bundle, options.expected, world)
    suite = suite_of(evidence, options.expected)
    request = Request(evidence, suite, client, context, options, world)
    lines: list[str] = []
    records: list[Publication] = []
    for surface in SURFACES:
        result = _alone(surface, request, lines)
        records.append(Publication(surface, result))
        # After each: whoever is killed has left word of what was done before.
        published = _published(request, records, lines)
        write_whole(options.out / FILE, [document(published, _run(request))])
    return _published(request, records, lines)


def _alone(surface: SurfaceName, request: Request, lines: list[str]) -> Result:
    """One surface; its failure is its own."""
    try:
        if surface == "annotations":
            return _annotate(request, lines)
        return _SURFACES[surface](request)
    # Whatever it is, the other surfaces are still to be published, and the verdict stands.
    except Exception as error:  # noqa: BLE001
        return Failed(failure_text(error))


def _annotate(request: Request, lines: list[str]) -> Result:
    if not request.options.annotations:
        return Skipped("not asked for")
    found = [one.command() for one in annotations_of(request)]
    lines.extend(found)
    return Done("created", note=f"{len(found)} of at most 10") if found else Done("unchanged")


def _published(request: Request, records: list[Publication], lines: list[str]) -> Published:
    evidence = request.evidence
    return Published(
        trust=_trust(evidence),
        verdict=evidence.scorecard.verdict if isinstance(evidence, Judged) else None,
        said=evidence.verified.said if isinstance(evidence, Judged) else evidence.why,
        records=tuple(records),
        lines=tuple(lines),
        outputs=_outputs(request, records),
    )


def _trust(evidence: Evidence) -> Trust:
    match evidence:
        case Judged():
            return "verified" if evidence.final else "open"
        case Unverifiable():
            return "unverifiable"
        case Absent():
            return "absent"


def _outputs(request: Request, records: list[Publication]) -> Mapping[str, str]:
    """What later steps need; a name is there only when there is something to do."""
    out = request.options.out
    found = {"published-path": str(out / FILE)}
    if request.suite is not None:
        plan = request.evidence.plan12 if isinstance(request.evidence, Judged) else NO_PLAN
        found["published-artifact"] = str(
            PublishedName(request.suite, plan, request.context.run_attempt)
        )
    for one in records:
        match one:
            case Publication("promotion", Done(file=str(file))):
                found["baseline-path"] = str(out / file)
                found["baseline-artifact"] = file.rpartition("/")[2]
            case Publication("attest", Done()):
                found["attest-predicate-type"] = PREDICATE_TYPE
                found["attest-predicate-path"] = str(out / PREDICATE)
                found["attest-subject-checksums"] = str(out / CHECKSUMS)
            case _:
                pass
    return found


def _run(request: Request) -> dict[str, Json]:
    """Whose record it is."""
    context, evidence = request.context, request.evidence
    judged = evidence if isinstance(evidence, Judged) else None
    return {
        "suite": request.suite,
        "run_id": None if judged is None else judged.plan.run_id,
        "plan_digest": None if judged is None else judged.plan.plan_digest,
        "manifest_digest": None if judged is None else judged.manifest_digest,
        "at": request.world.clock.now(),
        "workflow_run": {
            "id": context.run_id,
            "number": context.run_number,
            "attempt": context.run_attempt,
            "event": context.event,
            "url": context.run_url,
            "head_sha": context.head_sha,
        },
    }
