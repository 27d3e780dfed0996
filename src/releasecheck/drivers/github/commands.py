"""Everything we write for the runner to read: workflow commands, log lines, outputs and the summary.

The runner takes commands out of both output streams of a step: `::name::` at the start of a line (spaces
before it count for nothing) and `##[name]` anywhere in a line, in any case. So whatever somebody else
wrote - cases, answers, rationales, names of branches - passes `log_text` before it is shown, and the
escapes here before it becomes part of a command or file (traps 15 to 18).
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from releasecheck.canonical import clean_text
from releasecheck.drivers.github.errors import OutputRefused
from releasecheck.scorecard.escape import no_command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

Level: TypeAlias = Literal["error", "warning", "notice"]
RANK: Final[dict[Level, int]] = {"error": 0, "warning": 1, "notice": 2}

LONGEST_MESSAGE: Final = 4096
"""Characters of an annotation that the runner keeps, as it counts them: UTF-16 units."""
LONGEST_LINE: Final = 4096
"""Characters of one line of foreign text that are shown in a log."""
SHORTEST_MASK: Final = 4
"""A shorter mask would blank ordinary text, and with it whole outputs (trap 13)."""
SUMMARY_LIMIT: Final = 900 * 1024
"""Bytes: well under the 1 MiB above which the runner drops a summary whole (trap 17)."""
OUTPUT_LIMIT: Final = 1_000_000
"""Bytes of a job's outputs as GitHub counts them, in UTF-16 (P-08)."""

_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")


def escape_data(text: str) -> str:
    """Text as the message of a command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """Text as the value of a property of a command."""
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")


def _visible(text: str, keep: str = "") -> str:
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text
    )


def log_text(text: str, longest: int = LONGEST_LINE) -> str:
    """Foreign text for a step's log: it keeps its lines and words, and commands nothing (trap 15)."""
    lines = clean_text(text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(_harmless(line, longest) for line in lines)


def _harmless(line: str, longest: int) -> str:
    more = len(line) - longest
    shown = _visible(line[:longest], keep="\t")
    shown = no_command(shown)
    return f"{shown} ... and {more} more characters" if more > 0 else shown


@dataclass(frozen=True, slots=True)
class Annotation:
    """A note at a place of a file."""

    level: Level
    message: str
    file: str | None = None
    """Relative to the repository."""
    line: int | None = None
    title: str | None = None

    def command(self) -> str:
        """The command that makes it, one line."""
        return annotation(
            self.level, self.message, file=self.file, line=self.line, title=self.title
        )


def annotation(
    level: Level,
    message: str,
    *,
    file: str | None = None,
    line: int | None = None,
    title: str | None = None,
) -> str:
    """The command that makes one annotation; one line, cut to what the runner keeps."""
    given = {"title": title, "file": file, "line": None if line is None else str(line)}
    properties = ",".join(
        f"{key}={escape_property(_neutral(value, 250))}" for key, value in given.items() if value
    )
    text = escape_data(_neutral(message, LONGEST_MESSAGE)) or "(no message)"
    return f"::{level} {properties}::{text}" if properties else f"::{level}::{text}"


def _neutral(text: str, longest: int) -> str:
    # One more line of a message may look like a command to those who read the log later.
    lines = clean_text(text[: 2 * longest]).replace("\r\n", "\n").split("\n")
    return _cut("\n".join(_harmless(line, 2 * longest) for line in lines), longest)


def _cut(text: str, longest: int) -> str:
    """At most so many UTF-16 units, never half of a character."""
    data = text.encode("utf-16-le")
    if len(data) <= 2 * longest:
        return text
    return data[: 2 * (longest - 3)].decode("utf-16-le", "ignore") + "..."


def worst(annotations: Sequence[Annotation], limit: int = 10) -> tuple[Annotation, ...]:
    """The most important ones, errors first; the last one says how many were left out (trap 18).

    The runner keeps ten of a kind for a whole composite action and drops the rest in silence.
    """
    ordered = sorted(annotations, key=lambda one: RANK[one.level])
    kept = ordered[:limit]
    more = len(ordered) - len(kept)
    if more and kept:
        said = f"\n{more} more of this kind or less are in the scorecard."
        message = _cut(kept[-1].message, LONGEST_MESSAGE - len(said)) + said
        kept[-1] = replace(kept[-1], message=message)
    return tuple(kept)


def mask(value: str) -> str:
    """Commands that hide a secret in the rest of the log, line by line; empty when none is long enough.

    Print it before anything else can show the value, and print nothing else on these lines.
    """
    lines = dict.fromkeys(form for line in value.splitlines() for form in (line, line.strip()))
    return "".join(
        f"::add-mask::{escape_data(line)}\n" for line in lines if len(line) >= SHORTEST_MASK
    )


def _random_token() -> str:
    return secrets.token_hex(20)


def write_outputs(
    path: Path, values: Mapping[str, str], *, token: Callable[[], str] = _random_token
) -> None:
    """Append outputs to the file that GITHUB_OUTPUT names (trap 16).

    Args:
        path: The file; made when it is not there.
        values: By name. Only small ones: indices, names, digests (P-08).
        token: Makes the delimiter, which nobody can guess.

    Raises:
        OutputRefused: a name that is none, or values that are larger than a job's outputs may be.
    """
    blocks = [_block(key, clean_text(value), token) for key, value in values.items()]
    size = sum(len(block.encode("utf-16-le")) for block in blocks)
    if size > OUTPUT_LIMIT:
        message = (
            f"the outputs {', '.join(values)} have {size} bytes as GitHub counts them, and a job may have "
            f"{OUTPUT_LIMIT}; put the content into an artifact"
        )
        raise OutputRefused(message)
    _append(path, "".join(blocks))


def _block(key: str, value: str, token: Callable[[], str]) -> str:
    if not _KEY.fullmatch(key):
        message = f"{key[:80]!r} is no name of an output; expected letters, digits, - and _"
        raise OutputRefused(message)
    for _ in range(8):
        delimiter = f"releasecheck_{token()}"
        if delimiter not in value:
            return f"{key}<<{delimiter}\n{value}\n{delimiter}\n"
    message = f"no delimiter was found that the output {key!r} does not hold"
    raise OutputRefused(message)


def _append(path: Path, text: str) -> None:
    data = text.encode("utf-8")
    with path.open("ab+") as file:
        # A half line that somebody left would swallow our first one.
        if file.tell():
            file.seek(-1, 2)
            if file.read(1) != b"\n":
                data = b"\n" + data
        file.write(data)


def write_summary(path: Path, markdown: str, limit: int = SUMMARY_LIMIT) -> int:
    """Append to the step's summary so that it stays within `limit` bytes (trap 17, P-09).

    Text that is too long is cut at the end of a line, and a note says how much is missing. What the file
    holds already counts.

    Returns:
        Bytes left out; 0 when all of it was written.
    """
    markdown = clean_text(markdown)
    room = max(0, limit - (path.stat().st_size if path.exists() else 0) - 1)
    whole = markdown.encode("utf-8")
    if len(whole) + 1 <= room:
        _append(path, markdown if markdown.endswith("\n") else markdown + "\n")
        return 0
    kept = _whole_lines(whole, max(0, room - _NOTE_ROOM))
    left = len(whole) - len(kept.encode("utf-8"))
    note = (
        f"\n_This summary was cut: {left:,} of {len(whole):,} bytes were left out. "
        "The scorecard artifact holds all of it._\n"
    )
    ended = kept + _closing(kept) + note
    _append(path, ended if len(ended.encode("utf-8")) <= room else note)
    return left


_NOTE_ROOM: Final = 2048
"""Bytes kept free for the note and for closing what the cut left open."""


def _whole_lines(data: bytes, room: int) -> str:
    cut = data[:room]
    end = cut.rfind(b"\n") + 1
    return (cut[:end] if end else cut).decode("utf-8", "ignore")


_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


def _closing(text: str) -> str:
    """What ends an open code block and open `<details>`, so that the note shows as a note."""
    fence = ""
    depth = 0
    for line in text.splitlines():
        match = _FENCE.fullmatch(line)
        if match and not fence:
            fence = match[1]
        elif match and match[1].startswith(fence) and not match[2].strip():
            fence = ""
        elif not fence:
            depth = max(0, depth + line.count("<details") - line.count("</details>"))
    closed = "" if text.endswith("\n") or not text else "\n"
    return closed + (fence + "\n" if fence else "") + "\n</details>\n" * min(depth, 20)
