"""Builders with defaults for score tables, plans and baselines.

A cell is a number (scored), or a word: `missing`, `failed` (by the judge), `pending`, `na`,
`target_failed` or `no_output`. A case with several trials is a list of cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from releasecheck.canonical import digest
from releasecheck.model.gate import GateSpec
from releasecheck.model.judge import ExactJudge, SimilarityJudge, YesNoJudge
from releasecheck.model.plan import BaselinePin, Plan, PlannedJudge, Root, Selection
from releasecheck.model.policy import Policy
from releasecheck.model.suite import BaselineRule, Quarantined, Settle, Waiver
from releasecheck.model.table import (
    ANSWERED,
    FAILED,
    MISSING,
    NO_OUTPUT,
    NOT_APPLICABLE,
    PENDING,
    SCORED,
    TARGET_FAILED,
    Baseline,
    CaseRow,
    ScoreTable,
)
from releasecheck.model.target import HttpTarget

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from releasecheck.model.judge import Judge
    from releasecheck.model.plan import Mode

Cell: TypeAlias = float | str
Cells: TypeAlias = "Sequence[Cell | Sequence[Cell]]"
WORDS = {
    "missing": MISSING,
    "failed": FAILED,
    "pending": PENDING,
    "na": NOT_APPLICABLE,
    "target_failed": FAILED,
    "no_output": MISSING,
}
YES_NO = ExactJudge(id="exact", type="exact")
CLOSE = SimilarityJudge(id="close", type="similarity")


def digest_of(name: object) -> str:
    return digest({"name": str(name)})


def case_rows(
    ids: Sequence[str],
    *,
    splits: Sequence[str] | None = None,
    tags: Mapping[str, Sequence[str]] | None = None,
    contents: Mapping[str, str] | None = None,
    clusters: Sequence[str | None] | None = None,
) -> tuple[CaseRow, ...]:
    """Cases whose content is their id unless `contents` says otherwise."""
    return tuple(
        CaseRow(
            id=name,
            digest=digest_of((contents or {}).get(name, name)),
            split=splits[index] if splits else "main",
            tags=tuple((tags or {}).get(name, ())),
            path="cases.jsonl",
            line=index + 1,
            cluster=clusters[index] if clusters else None,
        )
        for index, name in enumerate(ids)
    )


def score_table(
    scores: Mapping[str, Cells],
    *,
    ids: Sequence[str] | None = None,
    splits: Sequence[str] | None = None,
    tags: Mapping[str, Sequence[str]] | None = None,
    contents: Mapping[str, str] | None = None,
    clusters: Sequence[str | None] | None = None,
    latency_ms: Cells | None = None,
    cost_usd: Cells | None = None,
    judges: Sequence[Judge] = (YES_NO, CLOSE),
) -> ScoreTable:
    """A table from cells by judge; verdicts by the judges' `pass_at`, 1 for yes/no ones."""
    specs = {judge.id: judge for judge in judges}
    rows = {judge: [as_trials(cell) for cell in cells] for judge, cells in scores.items()}
    first = next(iter(rows.values()))
    count, trials = len(first), max((len(cells) for cells in first), default=1)
    shape = (count, trials, len(rows))
    state = np.zeros(shape, dtype=np.int8)
    value = np.full(shape, np.nan)
    passed = np.full(shape, -1, dtype=np.int8)
    target = np.full((count, trials), ANSWERED, dtype=np.int8)
    for j, (judge, cases) in enumerate(rows.items()):
        for c, cells in enumerate(cases):
            for t, cell in enumerate(cells):
                if isinstance(cell, str):
                    state[c, t, j] = WORDS[cell]
                    if cell == "target_failed":
                        target[c, t] = TARGET_FAILED
                    elif cell == "no_output":
                        target[c, t] = NO_OUTPUT
                else:
                    state[c, t, j], value[c, t, j] = SCORED, cell
                    passed[c, t, j] = passes(specs[judge], cell)
    names = list(ids) if ids is not None else [f"q{index}" for index in range(1, count + 1)]
    return ScoreTable(
        cases=case_rows(names, splits=splits, tags=tags, contents=contents, clusters=clusters),
        judges=tuple(rows),
        trials=trials,
        target=target,
        latency_ms=numbers(latency_ms, target),
        cost_usd=numbers(cost_usd, target),
        tokens=np.full((count, trials), np.nan),
        state=state,
        value=value,
        passed=passed,
        mendable=(state == MISSING) | (state == PENDING),
    )


def as_trials(cell: Cell | Sequence[Cell]) -> Sequence[Cell]:
    return [cell] if isinstance(cell, str | int | float) else cell


def numbers(cells: Cells | None, target: np.ndarray) -> np.ndarray:
    """Measurements of the target; a word is none."""
    found = np.full(target.shape, np.nan)
    for c, case in enumerate(cells or ()):
        for t, cell in enumerate(as_trials(case)):
            if not isinstance(cell, str):
                found[c, t] = cell
    return found


def passes(judge: Judge, value: float) -> int:
    """1, 0, or -1 for a judge without a pass mark."""
    mark = judge.pass_at
    if mark is None:
        if not isinstance(judge, YesNoJudge):
            return -1
        mark = 1.0
    return int(value <= mark if judge.better == "lower" else value >= mark)


def planned(judge: Judge) -> PlannedJudge:
    spec = judge.model_dump(mode="json", by_alias=True)
    return PlannedJudge(spec=judge, contract="builtin@1", digest=digest(spec))


def plan_for(
    table: ScoreTable,
    *gates: GateSpec,
    judges: Sequence[Judge] = (YES_NO, CLOSE),
    mode: Mode = "full",
    baseline_rule: BaselineRule | None = None,
    pin: BaselinePin | None = None,
    **changes: object,
) -> Plan:
    """A plan of exactly this table's cases and judges; `changes` are fields of it."""
    some = digest_of("something")
    used = [judge for name in table.judges for judge in judges if judge.id == name]
    plan = Plan(
        plan_digest=some,
        run_id="rc-0123456789ab-1",
        created_at="2026-01-01T00:00:00.000Z",
        tool="releasecheck/0.1.0",
        suite="demo",
        mode=mode,
        seed=0,
        trials=table.trials,
        batch=10,
        target=HttpTarget(type="http", url="http://127.0.0.1:1/answer"),
        target_digest=some,
        judges=tuple(planned(judge) for judge in used),
        gates=gates,
        settle=Settle(),
        baseline_rule=baseline_rule or BaselineRule(),
        confidence=0.95,
        store_outputs="full",
        expires_s=86_400.0,
        cases=len(table.cases),
        splits={},
        cases_digest=some,
        selection=Selection(asked="all", of=len(table.cases)),
        baseline=pin,
        shards=(),
        policy=Policy(file="releasecheck.yaml", digest=some),
        root=Root(from_cwd=".", config="releasecheck.yaml"),
    )
    return plan.model_copy(update=changes)


def quarantined(case: str, judge: str | None = None) -> Quarantined:
    return Quarantined(
        case=case, judge=judge, owner="search team", reason="flaky", until="2026-12-31"
    )


def waived(gate: str) -> Waiver:
    return Waiver(gate=gate, who="A. Reviewer", why="known", until="2026-12-31")


def pinned(baseline: Baseline) -> BaselinePin:
    some = digest_of("something")
    return BaselinePin(
        run_id=baseline.run_id,
        plan_digest=some,
        why=baseline.why,
        scorecard_digest=some,
        results_digest=some,
        manifest_digest=some,
    )


def baseline_of(
    table: ScoreTable, *, judges: Sequence[Judge] = (YES_NO, CLOSE), finalized: bool = True
) -> Baseline:
    """A table as the run compared with."""
    return Baseline(
        run_id="rc-ba5e11ba5e11-1",
        commit=None,
        why="promoted",
        scorecard_digest=digest_of("scorecard"),
        finalized=finalized,
        table=table,
        judge_digests={
            judge.id: planned(judge).digest for judge in judges if judge.id in table.judges
        },
    )
