"""The verdict in words, for every way a run can end."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from releasecheck.model.scorecard import GateResult, Outcome, Scorecard, Sentinels, Status
from releasecheck.scorecard.tables import counted, gate_rows, metric_rows
from releasecheck.scorecard.verdict import (
    OUTCOME_TONES,
    OUTCOME_WORDS,
    headline,
    is_open,
    next_steps,
    reasons,
    tone,
)
from tests.unit.scorecard import samples


def card(**changes: Any) -> Scorecard:
    return samples.scorecard([samples.row(samples.case(0))], **changes)


@pytest.mark.parametrize("outcome", get_args(Outcome))
@pytest.mark.parametrize("status", get_args(Status))
def test_words__exist_for_every_end(outcome: Outcome, status: Status) -> None:
    made = card(verdict=outcome, status=status)
    assert headline(made)
    assert next_steps(made)
    assert OUTCOME_WORDS[outcome]
    assert (tone(made) == "good") == (outcome == "pass")


def test_tone__an_overridden_block_is_not_green() -> None:
    made = card(verdict="block", overridden=True)
    assert tone(made) == "warn"
    assert headline(made) == "Blocked, and waived"
    assert "waiver" in next_steps(made)[0]


def test_tone__waiting() -> None:
    made = card(verdict=None, status="running")
    assert (tone(made), headline(made), is_open(made)) == ("wait", "Waiting for scores", True)


def test_headline__says_how_the_run_ended() -> None:
    assert headline(card(verdict="blocked_missing", status="expired")) == (
        "No verdict: scores are missing (the run expired before it was complete)"
    )


@pytest.mark.parametrize(
    ("verdict", "given", "shown"),
    [
        ("block", ("block: measured", "no-worse: block: fell"), ("no-worse: block: fell",)),
        ("pass", ("pass: every gate held",), ("Every gate held",)),
        ("pass", ("something else", "more"), ("something else", "more")),
        ("pass", (), ()),
        (None, ("waiting: 9 scores", "carry on"), ("carry on",)),
    ],
)
def test_reasons__do_not_repeat_the_headline(
    verdict: str | None, given: tuple[str, ...], shown: tuple[str, ...]
) -> None:
    assert reasons(card(verdict=verdict, reasons=given)) == shown


def test_next_steps__after_a_block_point_at_the_flips_and_not_at_running_again() -> None:
    flips = {"exact": {"new_failures": ["a"]}, "other": {"new_failures": ["a"]}}
    first, second = next_steps(card(verdict="block", flips=flips))
    assert first == "Start with the case that passed in the baseline and fails now."
    assert second.startswith("Running again does not help")
    assert "worst cases" in next_steps(card(verdict="block"))[0]


def test_next_steps__a_closed_run_cannot_be_resumed() -> None:
    assert "resume" in next_steps(card(verdict="blocked_missing", status="running"))[0]
    assert "new run" in next_steps(card(verdict="blocked_missing", status="expired"))[0]


def test_next_steps__a_spent_budget_is_no_reason_to_resume() -> None:
    """X-21: what was spent stays spent, so `resume` would ask for nothing and say the same again."""
    spent = "budget_exceeded: the cost budget was spent before every case was asked"
    step = next_steps(card(verdict="blocked_missing", status="running", reasons=[spent]), "out")[0]
    assert step.startswith("The cost budget of this run is spent")
    assert "`releasecheck retry out`" in step
    timed = spent.replace("cost budget was spent", "time budget ended")
    step = next_steps(card(verdict="blocked_missing", status="running", reasons=[timed]), "out")[0]
    assert step.startswith("Run `releasecheck resume out`")


def test_next_steps__what_nobody_kept_takes_a_new_run() -> None:
    """A retry would find the same answers gone again."""
    counts = {"cases": 40, "trials": 40, "pairs": 40, "scored": 39, "not_applicable": 0}
    counts |= {"failed": 0, "missing": 1, "pending": 0}
    lost = {"judge": "tone", "missing": 1, "failed": 0, "given_up": {"output_not_stored": 1}}
    changes = {"verdict": "blocked_missing", "status": "completed", "counts": counts}
    entry = {"message": "no score", "expected": 40, **lost}
    (step,) = next_steps(card(**changes, incomplete=[entry]))
    assert "cannot be had again" in step
    other = {**entry, "given_up": {}}
    assert "releasecheck retry" in next_steps(card(**changes, incomplete=[other]))[0]


def test_next_steps__nobody_is_sent_to_retry_what_did_not_fail() -> None:
    """Too few scores (`min_scored`) or too many not applicable: nothing failed, and `retry` would refuse."""
    counts = {"cases": 40, "trials": 40, "pairs": 40, "scored": 26, "not_applicable": 14}
    counts |= {"failed": 0, "missing": 0, "pending": 0}
    made = card(verdict="blocked_missing", status="completed", counts=counts, incomplete=[])
    assert "a retry has nothing to redo" in next_steps(made)[0]
    lacking = card(
        verdict="blocked_missing", status="completed", counts={**counts, "scored": 25, "failed": 1}
    )
    assert "releasecheck retry" in next_steps(lacking)[0]


def test_next_steps__there_is_no_worst_case_where_nothing_fell() -> None:
    """A gate that could not show enough is no reason to repair the candidate."""
    unshown = samples.gate(
        outcome="block", decide="non-inferior", drop_bound=0.11, delta=0.0, threshold=0.1
    )
    first, *rest = next_steps(card(verdict="block", gates=[unshown]))
    assert "cannot show that nothing was lost" in first
    assert not any("worst cases" in line for line in rest)
    fell = samples.gate(id="other", outcome="block")
    assert any(
        "worst cases" in one for one in next_steps(card(verdict="block", gates=[unshown, fell]))
    )


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"gates": [samples.gate(outcome="not_comparable")],
          "baseline": samples.baseline_used(cases={"same": 84})}, "stands in its reason"),
        ({"gates": [samples.gate(outcome="not_comparable", against="anchor")],
          "baseline": samples.baseline_used()}, "There is no anchor yet"),
        ({"gates": [samples.gate(outcome="not_comparable")]}, "on_missing: bootstrap"),
        ({"gates": [samples.gate(outcome="not_comparable")],
          "baseline": samples.baseline_used(judges_changed=["exact"])}, "A judge changed since the baseline (exact)"),
        ({"gates": [samples.gate(outcome="not_comparable")], "baseline": samples.baseline_used()}, "Too little"),
        ({"gates": [samples.gate(outcome="not_selected")]}, "Choose cases"),
    ],
)  # fmt: skip
def test_next_steps__not_comparable(changes: dict[str, Any], says: str) -> None:
    assert says in next_steps(card(verdict="not_comparable", **changes))[0]


def test_gate_rows__worst_first_and_never_rounded_onto_the_threshold() -> None:
    gates = [
        samples.gate(id=outcome.replace("_", "-"), outcome=outcome, value=0.84999999)
        for outcome in OUTCOME_TONES
    ]
    rows = gate_rows(card(gates=gates))
    assert [row.outcome for row in rows] == list(reversed(OUTCOME_TONES))
    assert {row.value for row in rows} == {"0.84999999"}


def test_gate_rows__a_refusal_shows_no_numbers() -> None:
    row = gate_rows(
        card(gates=[samples.gate(outcome="blocked_missing", value=None, compared=None)])
    )[0]
    assert (row.value, row.baseline, row.delta, row.compared) == ("–",) * 4  # noqa: RUF001


def test_metric_rows__bars_stay_inside_and_say_what_they_show() -> None:
    rows = metric_rows(samples.blocked().report.scorecard)
    for row in rows:
        assert row.bar is not None
        places = [row.bar.low, row.bar.high, row.bar.value, row.bar.baseline, *row.bar.thresholds]
        assert all(0 <= place <= 100 for place in places if place is not None)
    first = rows[0].bar
    assert first is not None
    assert first.words == "0.8929, interval 0.808 to 0.942, baseline 0.9762, threshold 0.85"
    assert first.thresholds == (85.0,)


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [(0.0, None, None), (-2.0, -3.0, -1.0), (1e9, 0.0, 2e9), (1.0, 1.0, 1.0)],
)
def test_metric_rows__any_scale(value: float, low: float | None, high: float | None) -> None:
    made = card(metrics=[samples.metric(value=value, ci_low=low, ci_high=high)])
    bar = metric_rows(made)[0].bar
    assert bar is not None
    assert all(0 <= place <= 100 for place in (bar.low, bar.value, bar.high) if place is not None)


def test_metric_rows__nothing_measured_is_no_zero() -> None:
    row = metric_rows(
        card(metrics=[samples.metric(value=None, n_scored=0, ci_low=None, ci_high=None)])
    )[0]
    assert (row.value, row.interval, row.bar, row.complete) == ("–", "–", None, False)  # noqa: RUF001


def test_counted__names_all_scores() -> None:
    assert (
        counted(samples.refused().report.scorecard)
        == "161 of 168 scores measured (95.83 %) for 84 cases"
    )
    assert counted(samples.empty().report.scorecard) == "No score was planned"


def test_metric_rows__the_mean_and_the_pass_rate_of_a_yes_no_judge_share_a_row() -> None:
    metrics = [
        samples.metric(), samples.metric(stat="pass_rate"), samples.metric(stat="min", value=0.0, ci_low=None),
        samples.metric(split="hard"), samples.metric(split="hard", stat="pass_rate", value=0.5),
        samples.metric(metric="cost_usd", value=None, n_scored=0), samples.metric(metric="cost_usd", stat="sum",
        value=None, n_scored=0),
    ]  # fmt: skip
    rows = metric_rows(card(metrics=metrics))
    assert [(row.split, row.stat) for row in rows] == [
        ("all", "mean, pass_rate"), ("all", "min"), ("hard", "mean"), ("hard", "pass_rate"),
        ("all", "mean"), ("all", "sum"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "baseline", "shown"),
    [(17 / 21, 17 / 21, ("0.8095", "0.8095")), (17 / 21, 0.80952, ("0.809524", "0.8095")), (0.5, None, ("0.5", "–"))],  # noqa: RUF001
)  # fmt: skip
def test_rows__equal_numbers_look_equal_and_others_do_not(
    value: float, baseline: float | None, shown: tuple[str, str]
) -> None:
    made = card(
        gates=[samples.gate(value=value, baseline_value=baseline, threshold=0.02)],
        metrics=[samples.metric(value=value, baseline_value=baseline)],
    )
    gate, metric = gate_rows(made)[0], metric_rows(made)[0]
    assert (gate.value, gate.baseline) == (metric.value, metric.baseline) == shown


def test_metric_rows__a_cost_that_nobody_says_is_named_and_no_fault() -> None:
    unsaid = samples.metric(metric="cost_usd", value=None, n_scored=0, ci_low=None, ci_high=None)
    partly = samples.metric(metric="cost_usd", value=0.1, n_scored=80)
    first, second = metric_rows(card(metrics=[unsaid, partly]))
    assert (first.n, first.complete) == ("not reported", True)
    assert (second.n, second.complete) == ("80 of 84", False)


def test_headline__no_score_is_missing_and_a_judge_is_not_to_be_trusted() -> None:
    made = card(verdict="blocked_missing")
    refusing = GateResult(
        id="g",
        metric="j",
        split="all",
        stat="mean",
        rule="mean >= 1",
        outcome="blocked_missing",
        reason="...",
    )
    counts = made.counts.model_copy(update={"failed": 0, "missing": 0, "pending": 0})
    doubted = Sentinels(judge=refusing.metric, shown=2, held=1, missed=("bad",))
    only = made.model_copy(update={"gates": (refusing,), "sentinels": (doubted,), "counts": counts})
    assert headline(only) == "No verdict: a judge cannot be trusted"
    lost = counts.model_copy(update={"missing": 1})
    assert headline(only.model_copy(update={"counts": lost})) == "No verdict: scores are missing"
    others = doubted.model_copy(update={"judge": "another"})
    assert headline(only.model_copy(update={"sentinels": (others,)})).endswith("scores are missing")


def test_next_steps__name_the_folder_where_the_reader_is_beside_it() -> None:
    made = card(verdict=None, status="running")
    assert "`releasecheck resume` on this bundle" in next_steps(made)[0]
    assert "`releasecheck resume out`" in next_steps(made, "out")[0]
