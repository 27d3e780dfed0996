"""Cohen's kappa against published examples and its own delta method; the pass mark that agrees best."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from releasecheck.stats.agreement import best_mark, kappa

DIAGNOSES = [[75, 1, 4], [5, 4, 1], [0, 0, 10]]


def test_kappa__diagnoses_of_two_raters() -> None:
    """Fleiss, Levin and Paik, "Statistical Methods for Rates and Proportions", table 18.1: 0.68, s.e. 0.087."""
    found = kappa(DIAGNOSES)
    assert found is not None
    assert found.value == pytest.approx(0.676, abs=5e-4)
    assert found.error == pytest.approx(0.0877, abs=1e-3)
    assert found.low == pytest.approx(found.value - 1.959964 * found.error)


def test_kappa__psychiatric_judgements() -> None:
    """Cohen, "Weighted kappa" (1968), 200 judgements: unweighted kappa 0.49, 95 % interval 0.39 to 0.59."""
    found = kappa([[88, 14, 18], [10, 40, 10], [2, 6, 12]])
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert (round(found.value, 2), round(found.low, 2), round(found.high, 2)) == (0.49, 0.39, 0.59)


def test_kappa__grant_proposals() -> None:
    """The grant proposals of the article "Cohen's kappa" in Wikipedia: 20, 5, 10, 15 give 0.4."""
    found = kappa([[20, 5], [10, 15]])
    assert found is not None
    assert found.value == pytest.approx(0.4)


@pytest.mark.parametrize(
    "table", [[[0, 0], [0, 0]], [[5, 0], [3, 0]], [[5, 3], [0, 0]], [[9, 0], [0, 0]]]
)
def test_kappa__with_one_class_only_is_undefined(table: list[list[int]]) -> None:
    assert kappa(table) is None


def test_kappa__of_full_agreement_has_no_interval() -> None:
    found = kappa([[5, 0], [0, 5]])
    assert found is not None
    assert (found.value, found.low, found.high) == (1.0, None, None)


def kappa_of(p: np.ndarray) -> float:
    chance = float(p.sum(1) @ p.sum(0))
    return (float(np.trace(p)) - chance) / (1 - chance)


@given(st.lists(st.integers(1, 60), min_size=4, max_size=4))
def test_kappa__its_error_is_that_of_the_delta_method(cells: list[int]) -> None:
    """The gradient taken numerically, over the covariance of a multinomial."""
    p = np.array(cells, dtype=float).reshape(2, 2) / sum(cells)
    step = 1e-6
    gradient = np.zeros((2, 2))
    for place in np.ndindex(2, 2):
        more, less = p.copy(), p.copy()
        more[place] += step
        less[place] -= step
        gradient[place] = (kappa_of(more) - kappa_of(less)) / (2 * step)
    variance = float((p * gradient**2).sum() - (p * gradient).sum() ** 2) / sum(cells)
    found = kappa([cells[:2], cells[2:]])
    assert found is not None
    assert found.value == pytest.approx(kappa_of(p))
    # The numerical gradient treats 1 - chance as a function of all four cells, which need not sum to 1.
    assert found.error == pytest.approx(math.sqrt(max(0.0, variance)), rel=1e-3, abs=1e-5)


def test_best_mark__of_equally_good_ones_is_the_nearest_to_the_present() -> None:
    values, labels = [0.1, 0.4, 0.6, 0.9], [False, False, True, True]
    assert best_mark(values, labels, "higher", 0.9) == (0.6, 4)
    assert best_mark(values, labels, "higher", 0.5) == (0.5, 4)
    assert best_mark(values, labels, "higher", None) == (0.6, 4)
    assert best_mark([], [], "higher", 0.5) is None


def test_best_mark__where_lower_is_better() -> None:
    values, labels = [0.1, 0.4, 0.6, 0.9], [True, True, False, False]
    assert best_mark(values, labels, "lower", 0.0) == (0.4, 4)


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.booleans()), min_size=1),
    st.sampled_from(["higher", "lower"]),
    st.sampled_from([None, 0.3, 0.5]),
)
def test_best_mark__is_the_best_of_all_marks(
    rated: list[tuple[float, bool]], better: Literal["higher", "lower"], present: float | None
) -> None:
    values, labels = [value for value, _ in rated], [label for _, label in rated]

    def agreed(mark: float) -> int:
        passes = [v >= mark if better == "higher" else v <= mark for v in values]
        return sum(one is label for one, label in zip(passes, labels, strict=True))

    marks = {*values, *([] if present is None else [present])}
    found = best_mark(values, labels, better, present)
    assert found is not None
    assert found.agreed == agreed(found.value) == max(map(agreed, marks))
    if present is not None:
        ties = [mark for mark in marks if agreed(mark) == found.agreed]
        assert abs(found.value - present) == min(abs(mark - present) for mark in ties)
