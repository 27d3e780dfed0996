"""Real-world faults of shards, artifacts and merge, through the command line (B94 to B106).

`finish` is the merge. B97's artifact names are made by the Action, which is not part of this version; the
names of files inside are. B103 over HTTP and byte for byte is in `test_equivalence.py`, B101's empty shards
too; a torn line after a kill (B106) is in `test_kill.py`. The check of every report against the verdict
(B104) can only fail by a bug of ours; `tests/unit/scorecard` makes it fail.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.faulty import (
    PYTHON,
    asks,
    cli,
    decided,
    failure_of,
    not_measured,
    order,
    python,
    rows,
    state_of,
    suite_of,
)
from tests.e2e.suites import Answers, Suite, document, files_below, http_suite, lines, scorecard
from tests.processes import environment

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.program import Done


@pytest.fixture
def echo(answers: Answers) -> dict[str, Any]:
    """A target that answers what it was asked."""
    answers.reply = lambda asked: (200, {"answer": asked.question})
    return {"type": "http", "url": answers.url, "body": {"q": "{{ input }}"}, "output": "answer"}


def shard(suite: Suite, index: int, out: str = "results", *options: str | Path) -> Done:
    """Run one shard of the plan."""
    arguments = ("shard", "--plan", "plan", "--index", str(index), "--out", out, *options)
    return cli(*arguments, cwd=suite.folder)


def finish(suite: Suite, *results: str | Path, out: str = "out") -> Done:
    """Finish the plan on these folders."""
    folders = [part for folder in results or ("results",) for part in ("--results", folder)]
    return cli("finish", "--plan", "plan", *folders, "--out", out, cwd=suite.folder)


def planned(suite: Suite, shards: int) -> Suite:
    """Plan the suite."""
    done = cli("plan", suite.path, "--shards", str(shards), "--out", "plan", cwd=suite.folder)
    assert done.code == 0, done
    return suite


def refused(suite: Suite, done: Done, *says: str, out: str = "out") -> None:
    """Assert exit 4, named, and nothing that looks like a verdict."""
    assert done.code == 4, done
    for part in says:
        assert part in done.err, done
    no_decision(suite.folder / out)


def no_decision(out: Path) -> None:
    """Assert that a folder holds nothing that looks like a verdict; why there is none may stand in it."""
    for name in ("scorecard.json", "scorecard.html", "manifest.json", "badge.json", "junit.xml"):
        assert not (out / name).exists(), name


@pytest.fixture
def two(tmp_path: Path, echo: dict[str, Any]) -> Suite:
    """Two shards that ran, of different lengths: c1 to c4, the last two wrong."""
    cases = [
        case | {"expected": case["input"] if n < 2 else "z"}
        for n, case in enumerate(asks(*"abcde"))
    ]
    suite = planned(suite_of(tmp_path, cases, echo), 2)
    for index in (0, 1):
        assert shard(suite, index).code == 0
    return suite


def test_b94__files_of_one_name_do_not_become_one(two: Suite) -> None:
    """B94: the name says shard and attempt, so that two artifacts in one folder stay two files."""
    folder = two.folder / "results"
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["shard-0000.attempt-1.jsonl", "shard-0001.attempt-1.jsonl"]
    assert [line["record"] for line in lines(folder / names[0])][-1] == "end"
    card = decided(finish(two), two, code=1)
    assert card["counts"]["scored"] == 5


def test_b94__overwritten_half_way_is_refused(two: Suite) -> None:
    """B94: one download wrote over another: almost all of it parses, and it is nobody's file."""
    longer, shorter = sorted(
        (two.folder / "results").iterdir(), key=lambda path: -path.stat().st_size
    )
    long, short = longer.read_bytes(), shorter.read_bytes()
    for name, clobbered in (
        ("short-over-long", short + long[len(short) :]),
        ("cut", long[: len(short)] + b"\n"),
    ):
        folder = two.folder / name
        folder.mkdir()
        (folder / longer.name).write_bytes(clobbered)
        shutil.copy(shorter, folder)
        refused(two, finish(two, name, out=f"out-{name}"), longer.name, out=f"out-{name}")


@pytest.mark.parametrize("edit", ["a line less", "a line twice", "two lines swapped"])
def test_b94__file_that_its_last_line_contradicts_is_refused(two: Suite, edit: str) -> None:
    """B94: the last line counts and digests all before it."""
    path = two.folder / "results" / "shard-0000.attempt-1.jsonl"
    held = path.read_bytes().splitlines(keepends=True)
    if edit == "a line less":
        del held[-2]
    elif edit == "a line twice":
        held.insert(-1, held[-2])
    else:
        held[1:3] = held[2:0:-1]
    path.write_bytes(b"".join(held))
    refused(two, finish(two), path.name)


def test_b94__same_attempt_twice_with_other_bytes_is_refused(two: Suite, answers: Answers) -> None:
    """B94, B95: two downloads claim to be the same attempt of the same shard."""
    answers.reply = lambda _: (200, {"answer": "other"})
    assert shard(two, 0, "again").code == 0
    refused(two, finish(two, "results", "again"), "attempt 1 of shard 0", "different content")


def rerun(folder: Path, answers: Answers, first: dict[str, Any]) -> Suite:
    """A suite of four cases in two shards; its first attempts ran as `first` says."""
    suite = http_suite(
        folder, answers, 4, gates=[{"id": "all", "metric": "exact", "require": "all"}]
    )
    planned(suite, 2)
    answers.status = first.get("status", {})
    answers.wrong = first.get("wrong", set())
    for index in (0, 1):
        shard(suite, index, "first")
    answers.status, answers.wrong = {}, set()
    answers.asked.clear()
    return suite


@pytest.mark.parametrize("then", ["passes", "fails"])
def test_b95__what_was_measured_first_counts(tmp_path: Path, answers: Answers, then: str) -> None:
    """B95: a re-run that measured again is a named conflict, whichever way it points."""
    suite = rerun(tmp_path, answers, {"wrong": {"q3"} if then == "passes" else set()})
    answers.wrong = {"q3"} if then == "fails" else set()
    # As a job that lost the first attempt's files: it measures everything again.
    assert shard(suite, 1, "second", "--attempt", "2").code == 0
    assert answers.counts() == {"c1#t0": 1, "c3#t0": 1}
    alone = decided(
        finish(suite, "first", out="alone"), suite, tmp_path / "alone", code=int(then == "passes")
    )
    for number, folders in enumerate((("first", "second"), ("second", "first"))):
        out = tmp_path / f"out-{number}"
        done = finish(suite, *folders, out=out.name)
        card = decided(done, suite, out, code=int(then == "passes"))
        assert card["counts"] == alone["counts"] | {"conflicts": 1}
        assert state_of(out, "c3", "exact") == ("scored", 0.0 if then == "passes" else 1.0)
        assert "c3" in " ".join(card["notices"]) + done.out


def test_b95__rerun_replaces_a_retryable_failure_and_nothing_else(
    tmp_path: Path, answers: Answers
) -> None:
    """B95: attempt 1 of shard 1 lost c3 on the way; attempt 2 asks that one and its record counts."""
    suite = rerun(tmp_path, answers, {"status": {"q3": 503}})
    before = not_measured(finish(suite, "first", out="before"), suite, tmp_path / "before")
    assert before["counts"]["failed"] == 1
    assert failure_of(tmp_path / "before", "c3") == ("infra", "server_error", True)
    assert shard(suite, 1, "second", "--resume", "first").code == 0
    assert answers.counts() == {"c3#t0": 1}
    assert [path.name for path in (tmp_path / "second").iterdir()] == ["shard-0001.attempt-2.jsonl"]
    card = decided(finish(suite, "first", "second"), suite, code=0)
    assert card["counts"] | {"scored": 4, "failed": 0, "conflicts": 0} == card["counts"]
    # Only shard 1 was run again: without the first attempts' files shard 0 is missing.
    alone = not_measured(finish(suite, "second", out="alone"), suite, tmp_path / "alone")
    assert alone["counts"]["missing"] == 3
    # With all on record there is nothing to ask, and no attempt 3.
    answers.asked.clear()
    assert shard(suite, 1, "third", "--resume", "first", "--resume", "second").code == 0
    assert not answers.asked
    assert not (tmp_path / "third").exists() or not list((tmp_path / "third").iterdir())


NAMES = [
    "shard 1/5", "suite: chat:staging", 'case "what is <b>?"', "C:\\temp\\out", "../../etc/passwd",
    "CON", "trailing dot.", "aux.json", "\u00fcn\u00efcode-\u00df-\u540d\u524d", "x" * 200,
    "Case-ID", "case-id", "a|b*c?", "..", "-rf", "#t0", "%2e%2e%2f",
]  # fmt: skip
UNSAFE = re.compile(r'[":<>|*?\r\n\\]')


def test_b97__names_that_an_artifact_store_refuses(tmp_path: Path, echo: dict[str, Any]) -> None:
    """B97: ids are content, never file names; each keeps its own results."""
    cases = [{"id": name, "input": name, "expected": name} for name in NAMES]
    suite = suite_of(tmp_path, cases, echo | {"concurrency": 4})
    decided(cli("run", suite.path, "--shards", "3", cwd=tmp_path), suite, code=0)
    assert {row["output"] for row in rows(suite.out).values()} == set(NAMES)
    for path in files_below(suite.out):
        name = path.relative_to(suite.out).as_posix()
        assert not UNSAFE.search(name), name
        assert name.isascii()
        assert not any(given.lower() in name.lower() for given in NAMES if len(given) > 3)
    assert cli("verify", suite.out, cwd=tmp_path).code == 0
    ET.parse(suite.out / "junit.xml")  # noqa: S314 - our own


@pytest.mark.parametrize(
    ("cases", "changes", "says"),
    [
        ([{"id": "name with\nnewline", "input": "x", "expected": "x"}], {}, "id"),
        (asks("x"), {"suite": "chat:staging"}, "suite"),
        (asks("x"), {"suite": "../up"}, "suite"),
        (asks("x"), {"judges": [{"id": "a/b", "type": "exact"}]}, "judges[0].id"),
    ],
    ids=["id", "suite", "path", "judge"],
)
def test_b97__what_becomes_part_of_a_name_is_refused_early(
    tmp_path: Path, cases: list[dict[str, Any]], changes: dict[str, Any], says: str
) -> None:
    """B97: the words that name files and gates are narrow; nothing was called."""
    body = 'open("called", "w").close()\nreturn "x"'
    suite = suite_of(tmp_path, cases, python(tmp_path, body), **changes)
    done = cli("run", suite.path, cwd=tmp_path)
    assert done.code == 3, done
    assert says in done.err
    assert not (tmp_path / "called").exists()
    no_decision(suite.out)


@pytest.mark.parametrize(
    ("results", "code"),
    [("empty", 2), ("others", 2), ("nowhere", 3), ("nomatch-*.jsonl", 3), ("headless", 2)],
)
def test_b98__nothing_was_downloaded(two: Suite, results: str, code: int) -> None:
    """B98: the plan says how many to expect: nothing at all is all missing, a typing mistake is usage."""
    (two.folder / "empty").mkdir()
    others = two.folder / "others"
    others.mkdir()
    (others / "README.txt").write_text("nothing here", "utf-8")
    (others / "results.jsonl").write_text('{"case": "c1"}\n', "utf-8")
    headless = two.folder / "headless"
    headless.mkdir()
    (headless / "shard-0000.attempt-1.jsonl").write_bytes(b"")
    done = finish(two, results)
    if code == 3:
        assert done.code == 3, done
        assert results in done.err
        no_decision(two.out)
        return
    card = not_measured(done, two)
    assert card["counts"]["missing"] == card["counts"]["pairs"] == 5
    assert "5 of 5" in card["incomplete"][0]["message"]
    assert document(two.out / "manifest.json")["finalized_at"] is None


def test_b98__nothing_at_all_to_finish(tmp_path: Path) -> None:
    """B98: without a plan there is nothing to expect; no folder and no option are usage errors."""
    (tmp_path / "results").mkdir()
    for arguments in (
        ("finish", "--plan", "plan", "--results", "results"),
        ("finish", "--plan", "results", "--results", "results"),
        ("finish", "--plan", "plan"),
        ("shard", "--plan", "plan", "--index", "0"),
    ):
        done = cli(*arguments, cwd=tmp_path)
        assert done.code == 3, done
        assert not (tmp_path / "out").exists()


def test_b100__who_runs_which_case_does_not_depend_on_the_weather(
    tmp_path: Path, echo: dict[str, Any]
) -> None:
    """B100: the same assignment under any hash seed; the union is complete and without overlap."""
    cases = [{"id": f"case-{n:02}", "input": str(n), "expected": str(n)} for n in range(12)]
    suite = suite_of(tmp_path, cases, echo)
    dealt = []
    for seed in ("0", "1", "2"):
        done = subprocess.run(
            [PYTHON, "-m", "releasecheck", "plan", str(suite.path), "--shards", "3", "--out", seed],
            cwd=tmp_path, env=environment(PYTHONHASHSEED=seed), capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        dealt.append([path.read_bytes() for path in sorted((tmp_path / seed).glob("cases-*"))])
    assert dealt[0] == dealt[1] == dealt[2]
    ids = [line["id"] for n in range(3) for line in lines(tmp_path / "0" / f"cases-{n:04}.jsonl")]
    assert sorted(ids) == [case["id"] for case in cases]


@pytest.mark.parametrize("other", ["order", "content"])
def test_b100__shards_of_different_datasets_do_not_mix(
    tmp_path: Path, other: str, echo: dict[str, Any]
) -> None:
    """B100: shard 0 ran on one file, 1 and 2 on another: refused by name, not added up."""
    cases = [{"id": f"case-{n:02}", "input": str(n), "expected": str(n)} for n in range(12)]
    suite = planned(suite_of(tmp_path, cases, echo), 3)
    assert shard(suite, 0).code == 0
    (tmp_path / "plan").rename(tmp_path / "plan-a")
    suite.cases = cases[::-1] if other == "order" else [c | {"expected": "x"} for c in cases]
    planned(suite.write(), 3)
    for index in (1, 2):
        assert shard(suite, index).code == 0
    refused(suite, finish(suite), "shard-0000.attempt-1.jsonl", "another")
    (tmp_path / "plan").rename(tmp_path / "plan-b")
    (tmp_path / "plan-a").rename(tmp_path / "plan")
    refused(suite, finish(suite), "shard-0001.attempt-1.jsonl", "another")


def test_b101__more_shards_than_cases(tmp_path: Path, echo: dict[str, Any]) -> None:
    """B101: an empty shard writes its header and ends well; only the total must not be empty."""
    suite = planned(suite_of(tmp_path, asks("x", "x"), echo), 7)
    for index in range(7):
        done = shard(suite, index)
        assert done.code == 0, done
    files = sorted((tmp_path / "results").iterdir())
    assert [[line["record"] for line in lines(path)] for path in files[2:]] == [
        ["shard", "end"]
    ] * 5
    card = decided(finish(suite), suite, code=0)
    assert card["counts"]["scored"] == 2
    # And they are not needed: who delivers no file of an empty shard leaves nothing out.
    for path in files[2:]:
        path.unlink()
    decided(finish(suite, out="fewer"), suite, tmp_path / "fewer", code=0)


@pytest.mark.parametrize("index", ["7", "-1", "1.0", "0/7", "1of2", "", " "])
def test_b101__shard_that_cannot_be(
    tmp_path: Path, answers: Answers, echo: dict[str, Any], index: str
) -> None:
    """B101: usage, before anything is called."""
    planned(suite_of(tmp_path, asks("x", "x"), echo), 7)
    done = cli("shard", "--plan", "plan", f"--index={index}", cwd=tmp_path)
    assert done.code == 3, done
    assert not answers.asked
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("shards", ["0", "-1", "257", "1of2", "2/7", "1e1", "\u0662", ""])
def test_b101__number_of_shards_that_cannot_be(
    tmp_path: Path, shards: str, echo: dict[str, Any]
) -> None:
    """B101."""
    suite = suite_of(tmp_path, asks("x"), echo)
    for command in ("plan", "run"):
        done = cli(command, suite.path, f"--shards={shards}", cwd=tmp_path)
        assert done.code == 3, done
        assert not (tmp_path / "plan").exists()
        assert not suite.out.exists()


def test_b103__scores_stay_with_their_rows(tmp_path: Path) -> None:
    """B103: slow first, two failures among them, 16 at once: joined by id, in dataset order."""
    body = (
        'n = int(case["id"][1:])\ntime.sleep(0.01 * (20 - n))\n'
        'if n in (1, 2):\n    raise RuntimeError("filtered")\nreturn str(n)'
    )
    cases = [{"id": f"c{n}", "input": "x", "expected": str(n)} for n in range(20)]
    suite = suite_of(tmp_path, cases, python(tmp_path, body, concurrency=16))
    card = not_measured(cli("run", suite.path, cwd=tmp_path), suite)
    assert (card["counts"]["scored"], card["counts"]["failed"]) == (18, 2)
    for n in range(20):
        expected = ("failed", None) if n in (1, 2) else ("scored", 1.0)
        assert state_of(suite.out, f"c{n}", "exact") == expected
    assert order(suite.out) == [case["id"] for case in cases]


def test_b104__every_report_tells_of_the_one_failure(tmp_path: Path) -> None:
    """B104: cases that look alike are told apart; all reports count as the verdict does."""
    body = 'if case["id"] == "c3":\n    raise RuntimeError("no")\nreturn "same title"'
    cases = [
        {"id": f"c{n}", "input": "same title", "expected": "same title" if n == 0 else "other"}
        for n in range(4)
    ]
    judge = {"id": "exact", "type": "exact"}
    gate = {"id": "gate", "metric": "exact", "min": 1, "on_target_failure": "count_as_fail"}
    suite = suite_of(tmp_path, cases, python(tmp_path, body), judge, gates=[gate])
    card = decided(cli("run", suite.path, cwd=tmp_path), suite, code=1)
    assert card["counts"] | {"scored": 3, "failed": 1} == card["counts"]
    passed = [row["passed"].get("exact") for row in lines(suite.out / "results.jsonl")]
    assert passed[:3] == [True, False, False]
    assert passed[3] is not True
    root = ET.parse(suite.out / "junit.xml").getroot()  # noqa: S314 - our own
    found = [
        (case.get("name", ""), [child.tag for child in case if child.tag in ("failure", "error")])
        for case in root.iter("testcase")
    ]
    for n, tag in ((0, []), (1, ["failure"]), (2, ["failure"]), (3, ["error"])):
        tags = [tags for name, tags in found if f"c{n}" in name]
        assert tag in tags, found
    for page in ("scorecard.html", "summary.md"):
        text = (suite.out / page).read_text("utf-8")
        for name in ("c1", "c2", "c3"):
            assert name in text, (page, name)
    assert cli("verify", suite.out, cwd=tmp_path).code == 0


TORN = {
    "half a line": lambda whole, last: whole + last[: len(last) // 2],
    "half a letter": lambda whole, last: whole + last[: last.index(b"\xc3") + 1],
    "zeros": lambda whole, last: whole + b"\0" * 64,
    "half a line and zeros": lambda whole, last: whole + last[:20] + b"\0" * 64,
    "no newline": lambda whole, last: whole + last.rstrip(b"\n"),
}


@pytest.mark.parametrize("torn", TORN)
def test_b106__torn_last_line_is_done_again(tmp_path: Path, answers: Answers, torn: str) -> None:
    """B106: what the stump held is asked again, the rest is not, and nothing is glued together."""
    answers.reply = lambda _: (200, b'{"answer": "caf\xc3\xa9"}')
    suite = planned(http_suite(tmp_path, answers, 3), 1)
    assert shard(suite, 0).code == 0
    path = tmp_path / "results" / "shard-0000.attempt-1.jsonl"
    held = path.read_bytes().splitlines(keepends=True)
    cut = 5  # header, c0 and its score, c1 and its score; then c2's output, torn
    records = [line["record"] for line in lines(path)]
    assert records == ["shard", *["output", "score"] * 3, "end"]
    path.write_bytes(TORN[torn](b"".join(held[:cut]), held[cut]))
    answers.asked.clear()
    done = shard(suite, 0)
    assert done.code == 0, done
    assert answers.counts() == {"c2#t0": 1}
    names = sorted(found.name for found in (tmp_path / "results").glob("*.jsonl"))
    assert names == ["shard-0000.attempt-1.jsonl", "shard-0000.attempt-2.jsonl"]
    card = decided(finish(suite), suite, code=1)
    assert card["counts"] | {"scored": 3, "missing": 0, "conflicts": 0} == card["counts"]
    assert cli("verify", suite.out, cwd=tmp_path).code == 0


@pytest.mark.parametrize(
    "where", ["glued", "torn in the middle", "zeros in the middle", "torn letter"]
)
def test_b106__damage_before_the_end_is_refused(two: Suite, where: str) -> None:
    """B106: no writer of ours leaves that; by `shard`, by `finish` and in a bundle, with its line."""
    path = two.folder / "results" / "shard-0000.attempt-1.jsonl"
    held = path.read_bytes().splitlines(keepends=True)
    held[2] = {
        "glued": held[2][:30],
        "torn in the middle": held[2][:30] + b"\n",
        "zeros in the middle": b"\0" * 64 + b"\n",
        "torn letter": held[2].replace(b'"case"', b'"caf\xc3"'),
    }[where]
    path.write_bytes(b"".join(held))
    refused(two, finish(two), f"{path.name}:3: ")
    again = shard(two, 0)
    assert again.code == 4, again
    assert path.name in again.err


def test_b106__bundle_with_a_torn_file_is_no_pass(two: Suite) -> None:
    """B106: a file cut off after the decision contradicts the manifest."""
    decided(finish(two), two, code=1)
    path = two.out / "results" / "shard-0000.attempt-1.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    assert cli("verify", two.out, cwd=two.folder).code == 4
    assert scorecard(two.out)["verdict"] == "block"
