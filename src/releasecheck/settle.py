"""Which scores that judges owe are due, until when, how many in a call, and what to record (contract section 5).

Pure: moments come as arguments, in seconds since the epoch, and what is to be done comes back as values.
A ticket's deadline is fixed when it is first seen here, and recorded before anything is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from releasecheck.model.failure import failure
from releasecheck.model.record import (
    NO_USAGE,
    RESUMED,
    BridgeRecord,
    DeadlineRecord,
    LateRecord,
    ScoreRecord,
    SentinelRecord,
)
from releasecheck.model.score import JudgeFailed, Missing, NotApplicable, Pending, Scored

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from releasecheck.model.bridge import Side
    from releasecheck.model.failure import Failure
    from releasecheck.model.record import Record, Usage
    from releasecheck.model.score import Score
    from releasecheck.ports import Arrived, Collected

LEAST_S: Final = 30.0
"""A ticket is waited for at least this long after it was first seen."""
PLANNED_GRACE_S: Final = 3600.0
"""After a planned pause an overdue ticket is asked for once more within this time at least."""
LAST_LOOK_S: Final = 1.0
"""Where another interval would end after the deadline, the last question comes this long before it."""
MOST_BACKOFF: Final = 5
"""Doublings of the interval after questions that failed."""
SKEW_S: Final = 30.0
"""A moment that another machine recorded may lie this far ahead of our clock."""
TICKETS_IN_A_RECORD: Final = 1000
"""Tickets whose deadline one record fixes."""

Pause: TypeAlias = Literal["planned", "interrupted"]
"""How an earlier settling ended whose tickets are overdue now."""
Closing: TypeAlias = Literal["cancelled", "interrupted"]
"""Why what is open now is closed after one last question: somebody decides now; the run's time is over."""


class Rule(NamedTuple):
    """How long and how often one judge is asked."""

    judge: str
    interval_s: float
    deadline_s: float
    """After the last case was sent."""
    batch: int
    grace_s: float


class Pair(NamedTuple):
    """An output that a judge owes a score for."""

    case: str
    trial: int
    output_digest: str


class Shown(NamedTuple):
    """A sentinel that a judge owes a score for."""

    sentinel: str
    shard: int
    digest: str


class Earlier(NamedTuple):
    """An output of an earlier run that a judge owes a score for."""

    side: Side
    case: str
    """Its id in this plan."""
    trial: int
    """Of the earlier run."""
    output_digest: str


Owing: TypeAlias = Pair | Shown | Earlier


class Owed(NamedTuple):
    """A ticket, and what its score belongs to."""

    judge: str
    ticket: str
    owing: tuple[Owing, ...]
    """One; more when the judge gave one ticket for several outputs, which it may not."""
    sent_at: float
    """When the judge was given the output."""
    last_sent: float = 0.0
    """When it was given its last one of all, whether it answered that at once or not."""


class Ask(NamedTuple):
    """One question to one judge."""

    judge: str
    tickets: tuple[str, ...]
    within_s: float
    """Seconds until the answer must be there."""
    deadline: float
    last: bool
    """Whether its tickets are overdue, and this is their last chance."""


@dataclass(slots=True)
class _State:
    """What is known of one judge."""

    rule: Rule
    next_at: float
    failures: int = 0
    """In a row."""
    trouble: Failure | None = None
    """Of the last question, where it failed."""
    answered: int = 0


@dataclass(slots=True)
class _Ticket:
    owing: Owing
    deadline: float
    overdue: bool
    """Overdue when settling began: asked once, whatever the time."""
    asked: bool = False


@dataclass(slots=True)
class Settling:
    """The tickets of a run that are still open, and when to ask for them."""

    rules: Mapping[str, Rule]
    closing: Closing | None = None
    _states: dict[str, _State] = field(default_factory=dict)
    _open: dict[str, dict[str, _Ticket]] = field(default_factory=dict)
    """Judge -> ticket -> what is known of it, in the order in which they were given."""

    def begin(
        self,
        owed: Iterable[Owed],
        deadlines: Mapping[tuple[str, str], float],
        now: float,
        pause: Pause = "interrupted",
    ) -> Iterator[Record]:
        """Take the open tickets; yields what to record before anything is asked.

        Args:
            owed: Every open ticket.
            deadlines: Those fixed earlier, by (judge, ticket).
            now: The moment.
            pause: How the settling before this one ended.
        """
        by_judge: dict[str, list[Owed]] = {}
        for one in owed:
            by_judge.setdefault(one.judge, []).append(one)
        for judge, tickets in by_judge.items():
            rule = self.rules[judge]
            self._states[judge] = _State(rule, now)
            self._open[judge] = {}
            sent = [min(max(one.sent_at, one.last_sent), now + SKEW_S) for one in tickets]
            fixed = max(max(sent) + rule.deadline_s, now + LEAST_S)
            yield from self._fix(judge, tickets, deadlines, fixed)
            grace = max(rule.grace_s, PLANNED_GRACE_S) if pause == "planned" else rule.grace_s
            yield from self._take(rule, tickets, deadlines, fixed, now, grace)

    def _fix(
        self,
        judge: str,
        tickets: Sequence[Owed],
        deadlines: Mapping[tuple[str, str], float],
        fixed: float,
    ) -> Iterator[Record]:
        new = [one.ticket for one in tickets if (judge, one.ticket) not in deadlines]
        for start in range(0, len(new), TICKETS_IN_A_RECORD):
            part = tuple(new[start : start + TICKETS_IN_A_RECORD])
            yield DeadlineRecord(judge, part, text_of(fixed))

    def _take(
        self,
        rule: Rule,
        tickets: Sequence[Owed],
        deadlines: Mapping[tuple[str, str], float],
        fixed: float,
        now: float,
        grace: float,
    ) -> Iterator[Record]:
        # No honest file waits longer than a judge has for what it is given at this moment.
        latest = now + SKEW_S + max(rule.deadline_s, LEAST_S)
        for one in tickets:
            if len(one.owing) > 1:
                yield from _shared(one, now)
                continue
            owing = one.owing[0]
            deadline = min(deadlines.get((one.judge, one.ticket), fixed), latest)
            if now >= deadline + grace:
                yield _closed(one.judge, one.ticket, owing, Missing("interrupted"), now)
                continue
            self._open[rule.judge][one.ticket] = _Ticket(owing, deadline, now >= deadline)

    @property
    def open(self) -> int:
        """Tickets that nothing has come for."""
        return sum(len(tickets) for tickets in self._open.values())

    def open_of(self, judge: str) -> int:
        """Tickets of one judge that nothing has come for."""
        return len(self._open.get(judge, ()))

    def asks(self, now: float, busy: Collection[str] = ()) -> list[Ask]:
        """The questions that are due, the judges' rounds taken for done.

        Tickets of one deadline go together, so that a call is bounded by the deadline of all it asks for.
        Judges that are `busy` still have a round under way.
        """
        due = []
        for judge, state in self._states.items():
            tickets = self._open[judge]
            if not tickets or state.next_at > now or judge in busy:
                continue
            due += list(self._round(state.rule, tickets, now))
            state.next_at = _after(state.rule.interval_s, tickets, now)
        return due

    def _round(self, rule: Rule, tickets: Mapping[str, _Ticket], now: float) -> Iterator[Ask]:
        groups: dict[tuple[float, bool], list[str]] = {}
        for name, ticket in tickets.items():
            if ticket.overdue and not ticket.asked:
                groups.setdefault((ticket.deadline, True), []).append(name)
            elif now < ticket.deadline:
                groups.setdefault((ticket.deadline, False), []).append(name)
        for (deadline, last), names in groups.items():
            # An overdue ticket has no time left of its own: its one question gets as long as a new one's.
            left = LEAST_S if last else deadline - now
            for start in range(0, len(names), rule.batch):
                part = tuple(names[start : start + rule.batch])
                yield Ask(rule.judge, part, left, deadline, last)

    def fold(self, ask: Ask, found: Collected, now: float) -> Iterator[Record]:
        """What to record of an answer; what it does not bring stays open."""
        state, tickets = self._states[ask.judge], self._open[ask.judge]
        if found.failure is None:
            state.failures, state.trouble = 0, None
        else:
            state.failures += 1
            state.trouble = found.failure
            wait = state.rule.interval_s * 2.0 ** min(state.failures - 1, MOST_BACKOFF)
            state.next_at = max(state.next_at, _after(wait, tickets, now))
        if found.again_s is not None:
            # Nobody is asked after the last deadline, whatever number a judge names.
            ends = max((ticket.deadline for ticket in tickets.values()), default=now)
            state.next_at = max(state.next_at, min(now + found.again_s, ends))
        for name in ask.tickets:
            ticket = tickets.get(name)
            if ticket is None:
                continue
            ticket.asked = True
            arrived = found.scores.get(name)
            if arrived is None or isinstance(arrived.answer, Pending):
                continue
            del tickets[name]
            state.answered += 1
            yield from _arrived(ask, name, ticket, arrived, now)

    def expire(self, now: float, busy: Collection[str] = ()) -> Iterator[Record]:
        """Close what nobody may answer any more; of `busy` judges once their round is over."""
        for judge, tickets in self._open.items():
            if judge in busy:
                continue
            state = self._states[judge]
            over: list[tuple[str, Missing]] = []
            for name, ticket in tickets.items():
                reason = self._over(ticket, now)
                if reason is not None:
                    over.append((name, Missing(reason, state.trouble)))
            for name, missing in over:
                yield _closed(judge, name, tickets.pop(name).owing, missing, now)

    def _over(self, ticket: _Ticket, now: float) -> str | None:
        if ticket.overdue:
            return "interrupted" if ticket.asked else None
        if now >= ticket.deadline:
            return "deadline"
        return self.closing if self.closing is not None and ticket.asked else None

    def next_at(self, now: float, busy: Collection[str] = ()) -> float | None:
        """When to come back, at the latest when the next deadline ends; None when nothing is open.

        Judges that are `busy` say themselves when their round is over.
        """
        moments = [
            moment
            for judge, tickets in self._open.items()
            if tickets and judge not in busy
            for moment in self._moments(self._states[judge], tickets, now)
        ]
        return min(moments) if moments else None

    def _moments(
        self, state: _State, tickets: Mapping[str, _Ticket], now: float
    ) -> Iterator[float]:
        if any(ticket.overdue for ticket in tickets.values()):
            yield now
            return
        ends = _first_deadline(tickets)
        yield ends
        if state.next_at < ends:
            yield state.next_at

    def waiting(self) -> dict[str, tuple[int, float, float]]:
        """Judge -> (open tickets, their last deadline, when it is asked again)."""
        return {
            judge: (
                len(tickets),
                max(ticket.deadline for ticket in tickets.values()),
                self._states[judge].next_at,
            )
            for judge, tickets in self._open.items()
            if tickets
        }


def _first_deadline(tickets: Mapping[str, _Ticket]) -> float:
    return min(ticket.deadline for ticket in tickets.values())


def _after(wait: float, tickets: Mapping[str, _Ticket], now: float) -> float:
    """When to ask again: the last question before a deadline comes early enough to be answered."""
    ends = _first_deadline(tickets)
    if now + wait >= ends > now + 2 * LAST_LOOK_S:
        return ends - LAST_LOOK_S
    return now + wait


def moment_of(text: str) -> float:
    """Seconds since the epoch of an RFC 3339 moment; one without an offset is UTC (ValueError: none)."""
    found = datetime.fromisoformat(text)
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()


def text_of(moment: float) -> str:
    """RFC 3339 with milliseconds, UTC."""
    found = datetime.fromtimestamp(moment, UTC)
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shared(one: Owed, now: float) -> Iterator[Record]:
    """One ticket for several outputs: nobody can tell whose score it will bring."""
    message = (
        f"the judge gave the ticket {one.ticket[:80]!r} for {len(one.owing)} outputs; each output needs a "
        "ticket of its own"
    )
    failed = JudgeFailed(failure("judge", "collect", "contract_violation", message))
    for owing in one.owing:
        yield _closed(one.judge, one.ticket, owing, failed, now)


def _arrived(
    ask: Ask, name: str, ticket: _Ticket, arrived: Arrived, now: float
) -> Iterator[Record]:
    owing = ticket.owing
    if _is_late(ask, arrived, now):
        if not isinstance(owing, Shown) and isinstance(arrived.answer, Scored | NotApplicable):
            answer = arrived.answer
            value = answer.value if isinstance(answer, Scored) else None
            side = owing.side if isinstance(owing, Earlier) else None
            yield LateRecord(
                owing.case, owing.trial, ask.judge, owing.output_digest, name, value, answer.reason,
                text_of(now), side,
            )  # fmt: skip
        yield _closed(ask.judge, name, owing, Missing("deadline"), now)
        return
    notes = (RESUMED, *arrived.notes) if ask.last else arrived.notes
    yield _closed(ask.judge, name, owing, arrived.answer, now, arrived.usage, notes)


def _is_late(ask: Ask, arrived: Arrived, now: float) -> bool:
    if arrived.made_at is not None:
        try:
            if moment_of(arrived.made_at) > ask.deadline:
                return True
        except (ValueError, OverflowError):
            pass  # a moment that cannot be read says nothing
    return not ask.last and now > ask.deadline


def _closed(
    judge: str,
    ticket: str,
    owing: Owing,
    score: Score,
    now: float,
    usage: Usage = NO_USAGE,
    notes: tuple[str, ...] = (),
) -> Record:
    if isinstance(owing, Shown):
        return SentinelRecord(
            judge, owing.sentinel, owing.shard, owing.digest, score, ticket, usage, text_of(now)
        )
    if isinstance(owing, Earlier):
        return BridgeRecord(
            side=owing.side,
            case=owing.case,
            trial=owing.trial,
            judge=judge,
            output_digest=owing.output_digest,
            score=score,
            ticket=ticket,
            usage=usage,
            at=text_of(now),
            notes=notes,
        )
    return ScoreRecord(
        case=owing.case,
        trial=owing.trial,
        judge=judge,
        output_digest=owing.output_digest,
        score=score,
        ticket=ticket,
        usage=usage,
        revision=1,
        at=text_of(now),
        notes=notes,
    )
