"""Durations, sizes and rates; the identity of cases, plans and results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from pydantic import ValidationError

from releasecheck.canonical import digest as digest_of
from releasecheck.errors import UsageError
from releasecheck.model.base import (
    duration_words,
    parse_duration,
    parse_rate,
    parse_size,
    require_schema,
)
from releasecheck.model.case import Case, Source
from releasecheck.model.judge import ExactJudge, SimilarityJudge, pass_mark, value_passes
from releasecheck.model.plan import DECIDING, DECIDING_SINCE, plan_digest
from releasecheck.model.results import ResultRow, RowScore, results_digest
from releasecheck.model.scorecard import EXIT_CODES, OUTCOMES, Counts, GateResult
from tests.builders import make_plan, no_output


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("60s", 60), ("5m", 300), ("1h30m", 5400), ("250ms", 0.25), ("2d", 172_800), ("1.5h", 5400), (7, 7), (0.5, 0.5), (" 5m ", 300)],
)  # fmt: skip
def test_parse_duration__table(written: object, seconds: float) -> None:
    assert parse_duration(written) == seconds


@pytest.mark.parametrize(
    "written",
    ["", "60", "5 m", "m5", "1:30", "-5s", "0s", "5s!", "1h 30m", "forever", 0, -1, True, None, float("nan"), float("inf"), "99999999d", [5]],
    ids=repr,
)  # fmt: skip
def test_parse_duration__refuses(written: object) -> None:
    with pytest.raises(ValueError, match="expected a duration"):
        parse_duration(written)


@pytest.mark.parametrize(
    ("written", "size"),
    [("512MB", 512_000_000), ("2GiB", 2**31), ("1.5 KB", 1500), ("7B", 7), (42, 42)],
)
def test_parse_size__table(written: object, size: int) -> None:
    assert parse_size(written) == size


@pytest.mark.parametrize(
    "written", ["512", "512mb", "0MB", "-1MB", "MB", 0, -5, True, 1.5, None], ids=repr
)
def test_parse_size__refuses(written: object) -> None:
    with pytest.raises(ValueError, match="expected a size"):
        parse_size(written)


@pytest.mark.parametrize(
    ("written", "per_second"), [("600/min", 10), ("5/s", 5), ("3600 / hour", 1), ("1/h", 1 / 3600), (2, 2), (0.5, 0.5)]
)  # fmt: skip
def test_parse_rate__table(written: object, per_second: float) -> None:
    assert parse_rate(written) == per_second


@pytest.mark.parametrize(
    "written", ["600", "0/min", "5/day", "-5/s", 0, -1, True, None, float("inf")], ids=repr
)
def test_parse_rate__refuses(written: object) -> None:
    with pytest.raises(ValueError, match="expected a rate"):
        parse_rate(written)


def test_require_schema__names_what_was_found_and_expected() -> None:
    require_schema("releasecheck/plan@1", "plan", path="plan.json")
    for found in ("releasecheck/plan@2", "releasecheck/manifest@1", None, 3):
        with pytest.raises(UsageError, match=r"plan\.json: its schema is .*'releasecheck/plan@1'"):
            require_schema(found, "plan", path="plan.json")


CASE = Case("c1", {"q": "x"}, "y", "main", ("smoke",), {"k": 1}, Source("cases.jsonl", 3), 0)


def test_case__digest_covers_content_and_nothing_else() -> None:
    same: list[dict[str, Any]] = [
        {"id": "c2"},
        {"split": "hard"},
        {"tags": ()},
        {"source": Source("b", 9)},
        {"index": 5},
    ]
    other: list[dict[str, Any]] = [{"input": {"q": "z"}}, {"expected": None}, {"metadata": {}}]
    assert {msgspec.structs.replace(CASE, **change).digest for change in same} == {CASE.digest}
    assert (
        len({CASE.digest, *(msgspec.structs.replace(CASE, **change).digest for change in other)})
        == 4
    )
    assert (
        msgspec.structs.replace(CASE, input={"q": "x"}, metadata={"k": 1.0}).digest == CASE.digest
    )


def test_case__round_trip() -> None:
    assert Case.from_json(CASE.to_json()) == CASE
    assert CASE.to_json()["digest"] == CASE.digest


def test_plan_digest__covers_what_can_decide_and_nothing_else() -> None:
    """Contract section 4: not the run id, the time, git, CI context or the layout of shards."""
    document = make_plan().model_dump(mode="json", by_alias=True)
    pin = {"why": "a", "commit": "b", "plan_digest": "c"}
    pin |= {
        name: name for name in ("run_id", "scorecard_digest", "results_digest", "manifest_digest")
    }
    for base in (document, {**document, "baseline": pin}):
        digest = plan_digest(base)
        for name in document:
            changed = {
                **base,
                name: {**pin, "run_id": "another"} if name in ("baseline", "anchor") else "another",
            }
            deciding = name in {*DECIDING, *DECIDING_SINCE, "revision"}
            assert (plan_digest(changed) != digest) == deciding, name
    for name, other in pin.items():
        changed = {**document, "baseline": {**pin, name: other + "x"}}
        same = plan_digest(changed) == plan_digest({**document, "baseline": pin})
        assert same == (name in ("why", "commit", "plan_digest"))


def test_plan_digest__of_a_plan_from_before_a_field_existed_holds() -> None:
    """What an older version wrote without the field is covered without it, and not as its default."""
    document = make_plan().model_dump(mode="json", by_alias=True)
    older = {name: value for name, value in document.items() if name not in DECIDING_SINCE}
    assert plan_digest(older) == digest_of({name: older.get(name) for name in DECIDING})
    assert plan_digest(older) != plan_digest(document)


def test_plan_digest__does_not_cover_the_layout_of_the_run() -> None:
    assert not {"run_id", "created_at", "git", "context", "shards", "batch", "expires_s"} & set(
        DECIDING
    )


def test_plan__pairs() -> None:
    assert make_plan(7, 2, ("a", "b", "c"), (7,)).pairs == 42


ROW = ResultRow(
    case="c1",
    case_digest="d",
    trial=0,
    split="main",
    tags=(),
    output="an answer",
    failure=None,
    latency_ms=1.5,
    usage=no_output().usage,
    trace_id="t",
    scores={"exact": RowScore("scored", 1.0, "why")},
    passed={"exact": True},
)


def test_results_digest__is_the_same_after_a_purge() -> None:
    failed = replace(ROW, case="c2", output=None, failure=no_output().failure, latency_ms=None)
    rows = [ROW.to_json(), failed.to_json()]
    purged = [
        replace(ROW, output=None, scores={"exact": RowScore("scored", 1.0, None)}).to_json(),
        {**failed.to_json(), "failure": {**rows[1]["failure"], "message": None}},
    ]
    assert results_digest(purged) == results_digest(rows)
    changes: list[dict[str, Any]] = [
        {"scores": {"exact": RowScore("scored", 0.0, "why")}},
        {"scores": {"exact": RowScore("missing", None, "why")}},
        {"passed": {"exact": False}},
        {"case_digest": "e"},
        {"latency_ms": 1.6},
        {"trace_id": None},
    ]
    for change in changes:
        changed = [replace(ROW, **change).to_json(), rows[1]]
        assert results_digest(changed) != results_digest(rows)
    assert results_digest(rows[::-1]) != results_digest(rows)
    assert results_digest(rows[:1]) != results_digest(rows)


def test_result_row__round_trip() -> None:
    for row in (ROW, replace(ROW, failure=no_output().failure, output=None)):
        assert ResultRow.from_json(row.to_json()) == row


def test_counts__must_add_up() -> None:
    """S1-07, B64: planned is the sum over all five states, or the scorecard cannot be made."""
    states = {"scored": 1, "not_applicable": 2, "failed": 3, "missing": 4, "pending": 5}
    Counts(cases=15, trials=15, pairs=15, conflicts=0, **states)
    with pytest.raises(ValidationError, match="add up to 15, but 16"):
        Counts(cases=15, trials=15, pairs=16, conflicts=0, **states)


@pytest.mark.parametrize("compared", [None, 0])
def test_gate_result__a_pass_that_measured_nothing_cannot_be_made(compared: int | None) -> None:
    with pytest.raises(ValidationError, match="a pass needs something measured"):
        GateResult(
            id="g", metric="exact", split="all", stat="mean", rule="mean >= 1", outcome="pass",
            reason="", compared=compared,
        )  # fmt: skip


def test_outcomes__only_block_exits_with_1() -> None:
    assert [EXIT_CODES[outcome] for outcome in OUTCOMES] == [0, 0, 0, 2, 2, 1]


@pytest.mark.parametrize(
    ("judge", "value", "expected"),
    [
        (ExactJudge(id="a", type="exact"), 1.0, True),
        (ExactJudge(id="a", type="exact"), 0.999, False),
        (ExactJudge(id="a", type="exact", pass_at=0.5), 0.5, True),
        (SimilarityJudge(id="a", type="similarity"), 1.0, None),
        (SimilarityJudge(id="a", type="similarity", pass_at=0.7), 0.7, True),
        (SimilarityJudge(id="a", type="similarity", pass_at=0.7, better="lower"), 0.7, True),
        (SimilarityJudge(id="a", type="similarity", pass_at=0.7, better="lower"), 0.71, False),
        (SimilarityJudge(id="a", type="similarity", pass_at=0.0), 0.0, True),
    ],
)
def test_value_passes__table(
    judge: ExactJudge | SimilarityJudge, value: float, expected: bool | None
) -> None:
    assert value_passes(judge, value) is expected
    assert (pass_mark(judge) is None) == (expected is None)


@pytest.mark.parametrize("written", ["7d", "1d", "1h30m", "5m", "31s", "1m1s", "0.25s", "1.5s"])
def test_duration_words__as_a_suite_would_have_them(written: str) -> None:
    assert duration_words(parse_duration(written)) == written
