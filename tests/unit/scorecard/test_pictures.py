"""The numbers behind each picture, by hand; what is absent is counted beside it and drawn nowhere (S0-27)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from releasecheck.model.failure import Failure
from releasecheck.model.record import Usage
from releasecheck.model.results import RowScore
from releasecheck.scorecard.costs import NOT_SAID
from releasecheck.scorecard.first import why
from releasecheck.scorecard.histogram import HIGH, WIDE, binned, outline
from releasecheck.scorecard.latency import EDGES
from releasecheck.scorecard.numbers import NOTHING
from releasecheck.scorecard.paired import CELLS, MOST_POINTS, SIDE
from releasecheck.scorecard.pictures import picture_context
from releasecheck.scorecard.scale import nice, scale_of
from tests.unit.scorecard import samples
from tests.unit.scorecard.pages import Page, page_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.model.results import RowView
    from tests.unit.scorecard.samples import Sample

YES_NO = {"id": "exact", "type": "exact"}
GRADED = {"id": "top5", "type": "recall", "k": 5, "pass_at": 0.5}
LOST = RowScore("failed", None, "target_failed")
DOWN = Failure("target", "target", "timeout", True, "no answer")


def side(values: Sequence[float | None], judge: str = "exact", mark: float = 1.0) -> list[RowView]:
    """One case for each value; None: the target failed, so that its latency is no latency either."""
    views = []
    for i, value in enumerate(values):
        of = samples.case(i)
        if value is None:
            views.append(
                samples.row(
                    of, None, {judge: LOST}, {}, failure=DOWN, latency_ms=30_000.0, usage=Usage()
                )
            )
        else:
            views.append(
                samples.row(of, "x", {judge: samples.scored(value)}, {judge: value >= mark})
            )
    return views


def compared(
    now: list[RowView], before: list[RowView], judge: dict[str, Any] | None = None, **used: Any
) -> Sample:
    return samples.sample(
        now,
        samples.plan([judge or YES_NO], cases=len(now)),
        [view.row for view in before],
        baseline=samples.baseline_used(cases={"same": len(now)}, **used),
    )


def pictures(sample: Sample) -> dict[str, Any]:
    return picture_context(sample.report)


def test_paired__four_fields_count_each_pair_once() -> None:
    now = side([1, 1, 0, 0, 1, 0, 0])
    before = side([1, 0, 1, 0, 1, 1, 1])
    four = pictures(compared(now, before))["judges"][0].pairs.four
    assert (four.passing, four.new_failures, four.new_passes, four.failing) == (2, 3, 1, 1)
    assert four.undecided == 0


def test_paired__agrees_with_the_flips_of_the_scorecard() -> None:
    sample = samples.blocked()
    flips = sample.report.scorecard.flips["exact"]
    four = pictures(sample)["judges"][0].pairs.four
    assert four.new_failures == len(flips.new_failures)
    assert four.new_passes == len(flips.new_passes)


def test_paired__what_is_not_measured_or_not_the_same_case_is_no_pair() -> None:
    now = side([1, None, 1, 0, 1, 1])
    before = side([1, 1, None, 1, 1])
    outside = RowScore("not-applicable", None, None)
    before[3] = samples.row(before[3].case, "x", {"exact": outside}, {})
    changed = before[4]
    before[4] = replace(changed, row=replace(changed.row, case_digest="sha256:" + "9" * 64))
    pairs = pictures(compared(now, before))["judges"][0].pairs
    assert pairs.compared == 1
    assert pairs.left == (
        "2 cases new or changed since the baseline",
        "1 case to which the judge does not apply",
        "1 case not measured now",
        "1 case not measured in the baseline",
    )
    assert (pairs.four.passing, pairs.four.failing) == (1, 0)


def test_paired__a_renamed_case_is_a_pair() -> None:
    now, before = side([0]), side([1])
    before[0] = replace(before[0], row=replace(before[0].row, case="called otherwise"))
    assert pictures(compared(now, before))["judges"][0].pairs.four.new_failures == 1


@pytest.mark.parametrize(
    ("used", "word"),
    [({"judges_changed": ["exact"]}, "Not comparable"), ({"rejudged": {"exact": 1}}, "Not paired")],
)
def test_paired__another_judge_is_not_paired_and_says_so(used: dict[str, Any], word: str) -> None:
    sample = compared(side([0, 1]), side([1, 1]), **used)
    judge = pictures(sample)["judges"][0]
    assert judge.pairs is None
    assert judge.apart.startswith(word)
    assert all("Baseline" not in line for line in judge.spread.said)
    assert judge.apart in Page(page_of(sample)).text


def test_paired__a_judge_that_the_baseline_lacks_is_not_paired() -> None:
    sample = compared(side([0, 1]), side([1, 1], judge="another"))
    assert "does not have this judge" in pictures(sample)["judges"][0].apart


def test_plot__points_by_hand_with_flips_on_top() -> None:
    now = side([0.25, 0.75, 0.75, 0.25, 0.5], "top5", 0.5)
    before = side([0.75, 0.25, 0.25, 0.25, 0.5], "top5", 0.5)
    plot = pictures(compared(now, before, GRADED))["judges"][0].pairs.plot
    found = [(mark.x, mark.y, mark.change) for mark in plot.marks]
    # Up is more: y is counted from above.
    assert found == [
        (75.0, 225.0, "stayed"),
        (150.0, 150.0, "stayed"),
        (75.0, 75.0, "better"),
        (225.0, 225.0, "worse"),
    ]
    assert (plot.above, plot.below, plot.same) == (2, 1, 2)
    assert plot.pass_at.at == 150.0
    assert not plot.binned
    assert "2 cases: 0.25 in the baseline, 0.75 now" in {mark.words for mark in plot.marks}


def test_plot__a_case_of_several_trials_is_one_point_at_their_mean() -> None:
    of = samples.case(0)
    now, before = (
        [
            samples.row(
                of, "x", {"top5": samples.scored(value)}, {"top5": value >= 0.5}, trial=trial
            )
            for trial, value in enumerate(values)
        ]
        for values in ((0.5, 1.0, 0.75), (0.0, 0.0, 0.75))
    )
    sample = samples.sample(
        now, samples.plan([GRADED], cases=1, trials=3), [view.row for view in before],
        baseline=samples.baseline_used(cases={"same": 1}),
    )  # fmt: skip
    pairs = pictures(sample)["judges"][0].pairs
    (mark,) = pairs.plot.marks
    assert (mark.x, mark.y, pairs.compared) == (75.0, 75.0, 1)
    assert len(pictures(sample)["judges"][0].spread.bars) == 3  # every score, not every case


def test_plot__many_points_are_counted_on_a_grid() -> None:
    number = MOST_POINTS + 100
    now = side([i / number for i in range(number)], "top5", 0.5)
    before = side([1 - i / number for i in range(number)], "top5", 0.5)
    plot = pictures(compared(now, before, GRADED))["judges"][0].pairs.plot
    assert plot.binned
    assert len(plot.marks) <= 4 * CELLS
    counted = sum(int(mark.words.split()[0].replace(",", "")) for mark in plot.marks)
    assert counted == number
    assert all(0 < mark.x < SIDE and 0 < mark.y < SIDE for mark in plot.marks)


def test_spread__bins_by_hand() -> None:
    assert binned(np.array([0.0, 0.1, 0.25, 0.5, 0.99, 1.0]), [0.0, 0.25, 0.5, 0.75, 1.0]) == [
        2,
        1,
        1,
        2,
    ]
    assert outline([1, 3], 0.75, 10, 8) == "0,8 0,5.3 5,5.3 5,0 10,0 10,8"
    assert outline([0, 0], 0.75, 10, 8) == ""


def test_spread__is_of_what_was_measured_and_counts_the_rest() -> None:
    now = side([0.2, 0.2, 0.7, None], "top5", 0.5)
    spread = pictures(compared(now, side([0.7] * 4, "top5", 0.5), GRADED))["judges"][0].spread
    assert spread.said == (
        "This run: 3 of 4 scores measured, 1 failed",
        "Baseline: 4 of 4 scores measured",
    )
    low, high = spread.bars
    assert (low.x, high.x) == (WIDE * 0.2 + 1, WIDE * 0.7 + 1)
    assert (low.height, high.height) == (HIGH * 2 / 3, HIGH / 3)  # the baseline fills the height
    assert [row[1:] for row in spread.rows] == [
        ("2 (66.67 %)", "0 (0 %)"),
        ("1 (33.33 %)", "4 (100 %)"),
    ]


def test_spread__yes_and_no_are_two_parts_of_a_bar() -> None:
    spread = pictures(compared(side([1, 1, 1, 0, None]), side([1] * 5)))["judges"][0].spread
    now = [bar for bar in spread.bars if bar.words.startswith("This run")]
    assert [(bar.look, bar.width) for bar in now] == [("good", 225.0), ("bad", 75.0)]
    assert [row[1] for row in spread.rows] == ["3 (75 %)", "1 (25 %)"]


def test_spread__nothing_measured_draws_nothing() -> None:
    sample = samples.sample(side([None, None]), samples.plan([YES_NO], cases=2))
    spread = pictures(sample)["judges"][0].spread
    assert (spread.bars, spread.rows) == ((), ())
    assert "Nothing to draw." in Page(page_of(sample)).text


def test_latency__percentiles_of_answers_and_failures_are_no_latency() -> None:
    now = side([1.0] * 10)
    now = [
        replace(view, row=replace(view.row, latency_ms=float(10 * (i + 1))))
        for i, view in enumerate(now)
    ]
    slow = pictures(compared([*now, *side([1.0] * 10 + [None])[10:]], side([1.0] * 11)))["latency"]
    assert (
        slow.said[0]
        == "This run: measured for 10 of 10 answers; 1 failure of the target not measured"
    )
    assert slow.quantiles[:2] == (
        ("p50", "50 ms", "41.5 ms", "+8.5 ms"),
        ("p90", "90 ms", "41.5 ms", "+48.5 ms"),
    )
    assert sum(int(row[1]) for row in slow.rows) == 10
    assert not any(
        "30" in row[0].split(" to ")[0] and "s" in row[0].split()[1] == "s" for row in slow.rows
    )


def test_latency__every_edge_is_larger_than_the_one_before() -> None:
    assert list(EDGES) == sorted(set(EDGES))


def test_latency__without_any_there_is_no_picture() -> None:
    view = samples.row(samples.case(0), latency_ms=None)
    sample = samples.sample([view])
    assert pictures(sample)["latency"] is None
    assert 'id="latency"' not in page_of(sample)


def test_costs__are_for_each_answer_and_against_the_baseline() -> None:
    now = side([1.0, 1.0, None])
    now[1] = replace(now[1], row=replace(now[1].row, usage=Usage(60, None)))
    sample = compared(now, side([1.0, 1.0, 1.0]))
    cost, tokens, *judges = pictures(sample)["costs"].rows
    assert (cost.total, cost.each, cost.said) == ("$0.0004", "$0.0004", "1 of 2 answers")
    assert (tokens.total, tokens.each, tokens.baseline, tokens.change) == (
        "180",
        "90",
        "120",
        "\N{MINUS SIGN}30",
    )
    assert [(row.total, row.baseline) for row in judges] == [(NOT_SAID, NOTHING)] * 2


def test_costs__that_nobody_said_are_named_and_no_zero() -> None:
    view = samples.row(samples.case(0), usage=Usage())
    sample = samples.sample([view])
    assert pictures(sample)["costs"].rows == ()
    assert "Not said: neither the target nor a judge" in Page(page_of(sample)).text


def test_splits__name_the_worst_and_keep_what_they_do_not_show() -> None:
    context = pictures(samples.blocked())
    (row,) = context["splits"].rows
    assert context["splits"].names == ("all", "main", "hard")
    assert [cell.value for cell in row.cells] == ["0.8929", "0.9118", "0.8125"]
    assert (row.worst, row.word) == ("hard", "lowest")
    assert {(one.metric, one.split) for one in context["metrics"]} == {
        ("exact", "all"), ("top5", "all"), ("latency_ms", "all"),
    }  # fmt: skip


def test_splits__the_worst_of_what_should_be_low_is_the_highest() -> None:
    metrics = [
        samples.metric(metric="latency_ms", stat="p95", split=split, value=value)
        for split, value in (("all", 20.0), ("main", 10.0), ("hard", 30.0), ("odd", None))
    ]
    (row,) = pictures(samples.sample([], metrics=metrics))["splits"].rows
    assert (row.worst, row.word) == ("hard", "highest")
    even = [one | {"value": 20.0} for one in metrics]
    (row,) = pictures(samples.sample([], metrics=even))["splits"].rows
    assert row.worst == ""


@pytest.mark.parametrize(
    ("values", "ends"),
    [([0.2, 0.9], (0, 1)), ([0, 7], (0, 7)), ([-3.2, 4], (-4, 4)), ([5, 5], (5, 5.5)), ([120, 480], (100, 500))],
)  # fmt: skip
def test_scale__is_0_to_1_or_round(values: list[float], ends: tuple[float, float]) -> None:
    scale = scale_of(values, 100)
    assert scale is not None
    assert (scale.start, scale.end) == ends


def test_scale__numbers_at_the_end_of_floats_have_none() -> None:
    assert scale_of([-1.7e308, 1.7e308], 100) is None
    assert scale_of([float("nan")], 100) is None
    assert [nice(x) for x in (0.011, 0.2, 3.0, 9.9e7)] == [0.02, 0.2, 5.0, 1e8]


def test_pictures__huge_numbers_are_said_where_they_cannot_be_drawn() -> None:
    views = side([1.7e308, -1.7e308], "top5", 0.5)
    judge = pictures(samples.sample(views, samples.plan([GRADED], cases=2)))["judges"][0]
    assert judge.spread.bars == ()
    assert judge.spread.said == ("This run: 2 of 2 scores measured",)


def test_why__each_reason_has_its_gate_and_not_the_outcome_again() -> None:
    card = samples.blocked().report.scorecard
    (one,) = why(card)
    assert one.gate == "no-worse"
    assert one.text.startswith("exact fell from")
