"""Every report is read back and held against the scorecard (B104, B107)."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import pytest

from releasecheck.canonical import dump_document
from releasecheck.errors import Untrusted
from releasecheck.scorecard.badge_svg import render_badge_svg
from releasecheck.scorecard.html import render_html
from releasecheck.scorecard.readback import check_reports
from tests.unit.scorecard import samples
from tests.unit.scorecard.faults import ALL
from tests.unit.scorecard.pages import bundle_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SAMPLES = ("passing", "blocked", "overridden", "inferior", "refused", "empty", "waiting")
GREEN = {
    "schemaVersion": 1,
    "label": "x release check",
    "message": "pass 2026",
    "color": "brightgreen",
}


@pytest.mark.parametrize("name", SAMPLES)
def test_check_reports__agrees_with_what_we_write(name: str) -> None:
    sample: samples.Sample = getattr(samples, name)()
    check_reports(bundle_of(sample), sample.report.scorecard)


def test_check_reports__agrees_whatever_the_texts() -> None:
    sample = samples.hostile(ALL)
    check_reports(bundle_of(sample), sample.report.scorecard)


def test_check_reports__agrees_when_cases_are_left_out_and_bytes_come_in_pieces() -> None:
    sample = samples.refused()
    files = bundle_of(sample)
    page = b"".join(render_html(sample.report, cases=3))

    def pieces(data: bytes) -> Iterator[bytes]:
        for at in range(0, len(data), 7):
            yield data[at : at + 7]

    check_reports(
        {
            "scorecard.html": lambda: pieces(page),
            "results.jsonl": lambda: pieces(files["results.jsonl"]),
            "junit.xml": lambda: pieces(files["junit.xml"]),
            "results.sarif": lambda: pieces(files["results.sarif"]),
            "results.csv": lambda: pieces(files["results.csv"]),
        },
        sample.report.scorecard,
    )


def test_check_reports__agrees_when_the_data_has_not_all_cases() -> None:
    sample = samples.refused()
    page = b"".join(render_html(sample.report, cases=3, held=10))
    assert b"74 more cases not in this page, none worse than those that are" in page
    check_reports({"scorecard.html": page}, sample.report.scorecard)
    more = page.replace(b'data-cases="74"', b'data-cases="75"')
    with pytest.raises(Untrusted, match="cases 85"):
        check_reports({"scorecard.html": more}, sample.report.scorecard)


# What each damage stands for: a merge that forgot a failure, a verdict of another run, half a file.
DAMAGES = [
    ("scorecard.json", rb'"verdict": "block"', b'"verdict": "pass"', "verdict"),
    ("scorecard.json", rb"\}\n$", b"", "no scorecard"),
    ("results.jsonl", rb"\A[^\n]*\n", b"", "trials 83"),
    ("results.jsonl", rb'"scored"', b'"missing"', "scored scores 167"),
    ("results.jsonl", rb"\n\Z", b"", "not complete"),
    ("results.jsonl", rb"\A\{", b"", "line 1 is no result"),
    ("scorecard.html", rb'data-verdict="block"', b'data-verdict="pass"', "verdict"),
    ("scorecard.html", rb'data-exit-code="1"', b'data-exit-code="0"', "exit code"),
    ("scorecard.html", rb'data-outcome="block"', b'data-outcome="pass"', "gates"),
    ("scorecard.html", rb"(?s)<article.*?</article>", b"", "59 articles of cases and says 60"),
    ("scorecard.html", rb'data-scored="2"', b'data-scored="1"', "shows case-2 as"),
    (
        "scorecard.html",
        rb'data-kind="new-failure"',
        b'data-kind="passed"',
        "shows case-2 as ('passed'",
    ),
    ("scorecard.html", rb'(?<=case-data">\[)\{.*?\},(?=\{"n")', b"", "cases 83"),
    ("scorecard.html", rb'"n":1,', b'"n":0,', "its data has case-0 twice"),
    ("scorecard.html", rb'"n":2,', b'"n":84,', "its data has no case-2"),
    ("scorecard.html", rb'"c":\[1,2,0,0,0,0\]', b'"c":[1,1,1,0,0,0]', "it shows case-0 as"),
    ("scorecard.html", rb"(?s)<script[^>]*case-data.*?</script>", b"", "cases 0"),
    ("scorecard.html", rb'"n":0,', b'"n":"",', "cannot be read"),
    ("scorecard.html", rb'\["new-failure"', b'["passed"', "of kinds"),
    ("scorecard.html", rb"</html>\n", b"", "whole page"),
    ("scorecard.html", rb"data-kind", b"\xff", "cannot be read"),
    ("summary.md", rb"<code>block</code>", b"<code>pass</code>", "verdict"),
    ("summary.md", rb"exit code 1\.", b"", "no verdict"),
    ("summary.md", rb"\| 168 \| 168 \|", b"| 168 | 167 |", "scores"),
    ("summary.md", rb"\| \S+ blocked \|", "| ✔ pass |".encode(), "outcomes"),
    ("summary.md", rb"\| \S+ blocked [^\n]*\n", b"", "gates 2"),
    ("summary.md", rb"\| no regression", b"| x | no regression", "number of cells"),
    ("junit.xml", rb"(?s)<failure.*?</failure>", b"", "failures '9'"),
    ("junit.xml", rb"<testcase[^\n]*\n", b"", "tests '168'"),
    ("junit.xml", rb"</testsuites>", b"", "not well-formed"),
    ("junit.xml", rb'name="q001"', b'name="\x00"', "not well-formed"),
    ("junit.xml", rb'failures="10"', b"", "all: failures None"),
    ("junit.xml", rb' type="not passed"', b' type="x"><error', "no 'type'"),
    ("junit.xml", rb'name="docs-search: gates"', b'name="docs-search: doors"', "no suite of gates"),
    ("junit.xml", rb'"verdict" value="block"', b'"verdict" value="pass"', "verdict 'pass'"),
    ("results.csv", rb"q003,[^\n]*exact[^\n]*\n", b"", "scored scores 167"),
    ("results.csv", rb"q003,[^\n]*\nq003,[^\n]*\n", b"", "scored scores 166"),
    ("results.csv", rb",scored,0.0,", b",missing,,", "scored scores 167"),
    ("results.csv", rb",scored,0.0,", b",scored,,", "is scored, and its value is ''"),
    ("results.csv", rb",scored,0.0,", b",scored,nought,", "no CSV file of ours"),
    ("results.csv", rb",scored,0.0,", b",guessed,0.0,", "row 5 has no state"),
    ("results.csv", rb"q003,", b"q003,,", "no CSV file of ours"),
    ("results.csv", rb"\r\n\Z", b"", "not complete"),
    ("results.csv", rb"split", b"\xff", "no CSV file of ours"),
    ("results.csv", rb",judge,", b",who,", "the columns"),
    ("results.csv", rb"(?s)\A.*\Z", b"", "the columns"),
    ("results.sarif", rb'\n[^\n]*"case":"q003"[^\n]*', b"", "results"),
    ("results.sarif", rb'"newFailure":true', b'"newFailure":false', "results"),
    ("results.sarif", rb'"outcome":"block"', b'"outcome":"pass"', "results"),
    ("results.sarif", rb'"not_passed":9', b'"not_passed":8', "results"),
    ("results.sarif", rb'"verdict":"block"', b'"verdict":"pass"', "verdict 'pass'"),
    ("results.sarif", rb'"exitCode":1', b'"exitCode":0', "exit code 0"),
    ("results.sarif", rb'"executionSuccessful":true', b'"executionSuccessful":false', "successful"),
    ("results.sarif", rb'"id":"judge/exact"', b'"id":"judge/other"', "a rule"),
    ("results.sarif", rb'"leftOut":\{\}', b'"leftOut":{"not_passed":1}', "results"),
    ("results.sarif", rb"\}\n\Z", b"", "no JSON"),
    ("results.sarif", rb'"runs":\[', b'"runs":[{},', "no SARIF file of ours"),
    ("results.sarif", rb'"results"', b'"result"', "no SARIF file of ours"),
]
# The scorecard does not count what does not pass, so no damage but these could hide a failure.
FORGOTTEN = [
    ("junit.xml", rb"(?s)<failure.*?</failure>", b"", rb'failures="(9|10)"',
     lambda found: b'failures="%d"' % (int(found[1]) - 1)),
    ("results.csv", rb",scored,0.0,false,", b",scored,0.0,true,", rb"\A", lambda _: b""),
    ("results.sarif", rb'"trials":\{"not_passed":1\}', b'"trials":{}', rb'"not_passed":9',
     lambda _: b'"not_passed":8'),
]  # fmt: skip


WAIVED = [
    ("results.sarif", rb'"overridden":true', b'"overridden":false', "overridden False"),
    ("scorecard.html", rb'data-overridden="yes"', b'data-overridden="no"', "overridden 'no'"),
    ("scorecard.html", rb"page tone-warn", b"page tone-good", "green True"),
    ("scorecard.html", rb'data-waived="yes"', b'data-waived="no"', "waived gates 0"),
    ("scorecard.html", rb"<tr[^>]*data-quarantined[^\n]*\n", b"", "cases in quarantine 0"),
    ("summary.md", rb", overridden by a waiver", b"", "overridden False"),
    ("summary.md", rb"blocked, waived", b"blocked", "outcomes"),
    ("junit.xml", rb'<skipped message="blocked, and[^\n]*</skipped>', b"", "skipped"),
]


@pytest.mark.parametrize(("name", "pattern", "into", "says"), WAIVED)
def test_check_reports__a_waiver_or_quarantine_that_is_not_told_is_an_error(
    name: str, pattern: bytes, into: bytes, says: str
) -> None:
    sample = samples.overridden()
    damaged, times = re.subn(pattern, into, bundle_of(sample)[name], count=1)
    assert times == 1
    with pytest.raises(Untrusted, match=re.escape(says)):
        check_reports({name: damaged}, sample.report.scorecard)


def test_check_reports__a_badge_of_an_overridden_run_says_so() -> None:
    waived = samples.overridden().report.scorecard
    said = {**GREEN, "message": "blocked, waived 2026", "color": "orange"}
    check_reports({"badge.json": dump_document(said)}, waived)
    for badge in ({**said, "message": "blocked 2026"}, GREEN):
        with pytest.raises(Untrusted):
            check_reports({"badge.json": dump_document(badge)}, waived)
    with pytest.raises(Untrusted, match="waived"):
        check_reports({"badge.json": dump_document(said)}, samples.blocked().report.scorecard)


@cache
def _blocked() -> tuple[samples.Sample, dict[str, bytes]]:
    sample = samples.blocked()
    return sample, bundle_of(sample)


@pytest.mark.parametrize(("name", "pattern", "into", "says"), DAMAGES)
def test_check_reports__a_difference_is_an_error(
    name: str, pattern: bytes, into: bytes, says: str
) -> None:
    sample, files = _blocked()
    data = files[name]
    damaged, times = re.subn(pattern, into, data, count=1)
    assert times == 1
    with pytest.raises(Untrusted, match=re.escape(says)) as caught:
        check_reports({name: damaged}, sample.report.scorecard)
    assert caught.value.exit_code == 4
    assert str(caught.value).startswith(f"{name}: ")


@pytest.mark.parametrize(("name", "pattern", "into", "total", "less"), FORGOTTEN)
def test_check_reports__a_forgotten_failure_is_seen_beside_the_results(
    name: str, pattern: bytes, into: bytes, total: bytes, less: Callable[[re.Match[bytes]], bytes]
) -> None:
    """B104: totals that were counted wrongly too agree with their own file, not with `results.jsonl`."""
    sample, files = _blocked()
    damaged = re.sub(total, less, re.sub(pattern, into, files[name], count=1))
    check_reports({name: damaged}, sample.report.scorecard)
    says = f"^{name}: 8 scores in it do not pass, and in results.jsonl there are 9"
    both = {"results.jsonl": files["results.jsonl"], name: damaged}
    with pytest.raises(Untrusted, match=says):
        check_reports(both, sample.report.scorecard)


def test_check_reports__a_badge_has_known_keys_and_is_green_only_for_a_pass() -> None:
    passing, blocked = samples.passing().report.scorecard, samples.blocked().report.scorecard
    files = {"badge.json": dump_document(GREEN), "badge.svg": render_badge_svg(GREEN)}
    check_reports(files, passing)
    for name, data in files.items():
        with pytest.raises(Untrusted, match="verdict"):
            check_reports({name: data}, blocked)
    with pytest.raises(Untrusted, match="run_id"):
        check_reports({"badge.json": dump_document({**GREEN, "run_id": "x"})}, passing)
    with pytest.raises(Untrusted, match="well-formed"):
        check_reports({"badge.svg": b"<svg"}, passing)
    with pytest.raises(Untrusted, match="no text"):
        check_reports({"badge.svg": b"<svg/>"}, passing)


def test_check_reports__an_unknown_file_is_a_defect_of_the_caller() -> None:
    with pytest.raises(ValueError, match=r"notes\.md"):
        check_reports({"notes.md": b""}, samples.passing().report.scorecard)
