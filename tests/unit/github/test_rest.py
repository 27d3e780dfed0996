"""The REST client over scripted answers: limits, tries, redirects and the token (traps 6, 29; C-27)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from releasecheck.drivers.github.errors import (
    ArtifactRefused,
    BadAnswer,
    Conflict,
    Forbidden,
    GitHubError,
    Gone,
    NotFound,
    RateLimited,
    ServerFailed,
    TooManyPages,
    Unauthorized,
    Unprocessable,
    Unreachable,
)
from releasecheck.drivers.github.rest import GitHubClient, Patience, segment, uploads_url
from releasecheck.errors import ConfigError
from tests.fakes import FakeClock

API = "https://api.github.com"
TOKEN = "ghs_verysecrettoken"
Reply = httpx.Response | httpx.TransportError


class Script:
    """Answers in order, the last one for ever; remembers requests and sleeps."""

    def __init__(self, *replies: Reply | Callable[[httpx.Request], Reply]) -> None:
        self.replies = list(replies)
        self.requests: list[httpx.Request] = []
        self.slept: list[float] = []
        self.clock = FakeClock()

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if callable(reply):
            reply = reply(request)
        if isinstance(reply, httpx.TransportError):
            raise reply
        # A response can be read once.
        return httpx.Response(reply.status_code, headers=reply.headers, content=reply.content)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.clock.advance(seconds)

    def client(self, api: str = API, patience: Patience | None = None) -> GitHubClient:
        return GitHubClient(
            api,
            TOKEN,
            clock=self.clock,
            sleep=self.sleep,
            transport=httpx.MockTransport(self.answer),
            patience=patience or Patience(),
        )


def said(status: int, message: str = "no", **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, json={"message": message}, headers=named)


def test_get__headers_and_address() -> None:
    script = Script(httpx.Response(200, json={"a": 1}))
    client = script.client("https://github.example/api/v3/")
    assert client.get("/repos/o/r", {"per_page": 5, "q": "ä&b"}) == {"a": 1}
    (request,) = script.requests
    assert str(request.url) == "https://github.example/api/v3/repos/o/r?per_page=5&q=%C3%A4%26b"
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.headers["x-github-api-version"] == "2022-11-28"
    assert request.headers["user-agent"].startswith("releasecheck")


def test_bodies__each_method() -> None:
    script = Script(httpx.Response(201, json=[1]), httpx.Response(204))
    client = script.client()
    assert client.post("/a", {"x": 1}) == [1]
    assert client.patch("/a", {"x": 2}) is client.put("/a") is client.delete("/a") is None
    assert [one.method for one in script.requests] == ["POST", "PATCH", "PUT", "DELETE"]
    assert json.loads(script.requests[1].content) == {"x": 2}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, Unauthorized),
        (403, Forbidden),
        (404, NotFound),
        (409, Conflict),
        (410, Gone),
        (422, Unprocessable),
        (418, GitHubError),
    ],
)
def test_errors__by_status(status: int, kind: type[GitHubError]) -> None:
    hostile = f"\x1b[31m::error::no\r\n{TOKEN} " + "x" * 9000
    script = Script(
        httpx.Response(status, json={"message": hostile, "errors": [{"code": "taken"}]})
    )
    with pytest.raises(kind) as error:
        script.client().get("/repos/o/r")
    text = str(error.value)
    assert type(error.value) is kind
    assert error.value.status == status
    assert text.startswith(f"GET /repos/o/r: {status}; api.github.com says: ")
    assert TOKEN not in text
    assert text.isprintable()
    assert len(text) < 700
    assert not script.slept


def test_errors__what_was_wrong_with_the_fields() -> None:
    errors = [{"code": "already_exists", "field": "name"}, {"message": "Body is too long"}, "odd"]
    script = Script(httpx.Response(422, json={"message": "Validation Failed", "errors": errors}))
    with pytest.raises(Unprocessable, match="Failed; already_exists; Body is too long; odd"):
        script.client().post("/a", {})


def test_retries__server_errors() -> None:
    script = Script(said(500), said(502), said(503, retry_after="7"), httpx.Response(200, json=1))
    assert script.client().get("/a") == 1
    assert script.slept == [1, 2, 7]


def test_retries__give_up() -> None:
    script = Script(said(502, "Server Error"))
    with pytest.raises(ServerFailed, match="tried 5 times") as error:
        script.client().put("/a", {})
    assert error.value.status == 502
    assert len(script.requests) == 5


def test_retries__a_post_is_not_repeated_after_a_server_error() -> None:
    """C-20: a comment that may have been posted is not posted twice."""
    script = Script(said(502), httpx.Response(201, json={}))
    with pytest.raises(ServerFailed):
        script.client().post("/a", {})
    assert script.client().post("/a", {}, repeatable=True) == {}


def test_retries__lost_connections() -> None:
    script = Script(
        httpx.ReadError("lost"), httpx.ConnectTimeout("slow"), httpx.Response(200, json=1)
    )
    assert script.client().get("/a") == 1
    lost = Script(httpx.ReadError("lost"))
    with pytest.raises(Unreachable, match="not known whether it was done") as error:
        lost.client().post("/a", {})
    assert error.value.status is None
    assert len(lost.requests) == 1
    unsent = Script(httpx.ConnectError("refused"), httpx.Response(201, json={}))
    assert unsent.client().post("/a", {}) == {}


def test_limits__primary() -> None:
    """Waits by GitHub's clock, not by ours (C-27)."""
    script = Script(
        said(
            403,
            x_ratelimit_remaining="0",
            x_ratelimit_reset=str(1_700_000_060),
            date="Tue, 14 Nov 2023 22:13:20 GMT",
        ),
        httpx.Response(201, json={}),
    )
    assert script.client().post("/a", {}) == {}
    assert script.slept == [61]


@pytest.mark.parametrize("status", [403, 429])
def test_limits__retry_after(status: int) -> None:
    script = Script(said(status, retry_after="17"), httpx.Response(200, json=1))
    assert script.client().get("/a") == 1
    assert script.slept == [17]


def test_limits__secondary_by_its_words() -> None:
    words = said(403, "You have exceeded a secondary rate limit. Please wait")
    script = Script(words, words, httpx.Response(200, json=1))
    assert script.client().get("/a") == 1
    assert script.slept == [60, 120]


def test_limits__longer_than_our_patience() -> None:
    script = Script(said(429, "Slow down", retry_after="3600"))
    with pytest.raises(RateLimited) as error:
        script.client().get("/a")
    assert error.value.until == "2026-01-05T10:00:00Z"
    assert "until 2026-01-05T10:00:00Z" in str(error.value)
    assert not script.slept


def test_limits__waits_add_up() -> None:
    script = Script(said(429, retry_after="100"))
    with pytest.raises(RateLimited):
        script.client().get("/a")
    assert script.slept == [100, 100, 100]


def test_limits__a_limit_without_sense() -> None:
    with pytest.raises(RateLimited, match="until 2027"):
        Script(said(429, retry_after="999999999")).client().get("/a")
    zero = Script(said(429, retry_after="0"), httpx.Response(200, json=1))
    assert zero.client().get("/a") == 1
    assert zero.slept == [1]


def test_pages__all_of_them() -> None:
    def page(request: httpx.Request) -> httpx.Response:
        number = int(request.url.params.get("page", "1"))
        more = f'<{API}/a?per_page=100&page={number + 1}>; rel="next", <{API}/a>; rel="last"'
        headers = {"link": more} if number < 3 else {"link": f'<{API}/a>; rel="first"'}
        return httpx.Response(200, json={"total_count": 3, "things": [number]}, headers=headers)

    script = Script(page)
    assert list(script.client().pages("/a", "things")) == [1, 2, 3]
    assert script.requests[0].url.params["per_page"] == "100"


def test_pages__more_than_are_read() -> None:
    """S0: a part is never taken for the whole."""

    def page(request: httpx.Request) -> httpx.Response:
        number = int(request.url.params.get("page", "1"))
        return httpx.Response(
            200, json=[number], headers={"link": f'</a?page={number + 1}>; rel="next"'}
        )

    found = Script(page).client().pages("/a", most=4)
    assert [next(found) for _ in range(4)] == [1, 2, 3, 4]
    with pytest.raises(TooManyPages, match="more than 4 pages"):
        next(found)


def test_pages__a_list_that_turns_in_a_circle() -> None:
    link = {"link": f'<{API}/a?per_page=100>; rel="next"'}
    with pytest.raises(BadAnswer, match="read already"):
        list(Script(httpx.Response(200, json=[1], headers=link)).client().pages("/a"))


def test_pages__another_host_gets_no_token() -> None:
    script = Script(
        httpx.Response(200, json=[], headers={"link": '<https://evil.example/>; rel="next"'})
    )
    with pytest.raises(BadAnswer, match=r"another host, evil\.example"):
        list(script.client().pages("/a"))
    assert len(script.requests) == 1


@pytest.mark.parametrize("body", [{"things": None}, {"message": "no"}, [], "x", None])
def test_pages__no_list(body: object) -> None:
    with pytest.raises(BadAnswer, match="expected a list under 'things'"):
        list(Script(httpx.Response(200, json=body)).client().pages("/a", "things"))


def test_get__no_json() -> None:
    with pytest.raises(BadAnswer, match="is a proxy in between"):
        Script(httpx.Response(200, text="<html>sign in")).client().get("/a")


def test_download__the_token_stays_at_home(tmp_path: Path) -> None:
    blob = "https://storage.example/x?sig=signature"
    script = Script(
        httpx.Response(302, headers={"location": blob}), httpx.Response(200, content=b"zip")
    )
    done = script.client().download("/zip", tmp_path / "a.zip", 10)
    assert (tmp_path / "a.zip").read_bytes() == b"zip"
    assert done.size == 3
    assert done.digest.startswith("sha256:")
    home, away = script.requests
    assert home.headers["authorization"] == f"Bearer {TOKEN}"
    assert "authorization" not in away.headers
    assert "x-github-api-version" not in away.headers
    assert list(tmp_path.iterdir()) == [tmp_path / "a.zip"]


def test_download__the_token_does_not_come_back(tmp_path: Path) -> None:
    """Two redirects, away and back: who sent us there is not GitHub any more."""
    script = Script(
        httpx.Response(302, headers={"location": "https://storage.example/x"}),
        httpx.Response(302, headers={"location": f"{API}/user"}),
        httpx.Response(200, content=b""),
    )
    script.client().download("/zip", tmp_path / "a", 10)
    assert ["authorization" in one.headers for one in script.requests] == [True, False, False]


@pytest.mark.parametrize(
    "target",
    [
        "https://API.github.com:443/b",
        "https://api.github.com:8443/b",
        "https://api.github.com.evil.example/b",
    ],
)
def test_download__the_same_host_is_the_same_origin(tmp_path: Path, target: str) -> None:
    script = Script(
        httpx.Response(307, headers={"location": target}), httpx.Response(200, content=b"")
    )
    script.client().download("/zip", tmp_path / "a", 10)
    assert ("authorization" in script.requests[1].headers) == (":443/" in target)


@pytest.mark.parametrize(
    "target",
    ["http://storage.example/x", "http://127.0.0.1/x", "https://localhost/x", "file:///etc/passwd"],
)
def test_download__redirects_that_are_not_followed(tmp_path: Path, target: str) -> None:
    script = Script(httpx.Response(302, headers={"location": target}))
    with pytest.raises(BadAnswer, match="not followed"):
        script.client().download("/zip", tmp_path / "a", 10)
    assert len(script.requests) == 1
    assert not list(tmp_path.iterdir())


def test_download__redirects_without_end(tmp_path: Path) -> None:
    script = Script(httpx.Response(302, headers={"location": "/zip"}))
    with pytest.raises(BadAnswer, match="more than 5 redirects"):
        script.client().download("/zip", tmp_path / "a", 10)


def test_download__too_large(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(ArtifactRefused, match="more than 10 bytes"):
        Script(httpx.Response(200, content=b"x" * 11)).client().download("/zip", tmp_path / "a", 10)
    assert [one.read_bytes() for one in tmp_path.iterdir()] == [b"old"]


def test_download__storage_fails_and_its_address_is_not_shown(tmp_path: Path) -> None:
    script = Script(
        httpx.Response(302, headers={"location": "https://storage.example/x?sig=signature"}),
        httpx.Response(403, content=b"<Error>AuthenticationFailed</Error>"),
    )
    with pytest.raises(Forbidden, match=r"GET /zip: 403; storage\.example says") as error:
        script.client().download("/zip", tmp_path / "a", 10)
    assert "signature" not in str(error.value)


def test_post__a_redirect_elsewhere_is_not_followed() -> None:
    script = Script(httpx.Response(307, headers={"location": "https://evil.example/"}))
    with pytest.raises(BadAnswer, match="was the repository renamed"):
        script.client().post("/a", {"secret": 1})
    assert len(script.requests) == 1
    moved = Script(
        httpx.Response(307, headers={"location": f"{API}/repositories/1"}),
        httpx.Response(201, json=1),
    )
    assert moved.client().post("/a", {"x": 1}) == 1
    assert json.loads(moved.requests[1].content) == {"x": 1}


def test_upload__only_where_github_takes_uploads() -> None:
    script = Script(httpx.Response(201, json={"id": 1}))
    client = script.client()
    url = "https://uploads.github.com/repos/o/r/releases/1/assets{?name,label}"
    assert client.upload(url, b"data", "application/zip", {"name": "a b.zip"}) == {"id": 1}
    (request,) = script.requests
    assert request.url.params["name"] == "a b.zip"
    assert request.headers["content-type"] == "application/zip"
    with pytest.raises(BadAnswer, match=r"evil\.example is no host"):
        client.upload("https://evil.example/assets", b"", "text/plain", {"name": "a"})


@pytest.mark.parametrize(
    ("api", "uploads"),
    [
        (API, "https://uploads.github.com"),
        ("https://api.octo.ghe.com", "https://uploads.octo.ghe.com"),
        ("https://host/api/v3", "https://host/api/uploads"),
        ("http://127.0.0.1:80", "http://127.0.0.1:80"),
    ],
)
def test_uploads_url__each_kind_of_github(api: str, uploads: str) -> None:
    assert httpx.URL(uploads_url(api)) == httpx.URL(uploads)


def test_client__no_token_over_plain_http() -> None:
    with pytest.raises(ConfigError, match="expected https"):
        Script(said(500)).client("http://github.example/api/v3")
    Script(said(500)).client("http://127.0.0.1:1234").close()


@pytest.mark.parametrize("path", ["a", "/a/../b", "/a/./b", "/a\nb", "https://evil.example/"])
def test_paths__that_lead_elsewhere(path: str) -> None:
    script = Script(httpx.Response(200, json=1))
    with pytest.raises(ValueError, match="no path"):
        script.client().get(path)
    assert not script.requests


def test_segment__somebody_elses_text() -> None:
    script = Script(httpx.Response(200, json=1))
    script.client().get("/repos/o/r/commits/" + segment("a/../b?c#d%e ä"))
    assert script.requests[0].url.raw_path == b"/repos/o/r/commits/a%2F..%2Fb%3Fc%23d%25e%20%C3%A4"
    with pytest.raises(ValueError, match="segment"):
        segment("..")


def test_download__a_redirect_to_no_address(tmp_path: Path) -> None:
    script = Script(httpx.Response(302, headers={"location": "https://[::1"}))
    with pytest.raises(GitHubError, match="Invalid URL in location header"):
        script.client().download("/zip", tmp_path / "a", 10)
