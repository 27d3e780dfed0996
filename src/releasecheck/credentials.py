"""Which values are secret: those of named variables, and the user-info of proxies and addresses.

A proxy's password reaches us through a variable that no suite names, and comes back in error texts of
libraries, in a program's last words and in what a proxy answers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from releasecheck.redact import Redactor
from releasecheck.references import PORT, references_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from releasecheck.canonical import Json

_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
PROXIES: Final = (*_PROXIES, *map(str.lower, _PROXIES))
"""Variables that may hold the address of a proxy."""
ADDRESS: Final = "user-info"
"""What stands in the place of credentials that an address of the suite holds literally."""
_USER_INFO: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^\s/?#\"'<>]*)@")


def redactor_of(specs: Sequence[Json], environment: Mapping[str, str]) -> Redactor:
    """Knows every value that calls by these specs must not leave behind."""
    names = _named(specs)
    values = {name: environment[name] for name in names if name in environment}
    parts = {name: set(user_info(value)) for name, value in values.items()}
    for name in PROXIES:
        parts.setdefault(name, set()).update(proxy_user_info(environment.get(name, "")))
    parts[ADDRESS] = {part for text in _texts(specs) for part in user_info(text)}
    return Redactor(values, parts)


def secret_names(specs: Sequence[Json], environment: Mapping[str, str]) -> tuple[str, ...]:
    """The variables of the above: those named, and proxies with credentials."""
    proxies = {name for name in PROXIES if any(proxy_user_info(environment.get(name, "")))}
    return tuple(sorted(_named(specs) | proxies))


def user_info(text: str) -> Iterator[str]:
    """Credentials in the addresses of a text: `user:password` and `password`, as written and decoded."""
    for scheme, found in _USER_INFO.findall(text):
        # Over HTTP a user without password is a token; elsewhere it is a name, such as `git`.
        if ":" in found or scheme.lower() in ("http", "https"):
            yield from _parts(found)


def proxy_user_info(address: str) -> Iterator[str]:
    """The same of a proxy's address, which may have no scheme, and any character in its password."""
    before, at, _ = address.strip().rpartition("@")
    if at:
        yield from _parts(before.partition("://")[2] if "://" in before else before)


def _parts(found: str) -> Iterator[str]:
    _, _, password = found.partition(":")
    yield from {found, unquote(found), password, unquote(password)} - {""}


def _named(specs: Sequence[Json]) -> set[str]:
    return {reference.name for reference in references_in(list(specs))} - {PORT}


def _texts(value: Json) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
