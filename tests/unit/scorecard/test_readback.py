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
    from collections.abc import Iterator

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
        },
        sample.report.scorecard,
    )


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
    ("scorecard.html", rb"(?s)<article.*?</article>", b"", "cases 83"),
    ("scorecard.html", rb'data-scored="2"', b'data-scored="1"', "scored scores 167"),
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
]


WAIVED = [
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
