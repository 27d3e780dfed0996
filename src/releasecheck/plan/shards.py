"""Which shard runs which case, and each shard's part of what holds for the whole run.

A stable function of the plan order and the baseline's times and of nothing else: no hash seed, clock or
set order decides (B100).
"""

from __future__ import annotations

import heapq
import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from releasecheck.errors import UsageError
from releasecheck.model.judge import LimitedJudge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from releasecheck.model.case import Case
    from releasecheck.model.plan import Plan

MOST: Final = 256
"""Shards of one run: what a build matrix can hold."""
MOST_AUTO: Final = 20
"""Shards of a run that names no number."""
CASES_EACH: Final = 100
"""Cases for which a run that names no number takes another shard."""


@dataclass(frozen=True, slots=True)
class ShardLimits:
    """What one shard may use."""

    concurrency: int
    """Calls to the target at once; at least 1."""
    rate_per_s: float | None
    """Calls per second; None is no limit."""
    cost_usd: float | None
    """Dollars; None is no limit."""
    time_s: float | None
    """Seconds since the run began; shards share the wall clock, so it is not divided."""
    judge_concurrency: Mapping[str, int]
    """Outputs judged at once by each judge that has a limit; at least 1."""


def auto_shards(cases: int) -> int:
    """One per 100 cases, at most 20."""
    return max(1, min(MOST_AUTO, math.ceil(cases / CASES_EACH)))


def assign_shards(
    cases: Sequence[Case], count: int | Literal["auto"], times: Mapping[str, float] | None = None
) -> list[list[Case]]:
    """Deal the cases out: balanced by time where times are known, else evenly in turn.

    Args:
        cases: of the plan, in plan order.
        count: shards to fill, 1 to 256; more than cases leaves empty ones (B101).
        times: seconds per case id in the baseline; unknown cases count with the median.

    Returns:
        A partition of the cases, each shard in plan order.

    Raises:
        UsageError: a number of shards that cannot be.
    """
    number = auto_shards(len(cases)) if count == "auto" else count
    if not 1 <= number <= MOST:
        message = f"expected 1 to {MOST} shards, found {number}"
        raise UsageError(message)
    weights = case_times(cases, times)
    if weights is None:
        return [list(cases[index::number]) for index in range(number)]
    shards: list[list[Case]] = [[] for _ in range(number)]
    # Whole microseconds: sums of floats could break ties differently from machine to machine.
    work = sorted((-round(weight * 1e6), place) for place, weight in enumerate(weights))
    free = [(0, 0, shard) for shard in range(number)]
    for negative, place in work:
        load, held, shard = heapq.heappop(free)
        shards[shard].append(cases[place])
        heapq.heappush(free, (load - negative, held + 1, shard))
    for dealt in shards:
        dealt.sort(key=lambda case: case.index)
    return shards


def case_times(cases: Sequence[Case], times: Mapping[str, float] | None) -> list[float] | None:
    """Seconds of each case, the median for those unknown; None when no case has a time."""
    known = {
        case.id: time
        for case in cases
        if (time := (times or {}).get(case.id)) is not None and math.isfinite(time) and time >= 0
    }
    if not known:
        return None
    middle = statistics.median(known.values())
    return [known.get(case.id, middle) for case in cases]


def divide(plan: Plan, index: int) -> ShardLimits:
    """What shard `index` may use, all shards that hold cases running at once.

    Calls at once are dealt out one by one (at least 1 each), the rate in equal parts, the cost by the
    number of cases.
    """
    busy = [shard.index for shard in plan.shards if shard.cases] or [index]
    target, budget = plan.target, plan.budget
    place = busy.index(index) if index in busy else None

    def share(whole: int) -> int:
        each, rest = divmod(whole, len(busy))
        return max(1, each + (place is not None and place < rest))

    part = plan.shards[index].cases / plan.cases if plan.cases else 1.0
    cost = budget.cost_usd if budget else None
    return ShardLimits(
        concurrency=share(target.concurrency),
        rate_per_s=target.rate_limit / len(busy) if target.rate_limit is not None else None,
        cost_usd=cost * part if cost is not None else None,
        time_s=budget.time if budget else None,
        judge_concurrency={
            judge: share(whole) for judge, whole in whole_judge_concurrency(plan).items()
        },
    )


def whole_judge_concurrency(plan: Plan) -> dict[str, int]:
    """Outputs that each judge with a limit may judge at once in the whole run."""
    return {
        judge.id: judge.spec.concurrency
        for judge in plan.judges
        if isinstance(judge.spec, LimitedJudge)
    }
