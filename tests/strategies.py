"""Hypothesis strategies that several test modules share."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

from releasecheck.canonical import digest
from releasecheck.model.bridge import SIDES
from releasecheck.model.case import Case, Source
from releasecheck.model.failure import Failure
from releasecheck.model.record import (
    BridgeRecord,
    Code,
    DeadlineRecord,
    FileHeader,
    LateRecord,
    OutputRecord,
    Record,
    ScoreRecord,
    Usage,
)
from releasecheck.model.score import JudgeFailed, Missing, NotApplicable, Pending, Score, Scored

AWKWARD_TEXTS = [
    "", "1.0", "1e5", ",1.0,", ":-0.0}", "[1e21]", "12345678901234567890", "NaN", "true", "null",
    "\ue000", "\uffff", "\U00010000", "\U0001f600", "e\u0301", "\u00e9", "\x00", "\x1f", "\x7f",
    "\u2028", '"', "\\", "\\ud83d", "/", "\r\n", "\ufeff", "{{ input }}", "${NAME}",
]  # fmt: skip
"""What readers and writers of JSON, CSV and templates have stumbled over."""
AWKWARD_FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.1, 1e-4, 9.999e-5, 1e-5, 1e-6, 1e-7, 5e-324, 2.2250738585072014e-308, 1e15,
    1e16, 9007199254740991.0, 9007199254740992.0, 9007199254740993.5, 1e20, 1e21, 1e22, 1e-27,
    1.7976931348623157e308, 333333333.3333332, 4.35, 295147905179352830000.0, 123456789012345680.0,
]  # fmt: skip
MAX_INTEGER = 2**53 - 1

texts = st.one_of(st.text(), st.sampled_from(AWKWARD_TEXTS))
moments = st.datetimes(timezones=st.none() | st.just(UTC)).map(datetime.isoformat)
"""Any text a UTF-8 file can hold."""
floats = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(AWKWARD_FLOATS)
)
integers = st.integers(-MAX_INTEGER, MAX_INTEGER)
scalars = st.one_of(st.none(), st.booleans(), integers, floats, texts)
json_values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)
"""Any value that I-JSON can hold."""

ids = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12)
"""Case ids: no control characters, no spaces."""


@st.composite
def case_lists(
    draw: st.DrawFn, *, least: int = 1, most: int = 20, rich: bool = False
) -> list[Case]:
    """Cases of a suite in dataset order, with different ids; `rich` in everything else too."""
    names = draw(st.lists(ids, min_size=least, max_size=most, unique=True))
    return [
        Case(
            id=name,
            input=draw(json_values) if rich else name,
            expected=draw(json_values) if rich else None,
            split=draw(st.sampled_from(["main", "hard"])) if rich else "main",
            tags=tuple(draw(st.lists(st.sampled_from(["a", "b"]), unique=True))) if rich else (),
            metadata=draw(st.dictionaries(texts, scalars, max_size=2)) if rich else {},
            source=Source("cases/c.jsonl", index + 1),
            index=index,
        )
        for index, name in enumerate(names)
    ]


names = st.text(min_size=1, max_size=8)
positive = st.integers(1, 5)
usages = st.builds(
    Usage, st.none() | st.integers(0, MAX_INTEGER), st.none() | st.floats(0, 1e9, allow_nan=False)
)
failures = st.builds(
    Failure,
    st.sampled_from(["infra", "config", "target", "judge", "outcome", "cancelled"]),
    st.sampled_from(["target", "judge", "collect"]),
    names,
    st.booleans(),
    st.none() | texts,
)
scores: st.SearchStrategy[Score] = st.one_of(
    st.builds(Scored, floats, st.none() | texts),
    st.builds(NotApplicable, texts),
    st.builds(Pending, names),
    st.builds(JudgeFailed, failures),
    st.builds(Missing, texts),
)
headers = st.builds(
    FileHeader,
    run_id=names,
    plan_digest=names,
    shard=st.none() | st.integers(0, 3),
    shards=positive,
    attempt=positive,
    started_at=texts,
    tool=texts,
    approved_by=st.none() | texts,
    code=st.builds(
        Code,
        st.none() | texts,
        st.dictionaries(names, texts, max_size=2).map(lambda found: tuple(sorted(found.items()))),
    ),
)


@st.composite
def output_records(draw: st.DrawFn) -> OutputRecord:
    """An answer, stored or as a digest only, or a failure."""
    failed = draw(st.none() | failures)
    content = draw(json_values.filter(lambda value: value is not None))
    return OutputRecord(
        case=draw(names),
        trial=draw(st.integers(0, 3)),
        attempt=draw(positive),
        output=None if failed else draw(st.sampled_from([content, None])),
        output_digest=None if failed else digest(content),
        failure=failed,
        latency_ms=draw(st.none() | st.floats(0, 1e9)),
        usage=draw(usages),
        trace_id=draw(st.none() | texts),
        at=draw(texts),
        calls=draw(positive),
        notes=tuple(draw(st.lists(texts, max_size=2))),
    )


@st.composite
def score_records(draw: st.DrawFn) -> ScoreRecord:
    """Any state; the ticket of a pending score is its own."""
    score = draw(scores)
    return ScoreRecord(
        case=draw(names),
        trial=draw(st.integers(0, 3)),
        judge=draw(names),
        output_digest=draw(names),
        score=score,
        ticket=score.ticket if isinstance(score, Pending) else draw(st.none() | texts),
        usage=draw(usages),
        revision=draw(positive),
        at=draw(moments if isinstance(score, Pending) else texts),
    )


@st.composite
def bridge_records(draw: st.DrawFn) -> BridgeRecord:
    """Any state; the ticket of a pending score is its own."""
    score = draw(scores)
    return BridgeRecord(
        side=draw(st.sampled_from(SIDES)),
        case=draw(names),
        trial=draw(st.integers(0, 3)),
        judge=draw(names),
        output_digest=draw(names),
        score=score,
        ticket=score.ticket if isinstance(score, Pending) else draw(st.none() | texts),
        usage=draw(usages),
        at=draw(moments if isinstance(score, Pending) else texts),
        notes=tuple(draw(st.lists(texts, max_size=2))),
        carried_from=draw(st.none() | names),
        carried_from_revision=draw(st.none() | positive),
    )


records: st.SearchStrategy[Record] = st.one_of(
    output_records(),
    score_records(),
    bridge_records(),
    st.builds(DeadlineRecord, names, st.lists(texts, max_size=3).map(tuple), moments),
    st.builds(
        LateRecord,
        case=names,
        trial=st.integers(0, 3),
        judge=names,
        output_digest=names,
        ticket=texts,
        value=st.none() | floats,
        reason=st.none() | texts,
        at=texts,
        side=st.none() | st.sampled_from(SIDES),
    ),
)
"""Any record that a ledger file can hold."""
