"""The runs that the gates of a suite are tried on, cut to the cases that they share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from releasecheck.errors import UsageError
from releasecheck.gates.subject import Subject
from releasecheck.model.table import MISSING, ScoreTable
from releasecheck.pipeline.baselines import has_baseline, read_whole_baseline
from releasecheck.pipeline.selftest_ways import Runs, Trials, cases_way, stacked
from releasecheck.stats import clusters_of, count_of, match_cases

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from releasecheck.model.plan import Plan
    from releasecheck.model.table import Baseline, CaseRow, Indices
    from releasecheck.pipeline.baselines import BaselineFiles
    from releasecheck.pipeline.selftest_ways import Bits, Side, Way


@dataclass(frozen=True, slots=True)
class Pool:
    """What the rounds are made from."""

    table: ScoreTable
    """One row for each case, or one for each case and run."""
    cases: tuple[CaseRow, ...]
    like: Baseline
    """The run whose name and judges the made baselines have."""

    def sides(self, way: Way, bits: Bits) -> tuple[ScoreTable, Baseline]:
        """Candidate and baseline of a round."""
        here, there = way.draw(bits)
        return self._table(here), replace(self.like, table=self._table(there))

    def _table(self, side: Side) -> ScoreTable:
        return side.table(self.table, self.cases)


def runs_for(folder: Path, more: Sequence[Path], plan: Plan) -> list[BaselineFiles]:
    """The runs to set against each other, or the one to set against itself.

    Args:
        folder: Where the baseline is.
        more: Runs without a change between them; one is set against the baseline, several against each other.
        plan: Of the suite.

    Raises:
        UsageError: there is no baseline, or a run cannot be set against the first one.
        Untrusted: a run contradicts itself.
    """
    folders = list(more)
    if len(folders) < 2:
        if not has_baseline(folder):
            message = (
                f"no baseline in {folder}: the gates are tried on a run that is there already; make one with "
                "`releasecheck run` and `releasecheck baseline promote`, or name two or more runs with --runs"
            )
            raise UsageError(message)
        folders.insert(0, folder)
    found = [read_whole_baseline(one, "self-test") for one in folders]
    for place, one in zip(folders, found, strict=True):
        _check(place, one, found, folders, plan)
    return found


def _check(
    folder: Path,
    one: BaselineFiles,
    found: Sequence[BaselineFiles],
    folders: Sequence[Path],
    plan: Plan,
) -> None:
    """Refuse a run that cannot be set against the first one."""
    first = found[0]
    if one is first:
        return
    run = one.manifest.run_id
    problem = None
    twice = [
        there for other, there in zip(found, folders, strict=True) if other.manifest.run_id == run
    ]
    if len(twice) > 1:
        problem = f"run {run} is named twice; a run never differs from itself"
    elif one.manifest.finalized_at is None:
        problem = f"run {run} is not finalized"
    elif one.baseline.table.trials != first.baseline.table.trials:
        problem = (
            f"it has {one.baseline.table.trials} trials of each case, and run {first.manifest.run_id} has "
            f"{first.baseline.table.trials}"
        )
    elif one.manifest.suite != first.manifest.suite:
        problem = f"it is of the suite {one.manifest.suite}, not of {first.manifest.suite}"
    else:
        ours, theirs = one.baseline.judge_digests, first.baseline.judge_digests
        gated = {gate.metric for gate in plan.gates} & (ours.keys() | theirs.keys())
        other = sorted(judge for judge in gated if ours.get(judge) != theirs.get(judge))
        if other:
            problem = f"another judge {other[0]} scored it than run {first.manifest.run_id}"
    if problem is not None:
        message = (
            f"{folder}: {problem}; name finalized runs of one suite without a change between them"
        )
        raise UsageError(message)


def pool_of(
    found: Sequence[BaselineFiles], rows: tuple[CaseRow, ...], plan: Plan
) -> tuple[Pool, Way]:
    """What the rounds are made from, and how.

    Args:
        found: The runs.
        rows: The suite's cases as they are now; those that a run does not hold take no part.
        plan: Of the suite.

    Raises:
        UsageError: the runs hold none of the cases.
    """
    tables = [one.baseline.table for one in found]
    partners = np.array([match_cases(rows, table.cases) for table in tables], dtype=np.intp)
    shared = np.flatnonzero((partners >= 0).all(axis=0))
    if shared.size == 0:
        message = (
            "none of the suite's cases, as they are now, was in the run to try the gates on; make a run of these "
            "cases and promote it"
        )
        raise UsageError(message)
    cases = tuple(rows[row] for row in shared.tolist())
    judges = tuple(judge.id for judge in plan.judges)
    cut = [
        _cut(table, judges, partner[shared])
        for table, partner in zip(tables, partners, strict=True)
    ]
    like = found[0].baseline
    pool = Pool(stacked(cut), cases, like)
    trials = cut[0].trials
    names = clusters_of([case.cluster for case in cases])
    if len(cut) > 1:
        clusters = np.arange(len(cases)) if names is None else names
        return pool, Runs(len(cases), trials, len(cut), clusters)
    if trials > 1:
        return pool, Trials(len(cases), trials)
    chosen = [Subject.of(gate, plan).selects(cases) for gate in plan.gates]
    return pool, cases_way(cut[0], cases, chosen)


def _cut(table: ScoreTable, judges: tuple[str, ...], rows: Indices) -> ScoreTable:
    """Some rows of a table with the given judges; one that it does not have has scored nothing in it."""
    shape = (rows.size, table.trials, len(judges))
    state = np.full(shape, MISSING, dtype=np.int8)
    value, passed = np.full(shape, np.nan), np.full(shape, -1, dtype=np.int8)
    for at, judge in enumerate(judges):
        if judge in table.judges:
            there = table.judges.index(judge)
            state[:, :, at] = table.state[rows, :, there]
            value[:, :, at] = table.value[rows, :, there]
            passed[:, :, at] = table.passed[rows, :, there]
    return ScoreTable(
        cases=tuple(table.cases[row] for row in rows.tolist()),
        judges=judges,
        trials=table.trials,
        target=table.target[rows],
        latency_ms=table.latency_ms[rows],
        cost_usd=table.cost_usd[rows],
        tokens=table.tokens[rows],
        state=state,
        value=value,
        passed=passed,
        mendable=np.zeros(shape, dtype=np.bool_),
    )


def notes_on(
    found: Sequence[BaselineFiles], pool: Pool, rows: tuple[CaseRow, ...], plan: Plan
) -> list[str]:
    """What whoever reads the figures has to know of the runs."""
    notes = []
    left = len(rows) - len(pool.cases)
    if left:
        notes.append(
            f"{count_of(left, len(rows))} of the suite {'is' if left == 1 else 'are'} not in the run with this content, "
            "and took no part"
        )
    digests = found[0].baseline.judge_digests
    gated = {gate.metric for gate in plan.gates}
    for judge in plan.judges:
        if judge.id in gated and judge.id not in digests:
            notes.append(f"judge {judge.id} is not in the run, so its gates decide nothing")
        elif judge.id in gated and digests[judge.id] != judge.digest:
            notes.append(
                f"judge {judge.id} has changed since the run, whose scores are the old one's"
            )
    targets = {str(one.manifest.target.get("digest")) for one in found}
    commits = {str(one.baseline.commit) for one in found}
    if len(targets) > 1:
        notes.append(
            "the runs are of different targets: a real change between them counts as noise here"
        )
    elif len(commits) > 1:
        notes.append(
            "the runs are of different commits: a real change between them counts as noise here"
        )
    if any(
        gate.no_regression is not None and gate.no_regression.against == "anchor"
        for gate in plan.gates
    ):
        notes.append("gates against the anchor were tried on the same run as the others")
    return notes
