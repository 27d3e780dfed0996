"""JUnit as dashboards read it: failure, error and skipped told apart, always well-formed (B104, B107)."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import junitparser
import msgspec
import pytest
import xmlschema

from releasecheck.model.failure import Failure
from releasecheck.model.results import RowScore, RowView
from releasecheck.scorecard.escape import visible
from releasecheck.scorecard.junit import render_junit
from releasecheck.scorecard.report import Report
from tests.unit.scorecard import samples
from tests.unit.scorecard.faults import ALL, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def parsed(sample: samples.Sample) -> list[junitparser.TestSuite]:
    """The two suites, as junitparser reads them."""
    data = b"".join(render_junit(sample.report))
    return list(junitparser.JUnitXml.fromstring(data))


@cache
def schema() -> xmlschema.XMLSchema:
    """What readers of JUnit files take."""
    return xmlschema.XMLSchema(Path(__file__).with_name("junit.xsd"))


def kinds(suite: junitparser.TestSuite) -> Counter[str]:
    """How its tests ended."""
    found: Counter[str] = Counter()
    for test in suite:
        found[type(test.result[0]).__name__ if test.result else "Passed"] += 1
    return found


def test_render_junit__tells_states_apart() -> None:
    of = samples.case(0)
    timeout = Failure("target", "target", "timeout", True, "no answer within 30 s")
    views = [
        samples.row(of, "a", {"exact": samples.scored(1.0), "top5": samples.scored(0.7)}),
        samples.row(
            samples.case(1), "b", {"exact": samples.scored(0.0, "differs"), "top5": RowScore("not-applicable", None, "x")}
        ),
        samples.row(
            samples.case(2), "c",
            {"exact": RowScore("failed", None, "exit_code: 3"), "top5": RowScore("missing", None, "deadline")},
        ),
        samples.row(
            samples.case(3), None,
            {"exact": RowScore("failed", None, "target_failed"), "top5": RowScore("pending", None, None)},
            failure=timeout,
        ),
    ]  # fmt: skip
    cases, _ = parsed(samples.sample(views))
    assert kinds(cases) == {"Passed": 2, "Failure": 1, "Skipped": 1, "Error": 4}
    assert (cases.tests, cases.failures, cases.errors, cases.skipped) == (8, 1, 4, 1)
    by_name = {(test.classname, test.name): test for test in cases}
    plain = by_name["docs-search.top5", "q001"]
    assert plain.system_out == "value 0.7"
    failure = by_name["docs-search.exact", "q002"].result[0]
    assert failure.message == "0 does not pass (pass mark 1)"
    assert "reason: differs" in str(failure.text)
    lost = by_name["docs-search.exact", "q004"].result[0]
    assert lost.message == "the target failed (timeout): no answer within 30 s"
    assert [by_name["docs-search.top5", name].result[0].type for name in ("q003", "q004")] == [
        "missing",
        "pending",
    ]
    assert by_name["docs-search.exact", "q003"].result[0].message == "failed: exit_code: 3"


def test_render_junit__one_test_for_each_gate() -> None:
    outcomes = {
        "block": "Failure", "blocked_missing": "Error", "not_comparable": "Error",
        "bootstrap": "Skipped", "not_selected": "Skipped", "pass": "Passed",
    }  # fmt: skip
    gates = [
        samples.gate(id=f"g-{outcome}".replace("_", "-"), outcome=outcome) for outcome in outcomes
    ]
    views = [samples.row(samples.case(0))]
    _, suite = parsed(samples.sample(views, gates=gates, verdict="block", exit_code=1))
    assert [type(t.result[0]).__name__ if t.result else "Passed" for t in suite] == list(
        outcomes.values()
    )
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (6, 1, 2, 2)


def test_render_junit__a_waived_block_is_no_failure_and_no_pass() -> None:
    cases, gates = parsed(samples.overridden())
    by_name = {test.name: test for test in gates}
    (waived,) = by_name["no-worse"].result
    assert isinstance(waived, junitparser.Skipped)
    assert waived.message.startswith(
        "blocked, and waived until 2026-09-30 by A. Reviewer: the index"
    )
    assert not by_name["quality"].result
    assert (gates.failures, gates.skipped) == (0, 1)
    # What was measured of the cases is told as ever.
    assert cases.failures == 9


def test_render_junit__a_failing_case_in_quarantine_says_so() -> None:
    aside = [{"case": "q003", "owner": "search", "reason": "it flickers", "until": "2026-12-31"}]
    cases, _ = parsed(samples.overridden(aside))
    told = {t.name: t.result[0].message for t in cases if t.result}
    assert told["q003"].endswith(
        "quarantine: case 'q003' is left out of every gate until 2026-12-31: it flickers (owner search)"
    )
    assert "quarantine" not in told["q006"]


def test_render_junit__names_are_unique_and_hold_the_trial() -> None:
    of = samples.case(0)
    views = [samples.row(of, trial=trial) for trial in range(3)]
    cases, _ = parsed(samples.sample(views, samples.plan(trials=3)))
    names = [(test.classname, test.name) for test in cases]
    assert len(names) == len(set(names)) == 6
    assert names[0] == ("docs-search.exact", "q001 [trial 0]")


@pytest.mark.parametrize("text", ALL, ids=name_of)
def test_render_junit__hostile_text_is_text(text: str) -> None:
    """B107, B40: junitparser reads it back, with every character or its visible escape."""
    sample = samples.hostile([text, "two", "three", text + "!"])
    cases, gates = parsed(sample)
    assert kinds(cases) == {"Failure": 3, "Skipped": 4, "Error": 1}
    assert kinds(gates) == {"Failure": 4}
    assert next(iter(cases)).name == visible(samples.case(0, id=sample.views[0].case.id).id)


def test_render_junit__the_totals_of_the_whole_file() -> None:
    data = b"".join(render_junit(samples.refused().report))
    whole = junitparser.JUnitXml.fromstring(data)
    assert (whole.tests, whole.failures, whole.errors) == (170, 0, 8)


@pytest.mark.parametrize("name", samples.NAMES)
def test_render_junit__fits_the_schema_and_counts_what_the_scorecard_counts(name: str) -> None:
    """B104, B107: read by `junitparser`, cases and gates add up to the scorecard's."""
    sample = samples.named(name)
    data = b"".join(render_junit(sample.report))
    schema().validate(data.decode("utf-8"))
    cases, gates = junitparser.JUnitXml.fromstring(data)
    counts = sample.report.scorecard.counts
    found = kinds(cases)
    assert sum(found.values()) == cases.tests == counts.pairs
    assert found["Passed"] + found["Failure"] == counts.scored
    assert found["Skipped"] == cases.skipped == counts.not_applicable
    assert found["Error"] == cases.errors == counts.failed + counts.missing + counts.pending
    assert gates.tests == len(list(gates)) == len(sample.report.scorecard.gates)
    said = {one.name: one.value for one in cases.properties()}  # type: ignore[no-untyped-call]
    assert said["verdict"] == (sample.report.scorecard.verdict or "waiting")


def test_schema__takes_no_root_with_skipped_and_no_test_that_ends_twice() -> None:
    """Jenkins' schema has no `skipped` there, and readers differ in what they make of two results."""
    data = b"".join(render_junit(samples.refused().report)).decode("utf-8")
    for what, into in (
        ("<testsuites ", '<testsuites skipped="0" '),
        ("<error ", "<skipped/><error "),
    ):
        assert not schema().is_valid(data.replace(what, into, 1))


def test_render_junit__memory_does_not_grow_with_outputs() -> None:
    """B119."""
    base = samples.row(samples.case(0))

    def rows() -> Iterator[RowView]:
        for i in range(3000):
            of = msgspec.structs.replace(base.case, id=f"c{i:05}", index=i)
            scores = {"exact": samples.scored(0.0, f"{i} " + "r" * 4000)}
            failed = {"exact": False}
            yield RowView(
                replace(
                    base.row, case=of.id, output=f"{i} " + "o" * 8000, scores=scores, passed=failed
                ),
                of,
            )

    report = Report(samples.scorecard([base]), samples.plan(), rows)
    tracemalloc.start()
    try:
        size = sum(len(piece) for piece in render_junit(report))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size > 10_000_000
    assert peak < 2_000_000
