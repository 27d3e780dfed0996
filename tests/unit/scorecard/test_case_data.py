"""The data of a page: every case once, nothing that ends a script element, bounded."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.scorecard.case_data import CaseData
from releasecheck.scorecard.cases import Lengths, Tally, select
from releasecheck.scorecard.escape import visible
from releasecheck.scorecard.explorer import HELD, lengths
from tests.unit.scorecard import samples
from tests.unit.scorecard.faults import ALL
from tests.unit.scorecard.samples import case, row, scored

if TYPE_CHECKING:
    from releasecheck.scorecard.report import Report

SHORT = Lengths(text=200, reason=200, lines=True)


def records(report: Report, held: int = 1000) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    selection = select(report, 3, SHORT, held)
    *blocks, names = (json.loads(str(text)) for text in CaseData(report, selection, SHORT).blocks())
    return [record for block in blocks for record in block], names


def test_blocks__hold_the_worst_in_plan_order_and_count_the_rest() -> None:
    """B104: what is in the data and what is beyond it are all; the worst are never beyond."""
    views = [row(case(i), scores={"exact": scored(float(i % 4 != 0))}) for i in range(600)]
    report = samples.sample(views).report
    found, names = records(report, held=400)
    assert [one["n"] for one in found] == sorted(one["n"] for one in found)
    failed = [one for one in found if names["kinds"][one["k"]][0] == "failed"]
    assert len(failed) == 150
    assert sorted(one["r"] for one in failed) == list(range(150))
    assert sorted(one["r"] for one in found) == list(range(400))
    assert select(report, 3, SHORT, 400).beyond == Tally(200, 200, 200)
    assert select(report, 3, SHORT, 1000).beyond == Tally()
    assert records(samples.sample([]).report)[0] == []


def test_blocks__hostile_texts_stay_inside() -> None:
    """G-25: no character that HTML, or a reader's eye, would take for something else."""
    sample = samples.hostile(ALL)
    selection = select(sample.report, 3, SHORT, 1000)
    for block in CaseData(sample.report, selection, SHORT).blocks():
        assert not set(block) & set("<>&\u2028\u2029")
        assert visible(block) == block


def test_blocks__long_texts_are_cut_and_said_to_be() -> None:
    of = case(0, input="é" * 5000, expected={"deep": ["x" * 5000]})
    view = row(of, "y" * 5000, {"exact": scored(0.0, "r" * 5000)})
    (found,), _ = records(samples.sample([view]).report)
    assert found["q"][:2] == ["é" * 200, 4800]
    assert found["q"][2].startswith("sha256:")
    assert found["e"][0].startswith('{\n  "deep"')
    assert found["o"][0]["a"][1] == 4800
    assert found["o"][0]["c"][0][3][1] == 4800


def test_blocks__the_baselines_answer_and_that_it_is_not_stored() -> None:
    old = [
        row(case(i, id="old" if i == 0 else f"q{i + 1:03}"), None if i else "then").row
        for i in range(2)
    ]
    used = samples.baseline_used(cases={"same": 2, "renamed": [["old", "q001"]]})
    sample = samples.sample([row(case(0), "now"), row(case(1))], before=old, baseline=used)
    (first, second), names = records(sample.report)
    assert (first["b"]["i"], first["b"]["a"]) == ("old", "then")
    assert second["b"]["x"] == "The answer is not stored."
    assert "i" not in second["b"]
    assert names["relations"][first["o"][0]["b"][0]][0] == "differs"


@pytest.mark.parametrize(
    ("cases", "trials", "text", "reason"),
    [(0, 1, 4000, 600), (1_500, 1, 4000, 600), (20_000, 1, 300, 200), (20_000, 5, 200, 200),
     (HELD, 1, 200, 200), (10**6, 1, 200, 200)],
)  # fmt: skip
def test_lengths__depend_on_the_number_of_cases_only(
    cases: int, trials: int, text: int, reason: int
) -> None:
    assert lengths(cases, trials) == Lengths(text, reason, lines=True)
