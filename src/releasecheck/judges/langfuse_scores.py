"""Scores as Langfuse gives them, in both versions of its API: read, sorted by trace, made one answer each."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from releasecheck.judges.answer import read_answer
from releasecheck.judges.outcome import cannot, shown
from releasecheck.model.score import Scored
from releasecheck.ports import Arrived

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from releasecheck.canonical import Json
    from releasecheck.model.judge import LangfuseJudge
    from releasecheck.model.score import JudgeAnswer

_NAMED: Final = 5
"""Traces or scores that a message names."""
_LAST: Final = datetime.max.replace(tzinfo=UTC)


class NoPage(ValueError):
    """What came is no page of scores."""


class Page(NamedTuple):
    """One page of scores."""

    scores: tuple[dict[str, Json], ...]
    cursor: str | None
    """Of the next page (version 3); None on the last one."""
    total: int
    """Pages that there are (version 2)."""


def read_page(found: Json) -> Page:
    """Read `{data, meta}`.

    Raises:
        NoPage: it is none.
    """
    data, meta = (found.get(key) if isinstance(found, dict) else None for key in ("data", "meta"))
    if not isinstance(data, list) or not isinstance(meta, dict):
        message = f"expected a page of scores, `{{data, meta}}`; found {shown(found)}"
        raise NoPage(message)
    for one in data:
        if not isinstance(one, dict):
            message = f"a score is {shown(one)}, expected an object"
            raise NoPage(message)
    cursor, total = meta.get("cursor"), meta.get("totalPages", 1)
    if cursor is not None and not isinstance(cursor, str):
        message = f"`meta.cursor` is {shown(cursor)}, expected a text"
        raise NoPage(message)
    if isinstance(total, bool) or not isinstance(total, int):
        message = f"`meta.totalPages` is {shown(total)}, expected a whole number"
        raise NoPage(message)
    return Page(tuple(data), cursor or None, total)


class Sorted:
    """The scores of one question, by trace."""

    def __init__(self, spec: LangfuseJudge, asked: frozenset[str]) -> None:
        self._spec = spec
        self._asked = asked
        self.pages = 0
        """Pages read so far."""
        self.scores: dict[str, Arrived] = {}
        """By ticket; a trace without a score is not here."""
        self.violations: list[str] = []

    def take(self, tickets: Sequence[str], pages: Iterable[Page]) -> None:
        """Take every page that there is of the scores of some traces."""
        by_trace: dict[str, list[dict[str, Json]]] = {ticket: [] for ticket in tickets}
        foreign: dict[str, None] = {}
        unplaced = 0
        for score in (score for page in pages for score in page.scores):
            if not self._is_meant(score):
                continue
            trace = _trace_of(score)
            if trace is None:
                unplaced += 1
            elif trace in by_trace:
                by_trace[trace].append(score)
            elif trace not in self._asked:
                foreign[trace] = None
        self.scores.update(
            (ticket, self._arrived(found)) for ticket, found in by_trace.items() if found
        )
        if foreign:
            names = ", ".join(shown(trace) for trace in list(foreign)[:_NAMED])
            self.violations.append(
                f"scores of {len(foreign)} traces that were not asked for: {names}"
            )
        if unplaced:
            self.violations.append(f"{unplaced} scores do not say which trace they are of")

    def _is_meant(self, score: dict[str, Json]) -> bool:
        # Whatever the deployment filters by: a score of another name or source is never ours.
        wanted = self._spec.source
        return score.get("name") == self._spec.score and (
            wanted is None or str(score.get("source")).upper() == wanted
        )

    def _arrived(self, found: list[dict[str, Json]]) -> Arrived:
        answers = [self._answer(score) for score in found]
        first = min(range(len(found)), key=lambda at: _moment(found[at]) or _LAST)
        same = {_value(answer) for answer in answers}
        if len(same) == 1:
            return Arrived(answers[first], made_at=_made_at(found[first]))
        each = ", ".join(
            f"{shown(_written(score))} from {shown(score.get('source'))}"
            for score in found[:_NAMED]
        )
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        message = (
            f"the trace has {len(found)} scores named {self._spec.score!r} that differ: {each}{more}; name "
            "one `source`, or let only one evaluator give the score"
        )
        return Arrived(cannot("ambiguous", message))

    def _answer(self, score: dict[str, Json]) -> JudgeAnswer:
        kind, written = score.get("dataType"), _written(score)
        if kind == "CATEGORICAL":
            if not isinstance(written, str) or written not in self._spec.values:
                known = ", ".join(self._spec.values) or "none"
                message = (
                    f"the category {shown(written)} of score {self._spec.score!r} has no value; `values` of "
                    f"the judge names: {known}"
                )
                return cannot("unmapped_category", message)
            value: Json = self._spec.values[written]
        elif kind == "BOOLEAN" and not (isinstance(written, int | float) and written in (0, 1)):
            return cannot("contract_violation", f"a BOOLEAN score is {shown(written)}")
        elif kind in {"BOOLEAN", "NUMERIC"}:
            value = written
        else:
            message = (
                f"the score {self._spec.score!r} is of type {shown(kind)}, which is no number; a judge reads "
                "NUMERIC, BOOLEAN and CATEGORICAL scores"
            )
            return cannot("contract_violation", message)
        comment = score.get("comment")
        reason = comment if isinstance(comment, str) and comment.strip() else None
        return read_answer({"value": value, "reason": reason}, self._spec.scale).answer


def _trace_of(score: dict[str, Json]) -> str | None:
    """Version 3 has a `subject` with a kind; version 2 the id beside the value."""
    subject = score.get("subject")
    if isinstance(subject, dict):
        trace = subject.get("id") if subject.get("kind") == "trace" else subject.get("traceId")
    else:
        trace = score.get("traceId")
    return trace if isinstance(trace, str) else None


def _written(score: dict[str, Json]) -> Json:
    """The value as it was given: version 2 keeps the text of a category apart."""
    text = score.get("stringValue")
    if score.get("dataType") == "CATEGORICAL" and isinstance(text, str):
        return text
    return score.get("value")


def _value(answer: JudgeAnswer) -> object:
    """What makes two scores differ: the value, not the words."""
    return answer.value if isinstance(answer, Scored) else answer


def _moment(score: dict[str, Json]) -> datetime | None:
    text = score.get("timestamp")
    try:
        found = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return None if found is None or found.tzinfo is None else found


def _made_at(score: dict[str, Json]) -> str | None:
    return None if _moment(score) is None else str(score["timestamp"])
