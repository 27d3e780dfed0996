"""The providers of a config: which there are, and which one a suite asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.config.nodes import MapNode, Node, Place
from releasecheck.importers.promptfoo.reading import FILE, entry, items_of, text_at

if TYPE_CHECKING:
    from releasecheck.importers.promptfoo.reading import Desk

KEYS: Final = ("id", "label", "config", "prompts", "delay")
REFUSED: Final = ("transform", "env", "inputs", "functions", "maxRetries")
_YAML: Final = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider as it was written."""

    name: str
    """Its id: `openai:chat:gpt-4.1`, `file://bot.py`, ..."""
    label: str
    config: MapNode
    prompts: tuple[str, ...]
    """Labels of the only prompts it takes; empty is all."""
    place: Place


def read_providers(desk: Desk, document: Node) -> list[Provider]:
    """All providers, under either of their two names."""
    node = entry(document, "providers") or entry(document, "targets")
    return [] if node is None else _of(desk, node)


def _of(desk: Desk, node: Node) -> list[Provider]:
    return [made for one in items_of(node) for made in _one(desk, one)]


def _one(desk: Desk, node: Node) -> list[Provider]:
    name = text_at(node)
    if name is not None:
        if name.startswith(FILE) and name.endswith(_YAML):
            return [
                made
                for path in desk.found(name, node.place)
                for made in _of(desk, desk.document(path))
            ]
        return [Provider(name, name, MapNode({}, node.place), (), node.place)]
    if not isinstance(node, MapNode):
        desk.bad(node.place, "expected a provider: its id, or a mapping with `id` and `config`")
        return []
    name = text_at(entry(node, "id"))
    if name is None and len(node.entries) == 1:  # {'openai:gpt-4.1': {config: ...}}
        name, inner = next((key, one.node) for key, one in node.entries.items())
        node = inner if isinstance(inner, MapNode) else MapNode({}, node.place)
    if name is None:
        desk.bad(node.place, "the provider has no `id`")
        return []
    desk.keys(node, KEYS, "a provider", REFUSED)
    if "delay" in node.entries:
        desk.note("delay of a provider: set `rate_limit` of the target for this")
    config = entry(node, "config")
    prompts = tuple(text for one in items_of(entry(node, "prompts")) if (text := text_at(one)))
    return [
        Provider(
            name,
            text_at(entry(node, "label")) or name,
            config if isinstance(config, MapNode) else MapNode({}, node.place),
            prompts,
            node.place,
        )
    ]


def chosen(desk: Desk, found: list[Provider], wanted: str | None, node: Node) -> Provider | None:
    """The one provider of a suite: the only one, or the one that `--provider` names."""
    if wanted is None and len(found) == 1:
        return found[0]
    fits = [
        one for number, one in enumerate(found, 1) if wanted in (str(number), one.label, one.name)
    ]
    if len(fits) == 1:
        return fits[0]
    listed = "; ".join(f"{number}: {one.label[:60]}" for number, one in enumerate(found, 1))
    if not found:
        desk.bad(
            node.place,
            "no provider is named, so that there is nothing to ask; say with --target FILE what the system under test is",
        )
    elif wanted is None:
        desk.bad(
            node.place,
            f"there are {len(found)} providers, and a suite has one system under test; choose with --provider by number or label ({listed}), or give --target FILE",
        )
    else:
        desk.bad(
            node.place,
            f"--provider {wanted!r} names {'several' if fits else 'none'} of them ({listed})",
        )
    return None
