"""Markdown of the generated pages: tables, and texts of the code as prose."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SPECIAL: Final = re.compile(r"[*_<>\[\]{}]")

NOTE: Final = "Made from the code by `make reference`; edits belong there."


def prose(text: str) -> str:
    """A text of the code, in one line, whose stars, brackets and the like are read as they stand.

    What stands between backticks is code and left alone.
    """
    parts = " ".join(text.split()).split("`")
    return "`".join(
        part if number % 2 else _SPECIAL.sub(lambda found: "\\" + found[0], part)
        for number, part in enumerate(parts)
    )


def cell(text: str) -> str:
    """A text for a cell of a table, where a bar ends the cell even in code."""
    return text.replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts that are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(cell(text) for text in line).rstrip() + " |" for line in lines
    )


def page(title: str, *parts: str) -> str:
    """A page: its title, what made it, and its parts with a blank line between them."""
    return "\n\n".join([f"# {title}", *[part for part in parts if part], NOTE]) + "\n"


def fence(language: str, text: str) -> str:
    """A block of code."""
    return f"```{language}\n{text.strip()}\n```"
