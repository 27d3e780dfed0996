"""JUnit, SARIF and CSV in a bundle: what other programs read is what was decided (issue 6, item 3)."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import junitparser
import pytest
import xmlschema

from tests.e2e.forge import edit, seal
from tests.e2e.suites import Answers, document, http_suite, lines, python_suite, scorecard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.e2e.program import Program
    from tests.e2e.suites import Asked, Suite

NAME = "cases #1 [ä] 100%.jsonl"
"""A dataset whose name is no URI as it stands."""
NEW = ("results.sarif", "results.csv")
SECRET_WORDS = "=cmd the words of the model"
JUNIT = Path(__file__).parents[1] / "unit/scorecard/junit.xsd"


def reply(asked: Asked) -> tuple[int, Any]:
    if asked.question == "q1":
        return 500, {"error": f"{SECRET_WORDS} in an error"}
    if asked.question in ("q2", "q3"):
        return 200, {"answer": f"{SECRET_WORDS} \x1b[31m]]>"}
    return 200, {"answer": asked.question.upper()}


def made(folder: Path, answers: Answers, **changes: Any) -> Suite:
    """Right, no answer, wrong, wrong and in quarantine, not applicable; a refusal, a block that is waived."""
    answers.reply = reply
    config = {
        "judges": [
            {"id": "exact", "type": "exact", "when": {"tags": ["judged"]}},
            {"id": "says", "type": "contains", "value": "Q"},
        ],
        "gates": [
            {"id": "quality", "metric": "exact", "min": 0.9},
            {"id": "says-q", "metric": "says", "cases": {"tags": ["whole"]}, "require": "all"},
            {"id": "fast", "metric": "latency_ms", "cases": {"tags": ["whole"]}, "stat": "max", "max": 60_000},
        ],
        "quarantine": [{"case": "c3", "owner": "search", "reason": "it flickers", "until": "2999-12-31"}],
        "waivers": [{"gate": "says-q", "who": "A. Reviewer", "why": "known", "until": "2999-12-31"}],
    } | changes  # fmt: skip
    suite = http_suite(folder, answers, 5, **config)
    for number, case in enumerate(suite.cases):
        case["tags"] = (["judged"] if number < 4 else []) + (["whole"] if number != 1 else [])
    suite.write(cases=[{"path": "cases*.jsonl"}])
    (folder / "cases.jsonl").rename(folder / NAME)
    return suite


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory, program: Program) -> Iterator[Path]:
    """A decided run; copy it before harming it."""
    folder = tmp_path_factory.mktemp("reports")
    with Answers() as answers:
        suite = made(folder, answers)
        done = program("run", suite.path, "--final", cwd=folder)
        assert done.code == 1, done
        yield suite.out


def rows_of(out: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((out / "results.csv").read_text("utf-8"), newline="")))


def test_csv__has_every_value_of_the_results(bundle: Path) -> None:
    """B36: what is missing is empty and says why, a number is the same number, and no text is a formula."""
    found = iter(rows_of(bundle))
    for row in lines(bundle / "results.jsonl"):
        for judge, cell in row["scores"].items():
            one = next(found)
            assert (one["case"], one["judge"], one["state"]) == (row["case"], judge, cell["state"])
            for written, value in (
                (one["value"], cell["value"]), (one["latency_ms"], row["latency_ms"]), (one["tokens"], row["usage"]["tokens"]),
            ):  # fmt: skip
                assert (None if written == "" else float(written)) == value
            assert (
                one["passed"] == {True: "true", False: "false", None: ""}[row["passed"].get(judge)]
            )
            assert not any(text.startswith(tuple("=+-@")) for text in one.values())
            assert (one["source"], int(one["line"])) == (NAME, int(row["case"][1:]) + 1)
    assert next(found, None) is None


def test_junit__tells_everything_apart(bundle: Path) -> None:
    """B107: it fits the schema and `junitparser` reads what the scorecard counts."""
    xmlschema.XMLSchema(JUNIT).validate(bundle / "junit.xml")
    cases, gates = junitparser.JUnitXml.fromfile(str(bundle / "junit.xml"))
    ended = {(test.classname, test.name): type(test.result[0]).__name__ if test.result else "Passed"
             for suite in (cases, gates) for test in suite}  # fmt: skip
    assert ended == {
        ("small.exact", "c0"): "Passed", ("small.exact", "c1"): "Error", ("small.exact", "c2"): "Failure",
        ("small.exact", "c3"): "Failure", ("small.exact", "c4"): "Skipped",
        ("small.says", "c0"): "Passed", ("small.says", "c1"): "Error", ("small.says", "c2"): "Failure",
        ("small.says", "c3"): "Failure", ("small.says", "c4"): "Passed",
        ("small.gates", "quality"): "Error", ("small.gates", "says-q"): "Skipped", ("small.gates", "fast"): "Passed",
    }  # fmt: skip


def test_sarif__points_into_the_dataset_and_says_how_it_ended(bundle: Path) -> None:
    (run,) = document(bundle / "results.sarif")["runs"]
    (invocation,) = run["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (True, 1)
    found = [
        (one["ruleId"], one["properties"].get("case"), one["level"], "suppressions" in one)
        for one in run["results"]
    ]
    assert found == [
        ("gate/quality", None, "error", False),
        ("judge/exact", "c2", "error", False),
        ("judge/says", "c2", "error", False),
        ("judge/exact", "c1", "warning", False),
        ("judge/says", "c1", "warning", False),
        ("gate/says-q", None, "note", True),
        ("judge/exact", "c3", "note", True),
        ("judge/says", "c3", "note", True),
    ]
    place = run["results"][1]["locations"][0]["physicalLocation"]
    assert unquote(place["artifactLocation"]["uri"]) == NAME
    assert place["region"] == {"startLine": 3}
    assert (
        run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        == "releasecheck.yaml"
    )


def test_verify__vouches_for_both(bundle: Path, program: Program, tmp_path: Path) -> None:
    manifest = document(bundle / "manifest.json")
    assert set(NEW) <= set(manifest["files"])
    assert program("verify", bundle, cwd=tmp_path).code == 0


def _less(out: Path) -> None:
    path = out / "results.csv"
    path.write_bytes(path.read_bytes().replace(b",false,", b",true,", 1))


def _greener(out: Path) -> None:
    path = out / "results.sarif"
    path.write_bytes(path.read_bytes().replace(b'"exitCode":1', b'"exitCode":0'))


@pytest.mark.parametrize(
    ("harm", "name"),
    [
        (_less, "results.csv"),
        (_greener, "results.sarif"),
        (lambda out: (out / "results.csv").unlink(), "results.csv"),
        (lambda out: (out / "results.sarif").unlink(), "results.sarif"),
    ],
    ids=["less", "greener", "no-csv", "no-sarif"],
)
def test_verify__sees_what_was_changed(
    bundle: Path, program: Program, tmp_path: Path, harm: Callable[[Path], None], name: str
) -> None:
    """B104: with the digest of what was changed in the manifest, and even in one of another version."""
    out = tmp_path / "out"
    shutil.copytree(bundle, out)
    harm(out)
    seal(out)
    done = program("verify", out, cwd=tmp_path)
    assert done.code == 4, done
    assert name in done.out + done.err
    if (out / name).exists():
        edit(
            out / "manifest.json",
            lambda found: found["environment"].update(finished_by="releasecheck/0.0.1"),
        )
        done = program("verify", out, cwd=tmp_path)
        assert done.code == 4, done
        assert f"{name}: " in done.out + done.err


def test_older_bundle__verifies_without_them_and_gets_them_when_purged(
    bundle: Path, program: Program, tmp_path: Path
) -> None:
    """A version that wrote neither vouched for neither."""
    out = tmp_path / "out"
    shutil.copytree(bundle, out)
    for name in NEW:
        (out / name).unlink()
    seal(out)
    edit(
        out / "manifest.json",
        lambda found: found["environment"].update(finished_by="releasecheck/0.0.1"),
    )
    done = program("verify", out, cwd=tmp_path)
    assert done.code == 0, done
    assert program("purge", out, "--yes", cwd=tmp_path).code == 0
    assert set(NEW) <= set(document(out / "manifest.json")["files"])
    assert program("verify", out, cwd=tmp_path).code == 0
    for name in NEW:
        assert SECRET_WORDS.encode() not in (out / name).read_bytes()
    assert Counter(row["state"] for row in rows_of(out)) == Counter(
        row["state"] for row in rows_of(bundle)
    )


def test_store_outputs_none__keeps_no_words_in_them(
    program: Program, answers: Answers, tmp_path: Path
) -> None:
    suite = made(tmp_path, answers, store_outputs="none")
    done = program("run", suite.path, "--final", cwd=tmp_path)
    assert done.code == 1, done
    for name in (*NEW, "junit.xml"):
        assert SECRET_WORDS not in (suite.out / name).read_text("utf-8")
    assert scorecard(suite.out)["counts"]["pairs"] == len(rows_of(suite.out)) == 10


def test_hostile_results__every_file_reads_back(program: Program, tmp_path: Path) -> None:
    """B107's own inputs, as answers, names and expected texts of one run."""
    texts = [
        "\x00", "\x1b[31mred\x1b[0m", "\x08\x0b\x0c\x1f", "\ufffe\uffff", "\ud800", "]]>", "<failure>&amp;&#0;",
        "a\r\nb\tc", "\u0085\u2028", "\U0001f600", "x" * 300_000,
    ]  # fmt: skip
    suite = python_suite(
        tmp_path, len(texts), 'return json.load(open(HERE / "said.json"))[int(case["input"][1:])]'
    )
    app = tmp_path / "app.py"
    app.write_text("import json\n" + app.read_text("utf-8"), encoding="utf-8")
    (tmp_path / "said.json").write_text(json.dumps(texts), encoding="utf-8")
    done = program("run", suite.path, cwd=tmp_path)
    assert done.code == 1, done
    xmlschema.XMLSchema(JUNIT).validate(suite.out / "junit.xml")
    cases, gates = junitparser.JUnitXml.fromfile(str(suite.out / "junit.xml"))
    assert (cases.tests, cases.failures, gates.failures) == (len(texts), len(texts), 1)
    assert [row["passed"] for row in rows_of(suite.out)] == ["false"] * len(texts)
    assert len(document(suite.out / "results.sarif")["runs"][0]["results"]) == len(texts) + 1
