"""Schemas of lines: a plan's cases, the ledger, and `results.jsonl`. Newer versions may add fields."""

from __future__ import annotations

from typing import Any, Final, get_args

from releasecheck.canonical import MAX_INTEGER
from releasecheck.model.bridge import SIDES
from releasecheck.model.failure import LONGEST_MESSAGE, FailureClass, Stage
from releasecheck.model.record import LONGEST_FINGERPRINT, RESULTS_SCHEMA
from releasecheck.model.table import STATES

_TEXT: Final = {"type": "string"}
_TEXT_OR_NULL: Final = {"type": ["string", "null"]}
_NUMBER_OR_NULL: Final = {"type": ["number", "null"]}
_BOOLEAN: Final = {"type": "boolean"}
_DIGEST: Final = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
_TIME: Final = {"type": "string", "format": "date-time"}
_ANY: Final[dict[str, Any]] = {"description": "Any JSON value."}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_FINGERPRINT: Final = {
    "type": "string",
    "maxLength": LONGEST_FINGERPRINT,
    "description": "Which model answered, as the target says it.",
}


_MEANINGS: Final = {
    "record": "Which kind of line it is.",
    "schema": "Name and major version of this format.",
    "run_id": "The run.",
    "plan_digest": "Of everything that can decide the outcome.",
    "shard": "0-based number of the shard.",
    "shards": "How many the plan has.",
    "attempt": "1-based number of the attempt at the shard.",
    "started_at": "When the attempt began.",
    "tool": "Name and version of the program that wrote it.",
    "revision": "Of the scores; above 1 stored answers were judged again.",
    "case": "Id of the case.",
    "trial": "0-based number of the answer to the case.",
    "output": "The answer; null when there is none, when it was purged, or when it is not stored.",
    "output_digest": "Over the answer; null exactly when the call failed.",
    "failure": "Why there is none; null when all went well.",
    "latency_ms": "Milliseconds of the attempt that succeeded; null when none did.",
    "usage": "What all attempts used.",
    "trace_id": "Of the target's own tracing, where it says one.",
    "at": "When this was recorded.",
    "calls": "Attempts made, retries included; absent where it is one.",
    "notes": "What was repaired or must be said about how it came.",
    "judge": "Id of the judge.",
    "sentinel": "Name of the sentinel.",
    "side": "The earlier run whose stored answer was judged.",
    "state": "Whether there is a value, and if not, why.",
    "value": "The score; null in every state but `scored`.",
    "reason": "What the judge says of it, or a code of ours.",
    "ticket": "Under which the judge answers later, or answered.",
    "tickets": "Those that are waited for.",
    "deadline": "Until when.",
    "outputs": "Lines with answers before this one.",
    "scores": "Lines with scores before this one, or each judge's cell by its id.",
    "stopped": "Why the work was not done to its end; null when it was.",
    "digest": "Over what it is about, but for what purging removes.",
    "split": "The part of the dataset that the case belongs to.",
    "tags": "Of the case.",
    "metadata": "Free; visible to templates and judges.",
    "source": "Where the case was written.",
    "path": "The dataset file, relative to the config.",
    "line": "1-based.",
    "case_digest": "Over input, expected and metadata of the case.",
    "cluster": "What the metadata of the case names as `cluster`.",
    "passed": "Whether the answer passes, by judge id, where there is a pass mark.",
    "tokens": "Number of tokens.",
    "cost_usd": "US dollars.",
    "class": "What kind of thing broke.",
    "stage": "Where it happened.",
    "code": "A stable word for programs: `timeout`, `rate_limited`, ...",
    "retryable": "Whether a re-run has something to do.",
    "message": "For a person, the cause first; secrets are removed.",
}
"""What a property is, wherever it stands, unless it says so itself."""


def _whole(least: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "maximum": MAX_INTEGER}


def _object(
    properties: dict[str, Any], description: str, optional: tuple[str, ...] = ()
) -> dict[str, Any]:
    described = {
        name: part if "description" in part or name not in _MEANINGS else {**part, "description": _MEANINGS[name]}
        for name, part in properties.items()
    }  # fmt: skip
    return {
        "type": "object",
        "description": description,
        "properties": described,
        "required": [name for name in properties if name not in optional],
    }


_USAGE: Final = _object(
    {"tokens": {"type": ["integer", "null"], "minimum": 0}, "cost_usd": _NUMBER_OR_NULL},
    "What a call used; null where nobody said, never 0.",
)
_FAILURE: Final = _object(
    {
        "class": {"enum": list(get_args(FailureClass))},
        "stage": {"enum": list(get_args(Stage))},
        "code": _TEXT,
        "retryable": _BOOLEAN,
        "message": {"type": ["string", "null"], "maxLength": LONGEST_MESSAGE},
    },
    "Why something could not be done; `message` is null once purged.",
)
_FAILURE_OR_NULL: Final = {"anyOf": [{"$ref": "#/$defs/failure"}, {"type": "null"}]}
# Only a scored state has a value, and it always has one.
_VALUE_RULE: Final = {
    "if": {"properties": {"state": {"const": "scored"}}},
    "then": {"properties": {"value": {"type": "number"}}},
    "else": {"properties": {"value": {"type": "null"}}},
}


_CARRIED_FROM: Final = _TEXT | {
    "description": "The run that recorded it first, of which this one is a retry."
}
_CARRIED: Final[dict[str, Any]] = {
    "carried_from": _CARRIED_FROM,
    "carried_from_revision": _whole(1)
    | {"description": "The revision that measured it, which a later one kept."},
}


def case_schema() -> dict[str, Any]:
    """Of a line of `cases-NNNN.jsonl`, without its head."""
    return _object(
        {
            "id": {"type": "string", "minLength": 1, "description": "Unique in the suite."},
            "input": _ANY | {"description": "What the target gets."},
            "expected": _ANY
            | {"description": "What judges compare with; null when none is named."},
            "split": _TEXT,
            "tags": _TEXTS,
            "metadata": {"type": "object"},
            "source": _object({"path": _TEXT, "line": _whole(1)}, "Where the case was written."),
            "digest": _DIGEST | {"description": "Over input, expected and metadata."},
            "index": _whole(0) | {"description": "Position in plan order."},
        },
        "One case, whole.",
    )


def results_schema() -> dict[str, Any]:
    """Of a line of a ledger file or of `results.jsonl`, without its head."""
    lines = {
        "shard": _header(),
        "output": _output(),
        "score": _score(),
        "sentinel": _sentinel(),
        "bridge": _bridge(),
        "deadline": _deadline(),
        "late": _late(),
        "end": _end(),
        "result": _result(),
    }
    return {
        "type": "object",
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in lines],
        "$defs": {"usage": _USAGE, "failure": _FAILURE, **lines},
    }


def _record(name: str) -> dict[str, Any]:
    return {"record": {"const": name}}


def _header() -> dict[str, Any]:
    return _object(
        {
            **_record("shard"),
            "schema": {"const": RESULTS_SCHEMA},
            "run_id": _TEXT,
            "plan_digest": _DIGEST,
            "shard": {"type": ["integer", "null"], "minimum": 0},
            "shards": _whole(1),
            "attempt": _whole(1),
            "started_at": _TIME,
            "tool": _TEXT,
            "revision": _whole(1),
        },
        "Line 1 of a ledger file; `shard` is null for what `finish` itself, or a later revision, recorded.",
        optional=("revision",),
    )


def _output() -> dict[str, Any]:
    schema = _object(
        {
            **_record("output"),
            "case": _TEXT,
            "trial": _whole(0),
            "attempt": _whole(1),
            "output": _ANY,
            "output_digest": {"anyOf": [_DIGEST, {"type": "null"}]},
            "failure": _FAILURE_OR_NULL,
            "latency_ms": _NUMBER_OR_NULL,
            "usage": {"$ref": "#/$defs/usage"},
            "trace_id": _TEXT_OR_NULL,
            "at": _TIME,
            "calls": _whole(1),
            "notes": _TEXTS,
            "fingerprint": _FINGERPRINT,
            "carried_from": _CARRIED_FROM,
        },
        "What the target answered to one trial, or how it failed.",
        optional=("calls", "notes", "fingerprint", "carried_from"),
    )
    # Either an answer, which has a digest even when its content is not stored, or a failure.
    return schema | {
        "if": {"properties": {"failure": {"type": "null"}}},
        "then": {"properties": {"output_digest": _DIGEST}},
        "else": {"properties": {"output_digest": {"type": "null"}}},
    }


def _score() -> dict[str, Any]:
    return _VALUE_RULE | _object(
        {
            **_record("score"),
            "case": _TEXT,
            "trial": _whole(0),
            "judge": _TEXT,
            "output_digest": _DIGEST,
            "state": {"enum": list(STATES)},
            "value": _NUMBER_OR_NULL,
            "reason": _TEXT_OR_NULL,
            "failure": _FAILURE_OR_NULL,
            "ticket": _TEXT_OR_NULL,
            "usage": {"$ref": "#/$defs/usage"},
            "revision": _whole(1),
            "at": _TIME,
            "notes": _TEXTS,
            **_CARRIED,
        },
        "What one judge said about one output.",
        optional=("notes", *_CARRIED),
    )


def _sentinel() -> dict[str, Any]:
    return _VALUE_RULE | _object(
        {
            **_record("sentinel"),
            "judge": _TEXT,
            "sentinel": _TEXT,
            "shard": _whole(0),
            "digest": _DIGEST,
            "state": {"enum": list(STATES)},
            "value": _NUMBER_OR_NULL,
            "reason": _TEXT_OR_NULL,
            "failure": _FAILURE_OR_NULL,
            "ticket": _TEXT_OR_NULL,
            "usage": {"$ref": "#/$defs/usage"},
            "at": _TIME,
            **_CARRIED,
        },
        "What one judge said about an answer whose score is known.",
        optional=tuple(_CARRIED),
    )


def _bridge() -> dict[str, Any]:
    return _VALUE_RULE | _object(
        {
            **_record("bridge"),
            "side": {"enum": list(SIDES)},
            "case": _TEXT,
            "trial": _whole(0),
            "judge": _TEXT,
            "output_digest": _DIGEST,
            "state": {"enum": list(STATES)},
            "value": _NUMBER_OR_NULL,
            "reason": _TEXT_OR_NULL,
            "failure": _FAILURE_OR_NULL,
            "ticket": _TEXT_OR_NULL,
            "usage": {"$ref": "#/$defs/usage"},
            "at": _TIME,
            "notes": _TEXTS,
            **_CARRIED,
        },
        "What one judge said about a stored output of the baseline or the anchor.",
        optional=("notes", *_CARRIED),
    )


def _deadline() -> dict[str, Any]:
    return _object(
        {**_record("deadline"), "judge": _TEXT, "tickets": _TEXTS, "deadline": _TIME},
        "Until when a judge's tickets are waited for.",
    )


def _late() -> dict[str, Any]:
    return _object(
        {
            **_record("late"),
            "case": _TEXT,
            "trial": _whole(0),
            "judge": _TEXT,
            "output_digest": _DIGEST,
            "ticket": _TEXT,
            "value": _NUMBER_OR_NULL,
            "reason": _TEXT_OR_NULL,
            "at": _TIME,
            "side": {"enum": list(SIDES)},
        },
        "A score that came after its deadline: kept, never counted.",
        optional=("side",),
    )


def _end() -> dict[str, Any]:
    return _object(
        {
            **_record("end"),
            "outputs": _whole(0),
            "scores": _whole(0),
            "stopped": _TEXT_OR_NULL,
            "digest": _DIGEST,
            "at": _TIME,
        },
        "The last line: how much there is before it.",
    )


def _result() -> dict[str, Any]:
    cell = _VALUE_RULE | _object(
        {
            "state": {"enum": list(STATES)},
            "value": _NUMBER_OR_NULL,
            "reason": _TEXT_OR_NULL,
        },
        "One judge's cell.",
    )
    schema = _object(
        {
            "case": _TEXT,
            "case_digest": _DIGEST,
            "trial": _whole(0),
            "split": _TEXT,
            "tags": {"type": "array", "items": _TEXT},
            "cluster": _TEXT,
            "output": _ANY,
            "failure": _FAILURE_OR_NULL,
            "latency_ms": _NUMBER_OR_NULL,
            "usage": {"$ref": "#/$defs/usage"},
            "trace_id": _TEXT_OR_NULL,
            "fingerprint": _FINGERPRINT,
            "scores": {"type": "object", "additionalProperties": cell},
            "passed": {"type": "object", "additionalProperties": _BOOLEAN},
        },
        "A line of `results.jsonl`: what is known of one (case, trial).",
        optional=("tags", "cluster", "fingerprint"),
    )
    return schema | {"not": {"required": ["record"]}}
