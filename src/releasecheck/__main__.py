"""The entry point: every way to end becomes one of the exit codes that callers rely on.

Nothing but the standard library's core is imported before the guard is up, because a failed import
would make Python exit 1, and 1 means "measured, and a gate blocked" and nothing else.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType, TracebackType

    Run = Callable[[list[str]], int]
    """Carries out a command line and returns its exit code, or raises."""

USAGE: Final = 3
UNTRUSTED: Final = 4
INTERRUPTED: Final = 130
RETURNED: Final = frozenset({0, 1, 2, 3, 4, 5, INTERRUPTED})
EXITED: Final = RETURNED - {0, 1}
"""What a `SystemExit` may say. A success or a blocked gate is returned, never thrown."""


def main(argv: Sequence[str] | None = None, load: Callable[[], Run] | None = None) -> int:
    """Run the command line `argv` (default: the process's own) and return its exit code.

    `load` imports and returns the command line's implementation.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        from releasecheck.stdio import steady_streams

        files = steady_streams()
        code = _guarded(arguments, load or _load_cli)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        lost = next((file.lost for file in files if file.lost), None)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BaseException as error:  # noqa: BLE001 - the guard itself failed; say so as plainly as can be
        os.write(2, f"releasecheck: internal error: {type(error).__name__}\n".encode())
        return UNTRUSTED
    if lost:
        _say(f"could not write all of the output: {lost}")
        return code or UNTRUSTED
    return code


def _load_cli() -> Run:
    from releasecheck.cli import carry_out

    return carry_out


def _guarded(arguments: list[str], load: Callable[[], Run]) -> int:
    try:
        _treat_termination_as_interrupt()
        if arguments == ["--version"]:
            from releasecheck.assets import VERSION

            sys.stdout.write(f"releasecheck {VERSION}\n")
            return 0
        return _checked(load()(arguments))
    except KeyboardInterrupt:
        _say("interrupted; what was recorded is on disk")
        return INTERRUPTED
    except BaseException as error:  # noqa: BLE001 - that is what this place is for
        if os.environ.get("RELEASECHECK_DEBUG") == "1":
            import traceback

            traceback.print_exception(error)
        return max(_code_of(leaf) for leaf in _leaves(error))  # 130 before 4 before 3


def _treat_termination_as_interrupt() -> None:
    """Let SIGTERM and SIGHUP do what Ctrl-C does, unless whoever started us had them ignored."""
    import signal

    def interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, interrupt)


def _checked(code: object) -> int:
    if type(code) is int and code in RETURNED:
        return code
    _say(
        f"internal error: the command ended with {code!r}, which is no exit code. Please report it."
    )
    return UNTRUSTED


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors of a group, or the one error."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _code_of(error: BaseException) -> int:
    """Say what ended the command, on stderr, and return its exit code."""
    from releasecheck.errors import ReleaseCheckError

    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, ReleaseCheckError):
        _say(str(error))
        return error.exit_code
    if isinstance(error, SystemExit) and error.code in EXITED and type(error.code) is int:
        return error.code
    usage = _usage_code(error)
    if usage is not None:
        return usage
    _say(_internal(error))
    return UNTRUSTED


def _usage_code(error: BaseException) -> int | None:
    """Exit code of an error that click raised about the command line, which it shows; else None."""
    if "click" not in sys.modules:
        return None
    import click

    if isinstance(error, click.Abort):
        _say("interrupted")
        return INTERRUPTED
    if isinstance(error, click.ClickException):
        error.show()
        return USAGE
    return None


def _internal(error: BaseException) -> str:
    """One paragraph for a report. It quotes no message of a stranger: that may hold a secret."""
    if isinstance(error, ImportError) and error.name:
        what = f"{type(error).__name__} for module {error.name!r}; is the installation complete?"
    elif isinstance(error, OSError) and error.strerror:
        what = f"{type(error).__name__}: {error.strerror}"
        what += f": {error.filename}" if error.filename else ""
    else:
        what = type(error).__name__
    return (
        f"internal error: {what} (at {_place(error.__traceback__)}). No verdict follows from this. "
        "Please report it; RELEASECHECK_DEBUG=1 shows the whole traceback, which may quote values of "
        "your variables."
    )


def _place(traceback: TracebackType | None) -> str:
    """Innermost line of ours in `traceback`, else the innermost line."""
    ours = last = "unknown place"
    while traceback is not None:
        code = traceback.tb_frame.f_code
        last = f"{code.co_filename}:{traceback.tb_lineno}"
        if code.co_filename.startswith(os.path.dirname(__file__)):  # noqa: PTH120 - pathlib may be what broke
            ours = last
        traceback = traceback.tb_next
    return last if ours == "unknown place" else ours


def _say(message: str) -> None:
    """Print a message that may quote others: no line of it may become a command of a build runner."""
    from releasecheck.scorecard.escape import terminal_line

    lines = f"releasecheck: {message}".split("\n")
    sys.stderr.write("".join(f"{terminal_line(line)}\n" for line in lines))


if __name__ == "__main__":
    # `python -m` puts the working directory first: a user's click.py must not be taken for ours.
    if sys.path[0] == os.getcwd() != os.path.dirname(os.path.dirname(os.path.abspath(__file__))):  # noqa: PTH109, PTH100, PTH120
        del sys.path[0]
    sys.exit(main())
