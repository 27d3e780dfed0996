"""The prompts of a config: texts, files of texts, and lists of messages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import yaml

from releasecheck.canonical import JsonProblem, parse_json
from releasecheck.config.nodes import MapNode, Node, Place
from releasecheck.config.text import read_text
from releasecheck.importers.promptfoo.reading import FILE, entry, items_of, text_at
from releasecheck.importers.promptfoo.templates import Parts, Untranslatable, Var, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.canonical import Json
    from releasecheck.importers.promptfoo.reading import Desk

_BREAK: Final = re.compile(r"\r?\n---[ \t]*\r?\n")
_TEXTS: Final = (".txt", ".md", ".j2", ".json", ".yaml", ".yml")
_CODE: Final = (".js", ".cjs", ".mjs", ".ts", ".py", ".sh", ".rb", ".pl", ".bash")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt: a text, or messages."""

    label: str
    content: Json
    """A text, or a list of messages, with `{{ variables }}` in its texts."""
    place: Place

    def texts(self) -> Iterator[str]:
        """Every text in it."""
        yield from texts_of(self.content)


def texts_of(value: Json) -> Iterator[str]:
    """Every text in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from texts_of(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts_of(item)


def read_prompts(desk: Desk, document: Node) -> list[Prompt]:
    """All prompts of a config; `{{prompt}}` where there are none, as promptfoo has it."""
    node = entry(document, "prompts")
    if node is None:
        return [Prompt("{{prompt}}", "{{prompt}}", document.place)]
    found: list[Prompt] = []
    for one in items_of(node):
        found += _prompts(desk, one)
    return found


def _prompts(desk: Desk, node: Node) -> list[Prompt]:
    label = None
    if isinstance(node, MapNode):
        desk.keys(node, ("id", "label", "raw", "display"), "a prompt", ("config", "function"))
        label = text_at(entry(node, "label"))
        raw = text_at(entry(node, "raw")) or text_at(entry(node, "id"))
    else:
        raw = text_at(node)
    if raw is None:
        desk.bad(
            node.place,
            "expected a prompt: a text, `file://` with a file, or a mapping with label and id or raw",
        )
        return []
    if raw.startswith(("exec:", "langfuse://", "portkey://", "helicone://")):
        desk.bad(
            node.place,
            f"the prompt {raw[:60]!r} is made by a program or a service; write its text into a file",
        )
        return []
    named = raw.startswith(FILE) or ("\n" not in raw and Path(raw).suffix in (*_TEXTS, *_CODE))
    if not named or not (raw.startswith(FILE) or (desk.base / raw).is_file()):
        return [Prompt(label or raw, chat_of(_lines(desk, raw)), node.place)]
    name = raw.removeprefix(FILE)
    if Path(name.partition(":")[0]).suffix in _CODE:
        desk.bad(
            node.place, f"the prompt {name!r} is made by a program; write its text into a file"
        )
        return []
    return [
        one
        for path in desk.found(FILE + name, node.place)
        for one in _of_file(desk, path, label, node.place)
    ]


def _lines(desk: Desk, text: str) -> str:
    if "\r" not in text:
        return text
    desk.note("lines of the prompt end in a line feed alone here, whatever ends them in its file")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _of_file(desk: Desk, path: Path, label: str | None, place: Place) -> list[Prompt]:
    suffix = path.suffix.lower()
    if suffix not in _TEXTS:
        desk.bad(
            place,
            f"{path.name}: prompts are read from {', '.join(_TEXTS)}; write it into one of them",
        )
        return []
    text = _lines(desk, read_text(path))
    parts = [part.strip() for part in _BREAK.split(text)] if suffix == ".txt" else [text]
    parts = [part for part in parts if part]
    if not parts:
        desk.bad(place, f"{path.name}: the prompt is empty")
    here = Place(path.as_posix(), 1, 1)
    return [
        Prompt(
            (label or path.name) if len(parts) == 1 else f"{label or path.name}: {part[:40]}",
            chat_of(part),
            here,
        )
        for part in parts
    ]


def chat_of(text: str) -> Json:
    """The messages that a text is as JSON or YAML; any other text as it is."""
    start = text.lstrip()
    value: Json = None
    if start.startswith("["):
        try:
            value = parse_json(text)
        except JsonProblem:
            return text
    elif start.startswith("- role:"):
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError:
            return text
    if (
        isinstance(value, list)
        and value
        and all(isinstance(one, dict) and "role" in one for one in value)
    ):
        return value
    return text


def read_template(desk: Desk, text: str, place: Place, what: str) -> Parts | None:
    """A template's parts; None after saying, at its line, what cannot be converted."""
    try:
        return parse(text)
    except Untranslatable as error:
        desk.bad(
            Place(place.path, place.line + error.line, place.column), f"{what}: {error.message}"
        )
        return None


def variables_in(parts: Parts) -> list[Var]:
    """The variables of a template."""
    return [part for part in parts if isinstance(part, Var)]


def chosen(desk: Desk, found: list[Prompt], wanted: str | None, node: Node) -> Prompt | None:
    """The one prompt of a suite: the only one, or the one that `--prompt` names."""
    listed = "; ".join(
        f"{number}: {' '.join(one.label.split())[:50]}" for number, one in enumerate(found, 1)
    )
    if wanted is None and len(found) == 1:
        return found[0]
    fits = [one for number, one in enumerate(found, 1) if wanted in (str(number), one.label)]
    if len(fits) == 1:
        return fits[0]
    if not found:
        desk.bad(node.place, "there is no prompt, or none that this provider takes; expected one")
    else:
        why = (
            f"there are {len(found)} prompts, and a suite has one system under test"
            if wanted is None
            else f"--prompt {wanted!r} names {'several' if fits else 'none'}"
        )
        desk.bad(node.place, f"{why}; choose with --prompt by number or label ({listed})")
    return None
