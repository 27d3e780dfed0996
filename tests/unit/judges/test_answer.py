"""What judges written by others may answer (contract section 5; B56, B58, B59, B61)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from releasecheck.judges.answer import read_answer, read_reply
from releasecheck.model.record import NO_USAGE, Usage
from releasecheck.model.score import NotApplicable, Scored
from releasecheck.redact import NOTHING_SECRET
from tests.strategies import json_values
from tests.unit.judges.builders import reason, said

BROKEN = "contract_violation"


@pytest.mark.parametrize(
    ("found", "said_"),
    [
        (1, 1.0),
        (0, 0.0),  # B26: 0 and false are answers
        (False, 0.0),
        (True, 1.0),
        (-0.25, -0.25),
        ({"value": 0.7}, 0.7),
        ({"value": 0}, 0.0),
        ({"value": False, "reason": "no"}, 0.0),
        ({"value": 1, "state": "scored"}, 1.0),
        ({"value": 1, "reason": None, "usage": None, "label": "good"}, 1.0),
        ({"state": "not-applicable", "reason": "no links"}, "not-applicable"),
        ({"state": "not-applicable", "reason": "no links", "value": None}, "not-applicable"),
        ({"state": "failed", "reason": "no key"}, "judge_failed"),
        # B56: what lacks the agreed fields is neither a pass nor a fail.
        ({"reason": "The policy text does not mention refunds at all."}, BROKEN),
        ({"score": 0, "reason": "wrong"}, BROKEN),
        ({"verdict": "yes"}, BROKEN),
        ({"result": {"pass": True, "score": 1}}, BROKEN),
        ({}, BROKEN),
        ({"error": "rate limited"}, BROKEN),
        ({"value": None}, BROKEN),
        ([], "malformed"),
        (None, "malformed"),
        ("0.9", "malformed"),
        # Contract section 5.
        ({"value": 0.5, "state": "failed", "reason": "x"}, BROKEN),
        ({"value": 0, "state": "not-applicable", "reason": "x"}, BROKEN),
        ({"value": False, "state": "not-applicable", "reason": "x"}, BROKEN),
        ({"state": "scored"}, BROKEN),
        ({"state": "not-applicable"}, BROKEN),
        ({"state": "failed", "reason": "  "}, BROKEN),
        ({"state": "pending", "ticket": "t"}, BROKEN),
        ({"state": "missing", "reason": "x"}, BROKEN),
        ({"state": True, "reason": "x"}, BROKEN),
        ({"value": "8/10"}, BROKEN),  # B58
        ({"value": "80%"}, BROKEN),  # B58
        ({"value": [1]}, BROKEN),
        ({"value": 1, "reason": 5}, BROKEN),
        ({"value": float("nan")}, BROKEN),  # B59, should one ever get this far
        ({"value": float("inf")}, BROKEN),
        (float("nan"), BROKEN),
    ],
)
def test_read_answer__table(found: Any, said_: float | str) -> None:
    assert said(read_answer(found, None).answer) == said_


@pytest.mark.parametrize(
    ("value", "said_"),
    [
        (0, 0.0),
        (1, 1.0),
        (True, 1.0),
        (9.2e124, BROKEN),
        (3.85, BROKEN),
        (-0.1, BROKEN),
        (85, BROKEN),
        (1.0000000000000002, BROKEN),
        (float("nan"), BROKEN),  # B61: NaN is not clamped into the range
        (float("-inf"), BROKEN),
    ],
)
def test_read_answer__scale(value: Any, said_: float | str) -> None:
    """B58: a declared range is enforced, without a clamp."""
    assert said(read_answer(value, (0.0, 1.0)).answer) == said_
    assert said(read_answer({"value": value}, (0.0, 1.0)).answer) == said_


@pytest.mark.parametrize(
    ("data", "said_"),
    [
        (b"0.5\n", 0.5),
        (b"\xef\xbb\xbf1", 1.0),  # B02: a byte-order mark at every door
        (b"", "malformed"),
        (b" \n", "malformed"),
        (b"NaN", "malformed"),  # B13
        (b'{"value": Infinity}', "malformed"),
        (b'{"value": 1e999}', "malformed"),
        (b'{"value": 1, "value": 0}', "malformed"),
        (b"loading...\n0.5", "malformed"),
        (b"\xff", "malformed"),
        (b"[" * 20000, "malformed"),  # B14
        (b"9" * 5000, "malformed"),
    ],
)
def test_read_reply__bytes(data: bytes, said_: float | str) -> None:
    assert said(read_reply(data, None, NOTHING_SECRET).answer) == said_


def test_read_reply__says_what_it_found() -> None:
    assert reason(read_reply(b"", None, NOTHING_SECRET).answer).startswith(
        "the judge answered nothing; expected"
    )
    assert '"loading..."' in reason(read_reply(b"loading...", None, NOTHING_SECRET).answer)
    assert "its keys: reason, score" in reason(read_answer({"score": 1, "reason": ""}, None).answer)


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        (None, NO_USAGE),
        ({}, NO_USAGE),
        ({"tokens": 12}, Usage(12, None)),
        ({"tokens": 0, "cost_usd": 0}, Usage(0, 0.0)),
        ({"tokens": 12.0, "cost_usd": 0.01}, Usage(12, 0.01)),
    ],
)
def test_read_answer__usage(usage: Any, read: Usage) -> None:
    assert read_answer({"value": 1, "usage": usage}, None).usage == read
    failed = read_answer({"state": "failed", "reason": "x", "usage": usage}, None)
    assert failed.usage == read


@pytest.mark.parametrize(
    "usage",
    [
        5,
        [],
        {"tokens": -1},
        {"tokens": 1.5},
        {"tokens": "12"},
        {"tokens": True},
        {"cost_usd": -0.1},
        {"cost_usd": "free"},
        {"cost_usd": float("nan")},
    ],
)
def test_read_answer__bad_usage__is_said(usage: Any) -> None:
    found = read_answer({"value": 1, "usage": usage}, None).answer
    assert said(found) == BROKEN
    assert "usage" in reason(found)


@given(json_values)
def test_read_reply__anything__has_one_state(value: Any) -> None:
    """No value comes from anything but a number, true or false in its place (B56)."""
    found = read_reply(json.dumps(value).encode(), None, NOTHING_SECRET).answer
    place = value.get("value") if isinstance(value, dict) else value
    if isinstance(found, Scored):
        assert isinstance(place, bool | int | float)
        assert found.value == place
    elif isinstance(found, NotApplicable):
        assert value["state"] == "not-applicable"
