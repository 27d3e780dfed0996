"""Outputs that people have judged: `labels.jsonl` to labels, strictly."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from releasecheck.config.rows import kind, read_jsonl
from releasecheck.config.text import read_text
from releasecheck.errors import ConfigError, Problem
from releasecheck.model.nearest import did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.config.rows import Row

_KEYS: Final = (
    "id", "output", "label", "human", "input", "expected", "metadata", "tags", "split",
)  # fmt: skip


class Label(NamedTuple):
    """One output with what a person said about it."""

    id: str
    output: Json
    label: bool | float
    """Passed or not, or the score that the judge should give."""
    input: Json = None
    expected: Json = None
    metadata: dict[str, Any] = {}  # noqa: RUF012 - never written to
    tags: tuple[str, ...] = ()
    split: str = "main"

    @property
    def content(self) -> Json:
        """What identifies it, as JSON."""
        return [self.id, self.output, self.input, self.expected, self.metadata]


def read_labels(path: Path) -> tuple[Label, ...]:
    """The labels in a JSONL file.

    Raises:
        ConfigError: every line that is none; two with one id; no line at all.
    """
    found = read_jsonl(read_text(path), path.as_posix())
    if not found.rows and not found.problems:
        found.bad(f"{found.empty}; expected one label on each line")
    labels: list[Label] = []
    lines: dict[str, int] = {}
    for row in found.rows:
        try:
            label = _label(row)
        except ValueError as error:
            found.bad(str(error), row.line)
            continue
        if label.id in lines:
            found.bad(
                f"the id {label.id[:60]!r} is already used in line {lines[label.id]}", row.line
            )
        lines.setdefault(label.id, row.line)
        labels.append(label)
    if found.problems:
        problems = sorted(found.problems, key=lambda one: one.line or 0)
        raise ConfigError(Problem(p.message, p.path, p.line, p.column) for p in problems)
    return tuple(labels)


def _label(row: Row) -> Label:
    fields = row.fields
    for key in fields:
        if key not in _KEYS:
            message = f"unknown key {key[:60]!r}{did_you_mean(key, _KEYS)}"
            raise ValueError(message)
    name = fields.get("id")
    if not isinstance(name, str) or not name.strip():
        message = f"a label needs an `id`, a text; found {kind(name)}"
        raise ValueError(message)
    if fields.get("output") is None:
        message = f"the label {name[:60]!r} needs the `output` that was judged"
        raise ValueError(message)
    metadata, tags, split = (
        fields.get("metadata", {}),
        fields.get("tags", []),
        fields.get("split", "main"),
    )
    if not isinstance(metadata, dict):
        message = f"`metadata` must be an object; found {kind(metadata)}"
        raise ValueError(message)  # noqa: TRY004 - all of them are problems of the file
    if not isinstance(tags, list) or not all(isinstance(one, str) for one in tags):
        message = "`tags` must be a list of texts"
        raise ValueError(message)
    if not isinstance(split, str):
        message = f"`split` must be a text; found {kind(split)}"
        raise ValueError(message)  # noqa: TRY004 - as above
    given, expected = fields.get("input"), fields.get("expected")
    said = _said(name, fields)
    return Label(name, fields["output"], said, given, expected, metadata, tuple(tags), split)


def _said(name: str, fields: dict[str, Any]) -> bool | float:
    given = [key for key in ("label", "human") if fields.get(key) is not None]
    if len(given) != 1:
        found = "both" if given else "neither"
        message = f"the label {name[:60]!r} needs one of `label` and `human`; found {found}"
        raise ValueError(message)
    said = fields[given[0]]
    if isinstance(said, bool):
        return said
    if isinstance(said, int | float) and math.isfinite(said):
        return float(said)
    message = f"`{given[0]}` must be true, false or a number; found {kind(said)}"
    raise ValueError(message)
