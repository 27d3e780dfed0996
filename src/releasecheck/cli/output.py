"""What commands print: a report for people, or one JSON document; untrusted text always escaped.

On a terminal, lines are wrapped to its width and colours say what the words say too. In a pipe or a build log
every sentence stays one line, so that it can be searched, and tables fit 80 columns.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Final, TextIO

from releasecheck.canonical import dump_document
from releasecheck.scorecard.escape import no_command, terminal_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from releasecheck.canonical import Json
    from releasecheck.errors import Problem

WIDTH: Final = 80
"""Columns of a table where nobody says how wide the page is."""
STYLES: Final = {
    "good": "green", "bad": "bold red", "warn": "yellow", "wait": "cyan", "neutral": "cyan",
    "strong": "bold", "quiet": "dim",
}  # fmt: skip
"""Names of styles, and how they look on a terminal."""
_LABEL: Final = re.compile(r" *\S{1,16} {2,16}(?=\S)")
"""`judge     topic`: what follows goes on under itself."""


def say(text: str = "", style: str = "") -> None:
    """One line of the report, on stdout; `style` is one of `STYLES`."""
    _line(sys.stdout, text, style)


def note(text: str) -> None:
    """One line beside the report, on stderr."""
    _line(sys.stderr, text, "quiet")


def table(rows: Iterable[Sequence[str]], styles: Sequence[str] = ()) -> None:
    """Rows under each other on stdout, their columns aligned; a cell too wide for its column is wrapped.

    Args:
        rows: Cells, as many in each row.
        styles: One of `STYLES` for each row's first cell, or empty.
    """
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2, 0, 0))
    cells = [[terminal_line(cell) for cell in row] for row in rows]
    for number in range(len(cells[0]) if cells else 0):
        short = max(len(row[number]) for row in cells) <= 20
        grid.add_column(no_wrap=short, overflow="fold")
    for number, row in enumerate(cells):
        first = STYLES.get(styles[number], "") if styles else ""
        grid.add_row(*(Text(cell, first if not at else "") for at, cell in enumerate(row)))
    console = _console(sys.stdout)
    with console.capture() as captured:
        console.print(Padding(grid, (0, 0, 0, 2)))
    lines = captured.get().split("\n")
    # A wrapped cell may begin anywhere, and a build log takes what begins with :: for a command.
    sys.stdout.write("\n".join(no_command(line.rstrip()) for line in lines))


def _line(stream: TextIO, text: str, style: str) -> None:
    line = terminal_line(text)
    if not line or not stream.isatty():
        stream.write(line + "\n")
        return
    from rich.text import Text

    console = _console(stream)
    indent = len(line) - len(line.lstrip(" "))
    label = _LABEL.match(line)
    hanging = len(label[0]) if label else min(indent + 2, console.width // 2)
    words = Text(line.lstrip(" "), STYLES.get(style, ""))
    lines = words.wrap(console, max(console.width - hanging, 20))
    for number, part in enumerate(lines):
        part.rstrip()
        console.print(Text(" " * (hanging if number else indent)) + part, soft_wrap=True)


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    tty = stream.isatty()
    return Console(
        file=stream,
        width=None if tty else WIDTH,
        force_terminal=tty,
        color_system="standard" if tty and not os.environ.get("NO_COLOR") else None,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
    )


def document(value: Json) -> None:
    """The report as one JSON document, on stdout."""
    sys.stdout.write(dump_document(value).decode("utf-8"))


def notes(problems: tuple[Problem, ...]) -> None:
    """What is legal and perhaps not meant."""
    for problem in problems:
        note(f"note: {problem}")
