"""What commands print: a report for people, or one JSON document; untrusted text always escaped."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from releasecheck.canonical import dump_document
from releasecheck.scorecard.escape import terminal_line

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.errors import Problem


def say(text: str = "") -> None:
    """One line of the report, on stdout."""
    sys.stdout.write(terminal_line(text) + "\n")


def note(text: str) -> None:
    """One line beside the report, on stderr."""
    sys.stderr.write(terminal_line(text) + "\n")


def document(value: Json) -> None:
    """The report as one JSON document, on stdout."""
    sys.stdout.write(dump_document(value).decode("utf-8"))


def notes(problems: tuple[Problem, ...]) -> None:
    """What is legal and perhaps not meant."""
    for problem in problems:
        note(f"note: {problem}")
