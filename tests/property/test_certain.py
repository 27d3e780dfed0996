"""`stop_when_decided`: what is certain stays certain, and never turns into a pass (X-21)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from releasecheck.gates import decide
from releasecheck.gates.certain import certain_blocks
from releasecheck.model.gate import GateSpec
from releasecheck.model.judge import ExactJudge, PythonJudge, SimilarityJudge, When
from releasecheck.model.score import NotApplicable, Pending, Score, Scored
from releasecheck.model.suite import BaselineRule
from releasecheck.model.table import (
    ANSWERED,
    MISSING,
    NO_OUTPUT,
    NOT_APPLICABLE,
    PENDING,
    SCORED,
    CaseRow,
    Compared,
    ScoreTable,
)
from releasecheck.pipeline.early import Watch
from tests.builders import (
    Frame,
    MemoryFile,
    judge_failed,
    make_frame,
    no_output,
    output,
    score,
)
from tests.unit.tables import baseline_of, passes, plan_for, score_table

if TYPE_CHECKING:
    from releasecheck.model.judge import Judge
    from releasecheck.model.plan import Plan
    from releasecheck.model.record import Record
    from releasecheck.pipeline.folders import PlanFolder

EXAMPLES = 120


def judges_for(rule: str) -> tuple[Judge, ...]:
    """Yes/no, a share, an open range, a scale, the lower the better; with that `pass_rule`."""
    return (
        ExactJudge(id="exact", type="exact", pass_rule=rule),
        ExactJudge(id="tagged", type="exact", pass_rule=rule, when=When(tags=("a",))),
        SimilarityJudge(id="close", type="similarity", pass_at=0.5, pass_rule=rule),
        PythonJudge(id="free", type="python", function="m:f", pass_at=1.0, pass_rule=rule),
        PythonJudge(
            id="scaled", type="python", function="m:f", pass_at=3.0, scale=(1.0, 5.0), pass_rule=rule
        ),
        PythonJudge(
            id="bad", type="python", function="m:f", pass_at=0.25, scale=(0.0, 1.0), better="lower",
            pass_rule=rule,
        ),
    )  # fmt: skip


VALUES: dict[str, list[float]] = {
    "exact": [0.0, 1.0],
    "tagged": [0.0, 1.0],
    "close": [0.0, 0.3, 0.5, 1.0],
    "free": [-7.0, 0.0, 1.0, 30.0],
    "scaled": [1.0, 2.0, 3.0, 5.0],
    "bad": [0.0, 0.25, 0.5, 1.0],
}
DYNAMIC = ("free", "scaled", "bad")
TESTED = ("mean", "pass_rate", "sum")
STATS = ["mean", "pass_rate", "min", "max", "p50", "p90", "p99", "sum"]
DECIDE = {stat: ["significant", "non-inferior"] if stat in TESTED else [] for stat in STATS}


@st.composite
def gates(draw: st.DrawFn, names: list[str]) -> GateSpec:
    """Any rule over one of the judges, or over what calls took."""
    metric = draw(st.sampled_from([*names, *names, *names, "latency_ms", "target_errors"]))
    builtin = metric not in names
    rules = (
        ["min", "max", "no_regression"] if builtin else ["min", "max", "require", "no_regression"]
    )
    rule = draw(st.sampled_from(rules))
    body: dict[str, Any] = {"id": "g", "metric": metric}
    if rule != "require":
        body["stat"] = draw(st.sampled_from([s for s in STATS if not builtin or s != "pass_rate"]))
    if rule == "require":
        body["require"] = "all"
    elif rule == "no_regression":
        body["no_regression"] = {
            "max_drop": draw(st.sampled_from([0.01, 0.1, 0.25, 1.0])),
            "decide": draw(st.sampled_from(["point", "point", *DECIDE[body["stat"]]])),
            "max_new_failures": None if builtin else draw(st.sampled_from([None, 0, 1, 2])),
        }
    else:
        body[rule] = draw(st.sampled_from([-1.0, 0.0, 0.25, 0.5, 0.8, 1.0, 2.0, 3.5]))
    if not builtin:
        body["min_scored"] = draw(st.sampled_from([None, None, 2, 4]))
        body["max_not_applicable"] = draw(st.sampled_from([None, None, 0.3]))
    return GateSpec.model_validate(body)


@st.composite
def tables(
    draw: st.DrawFn, judges: tuple[Judge, ...], tags: dict[str, list[str]], way: str
) -> ScoreTable:
    """A complete run, rather good, bad or mixed: every pair scored or not applicable, every call answered."""
    inapplicable = draw(st.sampled_from([0, 0, 1, 4]))
    count, trials = len(tags), draw(st.shared(st.integers(1, 3), key="trials"))
    scores: dict[str, list[list[float | str]]] = {}
    for judge in judges:
        known = sorted(VALUES[judge.id], reverse=judge.better == "lower")
        weights = {"good": known[-1:] * 6, "bad": known[:1] * 6, "mixed": []}
        cells = st.sampled_from([*known, *weights[way]])
        scores[judge.id] = [
            [
                "na"
                if (judge.id == "tagged" and "a" not in tags[f"q{case}"])
                or (judge.id in DYNAMIC and draw(st.integers(0, 9)) < inapplicable)
                else draw(cells)
                for _ in range(trials)
            ]
            for case in range(1, count + 1)
        ]
    latency = [
        [draw(st.sampled_from([0.0, 0.5, 1.0, 4.0])) for _ in range(trials)] for _ in range(count)
    ]
    return score_table(scores, latency_ms=latency, judges=judges, tags=tags)


def without(table: ScoreTable, hidden: np.ndarray, calls: np.ndarray) -> ScoreTable:
    """The run before some pairs, and some calls with all their pairs, were recorded."""
    gone = hidden | calls[:, :, None]
    target = np.where(calls, np.int8(NO_OUTPUT), table.target)
    return replace(
        table,
        target=target,
        latency_ms=np.where(calls, np.nan, table.latency_ms),
        state=np.where(gone, np.int8(MISSING), table.state),
        value=np.where(gone, np.nan, table.value),
        passed=np.where(gone, np.int8(-1), table.passed),
        mendable=gone,
    )


@st.composite
def runs(draw: st.DrawFn) -> tuple[Plan, Compared, ScoreTable, np.ndarray, np.ndarray]:
    """A plan, what it compares with, its whole run, and what of it is hidden (pairs, calls)."""
    judges = judges_for(draw(st.sampled_from(["majority", "all", "any", "2-of-3"])))
    several = st.lists(
        st.sampled_from(judges), min_size=1, max_size=2, unique_by=lambda judge: judge.id
    )
    chosen = tuple(draw(several))
    count = draw(st.integers(1, 9))
    tags = {f"q{n}": (["a"] if draw(st.booleans()) else []) for n in range(1, count + 1)}
    table = draw(tables(chosen, tags, draw(st.sampled_from(["bad", "mixed"]))))
    earlier = draw(tables(chosen, tags, draw(st.sampled_from(["good", "mixed"]))))
    gate = draw(gates([judge.id for judge in chosen]))
    plan = plan_for(
        table,
        gate,
        judges=chosen,
        mode=draw(st.sampled_from(["full", "full", "preview"])),
        baseline_rule=BaselineRule(min_overlap=draw(st.sampled_from([0.5, 0.9, 1.0]))),
    ).model_copy(update={"stop_when_decided": True})
    compared = Compared(baseline_of(earlier, judges=chosen))
    seed = draw(st.integers(0, 2**32 - 1))
    share = draw(st.sampled_from([0.0, 0.15, 0.4, 0.8]))
    random = np.random.default_rng(seed)
    pairs = random.random(table.state.shape) < share
    calls = random.random(table.target.shape) < share
    ends = draw(st.sampled_from(["as it comes", "well", "not applicable"]))
    return plan, compared, ended(table, chosen, gate, pairs | calls[..., None], ends), pairs, calls


def ended(
    table: ScoreTable, judges: tuple[Judge, ...], gate: GateSpec, hidden: np.ndarray, how: str
) -> ScoreTable:
    """The whole run, with the hidden part as an adversary would have it."""
    state, value, passed = table.state.copy(), table.value.copy(), table.passed.copy()
    for at, judge in enumerate(judges):
        there = hidden[:, :, at]
        if how == "not applicable" and judge.id in DYNAMIC:
            state[:, :, at][there] = NOT_APPLICABLE
        elif how == "well":
            there = there & (state[:, :, at] == SCORED)
            up = gate.max is None and (gate.no_regression is None or judge.better == "higher")
            best = max(VALUES[judge.id]) if up else min(VALUES[judge.id])
            value[:, :, at][there] = best
            passed[:, :, at][there] = passes(judge, best)
    return replace(table, state=state, value=value, passed=passed)


def blocks_in_the_end(found: tuple[Plan, Compared, ScoreTable, np.ndarray, np.ndarray]) -> None:
    """A gate that is certain before blocks in the ordinary decision over the whole; so no pass."""
    plan, compared, table, pairs, calls = found
    partial = without(table, pairs, calls)
    if certain_blocks(partial, plan, compared):
        (result,) = decide(table, plan, compared.baseline)
        assert result.outcome == "block", (plan.gates, result)


@settings(max_examples=EXAMPLES)
@given(runs())
def test_certain__whatever_comes_the_whole_blocks(
    found: tuple[Plan, Compared, ScoreTable, np.ndarray, np.ndarray],
) -> None:
    """X-21."""
    blocks_in_the_end(found)


@pytest.mark.soak
@pytest.mark.timeout(900)
@settings(max_examples=20 * EXAMPLES)
@given(runs())
def test_certain__whatever_comes_many_times(
    found: tuple[Plan, Compared, ScoreTable, np.ndarray, np.ndarray],
) -> None:
    """X-21; rare endings, as where the rest turns out not applicable and too little is left to compare."""
    blocks_in_the_end(found)


@settings(max_examples=EXAMPLES)
@given(runs(), st.integers(0, 2**32 - 1))
def test_certain__more_evidence_keeps_it(
    found: tuple[Plan, Compared, ScoreTable, np.ndarray, np.ndarray], seed: int
) -> None:
    """X-21: what arrives after the stop (calls in flight, other shards) changes nothing about it."""
    plan, compared, table, pairs, calls = found
    if not certain_blocks(without(table, pairs, calls), plan, compared):
        return
    random = np.random.default_rng(seed)
    later = without(
        table,
        pairs & (random.random(pairs.shape) < 0.5),
        calls & (random.random(calls.shape) < 0.5),
    )
    assert certain_blocks(later, plan, compared)


@settings(max_examples=EXAMPLES)
@given(runs())
def test_certain__complete_is_the_ordinary_decision(
    found: tuple[Plan, Compared, ScoreTable, np.ndarray, np.ndarray],
) -> None:
    """Nothing open: certain exactly where the gate blocks, but for what tests find."""
    plan, compared, table, _, _ = found
    rule = plan.gates[0].no_regression
    assume(rule is None or rule.decide == "point")
    (result,) = decide(table, plan, compared.baseline)
    assert bool(certain_blocks(table, plan, compared)) == (result.outcome == "block"), result


@settings(max_examples=EXAMPLES)
@given(runs())
def test_certain__as_soon_as_no_ending_holds(
    found: tuple[Plan, Compared, ScoreTable, np.ndarray, np.ndarray],
) -> None:
    """Not late either: a gate with a known range that is not certain holds, or refuses, in some ending."""
    plan, compared, table, pairs, calls = found
    gate, judge = plan.gates[0], plan.judges[0].spec
    assume(gate.no_regression is None or gate.no_regression.decide == "point")
    partial = without(table, pairs, calls)
    if gate.metric != judge.id or judge.id in DYNAMIC or "-of-" in judge.pass_rule:
        return
    if certain_blocks(partial, plan, compared) or not (partial.state == SCORED).any():
        return  # a gate that nothing at all could hold has measured nothing yet
    up = gate.max is None
    low, high = (0.0, 1.0)
    best = high if up else low
    open_ = partial.mendable & (partial.state == MISSING)
    applies = np.array([judge.id != "tagged" or "a" in row.tags for row in table.cases])
    state = np.where(open_, np.int8(SCORED), partial.state)
    at = 0
    state[:, :, at][open_[:, :, at] & ~applies[:, None]] = NOT_APPLICABLE
    ended = replace(
        partial,
        target=np.full_like(partial.target, ANSWERED),
        state=state,
        value=np.where(open_, best, partial.value),
        passed=np.where(open_, np.int8(passes(judge, best)), partial.passed),
    )
    (result,) = decide(ended, plan, compared.baseline)
    assert result.outcome != "block", result


Done = tuple[str, str]
"""What became of a call, and of its one score: words of `SAID`."""
CALLS = ["answered", "again", "never"]
SAID: dict[str, Score] = {
    "yes": Scored(1.0),
    "no": Scored(0.0),
    "na": NotApplicable("no"),
    "again": judge_failed(retryable=True),
    "never": judge_failed(retryable=False),
    "later": Pending("t"),
}


def recorded(at: str, trial: int, attempt: int, done: Done) -> list[Record]:
    """The records of one trial: a call, and what its judge said of the answer."""
    call, said = done
    if call != "answered":
        return [no_output(at, trial=trial, attempt=attempt, retryable=call == "again")]
    told = SAID[said]
    if isinstance(told, Pending):
        told = Pending(f"{at}-{trial}")
    return [output(at, trial=trial, attempt=attempt), score(at, told, trial=trial)]


@settings(max_examples=EXAMPLES)
@given(
    st.lists(
        st.tuples(st.sampled_from(CALLS), st.sampled_from(list(SAID))), min_size=4, max_size=4
    ),
    st.lists(
        st.tuples(st.sampled_from(CALLS), st.sampled_from(list(SAID))), min_size=4, max_size=4
    ),
    st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_watch__knows_what_the_ledgers_say(
    first: list[Done], then: list[Done], begun: list[bool]
) -> None:
    """What a process has seen of its own records is what anybody reads of them later, also in a second attempt."""
    frame = make_frame(2, trials=2)
    plan = frame.plan.model_copy(update={"stop_when_decided": True})
    places = [(f"c{case}", trial) for case in range(2) for trial in range(2)]
    earlier = [
        record
        for place, done, there in zip(places, first, begun, strict=True)
        if there
        for record in recorded(*place, 1, done)
    ]
    file = MemoryFile(frame.header(), *earlier)
    before = frame.merge(file).table
    watch = Watch(cast("PlanFolder", Folder(plan, frame)), before)
    later: list[Record] = []
    for number, ((case, trial), done) in enumerate(zip(places, then, strict=True)):
        at = divmod(number, 2)
        if before.target[at] != ANSWERED and before.mendable[at].any():
            later += recorded(case, trial, 2, done)
        elif before.mendable[at].any() and before.state[at][0] != PENDING:
            later += recorded(case, trial, 2, ("answered", done[1]))[1:]
    for record in later:
        watch.saw(record, 0)
    after = frame.merge(file, MemoryFile(frame.header(attempt=2), *later)).table
    for name in ("target", "state", "value", "passed", "mendable", "latency_ms"):
        seen, told = getattr(watch.table, name), getattr(after, name)
        assert np.array_equal(seen, told, equal_nan=seen.dtype.kind == "f"), name


@dataclass
class Folder:
    """As much of a plan folder as a watch needs."""

    plan: Plan
    frame: Frame

    @property
    def rows(self) -> tuple[tuple[CaseRow, ...], tuple[int, ...]]:
        """The cases, and their shards."""
        return self.frame.cases, self.frame.shard_of

    @property
    def path(self) -> Path:
        """Nowhere."""
        return Path()
