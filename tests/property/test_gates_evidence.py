"""Evidence that is taken away never turns anything into a pass (issue 5; S1-09, G-04, G-08)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.gates_strategies import Scene, Side, poorer, scenes

if TYPE_CHECKING:
    from releasecheck.model.scorecard import Outcome


@st.composite
def with_less(draw: st.DrawFn) -> tuple[Scene, Scene]:
    """A decision, and the same with less to decide on."""
    scene = draw(scenes())
    side: Side = draw(st.sampled_from(get_args(Side)))
    table = scene.side(side)
    assert table is not None
    return scene, scene.with_side(side, poorer(draw, table))


def no_new_pass(whole: dict[str, Outcome], less: dict[str, Outcome]) -> None:
    for gate, outcome in less.items():
        assert outcome != "pass" or whole[gate] == "pass", gate


@given(with_less())
def test_decide__less_evidence_never_makes_a_pass(pair: tuple[Scene, Scene]) -> None:
    """Whatever is missing, failed or pending, in the candidate, the baseline or the anchor.

    Contract 2: a run without a verdict does not end in 0 because even less of it is there; no waiver helps it.
    """
    (whole, was), (less, now) = ((scene.outcomes(), scene.ends()) for scene in pair)
    no_new_pass(whole, less)
    assert now[0] != "pass" or was[0] == "pass"
    assert now[1] != 0 or was[1] == 0


@settings(max_examples=50)
@given(scenes(), st.sampled_from(["baseline", "anchor", "both"]))
def test_decide__a_run_that_is_not_there_never_makes_a_pass(scene: Scene, which: str) -> None:
    """S1-16: gone, not finalized, or of other judges."""
    whole = scene.outcomes()
    assert scene.baseline is not None
    assert scene.anchor is not None
    lesser = [
        (None, None),
        (replace(scene.baseline, finalized=False), replace(scene.anchor, finalized=False)),
        (replace(scene.baseline, judge_digests={}), replace(scene.anchor, judge_digests={})),
        (
            replace(scene.baseline, unproven=frozenset({"exact", "close"})),
            replace(scene.anchor, unproven=frozenset({"exact", "close"})),
        ),
    ]
    for baseline, anchor in lesser:
        changed = replace(
            scene,
            baseline=baseline if which != "anchor" else scene.baseline,
            anchor=anchor if which != "baseline" else scene.anchor,
        )
        no_new_pass(whole, changed.outcomes())
        pinned = [result for result in changed.decided() if result.outcome == "bootstrap"]
        assert pinned == []


@settings(max_examples=50)
@given(scenes())
def test_decide__a_pass_compared_something_and_a_refusal_shows_nothing(scene: Scene) -> None:
    """Contract 6: whatever the gates, the runs and their holes."""
    for result in scene.decided():
        text = result.model_dump_json()
        assert "NaN" not in text
        assert "Infinity" not in text
        if result.outcome == "pass":
            assert result.compared
        if result.outcome not in ("pass", "block"):
            shown = (result.value, result.delta, result.compared, result.p_value, result.p_adjusted)
            assert shown == (None,) * 5
            assert not result.waived
            assert result.new_failures == result.new_passes == ()
