"""Finished runs side by side: flips and metric differences against the first; nothing is decided.

A difference is one of the same cases under the same judge. Where there are none it says why, and there is no
number.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from releasecheck.errors import UsageError
from releasecheck.gates import case_changes, flips
from releasecheck.metrics import measure
from releasecheck.model.gate import BUILTIN_METRICS
from releasecheck.pipeline.across import cases_across
from releasecheck.pipeline.baselines import read_baseline
from releasecheck.pipeline.models import other_models
from releasecheck.scorecard.side_by_side import (
    CasesAcross,
    Comparison,
    MetricDifference,
    RunSeen,
    Several,
    label_of,
)
from releasecheck.stats import count, match_cases

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from releasecheck.model.scorecard import Metric
    from releasecheck.model.table import Baseline, Indices, ScoreTable
    from releasecheck.pipeline.baselines import BaselineFiles

MOST_RUNS: Final = 50
Key = tuple[str, str, str]


def compare(base: Path, candidate: Path) -> Comparison:
    """Compare two bundles or baseline folders.

    Raises:
        UsageError, Untrusted: one of them cannot be read or contradicts itself.
    """
    return compare_all((base, candidate)).pairs[0]


def compare_all(paths: Sequence[Path]) -> Several:
    """Compare bundles or baseline folders with the first of them.

    Raises:
        UsageError, Untrusted: one of them cannot be read or contradicts itself.
    """
    if not 2 <= len(paths) <= MOST_RUNS:
        message = f"expected two to {MOST_RUNS} bundles or baselines, found {len(paths)}"
        raise UsageError(message)
    sides = [read_baseline(path, "compared") for path in paths]
    return Several(
        runs=tuple(
            _seen(at, path, side) for at, (path, side) in enumerate(zip(paths, sides, strict=True))
        ),
        pairs=tuple(_pair(sides[0], side) for side in sides[1:]),
        cases=CasesAcross(*cases_across(sides)),
    )


def _seen(at: int, path: Path, side: BaselineFiles) -> RunSeen:
    card, manifest = side.scorecard, side.manifest
    return RunSeen(
        label=label_of(at),
        path=str(path),
        run_id=card.run_id,
        suite=card.suite,
        mode=card.mode,
        at=manifest.finalized_at,
        commit=side.baseline.commit,
        verdict=card.verdict,
        overridden=card.overridden,
        cases=card.counts.cases,
        models=tuple(sorted(side.baseline.models)),
        metrics=card.metrics,
    )


def _pair(one: BaselineFiles, other: BaselineFiles) -> Comparison:
    digests = [side.baseline.judge_digests for side in (one, other)]
    shared = [judge for judge in digests[0] if judge in digests[1]]
    changed = tuple(judge for judge in shared if digests[0][judge] != digests[1][judge])
    table, before = other.baseline.table, one.baseline.table
    matched = match_cases(table.cases, before.cases)
    return Comparison(
        base=one.manifest.run_id,
        candidate=other.manifest.run_id,
        metrics=tuple(_differences(one, other, matched, changed)),
        flips=flips(table, other.measured, one.baseline),
        cases=case_changes(table, one.baseline, partial=other.measured.mode != "full"),
        judges_changed=changed,
        models=other_models(other.baseline.models, one.baseline.models),
        notes=tuple(_notes(one, other)),
    )


def _notes(one: BaselineFiles, other: BaselineFiles) -> Iterator[str]:
    """What must be known besides before anything is read from a difference."""
    if one.scorecard.run_id == other.scorecard.run_id:
        yield f"both are run {one.scorecard.run_id}"
    if one.scorecard.suite != other.scorecard.suite:
        yield f"they are of different suites: {one.scorecard.suite} and {other.scorecard.suite}"
    for name, side in (("base", one), ("candidate", other)):
        if side.manifest.finalized_at is None:
            yield f"the {name} {side.scorecard.run_id} is not final: its numbers may change"
        if side.scorecard.mode != "full":
            yield f"the {name} {side.scorecard.run_id} is a {side.scorecard.mode} run over a part of the cases"
    judged = [side.scorecard.judge_models for side in (one, other)]
    for judge in judged[0]:
        said = other_models(judged[1].get(judge, {}), judged[0][judge])
        if said:
            yield f"judge {judge}: {said.replace('another model answered', 'another model judged')}"
    for judge in one.baseline.judge_digests.keys() ^ other.baseline.judge_digests.keys():
        where = "base" if judge in one.baseline.judge_digests else "candidate"
        yield f"judge {judge} is there in the {where} alone"


def _differences(
    one: BaselineFiles, other: BaselineFiles, matched: Indices, changed: Sequence[str]
) -> Iterator[MetricDifference]:
    keyed = [
        {(metric.metric, metric.split, metric.stat): metric for metric in side.scorecard.metrics}
        for side in (one, other)
    ]
    rows = np.flatnonzero(matched >= 0)
    shared = _over_shared(one, other, matched, rows) if rows.size else {}
    moved = _moved(one.baseline, other.baseline, matched, rows)
    for key in dict.fromkeys([*keyed[1], *keyed[0]]):
        sides = keyed[0].get(key), keyed[1].get(key)
        why = _why_not(key, sides, changed)
        if not why and not one.baseline.finalized:
            why = "the base is not final"
        if not why and not rows.size:
            why = "no case in common"
        if not why and key[1] != "all" and moved:
            why = f"{count(moved, 'case')} moved between splits"
        found = shared.get(key)
        if why or found is None or found.delta is None:
            yield MetricDifference(*sides, why=why or _partly(sides))
            continue
        around = None
        if found.delta_ci_low is not None and found.delta_ci_high is not None:
            around = (found.delta_ci_low, found.delta_ci_high)
        # Other cases than those in common are in the two values, and not in the difference.
        whole = rows.size == len(one.baseline.table.cases) == len(other.baseline.table.cases)
        yield MetricDifference(
            *sides,
            delta=found.delta,
            around=around,
            over=None if whole else found.n_scored,
            base_over=found.baseline_value,
            candidate_over=found.value,
        )


def _why_not(key: Key, sides: tuple[Metric | None, Metric | None], changed: Sequence[str]) -> str:
    for name, metric in zip(("base", "candidate"), sides, strict=True):
        if metric is None:
            return f"the {name} has no such metric"
    if key[0] in changed:
        return "another judge"
    for name, metric in zip(("base", "candidate"), sides, strict=True):
        if metric is None or metric.value is None:
            return f"not measured in the {name}"
        if metric.n_scored < metric.n_expected and key[0] not in BUILTIN_METRICS:
            return f"{metric.n_scored:,} of {metric.n_expected:,} scored in the {name}"
    return ""


def _partly(sides: tuple[Metric | None, Metric | None]) -> str:
    """Why two values have no difference: the first side that did not measure every case."""
    for name, metric in zip(("base", "candidate"), sides, strict=True):
        if metric is not None and metric.n_scored < metric.n_expected:
            return f"{metric.n_scored:,} of {metric.n_expected:,} measured in the {name}"
    return "nothing in common was measured"


def _moved(one: Baseline, other: Baseline, matched: Indices, rows: Indices) -> int:
    """Cases that are in another split by now."""
    before, now = one.table.cases, other.table.cases
    return sum(now[row].split != before[matched[row]].split for row in rows.tolist())


def _over_shared(
    one: BaselineFiles, other: BaselineFiles, matched: Indices, rows: Indices
) -> dict[Key, Metric]:
    """The candidate's metrics over the cases in common, with their differences."""
    now = _only(other.baseline.table, rows)
    before = replace(one.baseline, table=_only(one.baseline.table, matched[rows]))
    # A part of the cases is what is asked for here, so no mode withholds a difference.
    measured = replace(other.measured, mode="full")
    return {
        (metric.metric, metric.split, metric.stat): metric
        for metric in measure(now, measured, before)
    }


def _only(table: ScoreTable, rows: Indices) -> ScoreTable:
    if rows.size == len(table.cases) and bool((rows == np.arange(rows.size)).all()):
        return table
    return replace(
        table,
        cases=tuple(table.cases[row] for row in rows.tolist()),
        target=table.target[rows],
        latency_ms=table.latency_ms[rows],
        cost_usd=table.cost_usd[rows],
        tokens=table.tokens[rows],
        state=table.state[rows],
        value=table.value[rows],
        passed=table.passed[rows],
        mendable=table.mendable[rows],
        bridged=(),
    )
