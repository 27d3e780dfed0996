"""What a judge over HTTP is tried with beside: malformed requests, batches, strange tickets, hanging up."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from releasecheck.canonical import dump_line
from releasecheck.judges.contract import CONTRACT, MOST_TICKETS
from releasecheck.judges.http import Identity
from releasecheck.model.score import JudgeFailed, NotApplicable, Pending, Scored
from releasecheck.pipeline.checking.probes import PATIENCE_S, same, words
from releasecheck.transport.classify import Trouble

if TYPE_CHECKING:
    from releasecheck.judges.http import Http
    from releasecheck.pipeline.checking.probes import Final_, Probes

MADE_UP: Final = "releasecheck-check-made-up-"
_GLANCES_S: Final = (0.05, 0.01, 0.002)
"""Seconds after which a call is broken off: sent by then, and perhaps not answered."""


class Service:
    """The probes that need the judge's own address."""

    def __init__(self, probes: Probes, http: Http, samples: int) -> None:
        self._probes = probes
        self._http = http
        self._samples = samples

    async def identity(self) -> Trouble | None:
        """Who it is; trouble ends the check."""
        who = await self._http.identify()
        if isinstance(who, Identity):
            name = f", name {who.name!r}" if who.name else ""
            self._probes.say("identity", "ok", f"{CONTRACT}{name}")
            return None
        todo = f'Answer GET with {{"contract": "{CONTRACT}", "name": "..."}}'
        if who.failure.cls == "infra":
            todo = "Start the judge, or correct its address, and check again"
        self._probes.say("identity", "failed", who.failure.message or who.failure.code, todo)
        return who

    async def malformed(self) -> None:
        """Requests that nobody could judge: the sender's fault, so a 4xx and neither score nor crash."""
        ask = self._probes.ask(0)
        without = {
            "contract": CONTRACT,
            "run": ask.run_id,
            "judge": ask.judge,
            "case": {"id": ask.case.id, "input": None, "expected": None, "metadata": {}},
            "trial": 0,
            "idempotency_key": ask.idempotency_key + ":malformed",
        }
        bad = {"without `output`": dump_line(without), "that is no JSON": b'{"contract": "evalua'}
        for what, content in bad.items():
            answer = await self._http.asking.send(content, None)
            if not isinstance(answer, Trouble):
                start = answer.body[:200].decode("utf-8", "replace")
                found = f"a request {what} was answered {answer.status} {start!r}"
                todo = "Answer 400 to what cannot be judged; a score of nothing looks like a score"
                self._probes.say("malformed", "failed", found, todo)
                return
            if answer.failure.cls == "infra":
                found = f"a request {what}: {answer.failure.message}"
                todo = "Answer 400: after a 5xx or a lost connection the same is sent again"
                self._probes.say("malformed", "failed", found, todo)
                return
        self._probes.say("malformed", "ok", "requests that nobody could judge were refused")

    async def strange_ticket(self, ticket: str, before: Final_) -> bool:
        """A ticket the judge never gave, beside one that it gave."""
        stranger = MADE_UP + "0"
        found = await self._probes.later.collect([ticket, stranger], PATIENCE_S)
        arrived, strange = found.scores.get(ticket), found.scores.get(stranger)
        say = self._probes.say
        if found.failure is not None:
            said = f"a question with one made-up ticket failed: {found.failure.message}"
            return say("strange-ticket", "failed", said, "Answer for the tickets that you know")
        if arrived is None or not same(arrived.answer, before):
            got = "nothing" if arrived is None else words(arrived.answer)
            said = f"beside a made-up ticket the known one got {got}, before {words(before)}"
            return say("strange-ticket", "failed", said, "Answer each ticket by itself")
        if strange is not None and isinstance(strange.answer, Scored | NotApplicable):
            said = f"a made-up ticket got {words(strange.answer)}"
            todo = "Leave unknown tickets out, or answer them with the state failed"
            return say("strange-ticket", "failed", said, todo)
        if strange is not None and isinstance(strange.answer, Pending):
            todo = "It would be waited for until the deadline; answer with the state failed"
            return say("strange-ticket", "warning", "a made-up ticket is pending", todo)
        got = "left out" if strange is None else words(strange.answer)
        return say("strange-ticket", "ok", f"a made-up ticket was {got}, and the known one scored")

    async def batch(self, *, pads: bool) -> None:
        """As many tickets as one question may name."""
        before = set(self._probes.tickets)
        answers = await asyncio.gather(
            *[self._probes.judged(number) for number in range(1, self._samples + 1)]
        )
        tickets = [answer.ticket for answer in answers if isinstance(answer, Pending)]
        if len(own := set(tickets) - before) < len(answers):
            found = f"{self._samples} outputs got {len(own)} tickets of their own"
            bad = next((one for one in answers if not isinstance(one, Pending)), None)
            if isinstance(bad, JudgeFailed):
                found += f"; one {words(bad)}"
            elif bad is not None:
                self._probes.say("batch", "not-applicable", f"{found}; others came at once")
                return
            todo = "Give each output a ticket of its own, and take several requests at once"
            self._probes.say("batch", "failed", found, todo)
            return
        waited = await self._probes.wait(*tickets)
        late = [ticket for ticket in tickets if ticket not in waited.scores]
        if late:
            found = f"{len(late)} of {len(tickets)} scores did not come within the deadline"
            todo = "Score what was promised; if it is slow, give it more time with --deadline"
            self._probes.say("batch", "failed", found, todo)
            return
        filled = [*tickets]
        if pads:
            filled += [f"{MADE_UP}{n}" for n in range(1, MOST_TICKETS + 1 - len(tickets))]
        whole = await self._probes.later.collect(filled, PATIENCE_S)
        brought = sum(
            ticket in whole.scores
            and same(whole.scores[ticket].answer, waited.scores[ticket].answer)
            for ticket in tickets
        )
        said = f"{len(filled)} tickets in one question brought {brought} of {len(tickets)} scores"
        if whole.failure is not None:
            said += f": {whole.failure.message}"
        if brought == len(tickets) and whole.failure is None:
            self._probes.say("batch", "ok", said)
        else:
            todo = f"Take up to {MOST_TICKETS} tickets in one question"
            self._probes.say("batch", "failed", said, todo)

    async def hang_up(self) -> None:
        """A request that is broken off half-way, and the same one again."""
        number, cut = MOST_TICKETS, False
        for glance_s in _GLANCES_S:
            number += 1
            cut = await self._broken_off(number, glance_s)
            if cut:
                break
        answer = await self._probes.judged(number)
        flaw = self._probes.flaw(answer)
        what = "a request was broken off" if cut else "a request was answered too fast to break off"
        if flaw is None:
            self._probes.say("cancel", "ok", f"{what}; the next one: {words(answer)}")
            return
        todo = "Serve the next request after a client left in the middle of one"
        self._probes.say("cancel", "failed", f"{what}; the next one: {flaw}", todo)

    async def _broken_off(self, number: int, after_s: float) -> bool:
        """Whether a request could be broken off after a moment, before it was answered."""
        task = asyncio.create_task(self._probes.judged(number))
        try:
            await self._probes.clock.sleep(after_s)
        finally:
            task.cancel()
        await asyncio.wait([task])
        return task.cancelled()
