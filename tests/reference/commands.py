"""`docs/reference/commands.md`: every command with its arguments and options, from click itself."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Final

import click

from releasecheck import errors
from releasecheck.cli import COMMANDS, group
from releasecheck.model.scorecard import EXIT_CODES, OUTCOMES
from tests.reference.markdown import fence, page, prose, table

if TYPE_CHECKING:
    from collections.abc import Iterator

INTRODUCTION: Final = """
What `releasecheck COMMAND --help` says, for every command. The guide is [Commands](../cli.md). `--help` and `-h` are
options of each of them, `--version` of the program itself.
"""
_NAMES: Final = {
    "text": "text",
    "integer": "whole number",
    "float": "number",
    "duration": "duration",
    "N|auto": "whole number or `auto`",
}
"""Types of values in words; one that is not here fails the making of the page."""


def leaves(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that does something, with the words that call it."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        if inner is None:
            message = f"{name} is listed and is no command"
            raise ValueError(message)
        yield from leaves(inner, (*path, name))


def _usage(path: tuple[str, ...], command: click.Command) -> str:
    context = click.Context(command, info_name=" ".join(("releasecheck", *path)))
    return " ".join([context.command_path, *command.collect_usage_pieces(context)])


def _help(path: tuple[str, ...], command: click.Command) -> Iterator[str]:
    if not command.help:
        message = f"{' '.join(path)} has no help"
        raise ValueError(message)
    for paragraph in inspect.cleandoc(command.help).split("\n\n"):
        yield prose(paragraph.replace("\b", ""))


def _value(option: click.Option) -> str:
    if option.is_flag or option.count:
        return ""
    kind = option.type
    if isinstance(kind, click.Choice):
        return " or ".join(f"`{one}`" for one in kind.choices)
    if option.metavar:
        return f"`{option.metavar}`"
    if isinstance(kind, click.IntRange):
        known = (("at least", kind.min), ("at most", kind.max))
        ends = [f"{words} {end}" for words, end in known if end is not None]
        return ", ".join(["whole number", *ends])
    if isinstance(kind, click.Path):
        return "folder" if not kind.file_okay else "path"
    return _NAMES[kind.name]


def _default(option: click.Option) -> str:
    if option.required:
        return "required"
    if option.is_flag or option.default in (None, ()) or "UNSET" in repr(option.default):
        return ""
    return f"`{option.default}`"


def _options(path: tuple[str, ...], command: click.Command) -> Iterator[tuple[str, ...]]:
    for option in command.params:
        if not isinstance(option, click.Option):
            continue
        if not option.help:
            message = f"{' '.join(path)} {option.opts[0]} has no help"
            raise ValueError(message)
        names = ", ".join(f"`{name}`" for name in option.opts)
        again = " May be given several times." if option.multiple else ""
        yield names, _value(option), _default(option), prose(option.help) + again


def _codes() -> str:
    """Exit codes, from the errors and verdicts that end in them."""
    errs: dict[int, list[str]] = {}
    for error in vars(errors).values():
        if inspect.isclass(error) and issubclass(error, errors.ReleaseCheckError):
            said = (error.__doc__ or "").partition(";")[0].partition("\n")[0].rstrip(".")
            said = said[:1].lower() + said[1:]
            if error in {errors.UsageError, errors.Untrusted, errors.InfrastructureError, errors.Interrupted}:  # fmt: skip
                errs.setdefault(error.exit_code, []).append(said)
    rows = []
    for code in sorted({*EXIT_CODES.values(), *errs, 5}):
        verdicts = [f"`{one}`" for one in OUTCOMES if EXIT_CODES[one] == code]
        parts = [f"verdict {', '.join(verdicts)}"] if verdicts else []
        parts += ["or the command did what it says"] if code == 0 else []
        parts += ["still waiting for scores"] if code == 5 else []
        rows.append((str(code), prose("; ".join([*parts, *errs.get(code, [])]))))
    return table(("exit code", "when"), rows)


def _parts() -> Iterator[str]:
    yield INTRODUCTION.strip()
    yield table(
        ("command", "what it does"),
        ((_linked(name), prose(words)) for name, words in COMMANDS.items()),
    )
    yield "## Exit codes"
    yield "More in [Exit codes](../exit-codes.md); a command that ends in others says so itself."
    yield _codes()
    for path, command in leaves(group):
        yield f"## {' '.join(path)}"
        yield fence("text", _usage(path, command))
        yield from _help(path, command)
        rows = list(_options(path, command))
        if rows:
            yield table(("option", "value", "default", "meaning"), rows)


def _linked(name: str) -> str:
    """A command that leads to its own section, or to the first one of its parts."""
    parts = ["-".join(path) for path, _ in leaves(group) if path[0] == name]
    return f"[{name}](#{parts[0]})" if parts else name


def commands_page() -> str:
    """The page."""
    return page("Command reference", *_parts())
