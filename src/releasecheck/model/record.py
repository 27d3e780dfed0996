"""The lines of a ledger (contract section 4): plain, frozen, append-only.

Digests of ledger lines cover `output_digest` but never `output`, `reason` or a failure's `message`, so
that purging those breaks nothing.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from releasecheck.canonical import MAX_INTEGER, dump_line, json_text
from releasecheck.errors import CorruptLedger
from releasecheck.model.bridge import SIDES
from releasecheck.model.failure import Failure
from releasecheck.model.score import JudgeFailed, Missing, NotApplicable, Pending, Score, Scored

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from releasecheck.canonical import Json
    from releasecheck.model.bridge import Side

RESULTS_SCHEMA: Final = "releasecheck/results@1"
PURGEABLE: Final = ("output", "reason")
"""Keys of a line that its digest leaves out; so is `failure.message`."""

RESUMED: Final = "resumed_after_deadline"
"""Note on a score that was taken once more than the deadline allowed, since settling had been interrupted."""
OUTPUT_LOST: Final = "output_lost"
"""Note on an output: the one before it was not stored, and had to be asked again to be judged."""
TAKEN_LATE: Final = "taken_late"
"""Note on a score of a revision: it came after its deadline, and was taken by `rescore --missing`."""
OUTPUT_NOT_STORED: Final = "output_not_stored"
"""Why a score is missing for good: the output was purged, or never kept, so that no judge can read it."""
LONGEST_FINGERPRINT: Final = 200
"""Characters of a model's name and version."""
FIRST_REVISION: Final = 1
"""Of the scores that a run brought itself; `rescore` appends others."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call used; None where it was not said (never 0)."""

    tokens: int | None = None
    cost_usd: float | None = None

    def to_json(self) -> dict[str, Json]:
        """`{tokens, cost_usd}`; an amount that no reader of JSON keeps, or sum holds, is as good as not said."""
        tokens, cost = self.tokens, self.cost_usd
        return {
            "tokens": None if tokens is None or tokens > MAX_INTEGER else tokens,
            "cost_usd": None if cost is None or not cost <= MAX_INTEGER else cost,
        }

    def to_text(self) -> str:
        """The same as it stands in a line."""
        if self is NO_USAGE:
            return _NO_USAGE_TEXT
        return json_text(self.to_json())


NO_USAGE: Final = Usage()
"""Nobody said what a call used."""
_NO_USAGE_TEXT: Final = json_text(NO_USAGE.to_json())


@dataclass(frozen=True, slots=True)
class Code:
    """What the target's code was when a file was begun, as far as that can be seen."""

    commit: str | None = None
    """Of the checkout; None outside of a repository."""
    files: tuple[tuple[str, str], ...] = ()
    """(name relative to the config, digest) of the target's own files."""

    def to_json(self) -> dict[str, Json]:
        """`{commit, files}`."""
        return {"commit": self.commit, "files": dict(self.files)}


UNKNOWN_CODE: Final = Code()
"""Nothing could be seen."""


@dataclass(frozen=True, slots=True)
class FileHeader:
    """Line 1 of a ledger file."""

    run_id: str
    plan_digest: str
    shard: int | None
    """Its shard; None for what `finish` itself recorded."""
    shards: int
    attempt: int
    """1-based."""
    started_at: str
    tool: str
    approved_by: str | None = None
    """Who approved calling a target with irreversible effects."""
    code: Code = UNKNOWN_CODE
    revision: int = FIRST_REVISION
    """Of its scores; in a revision above the first they are all it holds."""

    def to_json(self) -> dict[str, Json]:
        """The line."""
        revised: dict[str, Json] = {}
        if self.revision != FIRST_REVISION:
            revised["revision"] = self.revision
        return {
            **revised,
            "record": "shard",
            "schema": RESULTS_SCHEMA,
            "run_id": self.run_id,
            "plan_digest": self.plan_digest,
            "shard": self.shard,
            "shards": self.shards,
            "attempt": self.attempt,
            "started_at": self.started_at,
            "tool": self.tool,
            "approved_by": self.approved_by,
            "code": self.code.to_json(),
        }


class OutputRecord(NamedTuple):
    """What the target answered to one trial, or how it failed."""

    case: str
    trial: int
    attempt: int
    output: Json
    """None when it failed, was purged, or is stored as a digest only."""
    output_digest: str | None
    """Over the canonical output; None exactly when the call failed."""
    failure: Failure | None
    latency_ms: float | None
    """Of the attempt that succeeded; None when none did."""
    usage: Usage
    """Over all attempts."""
    trace_id: str | None
    at: str
    calls: int = 1
    """Attempts made, retries included."""
    notes: tuple[str, ...] = ()
    """What was repaired on the way in, `surrogates_replaced`, `redacted`, or `output_lost`."""
    carried_from: str | None = None
    """The run that recorded it first, of which this one is a retry; None: it was asked here."""
    fingerprint: str | None = None
    """Which model answered, as the target says it; None where it does not."""

    def to_json(self) -> dict[str, Json]:
        """The line."""
        return {
            **_carried(self.carried_from),
            "record": "output",
            "case": self.case,
            "trial": self.trial,
            "attempt": self.attempt,
            "output": self.output,
            "output_digest": self.output_digest,
            "failure": None if self.failure is None else self.failure.to_json(),
            "latency_ms": self.latency_ms,
            "usage": self.usage.to_json(),
            "trace_id": self.trace_id,
            "at": self.at,
            "calls": self.calls,
            "notes": list(self.notes),
            **({} if self.fingerprint is None else {"fingerprint": self.fingerprint}),
        }

    def to_lines(self) -> tuple[bytes, bytes]:
        """The line as it is written, and as purging leaves it.

        What `dump_line` makes of `to_json`, many times faster: a run writes two such lines per trial.
        """
        if self.failure is not None or self.carried_from is not None:
            return lines_of(self.to_json())
        with suppress(UnicodeEncodeError):  # half a surrogate pair: the slow way repairs it
            model = ""
            if self.fingerprint is not None:
                model = f'"fingerprint":{json_text(self.fingerprint)},'
            head = (
                f'{{"at":{json_text(self.at)},"attempt":{self.attempt},"calls":{self.calls},'
                f'"case":{json_text(self.case)},"failure":null,{model}'
                f'"latency_ms":{_number_text(self.latency_ms)},'
                f'"notes":{json_text(self.notes) if self.notes else "[]"},"output":'
            ).encode()
            tail = (
                f',"output_digest":{json_text(self.output_digest)},"record":"output",'
                f'"trace_id":{json_text(self.trace_id)},"trial":{self.trial},'
                f'"usage":{self.usage.to_text()}}}\n'
            ).encode()
            stable = b"%bnull%b" % (head, tail)
            if self.output is None:
                return stable, stable
            return b"%b%b%b" % (head, json_text(self.output).encode(), tail), stable
        return lines_of(self.to_json())


class ScoreRecord(NamedTuple):
    """What one judge said about one output."""

    case: str
    trial: int
    judge: str
    output_digest: str
    score: Score
    ticket: str | None
    """Of a pending score, and of what became of it."""
    usage: Usage
    revision: int
    at: str
    notes: tuple[str, ...] = ()
    """How it came, where that must be said: `resumed_after_deadline`, `taken_late`."""
    carried_from: str | None = None
    """The run that recorded it first, of which this one is a retry."""
    carried_from_revision: int | None = None
    """The revision that measured it, where `rescore --missing` kept it."""

    def to_json(self) -> dict[str, Json]:
        """The line."""
        noted: dict[str, Json] = {"notes": list(self.notes)} if self.notes else {}
        return {
            **noted,
            **_carried(self.carried_from, self.carried_from_revision),
            "record": "score",
            "case": self.case,
            "trial": self.trial,
            "judge": self.judge,
            "output_digest": self.output_digest,
            **_score_fields(self.score, self.ticket, self.usage),
            "revision": self.revision,
            "at": self.at,
        }

    def to_lines(self) -> tuple[bytes, bytes]:
        """The line as it is written, and as purging leaves it (see `OutputRecord.to_lines`)."""
        score = self.score
        carried = self.carried_from is not None or self.carried_from_revision is not None
        if not isinstance(score, Scored) or self.notes or carried:
            return lines_of(self.to_json())
        with suppress(UnicodeEncodeError):
            head = (
                f'{{"at":{json_text(self.at)},"case":{json_text(self.case)},"failure":null,'
                f'"judge":{json_text(self.judge)},"output_digest":{json_text(self.output_digest)},"reason":'
            ).encode()
            tail = (
                f',"record":"score","revision":{self.revision},"state":"scored",'
                f'"ticket":{json_text(self.ticket)},"trial":{self.trial},"usage":{self.usage.to_text()},'
                f'"value":{_number_text(float(score.value))}}}\n'
            ).encode()
            stable = b"%bnull%b" % (head, tail)
            if score.reason is None:
                return stable, stable
            return b"%b%b%b" % (head, json_text(score.reason).encode(), tail), stable
        return lines_of(self.to_json())


def _carried(run: str | None, revision: int | None = None) -> dict[str, Json]:
    """Where a copied line came from; nothing in a line that was recorded here."""
    found: dict[str, Json] = {}
    if run is not None:
        found["carried_from"] = run
    if revision is not None:
        found["carried_from_revision"] = revision
    return found


def _score_fields(score: Score, ticket: str | None, usage: Usage) -> dict[str, Json]:
    """What a line says of a score, whatever was judged."""
    state, value, reason, failed = _split_score(score)
    return {
        "state": state,
        "value": value,
        "reason": reason,
        "failure": None if failed is None else failed.to_json(),
        "ticket": score.ticket if isinstance(score, Pending) else ticket,
        "usage": usage.to_json(),
    }


def _split_score(score: Score) -> tuple[str, float | None, str | None, Failure | None]:
    match score:
        case Scored(value, reason):
            return "scored", float(value), reason, None  # a judge may have said True
        case NotApplicable(reason):
            return "not-applicable", None, reason, None
        case Pending():
            return "pending", None, None, None
        case JudgeFailed(failed):
            return "failed", None, failed.code, failed
        case Missing(reason, failed):
            return "missing", None, reason, failed


class SentinelRecord(NamedTuple):
    """What one judge said about one of its sentinels, in one shard."""

    judge: str
    sentinel: str
    """Its name."""
    shard: int
    """Whose sentinel it is; each shard shows its judges their sentinels."""
    digest: str
    """Of the sentinel's output: a score of another one says nothing."""
    score: Score
    ticket: str | None
    usage: Usage
    at: str
    carried_from: str | None = None
    """As of a score."""
    carried_from_revision: int | None = None

    def to_json(self) -> dict[str, Json]:
        """The line."""
        return {
            **_carried(self.carried_from, self.carried_from_revision),
            "record": "sentinel",
            "judge": self.judge,
            "sentinel": self.sentinel,
            "shard": self.shard,
            "digest": self.digest,
            **_score_fields(self.score, self.ticket, self.usage),
            "at": self.at,
        }


class BridgeRecord(NamedTuple):
    """What a judge said about a stored output of an earlier run, the baseline or the anchor."""

    side: Side
    case: str
    """Its id in this plan; the earlier run may know the same content by another one."""
    trial: int
    """Of the earlier run."""
    judge: str
    output_digest: str
    score: Score
    ticket: str | None
    usage: Usage
    at: str
    notes: tuple[str, ...] = ()
    """As of a score."""
    carried_from: str | None = None
    carried_from_revision: int | None = None

    def to_json(self) -> dict[str, Json]:
        """The line."""
        noted: dict[str, Json] = {"notes": list(self.notes)} if self.notes else {}
        return {
            **noted,
            **_carried(self.carried_from, self.carried_from_revision),
            "record": "bridge",
            "side": self.side,
            "case": self.case,
            "trial": self.trial,
            "judge": self.judge,
            "output_digest": self.output_digest,
            **_score_fields(self.score, self.ticket, self.usage),
            "at": self.at,
        }


@dataclass(frozen=True, slots=True)
class DeadlineRecord:
    """Until when a judge's tickets are waited for, fixed when first seen."""

    judge: str
    tickets: tuple[str, ...]
    deadline: str

    def to_json(self) -> dict[str, Json]:
        """The line."""
        return {
            "record": "deadline",
            "judge": self.judge,
            "tickets": list(self.tickets),
            "deadline": self.deadline,
        }


@dataclass(frozen=True, slots=True)
class LateRecord:
    """A score that came after its deadline: kept, never counted."""

    case: str
    trial: int
    judge: str
    output_digest: str
    ticket: str
    value: float | None
    reason: str | None
    at: str
    side: Side | None = None
    """Of an earlier run's output; None: of an output of this run."""

    def to_json(self) -> dict[str, Json]:
        """The line."""
        of: dict[str, Json] = {} if self.side is None else {"side": self.side}
        return {
            **of,
            "record": "late",
            "case": self.case,
            "trial": self.trial,
            "judge": self.judge,
            "output_digest": self.output_digest,
            "ticket": self.ticket,
            "value": self.value,
            "reason": self.reason,
            "at": self.at,
        }


@dataclass(frozen=True, slots=True)
class EndRecord:
    """The last line: how much there is before it, and its digest."""

    outputs: int
    scores: int
    stopped: str | None
    """None when the slice was worked through, else why not: `time_budget`, `cost_budget`, `interrupted`,
    `target_unusable`, or `decided`."""
    digest: str
    """Over the purge-stable form of every line before."""
    at: str

    def to_json(self) -> dict[str, Json]:
        """The line."""
        return {
            "record": "end",
            "outputs": self.outputs,
            "scores": self.scores,
            "stopped": self.stopped,
            "digest": self.digest,
            "at": self.at,
        }


Record: TypeAlias = (
    OutputRecord | ScoreRecord | SentinelRecord | BridgeRecord | DeadlineRecord | LateRecord
)
AnyRecord: TypeAlias = FileHeader | Record | EndRecord


def purge_stable(line: dict[str, Json]) -> dict[str, Json]:
    """A line as its digest sees it, which is as purging leaves it: no output, reason or message.

    The very same object when there is nothing to leave out.
    """
    gone: dict[str, Json] = {key: None for key in PURGEABLE if line.get(key) is not None}
    failed = line.get("failure")
    if isinstance(failed, dict) and failed.get("message") is not None:
        gone["failure"] = {**failed, "message": None}
    return {**line, **gone} if gone else line


def lines_of(line: dict[str, Json]) -> tuple[bytes, bytes]:
    """A line as it is written, and as purging leaves it."""
    data, kept = dump_line(line), purge_stable(line)
    return data, data if kept is line else dump_line(kept)


def _number_text(value: float | None) -> str:
    if value is None:
        return "null"
    if not math.isfinite(value):
        message = f"{value!r} is not JSON; expected a finite number"
        raise ValueError(message)
    return repr(value)


def _text(row: Mapping[str, Any], key: str) -> str:
    value = row[key]
    if not isinstance(value, str):
        message = f"`{key}` is {type(value).__name__}, expected text"
        raise TypeError(message)
    return value


def _optional_text(row: Mapping[str, Any], key: str) -> str | None:
    return None if row.get(key) is None else _text(row, key)


def _texts(row: Mapping[str, Any], key: str) -> tuple[str, ...]:
    values = row[key]
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        message = f"`{key}` is no list of texts"
        raise TypeError(message)
    return tuple(values)


def _moment(row: Mapping[str, Any], key: str) -> str:
    """A time that is reckoned with, so that it must be one."""
    text = _text(row, key)
    try:
        moment = datetime.fromisoformat(text)
        (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        message = f"`{key}` is {text[:40]!r}, expected a time"
        raise ValueError(message) from None
    return text


def _ticket(row: Mapping[str, Any]) -> str:
    if not _text(row, "ticket"):
        message = "a pending score has an empty ticket"
        raise ValueError(message)
    return _text(row, "ticket")


def _whole(row: Mapping[str, Any], key: str, least: int) -> int:
    value = row[key]
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MAX_INTEGER:
        message = f"`{key}` is {value!r}, expected a whole number of at least {least}"
        raise TypeError(message)
    return value


def _number(row: Mapping[str, Any], key: str) -> float | None:
    value = row.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        message = f"`{key}` is {type(value).__name__}, expected a number"
        raise TypeError(message)
    if not math.isfinite(value):
        message = f"`{key}` is not a finite number"
        raise ValueError(message)
    return float(value)


def _amount(row: Mapping[str, Any], key: str) -> float | None:
    value = _number(row, key)
    if value is not None and value < 0:
        message = f"`{key}` is {value!r}, expected a number from 0"
        raise ValueError(message)
    return value


def _usage(row: Mapping[str, Any]) -> Usage:
    usage = row.get("usage") or {}
    tokens, cost = usage.get("tokens"), usage.get("cost_usd")
    if tokens is None and cost is None:
        return NO_USAGE
    return Usage(None if tokens is None else _whole(usage, "tokens", 0), _amount(usage, "cost_usd"))


def _code(row: Mapping[str, Any]) -> Code:
    files = row.get("files") or {}
    return Code(
        _optional_text(row, "commit"), tuple(sorted((name, _text(files, name)) for name in files))
    )


def _read_header(row: Mapping[str, Any]) -> FileHeader:
    if row["schema"] != RESULTS_SCHEMA:
        message = (
            f"its schema is {str(row['schema'])[:60]!r}, this version reads {RESULTS_SCHEMA!r}"
        )
        raise ValueError(message)
    return FileHeader(
        run_id=_text(row, "run_id"),
        plan_digest=_text(row, "plan_digest"),
        shard=None if row["shard"] is None else _whole(row, "shard", 0),
        shards=_whole(row, "shards", 1),
        attempt=_whole(row, "attempt", 1),
        started_at=_text(row, "started_at"),
        tool=_text(row, "tool"),
        approved_by=_optional_text(row, "approved_by"),
        code=_code(row.get("code") or {}),
        revision=_whole(row, "revision", 1) if "revision" in row else FIRST_REVISION,
    )


def _read_output(row: Mapping[str, Any]) -> OutputRecord:
    failed = None if row["failure"] is None else Failure.from_json(row["failure"])
    output_digest = _optional_text(row, "output_digest")
    if (failed is None) == (output_digest is None) or (failed and row.get("output") is not None):
        message = "an output record needs either an output digest or a failure"
        raise ValueError(message)
    return OutputRecord(
        case=_text(row, "case"),
        trial=_whole(row, "trial", 0),
        attempt=_whole(row, "attempt", 1),
        output=row.get("output"),
        output_digest=output_digest,
        failure=failed,
        latency_ms=_amount(row, "latency_ms"),
        usage=_usage(row),
        trace_id=_optional_text(row, "trace_id"),
        at=_text(row, "at"),
        calls=_whole(row, "calls", 1) if "calls" in row else 1,
        notes=_texts(row, "notes") if "notes" in row else (),
        carried_from=_optional_text(row, "carried_from"),
        fingerprint=_optional_text(row, "fingerprint"),
    )


def _carried_revision(row: Mapping[str, Any]) -> int | None:
    if row.get("carried_from_revision") is None:
        return None
    return _whole(row, "carried_from_revision", FIRST_REVISION)


def _read_state(row: Mapping[str, Any]) -> Score:
    state, value = row["state"], _number(row, "value")
    if (state == "scored") != (value is not None):
        message = f"a score in state {str(state)[:40]!r} has the value {value!r}"
        raise ValueError(message)
    reason = _optional_text(row, "reason")
    match state:
        case "scored":
            assert value is not None  # noqa: S101 - checked two lines above
            return Scored(value, reason)
        case "not-applicable":
            return NotApplicable(reason or "")
        case "pending":
            return Pending(_ticket(row))
        case "failed":
            return JudgeFailed(Failure.from_json(row["failure"]))
        case "missing":
            failed = row.get("failure")
            return Missing(reason or "", None if failed is None else Failure.from_json(failed))
        case _:
            message = f"unknown score state {str(state)[:40]!r}"
            raise ValueError(message)


def _read_score(row: Mapping[str, Any]) -> ScoreRecord:
    score = _read_state(row)
    return ScoreRecord(
        case=_text(row, "case"),
        trial=_whole(row, "trial", 0),
        judge=_text(row, "judge"),
        output_digest=_text(row, "output_digest"),
        score=score,
        ticket=_optional_text(row, "ticket"),
        usage=_usage(row),
        revision=_whole(row, "revision", 1),
        at=_moment(row, "at") if isinstance(score, Pending) else _text(row, "at"),
        notes=_texts(row, "notes") if "notes" in row else (),
        carried_from=_optional_text(row, "carried_from"),
        carried_from_revision=_carried_revision(row),
    )


def _read_sentinel(row: Mapping[str, Any]) -> SentinelRecord:
    score = _read_state(row)
    return SentinelRecord(
        judge=_text(row, "judge"),
        sentinel=_text(row, "sentinel"),
        shard=_whole(row, "shard", 0),
        digest=_text(row, "digest"),
        score=score,
        ticket=_optional_text(row, "ticket"),
        usage=_usage(row),
        at=_moment(row, "at") if isinstance(score, Pending) else _text(row, "at"),
        carried_from=_optional_text(row, "carried_from"),
        carried_from_revision=_carried_revision(row),
    )


def _side(row: Mapping[str, Any]) -> Side:
    for side in SIDES:
        if row["side"] == side:
            return side
    message = f"`side` is {str(row['side'])[:40]!r}, expected baseline or anchor"
    raise ValueError(message)


def _read_bridge(row: Mapping[str, Any]) -> BridgeRecord:
    score = _read_state(row)
    return BridgeRecord(
        side=_side(row),
        case=_text(row, "case"),
        trial=_whole(row, "trial", 0),
        judge=_text(row, "judge"),
        output_digest=_text(row, "output_digest"),
        score=score,
        ticket=_optional_text(row, "ticket"),
        usage=_usage(row),
        at=_moment(row, "at") if isinstance(score, Pending) else _text(row, "at"),
        notes=_texts(row, "notes") if "notes" in row else (),
        carried_from=_optional_text(row, "carried_from"),
        carried_from_revision=_carried_revision(row),
    )


def _read_deadline(row: Mapping[str, Any]) -> DeadlineRecord:
    return DeadlineRecord(_text(row, "judge"), _texts(row, "tickets"), _moment(row, "deadline"))


def _read_late(row: Mapping[str, Any]) -> LateRecord:
    return LateRecord(
        case=_text(row, "case"),
        trial=_whole(row, "trial", 0),
        judge=_text(row, "judge"),
        output_digest=_text(row, "output_digest"),
        ticket=_text(row, "ticket"),
        value=_number(row, "value"),
        reason=_optional_text(row, "reason"),
        at=_text(row, "at"),
        side=None if row.get("side") is None else _side(row),
    )


def _read_end(row: Mapping[str, Any]) -> EndRecord:
    return EndRecord(
        outputs=_whole(row, "outputs", 0),
        scores=_whole(row, "scores", 0),
        stopped=_optional_text(row, "stopped"),
        digest=_text(row, "digest"),
        at=_text(row, "at"),
    )


_READERS: Final[dict[str, Callable[[Mapping[str, Any]], AnyRecord]]] = {
    "shard": _read_header,
    "output": _read_output,
    "score": _read_score,
    "sentinel": _read_sentinel,
    "bridge": _read_bridge,
    "deadline": _read_deadline,
    "late": _read_late,
    "end": _read_end,
}


def read_record(row: Json, where: object) -> AnyRecord:
    """One parsed line as a record; `where` becomes `file:line` when there is an error to tell.

    Raises:
        CorruptLedger: the line is no record of ours.
    """
    try:
        return _READERS[row["record"]](row)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        what = f"no `{error.args[0]}`" if isinstance(error, KeyError) else str(error)
        message = f"{where}: this line is no ledger record ({what}); the file is damaged or foreign"
        raise CorruptLedger(message) from None
