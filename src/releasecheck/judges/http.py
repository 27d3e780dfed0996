"""`http`: a service that speaks evaluator@2, answers at once or under a ticket, and is asked again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple, TypeGuard

from typing_extensions import override

from releasecheck.canonical import JsonProblem, dump_line
from releasecheck.judges.answer import read_first
from releasecheck.judges.collected import CollectReader
from releasecheck.judges.contract import CONTRACT, MOST_TICKETS, REFUSED, UNKNOWN, refusal
from releasecheck.judges.outcome import cannot, kind
from releasecheck.judges.pieces import flaw, parse_pieces
from releasecheck.judges.question import question
from releasecheck.model.score import JudgeFailed, Pending
from releasecheck.ports import Collected, DeferredJudge, Judged, Purged
from releasecheck.references import resolve_text
from releasecheck.transport.attempts import attempts, once
from releasecheck.transport.classify import Trouble
from releasecheck.transport.endpoint import Endpoint, not_json
from releasecheck.transport.retry import Backoff, parse_retry_after

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from releasecheck.canonical import Json
    from releasecheck.model.judge import HttpJudge
    from releasecheck.ports import JudgeAsk
    from releasecheck.redact import Redactor
    from releasecheck.transport.classify import Classifier
    from releasecheck.transport.context import Context
    from releasecheck.transport.http import HttpAnswer

_NOT_SERVED: Final = frozenset({"not_found", "method_not_allowed"})
"""404 and 405: this address has no such call."""


class Identity(NamedTuple):
    """What a judge says it is."""

    name: str
    """As it calls itself; empty where it does not say. Untrusted text."""


class Http(DeferredJudge):
    """Sends outputs to `url`; what is deferred is asked for at `url/collect`."""

    def __init__(self, spec: HttpJudge, context: Context, redactor: Redactor) -> None:
        """Prepare everything that is the same for every call.

        Raises:
            ConfigError: the address or a header cannot be used.
            EnvironmentMissing: a reference has no value.
        """
        self._clock = context.clock
        self._redactor = redactor
        self._classify = context.classifier("judge")
        self._backoff = Backoff(context.jitter)
        self._scale = spec.scale
        self._places = asyncio.Semaphore(spec.concurrency)
        collecting = context.classifier("collect")
        self.asking: Final = _endpoint(spec, context, self._classify)
        """Where outputs are sent."""
        self._who = _endpoint(spec, context, self._classify, method="GET")
        later = _endpoint(spec, context, collecting)
        self._collecting = later.below("/collect")
        self._forgetting = later.below("/traces", "DELETE")
        self._classify_later = collecting
        self._reader = CollectReader(collecting, redactor, self._scale, rejudge=spec.rejudge)
        self._identity: Identity | Trouble | None = None
        self._identifying = asyncio.Lock()
        self._asked_who = 0

    # --- who it is -----------------------------------------------------------------------------------

    async def identify(self) -> Identity | Trouble:
        """Who the judge says it is, asked once; or why it cannot be asked to judge."""
        before = self._asked_who
        if _is_final(self._identity):
            return self._identity
        async with self._identifying:
            # Whoever waited for the lock takes what came in the meantime, or a judge that is down
            # would be asked by all of them, one after the other.
            if self._identity is None or (
                self._asked_who == before and not _is_final(self._identity)
            ):
                self._identity = await self._ask_who()
                self._asked_who += 1
            return self._identity

    async def _ask_who(self) -> Identity | Trouble:
        who = self._who
        answer = await self._attempt(who, b"", None)
        if isinstance(answer, Trouble):
            if answer.failure.code in _NOT_SERVED:
                message = f"{answer.failure.message}; {_WHO}"
                return self._classify.config(UNKNOWN, message)
            return answer
        found = self._object(answer, who.doing)
        if isinstance(found, Trouble):
            return self._classify.config(UNKNOWN, f"{found.failure.message}; {_WHO}")
        if "contract" not in found:
            return self._classify.config(UNKNOWN, f"{who.doing}: no `contract` in it; {_WHO}")
        if found["contract"] != CONTRACT:
            return self._refused(who.doing, found["contract"])
        name = found.get("name")
        return Identity(self._redactor.text(name) if isinstance(name, str) else "")

    # --- judging -------------------------------------------------------------------------------------

    @override
    async def judge(self, ask: JudgeAsk) -> Judged:
        body = {
            "contract": CONTRACT,
            "run": ask.run_id,
            "judge": ask.judge,
            **question(ask),
            "idempotency_key": ask.idempotency_key,
        }
        async with self._places:
            who = await self.identify()
            if isinstance(who, Trouble):
                return Judged(JudgeFailed(who.failure))
            answer = await self._attempt(self.asking, dump_line(body), ask.idempotency_key)
        if isinstance(answer, Trouble):
            return Judged(JudgeFailed(answer.failure))
        judged = self._first(answer)
        if isinstance(judged.answer, Pending):
            return self._promised(judged.answer.ticket, judged)
        return judged

    def _first(self, answer: HttpAnswer) -> Judged:
        found = self._object(answer, self.asking.doing)
        if isinstance(found, Trouble):
            return Judged(JudgeFailed(found.failure))
        if found.get("contract", CONTRACT) != CONTRACT:
            refused = self._refused(self.asking.doing, found["contract"])
            return Judged(JudgeFailed(refused.failure))
        # A ticket is no text for people: it must come back as it was given.
        ticket = found.pop("ticket", None)
        shown = self._redactor.value(found)
        return read_first(shown if ticket is None else {**shown, "ticket": ticket}, self._scale)

    def _promised(self, ticket: str, judged: Judged) -> Judged:
        if self._redactor.text(ticket) != ticket:
            message = "the ticket holds a secret of this run, and tickets are kept in its records"
            return Judged(cannot("contract_violation", message), judged.usage)
        return judged

    def _object(self, answer: HttpAnswer, doing: str) -> dict[str, Json] | Trouble:
        """The body as an object."""
        try:
            found = parse_pieces(answer.body)
        except JsonProblem as problem:
            return not_json(self._classify, answer, problem, doing)
        wrong = flaw(found)
        if wrong is not None:
            return self._classify.broken("malformed", f"{doing}: cannot be read: {wrong}")
        if not isinstance(found, dict):
            message = f"{doing}: expected an object, found {kind(found)}"
            return self._classify.broken("malformed", message)
        return found

    def _refused(self, doing: str, contract: Json) -> Trouble:
        return self._classify.config(REFUSED, f"{doing}: {refusal(contract)}")

    async def _attempt(
        self, endpoint: Endpoint, content: bytes, key: str | None
    ) -> HttpAnswer | Trouble:
        return await attempts(
            lambda: endpoint.send(content, key),
            gate=endpoint.gate,
            clock=self._clock,
            backoff=self._backoff,
        )

    # --- what was deferred ---------------------------------------------------------------------------

    @override
    async def collect(self, tickets: Sequence[str], within_s: float) -> Collected:
        endpoint = self._collecting
        # Not waited for in here: who asks has a plan for the time that is left.
        pause = endpoint.gate.not_before - self._clock.monotonic()
        if pause > 0:
            return Collected(again_s=pause)
        answer = await self._bounded(endpoint, _body(tickets), within_s)
        if isinstance(answer, Trouble):
            return Collected(failure=answer.failure, again_s=answer.asked_s)
        found = self._reader.read(answer, tickets, endpoint.doing)
        again_s = parse_retry_after(
            answer.headers.get("retry-after"),
            now=self._clock.now(),
            date=answer.headers.get("date"),
        )
        return Collected(found.scores, found.failure, again_s, found.violations)

    @override
    async def purge(self, tickets: Sequence[str], within_s: float) -> Purged:
        answer = await self._bounded(self._forgetting, _body(tickets), within_s)
        if not isinstance(answer, Trouble):
            return Purged("done", f"asked to delete what belongs to {len(tickets)} tickets")
        found = answer.failure
        if found.code in _NOT_SERVED:
            return Purged("unsupported", f"the judge deletes nothing on request: {found.message}")
        return Purged("failed", found.message or found.code)

    async def _bounded(
        self, endpoint: Endpoint, content: bytes, within_s: float
    ) -> HttpAnswer | Trouble:
        """One call, all its waiting included."""
        try:
            async with asyncio.timeout(within_s), self._places:
                return await once(
                    lambda: endpoint.send(content, None, within_s=within_s),
                    gate=endpoint.gate,
                    clock=self._clock,
                )
        except TimeoutError as error:
            doing = f"{endpoint.doing}: no answer within {within_s:g} s"
            return self._classify_later.exception(error, doing)

    @override
    async def aclose(self) -> None:
        return None  # the connections are the run's


_WHO: Final = (
    f'a judge answers GET with {{"contract": "{CONTRACT}", "name": "..."}} '
    "(docs/evaluator-protocol.md)"
)


def _is_final(found: Identity | Trouble | None) -> TypeGuard[Identity | Trouble]:
    """Whether asking again would bring nothing else."""
    return found is not None and not (isinstance(found, Trouble) and found.failure.retryable)


def _body(tickets: Sequence[str]) -> bytes:
    if len(tickets) > MOST_TICKETS:
        message = f"at most {MOST_TICKETS} tickets in one question, found {len(tickets)}"
        raise ValueError(message)
    return dump_line({"contract": CONTRACT, "tickets": list(tickets)})


def _endpoint(
    spec: HttpJudge, context: Context, classify: Classifier, *, method: str = "POST"
) -> Endpoint:
    headers: Mapping[str, str] = {
        "content-type": "application/json",
        "accept": "application/json",
        **{
            name.lower(): resolve_text(value, context.environment)
            for name, value in spec.headers.items()
        },
    }
    return Endpoint(
        context.client.http(),
        classify,
        context.clock,
        method=method,
        url=resolve_text(spec.url, context.environment),
        headers=headers,
        timeout_s=spec.timeout,
        key=f"judge {spec.id}",
    )
