"""Langfuse: an output goes there as a trace, and the score that an evaluator there gives it comes back.

The public API, as its reference and its guide to the scores API describe it: `POST /api/public/ingestion`
answers 207 with an error for each event that was refused; `GET /api/public/v3/scores` takes a list of
trace ids and pages by a cursor; deployments older than 3.179 have only `GET /api/public/v2/scores`, which
takes one trace and pages by number; `DELETE /api/public/traces` takes a list.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from base64 import b64encode
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from releasecheck.canonical import JsonProblem
from releasecheck.judges.langfuse_scores import NoPage, Page, Sorted, read_page
from releasecheck.judges.outcome import cannot
from releasecheck.model.score import JudgeFailed, Pending
from releasecheck.ports import Collected, DeferredJudge, Judged, Purged
from releasecheck.references import resolve_text
from releasecheck.transport.attempts import attempts, once
from releasecheck.transport.classify import Kind, Trouble
from releasecheck.transport.endpoint import Endpoint, not_json
from releasecheck.transport.reading import read_json
from releasecheck.transport.retry import Backoff

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from releasecheck.canonical import Json
    from releasecheck.model.judge import LangfuseJudge
    from releasecheck.ports import Arrived, JudgeAsk
    from releasecheck.redact import Redactor
    from releasecheck.transport.context import Context

LARGEST_TRACE: Final = 3_500_000
"""Bytes of one ingestion request (reference of `POST /api/public/ingestion`)."""
PAGE: Final = 100
"""Scores in one page, the most that both versions give; more is status 400."""
MOST_PAGES: Final = 50
"""Pages that are read for one question: a hundred scores of each of fifty traces."""
_NOT_FOUND: Final = "not_found"


class Langfuse(DeferredJudge):
    """Sends traces and collects scores."""

    def __init__(self, spec: LangfuseJudge, context: Context, redactor: Redactor) -> None:
        """Resolve the references; nothing is called.

        Raises:
            ConfigError: the address cannot be used.
            EnvironmentMissing: a reference has no value.
        """
        self._spec = spec
        self._clock = context.clock
        self._redactor = redactor
        self._backoff = Backoff(context.jitter)
        self._slots = asyncio.Semaphore(spec.concurrency)
        self._send = context.classifier("judge")
        self._read = context.classifier("collect")
        key, secret, url = (
            resolve_text(text, context.environment)
            for text in (spec.public_key, spec.secret_key, spec.base_url)
        )
        basic = b64encode(f"{key}:{secret}".encode()).decode("ascii")
        headers = {"authorization": f"Basic {basic}", "content-type": "application/json"}
        sending, reading = (
            Endpoint(
                context.client.http(),
                classify,
                context.clock,
                method="POST",
                url=url,
                headers=headers,
                timeout_s=spec.timeout,
                key=f"judge {spec.id}",
            )
            for classify in (self._send, self._read)
        )
        self._ingestion = sending.below("/api/public/ingestion")
        self._v3 = reading.below("/api/public/v3/scores", "GET")
        self._v2 = reading.below("/api/public/v2/scores", "GET")
        self._traces = reading.below("/api/public/traces", "DELETE")
        self._environment = (
            None
            if spec.environment is None
            else resolve_text(spec.environment, context.environment)
        )
        self._old = False
        """Whether the deployment was found to have version 2 only."""

    @override
    async def judge(self, ask: JudgeAsk) -> Judged:
        trace = trace_id(ask)
        content = _encoded({"batch": [self._event(ask, trace)]})
        if len(content) > LARGEST_TRACE:
            message = f"the trace has {len(content)} bytes; Langfuse takes at most {LARGEST_TRACE}"
            return Judged(cannot("too_large", message))

        async def send() -> Trouble | None:
            return await self._sent(content, trace)

        async with self._slots:
            trouble = await attempts(
                send, gate=self._ingestion.gate, clock=self._clock, backoff=self._backoff
            )
        return Judged(Pending(trace) if trouble is None else JudgeFailed(trouble.failure))

    def _event(self, ask: JudgeAsk, trace: str) -> dict[str, Json]:
        case = ask.case
        body: dict[str, Json] = {
            "id": trace,
            "name": self._spec.trace_name,
            "sessionId": ask.run_id,
            "input": case.input,
            "output": ask.output,
            "tags": ["releasecheck", *case.tags],
            "metadata": {
                "run": ask.run_id,
                "judge": ask.judge,
                "case": case.id,
                "trial": ask.trial,
                "output_digest": ask.output_digest,
                "expected": case.expected,
            },
        }
        if self._environment is not None:
            body["environment"] = self._environment
        # Events are told apart by their id: the same one again is taken once.
        return {
            "id": trace,
            "type": "trace-create",
            "timestamp": self._clock.now(),
            "body": self._redactor.value(body),
        }

    async def _sent(self, content: bytes, trace: str) -> Trouble | None:
        answer = await self._ingestion.send(content, None)
        if isinstance(answer, Trouble):
            return answer
        doing = self._ingestion.doing
        try:
            found = read_json(answer.body).value
        except JsonProblem as problem:
            return not_json(self._send, answer, problem, doing)
        errors, taken = (_list(found, key) for key in ("errors", "successes"))
        for error in errors:
            if isinstance(error, dict) and error.get("id") in {trace, None}:
                return self._refused(error, doing)
        if any(isinstance(one, dict) and one.get("id") == trace for one in taken):
            return None
        start = self._send.start_of(answer.body[:4096].decode("utf-8", "replace"))
        message = f"{doing}: answered {answer.status} and says nothing of the trace sent: {start}"
        return self._send.broken("contract_violation", message)

    def _refused(self, error: Mapping[str, Json], doing: str) -> Trouble:
        """One event of a batch has a status of its own, as a request would."""
        status = error.get("status")
        said = " ".join(str(error[key]) for key in ("message", "error") if error.get(key))
        if status in {401, 403}:
            kind = Kind("config", "unauthorized")
        elif status == 429:
            kind = Kind("infra", "rate_limited", again=True, retryable=True)
        elif isinstance(status, int) and status >= 500:
            kind = Kind("infra", "server_error", again=True, retryable=True)
        else:
            kind = Kind(None, "trace_refused")
        message = f"{doing}: the trace was refused with status {status}: {said}"
        return self._send.trouble(kind, self._send.start_of(message))

    @override
    async def collect(self, tickets: Sequence[str], within_s: float) -> Collected:
        until = self._clock.monotonic() + within_s
        found = Sorted(self._spec, frozenset(tickets))
        trouble: Trouble | None = None
        if not self._old:
            trouble = await self._all_pages(found, tickets, until, _Cursor(self._query(tickets)))
            if trouble is None or trouble.failure.code != _NOT_FOUND or found.pages:
                return _collected(found, trouble)
        return await self._from_old(found, tickets, until)

    async def _from_old(self, found: Sorted, tickets: Sequence[str], until: float) -> Collected:
        """Version 2: one question for each trace, since it takes one."""

        async def ask(ticket: str) -> Trouble | None:
            async with self._slots:
                query = {**self._query([ticket]), "fields": "score"}
                return await self._all_pages(found, [ticket], until, _Numbered(query))

        troubles = await asyncio.gather(*map(ask, tickets))
        self._old = self._old or found.pages > 0
        return _collected(found, next((one for one in troubles if one is not None), None))

    def _query(self, tickets: Sequence[str]) -> dict[str, str]:
        query = {
            "traceId": ",".join(tickets),
            "name": self._spec.score,
            "fields": "details,subject",
            "limit": str(PAGE),
        }
        return query if self._spec.source is None else {**query, "source": self._spec.source}

    async def _all_pages(
        self, found: Sorted, tickets: Sequence[str], until: float, pages: _Cursor | _Numbered
    ) -> Trouble | None:
        """Read every page; what was read of a trace counts only once all of them are there.

        A page that is missing may hold a score that contradicts the one that came.
        """
        read: list[Page] = []
        endpoint = self._v3 if isinstance(pages, _Cursor) else self._v2
        for query in pages:
            page = await self._page(endpoint, query, until)
            if isinstance(page, Trouble):
                return page
            read.append(page)
            found.pages += 1
            if looped := pages.after(page):
                return self._read.broken("page_loop", f"{endpoint.doing}: {looped}")
        if pages.left:
            message = f"{endpoint.doing}: more than {MOST_PAGES} pages of scores"
            return self._read.broken("too_many_pages", message)
        found.take(tickets, read)
        return None

    async def _page(
        self, endpoint: Endpoint, query: Mapping[str, str], until: float
    ) -> Page | Trouble:
        wait = endpoint.gate.not_before - self._clock.monotonic()
        left = until - self._clock.monotonic()
        if left <= max(0.0, wait):
            message = f"{endpoint.doing}: not asked, no time is left"
            kind = Kind("infra", "timeout", retryable=True, sent=False)
            return self._read.trouble(kind, message, wait if wait > 0 else None)

        async def send() -> Page | Trouble:
            url = endpoint.url.copy_merge_params(dict(query))
            left = until - self._clock.monotonic()
            answer = await endpoint.send(b"", None, url, within_s=max(left, 0.001))
            if isinstance(answer, Trouble):
                return answer
            try:
                return read_page(read_json(answer.body).value)
            except JsonProblem as problem:
                return not_json(self._read, answer, problem, endpoint.doing)
            except NoPage as error:
                return self._read.broken("contract_violation", f"{endpoint.doing}: {error}")

        return await once(send, gate=endpoint.gate, clock=self._clock)

    @override
    async def purge(self, tickets: Sequence[str], within_s: float) -> Purged:
        content = _encoded({"traceIds": list(tickets)})
        answer = await self._traces.send(content, None, within_s=within_s)
        if not isinstance(answer, Trouble):
            # They are gone from what is shown at once and from the storage some minutes later.
            return Purged("done", f"Langfuse deletes {len(tickets)} traces")
        message = answer.failure.message or answer.failure.code
        unsupported = answer.failure.code in {_NOT_FOUND, "method_not_allowed"}
        return Purged("unsupported" if unsupported else "failed", message)

    @override
    async def aclose(self) -> None:
        return None


class _Cursor:
    """Pages of version 3: each names the next one."""

    def __init__(self, query: Mapping[str, str]) -> None:
        self._query = dict(query)
        self._seen: set[str] = set()
        self._next: str | None = ""
        self.left = False

    def __iter__(self) -> Iterator[Mapping[str, str]]:
        for _ in range(MOST_PAGES):
            if self._next is None:
                return
            # A cursor is only a place: the filters go with every question.
            yield {**self._query, "cursor": self._next} if self._next else self._query
        self.left = self._next is not None

    def after(self, page: Page) -> str | None:
        """Take the place of the next page; says so when it was there before."""
        self._next = page.cursor
        if page.cursor is None:
            return None
        if page.cursor in self._seen:
            return "the pages lead back to one that was read already"
        self._seen.add(page.cursor)
        return None


class _Numbered:
    """Pages of version 2, counted from 1."""

    def __init__(self, query: Mapping[str, str]) -> None:
        self._query = dict(query)
        self._last = 1
        self.left = False

    def __iter__(self) -> Iterator[Mapping[str, str]]:
        for number in range(1, MOST_PAGES + 1):
            if number > self._last:
                return
            yield {**self._query, "page": str(number)}
        self.left = self._last > MOST_PAGES

    def after(self, page: Page) -> None:
        """Take the number of pages, which may grow while they are read."""
        self._last = page.total


def _collected(found: Sorted, trouble: Trouble | None) -> Collected:
    scores: dict[str, Arrived] = found.scores
    return Collected(
        scores,
        None if trouble is None else trouble.failure,
        None if trouble is None else trouble.asked_s,
        tuple(found.violations),
    )


def trace_id(ask: JudgeAsk) -> str:
    """A W3C trace id: the same for the same output of the same judge, whoever sends it and how often."""
    text = f"{ask.run_id}\n{ask.judge}\n{ask.idempotency_key}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _list(found: Json, key: str) -> list[Json]:
    part = found.get(key) if isinstance(found, dict) else None
    return part if isinstance(part, list) else []


def _encoded(body: dict[str, Json]) -> bytes:
    return json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
