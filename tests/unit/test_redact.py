"""Secret values never leave the process (G-24)."""

from __future__ import annotations

import base64
import html
import json
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from releasecheck.redact import NOTHING_SECRET, SHORTEST, Redactor
from tests.strategies import json_values, texts

CANARY = 'c4n4ry/+"val\\ue= 7\u00e9!~?~?>'
MARK = "[redacted:TOKEN]"
DELIMITERS = "!$&'()*+,;="
secrets = st.text(
    st.characters(min_codepoint=33, exclude_categories=["Cs", "Z", "Cc"]),
    min_size=SHORTEST,
    max_size=40,
)


@pytest.mark.parametrize(
    "form",
    [
        CANARY,
        json.dumps(CANARY),
        json.dumps(CANARY, ensure_ascii=False),
        json.dumps({"headers": {"authorization": f"Bearer {CANARY}"}}),
        json.dumps(CANARY).replace("/", "\\/"),
        repr(f"Bearer {CANARY}"),
        html.escape(CANARY),
        f"https://host/?key={quote(CANARY)}&x=1",
        f"https://host/?key={quote(CANARY, safe='')}&x=1",
        f"https://host/?key={quote_plus(CANARY)}&x=1",
        f"https://user:{quote(CANARY, safe=DELIMITERS)}@host/",
        f"https://host/?key={quote(CANARY, safe=DELIMITERS + ':@/?')}#x",
        base64.b64encode(CANARY.encode()).decode(),
        base64.urlsafe_b64encode(CANARY.encode()).decode(),
        quote(base64.b64encode(CANARY.encode()).decode(), safe=""),
        f"twice {CANARY}{CANARY}",
    ],
)
def test_redactor__knows_the_forms_in_which_secrets_travel(form: str) -> None:
    found = Redactor({"TOKEN": CANARY}).text(f"before {form} after")
    assert MARK in found
    assert "c4n4ry" not in found
    assert base64.b64encode(CANARY.encode()).decode()[:8] not in found
    assert found.startswith("before ")
    assert found.endswith(" after")


def test_redactor__url_escapes_in_lower_case() -> None:
    """Some clients write %2f where Python writes %2F."""
    secret = "s3cr3t/with+signs"
    written = quote(secret, safe="").replace("%2F", "%2f").replace("%2B", "%2b")
    assert Redactor({"TOKEN": secret}).text(written) == MARK


@given(secrets, texts, texts)
@example("12345678", "user:", ":x")
@example("s3cr3t-k3y", "", ":")  # an API key as the user name of Basic credentials
def test_redactor__finds_secrets_inside_base64(secret: str, before: str, after: str) -> None:
    redactor = Redactor({"TOKEN": secret})
    whole = (before + secret + after).encode()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        assert MARK in redactor.text(f"Basic {encode(whole).decode()}")


@given(secrets, texts, texts)
def test_redactor__leaves_nothing_of_the_secret_and_all_of_the_rest(
    secret: str, before: str, after: str
) -> None:
    assume(secret not in before + after)
    redactor = Redactor({"TOKEN": secret})
    assume(redactor.text(before) == before)
    assume(redactor.text(after) == after)
    found = redactor.text(f"{before} {secret} {after}")
    assert found == f"{before} {MARK} {after}"


def test_redactor__every_text_and_key_of_a_value() -> None:
    redactor = Redactor({"TOKEN": CANARY})
    value = {"a": [CANARY, {f"key {CANARY}": [f"x{CANARY}y", 1, None, True, 2.5]}]}
    assert redactor.value(value) == {
        "a": [MARK, {f"key {MARK}": [f"x{MARK}y", 1, None, True, 2.5]}]
    }


def test_redactor__the_longer_of_two_secrets_goes_first() -> None:
    redactor = Redactor({"A": "password1", "B": "password123"})
    assert redactor.text("password123 password1 password12") == (
        "[redacted:B] [redacted:A] [redacted:A]2"
    )


def test_redactor__the_same_value_under_two_names_takes_the_first_name() -> None:
    assert Redactor({"B": CANARY, "A": CANARY}).text(CANARY) == "[redacted:A]"


def test_redactor__drops_white_space_around_values_as_resolving_does() -> None:
    assert Redactor({"TOKEN": "  s3cr3t-k3y\n"}).text("Bearer s3cr3t-k3y.") == f"Bearer {MARK}."


def test_redactor__short_values_are_named_instead_of_blanking_the_report() -> None:
    redactor = Redactor({"PIN": "1234567", "EMPTY": "", "BLANK": "  \n", "MODE": "test"})
    assert redactor.too_short == ("MODE", "PIN")
    assert not redactor.active
    assert redactor.text("a test of 1234567") == "a test of 1234567"


def test_redactor__each_line_of_a_key_but_not_its_frame() -> None:
    body = "MIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB"
    key = f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----"
    redactor = Redactor({"TOKEN": key})
    assert redactor.text("line 2: AQEFAASCBKcwggSjAgEAAoIB") == f"line 2: {MARK}"
    assert redactor.text(f"key {key}") == f"key {MARK}"
    assert redactor.text(f"key {json.dumps(key)}") == f'key "{MARK}"'
    assert redactor.text("-----BEGIN PRIVATE KEY-----") == "-----BEGIN PRIVATE KEY-----"


def test_redactor__a_value_that_is_no_utf8() -> None:
    """The environment may hold any bytes; Python reads them as half surrogate pairs."""
    redactor = Redactor({"TOKEN": b"caf\xe9-s3cr3t".decode("utf-8", "surrogateescape")})
    assert redactor.text("caf\ufffd-s3cr3t") == MARK
    assert redactor.text("caf%E9-s3cr3t") == MARK


@given(json_values)
def test_redactor__without_secrets_gives_back_what_it_got(value: Any) -> None:
    assert NOTHING_SECRET.value(value) is value


@given(json_values)
def test_redactor__leaves_values_without_secrets_alone(value: Any) -> None:
    assert json.dumps(Redactor({"TOKEN": "never in a value 7f3a"}).value(value)) == json.dumps(
        value
    )


@pytest.mark.parametrize("name", ["A", "TOKEN"])
def test_redactor__says_whether_there_is_anything_to_replace(name: str) -> None:
    assert Redactor({name: CANARY}).active
    assert not Redactor({}).active


def test_redactor__numbers_hex_and_wrapped_base64() -> None:
    """B122: what a target can make of a secret without any malice."""
    token = "tok-" + "0123456789abcdef" * 6
    redactor = Redactor({"PIN": "4012888888881881", "TOKEN": token})
    assert redactor.value({"pin": 4012888888881881, "other": 17, "yes": True}) == {
        "pin": "[redacted:PIN]",
        "other": 17,
        "yes": True,
    }
    wrapped = base64.encodebytes(token.encode()).decode()
    assert "\n" in wrapped.strip()
    for text in (wrapped, token.encode().hex(), token.encode().hex().upper()):
        assert redactor.text(f"see {text} here").strip().startswith("see [redacted:TOKEN]")
    assert redactor.text("plain words stay") == "plain words stay"
