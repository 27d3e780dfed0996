"""Whole decisions, drawn: two or three runs, gates of every kind, quarantines, waivers and everything between."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar, get_args

import numpy as np
from hypothesis import strategies as st

from releasecheck.gates import decide, overridden, verdict
from releasecheck.model.gate import Decide, GateSpec, NoRegression
from releasecheck.model.judge import ExactJudge, SimilarityJudge
from releasecheck.model.scorecard import EXIT_CODES
from releasecheck.model.suite import BaselineRule
from releasecheck.model.table import SCORED
from tests.unit.tables import (
    baseline_of,
    passes,
    pinned,
    plan_for,
    quarantined,
    score_table,
    waived,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.model.judge import Judge
    from releasecheck.model.plan import Plan
    from releasecheck.model.scorecard import GateResult, Outcome
    from releasecheck.model.table import Baseline, ScoreTable
    from tests.unit.tables import Cell

JUDGES: Final[tuple[Judge, ...]] = (
    ExactJudge(id="exact", type="exact"),
    SimilarityJudge(id="close", type="similarity", pass_at=0.5),
)
LEVELS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Values of the judge that is no yes or no; few, so that ties and thresholds meet."""
METRICS: Final = ("exact", "close", "latency_ms")
Side: TypeAlias = Literal["candidate", "baseline", "anchor"]


@dataclass(frozen=True)
class Scene:
    """Everything that one decision is made from."""

    table: ScoreTable
    plan: Plan
    baseline: Baseline | None
    anchor: Baseline | None

    def decided(self) -> tuple[GateResult, ...]:
        return decide(self.table, self.plan, self.baseline, self.anchor)

    def outcomes(self) -> dict[str, Outcome]:
        return {result.id: result.outcome for result in self.decided()}

    def ends(self) -> tuple[Outcome, int]:
        """Verdict and exit code of a run that is over."""
        results = self.decided()
        found = verdict(results, self.plan)
        return found, 0 if overridden(results, self.plan) else EXIT_CODES[found]

    def side(self, side: Side) -> ScoreTable | None:
        if side == "candidate":
            return self.table
        run = self.baseline if side == "baseline" else self.anchor
        return None if run is None else run.table

    def with_side(self, side: Side, table: ScoreTable) -> Scene:
        if side == "candidate":
            return replace(self, table=table)
        run = self.baseline if side == "baseline" else self.anchor
        assert run is not None
        changed = replace(run, table=table)
        return (
            replace(self, baseline=changed) if side == "baseline" else replace(self, anchor=changed)
        )


@st.composite
def tables(
    draw: st.DrawFn, ids: Sequence[str], *, holes: bool, like: ScoreTable | None = None
) -> ScoreTable:
    """Scores of these cases; with `like`, most are those of that run, so that differences are few."""
    trials = draw(st.integers(1, 2))
    extra: tuple[Cell, ...] = ("na", "missing", "failed") if holes and draw(st.booleans()) else ()
    earlier = {} if like is None else {row.id: place for place, row in enumerate(like.cases)}
    cells: dict[str, list[list[Cell]]] = {}
    for index, (judge, values) in enumerate((("exact", LEVELS[::4]), ("close", LEVELS))):
        # Mostly good, and sometimes without a score.
        drawn = [
            list(each)
            for each in _each(draw, len(ids), trials, (*[values[-1]] * 6, *values, *extra))
        ]
        kept = _each(draw, len(ids), 1, (True, True, False))
        for place, ((keep,), name) in enumerate(zip(kept, ids, strict=True)):
            there = earlier.get(name)
            if (
                like is not None
                and keep
                and there is not None
                and like.state[there, 0, index] == SCORED
            ):
                drawn[place] = [float(like.value[there, 0, index])] * trials
        cells[judge] = drawn
    clustered = draw(st.booleans())
    edited = draw(st.lists(st.sampled_from(ids), max_size=1)) if holes else []
    return score_table(
        cells,
        ids=ids,
        judges=JUDGES,
        clusters=[group for (group,) in _each(draw, len(ids), 1, ("a", "b", None))]
        if clustered
        else None,
        contents=dict.fromkeys(edited, "edited"),
        latency_ms=[
            [value] * trials for (value,) in _each(draw, len(ids), 1, (10.0, 10.0, 20.0, 30.0))
        ],
    )


T = TypeVar("T")


def _each(draw: st.DrawFn, cases: int, trials: int, choice: Sequence[T]) -> list[list[T]]:
    """One of `choice` for each trial of each case, from a single draw: that is ten times as fast as one each."""
    data = draw(st.binary(min_size=cases * trials, max_size=cases * trials))
    found = [choice[byte % len(choice)] for byte in data]
    return [found[case * trials : (case + 1) * trials] for case in range(cases)]


@st.composite
def gates(draw: st.DrawFn, name: str, ways: Sequence[Decide]) -> GateSpec:
    """Any gate for which fewer, slower or worse answers are worse."""
    metric = draw(st.sampled_from(METRICS))
    judged = metric != "latency_ms"
    fields: dict[str, object] = {
        "id": name,
        "metric": metric,
        "min_scored": draw(st.sampled_from([None, None, 1, 3])),
        "max_not_applicable": draw(st.sampled_from([None, None, 0.0, 0.5])),
    }
    kind = draw(st.sampled_from(["limit", "require", "drop", "drop", "drop"]))
    if kind == "require" and judged:
        return GateSpec.model_validate(fields | {"require": "all"})
    if kind == "limit":
        limit = (
            {"min": draw(st.sampled_from(LEVELS))}
            if judged
            else {"max": draw(st.sampled_from([10.0, 20.0]))}
        )
        return GateSpec.model_validate(fields | limit)
    how = draw(st.sampled_from(ways))
    stats = (
        ["mean", "mean", "sum"]
        + (["pass_rate"] if judged else [])
        + (["min", "p50"] if how == "point" else [])
    )
    stat = draw(st.sampled_from(stats))
    most = draw(st.sampled_from([0.0, 0.0, 0.1, 0.25])) or (0.1 if how == "non-inferior" else 0.0)
    rule = NoRegression(
        max_drop=most if judged else most * 40,
        max_new_failures=draw(st.sampled_from([None, None, 0, 2])) if judged else None,
        decide=how,
        against=draw(st.sampled_from(["baseline", "baseline", "anchor"])),
        underpowered="refuse"
        if most > 0 and stat in ("mean", "sum", "pass_rate") and draw(st.integers(0, 4)) == 0
        else "warn",
    )
    return GateSpec.model_validate(fields | {"stat": stat, "no_regression": rule})


@st.composite
def scenes(
    draw: st.DrawFn, *, ways: Sequence[Decide] = get_args(Decide), holes: bool = True
) -> Scene:
    """A decision of up to four gates; with `holes` some scores are not there, and runs differ in their cases."""
    ids = [f"q{n}" for n in range(1, draw(st.sampled_from([8, 6, 4, 1, 12, 10, 2])) + 1)]
    table = draw(tables(ids, holes=holes))
    there = (
        ids
        if not holes or draw(st.booleans())
        else draw(
            st.lists(st.sampled_from([*ids, "gone", "old"]), min_size=1, max_size=12, unique=True)
        )
    )
    baseline = baseline_of(draw(tables(there, holes=holes, like=table)), judges=JUDGES)
    anchor = baseline_of(draw(tables(ids, holes=holes, like=table)), judges=JUDGES)
    names = [f"g{n}" for n in range(draw(st.integers(1, 4)))]
    chosen = tuple(draw(gates(name, ways)) for name in names)
    aside = draw(st.lists(st.sampled_from([*there, *ids]), max_size=3, unique=True))
    plan = plan_for(
        table,
        *chosen,
        judges=JUDGES,
        mode=draw(st.sampled_from(["full", "full", "delta"])),
        baseline_rule=BaselineRule(
            min_overlap=draw(st.sampled_from([0.1, 0.5, 0.9, 1.0])),
            on_missing=draw(st.sampled_from(["refuse", "bootstrap"])),
            anchor="release",
        ),
        pin=pinned(baseline),
        anchor=pinned(anchor),
        confidence=draw(st.sampled_from([0.6, 0.75, 0.875, 0.95])),
        correction=draw(st.sampled_from(["holm", "none"])),
        seed=draw(st.integers(0, 3)),
        quarantine=tuple(quarantined(name, draw(st.sampled_from([None, "exact"]))) for name in aside),
        waivers=tuple(waived(name) for name in names if draw(st.booleans())),
    )  # fmt: skip
    return Scene(table, plan, baseline, anchor)


def worse(draw: st.DrawFn, table: ScoreTable) -> ScoreTable:
    """The same run with some answers worse: lower values, failing verdicts, longer times."""
    value, passed, times = table.value.copy(), table.passed.copy(), table.latency_ms.copy()
    for cell in _some(draw, table.state == SCORED):
        judge = JUDGES[cell[2]]
        lower = [level for level in LEVELS if level <= value[cell]]
        value[cell] = 0.0 if judge.id == "exact" else draw(st.sampled_from(lower))
        passed[cell] = passes(judge, float(value[cell]))
    for cell in _some(draw, np.isfinite(times)):
        times[cell] += draw(st.sampled_from([1.0, 10.0, 100.0]))
    return replace(table, value=value, passed=passed, latency_ms=times)


def poorer(draw: st.DrawFn, table: ScoreTable) -> ScoreTable:
    """The same run with some scores taken away."""
    state, value, passed = table.state.copy(), table.value.copy(), table.passed.copy()
    times = table.latency_ms.copy()
    for cell in _some(draw, table.state == SCORED):
        state[cell] = draw(st.sampled_from([0, 3, 4]))  # missing, pending, failed
        value[cell], passed[cell] = np.nan, -1
    for cell in _some(draw, np.isfinite(times)):
        times[cell] = np.nan
    return replace(table, state=state, value=value, passed=passed, latency_ms=times)


def _some(draw: st.DrawFn, there: np.ndarray) -> list[tuple[int, ...]]:
    cells = [tuple(cell) for cell in np.argwhere(there).tolist()]
    return draw(st.lists(st.sampled_from(cells), max_size=4, unique=True)) if cells else []
