"""Scores that were given outside of Inspect, in the shape that its `precomputed_scores` reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from releasecheck.config.rows import Row, kind, read_json, read_jsonl
from releasecheck.config.text import read_text
from releasecheck.errors import ConfigError, Problem
from releasecheck.importers.inspect_values import Number, Unknown, parts_of, read_value
from releasecheck.importers.names import case_id

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Given:
    """A value for one sample, under the name of the file and, of a mapping, its key."""

    name: str
    value: float | bool | None
    judged: bool
    explanation: str | None


@dataclass(frozen=True, slots=True)
class ScoresFile:
    """A file of scores by sample id and epoch; None is every epoch."""

    found: dict[tuple[str, int | None], tuple[Given, ...]]

    def of(self, id_: str, epoch: int) -> tuple[Given, ...]:
        """Those of one answer: a line that names the epoch goes before one that does not."""
        return self.found.get((id_, epoch), self.found.get((id_, None), ()))

    def strangers(self, ids: set[str]) -> set[str]:
        """Ids that the log does not have."""
        return {id_ for id_, _ in self.found} - ids


def read_scores_file(path: Path) -> ScoresFile:
    """JSON Lines, or a JSON array; other fields than ours are ignored, as in Inspect.

    Raises:
        ConfigError: every record that is none, by its line.
    """
    shown = path.as_posix()
    reader = read_json if path.suffix.lower() == ".json" else read_jsonl
    rows = reader(read_text(path), shown)
    problems = list(rows.problems)
    if not rows.rows and not problems:
        problems.append(Problem(f"no scores: {rows.empty}", shown))
    found: dict[tuple[str, int | None], tuple[Given, ...]] = {}
    first: dict[tuple[str, int | None], int] = {}
    for row in rows.rows:
        key = _key(row, shown, problems)
        if key is None:
            continue
        before = first.setdefault(key, row.line)
        if before != row.line:
            message = f"a second score of sample {key[0][:80]!r} after line {before}"
            problems.append(Problem(message, shown, row.line, key="id"))
            continue
        found[key] = _values(row, path.stem, shown, problems)
    if problems:
        raise ConfigError(problems)
    return ScoresFile(found)


def _key(row: Row, shown: str, problems: list[Problem]) -> tuple[str, int | None] | None:
    id_, epoch = row.fields.get("id"), row.fields.get("epoch")
    before = len(problems)
    if not isinstance(id_, str | int) or isinstance(id_, bool) or id_ == "":
        message = f"`id` names the sample, found {kind(id_)}"
        problems.append(Problem(message, shown, row.line, key="id"))
    if epoch is not None and (not isinstance(epoch, int) or isinstance(epoch, bool) or epoch < 1):
        message = f"expected a whole number from 1 as epoch, found {kind(epoch)}"
        problems.append(Problem(message, shown, row.line, key="epoch"))
    if "value" not in row.fields:
        message = "there is no `value`; write null where nobody has judged"
        problems.append(Problem(message, shown, row.line, key="value"))
    return (case_id(str(id_)), epoch) if len(problems) == before else None


def _values(row: Row, stem: str, shown: str, problems: list[Problem]) -> tuple[Given, ...]:
    explanation = row.fields.get("explanation")
    given = []
    for name, value in parts_of(stem, row.fields["value"]).items():
        read = read_value(value)
        if isinstance(read, Unknown):
            message = f"what {read.shown} counts is not known; numbers, true, false and the letters C, I, P, N are"
            problems.append(Problem(message, shown, row.line, key="value"))
            continue
        number = read if isinstance(read, Number) else None
        given.append(
            Given(
                name,
                None if number is None else number.value,
                number is not None and number.judged,
                explanation if isinstance(explanation, str) else None,
            )
        )
    return tuple(given)
