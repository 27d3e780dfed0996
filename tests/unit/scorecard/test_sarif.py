"""SARIF: results beside the lines of the dataset, worst first, within the limits of code hosts."""

from __future__ import annotations

import re
import tracemalloc
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic_sarif.model import (  # type: ignore[import-untyped]
    StaticAnalysisResultsFormatSarifVersion210JsonSchema,
)

from releasecheck.canonical import parse_json
from releasecheck.model.case import Source
from releasecheck.model.failure import Failure
from releasecheck.model.results import RowScore, RowView
from releasecheck.scorecard.places import ROOT, place_of_case, place_of_gates
from releasecheck.scorecard.readback import check_reports
from releasecheck.scorecard.report import Report
from releasecheck.scorecard.sarif import MOST_BYTES, MOST_RESULTS, render_sarif
from releasecheck.scorecard.sarif_results import LONGEST_MESSAGE, message_text
from tests.unit.scorecard import samples
from tests.unit.scorecard.faults import ALL

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_SCORE = RowScore("missing", None, "deadline")


def run_of(report: Report) -> dict[str, Any]:
    """The one run of the file."""
    log = parse_json(b"".join(render_sarif(report)))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    return dict(run)


def results(sample: samples.Sample) -> list[dict[str, Any]]:
    return list(run_of(sample.report)["results"])


def told(sample: samples.Sample) -> list[tuple[str, str]]:
    return [(one["ruleId"], one["level"]) for one in results(sample)]


@pytest.mark.parametrize("name", samples.NAMES)
def test_render__fits_the_schema_and_has_what_github_needs(name: str) -> None:
    """B107: whatever the texts; the model is made from the standard's own schema."""
    report = samples.named(name).report
    data = b"".join(render_sarif(report))
    StaticAnalysisResultsFormatSarifVersion210JsonSchema.model_validate_json(data)
    run = run_of(report)
    rules = run["tool"]["driver"]["rules"]
    assert (run["tool"]["driver"]["name"], run["tool"]["driver"]["version"]) == (
        "releasecheck",
        "0.1.0",
    )
    assert [rule["id"] for rule in rules] == [
        *(f"judge/{judge.id}" for judge in report.plan.judges),
        *(f"gate/{gate.id}" for gate in report.scorecard.gates),
    ]
    assert all(
        rule[key]["text"]
        for rule in rules
        for key in ("shortDescription", "fullDescription", "help")
    )
    for one in run["results"]:
        assert one["ruleId"] in {rule["id"] for rule in rules}
        assert len(one["locations"]) == 1
        assert one["message"]["text"]
        assert len(one["message"]["text"]) <= LONGEST_MESSAGE


def test_render__points_at_the_line_of_the_dataset() -> None:
    (gate, case, *_) = results(samples.blocked())
    assert gate["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "releasecheck.yaml", "uriBaseId": ROOT}
    }
    assert case["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "cases/main.jsonl", "uriBaseId": ROOT},
        "region": {"startLine": 3},
    }
    assert case["message"]["text"].startswith(
        "'q003', judge exact: passed in the baseline, and does not pass: 0 (pass mark 1); expected"
    )
    # What was answered may be seen by fewer people than what is uploaded.
    assert "answer" not in case["message"]["text"]


def test_render__levels_say_what_was_measured_worst_first() -> None:
    """A measured no is an error; no measurement, and trials that differ, are warnings; the rest is no result."""
    bad, good = samples.scored(0.0), samples.scored(1.0)
    down = Failure("target", "target", "timeout", True, "no answer within 30 s")
    cells = [
        [NO_SCORE, NO_SCORE], [bad, good], [bad, bad], [good, good], [RowScore("pending", None, None), good],
        [RowScore("not-applicable", None, "no link"), good], [bad, NO_SCORE], [bad, bad], [bad, bad],
        [RowScore("failed", None, "target_failed"), good],
    ]  # fmt: skip
    views = [
        samples.row(samples.case(i), None, {"exact": score}, trial=t, failure=down if score.reason == "target_failed" else None)
        for i, trials in enumerate(cells)
        for t, score in enumerate(trials)
    ]  # fmt: skip
    aside = [
        {
            "case": "q008",
            "judge": "exact",
            "owner": "search",
            "reason": "it flickers",
            "until": "2026-12-31",
        }
    ]
    sample = samples.sample(
        views, samples.plan(trials=2), quarantine=aside, flips={"exact": {"new_failures": ["q009"]}}
    )  # fmt: skip
    found = results(sample)
    assert [(one["properties"]["case"], one["level"], one["properties"]["trials"]) for one in found] == [
        ("q009", "error", {"not_passed": 2}),
        ("q003", "error", {"not_passed": 2}),
        ("q007", "error", {"not_passed": 1, "missing": 1}),
        ("q001", "warning", {"missing": 2}),
        ("q002", "warning", {"not_passed": 1}),
        ("q005", "warning", {"pending": 1}),
        ("q010", "warning", {"failed": 1}),
        ("q008", "note", {"not_passed": 2}),
    ]  # fmt: skip
    assert [one.get("occurrenceCount", 1) for one in found] == [2, 2, 2, 2, 1, 1, 1, 2]
    texts = {one["properties"]["case"]: one["message"]["text"] for one in found}
    assert texts["q002"] == "'q002', judge exact: does not pass in 1 of 2 trials: 0 (pass mark 1)"
    assert texts["q001"] == "'q001', judge exact: no score for 2 of 2 trials: missing; deadline"
    assert texts["q010"].endswith("failed; the target failed (timeout): no answer within 30 s")
    (suppressed,) = [one for one in found if "suppressions" in one]
    assert suppressed["suppressions"] == [
        {"kind": "external", "justification": "quarantine: case 'q008' is left out of gates on exact until "
                                              "2026-12-31: it flickers (owner search)"}
    ]  # fmt: skip
    check_reports({"results.sarif": b"".join(render_sarif(sample.report))}, sample.report.scorecard)


def test_render__gates_that_stand_in_the_way_are_results() -> None:
    outcomes = ("pass", "bootstrap", "not_selected", "not_comparable", "blocked_missing", "block")
    gates = [samples.gate(id=f"g-{i}", outcome=outcome) for i, outcome in enumerate(outcomes)]
    sample = samples.sample(
        [samples.row(samples.case(0))], gates=gates, verdict="block", exit_code=1
    )
    assert told(sample) == [("gate/g-3", "error"), ("gate/g-4", "error"), ("gate/g-5", "error")]


def test_render__a_waived_block_is_a_note_that_says_who_waived_it() -> None:
    gate = results(samples.overridden())[-1]
    assert (gate["ruleId"], gate["level"]) == ("gate/no-worse", "note")
    (why,) = gate["suppressions"]
    assert why["justification"].startswith("no-worse: waived until 2026-09-30 by A. Reviewer")


@pytest.mark.parametrize(
    ("name", "code", "successful"),
    [("passing", 0, True), ("blocked", 1, True), ("overridden", 0, True), ("refused", 2, False),
     ("empty", 2, False), ("waiting", 5, False)],
)  # fmt: skip
def test_render__no_verdict_is_no_success(name: str, code: int, *, successful: bool) -> None:
    """A block is what the program is for; a refusal or an open run is not."""
    run = run_of(samples.named(name).report)
    (invocation,) = run["invocations"]
    assert (invocation["exitCode"], invocation["executionSuccessful"]) == (code, successful)
    notes = [note["message"]["text"] for note in invocation["toolExecutionNotifications"]]
    assert notes[0] == message_text(samples.named(name).report.scorecard.reasons[0])


def test_render__a_part_of_a_suite_does_not_take_the_place_of_the_whole() -> None:
    """A code host closes what a later file of the same category does not name any more."""
    ids = [
        run_of(samples.named(name).report)["automationDetails"]["id"]
        for name in ("passing", "blocked")
    ]
    assert ids[0].rpartition("/")[0] == "releasecheck/docs-search"
    part = replace(samples.empty().report, plan=samples.plan(mode="delta"))
    assert run_of(part)["automationDetails"]["id"].startswith("releasecheck/docs-search/delta/rc-")


def test_render__the_print_of_a_case_stays_when_its_line_or_number_changes() -> None:
    def of(view: RowView) -> dict[str, str]:
        (one,) = results(samples.sample([view]))
        return dict(one["partialFingerprints"])

    bad = {"exact": samples.scored(0.0, "wrong")}
    here = samples.row(samples.case(0), scores=bad)
    moved = samples.row(
        samples.case(0, source=Source("other.jsonl", 99)), "else", {"exact": NO_SCORE}
    )
    other = samples.row(samples.case(1), scores=bad)
    assert of(here) == of(moved) != of(other)
    # The upload action adds the print of the line itself, and warns where it finds another one.
    assert list(of(here)) == ["caseAndJudge/v1"]


def many(number: int, reason: str) -> Report:
    """Failing cases without end, none of them held."""
    base = samples.row(samples.case(0))

    def rows() -> Iterator[RowView]:
        for i in range(number):
            of = msgspec.structs.replace(base.case, id=f"c{i:05}", index=i)
            scores = {"exact": samples.scored(0.0, f"{i} {reason}"), "top5": NO_SCORE}
            yield RowView(replace(base.row, case=of.id, scores=scores, passed={"exact": False}), of)

    counts = {
        "cases": number, "trials": number, "pairs": 2 * number, "scored": number,
        "not_applicable": 0, "failed": 0, "missing": number,
    }  # fmt: skip
    gates = [samples.gate(outcome="block")]
    card = samples.scorecard([base], counts=counts, verdict="block", exit_code=1, gates=gates)
    return Report(card, samples.plan(), rows)


def test_render__what_is_too_much_is_left_out_and_counted_the_least_first() -> None:
    report = many(60, "wrong")
    data = b"".join(render_sarif(report, most=100))
    run = parse_json(data)["runs"][0]
    assert [one["level"] for one in run["results"]] == ["error"] * 61 + ["warning"] * 39
    assert run["properties"]["leftOut"] == {"results": 21, "missing": 21}
    last = run["invocations"][0]["toolExecutionNotifications"][-1]
    assert last["message"]["text"].startswith("21 results of less weight left out")
    check_reports({"results.sarif": data}, report.scorecard)


def test_render__memory_does_not_grow_with_cases_and_bytes_are_bounded() -> None:
    """B119. GitHub takes 10 MB after gzip and 25,000 results; nothing grows by compressing it."""
    assert MOST_BYTES + 500_000 < 10_000_000
    assert MOST_RESULTS <= 5000
    report = many(2000, "\u8a9e" * 4000)
    tracemalloc.start()
    try:
        data = b"".join(render_sarif(report, longest=300_000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 290_000 < len(data) < 320_000
    assert peak < 2_000_000
    left_out = parse_json(data)["runs"][0]["properties"]["leftOut"]
    assert left_out["missing"] == 2000
    assert left_out["results"] == 2000 + left_out["not_passed"]
    check_reports({"results.sarif": data}, report.scorecard)


@given(name=st.text(min_size=1, max_size=60))
@example("a b#c?d%e.jsonl")
@example("https://evil.example/x")
@example("C:\\x\\y.jsonl")
@example("//evil.example/x")
@example("\ud800")
@example("..")
@example("a/../../b")
def test_place__a_name_is_a_path_in_a_checkout_and_nothing_else(name: str) -> None:
    """B107: whatever a file is called, it is no host, no scheme, no query, and no other file."""
    place = place_of_case(samples.plan(), Source(name, 3))
    assert re.fullmatch(r"[A-Za-z0-9_.~%/:-]+", place.uri)
    parts = urlsplit(place.uri)
    assert (parts.scheme or "file", parts.netloc, parts.query, parts.fragment) == (
        "file",
        "",
        "",
        "",
    )
    assert (parts.scheme == "") == (not name.startswith("/"))
    if place.inside:
        assert ".." not in unquote(parts.path).split("/")
        assert place.to_json()["artifactLocation"]["uriBaseId"] == ROOT


def test_place__is_below_the_folder_that_the_plan_was_made_in() -> None:
    plan = samples.plan(root={"from_cwd": "evals/search", "config": "rc.yaml"})
    assert place_of_case(plan, Source("cases/a b.jsonl", 7)).uri == "evals/search/cases/a%20b.jsonl"
    assert place_of_case(plan, Source("../shared/x.csv", 7)).uri == "evals/shared/x.csv"
    assert place_of_gates(plan).uri == "evals/search/rc.yaml"
    outside = place_of_case(plan, Source("../../../x.csv", 7))
    assert (outside.uri, outside.inside) == ("../x.csv", False)
    assert "uriBaseId" not in outside.to_json()["artifactLocation"]
    # Rules from another checkout are shown where a reader of this one finds them.
    elsewhere = samples.plan(policy_root={"from_cwd": "../base", "config": "rc.yaml"})
    assert place_of_gates(elsewhere).uri == "releasecheck.yaml"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("[click](https://evil.example)", r"[click\](https://evil.example)"),
        ("{0} and {12}", "{{0}} and {{12}}"),
        ('{"a": [1]}', '{"a": [1]}'),
        ("\x1b[31mred\u202e", r"\e[31mred\u{202e}"),
    ],
)
def test_message__is_no_link_and_no_placeholder(words: str, text: str) -> None:
    assert message_text(words) == text


def test_message__of_every_hostile_text_is_bounded() -> None:
    for text in ALL:
        assert len(message_text(text)) <= LONGEST_MESSAGE
        assert "](" not in message_text(text).replace(r"\](", "")
