"""`docs/reference/schemas.md`: every document and its fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from releasecheck.schemas import KINDS, json_schema
from tests.reference.configuration import NAMED, slug
from tests.reference.kinds import kind
from tests.reference.markdown import fence, page, prose, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HEAD: Final = ("field", "what it holds", "meaning")
INTRODUCTION: Final = """
The documents that this program writes, field by field. Each one names its kind and major version, as in
`releasecheck/scorecard@1`; within a major version fields are only added, so readers ignore what they do not know.
*(may be absent)* marks fields that a reader must not count on: not every document has them. `null` says that nothing
is known, never 0. A *time* is RFC 3339 in UTC, a *digest* is `sha256:` and 64 hexadecimal digits.
"""
_CONFIG: Final = frozenset({"config"})
"""Kinds with a page of their own."""


def _anchor(document: str, name: str) -> str:
    return f"{document}-{name}".lower()


def _link(document: str, known: set[str]) -> Callable[[str], str]:
    def link(name: str) -> str:
        if name in known:
            return f"[{name}](#{_anchor(document, name)})"
        if name in NAMED:
            return f"[{NAMED[name]}](configuration.md#{slug(NAMED[name])})"
        part = "judges" if name.endswith("Judge") else "target"
        return f"a [{part.removesuffix('s')}](configuration.md#{part})"

    return link


def _rows(schema: dict[str, Any], link: Callable[[str], str]) -> Iterator[tuple[str, ...]]:
    required = schema.get("required", ())
    for name, one in schema.get("properties", {}).items():
        absent = "" if name in required else " (may be absent)"
        yield f"`{name}`{absent}", kind(one, link), prose(one["description"])


def _written_by_people(schema: dict[str, Any]) -> bool:
    """Whether a definition is a part of the config, which has a page of its own."""
    return schema.get("additionalProperties") is False


def _document(name: str) -> Iterator[str]:
    schema = json_schema(name)
    shared = schema.get("$defs", {})
    own = {key: part for key, part in shared.items() if not _written_by_people(part)}
    link = _link(name, set(own))
    yield f"## {name}"
    yield prose(schema["description"])
    yield fence("console", f"$ releasecheck schema {name}")
    if "properties" in schema:
        yield table(HEAD, _rows(schema, link))
    else:
        lines = [link(one["$ref"].rpartition("/")[2]) for one in schema["oneOf"]]
        yield f"One of: {', '.join(lines)}."
    for key, part in own.items():
        yield f"### {name} {key}"
        yield prose(part["description"])
        yield table(HEAD, _rows(part, link))


def _parts() -> Iterator[str]:
    yield INTRODUCTION.strip()
    yield "The schema of a suite, which people write, has a page of its own: [Configuration reference](configuration.md)."
    for name in KINDS:
        if name not in _CONFIG:
            yield from _document(name)


def schemas_page() -> str:
    """The page."""
    return page("Schema reference", *_parts())
