"""Runs over time: what a folder holds, what a plan keeps of it, and lines that join only what compares."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from releasecheck.canonical import dump_document, parse_json
from releasecheck.errors import Untrusted, UsageError
from releasecheck.model.history import MOST_POINTS, History, PastMetric, PastRun
from releasecheck.pipeline.history import find_runs, history_bytes, history_for, open_history
from releasecheck.pipeline.verify import verify
from releasecheck.scorecard.history_page import key_metrics
from releasecheck.scorecard.trend import chart, distinct
from tests.bundles import Made, decision, fake_world
from tests.several import answers, copied, run_in, weeks

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.scorecard.trend import Chart

MEAN = ("exact", "all", "mean")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six runs, to read only."""
    return weeks(tmp_path_factory.mktemp("weeks"))


def test_find_runs__at_any_depth_the_oldest_first(runs: Path) -> None:
    found = find_runs(runs)
    assert [one.path for one in found.kept] == [
        "w1/out", "w2/out", "w3/out", "w4/out", "deep/w5/out", "deep/w6/out",
    ]  # fmt: skip
    assert (found.copies, found.refused) == ((), ())
    third = found.kept[2].run
    assert (third.verdict, third.blocked_by, third.commit) == ("block", ("quality",), "c" * 40)
    assert found.kept[3].run.verdict == "blocked_missing"
    assert found.kept[0].run.judges != found.kept[4].run.judges


def test_find_runs__names_what_it_does_not_take(tmp_path: Path, runs: Path) -> None:
    """A damaged or open run is never left out in silence, nor taken."""
    source = runs / "w1" / "out"
    folder = tmp_path / "all"
    for name in ("whole", "again", "edited", "cut", "undecided", "newer", "plan"):
        shutil.copytree(source, folder / name)
    run_in(folder / "open", "2026-01-05", cases={**answers(3), "c3": "..."}, unique="9")
    (folder / "open" / "out" / "manifest.json").write_bytes(
        _edited(folder / "open" / "out" / "manifest.json", finalized_at=None)
    )
    edited = folder / "edited" / "scorecard.json"
    edited.write_bytes(_edited(edited, exit_code=2))
    (folder / "cut" / "manifest.json").write_bytes(b'{"schema": ')
    (folder / "undecided" / "manifest.json").unlink()
    newer = folder / "newer" / "manifest.json"
    newer.write_bytes(_edited(newer, schema="releasecheck/manifest@2"))
    shutil.rmtree(folder / "plan")
    shutil.copytree(source / "plan", folder / "plan")
    (folder / "failed").mkdir()
    (folder / "failed" / "failure.json").write_text("{}")
    (folder / "loop").symlink_to(folder)
    found = find_runs(folder)
    assert [one.path for one in found.kept] == ["again"]
    assert [(one.path, one.why) for one in found.copies] == [("whole", "the same run as again")]
    refused = {one.path: one.why for one in found.refused}
    assert set(refused) == {"open/out", "edited", "cut", "undecided", "newer", "failed", "loop"}
    assert "still open" in refused["open/out"]
    assert "vouches" in refused["edited"]
    assert "manifest.json" in refused["cut"]
    assert "manifest.json is not there" in refused["undecided"]
    assert "manifest@2" in refused["newer"]
    assert "failure.json" in refused["failed"]
    assert str(tmp_path) not in json.dumps(refused)


def _edited(path: Path, **changes: Any) -> bytes:
    return dump_document({**json.loads(path.read_bytes()), **changes})


def test_find_runs__a_later_revision_takes_the_place_of_an_earlier(
    tmp_path: Path, runs: Path
) -> None:
    out = runs / "w1" / "out"
    first = copied(out, tmp_path / "a", "rc-same", "2026-01-05")
    copied(out, tmp_path / "b", "rc-same", "2026-01-02")
    card = json.loads((first / "scorecard.json").read_bytes())
    card["revision"] = 2
    shutil.rmtree(first)
    source = tmp_path / "source"
    source.mkdir()
    (source / "scorecard.json").write_bytes(dump_document(card))
    shutil.copy(out / "manifest.json", source)
    copied(source, tmp_path / "a", "rc-same", "2026-01-05")
    shutil.rmtree(source)
    found = find_runs(tmp_path)
    assert [(one.path, one.run.revision) for one in found.kept] == [("a", 2)]
    assert [(one.path, one.why) for one in found.copies] == [("b", "revised in a")]


def test_find_runs__a_folder_that_is_not_there_is_no_empty_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        find_runs(tmp_path / "rusn")
    assert find_runs(tmp_path).kept == ()


# --- What a plan keeps --------------------------------------------------------------------------------


def test_history_for__keeps_the_latest_and_counts_the_rest(tmp_path: Path, runs: Path) -> None:
    out = runs / "w1" / "out"
    for at in range(MOST_POINTS + 2):
        copied(out, tmp_path / f"r{at}", f"rc-{at:02}", f"2026-{1 + at // 28:02}-{1 + at % 28:02}")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "scorecard.json").write_text("{}")
    kept = history_for("docs-search", tmp_path)
    assert kept.history is not None
    assert (len(kept.history.runs), kept.history.older) == (MOST_POINTS, 2)
    assert (kept.history.runs[0].run_id, kept.history.runs[-1].run_id) == ("rc-02", "rc-51")
    assert [one.path for one in kept.history.refused] == ["broken"]
    assert "broken: not drawn" in kept.notes[0]
    assert History.model_validate(parse_json(history_bytes(kept.history))) == kept.history
    other = history_for("another", tmp_path)
    assert other.history is None
    assert "no earlier run of another" in other.notes[0]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory, runs: Path) -> Path:
    """A run whose plan keeps the six."""
    made = Made(cases=answers(5, of=6), unique="7", edit=lambda asked: replace(asked, history=runs))
    return made.write(tmp_path_factory.mktemp("drawn"))


def test_history__decides_nothing_and_the_page_is_made_again_from_the_bundle(
    drawn: Path, tmp_path: Path
) -> None:
    """Issue 6: the trend follows from the bundle alone, and no digest of the plan covers it."""
    plain = Made(cases=answers(5, of=6), unique="7").write(tmp_path)
    assert decision(plain).plan_digest == decision(drawn).plan_digest
    assert decision(plain).verdict == decision(drawn).verdict
    page = (drawn / "scorecard.html").read_text("utf-8")
    assert 'aria-labelledby="trend"' in page
    assert 'aria-labelledby="trend"' not in (plain / "scorecard.html").read_text("utf-8")
    manifest = json.loads((drawn / "manifest.json").read_bytes())
    assert "plan/history.json" in manifest["files"]
    assert verify(drawn, fake_world(tmp_path)).differences == ()


def test_history__edited_afterwards_is_found(drawn: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(drawn, out)
    path = out / "plan" / "history.json"
    document = json.loads(path.read_bytes())
    document["runs"][0]["verdict"] = "block"
    path.write_bytes(dump_document(document))
    found = verify(out, fake_world(tmp_path)).differences
    assert any(line.startswith("plan/history.json: its digest") for line in found)
    assert any(line.startswith("scorecard.html: ") for line in found)
    path.write_bytes(b"[]")
    with pytest.raises(Untrusted, match=r"history.*damaged"):
        open_history(out / "plan")
    with pytest.raises(Untrusted, match=r"history.*damaged"):
        verify(out, fake_world(tmp_path))


def test_trend__says_which_runs_do_not_compare_with_this_one(drawn: Path) -> None:
    page = (drawn / "scorecard.html").read_text("utf-8")
    assert "6 of 6 earlier runs do not compare with this one" in page
    assert "1 for another judge)" in page
    assert "4 for other cases, 1 for another judge and other cases, 1 for another judge" in page


# --- Lines --------------------------------------------------------------------------------------------


def charts(runs: Path) -> Chart:
    return chart([one.run for one in find_runs(runs).kept], MEAN)


def test_chart__is_broken_where_runs_do_not_compare(runs: Path) -> None:
    found = charts(runs)
    assert [point.note for point in found.points] == [
        "", "", "", "only 3 of 4 scored", "another judge than the run before",
        "other cases than the run before",
    ]  # fmt: skip
    assert len(found.stretches) == 1
    assert len(found.stretches[0].line.split()) == 3
    assert found.stretches[0].band
    assert len(found.breaks) == 2
    assert "the line is broken 2 times" in found.words
    assert [point.word for point in found.points][2:4] == ["blocked", "scores missing"]


def past(at: int, judge: str, cases: str, value: float | None, n: int = 4) -> PastRun:
    metric = PastMetric(
        metric="exact", split="all", stat="mean", value=value,
        n_scored=0 if value is None else n, n_expected=4, ci_low=value, ci_high=value,
    )  # fmt: skip
    return PastRun(
        run_id=f"rc-{at}", suite="s", mode="full", at=f"2026-01-{at + 1:02}T00:00:00Z", verdict="pass",
        judges={"exact": "sha256:" + judge * 64}, cases_digest="sha256:" + cases * 64, metrics=(metric,),
    )  # fmt: skip


VALUES = st.none() | st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("cd"), VALUES, st.integers(3, 4)), min_size=1, max_size=12))  # fmt: skip
def test_chart__never_joins_what_does_not_compare(given_runs: list[Any]) -> None:
    """Whatever came in which order: a stretch is of one judge, one set of cases, all measured."""
    sequence = [past(at, *one) for at, one in enumerate(given_runs)]
    found = chart(sequence, MEAN)
    places = {str(point.x): at for at, point in enumerate(found.points)}
    for piece in found.stretches:
        members = [places[pair.partition(",")[0]] for pair in piece.line.split()]
        assert members == list(range(members[0], members[-1] + 1))
        assert len({given_runs[at][:2] for at in members}) == 1
        assert all(given_runs[at][2] is not None and given_runs[at][3] == 4 for at in members)
    for point in found.points:
        for height in (point.y, point.low, point.high):
            assert height is None or 0 <= height <= 170
    assert found.words.startswith("exact, mean in all: ")


def test_chart__of_this_run_marks_it_and_keeps_others_apart() -> None:
    sequence = [past(0, "a", "c", 0.5), past(1, "a", "c", 0.6), past(2, "b", "c", 0.7)]
    found = chart(sequence, MEAN, sequence[-1])
    assert [(point.now, point.apart) for point in found.points] == [
        (False, True), (False, True), (True, False),
    ]  # fmt: skip
    assert [piece.apart for piece in found.stretches] == [True]
    assert found.said[0].startswith("2 of 2 earlier runs do not compare")


def test_chart__what_nobody_measured_has_no_picture() -> None:
    found = chart([past(0, "a", "c", None)], MEAN)
    assert not found.measured
    assert found.words.endswith("none of them measured")
    huge = chart([past(0, "a", "c", 1.7e308), past(1, "a", "c", -1.7e308)], MEAN)
    assert (huge.ticks, huge.stretches) == ((), ())


def test_distinct__what_says_the_same_is_one_line(runs: Path) -> None:
    past_runs = [one.run for one in find_runs(runs).kept]
    found = distinct(chart(past_runs, key) for key in key_metrics(past_runs, ["exact"]))
    assert [(one.metric, one.what) for one in found] == [
        ("exact", "mean, pass_rate in all and main")
    ]
