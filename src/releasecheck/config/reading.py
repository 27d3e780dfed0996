"""YAML bytes to nodes with places: strict where PyYAML's own loader is lenient.

Duplicate keys, tags, several documents, and words that YAML versions disagree about are refused;
anchors and `<<` work, and cannot grow without bound.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
)

from releasecheck.canonical import MAX_DEPTH
from releasecheck.config.nodes import Entry, ListNode, Loc, MapNode, Node, Place, Scalar, key_text
from releasecheck.config.scalars import Unclear, read_plain
from releasecheck.errors import ConfigError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

_DAYS: Final = {"until"}
"""Keys whose values are days."""
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
MAX_NODES: Final = 100_000
"""Values in one document after all aliases are followed; more is an alias bomb (or a dataset)."""
_TAGS: Final = {
    None, "!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq",
}  # fmt: skip
_ADVICE: Final = {
    "'\\t'": "found a tab; YAML is indented with spaces",
    "mapping values are not allowed here": "found `: ` where no mapping can start; quote a text that "
    "holds `: `, or check the indentation",
    "could not find expected ':'": "expected `key: value`; check the indentation and the quotes above",
}


def read_yaml(text: str, path: str) -> tuple[Node, list[Problem]]:
    """The one document in `text`, and every problem that did not stop the reading.

    Raises:
        ConfigError: the text is no YAML, or more than we take.
    """
    reader = _Reader(text, path)
    return reader.document(), reader.problems


class _Reader:
    def __init__(self, text: str, path: str) -> None:
        self._text, self._path = text, path
        self._events = self._parse()
        self._anchors: dict[str, tuple[Node | None, Place, int]] = {}
        self._count = 0
        self.problems: list[Problem] = []

    def _parse(self) -> Iterator[Event]:
        try:
            yield from yaml.parse(self._text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            raise ConfigError([*self.problems, self._explain(error)]) from None
        except yaml.reader.ReaderError as error:
            before = self._text[: error.position]
            line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
            message = (
                f"found the control character U+{ord(self._text[error.position]):04X}; remove it"
            )
            problem = Problem(message, self._path, line, column)
            raise ConfigError([*self.problems, problem]) from None

    def _explain(self, error: yaml.MarkedYAMLError) -> Problem:
        found = error.problem or "not YAML"
        message = next((text for sign, text in _ADVICE.items() if sign in found), None)
        if message is None:
            since = error.context_mark
            context = f" ({error.context} from line {since.line + 1})" if since else ""
            message = f"this is not YAML: {found}{context}"
        mark = error.problem_mark
        if mark is None:
            return Problem(message, self._path)
        return Problem(message, self._path, mark.line + 1, mark.column + 1)

    def _place(self, event: Event) -> Place:
        mark = event.start_mark
        return (
            Place(self._path, mark.line + 1, mark.column + 1) if mark else Place(self._path, 1, 1)
        )

    def _stop(self, place: Place, message: str, loc: Loc = ()) -> NoReturn:
        raise ConfigError([*self.problems, self._problem(place, message, loc)])

    def _problem(self, place: Place, message: str, loc: Loc) -> Problem:
        return Problem(message, place.path, place.line, place.column, key_text(loc) or None)

    def document(self) -> Node:
        """The whole document."""
        found: Node | None = None
        for event in self._events:
            if isinstance(event, DocumentStartEvent) and found is not None:
                self._stop(self._place(event), "found a second document (`---`); expected one")
            if isinstance(event, NodeEvent):
                found = self._node(event, ())
        if found is None:
            raise ConfigError([Problem("the file is empty; expected a mapping", self._path)])
        return found

    def _node(self, event: NodeEvent, loc: Loc) -> Node:
        place = self._place(event)
        if len(loc) > MAX_DEPTH:
            self._stop(place, f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(event, AliasEvent):
            return self._alias(str(event.anchor), place, loc)
        if event.anchor is not None:
            if event.anchor in self._anchors:
                first = self._anchors[event.anchor][1].line
                self._stop(place, f"the anchor &{event.anchor} is already set in line {first}", loc)
            self._anchors[event.anchor] = (None, place, 0)
        before = self._count
        self._grow(1, place, loc)
        node: Node
        tag = event.tag if isinstance(event, ScalarEvent | CollectionStartEvent) else None
        if tag not in _TAGS:
            message = f"found the tag {str(tag)[:60]!r}; tags are not supported, write the value"
            self._stop(place, message, loc)
        if isinstance(event, ScalarEvent):
            node = Scalar(self._scalar(event, place, loc), place)
        elif isinstance(event, SequenceStartEvent):
            node = self._list(place, loc)
        else:
            node = self._mapping(place, loc)
        if event.anchor is not None:
            self._anchors[event.anchor] = (node, place, self._count - before)
        return node

    def _grow(self, size: int, place: Place, loc: Loc) -> None:
        self._count += size
        if self._count > MAX_NODES:
            message = f"the document grows beyond {MAX_NODES} values when its aliases are followed"
            self._stop(place, message, loc)

    def _alias(self, name: str, place: Place, loc: Loc) -> Node:
        if name not in self._anchors:
            self._stop(place, f"found the alias *{name}, but no anchor &{name} above it", loc)
        node, _, size = self._anchors[name]
        if node is None:
            self._stop(place, f"the alias *{name} stands inside its own anchor", loc)
        self._grow(size, place, loc)
        return node

    def _scalar(self, event: ScalarEvent, place: Place, loc: Loc) -> str | float | bool | None:
        text: str = event.value
        if not event.implicit[0]:  # quoted, a block, or tagged as text
            return text
        if loc and loc[-1] in _DAYS and _DAY.fullmatch(text):
            return text  # a day is what is meant here, to any reader
        try:
            return read_plain(text)
        except Unclear as error:
            self.problems.append(self._problem(place, str(error), loc))
            return text

    def _list(self, place: Place, loc: Loc) -> ListNode:
        items: list[Node] = []
        for event in self._events:
            if isinstance(event, CollectionEndEvent):
                break
            if isinstance(event, NodeEvent):
                items.append(self._node(event, (*loc, len(items))))
        return ListNode(tuple(items), place)

    def _mapping(self, place: Place, loc: Loc) -> MapNode:
        entries: dict[str, Entry] = {}
        below: dict[str, Entry] = {}
        merge_line: int | None = None
        for event in self._events:
            if isinstance(event, CollectionEndEvent):
                break
            if not isinstance(event, NodeEvent):
                continue
            at = self._place(event)
            key = self._key(event, at, loc)
            if key == "<<" and isinstance(event, ScalarEvent) and event.implicit[0]:
                if merge_line is not None:
                    self._twice(key, at, merge_line, loc)
                merge_line = at.line
                below = self._merge(self._next_node((*loc, key)), at, loc)
                continue
            if key in entries:
                self._twice(key, at, entries[key].place.line, (*loc, key))
            entries[key] = Entry(at, self._next_node((*loc, key)))
        return MapNode({**below, **entries} if below else entries, place)

    def _next_node(self, loc: Loc) -> Node:
        event = next(self._events)
        assert isinstance(event, NodeEvent)  # noqa: S101 - YAML's grammar: a key has a value
        return self._node(event, loc)

    def _twice(self, key: str, place: Place, first: int, loc: Loc) -> None:
        message = (
            f"the key {key[:80]!r} is given twice, in line {first} and in line {place.line}; "
            "only one of them would count"
        )
        self.problems.append(self._problem(place, message, loc))

    def _key(self, event: NodeEvent, place: Place, loc: Loc) -> str:
        if not isinstance(event, ScalarEvent):
            message = (
                "expected a text as key, found a mapping, list or alias; "
                "a template such as {{ input }} must stand in quotes"
            )
            self._stop(place, message, loc)
        text: str = event.value
        if not event.implicit[0]:
            return text
        try:
            value = read_plain(text)
        except Unclear as error:
            message = f"{str(error).partition(' (or write')[0]} (it is a key)"
            self.problems.append(self._problem(place, message, (*loc, text)))
            return text
        if not isinstance(value, str):
            message = f"expected a text as key, found `{text[:40]}`; quote it"
            self.problems.append(self._problem(place, message, (*loc, text)))
        return text

    def _merge(self, node: Node, place: Place, loc: Loc) -> dict[str, Entry]:
        sources = node.items if isinstance(node, ListNode) else (node,)
        entries: dict[str, Entry] = {}
        for source in sources:
            if not isinstance(source, MapNode):
                self._stop(place, "expected a mapping (or a list of them) after `<<`", loc)
            for key, entry in source.entries.items():
                entries.setdefault(key, entry)
        return entries
