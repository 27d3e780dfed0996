"""An in-toto test result for `actions/attest` to sign: the verdict projected on its three words.

Ids of gates, never of cases: what is signed may go to a public log (actions.md, section 4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from releasecheck.canonical import digest, dump_document
from releasecheck.drivers.github.publishing.evidence import Judged
from releasecheck.drivers.github.publishing.results import Done, Result, Skipped
from releasecheck.pipeline.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from releasecheck.canonical import Json
    from releasecheck.drivers.github.publishing.request import Request
    from releasecheck.model.scorecard import Scorecard

PREDICATE_TYPE: Final = "https://in-toto.io/attestation/test-result/v0.1"
FOLDER: Final = "attestation"
PREDICATE: Final = f"{FOLDER}/predicate.json"
SUBJECT: Final = f"{FOLDER}/subject.json"
CHECKSUMS: Final = f"{FOLDER}/subject.checksums"
"""In the form of `sha256sum`, as `actions/attest` takes subjects."""


def publish_attest(request: Request) -> Result:
    """Write predicate and subject into the output folder; a later step signs them.

    Raises:
        InfrastructureError: a file cannot be written.
    """
    evidence = request.evidence
    if not request.options.attest:
        return Skipped("not asked for")
    if not isinstance(evidence, Judged):
        return Skipped("there is no verified bundle to attest")
    if not evidence.final:
        return Skipped("the run is still open; it is attested when it is final")
    if evidence.plan.mode != "full":
        return Skipped(f"a {evidence.plan.mode} run attests nothing")
    if evidence.scorecard.adopted is not None:
        return Skipped("outputs of an untrusted run are not attested")
    if request.read_only:
        return Skipped(request.read_only)
    subject = subjects(evidence, evidence.commit or request.context.head_sha)
    hexed = evidence.manifest_digest.removeprefix("sha256:")
    files: Mapping[str, bytes] = {
        PREDICATE: dump_document(predicate(evidence, request.context.run_url)),
        SUBJECT: dump_document({"subject": subject}),
        CHECKSUMS: f"{hexed}  manifest.json\n".encode(),
    }
    for name, data in files.items():
        write_whole(request.options.out / name, [data])
    return Done(
        "created",
        file=PREDICATE,
        note=f"written; a later step of this job signs it as {PREDICATE_TYPE}",
    )


def result_word(scorecard: Scorecard) -> Literal["PASSED", "WARNED", "FAILED"]:
    """PASSED is for a pass alone; what decided nothing has failed."""
    if scorecard.overridden or scorecard.verdict == "bootstrap":
        return "WARNED"
    return "PASSED" if scorecard.verdict == "pass" else "FAILED"


def subjects(evidence: Judged, commit: str) -> list[Json]:
    """What the result is about: the manifest, and the commit that was tested."""
    return [
        {"name": "manifest.json", "digest": _hex(evidence.manifest_digest)},
        {"name": "commit", "digest": {"gitCommit": commit}},
    ]


def predicate(evidence: Judged, url: str) -> dict[str, Json]:
    """The test-result predicate, v0.1."""
    plan, card = evidence.plan, evidence.scorecard
    gates = {gate.id: gate.outcome for gate in card.gates}
    neutral = ("bootstrap", "not_selected")
    rules = digest([gate.model_dump(mode="json", by_alias=True) for gate in plan.gates])
    configuration: list[Json] = [
        {"name": "plan", "digest": _hex(plan.plan_digest)},
        {"name": "policy", "digest": _hex(rules)},
        {"name": plan.policy.file, "digest": _hex(plan.policy.digest)},
    ]
    if evidence.commit is not None:
        # `actions/attest` takes subjects by sha256 alone, so the commit is signed here.
        configuration.append({"name": "commit", "digest": {"gitCommit": evidence.commit}})
    return {
        "result": result_word(card),
        "configuration": configuration,
        "url": url,
        "passedTests": [name for name, outcome in gates.items() if outcome == "pass"],
        "warnedTests": [name for name, outcome in gates.items() if outcome in neutral],
        "failedTests": [
            name for name, outcome in gates.items() if outcome not in ("pass", *neutral)
        ],
    }


def _hex(text: str) -> dict[str, Json]:
    return {"sha256": text.removeprefix("sha256:")}
