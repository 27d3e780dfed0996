"""Exact sums, intervals against SciPy, verdicts per case, case pairing, shown numbers."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
import scipy.stats  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from releasecheck.model.judge import ExactJudge
from releasecheck.stats import (
    UNREPORTED,
    aggregate,
    aggregate_cases,
    case_passes,
    column,
    exact,
    exact_sum,
    match_cases,
    mean_interval,
    names,
    plain,
    quantile_rank,
    quantile_ranks,
    quote,
    show,
    t_quantile,
    to_float,
    two_digits,
    verdicts,
    wilson,
    yes_or_no,
    zeros_and_ones,
)
from releasecheck.stats.columns import Column
from tests.unit.tables import CLOSE, YES_NO, case_rows, plan_for, score_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.model.gate import Stat
    from tests.unit.tables import Cell, Cells

finite = st.floats(allow_nan=False, allow_infinity=False)


def one_column(*cells: Cell | Sequence[Cell], judge: str = "close") -> Column:
    col = column(score_table({judge: cells}), judge)
    assert col is not None
    return col


# -- exact sums


def test_exact_sum__means_the_written_decimals() -> None:
    """B89: binary addition gives 2.4000000000000004 and another mean for another order."""
    assert exact_sum(np.array([0.7, 0.8, 0.9])) == Fraction(24, 10)


numbers = st.one_of(finite, st.decimals(-(10**9), 10**9, places=4).map(float), st.integers(0, 9))


@given(st.lists(numbers, max_size=30).map(lambda some: some * 2))
def test_exact_sum__is_the_sum_of_shortest_decimals(values: list[float]) -> None:
    assert exact_sum(np.array(values, dtype=float)) == sum(
        (Fraction(Decimal(repr(float(v)))) for v in values), 0
    )


def test_exact_sum__spans_the_whole_range_of_floats() -> None:
    values = [1.7976931348623157e308] * 3 + [5e-324, -1.7976931348623157e308]
    assert exact_sum(np.array(values)) == 2 * exact(1.7976931348623157e308) + exact(5e-324)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_exact_sum__refuses_what_is_no_number(bad: float) -> None:
    """B59: one NaN must not take a mean; it is refused where it would enter."""
    with pytest.raises(ValueError, match="finite"):
        exact_sum(np.array([0.5, bad]))
    with pytest.raises(ValueError, match="finite"):
        exact(bad)


def test_to_float__has_no_negative_zero_and_no_infinity() -> None:
    """B82: -0.0 is 0."""
    assert str(to_float(exact(-0.0))) == "0.0"
    assert to_float(exact(1e308) * 10) is None


# -- intervals


@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.95, 0.99, 0.999])
@pytest.mark.parametrize(("passes", "n"), [(0, 2), (2, 2), (1, 3), (81, 84), (2499, 2500), (0, 9)])
def test_wilson__agrees_with_scipy(passes: int, n: int, confidence: float) -> None:
    oracle = scipy.stats.binomtest(passes, n).proportion_ci(confidence, method="wilson")
    assert wilson(passes, n, confidence) == pytest.approx((oracle.low, oracle.high), abs=1e-9)


def test_wilson__ends_at_zero_and_one() -> None:
    for n in range(2, 200):
        none, every = wilson(0, n, 0.95), wilson(n, n, 0.95)
        assert none is not None
        assert every is not None
        assert none[0] == 0.0
        assert every[1] == 1.0


@pytest.mark.parametrize("confidence", [0.51, 0.8, 0.9, 0.95, 0.99, 0.999, 0.999999])
@pytest.mark.parametrize("df", [1, 2, 3, 4, 5, 10, 29, 83, 500, 999, 1000, 1001, 99_999, 10**6])
def test_t_quantile__agrees_with_scipy(df: int, confidence: float) -> None:
    oracle = scipy.stats.t.ppf((1 + confidence) / 2, df)
    assert t_quantile(df, confidence) == pytest.approx(oracle, rel=1e-9, abs=1e-9)


def test_mean_interval__agrees_with_scipy() -> None:
    values = np.random.default_rng(7).normal(0.6, 0.2, 84)
    oracle = scipy.stats.t.interval(0.95, 83, values.mean(), scipy.stats.sem(values))
    assert mean_interval(values, 0.95) == pytest.approx(oracle, abs=1e-9)


@pytest.mark.parametrize("values", [[], [0.5], [1.7e308, -1.7e308]])
def test_mean_interval__is_absent_where_it_says_nothing(values: list[float]) -> None:
    assert mean_interval(np.array(values), 0.95) is None


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
@pytest.mark.parametrize(
    "q", [Fraction(1, 2), Fraction(9, 10), Fraction(95, 100), Fraction(99, 100)]
)
@pytest.mark.parametrize("n", [2, 5, 6, 20, 59, 72, 73, 100, 500, 1000, 100_000, 10**6])
def test_quantile_ranks__agrees_with_scipy(n: int, q: Fraction, confidence: float) -> None:
    below = scipy.stats.binom(n, float(q))
    tail = (1 - confidence) / 2
    low = int(below.ppf(tail))  # smallest k with P(B <= k) >= tail
    while low >= 0 and below.cdf(low) > tail:
        low -= 1
    low, high = low + 1, int(below.ppf(1 - tail)) + 1
    assert quantile_ranks(n, q, confidence) == ((low, high) if low >= 1 and high <= n else None)


def test_quantile_ranks__covers_at_least_what_it_says() -> None:
    for n in (20, 84, 500):
        ranks = quantile_ranks(n, Fraction(1, 2), 0.95)
        assert ranks is not None
        below = scipy.stats.binom(n, 0.5)
        assert below.cdf(ranks[1] - 1) - below.cdf(ranks[0] - 1) >= 0.95


# -- statistics of a column


@pytest.mark.parametrize(
    ("q", "n", "rank"), [("1/2", 1, 1), ("1/2", 4, 2), ("1/2", 5, 3), ("19/20", 20, 19), ("19/20", 21, 20)]
)  # fmt: skip
def test_quantile_rank__is_the_inverse_distribution(q: str, n: int, rank: int) -> None:
    assert quantile_rank(n, Fraction(q)) == rank
    ordered = np.sort(np.random.default_rng(n).normal(size=n))
    oracle = np.quantile(ordered, float(Fraction(q)), method="inverted_cdf")
    assert ordered[rank - 1] == oracle


@pytest.mark.parametrize(
    ("stat", "expected"),
    [
        ("mean", Fraction(8, 10)), ("sum", Fraction(24, 10)), ("min", Fraction(7, 10)),
        ("max", Fraction(9, 10)), ("p50", Fraction(8, 10)), ("p95", Fraction(9, 10)),
    ],
)  # fmt: skip
def test_aggregate__is_exact(stat: Stat, expected: Fraction) -> None:
    """B89."""
    assert aggregate(stat, one_column(0.9, 0.7, 0.8), "majority") == expected


def test_aggregate__averages_the_trials_of_a_case_first() -> None:
    """A case with more trials weighs no more than another."""
    col = one_column([1, 0, 0], [1, "na", "na"], [0.5, 0.25, "na"])
    assert aggregate("mean", col, "majority") == (Fraction(1, 3) + 1 + Fraction(3, 8)) / 3
    assert aggregate("sum", col, "majority") == Fraction(275, 100)
    assert aggregate_cases("sum", col, "majority") == Fraction(1, 3) + 1 + Fraction(3, 8)
    assert aggregate_cases("max", one_column([1, 0], [0.6, 0.6]), "all") == Fraction(6, 10)
    assert aggregate_cases("p50", one_column([1, 0], [0.6, 0.6]), "all") == Fraction(5, 10)


cells = st.one_of(
    st.sampled_from([0.0, 1.0, -0.0, 0.1, 0.2, 0.3, 1 / 3, 1e308, "na", "failed"]),
    st.floats(-1e6, 1e6),
)


@given(
    st.sampled_from(["min", "max", "p50", "p90", "p95"]),
    st.integers(1, 3).flatmap(
        lambda trials: st.lists(st.lists(cells, min_size=trials, max_size=trials), max_size=12)
    ),
)
def test_aggregate_cases__takes_the_exact_mean_at_the_rank(
    stat: Stat, rows: list[list[float | str]]
) -> None:
    col = one_column(*rows)
    kept = [[exact(cell) for cell in row if not isinstance(cell, str)] for row in rows]
    means = sorted(sum(row, Fraction(0)) / len(row) for row in kept if row)
    quantile = {"p50": Fraction(1, 2), "p90": Fraction(9, 10), "p95": Fraction(19, 20)}
    ranks = {"min": 1, "max": len(means)}
    rank = ranks[stat] if stat in ranks else quantile_rank(len(means), quantile[stat])
    assert aggregate_cases(stat, col, "majority") == (means[rank - 1] if means else None)


@pytest.mark.parametrize("stat", ["mean", "pass_rate", "min", "max", "p50", "p99", "sum"])
def test_aggregate__of_nothing_is_nothing(stat: Stat) -> None:
    """X-12, B70, B76: absent, not 0, and no crash."""
    for col in (
        one_column("na", "failed", "missing"),
        one_column(1).take(np.array([], dtype=np.int64)),
    ):
        assert aggregate(stat, col, "majority") is None
        assert aggregate_cases(stat, col, "majority") is None


def test_aggregate__pass_rate_counts_only_verdicts() -> None:
    """B70: skipped is not passed."""
    col = one_column("na", "failed", 0, 1, judge="exact")
    assert aggregate("pass_rate", col, "majority") == Fraction(1, 2)


def test_column__a_target_failure_makes_latency_and_cost_missing() -> None:
    """Contract 3: missing, never left out; 30 % time-outs must not flatter the survivors."""
    table = score_table(
        {"exact": [1, "target_failed", "no_output", 1]},
        latency_ms=[10, 99, 99, "none"],
        cost_usd=[0.1, 0.1, "none", 0.1],
    )
    latency, cost = column(table, "latency_ms"), column(table, "cost_usd")
    errors, tokens = column(table, "target_errors"), column(table, "tokens")
    assert latency is not None
    assert cost is not None
    assert errors is not None
    assert tokens is not None
    assert latency.scored.ravel().tolist() == [True, False, False, False]
    assert latency.expected.all()
    assert latency.state.ravel().tolist()[3] == UNREPORTED
    assert cost.scored.ravel().tolist() == [True, False, False, True]
    assert errors.value[errors.scored].tolist() == [0, 1, 0]
    assert not tokens.scored.any()
    assert column(table, "no-such-judge") is None


# -- verdicts

VERDICTS = [
    ("all", [1, 1, 1], 1), ("all", [1, 1, 0], 0), ("all", [1, 1, "missing"], -1),
    ("all", [1, 0, "missing"], 0), ("all", [1, "na", "na"], 1),
    ("any", [0, 0, 1], 1), ("any", [0, 0, 0], 0), ("any", [0, 1, "failed"], 1),
    ("any", [0, 0, "failed"], -1),
    ("majority", [1, 1, 0], 1), ("majority", [1, 0], 0), ("majority", [1, 1, "pending"], 1),
    ("majority", [1, 0, "pending"], -1), ("majority", [0, 0, "missing"], 0),
    ("majority", [1, "na", 1], 1), ("majority", [1, "missing"], -1),
    ("2-of-3", [1, 1, 0], 1), ("2-of-3", [1, 0, 0], 0), ("2-of-3", [1, 1, "missing"], 1),
    ("2-of-3", [1, 0, "missing"], -1), ("2-of-3", [0, 0, "missing"], 0),
    ("2-of-3", [1, "na", "na"], -1),
    ("all", ["na", "na"], -1), ("any", ["na", "na"], -1), ("majority", ["na", "na"], -1),
    ("1-of-2", ["na", "na"], -1), ("any", ["failed", "missing"], -1),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "cells", "expected"), VERDICTS)
def test_verdicts__by_rule(rule: str, cells: list[float | str], expected: int) -> None:
    """Contract 3: a case passes over its scored trials; what could still turn it is unknown."""
    assert verdicts(one_column(cells, judge="exact"), rule).tolist() == [expected]


@pytest.mark.parametrize("rule", ["all", "any", "majority", "1-of-3", "2-of-3", "3-of-3"])
def test_verdicts__unscored_trials_cannot_contradict_a_verdict(rule: str) -> None:
    """Whatever an open trial becomes, a verdict given before it stands."""
    for first in (0, 1):
        for second in (0, 1):
            early = verdicts(one_column([first, second, "pending"], judge="exact"), rule)[0]
            for third in (0, 1):
                late = verdicts(one_column([first, second, third], judge="exact"), rule)[0]
                assert early in (-1, late)


def test_verdicts__a_judge_without_a_pass_mark_has_none() -> None:
    assert verdicts(one_column(1, 0), "majority").tolist() == [-1, -1]


def test_case_passes__each_judge_by_its_own_rule() -> None:
    """X-23."""
    strict = ExactJudge(id="strict", type="exact", pass_rule="all")  # noqa: S106
    judges = (YES_NO, strict, CLOSE)
    cells: Cells = [[1, 1, 0], [0, 0, 0], ["na", "na", "na"]]
    table = score_table({"exact": cells, "strict": cells, "close": cells}, judges=judges)
    found = case_passes(table, plan_for(table, judges=judges))
    assert found.tolist() == [[1, 0, -1], [0, 0, -1], [-1, -1, -1]]
    assert found.dtype == np.int8


# -- which case is which


def test_match_cases__by_id_and_content_then_by_unique_content() -> None:
    earlier = case_rows(["a", "b", "c", "d", "e"], contents={"d": "twin", "e": "twin"})
    now = case_rows(
        ["a", "b", "new-c", "twin-1", "z"],
        contents={"b": "edited", "new-c": "c", "twin-1": "twin"},
    )
    assert match_cases(now, earlier).tolist() == [0, -1, 2, -1, -1]


def test_match_cases__content_is_followed_when_ids_shift() -> None:
    """A row inserted at the top renumbers every case; the content still says which is which."""
    earlier = case_rows(["1", "2", "3"], contents={"1": "x", "2": "y", "3": "z"})
    now = case_rows(["1", "2", "3", "4"], contents={"1": "new", "2": "x", "3": "y", "4": "z"})
    assert match_cases(now, earlier).tolist() == [-1, 0, 1, 2]


def test_match_cases__content_twice_on_one_side_is_no_match() -> None:
    once, twice = case_rows(["x"], contents={"x": "same"}), case_rows(
        ["a", "b"], contents={"a": "same", "b": "same"}
    )  # fmt: skip
    assert match_cases(once, twice).tolist() == [-1]
    assert match_cases(twice, once).tolist() == [-1, -1]
    assert match_cases(once, ()).tolist() == [-1]
    assert match_cases((), once).tolist() == []


@given(
    st.lists(st.sampled_from("abcdef"), max_size=8), st.lists(st.sampled_from("abcdef"), max_size=8)
)
def test_match_cases__pairs_equal_content_once(here: list[str], there: list[str]) -> None:
    now = case_rows(
        [str(i) for i in range(len(here))], contents={str(i): c for i, c in enumerate(here)}
    )
    earlier = case_rows(
        [str(i) for i in range(len(there))], contents={str(i): c for i, c in enumerate(there)}
    )
    found = match_cases(now, earlier).tolist()
    used = [index for index in found if index >= 0]
    assert len(used) == len(set(used))
    assert all(i < 0 or earlier[i].digest == row.digest for row, i in zip(now, found, strict=True))


# -- shown numbers


@pytest.mark.parametrize(
    ("passes", "n", "expected"),
    [
        (2499, 2500, "99.96 %"), (24_999, 25_000, "99.996 %"), (1, 2500, "0.04 %"), (0, 2500, "0 %"),
        (2500, 2500, "100 %"), (1, 3, "33.33 %"), (2, 3, "66.67 %"),
        (10**9 - 1, 10**9, "99.9999999 %"),
    ],
)  # fmt: skip
def test_show__percent_is_round_only_when_it_is(passes: int, n: int, expected: str) -> None:
    """B88."""
    assert show(Fraction(passes, n), percent=True) == expected


@pytest.mark.parametrize(
    ("value", "against", "expected"),
    [
        (0.849999, 0.85, "0.849999"), (0.85, 0.85, "0.85"), (0.8500004, 0.85, "0.8500004"),
        (0.81239, 0.85, "0.8124"), (1999.99999, 2000, "1999.99999"), (123_456.7, None, "123457"),
        (-0.0, 0.0, "0"), (1e-9, None, "1e-9"), (1e300, None, "1e+300"), (-0.02, 0.02, "-0.02"),
        (Fraction(1, 3), 0.3333333333333333, "0.33333333333333333"), (0.99996, None, "0.99996"),
        (0.84996, 0.84998, "0.84996"),
        (Fraction(8, 10) - Fraction(1, 10**50), 0.8, "just below 0.8"),
        (Fraction(8, 10) + Fraction(1, 10**50), 0.8, "just above 0.8"),
    ],
)  # fmt: skip
def test_show__never_crosses_a_threshold(
    value: float | Fraction, against: float | None, expected: str
) -> None:
    """B88, B89: what is not equal is not shown as equal."""
    assert show(value, against) == expected


def test_show__equal_without_a_finite_decimal() -> None:
    """The mean of a run against the same mean in its baseline."""
    assert show(Fraction(17, 21), Fraction(17, 21)) == "0.8095"
    assert show(Fraction(17, 21), Fraction(17, 21), 0.8095) == "0.80952"


@given(finite, finite)
def test_show__keeps_order(value: float, mark: float) -> None:
    shown = show(value, mark)
    if "just" not in shown:
        number = Fraction(shown)
        sign = (number > exact(mark)) - (number < exact(mark))
        assert sign == (exact(value) > exact(mark)) - (exact(value) < exact(mark))


def test_plain__is_the_number_as_written() -> None:
    written = [plain(n) for n in (0.85, 2000.0, 2000, 1e-7, -0.0, 0.1 + 0.2)]
    assert written == ["0.85", "2000", "2000", "1e-7", "0", "0.30000000000000004"]


def test_quote__is_safe_to_print() -> None:
    hostile = "a\n\x1b[2J\u202e'q'"
    assert quote(hostile) == "'" + repr(hostile)[1:-1] + "'"
    assert quote(hostile).isprintable()
    assert len(quote("x" * 1000)) == 82
    assert quote("\ud800").encode("utf-8")


def test_names__shows_five_and_counts_the_rest() -> None:
    assert names(["a", "b"]) == "'a', 'b'"
    assert names([*"abcdefg"]) == "'a', 'b', 'c', 'd', 'e' and 2 more"


@pytest.mark.parametrize(
    ("values", "ends", "verdicts_only", "all_agree"),
    [
        ([[0.0], [1.0]], (0.0, 1.0), True, True),
        ([[0.0], [1.0]], None, True, True),
        ([[0.0], [0.5]], (0.0, 1.0), False, False),
        ([[0.0, 1.0], [1.0, 1.0]], (0.0, 1.0), True, False),
        # No cost at all, and the lowest grade throughout, only look like verdicts.
        ([[0.0], [0.0]], (0.0, math.inf), False, False),
        ([[1.0], [1.0]], (1.0, 5.0), False, False),
    ],
)
def test_yes_or_no__amounts_and_grades_are_none(
    values: Cells,
    ends: tuple[float, float] | None,
    *,
    verdicts_only: bool,
    all_agree: bool,
) -> None:
    """X-13: a rule for verdicts is never applied to what merely is 0 or 1 everywhere."""
    col = column(score_table({"close": values}, judges=(CLOSE,)), "close")
    assert col is not None
    assert zeros_and_ones(col, ends) is verdicts_only
    assert yes_or_no(col, ends) is all_agree


@pytest.mark.parametrize(
    ("value", "above", "below"),
    [(0.0501, "0.051", "0.05"), (0.05, "0.05", "0.05"), (-0.123, "-0.12", "-0.13"), (351.0, "360", "350")],
)  # fmt: skip
def test_two_digits__stays_on_its_side(value: float, above: str, below: str) -> None:
    """B88: what a gate is said to notice is never less than what it does notice."""
    assert (two_digits(value), two_digits(value, up=False)) == (above, below)
