"""A suite and its cases to a frozen plan: the documents of `plan/`, as bytes."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from releasecheck.canonical import digest, digest_bytes, dump_document, dump_line
from releasecheck.errors import UsageError
from releasecheck.model.plan import PLAN_SCHEMA, Plan, Shard, plan_digest
from releasecheck.model.suite import planned_gates
from releasecheck.plan.identity import target_identity
from releasecheck.plan.lapsing import in_force
from releasecheck.plan.shards import case_times

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from releasecheck.canonical import Json
    from releasecheck.model.case import Case
    from releasecheck.model.plan import BaselinePin, GitState, PlannedJudge, Root, TargetPlugin
    from releasecheck.model.policy import Adopted, Policy
    from releasecheck.model.suite import Suite
    from releasecheck.plan.select import Selected

PLAN_FILE: Final = "plan.json"
_UNIQUE: Final = re.compile(r"[a-z0-9-]{1,40}")


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a plan is told about where and when it was made."""

    unique: str
    """Last part of the run id: lower-case letters, digits and `-`, at most 40."""
    created_at: str
    """RFC 3339, UTC."""
    tool: str
    """`releasecheck/0.1.0`."""
    policy: Policy
    root: Root
    policy_root: Root | None = None
    """Where gates, judges and their files are, when they come from another config."""
    adopted: Adopted | None = None
    """The untrusted run whose cases these are: its run id is kept."""
    target_plugin: TargetPlugin | None = None
    """What the target is made of, where a package offers it and it is to be asked."""
    seed: int = 0
    """Of the preview's sample and of later resampling."""
    baseline: BaselinePin | None = None
    anchor: BaselinePin | None = None
    git: GitState | None = None
    context: Mapping[str, Json] = field(default_factory=dict)
    """CI facts, for people."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """A plan and the files that hold it."""

    plan: Plan
    files: dict[str, bytes]
    """`plan.json` and `cases-0000.jsonl` onwards, by name."""


def case_file(index: int) -> str:
    """Name of a shard's case file."""
    return f"cases-{index:04d}.jsonl"


def cases_digest(rows: Sequence[tuple[str, str, str, Sequence[str]]]) -> str:
    """Digest over (id, digest, split, tags) of every case in plan order."""
    return digest([[name, content, split, list(tags)] for name, content, split, tags in rows])


def freeze(
    suite: Suite,
    selected: Selected,
    judges: Sequence[PlannedJudge],
    shards: Sequence[Sequence[Case]],
    circumstances: Circumstances,
    times: Mapping[str, float] | None = None,
) -> Frozen:
    """Write a plan down; the same arguments give the same bytes.

    References such as `${NAME}` stay as they are; no variable is read.

    Args:
        suite: with schema files already replaced by their content.
        selected: the cases.
        judges: the suite's judges with their identities.
        shards: a partition of the cases (`assign_shards`).
        circumstances: everything that decides nothing, and the baseline.
        times: seconds per case in the baseline, for each shard's estimate.

    Raises:
        UsageError: no cases, or a run id that cannot be.
    """
    if not selected.cases:
        message = "no cases: a plan without cases decides nothing"
        raise UsageError(message)
    if not _UNIQUE.fullmatch(circumstances.unique):
        message = (
            "the unique part of a run id has 1 to 40 lower-case letters, digits and dashes; "
            f"found {circumstances.unique[:60]!r}"
        )
        raise UsageError(message)
    files: dict[str, bytes] = {}
    digests: dict[str, str] = {}
    for index, held in enumerate(shards):
        written = [case.to_json() for case in held]
        digests |= {row["id"]: row["digest"] for row in written}
        files[case_file(index)] = b"".join(map(dump_line, written))
    rows = [(case.id, digests[case.id], case.split, case.tags) for case in selected.cases]
    holds = in_force(
        suite,
        circumstances.created_at,
        {case.id for case in selected.cases} if selected.mode == "full" else None,
    )
    document = {
        "schema": PLAN_SCHEMA,
        "plan_digest": "sha256:" + "0" * 64,
        "run_id": "",
        "created_at": circumstances.created_at,
        "tool": circumstances.tool,
        "suite": suite.suite,
        "mode": selected.mode,
        "seed": circumstances.seed,
        "trials": suite.trials,
        "batch": suite.batch,
        "target": suite.target,
        "target_digest": target_identity(suite.target),
        "target_plugin": circumstances.target_plugin,
        "judges": tuple(judges),
        "gates": planned_gates(suite),
        "settle": suite.settle,
        "baseline_rule": suite.baseline,
        "confidence": suite.confidence,
        "store_outputs": suite.store_outputs,
        "budget": suite.budget,
        "correction": suite.correction,
        "stop_when_decided": suite.stop_when_decided,
        "quarantine": holds.quarantine,
        "waivers": holds.waivers,
        "lapsed": holds.lapsed,
        "expires_s": suite.expires,
        "cases": len(selected.cases),
        "splits": dict(Counter(case.split for case in selected.cases)),
        "cases_digest": cases_digest(rows),
        "selection": selected.selection,
        "baseline": circumstances.baseline,
        "anchor": circumstances.anchor,
        "shards": _shards(shards, selected.cases, files, times),
        "git": circumstances.git,
        "policy": circumstances.policy,
        "root": circumstances.root,
        "policy_root": circumstances.policy_root,
        "adopted": circumstances.adopted,
        "context": dict(circumstances.context),
    }
    draft = Plan.model_validate(document)
    identity = plan_digest(plan_document(draft))
    run_id = f"rc-{identity.removeprefix('sha256:')[:12]}-{circumstances.unique}"
    if circumstances.adopted is not None:
        run_id = circumstances.adopted.run_id
    plan = draft.model_copy(update={"plan_digest": identity, "run_id": run_id})
    return Frozen(plan, {PLAN_FILE: dump_document(plan_document(plan)), **files})


def plan_document(plan: Plan) -> dict[str, Json]:
    """`plan.json` as a value."""
    return plan.model_dump(mode="json", by_alias=True)


def _shards(
    shards: Sequence[Sequence[Case]],
    cases: Sequence[Case],
    files: Mapping[str, bytes],
    times: Mapping[str, float] | None,
) -> tuple[Shard, ...]:
    weights = case_times(cases, times)
    return tuple(
        Shard(
            index=index,
            cases=len(held),
            file=case_file(index),
            digest=digest_bytes(files[case_file(index)]),
            estimated_s=round(sum(weights[case.index] for case in held), 3) if weights else None,
        )
        for index, held in enumerate(shards)
    )
