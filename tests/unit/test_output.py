"""What commands print: wrapped and coloured on a terminal, whole sentences elsewhere, never a control sequence."""

from __future__ import annotations

import contextlib
import io
import re

import pytest
from rich.cells import cell_len
from typing_extensions import override

from releasecheck.cli.output import WIDTH, note, say, table

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = "\x1b[2Jgone \u202eevil\u2066 \x07 ::error::x \r::warning::y\nsecond line"
SENTENCE = "  quality: " + "a mean of 0.5 over 20 cases is below 0.8, " * 6 + "and that is that"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    @override
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    for name, value in {"COLUMNS": "80", "LINES": "40", "TERM": "xterm-256color"}.items():
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    return Terminal()


def test_say__in_a_pipe__leaves_a_sentence_whole(capsys: pytest.CaptureFixture[str]) -> None:
    say(SENTENCE, "bad")
    assert capsys.readouterr().out == SENTENCE + "\n"


def test_say__on_a_terminal__wraps_and_hangs(terminal: Terminal) -> None:
    with contextlib.redirect_stdout(terminal):
        say(SENTENCE, "bad")
    shown = COLOUR.sub("", terminal.getvalue())
    first, *rest = shown.splitlines()
    assert max(map(cell_len, shown.splitlines())) <= 80
    assert first.startswith("  quality: ")
    assert all(re.match(r" {4}\S", line) for line in rest)
    assert " ".join(shown.split()) == " ".join(SENTENCE.split())
    assert "\x1b[1;31m" in terminal.getvalue()


def test_say__a_label__goes_on_under_itself(terminal: Terminal) -> None:
    with contextlib.redirect_stdout(terminal):
        say("power     " + "sees a drop of 0.1 or more, " * 5)
    assert all(re.match(r" {10}\S", line) for line in terminal.getvalue().splitlines()[1:])


def test_say__no_color__is_plain(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contract, section 2: no colour when not a TTY or with NO_COLOR."""
    monkeypatch.setenv("NO_COLOR", "1")
    with contextlib.redirect_stdout(terminal):
        say("block: measured, and a gate blocked", "bad")
        table([("block", "quality")], ["bad"])
    assert "\x1b" not in terminal.getvalue()


def test_say__force_color_in_a_pipe__is_plain(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    say("block", "bad")
    note("note: x")
    table([("block", "quality")], ["bad"])
    assert "\x1b" not in "".join(capsys.readouterr())


@pytest.mark.parametrize("tty", [True, False])
def test_lines__hostile_text__is_one_harmless_line(terminal: Terminal, tty: bool) -> None:
    """B115: no text of others clears a screen, turns a line round or becomes a workflow command."""
    stream = terminal if tty else io.StringIO()
    with contextlib.redirect_stdout(stream):
        say(HOSTILE)
        table([(HOSTILE, HOSTILE), ("::error::x", "[bold]not ours[/bold] :smile:")])
    shown = COLOUR.sub("", stream.getvalue())
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", shown)
    assert not any(re.match(r"\s*::", line) for line in shown.splitlines())
    assert "[bold]not ours[/bold] :smile:" in " ".join(shown.split())


def test_table__fits_80_columns_in_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    """Long names are wrapped inside of their cells; nothing is cut off, and nothing trails."""
    long = "a-gate-whose-name-is-as-long-as-names-may-be-and-then-no-longer"
    rule = "no significant regression beyond 0.02 against the anchor, at most 3 new failures"
    table(
        [
            ("blocked_missing", long, rule, "0.875", "was 0.9167"),
            ("pass", "q", "mean >= 1", "1", ""),
        ]
    )
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert all(line == line.rstrip() for line in lines)
    squeezed = "".join("".join(lines).split())
    assert all(part in squeezed for part in ("blocked_missing", "0.875", "pass"))
    assert len(squeezed) == len(
        "".join(("blocked_missing" + long + rule + "0.875was 0.9167passqmean >= 11").split())
    )


def test_table__wide_letters__are_counted_by_their_width(terminal: Terminal) -> None:
    with contextlib.redirect_stdout(terminal):
        table([("日本語" * 20, "値" * 40)])
    assert max(map(cell_len, terminal.getvalue().splitlines())) <= 80


def test_table__of_nothing__is_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    table([])
    assert capsys.readouterr().out.strip() == ""
