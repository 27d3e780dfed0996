"""`rescore`: stored outputs judged again as revisions of their own (G-13, G-18, G-20, X-13 to X-17)."""

from __future__ import annotations

import shutil
import signal
from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.publish import PINNED_SINCE
from tests.e2e.deferring import HASTEN, slow
from tests.e2e.forge import edit, edit_lines, rebadge, rewrite_ledger, seal
from tests.e2e.suites import (
    CONFIG,
    Answers,
    Suite,
    document,
    http_suite,
    ledger,
    lines,
    noted,
    outcomes,
    python_suite,
    scorecard,
)
from tests.judgeserver import JudgeServer
from tests.openaistub import OpenAiStub, serving, verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.e2e.program import Done, Program

KILLED = -signal.SIGKILL
EXACT = {"id": "exact", "type": "exact"}
LOOSE = {"id": "exact", "type": "exact", "normalize": ["casefold"]}
"""Another judge under the same name."""
DECISION = ("scorecard.json", "results.jsonl", "manifest.json")


def rules(folder: Path, run: Suite, **changes: Any) -> Path:
    """A config of the same suite with other rules, whose cases and target are nowhere."""
    other = Suite(folder, run.config | {"cases": [{"path": "nowhere.jsonl"}]} | changes)
    elsewhere = {"url": "http://${NOWHERE}/answer"}
    if run.config["target"]["type"] != "http":
        elsewhere = {"function": "nowhere:answer"}
    other.write(target=run.config["target"] | elsewhere)
    (folder / "cases.jsonl").unlink()
    return other.path


def one_wrong(folder: Path, program: Program, answers: Answers, **changes: Any) -> Suite:
    """A decided run of four cases, of which one answer differs in its case alone."""

    def reply(asked: Any) -> tuple[int, Any]:
        text = asked.question.upper()
        return 200, {"answer": text.lower() if asked.question == "q1" else text}

    answers.reply = reply
    suite = http_suite(folder, answers, 4, shards=2, **changes)
    done = program("run", CONFIG, cwd=folder)
    assert done.code == 0, done
    return suite


def verified(program: Program, out: Path) -> Done:
    """Assert that a bundle verifies, and stays as it is."""
    done = program("verify", out, cwd=out.parent)
    assert done.code == 0, done
    assert not list(out.rglob(".*.new"))
    return done


def decision(folder: Path) -> dict[str, bytes]:
    """The bytes of a decision."""
    return {name: (folder / name).read_bytes() for name in DECISION}


def test_rescore__appends_a_revision(tmp_path: Path, program: Program, answers: Answers) -> None:
    """G-13, G-20, X-15, X-16: other judges over the same outputs; what was decided before stays readable."""
    suite = one_wrong(tmp_path / "suite", program, answers)
    out, before = suite.out, decision(suite.out)
    records = {path.name: path.read_bytes() for path in (out / "results").iterdir()}
    plan = (out / "plan" / "plan.json").read_bytes()
    strict = [{"id": "quality", "metric": "exact", "min": 1.0}]
    config = rules(tmp_path / "rules", suite, judges=[LOOSE], gates=strict)

    done = program("rescore", "out", "--config", config, cwd=suite.folder)

    assert done.code == 0, done
    assert len(answers.asked) == 4
    card, manifest = scorecard(out), document(out / "manifest.json")
    revised = document(out / "plan" / "plan.r2.json")
    assert (card["revision"], card["verdict"], card["counts"]["scored"]) == (2, "pass", 4)
    assert decision(out / "revisions" / "1") == before
    assert (out / "plan" / "plan.json").read_bytes() == plan
    for name, data in records.items():
        assert (out / "results" / name).read_bytes() == data
    first = document(out / "plan" / "plan.json")
    assert (revised["run_id"], revised["revision"]) == (first["run_id"], 2)
    assert (revised["revises"], card["plan_digest"]) == (
        first["plan_digest"],
        revised["plan_digest"],
    )
    rows = lines(out / "results" / "rescore-2.attempt-1.jsonl")
    assert {row["revision"] for row in rows if row["record"] in ("shard", "score")} == {2}
    assert [row["record"] for row in rows].count("output") == 0
    scoring, decided = manifest["scoring"], manifest["decision"]
    assert (scoring["revision"], scoring["kind"], scoring["revises"]) == (
        2, "rescore", first["plan_digest"],
    )  # fmt: skip
    assert scoring["judges"] == {"exact": revised["judges"][0]["digest"]}
    old = document(out / "revisions" / "1" / "manifest.json")
    assert scoring["observation"] == old["scoring"]["observation"]
    assert scoring["score_plane"] != old["scoring"]["score_plane"]
    assert (decided["revision"], decided["score_plane"]) == (2, scoring["score_plane"])
    assert decided["policy_digest"] == revised["policy"]["digest"]
    assert decided["gates_digest"] != old["decision"]["gates_digest"]
    assert "revision 2" in (out / "summary.md").read_text("utf-8")
    verified(program, out)
    said = program("status", "out", "--json", cwd=suite.folder).json()
    assert (said["revision"], said["state"], said["verdict"]) == (2, "completed", "pass")


def test_rescore__a_changed_judge_is_not_comparable(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """X-16: compared with the pinned baseline, as ever; with the same judge the comparison holds."""
    gates = [{"id": "no-worse", "metric": "exact", "no_regression": {"max_drop": 0.1}}]
    folder = tmp_path / "suite"
    suite = one_wrong(folder, program, answers, gates=gates, baseline={"on_missing": "bootstrap"})
    assert program("baseline", "promote", "out", cwd=folder).code == 0
    assert program("run", CONFIG, cwd=folder).code == 0
    pinned = document(suite.out / "manifest.json")["decision"]["baseline"]
    assert pinned is not None

    other = rules(tmp_path / "rules", suite, judges=[LOOSE])
    done = program("rescore", "out", "--config", other, cwd=folder)
    assert done.code == 2, done
    assert outcomes(suite.out) == {"no-worse": "not_comparable"}
    assert document(suite.out / "manifest.json")["decision"]["baseline"] == pinned
    again = program("rescore", "out", "--config", CONFIG, cwd=folder)
    assert again.code == 0, again
    assert (scorecard(suite.out)["revision"], outcomes(suite.out)) == (3, {"no-worse": "pass"})
    assert scorecard(suite.out / "revisions" / "2")["verdict"] == "not_comparable"
    verified(program, suite.out)
    # A revised run is as good a baseline as any, and as good a side of a comparison.
    assert program("compare", "out", "out", cwd=folder).code == 0
    promoted = program("baseline", "promote", "out", cwd=folder)
    assert promoted.code == 0, promoted
    assert document(folder / "baseline" / "manifest.json")["scoring"]["revision"] == 3
    assert program("run", CONFIG, "--out", "next", cwd=folder).code == 0
    shown = program("resume", "out", cwd=folder)
    assert (shown.code, scorecard(suite.out)["revision"]) == (0, 3)


def test_rescore__missing_keeps_what_was_measured_and_takes_what_came_late(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """G-13, S1-25, G-20: late scores become values, marked; a judge of another digest is asked whole."""
    scores: dict[str, Any] = {"c1": {"value": True, "at": "2099-01-01T00:00:00Z"}}
    scores["c2"] = {"state": "failed", "reason": "out of order"}
    with JudgeServer(score=lambda asked: scores.get(asked["case"]["id"], {"value": True})) as judge:
        suite = http_suite(
            tmp_path / "suite", answers, 4, shards=2, judges=[EXACT, slow(judge.url)],
            gates=[{"id": "has", "metric": "slow", "min": 0}],
        )  # fmt: skip
        ran = program("run", CONFIG, cwd=suite.folder, fault=HASTEN)
        assert ran.code == 2, ran
        assert scorecard(suite.out)["counts"]["missing"] == 1
        judge.asked.clear()
        scores.clear()
        # The same judge of scores that are waited for, and another one under the name of the first.
        other = rules(tmp_path / "rules", suite, judges=[LOOSE, slow(judge.url, deadline="1h")])
        done = program(
            "rescore", "out", "--config", other, "--missing", cwd=suite.folder, fault=HASTEN
        )
        assert done.code == 0, done
        assert [asked["case"]["id"] for asked in judge.asked] == ["c2"]
        assert "/r2:" in judge.asked[0]["idempotency_key"]
    rows = [
        row
        for path in sorted((suite.out / "results").glob("rescore-2.*"))
        for row in lines(path)
        if row["record"] == "score"
    ]
    kept = {row["case"]: row.get("notes") for row in rows if row.get("carried_from_revision") == 1}
    assert {row["judge"] for row in rows if "carried_from_revision" in row} == {"slow"}
    assert kept == {"c0": None, "c1": ["taken_late"], "c3": None}
    assert scorecard(suite.out)["counts"]["scored"] == 8
    assert document(suite.out / "plan" / "plan.r2.json")["keeps_measured"] is True
    verified(program, suite.out)


@pytest.mark.soak
def test_rescore__a_late_score_under_the_ticket_of_another_answer_is_not_taken(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """B133, G-20: it could be the other one's, which came in time and did not count for that reason."""
    late: dict[str, Any] = {}
    with JudgeServer(score=lambda asked: {"value": True} | late) as judge:
        judge.ticket = lambda asked: (
            "T" if asked["case"]["id"] in ("c0", "c1") else str(asked["idempotency_key"])
        )
        suite = http_suite(
            tmp_path / "suite", answers, 4, shards=2, judges=[slow(judge.url)],
            gates=[{"id": "has", "metric": "slow", "min": 0}],
        )  # fmt: skip
        here = suite.folder
        assert program("plan", CONFIG, "--out", "plan", cwd=here).code == 0
        for index in ("0", "1"):
            shard = ("shard", "--plan", "plan", "--index", index, "--out", "results")
            assert program(*shard, cwd=here, fault=HASTEN).code == 0
            late["at"] = "2099-01-01T00:00:00Z"
        finish = ("finish", "--plan", "plan", "--results", "results", "--out", "out")
        assert program(*finish, cwd=here, fault=HASTEN).code == 2
        assert "late" in {row["record"] for row in ledger(suite.out / "results")}
        late.clear()
        judge.ticket = None
        judge.asked.clear()
        other = rules(tmp_path / "rules", suite, judges=[slow(judge.url, deadline="1h")])
        done = program("rescore", "out", "--config", other, "--missing", cwd=here, fault=HASTEN)
        assert done.code == 0, done
        assert {"c0", "c1"} <= {asked["case"]["id"] for asked in judge.asked}
    verified(program, suite.out)


def test_rescore__waits_for_judges_that_answer_later(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """S1-11, X-17: exit 5 while scores are to come; `resume` and the same command carry the revision on."""
    folder = tmp_path / "suite"
    suite = one_wrong(folder, program, answers)
    with JudgeServer(after=3) as judge:
        judges = [slow(judge.url)]
        gates = [{"id": "has", "metric": "slow", "min": 0}]
        other = rules(tmp_path / "rules", suite, judges=judges, gates=gates)
        words = ("rescore", "out", "--config", other)
        waiting = program(*words, "--no-wait", cwd=folder)
        assert waiting.code == 5, waiting
        assert scorecard(suite.out)["verdict"] is None
        assert program("verify", "out", cwd=folder).code == 5
        said = program("status", "out", "--json", cwd=folder).json()
        assert (said["revision"], said["state"]) == (2, "waiting_for_scores")
        assert program("baseline", "promote", "out", "--to", "base", cwd=folder).code == 3
        assert program("purge", "out", "--yes", cwd=folder).code == 3
        strict = rules(tmp_path / "strict", suite)
        mixed = program("rescore", "out", "--config", strict, cwd=folder)
        assert (mixed.code, "releasecheck resume out" in mixed.err) == (3, True), mixed
        assert program("resume", "out", "--no-wait", cwd=folder).code == 5
        done = program(*words, cwd=folder, fault=HASTEN)
        assert done.code == 0, done
        assert len(judge.asked) == 4
        assert not (suite.out / "plan" / "plan.r3.json").exists()
        names = sorted(path.name for path in (suite.out / "results").glob("rescore-*"))
        assert names == [f"rescore-2.attempt-{n}.jsonl" for n in range(1, len(names) + 1)]
        assert len(answers.asked) == 4
        verified(program, suite.out)
        # The judge of the second revision forgets, though the third has none like it.
        third = program("rescore", "out", "--config", CONFIG, cwd=folder)
        assert third.code == 0, third
        assert len(document(suite.out / "manifest.json")["external_refs"]) == 4
        purged = program("purge", "out", "--yes", cwd=folder)
        assert (purged.code, sum(map(len, judge.purged))) == (0, 4), purged
    verified(program, suite.out)


@pytest.mark.soak
def test_rescore__purged(tmp_path: Path, program: Program, answers: Answers) -> None:
    """G-20, G-24: words go from every revision; what cannot be judged is missing, and says why."""
    folder = tmp_path / "suite"
    suite = one_wrong(folder, program, answers)
    assert program("rescore", "out", "--config", CONFIG, cwd=folder).code == 0
    purged = program("purge", "out", "--yes", cwd=folder)
    assert purged.code == 0, purged
    for path in (suite.out / "results.jsonl", suite.out / "revisions" / "1" / "results.jsonl"):
        assert [row["output"] for row in lines(path)] == [None] * 4
    verified(program, suite.out)
    done = program("rescore", "out", "--config", CONFIG, cwd=folder)
    assert done.code == 2, done
    card = scorecard(suite.out)
    assert (card["verdict"], card["counts"]["missing"], card["revision"]) == (
        "blocked_missing", 4, 3,
    )  # fmt: skip
    assert card["incomplete"][0]["given_up"] == {"output_not_stored": 4}
    verified(program, suite.out)
    kept = program("rescore", "out", "--config", CONFIG, "--missing", cwd=folder)
    assert kept.code == 2, kept
    assert scorecard(suite.out)["counts"]["missing"] == 4
    verified(program, suite.out)


@pytest.mark.parametrize("store", ["digest", pytest.param("none", marks=pytest.mark.soak)])
def test_rescore__of_answers_that_were_not_kept(
    store: str, tmp_path: Path, program: Program, answers: Answers
) -> None:
    """G-20: never silently kept; with `--missing` what the same judge measured stays."""
    folder = tmp_path / "suite"
    suite = one_wrong(folder, program, answers, store_outputs=store)
    kept = program("rescore", "out", "--config", CONFIG, "--missing", cwd=folder)
    assert (kept.code, scorecard(suite.out)["counts"]["scored"]) == (0, 4), kept
    verified(program, suite.out)
    done = program("rescore", "out", "--config", CONFIG, cwd=folder)
    assert (done.code, scorecard(suite.out)["counts"]["missing"]) == (2, 4), done
    verified(program, suite.out)
    assert len(answers.asked) == 4


def test_rescore__refused(tmp_path: Path, program: Program, answers: Answers) -> None:
    """X-05, X-06: open and superseded runs, other suites, judges that cannot work; nothing is written."""
    folder = tmp_path / "suite"
    suite = one_wrong(folder, program, answers)
    before = {path: path.read_bytes() for path in suite.out.rglob("*") if path.is_file()}
    foreign = rules(tmp_path / "foreign", suite, suite="another")
    broken = rules(
        tmp_path / "broken", suite, judges=[{"id": "exact", "type": "python", "function": "no:no"}]
    )
    vacuous = rules(
        tmp_path / "vacuous",
        suite,
        gates=[{"id": "none", "metric": "exact", "split": "nowhere", "min": 0.5}],
    )
    secret = rules(tmp_path / "secret", suite, judges=[slow("http://${NOT_SET}/score", "exact")])
    for config in (foreign, broken, vacuous, secret, tmp_path / "nowhere.yaml"):
        done = program("rescore", "out", "--config", config, cwd=folder)
        assert done.code == 3, done
    assert {path: path.read_bytes() for path in suite.out.rglob("*") if path.is_file()} == before
    shutil.copytree(suite.out, folder / "open")
    (folder / "open" / "manifest.json").unlink()
    done = program("rescore", "open", "--config", CONFIG, cwd=folder)
    assert (done.code, "releasecheck resume open" in done.err) == (3, True), done
    shutil.copytree(suite.out, folder / "edited")
    edit(folder / "edited" / "scorecard.json", lambda card: card.update(exit_code=2))
    assert program("rescore", "edited", "--config", CONFIG, cwd=folder).code == 4
    assert len(answers.asked) == 4


@pytest.fixture(scope="module")
def revised(tmp_path_factory: pytest.TempPathFactory, program: Program) -> Iterator[Path]:
    """A bundle of three revisions, of which the second blocks."""
    folder = tmp_path_factory.mktemp("revised") / "suite"
    with Answers() as answers:
        suite = one_wrong(folder, program, answers)
        strict = rules(
            folder.parent / "rules", suite, gates=[{"id": "quality", "metric": "exact", "min": 1}]
        )
        assert program("rescore", "out", "--config", strict, cwd=folder).code == 1
        assert program("rescore", "out", "--config", CONFIG, cwd=folder).code == 0
        verified(program, suite.out)
        yield suite.out


def right(row: dict[str, Any]) -> None:
    """Make a record right."""
    if row.get("case") == "c1" and row["record"] == "score":
        row["value"] = 1.0


def green(row: dict[str, Any]) -> None:
    """Make a result right."""
    if row["case"] == "c1":
        row["scores"]["exact"]["value"] = 1.0
        row["passed"]["exact"] = True


def passing(card: dict[str, Any]) -> None:
    card |= {"verdict": "pass", "exit_code": 0}


def _with_right_records(out: Path) -> None:
    for path in (out / "results").glob("shard-*.jsonl"):
        rewrite_ledger(path, right)


def _with_output(out: Path) -> None:
    path = out / "results" / "rescore-2.attempt-1.jsonl"
    output = next(row for row in ledger(out / "results") if row["record"] == "output")

    def change(row: dict[str, Any]) -> None:
        if row.get("case") == "c0" and row["record"] == "score":
            row.clear()
            row.update(output)

    rewrite_ledger(path, change)


FORGERIES: dict[str, tuple[Callable[[Path], object], str]] = {
    "records of the first": (_with_right_records, "revision 1"),
    "records of the second": (
        lambda out: rewrite_ledger(out / "results" / "rescore-2.attempt-1.jsonl", right),
        "revision 2",
    ),
    "records of the third": (
        lambda out: rewrite_ledger(out / "results" / "rescore-3.attempt-1.jsonl", right),
        "revision 3",
    ),
    "decision of the second": (
        lambda out: edit(out / "revisions" / "2" / "scorecard.json", passing),
        "revision 2",
    ),
    "results of the second": (
        lambda out: edit_lines(out / "revisions" / "2" / "results.jsonl", green),
        "revision 2",
    ),
    "manifest of the first": (
        lambda out: edit(
            out / "revisions" / "1" / "manifest.json",
            lambda found: found["decision"].update(verdict="block"),
        ),
        "revision 1",
    ),
    "rules of the second": (
        lambda out: edit(
            out / "plan" / "plan.r2.json", lambda plan: plan["gates"][0].update(min=0.5)
        ),
        "plan.r2.json",
    ),
    "a decision taken away": (
        lambda out: shutil.rmtree(out / "revisions" / "1"),
        "revision 1",
    ),
    "a revision taken away": (
        lambda out: (out / "plan" / "plan.r2.json").unlink(),
        "plan.r2.json",
    ),
    "an output in a revision": (
        _with_output,
        "rescore-2.attempt-1.jsonl",
    ),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_verify__every_revision_is_recomputed(
    forgery: str, revised: Path, tmp_path: Path, program: Program
) -> None:
    """X-13, X-14, X-16: whatever is edited, with every digest around it made to match, is named."""
    out = tmp_path / "copy"
    shutil.copytree(revised, out)
    forge, named = FORGERIES[forgery]
    forge(out)
    seal(out)
    done = program("verify", out, "--json", cwd=tmp_path)
    assert done.code == 4, done
    assert named in done.out + done.err


KEPT: dict[str, tuple[tuple[str, ...], dict[str, Any], str]] = {
    "another value": (("--missing",), {"value": 1.0}, "which has not measured that"),
    "of no revision": (
        ("--missing",),
        {"carried_from_revision": 2},
        "was kept from revision 2, expected from revision 1",
    ),
    "late without a late one": (
        ("--missing",),
        {"notes": ["taken_late"]},
        "which has not measured that",
    ),
    "nothing is kept": ((), {"carried_from_revision": 1}, "this revision keeps nothing"),
}


@pytest.mark.parametrize("forgery", KEPT)
def test_verify__what_a_revision_kept_was_measured_before(
    forgery: str, tmp_path: Path, program: Program, answers: Answers
) -> None:
    """X-16, G-20: a kept score stands for one on record, whatever was decided on it."""
    more, change, named = KEPT[forgery]
    suite = one_wrong(tmp_path / "suite", program, answers)
    done = program("rescore", "out", "--config", CONFIG, *more, cwd=suite.folder)
    assert done.code == 0, done

    def forge(row: dict[str, Any]) -> None:
        if row.get("case") == "c1" and row["record"] == "score":
            row |= change

    rewrite_ledger(suite.out / "results" / "rescore-2.attempt-1.jsonl", forge)
    # The program itself decides on it, so that everything else follows from it.
    (suite.out / "manifest.json").unlink()
    assert program("resume", "out", cwd=suite.folder).code == 0
    done = program("verify", "out", cwd=suite.folder)
    assert (done.code, named in done.out, done.out.count("differs:")) == (4, True, 1), done


def test_verify__an_edit_of_an_earlier_decision_is_seen_by_its_digest(
    revised: Path, tmp_path: Path, program: Program
) -> None:
    """X-16: the last manifest vouches for the decisions before it."""
    out = tmp_path / "copy"
    shutil.copytree(revised, out)
    path = out / "revisions" / "1" / "scorecard.json"
    path.write_bytes(path.read_bytes().replace(b'"verdict"', b'"Verdict"'))
    done = program("verify", out, cwd=tmp_path)
    assert (done.code, "revisions/1/scorecard.json: its digest is" in done.out) == (4, True), done


def scene(
    tmp_path: Path, program: Program, answers: Answers, judge: JudgeServer
) -> tuple[Suite, Path, list[tuple[int, str]]]:
    """A decided run, rules for a second revision, and the moments at which a rescore can be killed."""
    suite = one_wrong(tmp_path / "suite", program, answers)
    config = rules(
        tmp_path / "rules",
        suite,
        judges=[LOOSE, slow(judge.url)],
        gates=[{"id": "has", "metric": "slow", "min": 0}],
    )
    log = tmp_path / "points"
    shutil.copytree(suite.out, suite.folder / "whole")
    done = program(
        *("rescore", "whole", "--config", config), cwd=suite.folder,
        fault={"record": str(log), "hasten": True},
    )  # fmt: skip
    assert done.code == 0, done
    points = enumerate(log.read_text("utf-8").splitlines())
    return suite, config, [(at, name) for at, name in points if not name.endswith(".new")]


def killed_and_again(
    program: Program, suite: Suite, config: Path, point: tuple[int, str], *, resume: bool
) -> None:
    """Kill a rescore before one moment, carry it on, and compare with the one that was left alone."""
    number, name = point
    folder, out = suite.folder, suite.folder / f"killed-{number}"
    shutil.copytree(suite.out, out)
    words = ("rescore", out.name, "--config", config)
    killed = program(*words, cwd=folder, fault={"before": number, "hasten": True})
    assert killed.code == KILLED, (name, killed)
    begun = (out / "plan" / "plan.r2.json").exists()
    manifest = out / "manifest.json"
    decided = manifest.exists() and document(manifest)["scoring"]["revision"] == 2
    if decided or (resume and begun):
        done = program("resume", out.name, cwd=folder, fault=HASTEN)
    else:
        done = program(*words, cwd=folder, fault=HASTEN)
    assert done.code == 0, (name, done)
    assert not (out / "plan" / "plan.r3.json").exists(), name
    whole = folder / "whole"
    assert (out / "results.jsonl").read_bytes() == (whole / "results.jsonl").read_bytes(), name
    for kept in DECISION:
        kept_bytes = (out / "revisions" / "1" / kept).read_bytes()
        assert kept_bytes == (suite.out / kept).read_bytes(), (name, kept)
    verified(program, out)


def test_rescore__killed_at_any_moment(tmp_path: Path, program: Program, answers: Answers) -> None:
    """X-17, C-04 to C-19: the same revision is carried on, by the same command or by `resume`."""
    with JudgeServer(after=2) as judge:
        suite, config, points = scene(tmp_path, program, answers, judge)
        names = (
            "append c1#0 exact", "append deadline slow", "rename results.jsonl", "rename badge.json",
        )  # fmt: skip
        for at, name in enumerate(names):
            point = next(point for point in points if point[1] == name)
            killed_and_again(program, suite, config, point, resume=at % 2 == 1)
        assert len(answers.asked) == 4


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_rescore__killed_at_every_moment(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """X-17: the same for every file that is opened, every record, rename and removal."""
    with JudgeServer(after=2) as judge:
        suite, config, points = scene(tmp_path, program, answers, judge)
        for at, point in enumerate(points):
            killed_and_again(program, suite, config, point, resume=at % 2 == 1)


@pytest.mark.soak
def test_rescore__a_judge_in_a_file_that_was_mended(tmp_path: Path, program: Program) -> None:
    """G-18, G-20: the file as it is when the revision begins, and no other one when it is carried on."""
    rule = "def judge(ask):\n    return ask['output'] == {}\n"
    suite = python_suite(
        tmp_path / "suite", 3, judges=[{"id": "own", "type": "python", "function": "rule:judge"}],
        gates=[{"id": "own", "metric": "own", "min": 0.5}],
    )  # fmt: skip
    file = suite.folder / "rule.py"
    file.write_text(rule.format("'nothing'"), encoding="utf-8")
    assert program("run", CONFIG, cwd=suite.folder).code == 1
    file.write_text(rule.format("ask['case']['expected']"), encoding="utf-8")
    words = ("rescore", suite.out, "--config", suite.path)
    killed = program(*words, cwd=tmp_path, fault={"before": "append c1#0 own"})
    assert killed.code == KILLED
    said = program("status", suite.out, "--json", cwd=tmp_path).json()
    assert (said["revision"], said["finalized_at"], said["verdict"]) == (2, None, None)
    begun = program("verify", suite.out, cwd=tmp_path)
    assert (begun.code, "revision 2 was begun" in begun.err) == (4, True), begun
    kept = file.read_text("utf-8")
    file.write_text(kept + "\n# again\n", encoding="utf-8")
    assert program("resume", suite.out, cwd=tmp_path).code == 4
    assert program(*words, cwd=tmp_path).code == 3
    file.write_text(kept, encoding="utf-8")
    done = program(*words, cwd=tmp_path)
    assert done.code == 0, done
    assert noted(suite) == {"c0#t0": 1, "c1#t0": 1, "c2#t0": 1}
    verified(program, suite.out)


def test_rescore_and_retry__sentinels_are_shown_or_carried(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """X-16: a revision shows its judges their sentinels; measured ones are not shown again."""
    with JudgeServer(after=0) as judge:
        seen = [
            {"id": name, "output": "A", "expected": expected, "expect": held}
            for name, expected, held in (("good", "A", "pass"), ("bad", "B", "fail"))
        ]
        spec = slow(judge.url, "grounded", pass_at=1, sentinels=seen)
        suite = http_suite(
            tmp_path / "suite", answers, 4, shards=2, judges=[spec],
            gates=[{"id": "quality", "metric": "grounded", "min": 0.5}],
        )  # fmt: skip
        answers.status = {"q1": 422}
        assert program("run", CONFIG, cwd=suite.folder).code == 2
        answers.status = {}
        shown: list[tuple[str, ...]] = []
        for words in (
            ("retry", "out"),
            ("rescore", "out-retry", "--config", CONFIG),
            ("rescore", "out-retry", "--config", CONFIG, "--missing"),
        ):
            judge.asked.clear()
            done = program(*words, cwd=suite.folder)
            assert done.code == 0, done
            shown.append(tuple(sorted(asked["case"]["id"] for asked in judge.asked)))
            card = scorecard(suite.folder / "out-retry")
            assert (card["sentinels"][0]["shown"], card["sentinels"][0]["held"]) == (4, 4)
            verified(program, suite.folder / "out-retry")
    assert shown == [("c1",), ("bad", "bad", "c0", "c1", "c2", "c3", "good", "good"), ()]
    notices = " ".join(scorecard(suite.folder / "out-retry")["notices"])
    assert ("retry of" in notices, "revision 3" in notices) == (True, True)


@pytest.mark.soak
def test_rescore__a_changed_judge_over_the_outputs_of_the_baseline(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """X-16, G-08: with `rejudge_baseline` both sides have the judge of the revision, and are compared."""
    gates = [{"id": "no-worse", "metric": "exact", "no_regression": {"max_drop": 0.1}}]
    folder = tmp_path / "suite"
    suite = one_wrong(folder, program, answers, gates=gates, baseline={"on_missing": "bootstrap"})
    assert program("baseline", "promote", "out", cwd=folder).code == 0
    assert program("run", CONFIG, cwd=folder).code == 0
    other = rules(tmp_path / "rules", suite, judges=[LOOSE], baseline={"rejudge_baseline": True})
    done = program("rescore", "out", "--config", other, cwd=folder)
    assert done.code == 0, done
    assert scorecard(suite.out)["baseline"]["rejudged"] == {"exact": 4}
    verified(program, suite.out)
    again = program("rescore", "out", "--config", other, "--missing", cwd=folder)
    assert again.code == 0, again
    rows = lines(suite.out / "results" / "rescore-3.attempt-1.jsonl")
    kept = {row["carried_from_revision"] for row in rows if row["record"] in ("score", "bridge")}
    assert kept == {2}
    verified(program, suite.out)


def test_verify__a_manifest_of_an_older_version_pins_less(
    tmp_path: Path, program: Program, answers: Answers
) -> None:
    """X-16: bundles from before revisions verify as they did."""
    suite = http_suite(tmp_path / "suite", answers, 2)
    assert program("run", CONFIG, cwd=suite.folder).code == 0

    def older(manifest: dict[str, Any]) -> None:
        for part, names in PINNED_SINCE.items():
            for name in names:
                del manifest[part][name]
        del manifest["retry_of"]

    edit(suite.out / "manifest.json", older)
    rebadge(suite.out)
    verified(program, suite.out)


@pytest.mark.soak
def test_rescore__judges_that_take_many_outputs_at_once(tmp_path: Path, program: Program) -> None:
    """X-16: a batch job of a model is made for the revision, and waited for as ever."""

    def careful(body: dict[str, Any]) -> str:
        text = body["messages"][1]["content"]
        bad = ("12:00 on Saturdays", "I do not know. Note to the judge")
        return verdict(0 if any(word in text for word in bad) else 1)

    with serving(OpenAiStub(say=careful)) as stub:
        spec = {
            "id": "right", "type": "llm", "base_url": stub.url, "model": "m", "pass_at": 0.7,
            "rubric": "correctness", "mode": "batch", "interval": "100ms", "deadline": "20s",
        }  # fmt: skip
        gates = [{"id": "quality", "metric": "right", "min": 0.5}]
        suite = python_suite(tmp_path / "suite", 3, judges=[spec], gates=gates)
        assert program("run", CONFIG, cwd=suite.folder).code == 0
        made = len(stub.batches)
        other = rules(tmp_path / "rules", suite, judges=[{**spec, "model": "n"}])
        done = program("rescore", "out", "--config", other, cwd=suite.folder)
        assert done.code == 0, done
        assert len(stub.batches) == 2 * made
        kept = program("rescore", "out", "--config", other, "--missing", cwd=suite.folder)
        assert kept.code == 0, kept
        assert len(stub.batches) == 2 * made
    card = scorecard(suite.out)
    assert (card["revision"], card["counts"]["scored"]) == (3, 3)
    assert card["sentinels"][0]["held"] == card["sentinels"][0]["shown"]
    verified(program, suite.out)
