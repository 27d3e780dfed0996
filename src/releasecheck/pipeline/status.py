"""How far a run is: derived from plan and ledger on every read, never from a stored word (B130)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from releasecheck.gates import incomplete, unproven
from releasecheck.model.table import FAILED, PENDING
from releasecheck.pipeline.bridge_outcome import bridge_missing
from releasecheck.pipeline.decide import finality
from releasecheck.pipeline.early import decided_in
from releasecheck.pipeline.finish import is_expired
from releasecheck.pipeline.folders import decided_revision, ledger_files, open_bundle
from releasecheck.pipeline.owing import waiting_for
from releasecheck.pipeline.remaining import merge_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.model.plan import Plan
    from releasecheck.model.table import ScoreTable
    from releasecheck.pipeline.decide import Finality
    from releasecheck.pipeline.world import World


@dataclass(frozen=True, slots=True)
class RunStatus:
    """Where a run stands."""

    run_id: str
    revision: int
    suite: str
    state: str
    """`planned`, `running`, `waiting_for_scores`, `finalizing`, `expired` or `completed`."""
    done: int
    """Pairs with a record that is not pending."""
    total: int
    failed: int
    given_up: int
    """Pairs on record as without a score: it did not come in time, or somebody closed the run."""
    pending: int
    mendable: int
    """Pairs, and sentinels, that another attempt could mend."""
    verdict: str | None
    overridden: bool
    """It blocks, and waivers let the release go on."""
    finalized_at: str | None
    missing: tuple[str, ...]
    """Per judge: what is not there, and of a decided run why its scores cannot be trusted."""
    waiting: tuple[dict[str, Json], ...]
    """`{judge, pending, deadline, not_before}` of every judge that owes scores (S1-10, S1-20)."""
    next_step: str

    def to_json(self) -> dict[str, Json]:
        """The report as a document."""
        return asdict(self)


def status(out: Path, world: World) -> RunStatus:
    """Work out where the run in `out` stands.

    Raises:
        NotResumable: there is no run in it.
        Untrusted: plan or records contradict their digests.
    """
    bundle, folder = open_bundle(out)
    paths = ledger_files([bundle.results]) if bundle.results.is_dir() else []
    recorded = merge_files(folder, paths)
    merged = recorded.merged
    table = merged.table
    manifest = bundle.manifest() or {}
    if decided_revision(manifest) != folder.plan.revision:
        manifest = {}  # what stands there is the decision of the revision before
    decision = manifest.get("decision")
    verdict = decision.get("verdict") if isinstance(decision, dict) else None
    finalized_at = manifest.get("finalized_at")
    now = world.clock.now()
    pending = int(np.count_nonzero(table.state == PENDING))
    done = merged.recorded_pairs - pending
    expired = is_expired(folder, now)
    decided = bool(decided_in(folder, recorded))
    over = finality(table, close=False, expired=expired, decided=decided)
    state = "completed"
    if finalized_at is None:
        state = _open_state(done, over, expired=expired)
    return RunStatus(
        run_id=folder.plan.run_id,
        revision=folder.plan.revision,
        suite=folder.plan.suite,
        state=state,
        done=done,
        total=table.pairs,
        failed=int(np.count_nonzero(table.state == FAILED)),
        given_up=sum(merged.given_up.values()),
        pending=pending,
        mendable=over.mendable,
        verdict=verdict if isinstance(verdict, str) else None,
        overridden=isinstance(decision, dict) and decision.get("overridden") is True,
        finalized_at=finalized_at if isinstance(finalized_at, str) else None,
        missing=(
            *(entry.message for entry in incomplete(table, folder.plan)),
            *bridge_missing(table),
            *(() if finalized_at is None else _unproven(table, folder.plan)),
        ),
        waiting=tuple(
            one.model_dump(mode="json")
            for one in (waiting_for(folder.plan, merged, now) if finalized_at is None else ())
        ),
        next_step="" if finalized_at else f"carry it on with `releasecheck resume {out}`",
    )


def _unproven(table: ScoreTable, plan: Plan) -> Iterator[str]:
    for judge in plan.judges:
        why = unproven(judge.id, table)
        if why is not None:
            yield why


def _open_state(done: int, over: Finality, *, expired: bool) -> str:
    if expired:
        return "expired"
    if not done and not over.pending:
        return "planned"
    if over.final:
        return "finalizing"
    return "waiting_for_scores" if over.pending == over.mendable else "running"
