"""`${NAME}` and `${NAME:-default}` in config texts: found when planning, resolved when used.

Only the reference is ever written to a plan, a ledger or a report. `$${` stands for a literal `${`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.errors import EnvironmentMissing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from releasecheck.canonical import Json

_REFERENCE: Final = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
PORT: Final = "RELEASECHECK_PORT"
"""The one name that we set ourselves: the free port of a `start`ed target."""


@dataclass(frozen=True, slots=True)
class Reference:
    """One use of a variable."""

    name: str
    """The variable's name."""
    required: bool
    """True when no default stands beside it."""


def references_in(value: Json) -> Iterator[Reference]:
    """Every reference in the texts (and keys) of a JSON value, in reading order."""
    if isinstance(value, str):
        for match in _REFERENCE.finditer(value):
            if match[1]:
                yield Reference(match[1], required=match[2] is None)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from references_in(key)
            yield from references_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from references_in(item)


def missing_names(value: Json, environment: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Names needed by `value` that are (unset, set but empty or only white space)."""
    unset: dict[str, None] = {}
    empty: dict[str, None] = {}
    for reference in references_in(value):
        if not reference.required or reference.name == PORT:
            continue
        if reference.name not in environment:
            unset[reference.name] = None
        elif not environment[reference.name].strip():
            empty[reference.name] = None
    return list(unset), list(empty)


def resolve_text(text: str, environment: Mapping[str, str]) -> str:
    """`text` with every reference replaced, once; surrounding white space of values is dropped.

    Raises:
        EnvironmentMissing: for a name without default that is unset or empty.
    """

    def replace(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        if not name:
            return "${"
        value = environment.get(name, "").strip()
        if value:
            return value
        if default is None:
            unset, empty = ([], [name]) if name in environment else ([name], [])
            raise EnvironmentMissing(unset, empty)
        return default

    return _REFERENCE.sub(replace, text)


def resolve(value: Json, environment: Mapping[str, str]) -> Json:
    """A JSON value with the references in all its texts resolved (see `resolve_text`)."""
    if isinstance(value, str):
        return resolve_text(value, environment)
    if isinstance(value, dict):
        return {resolve_text(k, environment): resolve(v, environment) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [resolve(item, environment) for item in value]
    return value
