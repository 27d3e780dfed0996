"""Who runs which case, and with what (B100, B101; contract 3: limits hold for the whole run)."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from releasecheck.errors import UsageError
from releasecheck.model.case import Case
from releasecheck.pipeline.tools import limits_of
from releasecheck.plan import assign_shards, auto_shards, case_times, divide
from tests.strategies import case_lists
from tests.unit.plan.building import cases, frozen, suite

times_strategy = st.one_of(
    st.none(), st.floats(0, 1e4), st.just(float("nan")), st.just(float("inf")), st.just(-1.0)
)


@given(case_lists(), st.one_of(st.integers(1, 256), st.just("auto")), st.data())
def test_assign_shards__is_a_partition_in_plan_order(
    held: list[Case], count: int | Literal["auto"], data: st.DataObject
) -> None:
    known = {c.id: time for c in held if (time := data.draw(times_strategy)) is not None} | {
        "gone": 5.0
    }

    shards = assign_shards(held, count, known)

    assert len(shards) == (auto_shards(len(held)) if count == "auto" else count)
    dealt = [c for shard in shards for c in shard]
    assert sorted(dealt, key=lambda c: c.index) == held
    assert all([c.index for c in shard] == sorted(c.index for c in shard) for shard in shards)


@given(case_lists(least=2), st.integers(1, 8), st.data())
def test_assign_shards__the_order_of_the_times_does_not_matter(
    held: list[Case], count: int, data: st.DataObject
) -> None:
    known = {c.id: data.draw(st.sampled_from([0.5, 1.0, 2.0])) for c in held}

    assert assign_shards(held, count, known) == assign_shards(
        held, count, dict(reversed(known.items()))
    )


@given(st.lists(st.floats(0.001, 100), min_size=1, max_size=40), st.integers(1, 6))
def test_assign_shards__longest_first_balances(seconds: list[float], count: int) -> None:
    """No shard takes longer than the mean and the longest case together."""
    held = cases(len(seconds))
    known = {c.id: time for c, time in zip(held, seconds, strict=True)}

    loads = [sum(known[c.id] for c in shard) for shard in assign_shards(held, count, known)]

    assert max(loads) <= sum(seconds) / count + max(seconds) + 1e-3


def test_assign_shards__without_times_is_even() -> None:
    shards = assign_shards(cases(7), 3)

    assert [[c.index for c in shard] for shard in shards] == [[0, 3, 6], [1, 4], [2, 5]]


def test_assign_shards__equal_times_are_even() -> None:
    held = cases(100)
    shards = assign_shards(held, 7, {c.id: 0.0 for c in held})

    assert sorted(len(shard) for shard in shards) == [14, 14, 14, 14, 14, 15, 15]


def test_assign_shards__by_time_with_the_median_for_new_cases() -> None:
    held = cases(5)
    known = {"c000": 9.0, "c001": 1.0, "c002": 2.0, "c003": 3.0}

    assert case_times(held, known) == [9.0, 1.0, 2.0, 3.0, 2.5]
    assert [[c.index for c in shard] for shard in assign_shards(held, 2, known)] == [
        [0],
        [1, 2, 3, 4],
    ]


@pytest.mark.parametrize("known", [None, {}, {"gone": 1.0}, {"c000": float("nan")}])
def test_case_times__nothing_known_is_none(known: Any) -> None:
    assert case_times(cases(3), known) is None


@pytest.mark.parametrize(
    ("count", "number"), [(1, 1), (100, 1), (101, 2), (250, 3), (1999, 20), (2001, 20), (10**6, 20)]
)
def test_auto_shards__one_per_hundred_at_most_twenty(count: int, number: int) -> None:
    assert auto_shards(count) == number


def test_assign_shards__more_than_cases_leaves_empty_ones() -> None:
    """B101."""
    assert [len(shard) for shard in assign_shards(cases(2), 7)] == [1, 1, 0, 0, 0, 0, 0]
    assert [len(s) for s in assign_shards(cases(2), 4, {"c000": 1.0})] == [1, 1, 0, 0]


@pytest.mark.parametrize("count", [0, -1, 257])
def test_assign_shards__numbers_that_cannot_be(count: int) -> None:
    """B101."""
    with pytest.raises(UsageError, match=f"expected 1 to 256 shards, found {count}"):
        assign_shards(cases(2), count)


PROGRAM = """
from tests.unit.plan.building import cases, frozen
import hashlib
plan = frozen(cases(50), 3, times={f"c{n:03}": (n * 7) % 5 for n in range(0, 50, 3)})
print(hashlib.sha256(b"".join(plan.files.values())).hexdigest())
"""


def test_freeze__does_not_depend_on_the_hash_seed() -> None:
    """B100: three processes with three hash seeds write the same plan."""
    found = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={"PYTHONHASHSEED": seed, "PATH": os.defpath},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "2")
    }

    assert len(found) == 1


def test_divide__adds_up_to_the_whole() -> None:
    plan = frozen(cases(10), 3, of=suite(budget={"cost_usd": 5.0, "time": "10m"})).plan

    limits = [divide(plan, index) for index in range(3)]

    assert [limit.concurrency for limit in limits] == [3, 3, 2]
    assert sum(limit.rate_per_s or 0 for limit in limits) == pytest.approx(10.0)
    assert [limit.cost_usd for limit in limits] == pytest.approx([2.0, 1.5, 1.5])
    assert [limit.time_s for limit in limits] == [600.0, 600.0, 600.0]


@given(st.integers(1, 12), st.integers(1, 9), st.integers(1, 20))
def test_divide__never_above_the_whole_but_for_the_one_each(
    count: int, held: int, concurrency: int
) -> None:
    target = {"type": "http", "url": "x", "concurrency": concurrency, "rate_limit": "6/s"}
    plan = frozen(cases(held), count, of=suite(target=target, budget={"cost_usd": 1.0})).plan
    busy = [shard.index for shard in plan.shards if shard.cases]

    limits = [divide(plan, index) for index in busy]

    assert sum(limit.concurrency for limit in limits) == max(concurrency, len(busy))
    assert sum(limit.rate_per_s or 0 for limit in limits) == pytest.approx(6.0)
    assert sum(limit.cost_usd or 0 for limit in limits) == pytest.approx(1.0)


def test_divide__an_empty_shard_takes_nothing_from_the_others() -> None:
    plan = frozen(cases(2), 4).plan

    assert [divide(plan, index).concurrency for index in range(2)] == [4, 4]
    assert divide(plan, 3).concurrency >= 1


def test_divide__no_limits_stay_none() -> None:
    target = {"type": "http", "url": "x"}

    limits = divide(frozen(cases(2), 1, of=suite(target=target)).plan, 0)

    assert (limits.rate_per_s, limits.cost_usd, limits.time_s) == (None, None, None)


JUDGES = [
    {"id": "fn", "type": "python", "function": "m:f", "concurrency": 5},
    {"id": "cmd", "type": "command", "run": ["x"]},
    {"id": "free", "type": "exact"},
]


def test_divide__judges_add_up_to_the_whole_too() -> None:
    """`concurrency` of a judge is for the whole run, and a judge has at least one place in a shard."""
    gates = [{"id": "g", "metric": "fn", "min": 0.5}]
    plan = frozen(cases(12), 3, of=suite(judges=JUDGES, gates=gates)).plan
    shares = [divide(plan, index).judge_concurrency for index in range(3)]
    assert shares == [{"fn": 2, "cmd": 2}, {"fn": 2, "cmd": 1}, {"fn": 1, "cmd": 1}]
    many = frozen(cases(12), 12, of=suite(judges=JUDGES, gates=gates)).plan
    assert {tuple(divide(many, index).judge_concurrency.values()) for index in range(12)} == {
        (1, 1)
    }


def test_limits_of__no_shard_takes_the_whole() -> None:
    gates = [{"id": "g", "metric": "fn", "min": 0.5}]
    plan = frozen(cases(12), 3, of=suite(judges=JUDGES, gates=gates)).plan
    assert limits_of(plan, None).judge_concurrency == {"fn": 5, "cmd": 4}
    assert limits_of(plan, 2) == divide(plan, 2)
