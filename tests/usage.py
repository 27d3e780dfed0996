"""Command lines of the docs, read as click reads them, without carrying them out."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import click

from releasecheck.cli import group

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLACEHOLDER = re.compile(r"[A-Z][A-Z0-9_]*|.*(?:\$\{|\{\{|\$[A-Z(]|<[a-z]).*|N")
"""A value that stands for another one: `CONFIG`, `${{ inputs.config }}`, `<folder>`."""
_OPTIONAL = re.compile(r"\[([^\[\]]*)\](?:\.\.\.)?")
_ENDS = re.compile(r"\s(?:\||\|\||&&|>|>>|2>|2>&1|;|&)(?:\s|$)|\s#\s|\s\d?>|;(?:\s|$)|\s*\|\|")


_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_OURS = re.compile(r"(?:^|(?<=[\s;&|(\"'`]))releasecheck (?=[\[a-zA-Z-]).*")
_INDENTED = "    "


@dataclass(frozen=True, slots=True)
class Shown:
    """A command line of ours that a page shows."""

    line: int
    """1-based line on the page."""
    text: str
    language: str
    """Of the block it stands in; empty for code inside of a sentence, and for indented code."""


def shown(page: str) -> Iterator[Shown]:
    """Every line of a page, in a block or a sentence, that calls the program; `console` shows output too."""
    language: str | None = None
    for number, line in enumerate(page.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            language = line.strip()[3:] if language is None else None
            continue
        if language is None and not line.startswith(_INDENTED):
            spans = [span for span in _CODE.findall(line) if span.startswith("releasecheck ")]
            yield from (Shown(number, span, "") for span in spans)
            continue
        if language == "console" and not line.lstrip().startswith(("$ ", "> ")):
            continue
        found = _OURS.search(line.split(" # ")[0])
        if found and not line.lstrip().startswith("#"):
            yield Shown(number, found[0].rstrip("\\"), language or "")


def problem(line: str) -> str | None:
    """What click would say against a line that begins with `releasecheck`; None when it would begin.

    A line of a manual is read as one: `[x]` is there, of `a|b` each is tried, `...` leaves out what is of
    no interest.
    """
    line = re.sub(r"\$\{\{.*?\}\}", "${X}", line)  # an expression of GitHub is one word
    line = _ENDS.split(line, maxsplit=1)[0].strip()
    line = re.sub(r"\{([a-z|]+)\}", r"\1", line.replace("[OPTIONS]", "..."))
    try:
        words = shlex.split(_OPTIONAL.sub(r"\1", _OPTIONAL.sub(r"\1", line)))
    except ValueError as error:
        return str(error)
    for one in _alternatives(words[1:]):
        found = _against(one)
        if found is not None:
            return found
    return None


def _alternatives(words: list[str]) -> Iterator[list[str]]:
    choices = [word.split("|") if re.fullmatch(r"[A-Za-z_|-]+", word) else [word] for word in words]
    for chosen in product(*choices):
        yield list(chosen)


def _against(words: list[str]) -> str | None:
    part = "..." in words or any(word.endswith(" ...") for word in words)
    words = [
        word.removesuffix("...").removesuffix(",") for word in words if word not in {"...", "or"}
    ]
    try:
        _parse(group, words, part=part)
    except click.UsageError as error:
        return error.format_message()
    return None


def _parse(command: click.Command, words: list[str], *, part: bool) -> None:
    """Descend to the command that is meant, and have click read the rest.

    Raises:
        click.UsageError: as click itself would.
    """
    context = click.Context(command)
    if isinstance(command, click.Group):
        if not words or words[0] in {"--help", "-h", "--version"} or words[0] == "COMMAND":
            return
        if words[0].isupper():
            _parse_any(command, words[1:], context, part=part)
            return
        inner = command.get_command(context, words[0])
        if inner is None:
            message = f"there is no command {words[0]!r}"
            raise click.UsageError(message)
        _parse(inner, words[1:], part=part)
        return
    if not words or {"--help", "-h"} & set(words):
        return  # only named
    given, left, _ = command.make_parser(context).parse_args(list(words))
    if left:
        message = f"unexpected {' '.join(left)!r}"
        raise click.UsageError(message)
    for parameter in command.params:
        _check(parameter, given.get(parameter.name or ""), context, part=part)


def _parse_any(group: click.Group, words: list[str], context: click.Context, *, part: bool) -> None:
    """Of a placeholder for several commands: one of them takes the rest."""
    said = click.UsageError(f"{group.name} has no commands")
    for name in group.list_commands(context):
        try:
            _parse(group, [name, *words], part=part)
        except click.UsageError as error:
            said = error
        else:
            return
    raise said


def _check(parameter: click.Parameter, value: Any, context: click.Context, *, part: bool) -> None:
    missing = value is None or value == () or "UNSET" in repr(value)
    if missing:
        if parameter.required and not part:
            raise click.MissingParameter(ctx=context, param=parameter)
        return
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return
    for one in value if isinstance(value, list | tuple) else [value]:
        if isinstance(one, str) and not _PLACEHOLDER.fullmatch(one):
            parameter.type.convert(one, parameter, context)
