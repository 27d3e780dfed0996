"""`recall`, `precision`, `mrr`, `ndcg`: a ranked list of ids against the relevant ones.

Defined as ir-measures and trec_eval define R@k, P@k, RR@k and nDCG@k, with linear gain; the tests
compare with them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from releasecheck.judges.outcome import ImmediateJudge, cannot, kind, no_expected, shown
from releasecheck.model.score import JudgeFailed, NotApplicable, Scored

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from releasecheck.canonical import Json
    from releasecheck.model.judge import RankJudge
    from releasecheck.model.score import JudgeAnswer
    from releasecheck.ports import JudgeCase

_WANTED: Final = "a list of relevant ids, or an object of ids with grades"


class Rank(ImmediateJudge):
    """Scores the order of a list of ids, or of objects with an `id`."""

    def __init__(self, spec: RankJudge) -> None:
        self._measure = _MEASURES[spec.type]
        self._k = spec.k

    @override
    def score(self, output: Json, case: JudgeCase) -> JudgeAnswer:
        grades = relevant_ids(case.expected)
        if grades is None:
            return no_expected(case.expected, _WANTED)
        if not grades:
            return NotApplicable("no id is relevant to this case")
        ranked = _ranked_ids(output)
        if isinstance(ranked, JudgeFailed):
            return ranked
        return Scored(self._measure(ranked[: self._k], grades, self._k))


def relevant_ids(expected: Json) -> dict[str, float] | None:
    """Grade by relevant id (a grade of 0 or less is not relevant); None when it is neither shape."""
    if isinstance(expected, list):
        ids = [_as_id(item) for item in expected]
        return {name: 1.0 for name in ids if name is not None} if None not in ids else None
    if isinstance(expected, dict) and all(_is_grade(grade) for grade in expected.values()):
        return {name: float(grade) for name, grade in expected.items() if grade > 0}
    return None


def _ranked_ids(output: Json) -> list[str] | JudgeFailed:
    if not isinstance(output, list):
        message = (
            f"the output is {kind(output)}; expected a ranked list of ids, or of objects with an `id`. "
            "Name the part that is the list with `input:`"
        )
        return cannot("not_a_list", message)
    ranked: dict[str, None] = {}
    for place, item in enumerate(output, start=1):
        name = _as_id(item.get("id") if isinstance(item, dict) else item)
        if name is None:
            return cannot("no_id", f"entry {place} of the list, {shown(item)}, has no id")
        # An id that comes again counts where it came first, and takes no second place.
        ranked.setdefault(name)
    return list(ranked)


def _as_id(item: Json) -> str | None:
    if isinstance(item, str):
        return item
    return str(item) if isinstance(item, int) and not isinstance(item, bool) else None


def _is_grade(grade: Json) -> bool:
    # The bound keeps sums of gains finite.
    return isinstance(grade, int | float) and not isinstance(grade, bool) and abs(grade) <= 1e9


def _recall(ranked: Sequence[str], grades: Mapping[str, float], _k: int | None) -> float:
    return sum(name in grades for name in ranked) / len(grades)


def _precision(ranked: Sequence[str], grades: Mapping[str, float], k: int | None) -> float:
    # A list shorter than k does not raise precision; without k an empty list has found nothing.
    places = k or len(ranked)
    return sum(name in grades for name in ranked) / places if places else 0.0


def _mrr(ranked: Sequence[str], grades: Mapping[str, float], _k: int | None) -> float:
    return next((1 / rank for rank, name in enumerate(ranked, start=1) if name in grades), 0.0)


def _ndcg(ranked: Sequence[str], grades: Mapping[str, float], k: int | None) -> float:
    ideal = sorted(grades.values(), reverse=True)[:k]
    return _gain([grades.get(name, 0.0) for name in ranked]) / _gain(ideal)


def _gain(grades: Sequence[float]) -> float:
    return math.fsum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


_MEASURES: Final[
    Mapping[str, Callable[[Sequence[str], Mapping[str, float], int | None], float]]
] = {"recall": _recall, "precision": _precision, "mrr": _mrr, "ndcg": _ndcg}
