"""Reads what a judge written by others answers (contract section 5): strictly, without repair.

A number, true or false, or a `Score` object: `{"value", "reason"?}`, or `{"state": "not-applicable" |
"failed", "reason"}`; beside either, `usage: {tokens, cost_usd}`. What is none of these is `malformed`;
what is one and breaks its rules is a `contract_violation`. Neither is ever "not applicable", nor 0.

A judge over HTTP answers with the object only; there `at` may say when the judge made the score, and
`{"state": "pending", "ticket"}` that it is still to come (`read_first`, `read_later`).
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeAlias

from releasecheck.canonical import MAX_INTEGER, JsonProblem, clean_text, parse_json
from releasecheck.judges.outcome import cannot, kind, shown
from releasecheck.model.record import NO_USAGE, Usage
from releasecheck.model.score import JudgeFailed, NotApplicable, Pending, Scored
from releasecheck.ports import Arrived, Judged

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.model.score import JudgeAnswer
    from releasecheck.redact import Redactor

Range: TypeAlias = tuple[float, float]
_EXPECTED: Final = "expected a number, true or false, or an object with `value` or `state`"
_AT_ONCE: Final = (
    "this judge answers at once, with a value or with the state not-applicable or failed"
)
_IN_A_SCORE: Final = (
    "a score has a value, or the state not-applicable or failed; what is still to come is "
    '{"state": "pending"} in its place'
)
LONGEST_TICKET: Final = 4096
"""Characters of a ticket; it is kept in every record of its pair and sent with every question."""
_MOMENT: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d{1,12})?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII
)
"""RFC 3339, section 5.6."""


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
    return Judged(_score(found, scale, _AT_ONCE), usage)


def read_score(found: Json, scale: Range | None) -> Arrived:
    """Read a `Score` of evaluator@2: an object, which may say when it was made."""
    if not isinstance(found, dict):
        hint = ""
        if isinstance(found, bool | int | float):
            hint = f'; write {{"value": {shown(found)}}}'
        return Arrived(
            _violation(f"a score is an object with `value` or `state`, found {shown(found)}{hint}")
        )
    usage, made_at = _usage(found.get("usage")), read_moment(found.get("at"))
    if isinstance(usage, JudgeFailed):
        return Arrived(usage)
    if isinstance(made_at, JudgeFailed):
        return Arrived(made_at, usage)
    return Arrived(_score(found, scale, _IN_A_SCORE), usage, made_at)


def read_later(found: Json, ticket: str, scale: Range | None) -> Arrived:
    """Read what came for a ticket: a `Score`, or `{"state": "pending"}`."""
    if not isinstance(found, dict) or found.get("state") != "pending":
        return read_score(found, scale)
    if found.get("value") is not None:
        return Arrived(_violation(f"the value {shown(found['value'])} beside the state pending"))
    if found.get("ticket") not in (None, ticket):
        message = (
            f"pending under another ticket, {shown(found['ticket'])}; a ticket stays the same until "
            "its score was delivered"
        )
        return Arrived(_violation(message))
    usage = _usage(found.get("usage"))
    return Arrived(usage) if isinstance(usage, JudgeFailed) else Arrived(Pending(ticket), usage)


def read_first(found: dict[str, Json], scale: Range | None) -> Judged:
    """Read the answer to an output: `{"score": Score}` or `{"state": "pending", "ticket"}`."""
    state = found.get("state")
    if "score" in found:
        if state is not None:
            return Judged(
                _violation(f"the state {shown(state)} beside a `score`; give one of them")
            )
        arrived = read_score(found["score"], scale)
        return Judged(arrived.answer, arrived.usage)
    if state == "pending":
        return _pending(found)
    if "value" in found or state is not None:
        what = "`value`" if "value" in found else f"the state {shown(state)}"
        return Judged(
            _violation(f'{what} stands inside `score`: {{"score": {{...}}}}; found it outside')
        )
    keys = ", ".join(sorted(found)) or "none"
    return Judged(
        _violation(f"neither `score` nor the state pending in the answer; its keys: {keys}")
    )


def _pending(found: dict[str, Json]) -> Judged:
    if found.get("value") is not None:
        return Judged(_violation(f"the value {shown(found['value'])} beside the state pending"))
    flaw = ticket_flaw(found.get("ticket"))
    if flaw is not None:
        return Judged(_violation(f"pending {flaw}; nobody could ask for this score"))
    usage = _usage(found.get("usage"))
    if isinstance(usage, JudgeFailed):
        return Judged(usage)
    return Judged(Pending(found["ticket"]), usage)


def ticket_flaw(ticket: Json) -> str | None:
    """What is wrong with a ticket, after the word `pending`; None where nothing is."""
    if ticket is None:
        return "without a `ticket`"
    if not isinstance(ticket, str):
        return f"under a ticket that is {kind(ticket)}, {shown(ticket)}; expected a text"
    if not ticket.strip():
        return "under an empty ticket"
    if len(ticket) > LONGEST_TICKET:
        return f"under a ticket of {len(ticket)} characters; at most {LONGEST_TICKET} are kept"
    if clean_text(ticket) != ticket:
        return "under a ticket with half a surrogate pair, which no file can keep"
    return None


def read_moment(found: Json) -> str | JudgeFailed | None:
    """When a score was made, as our own clocks write it: UTC with milliseconds and `Z`."""
    if found is None:
        return None
    if isinstance(found, str) and _MOMENT.fullmatch(found):
        try:
            moment = datetime.fromisoformat(found.upper()).astimezone(UTC)
        except (ValueError, OverflowError):
            pass
        else:
            return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return _violation(
        f"`at` must be a time as 2026-01-05T09:00:00Z (RFC 3339), found {shown(found)}"
    )


def _score(found: dict[str, Json], scale: Range | None, states: str) -> JudgeAnswer:
    state, value, reason = (found.get(key) for key in ("state", "value", "reason"))
    if reason is not None and not isinstance(reason, str):
        return _violation(f"`reason` must be a text, found {shown(reason)}")
    if state is None and value is None:
        keys = ", ".join(sorted(found)) or "none"
        return _violation(f"neither `value` nor `state` in the answer; its keys: {keys}")
    if state is None or state == "scored":
        return _value(value, reason or None, scale)
    if state not in ("not-applicable", "failed"):
        return _violation(f"the state {shown(state)}; {states}")
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
