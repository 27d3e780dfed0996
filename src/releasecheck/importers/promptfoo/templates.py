"""Nunjucks templates as far as they mean the same in Jinja2: variables, and three filters.

What is written otherwise (`{% if %}`, comments, calculations, other filters) is refused: the two languages
differ in what is true, what is undefined and how a value becomes a text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from releasecheck.canonical import Json

_TAG: Final = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_OPEN: Final = re.compile(r"\{\{|\{%|\{#")
_NAME: Final = r"[A-Za-z_$][\w$]*"
_PATH: Final = re.compile(rf"({_NAME})((?:\.[\w$]+|\[\d+\]|\['[^'\]]+'\]|\[\"[^\"\]]+\"\])*)$")
_STEP: Final = re.compile(r"\.([\w$]+)|\[(\d+)\]|\['([^'\]]+)'\]|\[\"([^\"\]]+)\"\]")
_FILTERS: Final[Mapping[str, Callable[[str], str]]] = {
    "upper": str.upper, "lower": str.lower, "trim": str.strip, "safe": str,
}  # fmt: skip


class Untranslatable(Exception):
    """A template that would mean something else here; `line` is the one in the text, from 0."""

    def __init__(self, message: str, line: int) -> None:
        self.message, self.line = message, line
        super().__init__(message)


class Unset(Exception):
    """A variable that the test does not set."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)


@dataclass(frozen=True, slots=True)
class Var:
    """One `{{ name.part | filter }}`."""

    path: tuple[str | int, ...]
    filters: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As it would be written."""
        return ".".join(map(str, self.path))


Parts: TypeAlias = tuple[str | Var, ...]


def parse(text: str) -> Parts:
    """The texts and variables of a template, in their order.

    Raises:
        Untranslatable: something else stands in it.
    """
    if "{{" not in text and "{%" not in text and "{#" not in text:
        return (text,) if text else ()
    parts: list[str | Var] = []
    at = 0
    for tag in _TAG.finditer(text):
        _closed(text, at, tag.start())
        if tag.start() > at:
            parts.append(text[at : tag.start()])
        parts.append(_variable(text, tag))
        at = tag.end()
    _closed(text, at, len(text))
    if at < len(text):
        parts.append(text[at:])
    return tuple(parts)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at)


def _closed(text: str, start: int, end: int) -> None:
    opened = _OPEN.search(text, start, end)
    if opened is not None:
        message = f"`{opened[0]}` is never closed"
        raise Untranslatable(message, _line(text, opened.start()))


def _variable(text: str, tag: re.Match[str]) -> Var:
    line, shown = _line(text, tag.start()), " ".join(tag[0].split())[:80]
    if not tag[0].startswith("{{"):
        message = (
            f"`{shown}` is a statement of nunjucks; only variables, `{{{{ name }}}}`, are converted"
        )
        raise Untranslatable(message, line)
    path, *filters = (part.strip() for part in tag[0][2:-2].split("|"))
    found = _PATH.fullmatch(path)
    if found is None:
        message = f"`{shown}` calculates, or is no variable; only `{{{{ name }}}}` and `{{{{ name.part }}}}` are converted"
        raise Untranslatable(message, line)
    strange = [name for name in filters if name not in _FILTERS]
    if strange:
        message = f"`{shown}`: the filter {strange[0]!r} is not converted; those that mean the same are {', '.join(_FILTERS)}"
        raise Untranslatable(message, line)
    steps: list[str | int] = [found[1]]
    for step in _STEP.finditer(found[2]):
        name = step[1] or step[3] or step[4]
        steps.append(int(step[2]) if name is None else name)
    return Var(tuple(steps), tuple(name for name in filters if name != "safe"))


def look_up(var: Var, values: Mapping[str, Json]) -> Json:
    """The value of a variable.

    Raises:
        Unset: there is none.
    """
    value: Json = values
    for step in var.path:
        if isinstance(step, int) and isinstance(value, list) and step < len(value):
            value = value[step]
        elif isinstance(value, Mapping) and step in value:
            value = value[str(step)]
        else:
            raise Unset(var.name)
    return value


def as_text(value: Json) -> str:
    """A value as JavaScript writes it into a text; objects as JSON, which promptfoo does."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def render(parts: Parts, values: Mapping[str, Json]) -> str:
    """The text that a template gives for a test.

    Raises:
        Unset: the test does not set a variable of it.
    """
    return "".join(
        part if isinstance(part, str) else _filtered(part, as_text(look_up(part, values)))
        for part in parts
    )


def _filtered(var: Var, text: str) -> str:
    for name in var.filters:
        text = _FILTERS[name](text)
    return text


def as_jinja(parts: Parts, root: str, json_names: frozenset[str] = frozenset()) -> str:
    """The same as a template of a target; variables are below `root`, those of `json_names` written as JSON."""
    return "".join(
        part.replace("${", "$${") if isinstance(part, str) else _jinja(part, root, json_names)
        for part in parts
    )


def _jinja(var: Var, root: str, json_names: frozenset[str]) -> str:
    if var.path[0] == "env" and len(var.path) == 2:
        return f"${{{var.path[1]}}}"
    text = root
    for step in var.path:
        # A dot would find a method of the mapping first: `input.items`.
        plain_name = isinstance(step, str) and step.isidentifier()
        if plain_name and not hasattr(dict, str(step)) and not str(step).startswith("_"):
            text += f".{step}"
        else:
            text += f"[{step!r}]"
    filters = (*var.filters, *(("tojson",) if var.name in json_names else ()))
    return "{{ " + " | ".join((text, *filters)) + " }}"
