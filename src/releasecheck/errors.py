"""Every error this program raises on purpose, each with the exit code it ends in.

::

    ReleaseCheckError                 4  (never raised itself)
    ├── UsageError                    3  nothing was called: usage, configuration, data, environment
    │   ├── ConfigError               3  one or more `Problem`s in a config or dataset file
    │   ├── EnvironmentMissing        3  names of variables that are unset or empty
    │   └── NotResumable              3  a folder holds something else than the command needs
    ├── Untrusted                     4  bytes that contradict their digest, plan or ledger
    │   ├── DigestMismatch            4
    │   ├── CorruptLedger             4
    │   └── ForeignRecord             4  a record of another run, plan, shard, case or judge
    ├── InfrastructureError           4  could not run: target did not start, disk is full
    └── Interrupted                 130  what was recorded is on disk

A verdict is no error: `block` is a value, and its exit code stands in the scorecard.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class ReleaseCheckError(Exception):
    """Base of the tree; `str()` is a message for a person: found, expected, what to do."""

    exit_code: ClassVar[int] = 4


class UsageError(ReleaseCheckError):
    """The command, its files or its environment cannot work; nothing was called."""

    exit_code: ClassVar[int] = 3


def _shown(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in one file."""

    message: str
    """What was found, what was expected, what to do. One line."""
    path: str | None = None
    """The file as the user would name it; None when no file is to blame."""
    line: int | None = None
    """1-based line in `path`."""
    column: int | None = None
    """1-based column in `line`."""
    key: str | None = None
    """Dotted place in the document, e.g. `gates[0].min`."""

    @override
    def __str__(self) -> str:
        """`path:line:column: key: message`, leaving out what is not known."""
        where = [str(part) for part in (self.path, self.line, self.column) if part is not None]
        start = ":".join(where) + ": " if where else ""
        key = f"{self.key}: " if self.key else ""
        # File names and keys are other people's: one problem stays one line.
        return "".join(c if c.isprintable() else _shown(c) for c in f"{start}{key}{self.message}")


class ConfigError(UsageError):
    """Problems in config, cases or other input files, all that were found at once."""

    SHOWN: ClassVar[int] = 25

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        lines = [str(problem) for problem in self.problems[: self.SHOWN]]
        if len(self.problems) > self.SHOWN:
            lines.append(f"... and {len(self.problems) - self.SHOWN} more problems")
        super().__init__("\n".join(lines))


class EnvironmentMissing(UsageError):
    """Variables that the plan needs are unset, or set but empty (two different messages)."""

    def __init__(self, unset: Sequence[str], empty: Sequence[str], hint: str = "") -> None:
        self.unset, self.empty = tuple(unset), tuple(empty)
        lines = [f"{name} is not set" for name in unset]
        lines += [f"{name} is set but empty" for name in empty]
        lines.append(
            hint
            or "Set each of them, or give a default in the config as ${NAME:-default}; "
            "nothing was called."
        )
        super().__init__("\n".join(lines))


class NotResumable(UsageError):
    """The folder named holds something else than the command needs."""


class Untrusted(ReleaseCheckError):
    """Bytes contradict their digest, their plan or the ledger; nothing was decided from them."""


class DigestMismatch(Untrusted):
    """A recomputed digest differs from the recorded one."""

    def __init__(self, what: str, *, found: str, expected: str) -> None:
        super().__init__(
            f"{what}: its content has digest {found}, but {expected} was recorded; "
            "the file changed after it was written - get the original again"
        )


class CorruptLedger(Untrusted):
    """A ledger file holds a line no writer of ours could have left there."""


class ForeignRecord(Untrusted):
    """A record belongs to another run, plan, shard, case or judge than the file it is in."""


class InfrastructureError(ReleaseCheckError):
    """The run could not be carried through, through no fault of the candidate."""


class Interrupted(ReleaseCheckError):
    """Stopped by a signal; what was recorded is on disk and can be resumed."""

    exit_code: ClassVar[int] = 130
