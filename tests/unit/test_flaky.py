"""Flaky cases of a history: what changed by itself, what may have been changed, what is left out."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.canonical import digest_bytes
from releasecheck.config.nodes import plain
from releasecheck.config.reading import read_yaml
from releasecheck.errors import UsageError
from releasecheck.pipeline.baselines import read_baseline
from releasecheck.pipeline.flaky import find_flaky
from releasecheck.pipeline.flaky_report import Flaky, Report, yaml_text
from releasecheck.scorecard.escape import terminal_line
from tests.bundles import COMMIT, Made
from tests.e2e.forge import edit

if TYPE_CHECKING:
    from pathlib import Path

OTHER = "d" * 40


@dataclass
class History:
    """Runs of a suite with the cases `steady` and `odd`, made when asked."""

    folder: Path
    count: int = 0
    made: list[Path] = field(default_factory=list)

    def run(self, *odd: bool, commit: str | None = COMMIT, **given: Any) -> Path:
        """Runs in which `odd` passes or fails; the folder of the last one."""
        for passed in odd:
            self.count += 1
            cases = {"steady": "good", "odd": "good" if passed else "bad"}
            name = f"run-{self.count}"
            how: dict[str, Any] = {"cases": cases, "gates": GATES} | given
            out = Made(unique=f"n{self.count}", commit=commit, **how).write(self.folder / name)
            self.made.append(out)
        return self.made[-1]

    def report(self, min_runs: int = 2) -> Report:
        """What they come to."""
        return find_flaky([self.folder], min_runs)


GATES: list[dict[str, Any]] = [{"id": "quality", "metric": "exact", "min": 0.1}]


@pytest.fixture
def history(tmp_path: Path) -> History:
    """No runs yet."""
    return History(tmp_path)


def only(report: Report) -> Flaky:
    """The one unstable case."""
    assert [one.case for one in report.cases] == ["odd"]
    return report.cases[0]


def test_find_flaky__same_target_and_commit_is_flaky(history: History) -> None:
    history.run(True, False, True)
    report = history.report()
    found = only(report)
    assert (found.kind, found.runs, found.passes) == ("flaky", 3, 2)
    assert (found.flips_same_commit, found.flips_other_commit) == (2, 0)
    assert (report.comparable, report.judged, report.exit_code) == (3, 2, 0)
    assert [passed for _, passed in found.verdicts] == [True, False, True]


def test_find_flaky__same_target_at_another_commit_is_suspicious(history: History) -> None:
    """The code may have changed: nobody can say that the case did so by itself."""
    history.run(True)
    history.run(False, commit=OTHER)
    found = only(history.report())
    assert (found.kind, found.flips_same_commit, found.flips_other_commit) == ("suspicious", 0, 1)
    assert list(history.report().quarantine()) == []


def test_find_flaky__an_unknown_commit_is_never_the_same_as_another_one(history: History) -> None:
    history.run(True, False, commit=None)
    found = only(history.report())
    assert (found.kind, found.flips_same_commit, found.flips_other_commit) == ("suspicious", 0, 1)


def test_find_flaky__another_target_is_compared_with_nothing(history: History) -> None:
    history.run(True)
    other = {"target": {"id": "t", "type": "http", "url": "http://127.0.0.1:9/other"}}
    history.run(False, extra=other)
    report = history.report()
    assert (report.cases, report.comparable, report.exit_code) == ((), 0, 2)
    assert "nothing can be said" in next(report.lines())


def test_find_flaky__another_judge_is_compared_with_nothing(history: History) -> None:
    history.run(True)
    history.run(False, extra={"judges": [{"id": "exact", "type": "exact", "normalize": ["strip"]}]})
    assert (history.report().cases, history.report().exit_code) == ((), 2)


def test_find_flaky__without_a_flip_nothing_is_flaky(history: History) -> None:
    history.run(False, False)
    report = history.report()
    assert (report.cases, report.exit_code) == ((), 0)
    assert next(report.lines()).startswith("no case is flaky")


def test_find_flaky__one_run_says_nothing(history: History) -> None:
    history.run(True)
    assert history.report().exit_code == 2


def test_find_flaky__min_runs_is_the_least_that_is_followed(history: History) -> None:
    history.run(True, False)
    assert history.report(3).cases == ()
    assert history.report(3).exit_code == 2
    history.run(True)
    assert only(history.report(3)).flips_same_commit == 2


def test_find_flaky__a_run_counts_once(history: History) -> None:
    """A promoted copy of a run agrees with it, which shows nothing."""
    out = history.run(True)
    shutil.copytree(out, history.folder / "a-copy")
    report = history.report()
    assert report.exit_code == 2
    assert ["counts once" in left.why for left in report.left_out] == [True]


def edited(out: Path, manifest: dict[str, Any], card: dict[str, Any] | None = None) -> None:
    """A bundle whose manifest and scorecard say something else, and still belong together."""
    if card is not None:
        edit(out / "scorecard.json", lambda found: found.update(card))
        digest = digest_bytes((out / "scorecard.json").read_bytes())
        edit(out / "manifest.json", lambda found: found["files"].update({"scorecard.json": digest}))
    edit(out / "manifest.json", lambda found: found.update(manifest))


def test_find_flaky__a_commit_with_changes_on_top_is_unknown(history: History) -> None:
    history.run(True)
    edited(history.run(False), {"context": {"commit": COMMIT, "dirty": True}})
    assert only(history.report()).kind == "suspicious"


def test_find_flaky__what_a_retry_carries_on_counts_once(history: History) -> None:
    """A retry repeats the answers of the run before it: no evidence that they are stable, or not."""
    history.run(True, True)
    first, second = (read_baseline(out, "").manifest.run_id for out in history.made)
    edited(history.made[1], {"retry_of": first})
    report = history.report()
    assert (report.runs, report.exit_code) == ((second,), 2)
    assert [f"carried on in {second}" in left.why for left in report.left_out] == [True]


def test_find_flaky__answers_of_several_versions_are_left_out(history: History) -> None:
    history.run(True)
    edited(history.run(False), {}, {"code_changed": ["app.py"]})
    assert history.report().cases == ()
    assert ["several versions" in left.why for left in history.report().left_out] == [True]


def test_find_flaky__a_judge_that_missed_sentinels_says_nothing(history: History) -> None:
    history.run(True)
    seen = {"judge": "exact", "shown": 2, "held": 1, "missed": ["s"], "unscored": 0}
    edited(history.run(False), {}, {"sentinels": [seen]})
    assert history.report().cases == ()
    assert ["did not prove itself" in left.why for left in history.report().left_out] == [True]


def test_find_flaky__names_what_it_leaves_out(history: History) -> None:
    """Missing and broken are never silent."""
    history.run(True, False)
    history.run(True, cases={"steady": "...", "odd": "good"})
    broken = history.run(True)
    (broken / "results.jsonl").write_bytes(b"{}\n")
    report = history.report()
    assert len(report.runs) == 2
    why = {left.path.rpartition("/run-")[2]: left.why for left in report.left_out}
    assert why.keys() == {"3/out", "4/out"}
    assert "not finalized" in why["3/out"]
    assert "results.jsonl" in why["4/out"]
    assert all(left.path in "\n".join(report.lines()) for left in report.left_out)


def test_find_flaky__a_folder_without_runs_is_named(tmp_path: Path) -> None:
    report = find_flaky([tmp_path], 2)
    assert [left.why for left in report.left_out] == ["there is no run in it"]


def test_find_flaky__a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        find_flaky([tmp_path / "runs"], 2)


def test_find_flaky__the_baseline_in_a_bundle_is_no_run_of_its_own(history: History) -> None:
    first = history.run(True)
    history.run(False, baseline=first)
    assert len(history.report().runs) == 2
    assert history.report().left_out == ()


def test_quarantine__is_refused_until_somebody_filled_it_in(history: History) -> None:
    """No owner, reason or end is made up; the names are those of the case and the judge."""
    history.run(True, False)
    node, problems = read_yaml("\n".join(history.report().quarantine()), "page")
    assert problems == []
    assert plain(node) == {
        "quarantine": [
            {"case": "odd", "judge": "exact", "owner": None, "reason": None, "until": None}
        ]
    }


@pytest.mark.parametrize(
    "name",
    [
        'with "quotes" and \\ backslash',
        "colon: and # hash",
        "::error::not a command",
        "##[group]no",
        "yes",
        "- a list",
        "ünï 日本 \U0001f600",
        "right\u202eto left\u200b",
        "{a: b}",
        "line\u2028separator",
    ],
)
def test_yaml_text__survives_terminal_and_reader(name: str) -> None:
    """G-25: untrusted ids, quoted so that what a terminal shows is what YAML reads."""
    line = f"  - case: {yaml_text(name)}"
    assert terminal_line(line) == line
    node, problems = read_yaml(line, "page")
    assert problems == []
    assert plain(node) == [{"case": name}]


def test_lines__never_write_an_id_raw(history: History) -> None:
    cases: dict[str, Any] = {"\u202eevil": "good"}
    history.run(True, cases=cases)
    history.run(True, cases={"\u202eevil": "bad"}, gates=[{"id": "q", "metric": "exact", "max": 1}])
    text = "\n".join(history.report().lines())
    assert "evil" in text
    assert "\u202e" not in text


def test_order__puts_the_least_stable_first() -> None:
    def one(case: str, same: int, other: int, runs: int = 8) -> Flaky:
        return Flaky(case, "d", "j", "e", runs, 1, same, other, 0, "2026", "r", ())

    found = [one("a", 0, 7), one("b", 1, 0), one("c", 3, 0), one("d", 3, 0, 4), one("e", 3, 1)]
    assert [x.case for x in sorted(found, key=lambda x: x.order)] == ["d", "e", "c", "b", "a"]
