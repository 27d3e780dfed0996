"""Whether no-regression gates keep their promises, and what deciding costs.

    python benchmarks/gates.py                    # both, in a minute or two
    python benchmarks/gates.py --simulate --full  # the long simulation
    python benchmarks/gates.py --cost             # time and peak memory of 100,000 cases

The simulation draws a baseline and a candidate many times and decides as a gate does. Promises are rates:
with no true change `significant` blocks at most 1 - confidence of the candidates; `non-inferior` passes at
most as many whose true drop is just larger than `max_drop`; a drop of the size that a gate is said to
detect blocks about 80 %. Each rate comes with its own 95 % error; a promise that is outside of it is not
kept, and the exit code is 1. Seeds are fixed: the same figures every time.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from releasecheck.model.table import ANSWERED, SCORED, CaseRow, ScoreTable
from releasecheck.stats import (
    RESAMPLES,
    Column,
    cluster_sums,
    detectable_drop,
    drop_bound,
    from_baseline,
    from_pairs,
    not_inferior,
)
from releasecheck.stats.lattice import p_no_drop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.model.gate import Decide
    from releasecheck.model.judge import Judge
    from releasecheck.model.table import Floats, Indices
    from releasecheck.stats import Spread

ALPHA = 0.05
MAX_DROP = 0.05
SIZES = (50, 200, 1000)
GROUP = 5
"""Cases of a cluster, on average."""
not_inferior = functools.lru_cache(maxsize=None)(not_inferior)


@dataclass(frozen=True)
class World:
    """Where runs come from."""

    name: str
    yes_no: bool
    clustered: bool
    noise: str = "normal"
    """Of values: normal, skewed, or rare (most cases say the same in every run)."""
    alike: bool = False
    """Whether all cases are equally hard, so that two runs have nothing in common."""

    def clusters(self, n: int, rng: np.random.Generator) -> Indices | None:
        """Clusters of one to nine cases."""
        if not self.clustered:
            return None
        sizes = rng.integers(1, 2 * GROUP, n)
        return np.repeat(np.arange(n), sizes)[:n]

    def hardness(self, n: int, clusters: Indices | None, rng: np.random.Generator) -> Floats:
        """What two runs have in common: the quality of each case, or its chance to pass."""
        if self.alike:
            return np.full(n, 0.8)
        if self.yes_no:
            return rng.beta(2.0, 0.5, n)
        return rng.uniform(0.3, 0.9, n)

    def run(
        self,
        hardness: Floats,
        clusters: Indices | None,
        drop: float,
        trials: int,
        rng: np.random.Generator,
    ) -> Floats:
        """[C, T]: what one run scores, when it is worse by `drop` on average."""
        n = hardness.size
        wobble = rng.normal(size=(n, trials))
        if clusters is not None:
            shared = rng.normal(size=(int(clusters.max()) + 1, trials))[clusters]
            wobble = math.sqrt(0.5) * (wobble + shared)
        if self.yes_no:
            # A normal copula: each case passes with its own chance, cases of a cluster together.
            from scipy.special import ndtr

            return (ndtr(wobble) < (hardness - drop)[:, None]).astype(float)
        if self.noise == "rare":
            # One case in twenty drops, and then by much.
            lost = rng.random((n, trials)) < drop / 0.5
            return hardness[:, None] - 0.5 * lost + 0.01 * wobble
        if self.noise == "skewed":
            return hardness[:, None] - drop - 0.1 * (np.exp(wobble) - math.exp(0.5))
        return hardness[:, None] - drop + 0.15 * wobble


WORLDS = (
    World("yes/no", yes_no=True, clustered=False),
    World("yes/no, clustered", yes_no=True, clustered=True),
    World("values", yes_no=False, clustered=False),
    World("values, clustered", yes_no=False, clustered=True),
    World("skewed values", yes_no=False, clustered=False, noise="skewed"),
    World("skewed values, clustered", yes_no=False, clustered=True, noise="skewed"),
)
RARE = World("rare large drops", yes_no=False, clustered=False, noise="rare")


def blocks(
    decide: Decide, drops: Floats, clusters: Indices | None, max_drop: float, *, yes_no: bool
) -> bool:
    """The decision of a gate over pairs."""
    over = float(drops.mean()) > max_drop + 1e-12
    worse, better = int((drops > 0).sum()), int((drops < 0).sum())
    exact = yes_no and clusters is None
    if decide == "point":
        return over
    if decide == "significant":
        if not over:
            return False
        return p_no_drop(cluster_sums(drops, clusters), 0) < ALPHA
    if over:
        return True
    if exact:
        return not_inferior(worse, better, drops.size, max_drop) > ALPHA
    bound = drop_bound(drops, clusters, 1 - ALPHA, 1.0)
    return bound is None or bound > max_drop


def column_of(values: Floats, *, yes_no: bool) -> Column:
    """A run as a gate sees it."""
    passed = values.astype(np.int8) if yes_no else np.full(values.shape, -1, np.int8)
    state = np.full(values.shape, SCORED, np.int8)
    return Column(state, values, passed, np.zeros(values.shape, bool))


@dataclass(frozen=True)
class Row:
    """One promise and how often it held."""

    what: str
    n: int
    rate: float
    error: float
    promised: str
    ok: bool


def row(what: str, n: int, hits: int, times: int, low: float, high: float) -> Row:
    """A rate against the range that was promised."""
    rate = hits / times
    share = (hits + 2) / (times + 4)
    error = 1.96 * math.sqrt(share * (1 - share) / (times + 4))
    promised = f"at most {high:.0%}" if low == 0 else f"{low:.0%} to {high:.0%}"
    return Row(what, n, rate, error, promised, rate - error <= high and rate + error >= low)


def no_change(world: World, n: int, times: int, rng: np.random.Generator) -> Row:
    """How often `significant` blocks a candidate that is as good as the baseline."""
    hits = 0
    for _ in range(times):
        clusters = world.clusters(n, rng)
        hard = world.hardness(n, clusters, rng)
        before, now = (world.run(hard, clusters, 0.0, 1, rng)[:, 0] for _ in range(2))
        hits += blocks("significant", before - now, clusters, 0.0, yes_no=world.yes_no)
    return row(f"significant blocks no change: {world.name}", n, hits, times, 0.0, ALPHA)


def too_far(world: World, n: int, times: int, rng: np.random.Generator) -> Row:
    """How often `non-inferior` passes a candidate that dropped a little more than is allowed."""
    hits = 0
    for _ in range(times):
        clusters = world.clusters(n, rng)
        hard = np.maximum(world.hardness(n, clusters, rng), 1.001 * MAX_DROP)
        before = world.run(hard, clusters, 0.0, 1, rng)[:, 0]
        now = world.run(hard, clusters, 1.001 * MAX_DROP, 1, rng)[:, 0]
        hits += not blocks("non-inferior", before - now, clusters, MAX_DROP, yes_no=world.yes_no)
    return row(f"non-inferior passes too much: {world.name}", n, hits, times, 0.0, ALPHA)


def detects(
    world: World, decide: Decide, known: str, n: int, times: int, rng: np.random.Generator
) -> Row:
    """How often a drop blocks that is just as large as the gate is said to detect."""
    hits = told = always = 0
    for _ in range(times):
        clusters = world.clusters(n, rng)
        hard = world.hardness(n, clusters, rng)
        trials = 4 if known == "trials" else 1
        before = world.run(hard, clusters, 0.0, trials, rng)
        spread = _spread(world, known, before, clusters, hard, rng)
        drop = None if spread is None else detectable_drop(decide, MAX_DROP, spread, ALPHA)
        if drop is None:
            continue
        hard = np.maximum(hard, drop) if world.yes_no else hard
        before = world.run(hard, clusters, 0.0, trials, rng).mean(axis=1)
        now = world.run(hard, clusters, drop, trials, rng).mean(axis=1)
        hits += blocks(decide, before - now, clusters, MAX_DROP, yes_no=world.yes_no)
        told += 1
        always += drop == 0
    # A gate that is said to block whatever comes, does so at least that often.
    high = 0.9 if always < told / 20 else 1.0
    what = f"{decide} detects, known from {known}: {world.name}"
    return row(what, n, hits, max(1, told), 0.75, high)


def _spread(
    world: World,
    known: str,
    before: Floats,
    clusters: Indices | None,
    hard: Floats,
    rng: np.random.Generator,
) -> Spread | None:
    if known == "pairs":
        again = world.run(hard, clusters, 0.0, 1, rng)
        return from_pairs((before - again)[:, 0], clusters, yes_no=world.yes_no, span=1.0)
    rule = "majority" if world.yes_no else None
    return from_baseline(column_of(before, yes_no=world.yes_no), clusters, pass_rule=rule, span=1.0)


def simulation(times: int) -> Iterator[Row]:
    """Every promise, in every world."""
    rng = np.random.default_rng(20_260_101)
    for world in WORLDS:
        for n in SIZES:
            yield no_change(world, n, times, rng)
    for world in (*WORLDS, RARE):
        for n in SIZES:
            yield too_far(world, n, times, rng)
    few = max(200, times // 5)
    decisions: tuple[Decide, ...] = ("point", "significant", "non-inferior")
    for decide in decisions:
        for n in SIZES:
            for world in WORLDS[:4]:
                yield detects(world, decide, "pairs", n, few, rng)
    for n in SIZES:
        for world in (
            World("yes/no, all alike", yes_no=True, clustered=False, alike=True),
            World("values, all alike", yes_no=False, clustered=False, alike=True),
        ):
            yield detects(world, "significant", "one run", n, few, rng)
        yield detects(WORLDS[2], "significant", "trials", n, few, rng)
        yield detects(WORLDS[3], "significant", "trials", n, few, rng)


def simulate(times: int) -> bool:
    """Print the table; whether every promise is kept."""
    kept = True
    print(f"{'promise':<62} {'n':>5} {'rate':>7} {'+-':>7}  {'promised':<12}")
    started = time.perf_counter()
    for found in simulation(times):
        kept &= found.ok
        print(
            f"{found.what:<62} {found.n:>5} {found.rate:>7.2%} {found.error:>7.2%}  "
            f"{found.promised:<12} {'ok' if found.ok else 'NOT ok'}",
            flush=True,
        )
    print(f"{times} times each, in {time.perf_counter() - started:.0f} s")
    return kept


def decided(cases: int) -> dict[str, float]:
    """Decide 10 gates over 3 judges in this process, and say what it took."""
    import resource

    from tests.unit.tables import YES_NO, baseline_of, plan_for

    from releasecheck.gates import decide
    from releasecheck.metrics import measure
    from releasecheck.model.gate import GateSpec, NoRegression
    from releasecheck.model.judge import SimilarityJudge

    judges = (
        YES_NO,
        SimilarityJudge(id="close", type="similarity", pass_at=0.5),
        SimilarityJudge(id="near", type="similarity"),
    )
    rng = np.random.default_rng(1)
    rows = _rows(cases)
    before = _table(rows, judges, rng, 0.0)
    now = _table(rows, judges, rng, 0.004)
    decisions: tuple[Decide, ...] = ("significant", "significant", "non-inferior")
    gates = [
        GateSpec(
            id=f"g{index}",
            metric=judges[index % 3].id,
            stat="mean" if index % 3 == 2 or index < 5 else "pass_rate",
            split=("all", "even")[index // 5],
            no_regression=NoRegression(
                max_drop=0.002, decide=decisions[index % 3 if index < 9 else 0]
            ),
        )
        for index in range(10)
    ]
    plan = plan_for(now, *gates, judges=judges)
    baseline = baseline_of(before, judges=judges)
    start_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, busy = time.perf_counter(), time.process_time()
    results = decide(now, plan, baseline)
    seconds, cpu = time.perf_counter() - started, time.process_time() - busy
    measured = measure(now, plan, baseline)
    both = time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "gates": len(results),
        "tested": sum(result.p_value is not None for result in results),
        "metrics": len(measured),
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
        "metrics_seconds": round(both - cpu, 2),
        "before_mb": round(start_mb * unit / 1e6),
        "peak_mb": round(peak * unit / 1e6),
    }


def _rows(cases: int) -> tuple[CaseRow, ...]:
    return tuple(
        CaseRow(
            id=f"case-{index}",
            digest=f"sha256:{index:064x}",
            split=("even", "odd")[index % 2],
            tags=(),
            path="cases.jsonl",
            line=index + 1,
            cluster=f"doc-{index // 4}" if index % 2 else None,
        )
        for index in range(cases)
    )


def _table(
    rows: tuple[CaseRow, ...], judges: tuple[Judge, ...], rng: np.random.Generator, drop: float
) -> ScoreTable:
    cases = len(rows)
    value = np.clip(rng.normal(0.7 - drop, 0.2, (cases, 1, 3)), 0, 1)
    value[:, :, 0] = value[:, :, 0] > 0.5
    passed = (value >= 0.5).astype(np.int8)
    passed[:, :, 2] = -1
    return ScoreTable(
        cases=rows,
        judges=tuple(judge.id for judge in judges),
        trials=1,
        target=np.full((cases, 1), ANSWERED, dtype=np.int8),
        latency_ms=rng.gamma(4.0, 100.0, (cases, 1)),
        cost_usd=np.full((cases, 1), 0.001),
        tokens=np.full((cases, 1), 500.0),
        state=np.full((cases, 1, 3), SCORED, dtype=np.int8),
        value=value,
        passed=passed,
        mendable=np.zeros((cases, 1, 3), dtype=bool),
    )


def cost(cases: int) -> None:
    """Measure in a process of its own, whose memory is that of the decision."""
    command = [sys.executable, __file__, "--step", "decide", "--cases", str(cases)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    print(
        f"{cases:,} cases x 3 judges x {found['gates']} gates ({found['tested']} with p-values, of at least "
        f"{RESAMPLES:,} patterns of signs): decided in {found['seconds']} s "
        f"({found['cpu_seconds']} s of CPU); {found['metrics']} metrics with intervals in "
        f"{found['metrics_seconds']} s of CPU; peak {found['peak_mb']} MB ({found['before_mb']} MB before)"
    )


def main() -> None:
    """Parse, simulate, measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulate", action="store_true", help="only the promises")
    parser.add_argument("--cost", action="store_true", help="only time and memory")
    parser.add_argument("--full", action="store_true", help="10,000 runs of each instead of 1,000")
    parser.add_argument("--cases", type=int, default=100_000, help="of the cost")
    parser.add_argument("--step", choices=["decide"], help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.step == "decide":
        print(json.dumps(decided(asked.cases)))
        return
    kept = True
    if asked.cost or not asked.simulate:
        cost(asked.cases)
    if asked.simulate or not asked.cost:
        kept = simulate(10_000 if asked.full else 1_000)
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
