"""The way out: authorities and proxies that the environment names."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path

import pytest
import trustme

from releasecheck.drivers.github.errors import Unreachable
from releasecheck.drivers.github.rest import GitHubClient, Patience
from tests.fakes import FakeClock
from tests.githubfake import FakeGitHub


def client(api_url: str, token: str, environment: dict[str, str]) -> GitHubClient:
    return GitHubClient(
        api_url,
        token,
        clock=FakeClock(),
        sleep=lambda _: None,
        environment=environment,
        patience=Patience(tries=2),
    )


def test_authorities__of_the_environment_and_no_others(tmp_path: Path) -> None:
    authority = trustme.CA()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with FakeGitHub(tls=tls) as github:
        trusting = {"SSL_CERT_FILE": str(tmp_path / "ca.pem")}
        with client(github.api_url, github.token, trusting) as made:
            assert made.get("/repos/octo/app")["full_name"] == "octo/app"
        seen = len(github.journal)
        with client(github.api_url, github.token, {}) as made, pytest.raises(Unreachable):
            made.get("/repos/octo/app")
        assert len(github.journal) == seen


def test_proxies__are_asked_for_other_hosts() -> None:
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def proxy() -> None:
            for _ in range(2):
                connection, _ = server.accept()
                with connection:
                    heard.append(connection.recv(4096))
                    connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n")

        thread = threading.Thread(target=proxy)
        thread.start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        with (
            client("https://api.github.example", "secret-token", {"HTTPS_PROXY": address}) as made,
            pytest.raises(Unreachable, match="ProxyError"),
        ):
            made.get("/repos/octo/app")
        thread.join()
    assert [one.split(b"\r\n")[0] for one in heard] == [
        b"CONNECT api.github.example:443 HTTP/1.1"
    ] * 2
    assert b"secret-token" not in b"".join(heard)
