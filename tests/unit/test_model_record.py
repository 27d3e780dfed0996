"""Lines of a ledger: what is refused, what is forgiven, and what purging leaves (contract section 4)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from typing_extensions import override

from releasecheck.canonical import MAX_INTEGER, dump_line, parse_json
from releasecheck.errors import CorruptLedger
from releasecheck.model.failure import LONGEST_MESSAGE, Failure, failure
from releasecheck.model.record import (
    FileHeader,
    OutputRecord,
    Record,
    ScoreRecord,
    Usage,
    purge_stable,
    read_record,
)
from releasecheck.model.score import JudgeFailed, NotApplicable, Pending, Scored
from tests.builders import (
    DEADLINE,
    deadline,
    header,
    judge_failed,
    late,
    no_output,
    output,
    score,
)
from tests.strategies import headers, records

END = {"record": "end", "outputs": 0, "scores": 0, "stopped": None, "digest": "x", "at": "y"}
LINES: dict[str, dict[str, Any]] = {
    "shard": header().to_json(),
    "output": output().to_json(),
    "failure": no_output().to_json(),
    "score": score(result=Scored(0.5, "why")).to_json(),
    "pending": score(result=Pending("t")).to_json(),
    "failed": score(result=judge_failed()).to_json(),
    "missing": score(result=DEADLINE).to_json(),
    "not-applicable": score(result=NotApplicable("no")).to_json(),
    "deadline": deadline("exact", "t").to_json(),
    "late": late().to_json(),
    "end": END,
}


@given(records)
def test_read_record__round_trip(record: Record) -> None:
    assert read_record(parse_json(dump_line(record.to_json()), levels=300), "x") == record


@given(headers)
def test_read_record__round_trip_of_headers(found: FileHeader) -> None:
    assert read_record(parse_json(dump_line(found.to_json())), "x") == found


@pytest.mark.parametrize("kind", LINES)
def test_read_record__ignores_fields_of_newer_writers(kind: str) -> None:
    line = LINES[kind]
    assert read_record({**line, "newer": {"a": [1]}}, "x") == read_record(line, "x")


FORGIVEN = {"approved_by", "code", "output", "reason", "latency_ms", "usage", "trace_id", "calls", "notes", "value", "failure", "ticket", "stopped", "output_digest"}  # fmt: skip
"""Keys that some kind of line may lack."""


@pytest.mark.parametrize(
    ("kind", "key"),
    [(kind, key) for kind, line in LINES.items() for key in line if key not in FORGIVEN],
)
def test_read_record__refuses_a_line_that_lacks_a_field(kind: str, key: str) -> None:
    line = {name: value for name, value in LINES[kind].items() if name != key}
    with pytest.raises(
        CorruptLedger, match=rf"^file:7: this line is no ledger record \(no `{key}`\)"
    ):
        read_record(line, "file:7")


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("shard", {"schema": "releasecheck/results@2"}),
        ("shard", {"shard": -1}),
        ("shard", {"shard": "0"}),
        ("shard", {"shards": 0}),
        ("shard", {"attempt": 0}),
        ("shard", {"attempt": 1.0}),
        ("shard", {"attempt": True}),
        ("shard", {"attempt": MAX_INTEGER + 1}),
        ("shard", {"run_id": None}),
        ("shard", {"approved_by": 1}),
        ("shard", {"code": "abc"}),
        ("shard", {"code": {"commit": 3}}),
        ("shard", {"code": {"commit": None, "files": {"a.py": None}}}),
        ("output", {"output_digest": None}),
        ("output", {"trial": -1}),
        ("output", {"trial": None}),
        ("output", {"case": 3}),
        ("output", {"latency_ms": "12"}),
        ("output", {"latency_ms": math.inf}),
        ("output", {"latency_ms": math.nan}),
        ("output", {"latency_ms": True}),
        ("output", {"latency_ms": -0.5}),
        ("output", {"usage": {"cost_usd": -1e-9}}),
        ("score", {"usage": {"cost_usd": -1}}),
        ("output", {"latency_ms": 10**400}),
        ("output", {"usage": {"tokens": -1}}),
        ("output", {"usage": {"tokens": 1.5}}),
        ("output", {"usage": {"cost_usd": "1"}}),
        ("output", {"usage": [1]}),
        ("output", {"calls": 0}),
        ("output", {"notes": "redacted"}),
        ("output", {"notes": [1]}),
        ("failure", {"output_digest": "sha256:x"}),
        ("failure", {"output": "an answer after all"}),
        ("failure", {"failure": {}}),
        ("failure", {"failure": "broken"}),
        ("failure", {"failure": {**LINES["failure"]["failure"], "class": "other"}}),
        ("failure", {"failure": {**LINES["failure"]["failure"], "stage": None}}),
        ("failure", {"failure": {**LINES["failure"]["failure"], "retryable": 1}}),
        ("failure", {"failure": {**LINES["failure"]["failure"], "code": 3}}),
        ("failure", {"failure": {**LINES["failure"]["failure"], "message": ["x"]}}),
        ("score", {"value": None}),
        ("score", {"value": "1"}),
        ("score", {"value": True}),
        ("score", {"value": math.nan}),
        ("score", {"value": math.inf}),
        ("score", {"reason": 3}),
        ("score", {"state": "passed"}),
        ("score", {"state": None}),
        ("score", {"revision": 0}),
        ("score", {"output_digest": None}),
        ("pending", {"value": 1.0}),
        ("pending", {"ticket": None}),
        ("pending", {"ticket": ""}),
        ("failed", {"value": 0.0}),
        ("failed", {"failure": None}),
        ("missing", {"value": 0.0}),
        ("not-applicable", {"value": 1.0}),
        ("deadline", {"tickets": "t"}),
        ("deadline", {"deadline": "tomorrow"}),
        ("deadline", {"deadline": "9999-12-31T23:59:59-14:00"}),
        ("deadline", {"tickets": [1]}),
        ("deadline", {"tickets": None}),
        ("late", {"value": "1"}),
        ("end", {"outputs": -1}),
        ("end", {"digest": None}),
        ("end", {"stopped": 3}),
    ],
    ids=str,
)  # fmt: skip
def test_read_record__refuses_what_no_writer_of_ours_writes(
    kind: str, change: dict[str, Any]
) -> None:
    """S1-08, B59, B61: above all a value beside a state that has none, and a value that is no number."""
    with pytest.raises(CorruptLedger, match=r"^file:7: this line is no ledger record"):
        read_record({**LINES[kind], **change}, "file:7")


@pytest.mark.parametrize(
    "row", [None, [], "output", 3, {}, {"record": None}, {"record": ["output"]}]
)
def test_read_record__refuses_what_is_no_line(row: Any) -> None:
    with pytest.raises(CorruptLedger):
        read_record(row, "file:7")


def test_read_record__a_ticket_was_given_at_some_time() -> None:
    """Its deadline is reckoned from there."""
    with pytest.raises(CorruptLedger, match="`at` is 'today', expected a time"):
        read_record({**LINES["pending"], "at": "today"}, "here")


def test_read_record__asks_for_the_place_only_when_there_is_an_error() -> None:
    class Place:
        asked = 0

        @override
        def __str__(self) -> str:
            self.asked += 1
            return "there"

    place = Place()
    read_record(LINES["score"], place)
    assert place.asked == 0
    with pytest.raises(CorruptLedger, match=r"^there: "):
        read_record({}, place)


@given(records)
def test_purge_stable__is_what_purging_leaves(record: Record) -> None:
    line = record.to_json()
    kept = purge_stable(line)
    assert purge_stable(kept) is kept
    assert kept.get("output") is kept.get("reason") is None
    assert (kept.get("failure") or {}).get("message") is None
    gone = {key for key in line if kept[key] != line[key]}
    assert gone <= {"output", "reason", "failure"}
    read_record(kept, "x")  # still a record


def test_score_record__a_yes_or_no_is_a_number() -> None:
    line = score(result=Scored(value=True)).to_json()
    assert line["value"] == 1.0
    assert type(line["value"]) is float


def test_score_record__the_ticket_of_a_pending_score_is_its_own() -> None:
    line = ScoreRecord("c0", 0, "exact", "d", Pending("t1"), None, Usage(), 1, "at").to_json()
    assert line["ticket"] == "t1"


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_scored__is_finite(number: float) -> None:
    """B59, B61: no comparison ever sees NaN."""
    with pytest.raises(ValueError, match="finite"):
        Scored(number)


@pytest.mark.parametrize(
    ("usage", "written"),
    [
        (Usage(), (None, None)),
        (Usage(0, 0.0), (0, 0.0)),
        (Usage(MAX_INTEGER, 1e9), (MAX_INTEGER, 1e9)),
        (Usage(MAX_INTEGER + 1, math.inf), (None, None)),
        (Usage(MAX_INTEGER + 1, 1.7e308), (None, None)),
        (Usage(1, math.nan), (1, None)),
    ],
)
def test_usage__what_no_reader_keeps_is_not_said(
    usage: Usage, written: tuple[int | None, float | None]
) -> None:
    """A target that reports 1e20 tokens must not make its own ledger unreadable."""
    found = usage.to_json()
    assert (found["tokens"], found["cost_usd"]) == written


@pytest.mark.parametrize("make", [output, no_output])
def test_output_record__has_an_answer_or_a_failure(make: Callable[[], OutputRecord]) -> None:
    record = make()
    assert (record.failure is None) != (record.output_digest is None)


def test_failure__message_is_cut() -> None:
    found = failure("infra", "target", "timeout", "x" * 1000, retryable=True)
    assert found.message is not None
    assert len(found.message) == LONGEST_MESSAGE
    assert found.message.endswith("...")
    assert Failure.from_json(found.to_json()) == found


def test_score_record__a_failure_has_its_code_as_reason() -> None:
    line = score(result=JudgeFailed(failure("judge", "judge", "timeout", "text"))).to_json()
    assert (line["state"], line["reason"], line["value"]) == ("failed", "timeout", None)
