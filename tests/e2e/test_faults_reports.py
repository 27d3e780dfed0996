"""Real-world faults of reports, through the command line (fault catalogue, section 9: B107 to B125).

What a model says is quoted in five reports and a log; here one run says all of it at once. The surface of
Actions has its own files: B110, B115 and B116 in `test_action_hostile.py`, B124 in `test_workflow_files.py`
(no expression in a script) and below, B125 in `test_forks.py`, B122 in `test_secrets.py`.
"""

from __future__ import annotations

import csv
import io
import json
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from junitparser import JUnitXml
from markdown_it import MarkdownIt

from releasecheck.model.scorecard import Scorecard
from releasecheck.scorecard.readback import check_reports
from tests.e2e.faulty import asks, cli, decided, python, suite_of
from tests.e2e.suites import document
from tests.unit.scorecard.faults import ALL, COMMANDS, CONTROL, FENCES, LABELS, MARKDOWN, MARKUP

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.program import Done
    from tests.e2e.site import Site
    from tests.e2e.suites import Suite

TEXTS = [text for text in ALL if len(text) < 1000]
SAY = """
here = os.path.dirname(__file__)
with open(os.path.join(here, "said.json")) as file:
    text = json.load(file)[int(case["id"][1:])]
print(text)
return text
"""
JUDGE = """
def judge(ask):
    return {"value": 0, "reason": ask["output"]}
"""
ACTIVE = re.compile(
    r"<script>alert|<img|<meta http-equiv=refresh|href=.?javascript:", re.IGNORECASE
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Suite, Done]:
    """A run in which every text of the catalogue is input, expected, answer and reason at once."""
    folder = tmp_path_factory.mktemp("hostile") / "suite"
    folder.mkdir()
    (folder / "said.json").write_text(json.dumps(TEXTS), encoding="utf-8")  # ASCII, escapes and all
    (folder / "judging.py").write_text(JUDGE, encoding="utf-8")
    cases = [
        case | {"metadata": {"note": case["input"]}, "tags": ["a|b", "<b>"]}
        for case in asks(*(f"say {text}" for text in TEXTS), expected="never")
    ]
    suite = suite_of(
        folder,
        cases,
        python(folder, SAY.strip()),
        {"id": "exact", "type": "exact"},
        {"id": "said", "type": "python", "function": "judging:judge", "pass_at": 1},
    )
    return suite, cli("run", suite.path, "--out", suite.out, cwd=folder)


def test_hostile_run__every_report_says_what_the_scorecard_says(
    hostile: tuple[Suite, Done],
) -> None:
    """B104, B107, B112, B113: whatever was said, the counts of each report are those of the verdict."""
    suite, done = hostile
    card = decided(done, suite, code=1)
    assert card["counts"]["scored"] == 2 * len(TEXTS)
    found = {path.name: path.read_bytes() for path in suite.out.iterdir() if path.is_file()}
    reports = {
        name: found[name]
        for name in found
        if name.startswith(("scorecard.", "results.", "summary", "junit"))
    }
    check_reports(reports, Scorecard.model_validate(card))
    assert cli("verify", suite.out, cwd=suite.folder).code == 0


def test_b107__junit_is_xml_and_names_every_failure(hostile: tuple[Suite, Done]) -> None:
    """B107: control characters, lone surrogates and `]]>` leave the file well-formed, and nothing is lost."""
    suite, _ = hostile
    text = (suite.out / "junit.xml").read_text("utf-8")
    assert ET.fromstring(text).tag == "testsuites"  # noqa: S314 - our own report
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", text)
    read = JUnitXml.fromstring(text.encode())
    assert (read.tests, read.failures) == (2 * len(TEXTS) + 1, 2 * len(TEXTS) + 1)
    assert r"\e[31m" in text, "an unseen character stays visible as an escape"


def test_b112_b113__the_summary_keeps_its_tables_and_fences(hostile: tuple[Suite, Done]) -> None:
    suite, _ = hostile
    text = (suite.out / "summary.md").read_text("utf-8")
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    headings = [
        tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"
    ]
    assert not [heading for heading in headings if "PASSED" in heading]
    rows = [
        [token.type for token in tokens[start:]].index("tr_close") // 3
        for start, token in enumerate(tokens)
        if token.type == "tr_open"
    ]
    assert len(set(rows)) <= 4, "tables of the page, each with the cells of its header"
    inline = [child.type for token in tokens for child in token.children or ()]
    assert "image" not in inline
    assert "link_open" not in inline
    assert not re.search(r"@octocat|@everyone", text)


def test_reports__nothing_said_becomes_part_of_the_page(hostile: tuple[Suite, Done]) -> None:
    """G-25: markup in an answer is text in HTML, SVG and Markdown."""
    suite, _ = hostile
    page = (suite.out / "scorecard.html").read_text("utf-8")
    assert not ACTIVE.search(page)
    assert page.count("</html>") == 1
    assert page.count("<main") == 1
    assert "49 {% raw %}" not in page, "a template in a text is never rendered"


def test_b115__a_log_obeys_nothing_that_was_said(hostile: tuple[Suite, Done]) -> None:
    """B115: stdout and stderr hold no workflow command, whatever the target prints."""
    _, done = hostile
    for line in (done.out + done.err).splitlines():
        assert not re.match(r"\s*(::|##\[)", line), line
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f]", done.out + done.err)


def test_csv__every_row_has_its_cells_and_no_formula(hostile: tuple[Suite, Done]) -> None:
    suite, _ = hostile
    table = list(
        csv.reader(io.StringIO((suite.out / "results.csv").read_bytes().decode("utf-8-sig")))
    )
    assert {len(row) for row in table} == {len(table[0])}
    assert len(table) == 1 + 2 * len(TEXTS)
    numbers = re.compile(r"-?\d+(\.\d+)?(e[-+]?\d+)?")
    assert not [
        cell
        for row in table
        for cell in row
        if cell[:1] in tuple("=+-@\t\r") and not numbers.fullmatch(cell)
    ]


def test_b109__a_thousand_failures_fit_a_summary(tmp_path: Path) -> None:
    """B109, B110: the worst run still has a summary, far from a mebibyte, that counts what it leaves out."""
    cases = [
        {"id": f"c{n:05}", "input": "überprüfung " * 4, "expected": "é" * 900} for n in range(1000)
    ]
    suite = suite_of(
        tmp_path, cases, python(tmp_path, 'return "é" * 150', concurrency=32), batch=500,
        store_outputs="full",
    )  # fmt: skip
    card = decided(cli("run", suite.path, cwd=tmp_path), suite, code=1)
    assert card["counts"]["scored"] == 1000
    data = (suite.out / "summary.md").read_bytes()
    assert len(data) < 900 * 1024
    assert data.startswith("## ✖ Blocked".encode())
    assert re.search(rb"and 950 more to look at", data)


@pytest.mark.parametrize("name", ["R&D <core>", 'quality "gate"', "</text><script>alert(1)</script>", "日本語ラベル",
                                  "nightly 18:11:14 http://10.0.0.1:1234/v1 | model=a/b?x*", "con."])  # fmt: skip
def test_b118_b121__a_name_for_no_badge_and_no_file(tmp_path: Path, name: str) -> None:
    """B118, B121: a suite's name stands in badges and file names, so that one which cannot is refused by its line."""
    suite = suite_of(tmp_path, asks("x"), python(tmp_path, 'return "x"')).write(suite=name)
    done = cli("run", suite.path, cwd=tmp_path)
    assert done.code == 3
    assert "suite" in done.err
    assert not suite.out.exists()


def test_b118__the_badge_is_xml_and_says_itself(hostile: tuple[Suite, Done]) -> None:
    suite, _ = hostile
    svg = ET.fromstring((suite.out / "badge.svg").read_text("utf-8"))  # noqa: S314 - our own badge
    assert svg.tag.endswith("svg")
    assert "local run" in "".join(svg.itertext())
    assert document(suite.out / "badge.json")["color"] == "lightgrey"


@pytest.mark.soak
def test_b119__a_run_too_big_for_its_own_report(tmp_path: Path) -> None:
    """B119: 6,000 answers of 8,000 characters; the page holds what fits, and says what it leaves out."""
    cases = [{"id": f"c{n:05}", "input": "p" * 4000, "expected": "o" * 8000} for n in range(6000)]
    body = 'return "o" * 8000 if int(case["id"][1:]) % 50 else "x"'
    suite = suite_of(tmp_path, cases, python(tmp_path, body, concurrency=32), batch=500)
    card = decided(cli("run", suite.path, cwd=tmp_path), suite, code=0)
    assert card["counts"]["scored"] == 6000
    assert (suite.out / "scorecard.html").stat().st_size < 40_000_000
    assert cli("verify", suite.out, cwd=tmp_path).code == 0


@pytest.mark.parametrize(
    "value",
    [
        'suite.yaml"; echo INJECTED > {mark}; "',
        "$(touch {mark}).yaml",
        "a b/`touch {mark}`.yaml",
        "x\n::error::boo",
    ],
)
def test_b124__an_input_is_never_a_script(site: Site, tmp_path: Path, value: str) -> None:
    """B124: what is passed as `config` reaches the program as one argument and no shell."""
    mark = tmp_path / "injected"
    play = site.push(config=value.replace("{mark}", str(mark)))
    ran = play.attempt()
    assert not mark.exists()
    assert ran["plan"].result == "failure"
    # One annotation of ours may quote it, escaped; nothing else is obeyed.
    assert [one.name for one in ran["plan"].commands] == ["error"], ran["plan"].log
    assert ran["plan"].commands[0].data.strip() != "boo"


def test_catalogue__texts_of_every_kind_were_said() -> None:
    """The texts above come from all parts of the catalogue's section."""
    for group in (CONTROL, MARKDOWN, FENCES, MARKUP, COMMANDS, LABELS):
        assert set(group) & set(TEXTS)
