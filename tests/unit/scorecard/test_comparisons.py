"""What reports say of no-regression gates, waivers, quarantine and earlier runs, in words."""

from __future__ import annotations

from typing import Any

import pytest

from releasecheck.model.scorecard import Scorecard
from releasecheck.scorecard.comparisons import ComparisonRow, comparison_rows
from releasecheck.scorecard.earlier import drift_rows, earlier_runs
from releasecheck.scorecard.exceptions import notices
from releasecheck.scorecard.lines import compared_with, comparisons, earlier_lines, quarantine_rows
from releasecheck.scorecard.models import model_facts
from releasecheck.scorecard.numbers import NOTHING
from releasecheck.scorecard.tables import gate_rows, metric_rows
from releasecheck.scorecard.verdict import headline, next_steps, reasons, tone
from releasecheck.stats import two_digits
from tests.unit.scorecard import samples


def card_of(*gates: dict[str, Any], **changes: Any) -> Scorecard:
    metrics = changes.pop("metrics", [samples.metric()])
    view = samples.row(samples.case(0))
    return samples.scorecard([view], gates=list(gates), metrics=metrics, **changes)


def row_of(**changes: Any) -> ComparisonRow:
    gate = {"decide": "point", "against": "baseline", "threshold": 0.02, "compared": 84, **changes}
    (row,) = comparison_rows(card_of(samples.gate(**gate), baseline=samples.baseline_used()))
    return row


@pytest.mark.parametrize(
    ("gate", "decides", "evidence"),
    [
        ({}, "blocks when worse by more than 0.02", "no test: the number alone decides"),
        ({"threshold": 0.0}, "blocks when worse at all", "no test: the number alone decides"),
        (
            {"rule": "no regression beyond 0.02, at most 3 new failures"},
            "blocks when worse by more than 0.02, or at more than 3 new failures",
            "no test: the number alone decides",
        ),
        (
            {"decide": "significant", "p_value": 0.049999999, "p_adjusted": 0.049999999},
            "blocks when worse by more than 0.02, and chance does not explain it (p below 0.05)",
            "p 0.049999999: chance alone would bring this in 4.9999999 % of runs",
        ),
        (
            {"decide": "significant", "p_value": 0.03, "p_adjusted": 0.06},
            "blocks when worse by more than 0.02, and chance does not explain it (p below 0.05)",
            "p 0.03, 0.06 corrected for the other gates: chance alone would bring this in 6 % of runs",
        ),
        (
            {"decide": "significant", "p_value": 1.0, "p_adjusted": 1.0},
            "blocks when worse by more than 0.02, and chance does not explain it (p below 0.05)",
            "p 1",
        ),
        (
            {"decide": "significant"},
            "blocks when worse by more than 0.02, and chance does not explain it (p below 0.05)",
            "no test is known for this statistic",
        ),
        (
            {"decide": "non-inferior", "drop_bound": 0.0200001},
            "blocks unless the cases show, with 95 % confidence, that it is not worse by more than 0.02",
            "at worst 0.0200001 worse, with 95 % confidence",
        ),
        (
            {"decide": "non-inferior", "drop_bound": -0.01},
            "blocks unless the cases show, with 95 % confidence, that it is not worse by more than 0.02",
            "at least 0.01 better, with 95 % confidence",
        ),
        (
            {"decide": "non-inferior", "drop_bound": 0.0},
            "blocks unless the cases show, with 95 % confidence, that it is not worse by more than 0.02",
            "at worst no worse, with 95 % confidence",
        ),
        (
            {"outcome": "blocked_missing", "compared": None, "decide": "significant"},
            "blocks when worse by more than 0.02, and chance does not explain it (p below 0.05)",
            "nothing was compared",
        ),
    ],
)
def test_comparison_rows__say_how_a_gate_decided(
    gate: dict[str, Any], decides: str, evidence: str
) -> None:
    """G-34: a p or bound is never rounded onto the number it is held against."""
    row = row_of(**gate)
    assert (row.decides, row.evidence) == (decides, evidence)


@pytest.mark.parametrize(
    ("seen", "told", "sees", "warns"),
    [
        (0.0501, 0.0199, "notices 0.051 worse or more, in four of five runs", False),
        (0.05, 0.0201, "notices 0.05 worse or more, in four of five runs", True),
        (0.0, 0.02, "would block four of five runs in which nothing changed", False),
        (None, 0.5, "would not notice however much worse", True),
        (None, None, "", False),
    ],
)
def test_comparison_rows__say_what_a_gate_can_see(
    seen: float | None, told: float | None, sees: str, *, warns: bool
) -> None:
    row = row_of(min_detectable_drop=seen, resolvable_drop=told)
    assert row.sees == sees
    assert bool(row.warning) is warns
    assert not warns or f"only {two_digits(told or 0)} or more" in row.warning


def test_comparison_rows__name_the_run_and_count_the_cases() -> None:
    row = row_of(new_failures=["a", "b"], new_passes=["c"], compared=1)
    assert row.against == "baseline rc-b0b0b0b0b0b0-3 at 77ab12cd77ab"
    assert (row.compared, row.flips) == ("1 shared case", "2 new failures, 1 new pass")
    assert row_of(against="anchor").against == "anchor, and there is none"
    assert row_of(outcome="not_comparable", compared=None).compared == NOTHING
    assert comparison_rows(card_of(samples.gate())) == ()


def test_comparisons__lists_few_cases_and_counts_the_others() -> None:
    many = [f"c{at}" for at in range(12)]
    gate = samples.gate(decide="point", against="baseline", new_failures=many)
    (found,) = comparisons(card_of(gate), 5)
    (flip,) = found.flips
    assert (flip.words, flip.ids, flip.more) == ("12 new failures", tuple(many[:5]), 7)
    assert list(comparisons(card_of(gate), 0)) == []


def test_headline__an_overridden_run_tells_who_waived_what_first() -> None:
    card = samples.overridden().report.scorecard
    assert headline(card) == "Blocked, and waived: gate no-worse"
    assert tone(card) == "warn"
    first, second = reasons(card)
    assert first.startswith("no-worse: waived until 2026-09-30 by A. Reviewer: the index is")
    assert second.startswith("no-worse: block: mean 0.893")
    assert "ends on 2026-09-30" in next_steps(card)[0]
    words = {row.id: (row.word, row.tone) for row in gate_rows(card)}
    assert words["no-worse"] == ("blocked, waived", "warn")
    assert words["quality"] == ("pass", "good")


def test_headline__a_pass_with_a_quarantine_says_so_beside_it() -> None:
    aside = [
        {"case": c, "owner": "o", "reason": "r", "until": "2026-12-31"} for c in ("a", "a", "b")
    ]
    aside[1] |= {"judge": "exact"}
    assert (
        headline(card_of(samples.gate(), quarantine=aside)) == "Passed, with 2 cases in quarantine"
    )
    blocked = card_of(samples.gate(outcome="block"), verdict="block", quarantine=aside)
    assert headline(blocked) == "Blocked"


def test_notices__do_not_say_twice_what_stands_elsewhere() -> None:
    card = samples.overridden().report.scorecard
    aside, mixed = notices(card)
    assert aside.startswith("1 case is in quarantine: asked and scored, but no gate looks at it")
    assert "left out: no-worse 1, no-worse-anchor 1" in aside
    assert mixed.startswith("the target answered as 2 models")
    # A waiver that made no difference is a note like others.
    waiver = {"gate": "quality", "who": "w", "why": "y", "until": "2026-12-31"}
    unused = "waiver for gate quality until 2026-12-31: y (w)"
    assert notices(card_of(samples.gate(), waivers=[waiver], notices=[unused])) == (unused,)


def test_next_steps__of_a_gate_that_could_not_be_shown_to_hold() -> None:
    steps = next_steps(samples.inferior().report.scorecard)
    assert steps[0].startswith(
        "Gate no-worse blocks since these cases cannot show that nothing was"
    )
    worse = {"decide": "non-inferior", "drop_bound": 0.09, "delta": -0.05, "threshold": 0.02}
    steps = next_steps(
        card_of(samples.gate(outcome="block", **worse), verdict="block", exit_code=1)
    )
    assert "cannot show" not in " ".join(steps)


def test_earlier_runs__axis_by_axis_with_their_cases() -> None:
    baseline, anchor = earlier_runs(samples.overridden().report.scorecard)
    assert [(row.what, row.word) for row in baseline.axes] == [
        ("Cases", "differs"), ("Judges", "the same"), ("Target", "differs"), ("Gates", "not known"),
    ]  # fmt: skip
    assert baseline.rejudged == (
        "exact is another judge now, and scored 84 stored answers of it anew",
    )
    assert (baseline.lists[0].title, baseline.lists[0].ids) == ("1 case removed", ("q100",))
    assert (anchor.title, anchor.counts, anchor.differs) == ("Anchor", "84 cases unchanged", "")


def test_earlier_lines__bounded_and_counted() -> None:
    removed = [f"c{at}" for at in range(30)]
    used = samples.baseline_used(cases={"same": 1, "removed": removed, "renamed": [["a", "b"]]})
    lines = list(earlier_lines(card_of(baseline=used), 4))
    assert "Baseline: 30 cases removed: c0, c1, c2, c3 and 26 more" in lines
    assert "Baseline: 1 case renamed: a → b" in lines
    assert list(earlier_lines(card_of(baseline=used), 0)) == []
    (line,) = compared_with(card_of(baseline=used))
    assert line.startswith("compared with the baseline rc-b0b0b0b0b0b0-3 at 77ab12cd")
    assert line.endswith(": 1 case unchanged, 30 removed, 1 renamed")


def test_drift_rows__set_the_run_beside_baseline_and_anchor() -> None:
    (row,) = drift_rows(samples.overridden().report.scorecard)
    assert (row.what, row.value) == ("exact, mean in all", "0.8929")
    assert (row.baseline, row.since_baseline) == ("0.9762", "\N{MINUS SIGN}0.0833")
    assert (row.anchor, row.since_anchor) == ("0.9881", "\N{MINUS SIGN}0.0952")
    assert drift_rows(samples.blocked().report.scorecard) == ()


def test_quarantine_rows__are_bounded() -> None:
    aside = [
        {"case": f"c{at}", "owner": "o" * 999, "reason": "r" * 999, "until": "2026-12-31"}
        for at in range(9)
    ]
    rows = quarantine_rows(card_of(samples.gate(), quarantine=aside), 3)
    assert [row.case for row in rows] == ["c0", "c1", "c2"]
    assert (len(rows[0].owner), len(rows[0].reason), rows[0].of) == (100, 300, "every gate")


def test_metric_rows__show_the_interval_of_the_change() -> None:
    made = samples.metric(baseline_value=0.95, delta=-0.05, delta_ci_low=-0.1, delta_ci_high=0.01)
    (row,) = metric_rows(card_of(metrics=[made]))
    assert row.delta_interval == "\N{MINUS SIGN}0.1 to +0.01"
    (bare,) = metric_rows(card_of(metrics=[samples.metric(delta_ci_low=-0.1, delta_ci_high=0.0)]))
    assert bare.delta_interval == ""


def test_gate_rows__say_how_much_there_is_of_how_much() -> None:
    """Every number shows n_scored of n_expected; two runs are compared over cases."""
    gates = (
        samples.gate(),
        samples.gate(id="few", compared=5),
        samples.gate(id="no-worse", decide="point", against="baseline", compared=82),
        samples.gate(id="lost", outcome="blocked_missing", compared=None),
    )
    rows = {row.id: row.compared for row in gate_rows(card_of(*gates))}
    assert rows == {
        "quality": "84 of 84", "few": "5 of 5", "no-worse": "82 cases", "lost": NOTHING,
    }  # fmt: skip
    early = card_of(gates[1], verdict="block", decided_early=True)
    assert [row.compared for row in gate_rows(early)] == ["5"]
    assert headline(early) == "Blocked, decided early"


def test_model_facts__the_busiest_first_and_the_others_counted() -> None:
    models = {f"m{at}": at + 1 for at in range(7)}
    card = card_of(models=models, more_models=10, judge_models={"exact": {"j": 84}})
    assert model_facts(card) == (
        ("Answered by", "m6 (7), m5 (6), m4 (5), m3 (4), m2 (3), others (13)"),
        ("exact judged by", "j (84)"),
    )
