"""The command line: parse, one call, print, and the exit code as a value. Commands load when used."""

from __future__ import annotations

from importlib import import_module
from typing import Final

import click
from typing_extensions import override

from releasecheck.assets import VERSION
from releasecheck.errors import UsageError

COMMANDS: Final = {
    "init": "Write a starter suite that runs at once.",
    "validate": "Read config and cases as `plan` would, and say what was found.",
    "plan": "Freeze a plan: cases, target, judges, gates, baseline.",
    "shard": "Run one shard of a plan.",
    "finish": "Merge results, decide, and write the bundle.",
    "run": "Plan, run and finish in one process.",
    "resume": "Carry on a run that was interrupted or waits for scores.",
    "retry": "Redo what failed in a run, as a new run that keeps the rest.",
    "rescore": "Judge the stored outputs of a run again, without calling the target.",
    "status": "Say how far a run is.",
    "compare": "Compare runs: flipped cases and metric differences.",
    "history": "List the runs in a folder, with a trend line for each metric.",
    "badge": "Make a run's badge again, stale when the run is too old.",
    "import": "Convert a suite or a log of another tool.",
    "verify": "Recompute a bundle from itself.",
    "purge": "Forget the answers of a decided run, here and at its judges.",
    "baseline": "Show or fetch a baseline, or promote a run to be one.",
    "gate": "Try the gates on runs without a change, or find cases that change by themselves.",
    "judge": "Check or calibrate a judge, or export answers for people to judge.",
    "beat": "Find runs on GitHub that nobody finishes, and have them carried on.",
    "schema": "Print a JSON Schema.",
    "action": "One stage of the GitHub Action; called by action.yml.",
}
"""Names and one line each, so that `--help` imports none of them."""


def module_of(name: str) -> str:
    """The module of a command; `import` is no name that a module can have."""
    return f"releasecheck.cli.{'importing' if name == 'import' else name}"


class Commands(click.Group):
    """A group whose commands are imported when they are used."""

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(module_of(cmd_name)).command
        return command

    @override
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="releasecheck", message="%(prog)s %(version)s")
def group() -> None:
    """Decide whether a change to an AI system may ship.

    A gate passes only when it compared what it promised to compare. Exit codes: 0 passed or neutral,
    1 measured and blocked, 2 no verdict, 3 usage or configuration, 4 could not run or be trusted, 5 still
    waiting for scores, 130 interrupted.
    """


def carry_out(argv: list[str]) -> int:
    """Carry out a command line; returns its exit code.

    Raises:
        UsageError: the command line is wrong.
        ReleaseCheckError: as its class says.
    """
    try:
        result = group.main(args=argv, prog_name="releasecheck", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        message = f"which command?\n\n{error.format_message()}"
        raise UsageError(message) from None
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        hint = f"\nTry `{context.command_path} --help`." if context is not None else ""
        raise UsageError(error.format_message() + hint) from None
    except click.Abort:
        raise KeyboardInterrupt from None
    # `--help` and `--version` end with click's own zero; every command returns its code.
    return 0 if result is None else int(result)
