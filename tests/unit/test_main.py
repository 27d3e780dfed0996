"""The entry point turns every way to end into an exit code (contract section 2)."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import click
import pytest

from releasecheck.__main__ import main
from releasecheck.errors import CorruptLedger, Interrupted, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]

CASES: list[tuple[object, int]] = [
    *[(code, code) for code in (0, 1, 2, 3, 4, 5, 130)],
    (None, 4),  # a command that forgot to say how it ended has not succeeded
    (True, 4),
    (6, 4),
    ("0", 4),
    (UsageError("no such file"), 3),
    (CorruptLedger("line 7"), 4),
    (Interrupted("stopped"), 130),
    (click.UsageError("no such option"), 3),
    (click.FileError("x.yaml"), 3),
    (click.Abort(), 130),
    (KeyboardInterrupt(), 130),
    (SystemExit(0), 4),  # thrown by somebody else's code: proves nothing
    (SystemExit(1), 4),
    (SystemExit(None), 4),
    (SystemExit("text"), 4),
    (SystemExit(True), 4),
    (SystemExit(3), 3),
    (SystemExit(130), 130),
    (ImportError("no", name="numpy"), 4),
    (AssertionError("a bug"), 4),
    (MemoryError(), 4),
    (RecursionError(), 4),
    (GeneratorExit(), 4),
    (OSError(28, "No space left on device", "out/x"), 4),
    (BrokenPipeError(32, "Broken pipe"), 4),  # not of stdout: that one never raises
    (BaseExceptionGroup("tasks", [UsageError("a"), KeyboardInterrupt()]), 130),
    (ExceptionGroup("tasks", [UsageError("a"), ExceptionGroup("in", [CorruptLedger("b")])]), 4),
    (ExceptionGroup("tasks", [UsageError("a")]), 3),
]


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def ending_with(ending: object) -> Callable[[], Any]:
    def run(arguments: list[str]) -> object:
        assert arguments == ["run", "x.yaml"]
        if isinstance(ending, BaseException):
            raise ending
        return ending

    return lambda: run


@pytest.mark.parametrize(("ending", "code"), CASES, ids=repr)
def test_main__every_ending_has_its_code(ending: object, code: int) -> None:
    assert main(["run", "x.yaml"], load=ending_with(ending)) == code


@pytest.mark.parametrize("error", [ImportError("half", name="yaml"), SyntaxError("bad file")])
def test_main__implementation_that_cannot_be_loaded_is_4(error: Exception) -> None:
    def load() -> Any:
        raise error

    assert main(["run"], load=load) == 4


def test_main__error_of_ours_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", "x.yaml"], load=ending_with(UsageError("a.yaml:3: no such judge")))
    assert capsys.readouterr().err == "releasecheck: a.yaml:3: no such judge\n"


def test_main__group_names_each_error(capsys: pytest.CaptureFixture[str]) -> None:
    group = ExceptionGroup("tasks", [UsageError("one"), UsageError("two")])
    main(["run", "x.yaml"], load=ending_with(group))
    assert capsys.readouterr().err == "releasecheck: one\nreleasecheck: two\n"


def test_main__foreign_message_is_not_quoted(capsys: pytest.CaptureFixture[str]) -> None:
    """It may hold a secret (canary rule): type and place are enough for a report."""
    main(["run", "x.yaml"], load=ending_with(ValueError("https://user:canary-7f@host")))
    shown = capsys.readouterr().err
    assert "canary" not in shown
    assert "ValueError" in shown
    assert "__main__.py:" in shown
    assert "report" in shown


def test_main__version_needs_no_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    def load() -> Any:
        raise AssertionError

    assert main(["--version"], load=load) == 0
    assert capsys.readouterr().out == "releasecheck 0.1.0\n"
