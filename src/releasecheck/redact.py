"""Secret values never leave the process: one redactor for records, logs and error texts.

It knows the values of every variable that the config names, and the credentials in addresses (see
`credentials`), in the forms they travel in (plain, JSON-escaped, URL-encoded, Base64), and replaces each
by `[redacted:NAME]`.
"""

from __future__ import annotations

import base64
import html
import json
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, quote_plus

from releasecheck.canonical import clean_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from releasecheck.canonical import Json

SHORTEST: Final = 8
"""Values with fewer characters are not replaced: a short or everyday word would blank the report."""


LINE: Final = 56
"""Characters up to which no encoder breaks a line of Base64."""
_BASE64: Final = re.compile("[A-Za-z0-9+/_-]+=*")


class Redactor:
    """Replaces secret values in texts and JSON values; without secrets it costs nothing."""

    def __init__(
        self, secrets: Mapping[str, str], parts: Mapping[str, Collection[str]] | None = None
    ) -> None:
        """Take the secrets, and parts of values that are secret too, by the name of their variable."""
        forms: dict[str, str] = {}
        short: list[str] = []
        for name, raw in sorted(secrets.items()):
            value = raw.strip()
            if not value:
                continue
            if len(value) < SHORTEST:
                short.append(name)
                continue
            for form in _forms(value):
                forms.setdefault(form, name)
        for name, values in sorted((parts or {}).items()):
            if name not in short and any(0 < len(value) < SHORTEST for value in values):
                short.append(name)
            for value in sorted(values):
                for form in _forms(value):
                    forms.setdefault(form, name)
        self.too_short: tuple[str, ...] = tuple(sorted(short))
        """Names whose values are too short to redact safely; said in a note when a run starts."""
        self._names = forms
        # Longest first, so that a form inside another one does not leave the rest standing.
        ordered = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_wrapped, ordered))) if ordered else None

    @property
    def active(self) -> bool:
        """Whether there is anything to replace."""
        return self._pattern is not None

    def text(self, text: str) -> str:
        """`text` without secret values."""
        if self._pattern is None:
            return text
        return self._pattern.sub(self._instead, text)

    def _instead(self, match: re.Match[str]) -> str:
        found = match[0]
        name = self._names.get(found) or self._names["".join(found.split())]
        return f"[redacted:{name}]"

    def value(self, value: Json) -> Json:
        """A JSON value without secret values in any text, key or number."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            shown = str(value)
            return self.text(shown) if self._pattern.fullmatch(shown) else value
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {self.text(key): self.value(item) for key, item in value.items()}
        return value


def _wrapped(form: str) -> str:
    """A pattern for one form; a long Base64 text may be broken into lines, as in mails and PEM files."""
    if len(form) <= LINE or not _BASE64.fullmatch(form):
        return re.escape(form)
    return r"\s{0,2}".join(map(re.escape, form))


def _forms(value: str) -> set[str]:
    data = value.encode("utf-8", "surrogateescape")
    escaped = json.dumps(value)[1:-1]
    forms = {
        value,
        clean_text(value),
        escaped,
        escaped.replace("/", "\\/"),
        json.dumps(value, ensure_ascii=False)[1:-1],
        repr(value)[1:-1],
        html.escape(value),
        data.hex(),
        data.hex().upper(),
        *_url_forms(data),
        *_base64_forms(data),
    }
    # A private key comes back line by line, in tracebacks and wrapped logs.
    forms.update(line for line in value.splitlines() if not line.startswith("-----"))
    return {form for form in forms if len(form) >= SHORTEST}


def _url_forms(data: bytes) -> set[str]:
    # What an address need not encode, libraries leave as it is: in user-info, in a path, in a query.
    delimiters = "!$&'()*+,;="
    kept = ("", "/", delimiters, delimiters + ":", delimiters + ":@/", delimiters + ":@/?")
    forms = {quote_plus(data), *(quote(data, safe=safe) for safe in kept)}
    return forms | {_ESCAPE.sub(lambda match: match[0].lower(), form) for form in forms}


def _base64_forms(data: bytes) -> set[str]:
    forms = set()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        whole = encode(data).decode()
        forms |= {whole, whole.rstrip("=")}
        # Inside something longer, such as the `user:password` of Basic credentials, it starts at any of
        # three byte offsets, and the characters at its ends hold bits of its neighbours.
        for pad in range(3):
            inner = encode(b"\0" * pad + data + b"\0\0").decode()
            forms.add(inner[(8 * pad + 5) // 6 : 8 * (pad + len(data)) // 6])
    return forms.union(*(_url_forms(form.encode()) for form in forms))


_ESCAPE: Final = re.compile("%[0-9A-F]{2}")
NOTHING_SECRET: Final = Redactor({})
"""For callers without secrets."""
