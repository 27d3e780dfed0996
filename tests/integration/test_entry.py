"""The entry point in a process of its own: signals (B128), streams and code pages (B41)."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.processes import environment

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import sys
from releasecheck.__main__ import main
def run(arguments):
{body}
sys.exit(main([], load=lambda: run))
"""
PRINT_A_LOT = "    for n in range(20_000): print('line', n)\n"


def command(body: str) -> list[str]:
    return [sys.executable, "-c", PROGRAM.format(body=body)]


def test_main__closed_pipe_keeps_the_code_and_carries_the_run_through() -> None:
    """`releasecheck run | head -1` neither stops the run nor turns `block` into success."""
    body = PRINT_A_LOT + "    sys.stderr.write('carried through'); return 1"
    with subprocess.Popen(command(body), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b"carried through"
    assert process.returncode == 1


@pytest.mark.parametrize(("code", "expected"), [(0, 4), (1, 1), (2, 2)])
def test_main__unwritable_output_is_no_success(code: int, expected: int, tmp_path: Path) -> None:
    (tmp_path / "read-only").touch()
    with (tmp_path / "read-only").open("rb") as nowhere:  # as a full disk would, its write fails
        done = subprocess.run(
            command(f"    print('verdict'); return {code}"),
            stdout=nowhere,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == expected
    assert b"could not write all of the output" in done.stderr


@pytest.mark.parametrize(
    "settings",
    [
        {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"},
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "ascii:strict"},
    ],
    ids=str,
)
def test_main__streams_are_utf8_under_any_locale(settings: dict[str, str]) -> None:
    """B41: reporting an error must not raise another."""
    body = (
        "    from releasecheck.errors import UsageError\n"
        "    print('\\u2705 \\u4f60 \\ud83d')\n"
        "    raise UsageError('\\u2705 \\u4f60 \\ud83d')"
    )
    done = subprocess.run(
        command(body), capture_output=True, check=False, env=environment(**settings)
    )
    assert done.stdout.split() == ["✅".encode(), "你".encode(), rb"\ud83d"]
    assert done.stderr.split() == [b"releasecheck:", "✅".encode(), "你".encode(), rb"\u{d83d}"]
    assert done.returncode == 3


def test_main__debug_shows_the_traceback() -> None:
    done = subprocess.run(
        command("    raise ValueError('details')"),
        capture_output=True,
        text=True,
        check=False,
        env=environment(RELEASECHECK_DEBUG="1"),
    )
    assert "ValueError: details" in done.stderr
    assert done.returncode == 4


def test_main__users_modules_are_not_taken_for_ours(tmp_path: Path) -> None:
    """`python -m` puts the working directory first on the path; a failed import would exit 1."""
    for name in ("click.py", "signal.py", "select.py", "yaml.py"):
        (tmp_path / name).write_text("raise SystemExit(1)\n")
    done = subprocess.run(
        [sys.executable, "-m", "releasecheck", "--help"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "releasecheck" in done.stdout


def test_main__broken_installation_is_4(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import no_such_module\n")
    done = subprocess.run(
        [sys.executable, "-m", "releasecheck", "--help"],
        capture_output=True,
        text=True,
        check=False,
        env=environment(PYTHONPATH=str(tmp_path)),
    )
    assert done.returncode == 4
    assert "no_such_module" in done.stderr


UNIGNORED = """\
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""A shell cannot take back that a signal is ignored; a program can."""


if sys.platform != "win32":  # Windows has none of these signals, shells and descriptors

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_main__signals_interrupt_alike(number: signal.Signals) -> None:
        """B128."""
        # Short sleeps: a signal that comes just before a pause would not end it.
        body = "    import time; print('ready', flush=True)\n    while True: time.sleep(0.05)"
        # Whoever runs the tests may have told them to ignore a hang-up; a program inherits that.
        default = [sys.executable, "-c", UNIGNORED, *command(body)]
        with subprocess.Popen(default, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.readline()
            process.send_signal(number)
            assert b"interrupted" in process.stderr.read()
        assert process.returncode == 130

    def test_main__nohup_stays_in_force() -> None:
        body = "    import signal; return 5 * (signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)"
        shell = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *command(body)]
        assert subprocess.run(shell, check=False).returncode == 5

    def test_main__closed_descriptors_are_not_given_to_files(tmp_path: Path) -> None:
        """Else the ledger becomes file number 1 and whatever is printed lands in it."""
        body = (
            f"    with open({str(tmp_path / 'ledger')!r}, 'w') as file:\n"
            "        import os; os.write(1, b'stray'); print('stray', flush=True)\n"
            "        sys.stderr.write('stray'); return 1 if file.fileno() > 2 else 3"
        )
        shell = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command(body)]
        assert subprocess.run(shell, check=False).returncode == 1
        assert (tmp_path / "ledger").read_text() == ""

    def test_main__output_waits_for_a_slow_reader() -> None:
        """Node and CI runners hand out non-blocking pipes; a full one is no failure."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        with subprocess.Popen(command(PRINT_A_LOT + "    return 0"), stdout=writer) as process:
            while select.select([], [writer], [], 0)[1]:  # until the pipe is full
                time.sleep(0.01)
            os.close(writer)
            with os.fdopen(reader, "rb") as output:
                lines = output.read().splitlines()
        assert process.returncode == 0
        assert lines[-1] == b"line 19999"
        assert len(lines) == 20_000
