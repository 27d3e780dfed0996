"""What a judge of any kind is tried with: one output, its ticket, and both again.

The same probes hold an immediate and a deferred judge (S1-13). A ticket is collected and never traded for
another answer: the output is only judged again once its score has come (S1-30, S1-40).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from releasecheck.judges.answer import ticket_flaw
from releasecheck.judges.contract import MOST_TICKETS
from releasecheck.model.judge import HttpJudge, PrecomputedJudge, value_range
from releasecheck.model.score import JudgeFailed, NotApplicable, Pending, Scored
from releasecheck.pipeline.checking.report import Probe
from releasecheck.pipeline.checking.waiting import Waited, wait_for
from releasecheck.ports import DeferredJudge
from releasecheck.stats import count

if TYPE_CHECKING:
    from releasecheck.model.judge import Judge as JudgeSpec
    from releasecheck.model.score import JudgeAnswer
    from releasecheck.pipeline.checking.report import Outcome
    from releasecheck.pipeline.checking.samples import Sample
    from releasecheck.ports import Clock, Judge, JudgeAsk

SLOW_S: Final = 5.0
"""Seconds for one question after which somebody else's deadline is in danger."""
PATIENCE_S: Final = 60.0
"""Seconds for a question that has no deadline of its own."""
Final_: TypeAlias = Scored | NotApplicable | JudgeFailed
OWN_FAILURE: Final = "judge_failed"
"""A judge that says itself that it failed keeps the contract."""


class Probes:
    """Tries one judge, one probe after the other, and remembers what it found."""

    def __init__(
        self,
        judge: Judge,
        spec: JudgeSpec,
        sample: Sample,
        clock: Clock,
        *,
        run_id: str,
        interval_s: float,
        deadline_s: float,
    ) -> None:
        self.judge = judge
        self.clock = clock
        self.found: list[Probe] = []
        self.tickets: list[str] = []
        """All that were given, for the purge at the end."""
        self._spec = spec
        self._sample = sample
        self._run_id = run_id
        self._interval_s = interval_s
        self._deadline_s = deadline_s

    @property
    def later(self) -> DeferredJudge:
        """The judge, where it answered that it will answer later."""
        assert isinstance(self.judge, DeferredJudge)  # noqa: S101 - only asked after `Pending`
        return self.judge

    def say(self, name: str, outcome: Outcome, found: str, todo: str = "") -> bool:
        """Note a probe; whether it did not fail."""
        self.found.append(Probe(name, outcome, found, todo))
        return outcome != "failed"

    def ask(self, number: int) -> JudgeAsk:
        """The sample under the key of this number."""
        return self._sample.ask(self._run_id, self._spec.id, number)

    async def judged(self, number: int) -> JudgeAnswer:
        """What the judge says to the sample."""
        answer = (await self.judge.judge(self.ask(number))).answer
        if isinstance(answer, Pending) and answer.ticket not in self.tickets:
            self.tickets.append(answer.ticket)
        return answer

    async def wait(self, *tickets: str) -> Waited:
        """What comes for tickets before the check's deadline."""
        return await wait_for(
            self.later,
            tickets,
            self.clock,
            interval_s=self._interval_s,
            deadline_s=self._deadline_s,
        )

    async def sample(self) -> JudgeAnswer | None:
        """The first output; None where nothing more can be learnt from it."""
        answer = await self.judged(0)
        flaw = self.flaw(answer)
        if flaw is not None:
            todo = "Answer as the contract says; this one would make its pair fail"
            self.say("sample", "failed", f"{self._sample.where}: {flaw}", todo)
            return None
        self._say_answer("sample", answer, f"{self._sample.where}: {words(answer)}")
        return answer

    async def collect(self, ticket: str) -> Final_ | None:
        """The ticket's score, however long it takes within the deadline."""
        waited = await self.wait(ticket)
        arrived = waited.scores.get(ticket)
        if waited.violations:
            todo = "Answer only for the tickets that the question names"
            self.say("collect", "failed", waited.violations[0], todo)
            return None
        if arrived is None:
            self.say("collect", "failed", self._never(waited), self._how_to_collect())
            return None
        answer = arrived.answer
        assert not isinstance(answer, Pending)  # noqa: S101 - left out by `wait_for`
        flaw = self.flaw(answer)
        if flaw is not None:
            self.say("collect", "failed", flaw, "Answer with a `Score` under the ticket")
            return None
        where = f"with question {waited.questions}, after {waited.took_s:.1f} s"
        self._say_answer("collect", answer, f"{words(answer)}, {where}")
        self._pace(waited)
        return answer

    def _never(self, waited: Waited) -> str:
        said = f"the ticket was given, and no score came for it: asked {count(waited.questions, 'time')} in "
        said += f"{waited.took_s:.1f} s"
        if waited.failure is not None:
            return f"{said}; the last question failed: {waited.failure.message}"
        return f"{said}; the last answer {'left it out' if waited.left_out else 'was pending'}"

    def _how_to_collect(self) -> str:
        if isinstance(self._spec, PrecomputedJudge):
            return _FILL_IN
        return _COLLECT if isinstance(self._spec, HttpJudge) else _MORE_TIME

    def _pace(self, waited: Waited) -> None:
        took = f"a question for scores was answered within {max(waited.longest_s, 0.1):.1f} s"
        if waited.longest_s <= SLOW_S:
            self.say("deadline", "ok", took)
            return
        todo = "Answer at once with what is there; who asks gives up at a deadline and asks again"
        self.say("deadline", "warning", f"only {took[2:]}", todo)

    async def collect_again(self, ticket: str, before: Final_) -> None:
        """Whoever asked may have died before the score was recorded (C-14)."""
        waited = await self.wait(ticket)
        arrived = waited.scores.get(ticket)
        if arrived is None:
            todo = "Keep what was delivered, until it is purged: who asked may not have recorded it"
            self.say("delivered-again", "failed", f"then {self._never(waited)}", todo)
        elif not same(arrived.answer, before):
            todo = "Keep the score that was delivered; a different one is never taken"
            found = f"first {words(before)}, then {words(arrived.answer)}"
            self.say("delivered-again", "failed", found, todo)
        else:
            self.say("delivered-again", "ok", "the same score, asked for again")

    async def idempotency(self, before: Final_) -> None:
        """The same output under the same key: what a client does that lost the answer."""
        answer = await self.judged(0)
        if isinstance(answer, Pending):
            waited = await self.wait(answer.ticket)
            arrived = waited.scores.get(answer.ticket)
            if arrived is None:
                found = f"asked again under the same key: {self._never(waited)}"
                self.say("idempotency", "failed", found, _COLLECT)
                return
            answer = arrived.answer
        if same(answer, before):
            self.say("idempotency", "ok", f"the same key again: {words(answer)} again")
            return
        found = f"the same key again: first {words(before)}, then {words(answer)}"
        if self._spec.type == "http":
            todo = "Keep the answer of each idempotency_key, and give it again"
            self.say("idempotency", "failed", found, todo)
        else:
            todo = "Scores that change from one time to the next make flips of nothing"
            self.say("idempotency", "warning", found, todo)

    async def purge(self) -> None:
        """Everything that the check left with the judge; twice, since repeating it is no error."""
        tickets = self.tickets
        if not tickets:
            self.say("purge", "not-applicable", "no ticket was given")
            return
        parts = [tickets[at : at + MOST_TICKETS] for at in range(0, len(tickets), MOST_TICKETS)]
        for again in ("", ", asked again"):
            for part in parts:
                done = await self.later.purge(part, PATIENCE_S)
                if done.state == "unsupported":
                    self.say("purge", "not-applicable", done.message)
                    return
                if done.state == "failed":
                    todo = "Answer DELETE .../traces with 2xx, also for what is gone; 404 or 405 if never"
                    self.say("purge", "failed", f"{done.message}{again}", todo)
                    return
        self.say("purge", "ok", f"deleted what belongs to {len(tickets)} tickets, twice")

    def _say_answer(self, name: str, answer: JudgeAnswer, found: str) -> None:
        if isinstance(answer, JudgeFailed):
            todo = "This keeps the contract; a sample that can be judged would show more"
            self.say(name, "warning", found, todo)
        else:
            self.say(name, "ok", found)

    def flaw(self, answer: object) -> str | None:
        """What is wrong with an answer; a failure that the judge names itself is none."""
        match answer:
            case Scored(value):
                limits = value_range(self._spec)
                if limits is not None and not limits[0] <= value <= limits[1]:
                    return f"{value!r} is outside of its scale, {limits[0]:g} to {limits[1]:g}"
                return None
            case NotApplicable(reason):
                return None if reason.strip() else "not applicable, without a reason"
            case Pending(ticket):
                wrong = ticket_flaw(ticket)
                return None if wrong is None else f"pending {wrong}"
            case JudgeFailed(failure):
                return None if failure.code == OWN_FAILURE else f"{failure.code}: {failure.message}"
            case _:
                return f"{type(answer).__name__} is no answer of a judge"


_MORE_TIME: Final = "If the judge is slow, give it more time with --deadline"
_FILL_IN: Final = "Nothing, if people are to score later: `releasecheck judge export` writes the lines that they fill in"
_COLLECT: Final = (
    "Answer POST .../collect with the score under its ticket; asking again for the output is no way to "
    f"get it. {_MORE_TIME}"
)


def words(answer: JudgeAnswer) -> str:
    """An answer for a person."""
    match answer:
        case Scored(value):
            return f"scored {value!r}"
        case NotApplicable(reason):
            return f"not applicable ({reason})"
        case Pending(ticket):
            return f"pending, ticket {ticket[:40]!r}"
        case JudgeFailed(failure):
            return f"failed ({failure.message})"


def same(one: JudgeAnswer, other: JudgeAnswer) -> bool:
    """Whether two answers decide the same; reasons may differ."""
    match one, other:
        case Scored(value), Scored(again):
            return value == again
        case JudgeFailed(failure), JudgeFailed(again_failed):
            return failure.code == again_failed.code
        case _:
            return type(one) is type(other)
