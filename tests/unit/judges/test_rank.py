"""`recall`, `precision`, `mrr`, `ndcg` (issue step 1, item 4): agree with ir-measures to 1e-9."""

from __future__ import annotations

import math
from typing import Any

import ir_measures
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.unit.judges.builders import answer, reason, said

IDS = [f"d{number}" for number in range(12)]


@pytest.mark.parametrize(
    ("type_", "k", "output", "expected", "value"),
    [
        ("recall", 2, ["a", "b", "c"], ["a", "c"], 0.5),
        ("recall", None, ["a", "b", "c"], ["a", "c"], 1.0),
        ("recall", 5, [], ["a"], 0.0),
        ("precision", 2, ["a", "b", "c"], ["a", "c"], 0.5),
        ("precision", 5, ["a"], ["a"], 0.2),  # a short list does not raise precision
        ("precision", None, ["a", "b"], ["a"], 0.5),
        ("precision", None, [], ["a"], 0.0),
        ("mrr", None, ["x", "a"], ["a"], 0.5),
        ("mrr", 1, ["x", "a"], ["a"], 0.0),
        ("ndcg", None, ["a", "b"], {"a": 3, "b": 1}, 1.0),
        ("ndcg", 1, ["b", "a"], {"a": 3, "b": 1}, 1 / 3),
        ("ndcg", None, ["x", "a"], ["a"], 1 / math.log2(3)),
        # An id that comes twice counts once, where it came first, and takes no second place.
        ("precision", 2, ["a", "a", "b"], ["a", "b"], 1.0),
        ("recall", 1, ["a"], ["a", "a"], 1.0),
        # Ids: texts, whole numbers as text, objects with an id.
        ("recall", None, [1, "2"], ["1", 2], 1.0),
        ("recall", None, [{"id": "a", "score": 0.9}, {"id": 7}], ["a", 7], 1.0),
        # A grade of 0 or less is not relevant.
        ("recall", None, ["a"], {"a": 1, "b": 0, "c": -1}, 1.0),
    ],
)
def test_rank__table(type_: str, k: int | None, output: Any, expected: Any, value: float) -> None:
    assert said(answer(type_, output, expected, k=k)) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("type_", ["recall", "precision", "mrr", "ndcg"])
@pytest.mark.parametrize(
    ("output", "expected", "said_"),
    [
        (["a"], [], "not-applicable"),
        (["a"], {}, "not-applicable"),
        (["a"], {"a": 0}, "not-applicable"),
        (["a"], None, "no_expected"),
        (["a"], "a", "bad_expected"),
        (["a"], [None], "bad_expected"),
        (["a"], [True], "bad_expected"),
        (["a"], {"a": "3"}, "bad_expected"),
        (["a"], {"a": True}, "bad_expected"),
        (["a"], {"a": 1e300}, "bad_expected"),  # two of them would add up to infinity
        ("a", ["a"], "not_a_list"),
        ({"ids": ["a"]}, ["a"], "not_a_list"),
        (0, ["a"], "not_a_list"),
        (["a", None], ["a"], "no_id"),
        ([{"name": "a"}], ["a"], "no_id"),
        ([1.5], ["a"], "no_id"),
        ([True], ["a"], "no_id"),
    ],
)
def test_rank__unscored(type_: str, output: Any, expected: Any, said_: str) -> None:
    """B56, B65: what cannot be measured is never 0."""
    assert said(answer(type_, output, expected)) == said_


def test_rank__says_what_to_do() -> None:
    assert "Name the part that is the list with `input:`" in reason(
        answer("recall", {"ids": ["a"]}, ["a"])
    )
    assert reason(answer("recall", ["a", {"x": 1}], ["a"])).startswith(
        'entry 2 of the list, {"x": 1}'
    )


@settings(max_examples=100)
@example(ranked=["d0"], grades={"d0": 1}, k=1)
@example(ranked=["d1", "d0"], grades={"d0": 3, "d1": 0, "d2": 1}, k=10)
@given(
    ranked=st.lists(st.sampled_from(IDS), unique=True, min_size=1),
    grades=st.dictionaries(st.sampled_from(IDS), st.integers(0, 4), min_size=1),
    k=st.integers(1, 15),
)
def test_rank__agrees_with_ir_measures(ranked: list[str], grades: dict[str, int], k: int) -> None:
    if not any(grades.values()):
        grades[ranked[0]] = 1
    qrels = [ir_measures.Qrel("q", name, grade) for name, grade in grades.items()]
    run = [ir_measures.ScoredDoc("q", name, -float(rank)) for rank, name in enumerate(ranked)]
    theirs: dict[tuple[str, int | None], Any] = {
        ("recall", k): ir_measures.R @ k,
        ("precision", k): ir_measures.P @ k,
        ("precision", None): ir_measures.SetP,
        ("mrr", k): ir_measures.RR @ k,
        ("mrr", None): ir_measures.RR,
        ("ndcg", k): ir_measures.nDCG @ k,
        ("ndcg", None): ir_measures.nDCG,
    }
    found = ir_measures.calc_aggregate(list(theirs.values()), qrels, run)
    for (type_, depth), measure in theirs.items():
        ours = said(answer(type_, ranked, grades, k=depth))
        assert ours == pytest.approx(found[measure], abs=1e-9), (type_, depth)
