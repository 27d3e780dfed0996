"""A small XML writer: elements are balanced and escaped by construction, texts hold XML 1.0 only."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Final

from releasecheck.scorecard.escape import xml_text

if TYPE_CHECKING:
    from collections.abc import Mapping

HEAD: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'


class Xml(str):
    """Markup that is well-formed already."""

    __slots__ = ()


def text(value: str) -> Xml:
    """Character data."""
    return Xml(html.escape(xml_text(value), quote=False))


def start(name: str, attributes: Mapping[str, str]) -> Xml:
    """A start tag; line breaks and tabs in values survive the reader's normalization."""
    parts = [name]
    for key, value in attributes.items():
        escaped = html.escape(xml_text(value)).replace("\n", "&#10;").replace("\t", "&#9;")
        parts.append(f'{key}="{escaped}"')
    return Xml(f"<{' '.join(parts)}>")


def end(name: str) -> Xml:
    """An end tag."""
    return Xml(f"</{name}>")


def element(name: str, attributes: Mapping[str, str], *inside: Xml) -> Xml:
    """A whole element."""
    return Xml("".join([start(name, attributes), *inside, end(name)]))
