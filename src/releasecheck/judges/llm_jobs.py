"""Files and batch jobs of an OpenAI-compatible API."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

import httpx

from releasecheck.canonical import JsonProblem, parse_json
from releasecheck.judges.llm_api import encoded
from releasecheck.judges.llm_votes import Vote
from releasecheck.judges.outcome import cannot
from releasecheck.model.score import JudgeFailed
from releasecheck.transport.attempts import once
from releasecheck.transport.classify import Trouble
from releasecheck.transport.endpoint import not_json
from releasecheck.transport.http import HttpAnswer
from releasecheck.transport.reading import read_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from releasecheck.canonical import Json
    from releasecheck.judges.llm_api import LlmApi
    from releasecheck.transport.endpoint import Endpoint

OVER: Final = ("completed", "failed", "expired", "cancelled", "gone")
"""States after which no more answers come; `gone` is ours, for a batch that is no longer known."""
LONGEST_FILE: Final = 256 * 2**20
"""Bytes of a batch's answers that are read."""
_PAGES: Final = 5
"""Pages of 100 batches that are looked through for one of ours."""
_OURS: Final = "releasecheck"
"""Key in a batch's metadata: the digest of its requests."""
_NO_LIST: Final = ("not_found", "method_not_allowed")
_QUOTED: Final = 3
"""Errors of a batch that a message quotes."""


class Batch(NamedTuple):
    """A batch job as the provider tells it."""

    name: str
    state: str
    files: tuple[str, ...] = ()
    """Answers and errors, where there are some."""
    said: str = ""
    """Why it failed."""
    ended_at: str | None = None
    input: str | None = None
    """The file of its requests."""

    @property
    def over(self) -> bool:
        """Whether no more answers come."""
        return self.state in OVER


class BatchApi:
    """Creates, finds, reads and forgets batches."""

    def __init__(self, api: LlmApi) -> None:
        self._api = api
        self._base = api.endpoint("application/json")

    async def batch_of(self, content: bytes, digest: str) -> str | Trouble:
        """The batch with these requests: one that is there already, else a new one."""
        found = await self._taken(digest)
        if found is not None:
            return found
        file = await self._upload(content, digest)
        if isinstance(file, Trouble):
            return file
        wanted = {
            "input_file_id": file,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {_OURS: digest},
        }
        endpoint = self._base.below("/batches")
        lost = False

        async def send() -> Json | Trouble:
            nonlocal lost
            # An answer that was lost on the way may have been a batch that was made, and is paid.
            there = await self._taken(digest) if lost else None
            if there is not None:
                return there if isinstance(there, Trouble) else {"id": there}
            lost = True
            return self._json(await endpoint.send(encoded(wanted), None), endpoint)

        made = await self._api.attempts(send, endpoint)
        return made if isinstance(made, Trouble) else self._id(made, endpoint)

    async def _taken(self, digest: str) -> str | Trouble | None:
        """A batch with the same requests that is running or done, of a hand-over that was cut off."""
        after = ""
        for _ in range(_PAGES):
            page = await self._get("/batches", f"limit=100{after}")
            if isinstance(page, Trouble):
                # An API that cannot list them has its batches made without a look.
                return None if page.failure.code in _NO_LIST else page
            rows = page.get("data") if isinstance(page, dict) else None
            rows = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
            for row in rows:
                if _digest_of(row) == digest and _of_use(row):
                    name = row.get("id")
                    if isinstance(name, str) and name:
                        return name
            if not rows or not page.get("has_more"):
                return None
            after = f"&after={quote(str(rows[-1].get('id')), safe='')}"
        return None

    async def _upload(self, content: bytes, digest: str) -> str | Trouble:
        mark = f"releasecheck-{digest.removeprefix('sha256:')}"
        while mark.encode() in content:
            mark += "-"
        endpoint = self._api.endpoint(f"multipart/form-data; boundary={mark}").below("/files")
        body = (
            f'--{mark}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{mark[:48]}.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        ).encode() + content
        body += f"\r\n--{mark}--\r\n".encode()

        async def send() -> Json | Trouble:
            return self._json(await endpoint.send(body, None), endpoint)

        made = await self._api.attempts(send, endpoint)
        return made if isinstance(made, Trouble) else self._id(made, endpoint)

    async def look(self, name: str, within_s: float) -> Batch | Trouble:
        """A batch as it stands, in one question."""
        found = await self._get(f"/batches/{quote(name, safe='')}", None, within_s)
        if isinstance(found, Trouble):
            if found.failure.code == "not_found":
                return Batch(name, "gone", said=found.failure.message or "")
            return found
        if not isinstance(found, dict) or not isinstance(found.get("status"), str):
            return self._api.classify.broken(
                "contract_violation", f"the batch {name} is told without a status"
            )
        files = (found.get("output_file_id"), found.get("error_file_id"))
        given = found.get("input_file_id")
        return Batch(
            name,
            found["status"],
            tuple(one for one in files if isinstance(one, str) and one),
            self._api.classify.start_of(_errors(found.get("errors"))),
            _moment(found),
            given if isinstance(given, str) and given else None,
        )

    async def lines(self, batch: Batch, within_s: float) -> list[bytes] | Trouble:
        """Every line that the batch brought."""
        lines: list[bytes] = []
        for file in batch.files:
            endpoint = self._base.below(f"/files/{quote(file, safe='')}/content", "GET")

            async def send(endpoint: Endpoint = endpoint) -> HttpAnswer | Trouble:
                return await endpoint.send(b"", None, within_s=within_s, max_body=LONGEST_FILE)

            answer = await once(send, gate=endpoint.gate, clock=self._api.clock)
            if isinstance(answer, Trouble):
                return answer
            lines += [line for line in answer.body.split(b"\n") if line.strip()]
        return lines

    async def forget(self, name: str, within_s: float) -> Trouble | None:
        """Delete the files of a batch; one that is not there is deleted."""
        batch = await self.look(name, within_s)
        if isinstance(batch, Trouble):
            return batch
        for file in (*batch.files, *([batch.input] if batch.input else [])):
            endpoint = self._base.below(f"/files/{quote(file, safe='')}", "DELETE")
            answer = await endpoint.send(b"", None, within_s=within_s)
            if isinstance(answer, Trouble) and answer.failure.code != "not_found":
                return answer
        return None

    async def _get(
        self, path: str, query: str | None = None, within_s: float | None = None
    ) -> Json | Trouble:
        endpoint = self._base.below(path, "GET")
        url = None if query is None else endpoint.url.copy_merge_params(httpx.QueryParams(query))

        async def send() -> Json | Trouble:
            return self._json(await endpoint.send(b"", None, url, within_s=within_s), endpoint)

        if within_s is not None:
            return await once(send, gate=endpoint.gate, clock=self._api.clock)
        return await self._api.attempts(send, endpoint)

    def _json(self, answer: HttpAnswer | Trouble, endpoint: Endpoint) -> Json | Trouble:
        if isinstance(answer, Trouble):
            return answer
        try:
            return read_json(answer.body).value
        except JsonProblem as problem:
            return not_json(self._api.classify, answer, problem, endpoint.doing)

    def _id(self, made: Json, endpoint: Endpoint) -> str | Trouble:
        name = made.get("id") if isinstance(made, dict) else None
        # A ticket is cut at its slash.
        if isinstance(name, str) and name and "/" not in name:
            return name
        return self._api.classify.broken(
            "contract_violation", f"{endpoint.doing}: the answer has no `id`"
        )


def answered(lines: Iterable[bytes], api: LlmApi, votes: dict[str, Vote]) -> None:
    """Add the vote in each line by the request's name; two that differ are none (G-14)."""
    for line in lines:
        try:
            row = parse_json(line)
        except JsonProblem:
            continue  # its request is then without an answer, and says so
        name = row.get("custom_id") if isinstance(row, dict) else None
        if not isinstance(name, str):
            continue
        vote = _vote(row, api)
        if name in votes and votes[name].answer != vote.answer:
            message = "the batch answers this request twice, with different verdicts"
            vote = Vote(cannot("conflict", message))
        votes[name] = vote


def _vote(row: dict[str, Json], api: LlmApi) -> Vote:
    doing = "batch request"
    response, error = row.get("response"), row.get("error")
    if not isinstance(response, dict):
        said = api.classify.start_of(_message(error) or "no response and no error")
        code = error.get("code") if isinstance(error, dict) else None
        # The provider did not come to it in time, or was told to stop.
        retryable = code in {"batch_expired", "batch_cancelled"}
        return Vote(cannot("batch_request_failed", f"{doing}: {said}", retryable=retryable))
    status, body = response.get("status_code"), response.get("body")
    if not isinstance(status, int) or isinstance(status, bool):
        return Vote(cannot("contract_violation", f"{doing}: the response has no `status_code`"))
    if not 200 <= status < 300:
        written = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        trouble = api.classify.status(HttpAnswer(status, httpx.Headers(), written), doing)
        assert trouble is not None  # noqa: S101 - 2xx is read below
        return Vote(JudgeFailed(trouble.failure))
    return api.read(body, doing, None)


def _of_use(row: dict[str, Any]) -> bool:
    """Whether a batch brought answers or still may; one of which every request failed is made anew."""
    if row.get("status") != "completed":
        return row.get("status") not in OVER
    counts = row.get("request_counts")
    return not isinstance(counts, dict) or counts.get("completed") != 0


def _digest_of(row: dict[str, Any]) -> Json:
    metadata = row.get("metadata")
    return metadata.get(_OURS) if isinstance(metadata, dict) else None


def _errors(found: Json) -> str:
    rows = found.get("data") if isinstance(found, dict) else None
    if not isinstance(rows, list):
        return ""
    return "; ".join(filter(None, map(_message, rows[:_QUOTED])))


def _message(found: Json) -> str:
    if isinstance(found, dict):
        said = found.get("message") or found.get("code")
        return str(said) if said else ""
    return "" if found is None else str(found)


def _moment(found: dict[str, Any]) -> str | None:
    """When a batch ended, RFC 3339."""
    for key in ("completed_at", "expired_at", "cancelled_at", "failed_at"):
        seconds = found.get(key)
        if isinstance(seconds, int | float) and not isinstance(seconds, bool):
            try:
                moment = datetime.fromtimestamp(seconds, UTC)
            except (OverflowError, OSError, ValueError):
                return None
            return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return None
