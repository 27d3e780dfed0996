"""What a judge answered to a question for scores, ticket by ticket (S1-32, S1-33, G-14)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from releasecheck.canonical import JsonProblem
from releasecheck.judges.answer import read_later
from releasecheck.judges.contract import CONTRACT, REFUSED, refusal
from releasecheck.judges.outcome import cannot, kind, shown
from releasecheck.judges.pieces import Repeated, Unreadable, flaw, parse_pieces
from releasecheck.model.score import JudgeFailed, Pending, Scored
from releasecheck.ports import Arrived, Collected
from releasecheck.transport.endpoint import not_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.canonical import Json
    from releasecheck.judges.answer import Range
    from releasecheck.model.failure import Failure
    from releasecheck.redact import Redactor
    from releasecheck.transport.classify import Classifier
    from releasecheck.transport.http import HttpAnswer

EXPIRED: Final = "ticket_expired"
"""How the reason of a judge begins that no longer knows a ticket."""
JUDGE_FAILED: Final = "judge_failed"
_SHOWN: Final = 5
"""Strange tickets that are named; the rest is counted."""


class CollectReader:
    """Reads answers of one judge."""

    def __init__(
        self, classify: Classifier, redactor: Redactor, scale: Range | None, *, rejudge: bool
    ) -> None:
        """Take what all of its answers are read by; `rejudge`: an expired ticket is worth another attempt."""
        self._rejudge = rejudge
        self._classify = classify
        self._redactor = redactor
        self._scale = scale

    def read(self, answer: HttpAnswer, tickets: Sequence[str], doing: str) -> Collected:
        """What came for the tickets that were asked for; each bad score fails its own ticket only."""
        try:
            found = parse_pieces(answer.body)
        except JsonProblem as problem:
            return Collected(failure=not_json(self._classify, answer, problem, doing).failure)
        entries = self._entries(found, doing)
        if not isinstance(entries, tuple):
            return Collected(failure=entries)
        asked: dict[str, list[Json]] = {ticket: [] for ticket in tickets}
        strange: dict[str, None] = {}
        for ticket, entry in entries:
            if ticket in asked:
                asked[ticket].append(entry)
            else:
                strange[ticket] = None
        scores = {
            ticket: self._one(ticket, several) for ticket, several in asked.items() if several
        }
        return Collected(scores, violations=self._violations(list(strange), doing))

    def _entries(self, found: Json, doing: str) -> tuple[tuple[str, Json], ...] | Failure:
        """Tickets with what stands beside them, in the answer's order; or why there are none."""
        if not isinstance(found, dict):
            what = found.why if isinstance(found, Unreadable) else kind(found)
            return self._broken("malformed", f"{doing}: expected an object, found {what}")
        if isinstance(found, Repeated):
            return self._broken("malformed", f"{doing}: {flaw(found)}")
        spoken = found.get("contract", CONTRACT)
        if spoken != CONTRACT:
            said = spoken.why if isinstance(spoken, Unreadable) else refusal(spoken)
            return self._classify.config(REFUSED, f"{doing}: {said}").failure
        scores = found.get("scores")
        if isinstance(scores, Repeated):
            return scores.pairs
        if isinstance(scores, dict):
            return tuple(scores.items())
        keys = ", ".join(sorted(found)[:20]) or "none"
        what = f"is {kind(scores)}" if "scores" in found else f"is not there; the keys: {keys}"
        message = f"{doing}: `scores` must be an object with tickets as keys, and {what}"
        return self._broken("malformed", message)

    def _one(self, ticket: str, entries: list[Json]) -> Arrived:
        """The answer for one ticket, which may stand there more than once."""
        read = [self._read(ticket, entry) for entry in entries]
        first, *others = [one for one in read if not isinstance(one.answer, Pending)] or read[:1]
        differs = next((one for one in others if _verdict(one) != _verdict(first)), None)
        if differs is None:
            return first
        message = (
            f"one answer gives this ticket twice, as {_words(first)} and as {_words(differs)}; neither is "
            "taken"
        )
        return Arrived(_collecting(cannot("conflict", message)))

    def _read(self, ticket: str, entry: Json) -> Arrived:
        wrong = flaw(entry)
        if wrong is not None:
            said = self._redactor.text(f"the score of this ticket cannot be read: {wrong}")
            return Arrived(_collecting(cannot("malformed", said)))
        arrived = read_later(self._redactor.value(entry), ticket, self._scale)
        if isinstance(arrived.answer, JudgeFailed):
            return arrived._replace(answer=_collecting(self._expired(arrived.answer)))
        return arrived

    def _expired(self, failed: JudgeFailed) -> JudgeFailed:
        """A judge says `ticket_expired` for a ticket that it no longer knows (G-15)."""
        said = failed.failure.message or ""
        if failed.failure.code != JUDGE_FAILED or not said.startswith(EXPIRED):
            return failed
        next_ = (
            "the next attempt judges the output anew" if self._rejudge
            else "with `rejudge: true` the next attempt would judge the output anew"
        )  # fmt: skip
        return cannot(EXPIRED, f"{said}; {next_}", retryable=self._rejudge)

    def _violations(self, strange: list[str], doing: str) -> tuple[str, ...]:
        named = [
            f"{doing}: a ticket that was not asked for, {self._classify.start_of(shown(ticket))}"
            for ticket in strange[:_SHOWN]
        ]
        if len(strange) > _SHOWN:
            named.append(f"{doing}: and {len(strange) - _SHOWN} more tickets not asked for")
        return tuple(named)

    def _broken(self, code: str, message: str) -> Failure:
        return self._classify.broken(code, message).failure


def _verdict(arrived: Arrived) -> object:
    """What two answers for one ticket must agree on: reasons may differ."""
    answer = arrived.answer
    match answer:
        case Scored(value):
            return value
        case JudgeFailed(failure):
            return failure.code, failure.message
        case _:
            return type(answer)


def _words(arrived: Arrived) -> str:
    answer = arrived.answer
    match answer:
        case Scored(value):
            return f"{value!r}"
        case JudgeFailed(failure):
            return f"a failure ({failure.code})"
        case _:
            return "not applicable"


def _collecting(failed: JudgeFailed) -> JudgeFailed:
    return JudgeFailed(replace(failed.failure, stage="collect"))
