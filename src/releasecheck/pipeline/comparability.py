"""What is the same on both sides of a comparison, axis by axis (X-25): cases, judges, target, policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.gates import case_changes
from releasecheck.model.scorecard import Axis, BaselineUsed
from releasecheck.pipeline.models import other_models
from releasecheck.stats import count, names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from releasecheck.model.plan import Plan
    from releasecheck.model.scorecard import CaseChanges
    from releasecheck.model.table import Baseline, ScoreTable


def baseline_used(
    plan: Plan, table: ScoreTable, baseline: Baseline | None, models: Mapping[str, int]
) -> BaselineUsed | None:
    """The run compared with, and what differs; None without one.

    `models` are those that answered now, as the target says it.
    """
    if baseline is None:
        return None
    changed = tuple(
        judge.id
        for judge in plan.judges
        if baseline.judge_digests.get(judge.id, judge.digest) != judge.digest
    )
    cases = case_changes(table, baseline, partial=plan.mode != "full")
    return BaselineUsed(
        run_id=baseline.run_id,
        commit=baseline.commit,
        why=baseline.why,
        scorecard_digest=baseline.scorecard_digest,
        cases=cases,
        judges_changed=changed,
        axes=tuple(_axes(plan, baseline, cases, changed, other_models(models, baseline.models))),
    )


def _axes(
    plan: Plan, baseline: Baseline, cases: CaseChanges, changed: tuple[str, ...], models: str
) -> Iterator[Axis]:
    moved = [
        f"{count(len(found), 'case')} {how}"
        for found, how in (
            (cases.added, "added"),
            (cases.changed, "changed"),
            (cases.removed, "removed"),
            (cases.renamed, "renamed"),
        )
        if found
    ]
    yield _axis("cases", ", ".join(moved))
    fresh = tuple(judge.id for judge in plan.judges if judge.id not in baseline.judge_digests)
    gone = tuple(sorted(baseline.judge_digests.keys() - {judge.id for judge in plan.judges}))
    judges = [
        f"{names(found)} {how}"
        for found, how in ((changed, "changed"), (fresh, "new"), (gone, "gone"))
        if found
    ]
    yield _axis("judges", ", ".join(judges))
    if baseline.target_digest is None and not models:
        yield Axis(
            axis="target", answer="unknown", note="the earlier run does not say what it asked"
        )
    else:
        same = baseline.target_digest in (None, plan.target_digest)
        parts = (models, "" if same else "its settings differ")
        yield _axis("target", ", and ".join(part for part in parts if part))
    if not baseline.gates:
        yield Axis(axis="policy", answer="unknown", note="the earlier run does not say its gates")
    else:
        before, now = {g.id: g for g in baseline.gates}, {g.id: g for g in plan.gates}
        differ = tuple(
            sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
        )
        yield _axis(
            "policy",
            f"{names(differ)} {'differs' if len(differ) == 1 else 'differ'}" if differ else "",
        )


def _axis(axis: str, note: str) -> Axis:
    return Axis.model_validate(
        {"axis": axis, "answer": "differs" if note else "held", "note": note}
    )
