"""Runs side by side: a difference is one of the same cases under the same judge, or there is none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.errors import UsageError
from releasecheck.pipeline.comparing import compare, compare_all
from releasecheck.scorecard.side_by_side import label_of
from tests.several import STRICT, answers, run_in, weeks

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.scorecard.side_by_side import Comparison, MetricDifference


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six runs, to read only."""
    return weeks(tmp_path_factory.mktemp("weeks"))


def mean(found: Comparison) -> MetricDifference:
    return next(
        one
        for one in found.metrics
        if (one.some.metric, one.some.split, one.some.stat) == ("exact", "all", "mean")
    )


def test_compare__the_same_cases_and_judge_have_a_difference(runs: Path) -> None:
    found = compare(runs / "w1" / "out", runs / "w3" / "out")
    assert (mean(found).delta, mean(found).over, mean(found).why) == (-0.5, None, "")
    assert mean(found).around is not None
    assert found.flips["exact"].new_failures == ("c2", "c3")
    document = found.to_json()
    assert set(document) >= {
        "base",
        "candidate",
        "metrics",
        "flips",
        "cases",
        "judges_changed",
        "models",
    }
    assert json.loads(json.dumps(document))["flips"]["exact"]["new_passes"] == []


def test_compare__a_percentile_of_some_cases_says_how_many(runs: Path) -> None:
    """A run in which a call failed has latencies, so that it is not for want of any that there is no difference."""
    found = compare(runs / "w2" / "out", runs / "w4" / "out")
    p50 = next(one for one in found.metrics if one.some.stat == "p50")
    assert (p50.delta, p50.why) == (None, "3 of 4 measured in the candidate")


@pytest.mark.parametrize(
    ("base", "candidate", "why"),
    [
        ("w2", "deep/w5", "another judge"),
        ("w2", "w4", "3 of 4 scored in the candidate"),
        ("w4", "w2", "3 of 4 scored in the base"),
    ],
)
def test_compare__what_does_not_compare_has_none(
    runs: Path, base: str, candidate: str, why: str
) -> None:
    """Never a number where the reason is that there is none."""
    found = compare(runs / base / "out", runs / candidate / "out")
    one = mean(found)
    assert (one.delta, one.around, one.why) == (None, None, why)
    assert one.to_json()["why"] == why


def test_compare__changed_cases_are_left_out_of_the_difference(tmp_path: Path, runs: Path) -> None:
    """c4 and c5 are new and all that got worse; of the four in common one more passes."""
    new = run_in(
        tmp_path / "new", "2026-03-01",
        cases={**answers(4), "c4": "bad", "c5": "bad"}, unique="8",
    )  # fmt: skip
    found = compare(runs / "w2" / "out", new)
    one = mean(found)
    assert one.base is not None
    assert one.candidate is not None
    assert one.candidate.value is not None
    assert one.base.value == 0.75
    assert one.candidate.value < 0.75
    assert (one.delta, one.over, one.base_over, one.candidate_over) == (0.25, 4, 0.75, 1.0)
    assert any("4 in common, 0 changed, 2 added" in line for line in found.said())


def test_compare__nothing_in_common(tmp_path: Path, runs: Path) -> None:
    other = run_in(tmp_path / "x", "2026-03-01", cases={"z1": "good", "z2": "good"}, unique="8")
    found = compare(runs / "w1" / "out", other)
    assert (mean(found).delta, mean(found).why) == (None, "no case in common")


def test_compare_all__every_run_against_the_first(runs: Path) -> None:
    paths = [runs / name / "out" for name in ("w1", "w3", "deep/w5")]
    found = compare_all(paths)
    assert [run.label for run in found.runs] == ["A", "B", "C"]
    assert [pair.candidate for pair in found.pairs] == [run.run_id for run in found.runs[1:]]
    cells = {row.case: [(cell.seen, cell.why) for cell in row.cells] for row in found.cases.rows}
    assert cells["c3"] == [("pass", ""), ("fail", ""), ("fail", "another judge")]
    assert cells["c2"] == [("pass", ""), ("fail", ""), ("pass", "another judge")]
    # Alike, but the third says so under another judge.
    assert cells["c0"] == [("pass", ""), ("pass", ""), ("pass", "another judge")]
    assert [row.case for row in found.cases.rows if row.flipped] == ["c2", "c3"]
    assert found.cases.passing == 0
    document = found.to_json()
    assert len(document["pairs"]) == 2
    assert document["candidate"] == found.runs[1].run_id
    assert "pairs" not in compare_all(paths[:2]).to_json()
    assert compare_all(paths[:2]).cases.passing == 2


def test_compare_all__cases_that_are_not_everywhere(runs: Path) -> None:
    found = compare_all([runs / "deep" / "w6" / "out", runs / "deep" / "w5" / "out"])
    cells: dict[str, Any] = {row.case: row.cells for row in found.cases.rows}
    assert (cells["c4"][1].seen, cells["c4"][1].why) == ("absent", "no such case")
    unscored = compare_all([runs / "w1" / "out", runs / "w4" / "out"])
    (row,) = unscored.cases.rows
    assert ([cell.seen for cell in row.cells], row.flipped) == (["pass", "no score"], False)


def test_compare_all__needs_two(runs: Path) -> None:
    with pytest.raises(UsageError, match="two to"):
        compare_all([runs / "w1" / "out"])


def test_compare__says_what_else_to_know(tmp_path: Path, runs: Path) -> None:
    part = run_in(tmp_path / "p", "2026-03-01", preview=2, unique="8", extra=STRICT)
    said = " ".join(compare(runs / "w1" / "out", part).said())
    assert "is a preview run over a part of the cases" in said
    assert "judge exact changed" in said
    assert "both are run" in " ".join(compare(part, part).said())


def test_label_of__goes_on_after_z() -> None:
    assert [label_of(at) for at in (0, 25, 26, 52)] == ["A", "Z", "A2", "A3"]
