"""A parsed document that knows where each value stands, so that later checks can point at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from releasecheck.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from releasecheck.canonical import Json

Loc: TypeAlias = "tuple[str | int, ...]"
"""The way to a value: keys and list positions."""


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a file."""

    path: str
    """As the user would name it."""
    line: int
    """1-based."""
    column: int
    """1-based."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text, number, boolean or null."""

    value: str | float | bool | None
    place: Place


@dataclass(frozen=True, slots=True)
class ListNode:
    """A list."""

    items: Sequence[Node]
    place: Place


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping with its value."""

    place: Place
    """Of the key."""
    node: Node


@dataclass(frozen=True, slots=True)
class MapNode:
    """A mapping, in the order it was written."""

    entries: Mapping[str, Entry]
    place: Place


Node: TypeAlias = Scalar | ListNode | MapNode


def plain(node: Node) -> Json:
    """The value without places."""
    match node:
        case Scalar(value=value):
            return value
        case ListNode(items=items):
            return [plain(item) for item in items]
        case MapNode(entries=entries):
            return {key: plain(entry.node) for key, entry in entries.items()}


def merged(base: Node, over: Node) -> Node:
    """`over` on top of `base`: mappings key by key, everything else (lists too) replaced."""
    if not isinstance(base, MapNode) or not isinstance(over, MapNode):
        return over
    entries = dict(base.entries)
    for key, entry in over.entries.items():
        below = entries.get(key)
        node = merged(below.node, entry.node) if below else entry.node
        entries[key] = Entry(entry.place, node)
    return MapNode(entries, over.place)


def without(node: MapNode, *keys: str) -> MapNode:
    """`node` without some of its keys."""
    return MapNode({k: e for k, e in node.entries.items() if k not in keys}, node.place)


def key_text(loc: Loc) -> str:
    """`gates[0].min`."""
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def node_at(node: Node, loc: Loc) -> tuple[Node, Place]:
    """The deepest value on the way `loc`, and where it stands: its key, or itself in a list."""
    place = node.place
    for part in loc:
        if isinstance(part, str) and isinstance(node, MapNode) and part in node.entries:
            entry = node.entries[part]
            node, place = entry.node, entry.place
        elif isinstance(part, int) and isinstance(node, ListNode) and part < len(node.items):
            node = node.items[part]
            place = node.place
        else:
            break
    return node, place


def problem_at(node: Node, loc: Loc, message: str) -> Problem:
    """A problem with the value at `loc`, placed where it (or what should hold it) stands."""
    found, place = node_at(node, loc)
    if isinstance(found, Scalar) and found is not node:
        place = found.place
    return Problem(message, place.path, place.line, place.column, key_text(loc) or None)
