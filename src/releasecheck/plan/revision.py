"""Later revisions of a plan: the same run and the same outputs, under other judges and gates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from releasecheck.errors import DigestMismatch, Untrusted
from releasecheck.model.record import FIRST_REVISION
from releasecheck.plan.freeze import PLAN_FILE
from releasecheck.plan.verify import read_plan

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.model.plan import Plan

STAYS: Final = (
    "run_id", "suite", "mode", "seed", "trials", "batch", "target", "target_digest", "target_plugin",
    "store_outputs", "cases", "splits", "cases_digest", "selection", "baseline", "anchor", "shards", "git",
    "root", "adopted", "context", "retry_of",
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
