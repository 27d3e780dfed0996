"""Which cases a report shows, and in which order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from releasecheck.model.failure import Failure
from releasecheck.model.results import RowScore, RowView
from releasecheck.scorecard.cases import KINDS, Kind, Tally, select
from releasecheck.scorecard.texts import as_text, cut, shorten
from tests.unit.scorecard import samples
from tests.unit.scorecard.samples import case, row, scored

DOWN = Failure("target", "target", "timeout", True, "no answer")
FLIPS = {"exact": {"new_failures": ["q001"], "new_passes": ["q002"]}}


@pytest.mark.parametrize(
    ("scores", "changes", "kind"),
    [
        ({"exact": scored(0.0)}, {}, "failed"),
        ({"exact": scored(1.0)}, {}, "passed"),
        ({"top5": scored(0.1)}, {}, "measured"),
        ({"exact": RowScore("failed", None, "exit_code: 1")}, {}, "unjudged"),
        ({"exact": RowScore("failed", None, "target_failed")}, {"failure": DOWN, "output": None}, "unanswered"),
        ({"exact": RowScore("missing", None, "deadline")}, {}, "missing"),
        ({"exact": RowScore("pending", None, None)}, {}, "missing"),
        ({"exact": RowScore("not-applicable", None, "when")}, {}, "outside"),
        ({"exact": scored(0.0), "top5": RowScore("missing", None, None)}, {}, "failed"),
        ({"exact": scored(1.0), "top5": RowScore("failed", None, None)}, {}, "unjudged"),
    ],
)  # fmt: skip
def test_select__kinds(scores: dict[str, RowScore], changes: dict[str, Any], kind: Kind) -> None:
    found = select(samples.sample([row(case(5), scores=scores, **changes)]).report, 10)
    assert [view.kind for view in found.shown] == [kind]
    assert found.kinds == {kind: 1}


def test_select__flips_come_from_the_scorecard() -> None:
    views = [row(case(0), scores={"exact": scored(0.0)}), row(case(1))]
    found = select(samples.sample(views, flips=FLIPS).report, 10)
    assert [view.kind for view in found.shown] == ["new-failure", "new-pass"]
    assert found.attention == 1
    assert found.shown[1].flips == ("exact: failed in the baseline, passes now",)


def test_select__worst_value_first_in_the_judges_direction() -> None:
    judges = [{"id": "errors", "type": "similarity", "better": "lower"}]
    values = [0.2, 0.9, 0.5]
    views = [row(case(i), scores={"errors": scored(v)}) for i, v in enumerate(values)]
    found = select(samples.sample(views, samples.plan(judges)).report, 10)
    assert [view.id for view in found.shown] == ["q002", "q003", "q001"]


def test_select__trials_that_differ_are_mixed_and_the_failing_one_is_the_worst() -> None:
    of = case(0)
    views = [row(of, f"a{t}", {"exact": scored(float(t != 2))}, trial=t) for t in range(3)]
    view = select(samples.sample(views).report, 10).shown[0]
    assert view.kind == "mixed"
    assert view.worst.number == 2
    assert [trial.number for trial in view.trials] == [0, 1, 2]
    assert view.tally == Tally(1, 3, 3, 0, 0, 0, 0)


def test_select__a_case_without_any_pass_is_failed_whatever_other_trials_lack() -> None:
    of = case(0)
    views = [
        row(of, scores={"exact": scored(0.0)}, trial=0),
        row(of, scores={"exact": RowScore("missing", None, None)}, trial=1),
    ]
    assert select(samples.sample(views).report, 10).shown[0].kind == "failed"


def test_select__the_baselines_answer_of_a_renamed_case() -> None:
    views = [row(case(0))]
    old = row(case(0, id="old"), "then", {"exact": scored(0.0)}).row
    other_trial = row(case(0, id="old"), "second", trial=1).row
    cases = {"same": 1, "renamed": [["old", "q001"]]}
    sample = samples.sample(
        views, before=[old, other_trial], baseline=samples.baseline_used(cases=cases)
    )
    before = select(sample.report, 10).shown[0].before
    assert before is not None
    assert before.answer is not None
    assert (before.id, before.answer.text, before.cells["exact"].word) == ("old", "then", "fail")


STATES = st.sampled_from(
    [scored(0.0), scored(1.0), *(RowScore(s, None, None) for s in ("failed", "missing", "pending", "not-applicable"))]
)  # fmt: skip


@given(st.lists(st.tuples(STATES, STATES), max_size=30), st.integers(0, 40))
def test_select__shown_and_left_out_are_all(
    pairs: list[tuple[RowScore, RowScore]], limit: int
) -> None:
    """B104: nothing is lost between what is shown and what is counted, and better never comes first."""
    views = [
        row(case(i), scores={"exact": first, "top5": second})
        for i, (first, second) in enumerate(pairs)
    ]
    sample = samples.sample(views)
    found = select(sample.report, limit)
    assert len(found.shown) == min(limit, len(views))
    total = found.left_out
    for view in found.shown:
        total += view.tally
    assert total == found.total
    counts = sample.report.scorecard.counts
    assert (total.cases, total.trials, total.scored, total.failed) == (
        counts.cases, counts.trials, counts.scored, counts.failed,
    )  # fmt: skip
    places = [list(KINDS).index(view.kind) for view in found.shown]
    assert places == sorted(places)
    everything = select(sample.report, 1000).shown
    assert found.shown == everything[:limit]


def test_select__cuts_what_it_keeps() -> None:
    reason = scored(0.0, "r" * 5000)
    of = case(0, input="i" * 5000, tags=("t" * 500,) * 30)
    view: RowView = row(of, {"deep": ["o" * 5000]}, {"exact": reason})
    found = select(samples.sample([view]).report, 10, 1000).shown[0]
    assert (len(found.input.text), found.input.more) == (1000, 4000)
    assert found.trials[0].answer is not None
    assert found.trials[0].answer.more > 4000
    assert (len(found.trials[0].cells[0].reason.text), found.trials[0].cells[0].reason.more) == (
        600,
        4400,
    )
    assert len(found.tags) == 20
    assert len(found.tags[0]) == 200


def test_cut__says_what_the_whole_was() -> None:
    part = cut("é" * 20, 10)
    assert (part.text, part.more) == ("é" * 10, 10)
    assert part.digest.startswith("sha256:")
    assert cut("short", 10).digest == ""
    assert cut("\ud800" * 20, 10).more == 10


def test_shorten() -> None:
    assert (shorten("abc", 3), shorten("abcd", 3)) == ("abc", "ab…")


@pytest.mark.parametrize(
    ("value", "text"),
    [("as is", "as is"), (True, "true"), (None, "null"), (1.5, "1.5"), ({"a": [1]}, '{"a": [1]}'),
     (["x" * 90], '[\n  "' + "x" * 90 + '"\n]')],
)  # fmt: skip
def test_as_text(value: object, text: str) -> None:
    assert as_text(value) == text
