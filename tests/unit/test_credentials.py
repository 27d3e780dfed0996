"""Credentials in addresses are secret, whoever names them (G-24, B122)."""

from __future__ import annotations

import base64

import pytest

from releasecheck.credentials import PROXIES, redactor_of, secret_names

SECRET = "p@ss w0rd-7f3a"
ENCODED = "p%40ss%20w0rd-7f3a"


@pytest.mark.parametrize("variable", PROXIES)
@pytest.mark.parametrize(
    "address",
    [
        f"http://user:{ENCODED}@proxy.test:3128",
        f"user:{ENCODED}@proxy.test:3128",
        f"http://user:{SECRET}@proxy.test:not-a-port",
        f"socks5://user:{ENCODED}@proxy.test",
    ],
)
def test_redactor_of__a_proxy_that_no_suite_names(variable: str, address: str) -> None:
    redactor = redactor_of([{"run": ["app"]}], {variable: address, "OTHER": SECRET})
    basic = base64.b64encode(f"user:{SECRET}".encode()).decode()
    for said in (address, f"user:{SECRET}", SECRET, ENCODED, f"Basic {basic}"):
        found = redactor.text(f"<{said}>")
        assert SECRET not in found
        assert ENCODED not in found
        assert basic not in found
        assert f"[redacted:{variable}]" in found
    assert secret_names([], {variable: address}) == (variable,)


def test_redactor_of__a_password_with_delimiters_in_it() -> None:
    """Such an address is wrong, and the error texts for it quote what is left of it."""
    redactor = redactor_of([], {"HTTPS_PROXY": "http://user:s3cr3t/wi#th?odd@sign@proxy.test:1"})
    assert "s3cr3t" not in redactor.text("cannot use user:s3cr3t/wi#th?odd@sign")


def test_redactor_of__addresses_that_the_suite_holds() -> None:
    specs = [
        {"url": f"https://user:{ENCODED}@host.test/x", "env": {"DB": "pg://me:hunter2hunter2@db"}}
    ]
    redactor = redactor_of(specs, {})
    assert (
        redactor.text(f"{SECRET}, hunter2hunter2") == "[redacted:user-info], [redacted:user-info]"
    )
    assert secret_names(specs, {}) == ()


def test_redactor_of__addresses_in_named_variables() -> None:
    environment = {"URL": f"https://user:{ENCODED}@host.test/x", "NOT_NAMED": "everyday words"}
    redactor = redactor_of([{"url": "${URL}"}], environment)
    assert redactor.text(f"{SECRET} and everyday words") == "[redacted:URL] and everyday words"
    assert secret_names([{"url": "${URL}"}], environment) == ("URL",)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("ssh://longusername@host/x", False),
        ("https://token-as-a-user@host/x", True),
        ("https://host.test/someone@example.test", False),
        ("write to someone@example.test", False),
    ],
)
def test_redactor_of__a_user_alone_is_a_token_over_http_only(text: str, secret: bool) -> None:
    assert redactor_of([text], {}).active is secret


def test_redactor_of__a_proxy_without_credentials_costs_nothing() -> None:
    environment = {"HTTPS_PROXY": "http://proxy.test:3128"}
    assert not redactor_of([], environment).active
    assert secret_names([], environment) == ()


def test_redactor_of__a_short_password_is_told() -> None:
    redactor = redactor_of([], {"ALL_PROXY": "http://user:1234567@proxy.test"})
    assert redactor.too_short == ("ALL_PROXY",)
    assert redactor.text("user:1234567") == "[redacted:ALL_PROXY]"
