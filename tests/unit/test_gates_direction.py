"""Which way is worse: of values as the judge says, of passing cases always fewer (B86)."""

from __future__ import annotations

import pytest

from releasecheck.gates import decide
from releasecheck.model.gate import Decide, GateSpec, NoRegression
from releasecheck.model.judge import SimilarityJudge
from tests.unit.tables import baseline_of, plan_for, score_table

DEFECTS = SimilarityJudge(id="close", type="similarity", better="lower", pass_at=0.3)


@pytest.mark.parametrize("how", ["point", "significant", "non-inferior"])
@pytest.mark.parametrize("stat", ["pass_rate", "mean"])
def test_decide__of_a_judge_where_lower_is_better_failing_cases_block(
    how: Decide, stat: str
) -> None:
    """Every case passed, and every case fails: no way of counting makes that an improvement."""
    rule = NoRegression(max_drop=0.1, decide=how)
    gate = GateSpec.model_validate(
        {"id": "g", "metric": "close", "stat": stat, "no_regression": rule}
    )
    good = score_table({"close": [0.1] * 20}, judges=[DEFECTS])
    bad = score_table({"close": [0.9] * 20}, judges=[DEFECTS])
    for candidate, baseline, outcome in ((bad, good, "block"), (good, bad, "pass")):
        plan = plan_for(candidate, gate, judges=[DEFECTS])
        (result,) = decide(candidate, plan, baseline_of(baseline, judges=[DEFECTS]))
        assert result.outcome == outcome
