"""The gates of a suite tried on runs without a change: how often they block, and what they find."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from releasecheck.errors import UsageError
from releasecheck.gates import decide, verdict
from releasecheck.gates.subject import Subject
from releasecheck.model.plan import Root
from releasecheck.model.policy import Policy
from releasecheck.model.table import MISSING, ScoreTable
from releasecheck.pipeline.baselines import has_baseline, read_whole_baseline
from releasecheck.pipeline.freezing import plan_judges, read_suite
from releasecheck.pipeline.planting import plant
from releasecheck.pipeline.power import case_rows, plan_sights
from releasecheck.pipeline.selftest_report import Planted, SelfTest, Tally, Tried
from releasecheck.pipeline.selftest_ways import Bits, Runs, Trials, cases_way, stacked
from releasecheck.plan import Circumstances, assign_shards, freeze, select
from releasecheck.stats import clusters_of, count_of, match_cases, risk_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from releasecheck.config import LoadedSuite
    from releasecheck.model.case import Case
    from releasecheck.model.gate import GateSpec
    from releasecheck.model.plan import Plan
    from releasecheck.model.scorecard import GateResult
    from releasecheck.model.table import Baseline, CaseRow, Indices
    from releasecheck.pipeline.baselines import BaselineFiles
    from releasecheck.pipeline.power import Sight
    from releasecheck.pipeline.selftest_ways import Side, Way
    from releasecheck.pipeline.world import World

DETECTED = 0.8
"""What the stated detectable drop promises."""


@dataclass(frozen=True, slots=True)
class TestRequest:
    """What is asked for."""

    __test__ = False  # no test of pytest's, whatever its name

    config: Path
    profile: str | None = None
    baseline: Path | None = None
    """None: the suite's own."""
    runs: tuple[Path, ...] = ()
    """Further runs without a change between them."""
    rounds: int = 1000
    seed: int = 0


@dataclass(frozen=True, slots=True)
class _Pool:
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


def self_test(request: TestRequest, world: World) -> SelfTest:
    """Try every gate of a suite on its baseline against itself, and on candidates that are worse.

    Raises:
        ConfigError: the suite cannot work.
        UsageError: there is no baseline, or runs that cannot be set against each other.
        Untrusted: a run contradicts itself.
    """
    loaded, cases = read_suite(request.config, request.profile)
    plan = _plan(loaded, cases, world)
    found = _runs(request, loaded, plan)
    rows = case_rows(cases)
    pool, way = _pool(found, rows, plan)
    like = found[0]
    sights = {one.gate: one for one in plan_sights(plan, cases, like, like, way.widened)}
    tests = [_Test.of(gate, plan, sights.get(gate.id)) for gate in plan.gates]
    total = request.rounds * (1 + sum(len(test.planted) for test in tests))
    world.progress.begin(total)
    bits, any_gate, done = Bits(request.seed), Tally(), 0
    for _ in range(request.rounds):
        table, baseline = pool.sides(way, bits)
        results = decide(table, plan, baseline, baseline)
        _count_verdict(any_gate, results, plan)
        for test, result in zip(tests, results, strict=True):
            _count(test.tally, result, lower_is_better=test.subject.lower_is_better)
        done += 1
        world.progress.case_done(0, done, total, 0)
        for test in tests:
            for planted in test.planted:
                test.try_drop(planted, table, baseline, bits)
                done += 1
                world.progress.case_done(0, done, total, 0)
    return SelfTest(
        suite=plan.suite,
        runs=tuple(one.manifest.run_id for one in found),
        way=way.name,
        way_words=way.words,
        cases=len(pool.cases),
        of=len(rows),
        trials=pool.table.trials,
        seed=request.seed,
        confidence=plan.confidence,
        any_gate=any_gate,
        gates=tuple(test.tried(plan) for test in tests),
        notes=tuple(_notes(found, pool, rows, plan)),
    )


@dataclass(slots=True)
class _Drop:
    """One drop to plant, and what came of it."""

    what: str
    drop: float
    promised: float | None
    tally: Tally
    why: str | None = None


@dataclass(frozen=True, slots=True)
class _Test:
    """One gate under test."""

    gate: GateSpec
    subject: Subject
    alone: Plan
    """A plan of this gate and of those it shares its error with, which is all that matters to it."""
    tally: Tally
    planted: tuple[_Drop, ...]

    @classmethod
    def of(cls, gate: GateSpec, plan: Plan, sight: Sight | None) -> _Test:
        """Of one gate of the plan."""
        shares = gate.no_regression is not None and gate.no_regression.decide == "significant"
        kept = tuple(
            one
            for one in plan.gates
            if one is gate
            or (
                shares
                and one.no_regression is not None
                and one.no_regression.decide == "significant"
            )
        )
        alone = plan.model_copy(update={"gates": kept})
        return cls(gate, Subject.of(gate, plan), alone, Tally(), _drops(gate, plan, sight))

    def try_drop(self, planted: _Drop, table: ScoreTable, baseline: Baseline, bits: Bits) -> None:
        """One round with a drop."""
        worse = plant(table, self.subject, planted.drop, bits)
        if isinstance(worse, str):
            planted.why = planted.why or worse
            return
        for result in decide(worse, self.alone, baseline, baseline):
            if result.id == self.gate.id:
                _count(planted.tally, result, lower_is_better=self.subject.lower_is_better)

    def tried(self, plan: Plan) -> Tried:
        """What came of it."""
        rule = self.gate.no_regression
        usual = risk_of(plan.confidence)
        return Tried(
            gate=self.gate,
            against=None if rule is None else rule.side,
            lower_is_better=self.subject.lower_is_better,
            tally=self.tally,
            promised=usual if rule is not None and rule.decide == "significant" else None,
            usual=usual,
            planted=tuple(
                Planted(one.what, one.drop, one.tally, one.promised, one.why)
                for one in self.planted
            ),
        )


def _drops(gate: GateSpec, plan: Plan, sight: Sight | None) -> tuple[_Drop, ...]:
    """Drops worth trying: the one allowed, the one the suite is said to see, and twice that."""
    rule = gate.no_regression
    if rule is None:
        return ()
    found = []
    if rule.max_drop > 0:
        sure = plan.confidence if rule.decide == "non-inferior" else None
        found.append(_Drop("max_drop", rule.max_drop, sure, Tally()))
    seen = None if sight is None or sight.power is None else sight.power.min_detectable_drop
    if seen:
        found.append(_Drop("min_detectable_drop", seen, DETECTED, Tally()))
        found.append(_Drop("twice min_detectable_drop", 2 * seen, DETECTED, Tally()))
    elif rule.max_drop > 0:
        found.append(_Drop("twice max_drop", 2 * rule.max_drop, None, Tally()))
    return tuple(found)


def _count(tally: Tally, result: GateResult, *, lower_is_better: bool) -> None:
    tally.rounds += 1
    if result.outcome not in ("pass", "block"):
        tally.refused[result.outcome] = tally.refused.get(result.outcome, 0) + 1
        tally.refusal = tally.refusal or result.reason
        return
    tally.blocked += result.outcome == "block"
    if result.value is not None:
        tally.values.append(result.value)
    if result.delta is not None:
        tally.drops.append(result.delta if lower_is_better else -result.delta)
        tally.new_failures.append(len(result.new_failures))


def _count_verdict(tally: Tally, results: Sequence[GateResult], plan: Plan) -> None:
    tally.rounds += 1
    found = verdict(results, plan)
    tally.blocked += found == "block"
    if found not in ("pass", "block"):
        tally.refused[found] = tally.refused.get(found, 0) + 1
        first = next(result for result in results if result.outcome not in ("pass", "block"))
        tally.refusal = tally.refusal or f"{first.id}: {first.reason}"


def _plan(loaded: LoadedSuite, cases: tuple[Case, ...], world: World) -> Plan:
    """The plan that a whole run of the suite would have now."""
    chosen = select(cases, mode="full")
    circumstances = Circumstances(
        unique="selftest",
        created_at=world.clock.now(),
        tool=world.tool,
        policy=Policy(file=loaded.policy_path.name, digest=loaded.digest),
        root=Root(from_cwd=".", config=loaded.path.name),
    )
    shards = assign_shards(chosen.cases, 1, None)
    return freeze(loaded.suite, chosen, plan_judges(loaded), shards, circumstances).plan


def _runs(request: TestRequest, loaded: LoadedSuite, plan: Plan) -> list[BaselineFiles]:
    """The runs to set against each other, or the one to set against itself."""
    folder = request.baseline or loaded.policy_root / loaded.suite.baseline.path
    folders = list(request.runs)
    if len(folders) < 2:
        if not has_baseline(folder):
            message = (
                f"no baseline in {folder}: the gates are tried on a run that is there already; make one with "
                "`releasecheck run` and `releasecheck baseline promote`, or name two or more runs with --runs"
            )
            raise UsageError(message)
        folders.insert(0, folder)
    found = [read_whole_baseline(one, "self-test") for one in folders]
    for folder, one in zip(folders, found, strict=True):
        _check(folder, one, found, folders, plan)
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


def _pool(
    found: Sequence[BaselineFiles], rows: tuple[CaseRow, ...], plan: Plan
) -> tuple[_Pool, Way]:
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
    pool = _Pool(stacked(cut), cases, like)
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


def _notes(
    found: Sequence[BaselineFiles], pool: _Pool, rows: tuple[CaseRow, ...], plan: Plan
) -> list[str]:
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
