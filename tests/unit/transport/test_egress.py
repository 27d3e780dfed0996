"""Proxies and authorities come from a mapping, never from the process (issue 2 item 3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from releasecheck.errors import ConfigError
from releasecheck.transport.egress import proxy_rule, trust

BOTH = {"HTTP_PROXY": "http://plain:3128", "HTTPS_PROXY": "http://secure:3128"}


@pytest.mark.parametrize(
    ("environment", "url", "proxy"),
    [
        ({}, ("http", "example.org", None), None),
        (BOTH, ("http", "example.org", None), "http://plain:3128"),
        (BOTH, ("https", "example.org", 8443), "http://secure:3128"),
        ({"ALL_PROXY": "http://all:1"}, ("https", "example.org", None), "http://all:1"),
        ({"http_proxy": "http://low:1", **BOTH}, ("http", "example.org", None), "http://low:1"),
        ({"HTTP_PROXY": "proxy:3128"}, ("http", "example.org", None), "http://proxy:3128"),
        ({"HTTP_PROXY": "  "}, ("http", "example.org", None), None),
        # What a CGI server passes on came from the client.
        ({"HTTP_PROXY": "http://evil:1", "REQUEST_METHOD": "GET"}, ("http", "a.org", None), None),
        # Our own machine is not behind a proxy.
        (BOTH, ("http", "localhost", 80), None),
        (BOTH, ("http", "127.0.0.1", 9), None),
        (BOTH, ("http", "::1", 9), None),
    ],
)
def test_proxy_rule__by_scheme(
    environment: dict[str, str], url: tuple[str, str, int | None], proxy: str | None
) -> None:
    assert proxy_rule(environment)(*url) == proxy


@pytest.mark.parametrize(
    ("no_proxy", "host", "port", "direct"),
    [
        ("example.org", "example.org", None, True),
        ("example.org", "api.example.org", None, True),
        (".example.org", "api.example.org", None, True),
        ("*.example.org", "api.example.org", None, True),
        ("example.org", "notexample.org", None, False),
        ("example.org", "Example.ORG.", None, True),
        ("a.org , example.org", "example.org", None, True),
        ("*", "anything", None, True),
        ("example.org:8080", "example.org", 8080, True),
        ("example.org:8080", "example.org", None, False),
        ("10.0.0.0/8", "10.1.2.3", None, True),
        ("10.0.0.0/8", "11.1.2.3", None, False),
        ("10.1.2.3:80", "10.1.2.3", None, True),
        ("fd00::/8", "fd00::1", None, True),
        ("[fd00::1]:8080", "fd00::1", 8080, True),
        (",", "example.org", None, False),
    ],
)
def test_proxy_rule__exemptions(no_proxy: str, host: str, port: int | None, direct: bool) -> None:
    rule = proxy_rule({**BOTH, "NO_PROXY": no_proxy})
    assert (rule("http", host, port) is None) is direct


def test_proxy_rule__a_kind_we_cannot_speak_to_is_named_without_its_password() -> None:
    with pytest.raises(ConfigError, match=r"ALL_PROXY.*socks5") as caught:
        proxy_rule({"ALL_PROXY": "socks5://user:hunter2@proxy:1080"})
    assert "hunter2" not in str(caught.value)


def test_trust__a_file_that_is_not_there_is_said_before_the_first_call(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"SSL_CERT_FILE names .*, which is no file"):
        trust({"SSL_CERT_FILE": str(tmp_path / "none.pem")})
    with pytest.raises(ConfigError, match="SSL_CERT_DIR"):
        trust({"SSL_CERT_DIR": str(tmp_path / "none")})


def test_trust__a_file_without_certificates_is_named(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate", "utf-8")
    with pytest.raises(ConfigError, match="holds no PEM certificates"):
        trust({"SSL_CERT_FILE": str(tmp_path / "ca.pem")})()


def test_trust__without_a_file_the_public_authorities_are_known() -> None:
    assert trust({})().cert_store_stats()["x509_ca"] > 50
