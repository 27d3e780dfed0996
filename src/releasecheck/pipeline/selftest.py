"""The gates of a suite tried on runs without a change: how often they block, and what they find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from releasecheck.gates import decide, verdict
from releasecheck.gates.subject import Subject
from releasecheck.model.plan import Root
from releasecheck.model.policy import Policy
from releasecheck.model.table import ScoreTable
from releasecheck.pipeline.freezing import plan_judges, read_suite
from releasecheck.pipeline.planting import plant
from releasecheck.pipeline.power import case_rows, plan_sights
from releasecheck.pipeline.selftest_report import Planted, SelfTest, Tally, Tried
from releasecheck.pipeline.selftest_runs import notes_on, pool_of, runs_for
from releasecheck.pipeline.selftest_ways import Bits
from releasecheck.plan import Circumstances, assign_shards, freeze, select
from releasecheck.stats import risk_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from releasecheck.config import LoadedSuite
    from releasecheck.model.case import Case
    from releasecheck.model.gate import GateSpec
    from releasecheck.model.plan import Plan
    from releasecheck.model.scorecard import GateResult
    from releasecheck.model.table import Baseline
    from releasecheck.pipeline.power import Sight
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


def self_test(request: TestRequest, world: World) -> SelfTest:
    """Try every gate of a suite on its baseline against itself, and on candidates that are worse.

    Raises:
        ConfigError: the suite cannot work.
        UsageError: there is no baseline, or runs that cannot be set against each other.
        Untrusted: a run contradicts itself.
    """
    loaded, cases = read_suite(request.config, request.profile)
    plan = _plan(loaded, cases, world)
    own = loaded.policy_root / loaded.suite.baseline.path
    found = runs_for(request.baseline or own, request.runs, plan)
    rows = case_rows(cases)
    pool, way = pool_of(found, rows, plan)
    like = found[0]
    sights = {one.gate: one for one in plan_sights(plan, cases, like, like, way.widened)}
    tests = [_Test.of(gate, plan, sights.get(gate.id)) for gate in plan.gates]
    total = request.rounds * (1 + sum(len(test.planted) for test in tests))
    world.progress.begin(total)
    bits, any_gate, done = Bits(request.seed), Tally(), 0
    for _ in range(request.rounds):
        table, baseline = pool.sides(way, bits)
        results = decide(table, plan, baseline, baseline, sight=False)
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
        notes=tuple(notes_on(found, pool, rows, plan)),
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
        for result in decide(worse, self.alone, baseline, baseline, sight=False):
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
