"""GitHub's REST interface: every page, every limit, and the token to nobody else.

Redirects are followed by hand, because what an artifact's address leads to is another company's storage,
and the token is GitHub's alone. Limits are waited for as long as the caller's patience says, and every
failure becomes one of the errors in `errors`, which name method, path and status and never the token.
"""

from __future__ import annotations

import hashlib
import re
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import quote

import httpx
from typing_extensions import override

from releasecheck.canonical import Json, JsonProblem, parse_json
from releasecheck.drivers.github.errors import (
    BY_STATUS,
    ArtifactRefused,
    BadAnswer,
    GitHubError,
    RateLimited,
    ServerFailed,
    TooManyPages,
    Unreachable,
    quoted,
)
from releasecheck.errors import ConfigError, Problem
from releasecheck.transport.egress import is_loopback, proxy_rule, trust

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from releasecheck.ports import Clock

API_VERSION: Final = "2022-11-28"
ACCEPT: Final = "application/vnd.github+json"
USER_AGENT: Final = "releasecheck"
LARGEST_ANSWER: Final = 64 * 2**20
"""Bytes of a JSON answer that are read."""
MOST_PAGES: Final = 100
"""Pages of a list that are read: ten thousand items."""
PER_PAGE: Final = 100
MOST_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_REPEATABLE: Final = frozenset({"GET", "HEAD", "PUT", "PATCH", "DELETE"})
_NOT_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_TIMEOUT: Final = httpx.Timeout(60.0, connect=15.0)
_NEXT: Final = re.compile(r'<([^<>]+)>\s*;[^<,]*\brel="?next"?')
_SECONDARY: Final = re.compile(r"(?i)secondary rate limit|abuse detection|rate limit exceeded")


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long a failing request is tried."""

    tries: int = 5
    """Of a request that may be repeated, when nothing or a 5xx came back."""
    backoff_s: float = 1.0
    """Before the second try; doubled before each one after it."""
    longest_wait_s: float = 300.0
    """For rate limits, over all tries of one request."""


@dataclass(frozen=True, slots=True)
class Downloaded:
    """A file that was read whole."""

    path: Path
    size: int
    digest: str
    """`sha256:<hex>` of its bytes."""


def segment(text: str) -> str:
    """Somebody else's text as one segment of a path: `a/b` becomes `a%2Fb`."""
    # Dots alone would be taken as steps through the path, escaped or not.
    if text in ("", ".", ".."):
        message = f"{text!r} cannot be a segment of a path"
        raise ValueError(message)
    return quote(text, safe="")


def uploads_url(api_url: str) -> str:
    """Where files of releases are sent to, which is another host on github.com."""
    url = httpx.URL(api_url)
    if url.host.startswith("api."):
        return str(url.copy_with(host="uploads." + url.host.removeprefix("api."))).rstrip("/")
    if url.path.rstrip("/").endswith("/api/v3"):
        return str(url.copy_with(path=url.path.rstrip("/").removesuffix("v3") + "uploads"))
    return api_url


class GitHubClient:
    """Requests of one token to one GitHub; close it, or use it in `with`."""

    def __init__(
        self,
        api_url: str,
        token: str,
        *,
        clock: Clock,
        sleep: Callable[[float], None],
        environment: Mapping[str, str] | None = None,
        transport: httpx.BaseTransport | None = None,
        patience: Patience = Patience(),
    ) -> None:
        """Take everything that reaches the outside.

        Args:
            api_url: Such as https://api.github.com.
            token: Sent to the host of `api_url` and its uploads alone; empty for none.
            clock: Tells how long a limit lasts, where the answer carries no date.
            sleep: Waits; called with seconds.
            environment: Names proxies and authorities (`transport.egress`).
            transport: Instead of the network, for tests; proxies and authorities do not count then.
            patience: How often and how long to try.

        Raises:
            ConfigError: an address, proxy or authority that cannot be used.
        """
        self._api = httpx.URL(api_url.rstrip("/"))
        _check_scheme(self._api, "the address of the interface")
        self._trusted = {_origin(self._api), _origin(httpx.URL(uploads_url(str(self._api))))}
        self._token = token
        self._clock = clock
        self._sleep = sleep
        self._patience = patience
        self._http = httpx.Client(
            transport=transport or _Way(environment or {}),
            timeout=_TIMEOUT,
            trust_env=False,
            follow_redirects=False,
        )

    def close(self) -> None:
        """Close every connection; idempotent."""
        self._http.close()

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close every connection."""
        self.close()

    def get(self, path: str, params: Mapping[str, str | int] | None = None) -> Json:
        """Read one thing.

        Args:
            path: From the root of the interface, starting with `/`; texts of others through `segment`.
            params: The query.

        Raises:
            GitHubError: the kind that the answer calls for; so do all methods here.
        """
        return self._json(_Asked("GET", path, self._url(path, params)))

    def post(self, path: str, body: Json = None, *, repeatable: bool = False) -> Json:
        """Create or trigger something; not repeated after a 5xx unless it is said to be harmless."""
        asked = _Asked("POST", path, self._url(path), json=body, harmless=repeatable)
        return self._json(asked)

    def patch(self, path: str, body: Json) -> Json:
        """Set fields; repeated when it is not known whether it was done."""
        return self._json(_Asked("PATCH", path, self._url(path), json=body))

    def put(self, path: str, body: Json = None) -> Json:
        """Set the whole of something."""
        return self._json(_Asked("PUT", path, self._url(path), json=body))

    def delete(self, path: str) -> Json:
        """Delete something."""
        return self._json(_Asked("DELETE", path, self._url(path)))

    def pages(
        self,
        path: str,
        key: str | None = None,
        params: Mapping[str, str | int] | None = None,
        *,
        most: int = MOST_PAGES,
    ) -> Iterator[Json]:
        """Give each item of a list, over all its pages.

        Args:
            path: As for `get`.
            key: Where the list is in the answer; None when the answer is the list.
            params: The query; `per_page` is 100 unless it says otherwise.
            most: Pages that are read.

        Raises:
            TooManyPages: there are more; all items of those that were read have been given.
        """
        url: httpx.URL | None = self._url(path, {"per_page": PER_PAGE, **(params or {})})
        seen: set[str] = set()
        for _ in range(most):
            if url is None:
                return
            answer = self._answer(_Asked("GET", path, url))
            yield from self._items(path, answer, key)
            seen.add(str(url))
            url = self._next(path, answer)
            if url is not None and str(url) in seen:
                message = f"GET {path}: the list leads back to a page that was read already"
                raise BadAnswer(message, status=answer.status)
        if url is not None:
            message = (
                f"GET {path}: more than {most} pages of {PER_PAGE}; what was read is not all there is. "
                "Delete what is old, or ask for less"
            )
            raise TooManyPages(message)

    def download(self, path: str, to: Path, max_bytes: int, *, accept: str = ACCEPT) -> Downloaded:
        """Read a file to disk, through redirects that lose the token; `to` appears whole or not at all.

        Args:
            path: As for `get`.
            to: The file to make or replace; its folder exists.
            max_bytes: The most that is read.
            accept: A release's asset needs `application/octet-stream`, a file of the repository
                `application/vnd.github.raw+json`; else GitHub answers with a description.

        Raises:
            ArtifactRefused: it has more than `max_bytes`.
            GitHubError: as for `get`.
        """
        part = to.with_name(to.name + ".part")
        asked = _Asked("GET", path, self._url(path), accept=accept, to=part, max_bytes=max_bytes)
        try:
            answer = self._answer(asked)
            part.replace(to)
        finally:
            part.unlink(missing_ok=True)
        return Downloaded(to, answer.size, "sha256:" + answer.sha256)

    def upload(self, url: str, data: bytes, content_type: str, params: Mapping[str, str]) -> Json:
        """Send a file of a release to the `upload_url` that GitHub named for it.

        Raises:
            BadAnswer: `url` is not on the host of GitHub's uploads.
            GitHubError: as for `get`; 422 when a file of that name exists.
        """
        target = httpx.URL(url.partition("{")[0], params=dict(params))
        if _origin(target) not in self._trusted:
            message = f"POST {quoted(target.path)}: {target.host} is no host of GitHub's uploads"
            raise BadAnswer(message)
        return self._json(
            _Asked("POST", target.path, target, content=data, content_type=content_type)
        )

    def _url(self, path: str, params: Mapping[str, str | int] | None = None) -> httpx.URL:
        steps = path.partition("?")[0].split("/")
        if not path.startswith("/") or not path.isprintable() or {".", ".."} & set(steps):
            message = f"{path[:200]!r} is no path of the interface"
            raise ValueError(message)
        url = httpx.URL(str(self._api) + path)
        return url.copy_merge_params(dict(params)) if params else url

    def _items(self, path: str, answer: _Answer, key: str | None) -> Iterator[Json]:
        value = self._parsed(path, answer)
        items = value if key is None else value.get(key) if isinstance(value, dict) else None
        if not isinstance(items, list):
            place = f" under {key!r}" if key else ""
            message = f"GET {path}: expected a list{place}, and the answer holds none"
            raise BadAnswer(message, status=answer.status)
        yield from items

    def _next(self, path: str, answer: _Answer) -> httpx.URL | None:
        match = _NEXT.search(answer.headers.get("link", ""))
        if match is None:
            return None
        url = answer.url.join(match[1])
        if _origin(url) != _origin(self._api):
            message = f"GET {path}: the next page is on another host, {quoted(url.host, 100)}"
            raise BadAnswer(message, status=answer.status)
        return url

    def _json(self, asked: _Asked) -> Json:
        return self._parsed(asked.path, self._answer(asked), asked.method)

    def _parsed(self, path: str, answer: _Answer, method: str = "GET") -> Json:
        if not answer.body.strip():
            return None
        try:
            return parse_json(answer.body)
        except (JsonProblem, UnicodeDecodeError) as error:
            message = (
                f"{method} {path}: {answer.status} with something that is no JSON ({error}); expected "
                "GitHub's interface - is a proxy in between?"
            )
            raise BadAnswer(message, status=answer.status) from None

    def _answer(self, asked: _Asked) -> _Answer:
        """Ask until there is an answer that counts, or patience is at its end."""
        tries, limited, waited = 0, 0, 0.0
        while True:
            tries += 1
            again = tries < self._patience.tries
            pause = self._patience.backoff_s * (1 << (tries - 1))
            try:
                answer = self._follow(asked)
            except (httpx.DecodingError, httpx.InvalidURL) as error:
                message = (
                    f"{asked.method} {asked.path}: not GitHub's answer: {self._clean(str(error))}"
                )
                raise BadAnswer(message) from None
            except httpx.TransportError as error:
                unsent = isinstance(error, _NOT_SENT)
                if not (again and (asked.repeatable or unsent)):
                    raise self._unreachable(asked, error, tries) from None
                self._sleep(pause)
                continue
            if answer.status < 300:
                return answer
            limit = self._limit(answer, limited)
            if limit is not None:
                if waited + limit > self._patience.longest_wait_s:
                    raise self._limited(asked, answer, limit)
                waited += limit
                limited += 1
                tries -= 1
                self._sleep(limit)
                continue
            if answer.status >= 500 and asked.repeatable and again:
                told = _seconds(answer, "retry-after", self._moment(answer)) or 0.0
                self._sleep(min(max(pause, told), self._patience.longest_wait_s))
                continue
            raise self._failed(asked, answer, tries)

    def _follow(self, asked: _Asked) -> _Answer:
        """Send, and follow redirects, each host seeing only what is its own."""
        url, own = asked.url, True
        for _ in range(MOST_REDIRECTS + 1):
            answer = self._send(asked, url, own=own)
            target = answer.headers.get("location")
            if answer.status not in _REDIRECTS or not target:
                return answer
            following = url.join(target)
            _check_redirect(asked, url, following, answer.status)
            own = own and _origin(following) == _origin(url)
            if asked.method != "GET" and not (own and answer.status in (307, 308)):
                message = (
                    f"{asked.method} {asked.path}: {answer.status} to {quoted(following.host, 100)}, "
                    "which is not followed; was the repository renamed?"
                )
                raise BadAnswer(message, status=answer.status)
            url = following
        message = f"{asked.method} {asked.path}: more than {MOST_REDIRECTS} redirects"
        raise BadAnswer(message)

    def _send(self, asked: _Asked, url: httpx.URL, *, own: bool) -> _Answer:
        headers = {"user-agent": USER_AGENT, "accept-encoding": "identity"}
        if own:
            headers["accept"] = asked.accept
            headers["x-github-api-version"] = API_VERSION
            if self._token:
                headers["authorization"] = f"Bearer {self._token}"
        if asked.content is not None:
            headers["content-type"] = asked.content_type
        with self._http.stream(
            asked.method, url, headers=headers, json=asked.json, content=asked.content
        ) as response:
            if asked.to is not None and response.status_code == 200:
                size, sha256 = _to_disk(asked, asked.to, response)
                return _Answer(response.status_code, response.headers, url, b"", size, sha256)
            body = _bounded(asked, response)
        return _Answer(response.status_code, response.headers, url, body)

    def _limit(self, answer: _Answer, before: int) -> float | None:
        """Seconds until a rate limit is over; None when there is none."""
        if answer.status not in (403, 429):
            return None
        now = self._moment(answer)
        told = _seconds(answer, "retry-after", now)
        if told is not None:
            return max(1.0, told)
        reset = answer.headers.get("x-ratelimit-reset", "")
        if answer.headers.get("x-ratelimit-remaining") == "0" and re.fullmatch(
            "[0-9]{1,12}", reset
        ):
            return max(1.0, int(reset) - now.timestamp() + 1.0)
        if answer.status == 429 or _SECONDARY.search(_said(answer)):
            return 60.0 * (1 << before)
        return None

    def _moment(self, answer: _Answer) -> datetime:
        # GitHub's own clock, where the answer tells it: ours may be wrong (C-27).
        return _date(answer.headers.get("date", "")) or datetime.fromisoformat(self._clock.now())

    def _clean(self, text: str) -> str:
        return quoted(text.replace(self._token, "[token]") if self._token else text)

    def _limited(self, asked: _Asked, answer: _Answer, wait: float) -> GitHubError:
        # A date that is years ahead is nonsense, and beyond what a calendar can hold it would fail.
        end = self._moment(answer) + timedelta(seconds=min(wait, 366 * 86400.0))
        until = end.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        message = (
            f"{asked.method} {asked.path}: {answer.status}, a rate limit of GitHub that lasts until "
            f"{until}, longer than the {self._patience.longest_wait_s:g} s we wait. Run it again then. "
            f"GitHub says: {self._clean(_said(answer))}"
        )
        return RateLimited(message, status=answer.status, until=until)

    def _failed(self, asked: _Asked, answer: _Answer, tries: int) -> GitHubError:
        times = f" (tried {tries} times)" if tries > 1 else ""
        said = self._clean(_said(answer)) or "nothing"
        message = (
            f"{asked.method} {asked.path}: {answer.status}{times}; {answer.url.host} says: {said}"
        )
        kind = ServerFailed if answer.status >= 500 else BY_STATUS.get(answer.status, GitHubError)
        return kind(message, status=answer.status)

    def _unreachable(self, asked: _Asked, error: httpx.TransportError, tries: int) -> GitHubError:
        known = "" if asked.repeatable else "; it is not known whether it was done"
        message = (
            f"{asked.method} {asked.path}: no whole answer after {tries} tries{known} "
            f"({type(error).__name__}: {self._clean(str(error))})"
        )
        return Unreachable(message)


@dataclass(frozen=True, slots=True)
class _Asked:
    """One request as the caller meant it."""

    method: str
    path: str
    url: httpx.URL
    json: Json = None
    content: bytes | None = None
    content_type: str = ""
    accept: str = ACCEPT
    harmless: bool = False
    """The caller says that it may be done twice."""
    to: Path | None = None
    max_bytes: int = LARGEST_ANSWER

    @property
    def repeatable(self) -> bool:
        return self.harmless or self.method in _REPEATABLE


@dataclass(frozen=True, slots=True)
class _Answer:
    """One whole answer."""

    status: int
    headers: httpx.Headers
    url: httpx.URL
    body: bytes
    size: int = 0
    sha256: str = ""


class _Way(httpx.BaseTransport):
    """The way out that the environment names: one connection pool for each proxy, and one for none."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._rule = proxy_rule(environment)
        self._trust = trust(environment)
        self._pools: dict[tuple[str, str | None], httpx.HTTPTransport] = {}

    @override
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        proxy = self._rule(url.scheme, url.host, url.port)
        key = url.scheme, proxy
        if key not in self._pools:
            # Loading authorities takes a tenth of a second; plain loopback needs none, and trusts none.
            secure = url.scheme == "https"
            context = self._trust() if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            self._pools[key] = httpx.HTTPTransport(verify=context, proxy=proxy)
        return self._pools[key].handle_request(request)

    @override
    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host.lower(), url.port or {"https": 443, "http": 80}.get(url.scheme)


def _check_scheme(url: httpx.URL, what: str) -> None:
    if url.scheme == "https" or (url.scheme == "http" and is_loopback(url.host)):
        return
    message = f"{what} is {url.scheme}://{url.host}; expected https, since a token is sent there"
    raise ConfigError([Problem(message)])


def _check_redirect(asked: _Asked, here: httpx.URL, there: httpx.URL, status: int) -> None:
    plain = there.scheme == "http" and is_loopback(there.host)
    inward = is_loopback(there.host) and not is_loopback(here.host)
    if inward or not (there.scheme == "https" or plain):
        message = (
            f"{asked.method} {asked.path}: {status} to {quoted(there.scheme, 20)}://"
            f"{quoted(there.host, 100)}, which is not followed; expected https"
        )
        raise BadAnswer(message, status=status)


def _bounded(asked: _Asked, response: httpx.Response) -> bytes:
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > LARGEST_ANSWER:
            message = f"{asked.method} {asked.path}: an answer of more than {LARGEST_ANSWER} bytes"
            raise BadAnswer(message, status=response.status_code)
    return bytes(body)


def _to_disk(asked: _Asked, to: Path, response: httpx.Response) -> tuple[int, str]:
    size, sha256 = 0, hashlib.sha256()
    with to.open("wb") as file:
        for chunk in response.iter_bytes():
            size += len(chunk)
            if size > asked.max_bytes:
                message = (
                    f"{asked.method} {asked.path}: more than {asked.max_bytes} bytes are not read"
                )
                raise ArtifactRefused(message)
            sha256.update(chunk)
            file.write(chunk)
    return size, sha256.hexdigest()


def _said(answer: _Answer) -> str:
    """GitHub's own words about a failure, on one line."""
    text = answer.body[:20_000].decode("utf-8", "replace")
    try:
        value = parse_json(answer.body)
    except (JsonProblem, UnicodeDecodeError):
        return text
    if not isinstance(value, dict) or not isinstance(value.get("message"), str):
        return text
    errors = value.get("errors")
    more = [
        str(one.get("message") or one.get("code") or "") if isinstance(one, dict) else str(one)
        for one in (errors[:5] if isinstance(errors, list) else [])
    ]
    return "; ".join([value["message"], *filter(None, more)])


def _date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _seconds(answer: _Answer, header: str, now: datetime) -> float | None:
    """A header that tells seconds or a date, as seconds from now."""
    text = answer.headers.get(header, "").strip()
    if re.fullmatch("[0-9]{1,9}", text):
        return float(text)
    moment = _date(text) if text else None
    return None if moment is None else max(0.0, (moment - now).total_seconds())
