"""Whatever is written into a config or a row: it loads, or is refused by name; nothing else."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from releasecheck.config import load_cases, load_suite
from releasecheck.errors import ConfigError
from tests.strategies import json_values

if TYPE_CHECKING:
    from pathlib import Path

SUITE: dict[str, Any] = {
    "version": 1, "suite": "s", "expect_cases": 2, "trials": 3, "shards": 2,
    "cases": [{"path": "c.jsonl", "split": "main", "fields": {"id": "id"}, "empty_input": "run"}],
    "target": {
        "type": "http", "url": "x", "headers": {"a": "b"}, "body": {"q": "{{ input }}"},
        "usage": {"tokens": "u"}, "start": {"run": ["x"], "ready": "/"}, "rate_limit": "5/s",
    },
    "judges": [
        {"id": "a", "type": "exact", "normalize": ["strip"], "when": {"has": "expected"}},
        {"id": "b", "type": "json-schema", "schema": {"type": "object"}},
        {"id": "c", "type": "python", "function": "m:f", "scale": [1, 5], "pass_at": 3},
        {"id": "d", "type": "contains", "value": "x", "pass_rule": "2-of-3"},
        {"id": "e", "type": "numeric", "tolerance": "1%", "when": {"tags": ["n"]}},
    ],
    "gates": [
        {"id": "a", "metric": "a", "min": 0.5, "cases": {"tags": ["n"]}},
        {"id": "b", "metric": "c", "no_regression": {"max_drop": 0.1, "max_new_failures": 1}},
        {"id": "c", "metric": "latency_ms", "stat": "p95", "max": 5},
    ],
    "profiles": {"pr": {"target": {"timeout": "5s"}}},
}  # fmt: skip
ROWS = [
    {"id": "1", "input": "x", "expected": "a", "tags": ["n"], "expected2": 1, "metadata": {"k": 1}},
    {"id": "2", "input": "x", "expected": 5, "split": "main"},
]
ROWS[0]["expected"] = 1


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to everything inside of a JSON value."""
    found = [way] if way else []
    entries = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in entries:
        found += places(item, (*way, key))
    return found


def changed(data: st.DataObject, value: Any) -> Any:
    """`value` with one thing in it replaced, removed, or renamed."""
    value = copy.deepcopy(value)
    *way, last = data.draw(st.sampled_from(places(value)))
    inner = value
    for part in way:
        inner = inner[part]
    kind = data.draw(st.sampled_from(["replace", "remove", "rename"]))
    if kind == "replace" or isinstance(inner, list):
        inner[last] = data.draw(json_values)
    elif kind == "remove":
        del inner[last]
    else:
        inner[data.draw(st.sampled_from(["typ", "judges", "x", "min", "id"]))] = inner.pop(last)
    return value


@pytest.fixture
def written(tmp_path: Path) -> Path:
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "r.yaml").write_text(json.dumps(SUITE))
    return tmp_path


def loads(folder: Path) -> bool:
    try:
        load_cases(load_suite(folder / "r.yaml"))
    except ConfigError as error:
        problems = error.problems
    else:
        return True
    assert problems
    assert all(problem.message and problem.path for problem in problems)
    return False


def test_load_suite__the_unchanged_suite_loads(written: Path) -> None:
    assert loads(written)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_load_suite__any_one_change_loads_or_is_refused(written: Path, data: st.DataObject) -> None:
    (written / "r.yaml").write_text(json.dumps(changed(data, SUITE)))

    loads(written)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_load_cases__any_one_change_loads_or_is_refused(written: Path, data: st.DataObject) -> None:
    rows = changed(data, ROWS)
    (written / "c.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (written / "c.json").write_text(json.dumps(rows))
    (written / "r.yaml").write_text(json.dumps(SUITE))
    one = loads(written)
    (written / "r.yaml").write_text(json.dumps(SUITE).replace("c.jsonl", "c.json"))

    assert loads(written) == one


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.sampled_from("abc: -[]{}\"'&*!|>%@\n\t#?,01.\r\ufeffé")))
def test_load_suite__any_text_is_refused_with_a_place(written: Path, text: str) -> None:
    (written / "r.yaml").write_bytes(text.encode())

    assert not loads(written)
