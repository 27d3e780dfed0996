"""Reads what a judge written by others answers (contract section 5): strictly, without repair.

A number, true or false, or a `Score` object: `{"value", "reason"?}`, or `{"state": "not-applicable" |
"failed", "reason"}`; beside either, `usage: {tokens, cost_usd}`. What is none of these is `malformed`;
what is one and breaks its rules is a `contract_violation`. Neither is ever "not applicable", nor 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeAlias

from releasecheck.canonical import MAX_INTEGER, JsonProblem, parse_json
from releasecheck.judges.outcome import cannot, kind, shown
from releasecheck.model.record import NO_USAGE, Usage
from releasecheck.model.score import JudgeFailed, NotApplicable, Scored
from releasecheck.ports import Judged

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.model.score import JudgeAnswer
    from releasecheck.redact import Redactor

Range: TypeAlias = tuple[float, float]
_EXPECTED: Final = "expected a number, true or false, or an object with `value` or `state`"


def read_reply(data: bytes, scale: Range | None, redactor: Redactor) -> Judged:
    """Read an answer from the bytes in which it came; secrets go before anything is cut."""
    try:
        found = parse_json(data)
    except JsonProblem as problem:
        if not data.strip():
            return Judged(cannot("malformed", f"the judge answered nothing; {_EXPECTED}"))
        start = shown(redactor.text(data.decode("utf-8", "replace")).strip())
        return Judged(cannot("malformed", f"not JSON: {problem}; found {start}; {_EXPECTED}"))
    return read_answer(redactor.value(found), scale)


def read_answer(found: Json, scale: Range | None) -> Judged:
    """Read an answer; `scale` is the judge's declared range, both ends included."""
    if isinstance(found, bool | int | float):
        return Judged(_value(found, None, scale))
    if not isinstance(found, dict):
        return Judged(cannot("malformed", f"the judge answered {shown(found)}; {_EXPECTED}"))
    usage = _usage(found.get("usage"))
    if isinstance(usage, JudgeFailed):
        return Judged(usage)
    return Judged(_score(found, scale), usage)


def _score(found: dict[str, Json], scale: Range | None) -> JudgeAnswer:
    state, value, reason = (found.get(key) for key in ("state", "value", "reason"))
    if reason is not None and not isinstance(reason, str):
        return _violation(f"`reason` must be a text, found {shown(reason)}")
    if state is None and value is None:
        keys = ", ".join(sorted(found)) or "none"
        return _violation(f"neither `value` nor `state` in the answer; its keys: {keys}")
    if state is None or state == "scored":
        return _value(value, reason or None, scale)
    if state not in ("not-applicable", "failed"):
        return _violation(
            f"the state {shown(state)}; this judge answers at once, with a value or with the state "
            "not-applicable or failed"
        )
    if value is not None:
        return _violation(f"the value {shown(value)} beside the state {state}")
    if reason is None or not reason.strip():
        return _violation(f"the state {state} needs a `reason`")
    return NotApplicable(reason) if state == "not-applicable" else cannot("judge_failed", reason)


def _value(value: Json, reason: str | None, scale: Range | None) -> JudgeAnswer:
    if not isinstance(value, bool | int | float):
        return _violation(
            f"`value` must be a number, true or false; found {kind(value)}, {shown(value)}"
        )
    number = float(value)
    # Before any comparison: NaN is on no side of a bound, and clamps make full marks of it (B61).
    if not math.isfinite(number):
        return _violation(f"`value` must be a finite number, found {number}")
    if scale is not None and not scale[0] <= number <= scale[1]:
        return _violation(f"the value {number!r} is outside the scale {scale[0]:g} to {scale[1]:g}")
    return Scored(number, reason)


def _usage(found: Json) -> Usage | JudgeFailed:
    if found is None:
        return NO_USAGE
    if not isinstance(found, dict):
        return _violation(f"`usage` must be an object, found {shown(found)}")
    tokens, cost = found.get("tokens"), found.get("cost_usd")
    if not _is_amount(tokens) or (tokens is not None and int(tokens) != tokens):
        return _violation(f"`usage.tokens` must be a whole number from 0, found {shown(tokens)}")
    if not _is_amount(cost):
        return _violation(f"`usage.cost_usd` must be a number from 0, found {shown(cost)}")
    return Usage(None if tokens is None else int(tokens), None if cost is None else float(cost))


def _is_amount(found: Json) -> bool:
    if found is None:
        return True
    # The comparison is false for NaN.
    return (
        isinstance(found, int | float) and not isinstance(found, bool) and 0 <= found <= MAX_INTEGER
    )


def _violation(message: str) -> JudgeFailed:
    return cannot("contract_violation", message)
