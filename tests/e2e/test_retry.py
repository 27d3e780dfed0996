"""`retry`: a new run that carries what succeeded and redoes what failed (X-05, X-06, G-18 to G-20)."""

from __future__ import annotations

import shutil
import signal
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.deferring import HASTEN, slow
from tests.e2e.forge import edit, seal
from tests.e2e.suites import (
    CONFIG,
    Answers,
    Suite,
    document,
    files_below,
    http_suite,
    ledger,
    lines,
    noted,
    python_suite,
    scorecard,
    timeless_results,
)
from tests.judgeserver import JudgeServer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.program import Done, Program

KILLED = -signal.SIGKILL
SIDE = {"id": "side", "type": "http"}
"""A judge that answers at once, where the suite's own judge is local."""


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, lock files aside."""
    return {str(path): path.read_bytes() for path in files_below(folder) if path.name != ".lock"}


def broken(
    folder: Path, program: Program, answers: Answers, judge: JudgeServer, **changes: Any
) -> Suite:
    """A run of four cases: one call of the target failed, one score of a judge, both for good."""

    def refuse(asked: Any) -> Any:
        if asked["case"]["id"] == "c2":
            return {"state": "failed", "reason": "out of order"}
        return {"value": asked["output"] == asked["case"]["expected"]}

    judge.after, judge.score = 0, refuse
    answers.status = {"q1": 422}
    suite = http_suite(
        folder,
        answers,
        4,
        **{
            "shards": 2,
            "judges": [{"id": "exact", "type": "exact"}, {**SIDE, "url": judge.url}],
            "gates": [
                {"id": "quality", "metric": "exact", "min": 0.5},
                {"id": "sides", "metric": "side", "min": 0.5},
            ],
        }
        | changes,
    )
    done = program("run", CONFIG, cwd=folder)
    assert done.code == 2, done
    # By the time of the retry both are well again.
    answers.status, answers.asked = {}, []
    judge.score = lambda asked: {"value": asked["output"] == asked["case"]["expected"]}
    judge.asked.clear()
    return suite


def verified(program: Program, out: Path) -> Done:
    """Assert that a bundle verifies."""
    done = program("verify", out, cwd=out.parent)
    assert done.code == 0, done
    return done


def judged(judge: JudgeServer) -> Counter[str]:
    """Case -> how often it was asked about."""
    return Counter(asked["case"]["id"] for asked in judge.asked)


def test_retry__redoes_what_failed_and_carries_the_rest(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """X-05, G-19, G-20: a new run under the same plan digest; the source is not touched."""
    with JudgeServer() as judge:
        suite = broken(tmp_path / "suite", program, answers, judge)
        before = contents(suite.out)
        done = program("retry", "out", cwd=suite.folder)
    out = suite.folder / "out-retry"
    assert done.code == 0, done
    assert "retry of out in out-retry" in done.err
    assert contents(suite.out) == before
    card, old = scorecard(out), scorecard(suite.out)
    assert (card["verdict"], card["counts"]["scored"]) == ("pass", 8)
    assert (card["plan_digest"], card["retry_of"]) == (old["plan_digest"], old["run_id"])
    assert card["run_id"] != old["run_id"]
    plan, manifest = document(out / "plan" / "plan.json"), document(out / "manifest.json")
    assert (plan["retry_of"], manifest["retry_of"]) == (old["run_id"], old["run_id"])
    # Only what failed was asked for, under the key of the new run.
    assert [asked.key.strip('"') for asked in answers.asked] == [f"{card['run_id']}:c1#t0"]
    assert judged(judge) == {"c1": 1, "c2": 1}
    rows = [row for row in ledger(out / "results") if row["record"] in ("output", "score")]
    carried = {row["case"] for row in rows if row.get("carried_from") == old["run_id"]}
    assert carried == {"c0", "c2", "c3"}
    own = [(row["record"], row["case"]) for row in rows if "carried_from" not in row]
    assert sorted(own) == [("output", "c1"), ("score", "c1"), ("score", "c1"), ("score", "c2")]
    assert "retry of" in (out / "summary.md").read_text("utf-8")
    verified(program, out)
    assert program("baseline", "promote", "out-retry", "--to", "base", cwd=suite.folder).code == 0


@pytest.mark.parametrize(
    ("classes", "asked", "side"),
    [("target", ["q1"], {"c1": 1}), ("judge", [], {"c2": 1})],
    ids=["target", "judge"],
)
def test_retry__only_of_a_class(
    classes: str,
    asked: list[str],
    side: dict[str, int],
    tmp_path: Path,
    program: Program,
    answers: Answers,
) -> None:
    """X-05: other failures are carried as they are, and nobody mends them any more."""
    with JudgeServer() as judge:
        suite = broken(tmp_path / "suite", program, answers, judge)
        done = program("retry", "out", "--class", classes, cwd=suite.folder)
        out = suite.folder / "out-retry"
        assert done.code == 2, done
        assert [one.question for one in answers.asked] == asked
        assert judged(judge) == side
    card = scorecard(out)
    assert document(out / "manifest.json")["finalized_at"] is not None
    assert card["counts"]["failed"] == (1 if classes == "target" else 2)
    assert f"({classes})" in " ".join(card["notices"])
    verified(program, out)


def test_retry__refused_where_there_is_nothing_to_build_on(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """X-05, X-06: open runs are carried on, and what is superseded, edited or whole is left alone."""
    with JudgeServer() as judge:
        suite = broken(tmp_path / "suite", program, answers, judge)
        here = suite.folder
        assert program("retry", "nowhere", cwd=here).code == 3
        assert program("retry", "out", "--class", "weather", cwd=here).code == 3
        again = program("retry", "out", "--class", "infra", cwd=here)
        assert (again.code, "nothing in it failed" in again.err) == (3, True), again
        assert not (here / "out-retry").exists()
        (here / "taken").mkdir()
        (here / "taken" / "notes.txt").write_text("mine", encoding="utf-8")
        for out in ("taken", "out"):
            assert program("retry", "out", "--out", out, cwd=here).code == 3
        assert [path.name for path in (here / "taken").iterdir()] == ["notes.txt"]

        shutil.copytree(suite.out, here / "edited")
        edit(here / "edited" / "scorecard.json", lambda card: card.update(verdict="pass"))
        assert program("retry", "edited", cwd=here).code == 4
        shutil.copytree(suite.out, here / "over")
        for name in ("manifest.json", "scorecard.json"):
            edit(here / "over" / name, lambda found: found.update(status="superseded"))
        seal(here / "over")
        over = program("retry", "over", cwd=here)
        assert (over.code, "superseded" in over.err) == (3, True), over
        shutil.copytree(suite.out, here / "open")
        (here / "open" / "manifest.json").unlink()
        still = program("retry", "open", cwd=here)
        assert (still.code, "releasecheck resume open" in still.err) == (3, True), still
        assert not answers.asked


@pytest.mark.parametrize(
    "exception",
    [
        {"waivers": [{"gate": "quality", "who": "a", "why": "b"}]},
        {"quarantine": [{"case": "c0", "owner": "a", "reason": "b"}]},
    ],
)
def test_retry__is_refused_once_an_exception_of_its_run_has_ended(
    exception: dict[str, list[dict[str, str]]], tmp_path: Path, program: Program, answers: Answers
) -> None:
    """G-30, X-24: a new run of a later day would be let through by what has ended by then."""
    (name, [said]) = next(iter(exception.items()))
    ends = datetime.fromtimestamp(tmp_path.stat().st_mtime, UTC) + timedelta(days=2)
    answers.wrong, answers.status = {"q0"}, {"q1": 422}
    suite = http_suite(
        tmp_path / "suite", answers, 4, gates=[{"id": "quality", "metric": "exact", "min": 1}],
        **{name: [said | {"until": f"{ends:%Y-%m-%d}"}]},
    )  # fmt: skip
    assert program("run", CONFIG, cwd=suite.folder).code == 2
    answers.status = {}
    later = program("retry", "out", cwd=suite.folder, fault={"hasten": True, "ahead_s": 345_600})
    assert (later.code, f"ended on {ends:%Y-%m-%d}" in later.err) == (3, True), later
    assert not (suite.folder / "out-retry").exists()
    done = program("retry", "out", cwd=suite.folder)
    assert done.code == 0, done


def test_retry__is_refused_when_target_or_judge_drifted(tmp_path: Path, program: Program) -> None:
    """G-18, G-20: named, before anything is called; and measured scores stay with their judge."""
    suite = python_suite(
        tmp_path / "suite",
        3,
        'if case["id"] == "c1" and not (HERE / "well").exists(): raise ValueError("no")\n'
        '    return case["input"].upper()',
        judges=[
            {"id": "exact", "type": "exact"},
            {"id": "own", "type": "python", "function": "rule:judge"},
        ],
        gates=[{"id": "own", "metric": "own", "min": 0.5}],
    )
    rule = 'def judge(ask):\n    return ask["output"] == ask["case"]["expected"]\n'
    (suite.folder / "rule.py").write_text(rule, encoding="utf-8")
    assert program("run", CONFIG, cwd=suite.folder).code == 2
    code = (suite.folder / "app.py").read_text("utf-8")
    for name, text, changed in (
        ("app.py", code, code + "\n# another version\n"),
        ("rule.py", rule, rule + "\n# another version\n"),
    ):
        (suite.folder / name).write_text(changed, encoding="utf-8")
        done = program("retry", "out", cwd=suite.folder)
        assert (done.code, name in done.err) == (4, True), done
        (suite.folder / name).write_text(text, encoding="utf-8")
    assert not (suite.folder / "out-retry").exists()
    (suite.folder / "well").touch()
    done = program("retry", "out", cwd=suite.folder)
    assert done.code == 0, done
    assert noted(suite) == {"c0#t0": 1, "c1#t0": 2, "c2#t0": 1}


@pytest.mark.soak
def test_retry__trials_and_tickets_that_ran_out(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """G-19, X-05: (case, trial) is the unit; what was waited for in vain is asked for anew, over the same answer."""
    with JudgeServer(after=None) as judge:
        suite = http_suite(
            tmp_path / "suite", answers, 2, trials=2, shards=1,
            judges=[{"id": "exact", "type": "exact"}, slow(judge.url)],
            gates=[{"id": "has", "metric": "slow", "min": 0}],
        )  # fmt: skip
        answers.reply = lambda asked: (
            (422, {}) if asked.trial == "c1#t1" and not judge.after else (200, {"answer": "Q1"})
        )
        assert program("run", CONFIG, cwd=suite.folder, fault=HASTEN).code == 2
        answers.asked, judge.after = [], 1
        judge.asked.clear()
        done = program("retry", "out", cwd=suite.folder, fault=HASTEN)
        assert done.code == 0, done
    out = suite.folder / "out-retry"
    assert [asked.trial for asked in answers.asked] == ["c1#t1"]
    assert len(judge.asked) == 4
    assert scorecard(out)["counts"]["scored"] == 8
    verified(program, out)


@pytest.mark.parametrize("store", ["digest", pytest.param("none", marks=pytest.mark.soak)])
def test_retry__of_answers_that_were_not_kept(
    store: str, tmp_path: Path, program: Program, answers: Answers
) -> None:
    """G-20: what was measured is never rolled again, so what was not kept cannot be judged; it is counted."""
    with JudgeServer() as judge:
        suite = broken(tmp_path / "suite", program, answers, judge, store_outputs=store)
        done = program("retry", "out", cwd=suite.folder)
        assert done.code == 2, done
    out = suite.folder / "out-retry"
    assert [asked.question for asked in answers.asked] == ["q1"]
    assert "1 score cannot be had again" in done.err
    (lost,) = [row for row in lines(out / "results.jsonl") if row["case"] == "c2"]
    assert lost["scores"]["exact"]["state"] == "scored"
    assert (lost["scores"]["side"]["state"], lost["scores"]["side"]["reason"]) == (
        "missing", "output_not_stored",
    )  # fmt: skip
    verified(program, out)


@pytest.mark.soak
def test_retry__of_a_purged_run_whose_judge_never_scored(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """G-20: where nothing was measured of an answer, asking the target again rolls nothing."""
    with JudgeServer() as judge:
        suite = broken(
            tmp_path / "suite", program, answers, judge,
            judges=[{**SIDE, "url": judge.url}], gates=[{"id": "sides", "metric": "side", "min": 0.5}],
        )  # fmt: skip
        assert program("purge", "out", "--yes", cwd=suite.folder).code == 0
        first = program("retry", "out", "--class", "judge", cwd=suite.folder)
        assert first.code == 3, first
        done = program("retry", "out", cwd=suite.folder)
        assert done.code == 0, done
    assert sorted(asked.question for asked in answers.asked) == ["q1", "q2"]
    verified(program, suite.folder / "out-retry")


def points_of(program: Program, suite: Suite, log: Path) -> list[tuple[int, str]]:
    """Number and name of every moment at which a retry can be killed; the retry is then taken away."""
    done = program("retry", "out", "--out", "whole", cwd=suite.folder, fault={"record": str(log)})
    assert done.code == 0, done
    return [
        (number, name)
        for number, name in enumerate(log.read_text("utf-8").splitlines())
        if not name.endswith(".new")
    ]


def killed_and_again(
    program: Program, suite: Suite, answers: Answers, point: tuple[int, str], *, resume: bool
) -> None:
    """Kill a retry before one moment and give the same command again, or `resume` where there is a plan."""
    number, name = point
    folder = suite.folder
    out = folder / f"killed-{number}"
    answers.asked.clear()
    killed = program("retry", "out", "--out", out.name, cwd=folder, fault={"before": number})
    assert killed.code == KILLED, (name, killed)
    if resume and (out / "plan" / "plan.json").exists():
        done = program("resume", out.name, cwd=folder)
    else:
        done = program("retry", "out", "--out", out.name, cwd=folder)
    if done.code == 3:  # decided before it was killed
        assert "there is a run in it already" in done.err, (name, done)
        done = program("resume", out.name, cwd=folder)
    assert done.code == 0, (name, done)
    assert timeless_results(out) == timeless_results(folder / "whole"), name
    assert scorecard(out)["counts"] == scorecard(folder / "whole")["counts"], name
    assert {asked.trial for asked in answers.asked} == {"c1#t0"}, name
    assert len({asked.key for asked in answers.asked}) <= 2, name
    verified(program, out)


def test_retry__killed_at_any_moment(tmp_path: Path, program: Program, answers: Answers) -> None:
    """X-05, C-04 to C-19: begun again by the same command or by `resume`, it ends the same."""
    with JudgeServer() as judge:
        suite = broken(tmp_path / "suite", program, answers, judge)
        points = points_of(program, suite, tmp_path / "points")
        renames = [point for point in points if point[1].startswith("rename")]
        moments = [
            next(point for point in points if point[1].startswith("append")),
            next(point for point in renames if point[1] == "rename results"),
            next(point for point in renames if point[1] == "rename plan"),
            next(point for point in renames if point[1].startswith("rename manifest")),
        ]
        for at, point in enumerate(moments):
            killed_and_again(program, suite, answers, point, resume=at % 2 == 1)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_retry__killed_at_every_moment(tmp_path: Path, program: Program, answers: Answers) -> None:
    """X-05: the same for every file that is opened, every record, rename and removal."""
    with JudgeServer() as judge:
        suite = broken(tmp_path / "suite", program, answers, judge)
        for at, point in enumerate(points_of(program, suite, tmp_path / "points")):
            killed_and_again(program, suite, answers, point, resume=at % 2 == 1)


def test_retry__of_a_run_in_which_nothing_succeeded(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """X-05: nothing is carried, everything is done, by two runs of which each has its own keys."""
    answers.status = {"q0": 422, "q1": 422}
    suite = http_suite(tmp_path / "suite", answers, 2)
    assert program("run", CONFIG, cwd=suite.folder).code == 2
    answers.status = {}
    done = program("retry", "out", cwd=suite.folder)
    assert done.code == 0, done
    assert answers.counts() == {"c0#t0": 2, "c1#t0": 2}
    assert len({asked.key for asked in answers.asked}) == 4
    verified(program, suite.folder / "out-retry")
    # And a retry of the retry finds nothing to do.
    again = program("retry", "out-retry", cwd=suite.folder)
    assert (again.code, "nothing in it failed" in again.err) == (3, True), again
