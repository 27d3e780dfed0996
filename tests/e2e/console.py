"""The `console` blocks of a page, as commands that a test can run in one shell after another.

A page says what its commands stand on in a comment: `<!-- tested with: starter, baseline -->`, names of
`tests.e2e.stages`; one further down makes a new folder for the commands below it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_EXIT = re.compile(r"\[exit (\d+)\]")
_WRAPPED = 10
_NEEDS = re.compile(r"<!-- tested with: ([a-z0-9-]+(?:, [a-z0-9-]+)*) -->")


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a page, with what the page says about it."""

    script: str
    """The command, with the lines of its here-document."""
    exit_code: int
    """0 unless the page says `[exit N]` below it."""
    output: tuple[str, ...]
    """Lines the page shows below it; `...` stands for any text."""
    line: int
    """1-based line on the page."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Commands of a page that run in one folder, in their order."""

    needs: tuple[str, ...]
    """What is there before the first of them."""
    commands: tuple[Command, ...]


def read_commands(page: Path) -> list[Command]:
    """Every command in the `console` blocks of `page`, in order."""
    return [command for scene in read_scenes(page) for command in scene.commands]


def read_scenes(page: Path) -> list[Scene]:
    """The commands in the `console` blocks of `page`, by what they stand on."""
    scenes: list[tuple[tuple[str, ...], list[Command]]] = [((), [])]
    inside, margin = False, ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if line.lstrip().startswith("```"):
            inside, margin = line.strip() == "```console", line.partition("`")[0]
        elif inside:
            _take(scenes[-1][1], line.removeprefix(margin), number)
        elif found := _NEEDS.fullmatch(line):
            scenes.append((tuple(found[1].split(", ")), []))
    return [Scene(needs, tuple(commands)) for needs, commands in scenes if commands]


def _take(commands: list[Command], line: str, number: int) -> None:
    if line.startswith("$ "):
        commands.append(Command(line[2:], 0, (), number))
        return
    last = commands.pop()
    script, code, output = last.script, last.exit_code, last.output
    if line == ">" or line.startswith("> "):
        script += "\n" + line[2:]
    elif found := _EXIT.fullmatch(line):
        code = int(found[1])
    else:
        output = (*output, line)
    commands.append(Command(script, code, output, last.line))


def shows(expected: tuple[str, ...], actual: str) -> bool:
    """Whether every expected line stands in `actual`, in order; `...` is any text, in a line too.

    A line after exactly ten spaces goes on the one before, which a page wraps and the program does not.
    """
    lines = iter(actual.splitlines())
    whole = re.sub(rf"\n {{{_WRAPPED}}}(?=\S)", " ", "\n".join(expected)).split("\n")
    wanted = [line.strip() for line in whole if line.strip() not in {"", "..."}]
    patterns = [".*".join(re.escape(part) for part in line.split("...")) for line in wanted]
    return all(any(re.fullmatch(pattern, line.strip()) for line in lines) for pattern in patterns)
