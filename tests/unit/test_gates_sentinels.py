"""A judge that does not know good from bad decides nothing, in the candidate nor in the baseline."""

from __future__ import annotations

from dataclasses import replace

import pytest

from releasecheck.gates import decide
from releasecheck.model.gate import GateSpec, NoRegression
from releasecheck.model.table import MISSING, SCORED, SentinelSeen
from tests.unit.tables import baseline_of, plan_for, score_table

GATES = (
    GateSpec(id="low", metric="exact", min=0.1),
    GateSpec(id="high", metric="exact", max=1),
    GateSpec(id="all", metric="exact", require="all"),
    GateSpec(id="drop", metric="exact", no_regression=NoRegression()),
)


def seen(*, held: bool | None) -> SentinelSeen:
    return SentinelSeen(
        judge="exact", sentinel="known-bad", shard=0, state=MISSING if held is None else SCORED,
        value=None if held is None else 1.0, held=held, digest="d", ticket=None, at="", said=None, mendable=False,
    )  # fmt: skip


@pytest.mark.parametrize("held", [True, False, None])
def test_decide__a_judge_that_missed_a_sentinel_decides_nothing(*, held: bool | None) -> None:
    """Neither pass nor block, with the judge named; other judges' gates decide as ever."""
    plain = score_table({"exact": [1] * 5, "close": [1] * 5})
    table = replace(plain, sentinels=(seen(held=True), seen(held=held)))
    other = GateSpec(id="other", metric="close", min=0.5)
    results = decide(table, plan_for(table, *GATES, other), baseline_of(plain))
    outcome = "pass" if held else "blocked_missing"
    assert [result.outcome for result in results] == [outcome] * 4 + ["pass"]
    if not held:
        assert all("judge exact" in result.reason for result in results[:4])
        assert all(result.value is None for result in results[:4])


def test_decide__a_baseline_whose_judge_missed_sentinels_compares_nothing() -> None:
    table = score_table({"exact": [1] * 5})
    then = replace(baseline_of(table), unproven=frozenset({"exact"}))
    results = decide(table, plan_for(table, *GATES), then)
    assert [result.outcome for result in results] == ["pass"] * 3 + ["blocked_missing"]
    assert "its baseline cannot be trusted" in results[3].reason
