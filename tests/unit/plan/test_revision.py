"""Revisions of a plan: the same run and outputs, other rules, and a chain of digests (X-16)."""

from __future__ import annotations

from typing import Any

import pytest

from releasecheck.errors import DigestMismatch, Untrusted
from releasecheck.model.plan import Plan, plan_digest
from releasecheck.model.policy import Policy
from releasecheck.model.suite import Suite
from releasecheck.plan import (
    Revising,
    check_first,
    check_revision,
    judge_identity,
    plan_document,
    revise,
)
from tests.unit.plan.building import CREATED, DIGEST, cases, circumstances, frozen, suite

FIRST = frozen(cases(4)).plan


def revised(before: Plan = FIRST, of: Suite | None = None, *, keeps: bool = False) -> Plan:
    of = of or suite(gates=[{"id": "g", "metric": "j", "min": 0.9}])
    told = Revising(
        created_at=CREATED,
        tool="releasecheck/0.1.0",
        policy=Policy(file="other.yaml", digest=DIGEST),
        policy_root=circumstances().root,
        keeps_measured=keeps,
        cases=None,
    )
    return revise(before, of, [judge_identity(judge) for judge in of.judges], told)


def test_revise__changes_what_decides_and_nothing_else() -> None:
    plan = revised(of=suite(gates=[{"id": "g", "metric": "j", "min": 0.9}], trials=3, batch=1))
    assert (plan.revision, plan.revises) == (2, FIRST.plan_digest)
    assert (plan.run_id, plan.trials, plan.batch) == (FIRST.run_id, FIRST.trials, FIRST.batch)
    assert plan.gates[0].min == 0.9
    assert plan.plan_digest != FIRST.plan_digest
    assert check_revision(FIRST, plan_document(plan), "plan.r2.json") == plan
    third = revised(plan)
    assert (third.revision, third.revises) == (3, plan.plan_digest)
    assert len({FIRST.plan_digest, plan.plan_digest, third.plan_digest}) == 3


def test_plan_digest__of_a_first_revision_is_what_it_always_was() -> None:
    document = plan_document(FIRST)
    older = {
        name: value
        for name, value in document.items()
        if name not in ("revision", "revises", "keeps_measured", "retry_of", "retry_classes")
    }
    assert plan_digest(older) == plan_digest(document) == FIRST.plan_digest
    assert plan_digest(document | {"retry_of": "rc-0"}) == FIRST.plan_digest
    assert revised().plan_digest != revised(keeps=True).plan_digest


@pytest.mark.parametrize(
    "change",
    [
        {"run_id": "rc-" + "0" * 12 + "-other"},
        {"trials": 2},
        {"cases_digest": DIGEST},
        {"store_outputs": "none"},
        {"revision": 3},
    ],
    ids=lambda change: next(iter(change)),
)
def test_check_revision__refuses_what_a_revision_leaves_alone(change: dict[str, Any]) -> None:
    document: dict[str, Any] = {**plan_document(revised()), **change}
    document["plan_digest"] = plan_digest(document)
    with pytest.raises(Untrusted, match=next(iter(change))):
        check_revision(FIRST, document, "plan.r2.json")


def test_check_revision__refuses_another_chain() -> None:
    plan = revised()
    with pytest.raises(DigestMismatch, match="the plan that it revises"):
        check_revision(plan, plan_document(plan), "plan.r3.json")
    edited = {**plan_document(plan), "confidence": 0.9}
    with pytest.raises(DigestMismatch, match=r"plan\.r2\.json"):
        check_revision(FIRST, edited, "plan.r2.json")
    check_first(FIRST)
    with pytest.raises(Untrusted, match="revises another plan"):
        check_first(plan)
