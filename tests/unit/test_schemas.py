"""The published JSON Schemas hold what we write and refuse what the reader refuses (issue 2, item 2)."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from jsonschema import Draft202012Validator, FormatChecker
from pydantic import ValidationError

from releasecheck.canonical import parse_json
from releasecheck.errors import UsageError
from releasecheck.model.failure import Failure
from releasecheck.model.record import (
    NO_USAGE,
    AnyRecord,
    DeadlineRecord,
    EndRecord,
    FileHeader,
    LateRecord,
    OutputRecord,
    ScoreRecord,
    Usage,
)
from releasecheck.model.score import JudgeFailed, Missing, NotApplicable, Pending, Scored
from releasecheck.model.suite import Suite
from releasecheck.publish import manifest_bytes
from releasecheck.publish.claim import badge
from releasecheck.publish.failure import build_failure
from releasecheck.schemas import DIALECT, KINDS, json_schema
from tests.unit.scorecard import samples
from tests.unit.test_publish import manifest

if TYPE_CHECKING:
    from releasecheck.model.score import Score

ROOT = Path(__file__).parents[2]
AT = "2026-09-12T06:30:01.000Z"
DIGEST = "sha256:" + "ab" * 32
DOWN = Failure("target", "target", "timeout", True, "no answer")
SUITE: dict[str, Any] = {
    "version": 1,
    "suite": "docs-search",
    "cases": [{"path": "cases/*.jsonl"}],
    "target": {"type": "http", "url": "http://127.0.0.1:1/x", "timeout": "1h30m", "rate_limit": "600/min"},
    "judges": [{"id": "exact", "type": "exact", "normalize": ["strip"]},
               {"id": "shape", "type": "json-schema", "schema": {"type": "object"}}],
    "gates": [{"id": "quality", "metric": "exact", "min": 0.85}],
    "expires": 3600,
}  # fmt: skip


def valid(kind: str, document: object) -> bool:
    validator = Draft202012Validator(json_schema(kind), format_checker=FormatChecker())
    return bool(validator.is_valid(document))


@pytest.mark.parametrize("kind", KINDS)
def test_json_schema__is_a_schema_that_says_what_it_is(kind: str) -> None:
    schema = json_schema(kind)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == DIALECT
    assert schema["$id"] == f"urn:releasecheck:schema:{kind}:1"
    assert schema["title"] == f"releasecheck/{kind}@1"
    assert schema["description"]


def test_json_schema__another_word_names_the_known_ones() -> None:
    with pytest.raises(
        UsageError, match="config, case, plan, results, scorecard, manifest, failure, badge"
    ):
        json_schema("verdict")


@pytest.mark.parametrize(
    "path", ["examples/docs-search/releasecheck.yaml", "templates/starter/releasecheck.yaml"]
)
def test_config__suites_of_ours_are_valid(path: str) -> None:
    assert valid("config", yaml.safe_load((ROOT / path).read_text("utf-8")))


def changed(**changes: Any) -> dict[str, Any]:
    document = copy.deepcopy(SUITE)
    for key, value in changes.items():
        place, _, name = key.rpartition("__")
        inside: Any = document
        for part in place.split("__") if place else ():
            inside = inside[int(part) if part.isdigit() else part]
        if value is ...:
            del inside[name]
        else:
            inside[name] = value
    return document


# What stands in the config, and whether both the schema and the reader take it.
WRITTEN = [
    ({}, True),
    ({"target__timeout": 2.5}, True),
    ({"target__timeout": "soon"}, False),
    ({"target__timeout": 0}, False),
    ({"target__rate_limit": "600 / min"}, True),
    ({"target__rate_limit": "fast"}, False),
    ({"target__memory_limit": "1GB"}, False),
    ({"target": {"type": "command", "run": ["app"], "memory_limit": "512MB"}}, True),
    ({"target": {"type": "command", "run": ["app"], "memory_limit": "much"}}, False),
    ({"target": {"type": "openai", "base_url": "x", "model": "m", "messages": [{"role": "user"}]}}, True),
    ({"target": {"type": "ftp"}}, False),
    ({"target__time_out": "5s"}, False),
    ({"suite": "Docs Search"}, False),
    ({"version": 2}, False),
    ({"trials": "3"}, False),
    ({"cases": []}, False),
    ({"judges": ...}, False),
    ({"gates__0__min": "0.85"}, False),
    ({"gates__0__max": 1.0}, False),
    ({"gates__0__min": ...}, False),
    ({"gates__0__cases": {"tags": ["smoke"]}}, True),
    ({"gates__0__cases": {}}, False),
    ({"judges__0__when": {}}, False),
    ({"judges__0__when": {"has": "expected"}}, True),
    ({"judges__0__normalise": ["strip"]}, False),
    ({"settle": {"interval": "500ms"}}, True),
    ({"budget": {"cost_usd": -1.0}}, False),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "good"), WRITTEN)
def test_config__agrees_with_the_reader(changes: dict[str, Any], good: bool) -> None:
    document = changed(**changes)
    assert valid("config", document) is good
    if good:
        Suite.model_validate(document)
    else:
        with pytest.raises(ValidationError):
            Suite.model_validate(document)


@pytest.mark.parametrize(
    ("document", "good"),
    [
        ({"extends": "base.yaml"}, True),
        ({"extends": "base.yaml", "target": {"timeout": "5s"}, "trials": 3}, True),
        ({"extends": "base.yaml", "trails": 3}, False),
        ({"extends": ""}, False),
        ({**SUITE, "profiles": {"pr": {"trials": 1, "settle": {"deadline": "1m"}}}}, True),
        ({**SUITE, "profiles": {"pr": {"trails": 1}}}, False),
        ({**SUITE, "profiles": {"pr": {"gates": [{"id": "x"}]}}}, False),
        ({"profiles": {"pr": SUITE}}, False),
    ],
)
def test_config__extends_and_profiles_may_be_parts(document: dict[str, Any], good: bool) -> None:
    assert valid("config", document) is good


def test_config__tells_editors_what_each_field_means() -> None:
    schema = json_schema("config")
    for name, definition in schema["$defs"].items():
        for field, described in definition.get("properties", {}).items():
            assert field == "type" or described.get("description"), f"{name}.{field}"


def test_case__a_line_of_ours_is_valid() -> None:
    line = samples.case(0).to_json()
    assert valid("case", line)
    assert valid("case", {**line, "later": 1})
    assert not valid("case", {**line, "digest": "sha256:x"})
    assert not valid("case", {key: value for key, value in line.items() if key != "id"})


def test_plan__is_valid_as_written() -> None:
    document = samples.plan(
        judges=[{"id": "shape", "type": "json-schema", "schema": True}], target=SUITE["target"]
    ).model_dump(mode="json", by_alias=True)
    assert valid("plan", document)
    assert not valid("plan", {**document, "schema": "releasecheck/plan@2"})


@pytest.mark.parametrize("name", ["passing", "blocked", "refused", "empty", "waiting"])
def test_scorecard_and_manifest__are_valid_as_written(name: str) -> None:
    """S1-21: with what is incomplete and what is waited for."""
    card = getattr(samples, name)().report.scorecard
    document = card.model_dump(mode="json", by_alias=True)
    assert valid("scorecard", document)
    assert not valid("scorecard", {key: document[key] for key in document if key != "schema"})
    assert valid("manifest", parse_json(manifest_bytes(manifest())))


def test_failure_and_badge__are_valid_as_written() -> None:
    document = build_failure(UsageError("no such file"), "plan", now=AT)
    assert valid("failure", document)
    assert not valid("failure", {**document, "schema": "releasecheck/failure@2"})
    claim = badge(manifest(), samples.passing().report.scorecard)
    assert valid("badge", claim)
    assert not valid("badge", {**claim, "claim": "more"})


def output(**changes: Any) -> OutputRecord:
    given: dict[str, Any] = {
        "case": "q1", "trial": 0, "attempt": 1, "output": {"a": 1}, "output_digest": DIGEST, "failure": None,
        "latency_ms": 3.5, "usage": Usage(3, 0.1), "trace_id": "t", "at": AT, **changes,
    }  # fmt: skip
    return OutputRecord(**given)


def score(value: Score, ticket: str | None = None) -> ScoreRecord:
    return ScoreRecord("q1", 0, "exact", DIGEST, value, ticket, NO_USAGE, 1, AT)


RECORDS: dict[str, AnyRecord] = {
    "header": FileHeader("rc-1", DIGEST, 0, 2, 1, AT, "releasecheck/0.1.0"),
    "finish header": FileHeader("rc-1", DIGEST, None, 2, 1, AT, "releasecheck/0.1.0"),
    "output": output(),
    "output not stored": output(output=None),
    "output failed": output(output=None, output_digest=None, failure=DOWN, latency_ms=None, usage=NO_USAGE),
    "scored": score(Scored(0.5, "why")),
    "not applicable": score(NotApplicable("when")),
    "pending": score(Pending("t-1"), "t-1"),
    "failed": score(JudgeFailed(Failure("judge", "judge", "exit_code", False, None))),
    "missing": score(Missing("deadline"), "t-1"),
    "deadline": DeadlineRecord("tone", ("t-1",), AT),
    "late": LateRecord("q1", 0, "tone", DIGEST, "t-1", 0.5, None, AT),
    "end": EndRecord(1, 2, None, DIGEST, AT),
}  # fmt: skip


@pytest.mark.parametrize("name", RECORDS)
def test_results__every_ledger_line_is_valid(name: str) -> None:
    """S1-07, S1-18, S1-21: shards and `finish` write one model of a score, in five states."""
    line = RECORDS[name].to_json()
    assert valid("results", line)
    assert valid("results", {**line, "added_later": 1})
    assert not valid("results", {**line, "record": "other"})


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("scored", {"value": None}),
        ("pending", {"value": 0.0}),
        ("missing", {"value": 1.0}),
        ("scored", {"state": "passed"}),
        ("output", {"output_digest": None}),
        ("output failed", {"output_digest": DIGEST}),
        ("output failed", {"failure": {"class": "other"}}),
        ("header", {"schema": "releasecheck/results@2"}),
        ("header", {"attempt": 0}),
    ],
)
def test_results__absence_is_never_a_value(name: str, changes: dict[str, Any]) -> None:
    """S1-08."""
    assert not valid("results", {**RECORDS[name].to_json(), **changes})


@pytest.mark.parametrize("name", ["blocked", "refused", "waiting"])
def test_results__rows_are_valid(name: str) -> None:
    validator = Draft202012Validator(json_schema("results"))
    for view in getattr(samples, name)().views:
        assert validator.is_valid(view.row.to_json())
