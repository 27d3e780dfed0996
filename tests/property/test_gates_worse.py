"""A worse candidate never gets a better outcome, for `point` and `significant` (issue 5)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from releasecheck.gates import verdict
from releasecheck.model.scorecard import OUTCOMES
from tests.property.gates_strategies import Scene, scenes, worse

if TYPE_CHECKING:
    from releasecheck.model.scorecard import GateResult


@st.composite
def with_worse(draw: st.DrawFn, *, holes: bool) -> tuple[Scene, Scene]:
    """A decision, and the same of a candidate that is worse."""
    scene = draw(scenes(ways=("point", "significant", "significant"), holes=holes))
    return scene, replace(scene, table=worse(draw, scene.table))


@given(st.booleans().flatmap(lambda holes: with_worse(holes=holes)))
def test_decide__a_worse_candidate_never_gets_a_better_outcome(pair: tuple[Scene, Scene]) -> None:
    """Issue 5, X-12, X-15: each gate by itself and the verdict, with Holm, clusters, trials, two runs to compare with.

    And what that rests on: p, corrected or not, falls or stays.
    """
    before, after = (scene.decided() for scene in pair)
    for was, now in zip(before, after, strict=True):
        assert OUTCOMES.index(now.outcome) >= OUTCOMES.index(was.outcome), was.id
        if was.p_value is not None and now.p_value is not None:
            assert now.p_value <= was.p_value + 1e-12
            assert was.p_adjusted is not None
            assert now.p_adjusted is not None
            assert now.p_adjusted <= was.p_adjusted + 1e-12
    ends = [OUTCOMES.index(scene.ends()[0]) for scene in pair]
    assert ends[1] >= ends[0]


@settings(max_examples=50)
@given(scenes(), st.data())
def test_decide__the_order_of_gates_is_nothing(scene: Scene, data: st.DataObject) -> None:
    """A gate's outcome, its p and the verdict, whatever stands before it; and twice is the same (X-05)."""
    order = data.draw(st.permutations(scene.plan.gates))
    shuffled = replace(scene, plan=scene.plan.model_copy(update={"gates": tuple(order)}))
    assert by_id(shuffled.decided()) == by_id(scene.decided())
    assert verdict(shuffled.decided(), shuffled.plan) == verdict(scene.decided(), scene.plan)
    assert shuffled.ends() == scene.ends()
    assert [found.model_dump_json() for found in scene.decided()] == [
        found.model_dump_json() for found in scene.decided()
    ]


def by_id(results: tuple[GateResult, ...]) -> dict[str, GateResult]:
    return {result.id: result for result in results}
