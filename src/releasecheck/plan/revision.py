"""Later revisions of a plan: the same run and the same outputs, under other judges and gates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.errors import DigestMismatch, Untrusted
from releasecheck.model.plan import Plan, plan_digest
from releasecheck.model.record import FIRST_REVISION
from releasecheck.model.suite import planned_gates
from releasecheck.plan.freeze import PLAN_FILE, plan_document
from releasecheck.plan.lapsing import in_force
from releasecheck.plan.verify import read_plan

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from releasecheck.canonical import Json
    from releasecheck.model.plan import PlannedJudge, Root
    from releasecheck.model.policy import Policy
    from releasecheck.model.suite import Suite

STAYS: Final = (
    "run_id", "suite", "mode", "seed", "trials", "batch", "target", "target_digest", "target_plugin",
    "store_outputs", "cases", "splits", "cases_digest", "selection", "baseline", "anchor", "shards", "git",
    "root", "adopted", "context", "retry_of", "retry_classes",
)  # fmt: skip
"""What a revision cannot change: what was asked, of whom, and what it is compared with."""


def check_first(plan: Plan) -> None:
    """Refuse a `plan.json` that says it is a later revision (Untrusted)."""
    if plan.revision != FIRST_REVISION or plan.revises is not None:
        message = (
            f"{PLAN_FILE}: it says that it revises another plan; it was not written by this program"
        )
        raise Untrusted(message)


def check_revision(before: Plan, document: Json, name: str) -> Plan:
    """The plan of a later revision, after it was checked against the one that it revises.

    Raises:
        UsageError: another kind of document, or one of another major version.
        DigestMismatch: it was changed after it was written, or revises another plan.
        Untrusted: it is no revision that we could have written.
    """
    plan = read_plan(document, name)
    if plan.revises != before.plan_digest:
        what = f"{name}: the plan that it revises"
        raise DigestMismatch(what, found=before.plan_digest, expected=str(plan.revises)[:80])
    changed = [field for field in STAYS if getattr(plan, field) != getattr(before, field)]
    if plan.revision != before.revision + 1:
        changed.insert(0, "revision")
    if changed:
        message = (
            f"{name}: a revision leaves {changed[0]} as it is, and in this one it is another; it was not "
            "written by this program"
        )
        raise Untrusted(message)
    return plan


@dataclass(frozen=True, slots=True)
class Revising:
    """What a revision is told beside the suite."""

    created_at: str
    """RFC 3339, UTC: from here on it may be open for as long as a run."""
    tool: str
    policy: Policy
    """The config that judges and gates come from."""
    policy_root: Root
    keeps_measured: bool
    cases: Collection[str] | None
    """Ids of the whole suite; None where the run holds a part of it."""


def revise(before: Plan, suite: Suite, judges: Sequence[PlannedJudge], told: Revising) -> Plan:
    """The next revision: everything that decides and asks nothing of the target is the suite's."""
    holds = in_force(suite, told.created_at, told.cases)
    document = {
        **{name: getattr(before, name) for name in STAYS},
        "plan_digest": before.plan_digest,
        "created_at": told.created_at,
        "tool": told.tool,
        "judges": tuple(judges),
        "gates": planned_gates(suite),
        "settle": suite.settle,
        "baseline_rule": suite.baseline,
        "confidence": suite.confidence,
        "budget": suite.budget,
        "correction": suite.correction,
        "stop_when_decided": False,  # no case is left to ask
        "quarantine": holds.quarantine,
        "waivers": holds.waivers,
        "lapsed": holds.lapsed,
        "expires_s": suite.expires,
        "policy": told.policy,
        "policy_root": told.policy_root,
        "revision": before.revision + 1,
        "revises": before.plan_digest,
        "keeps_measured": told.keeps_measured,
    }
    draft = Plan.model_validate(document)
    return draft.model_copy(update={"plan_digest": plan_digest(plan_document(draft))})
