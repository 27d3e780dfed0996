"""One address that is asked over HTTP, and what a response's body is read as."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import httpx

from releasecheck.canonical import JsonProblem
from releasecheck.errors import ConfigError, Problem
from releasecheck.transport.http import headers_with, origin
from releasecheck.transport.reading import Read, json_problem, read_json, read_text
from releasecheck.transport.retry import parse_retry_after

if TYPE_CHECKING:
    from collections.abc import Mapping

    from releasecheck.ports import Clock
    from releasecheck.transport.classify import Classifier, Trouble
    from releasecheck.transport.http import HttpAnswer, HttpClient, RawHeaders

IDEMPOTENCY_KEY: Final = b"idempotency-key"
PARTIAL: Final = 206
"""Nobody asks for a part, and half an answer may look like a whole one."""
PRINTABLE: Final = "".join(map(chr, range(0x20, 0x7F)))


class Endpoint:
    """One address that is asked: sends a request, and tells a failure from an answer."""

    def __init__(
        self,
        client: HttpClient,
        classify: Classifier,
        clock: Clock,
        *,
        method: str,
        url: str,
        headers: Mapping[str, str],
        timeout_s: float,
        key: str = "target",
    ) -> None:
        """Take what is the same for every call; `url` and `headers` have no references any more.

        `key` is what the config calls the thing that is asked, for messages.

        Raises:
            ConfigError: the address or a header cannot be used.
        """
        self._client = client
        self._classify = classify
        self._clock = clock
        self.method = method
        self._timeout_s = timeout_s
        self.url = http_url(url, classify, key)
        self._headers = _usable(headers, classify, key)
        self.gate = client.gates.of(origin(self.url))
        self.doing = f"{method} {origin(self.url)}{classify.redact(self.url.path)}"

    def below(self, path: str, method: str | None = None) -> Endpoint:
        """The same server and headers, at a path below this one."""
        other = copy(self)
        other.url = self.url.copy_with(path=self.url.path.rstrip("/") + path)
        other.method = method or self.method
        other.doing = f"{other.method} {origin(other.url)}{self._classify.redact(other.url.path)}"
        return other

    async def send(
        self,
        content: bytes,
        key: str | None,
        url: httpx.URL | None = None,
        *,
        within_s: float | None = None,
        max_body: int | None = None,
    ) -> HttpAnswer | Trouble:
        """One request; an answer with a status other than 2xx is a failure.

        Args:
            content: The body; empty for none.
            key: The idempotency key; None sends none.
            url: Another address of the same server; None is the endpoint's own.
            within_s: Seconds; None is the endpoint's time limit, which is never exceeded.
            max_body: Bytes of the answer that are read; None is the client's limit.
        """
        headers = self._headers
        if key is not None:
            headers = [*headers, (IDEMPOTENCY_KEY, _ascii(key))]
        limit = self._timeout_s if within_s is None else min(self._timeout_s, within_s)
        try:
            answer = await self._client.request(
                self.method,
                url or self.url,
                headers=headers,
                content=content,
                within_s=limit,
                max_body=max_body,
            )
        except Exception as error:  # noqa: BLE001 - what comes from outside is classified, all of it
            return self._classify.exception(error, self.doing)
        if 200 <= answer.status < 300 and answer.status != PARTIAL:
            return answer
        asked_s = parse_retry_after(
            answer.headers.get("retry-after"),
            now=self._clock.now(),
            date=answer.headers.get("date"),
        )
        trouble = self._classify.status(answer, self.doing, asked_s)
        assert trouble is not None  # noqa: S101 - whole answers returned above
        return trouble


def _ascii(key: str) -> bytes:
    # A header is printable ASCII; an id need not be.
    plain = key.isascii() and key.isprintable()
    return (key if plain else quote(key, safe=PRINTABLE)).encode("ascii")


def http_url(url: str, classify: Classifier, key: str = "target") -> httpx.URL:
    """An absolute http or https address.

    Raises:
        ConfigError: it is none; secrets in it are not shown.
    """
    try:
        parsed = httpx.URL(url.strip())
    except (httpx.InvalidURL, ValueError) as error:
        message = f"{classify.clean(url)!r} is no address ({error}); expected http://host/path"
        raise ConfigError([Problem(message, key=f"{key}.url")]) from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        message = f"{classify.clean(url)!r} is no http:// or https:// address"
        raise ConfigError([Problem(message, key=f"{key}.url")])
    return parsed


def _usable(headers: Mapping[str, str], classify: Classifier, key: str) -> RawHeaders:
    for name, value in headers.items():
        if any(c in "\r\n\0" for c in name + value) or not name.isascii() or not name.strip():
            message = (
                f"the header {classify.clean(name)!r} has a line break or a name that is no text"
            )
            raise ConfigError([Problem(message, key=f"{key}.headers")])
    # Ours must be the same over all attempts, and there can be only one.
    return [pair for pair in headers_with(headers) if pair[0].lower() != IDEMPOTENCY_KEY]


def read_body(answer: HttpAnswer, *, text_too: bool) -> Read:
    """The body as JSON or, when that is wanted too and it says so, as text.

    Raises:
        JsonProblem: it is neither.
    """
    if not text_too:
        return read_json(answer.body)
    kind, charset = content_type(answer)
    if kind == "text/plain":
        return read_text(answer.body, charset)
    try:
        return read_json(answer.body)
    except JsonProblem as problem:
        if kind or problem.beyond_limits:
            raise
        return read_text(answer.body)


def not_json(classify: Classifier, answer: HttpAnswer, problem: JsonProblem, doing: str) -> Trouble:
    """A 2xx answer whose body is not the JSON it should be (B43)."""
    kind, _ = content_type(answer)
    start = classify.start_of(answer.body[:4096].decode("utf-8", "replace"))
    return classify.broken(
        "not_json",
        f"{doing}: answered {answer.status} with {kind or 'no content type'} that is not JSON: "
        f"{json_problem(problem)}; it starts {start!r}",
    )


def content_type(answer: HttpAnswer) -> tuple[str, str]:
    """Media type in lower case, and charset."""
    value = answer.headers.get("content-type", "")
    kind, _, rest = value.partition(";")
    charset = rest.lower().partition("charset=")[2].partition(";")[0].strip(" \"'")
    return kind.strip().lower(), charset or "utf-8"
