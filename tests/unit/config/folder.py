"""A suite on disk for tests: one line for each section, so that expected places are easy to count."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.config import LoadedSuite, load_cases, load_suite
from releasecheck.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.model.case import Case

ROW = '{"id": "c1", "input": "a", "expected": "a", "tags": ["smoke"]}\n'


def config(
    cases: str = "[{path: c.jsonl}]",
    target: str = "{type: command, run: [cat]}",
    judges: str = "[{id: j, type: exact}]",
    gates: str = "[{id: g, metric: j, min: 0.5}]",
    more: str = "",
) -> str:
    """A config with `cases` in line 3, `target` in 4, `judges` in 5, `gates` in 6, `more` from 7."""
    return (
        f"version: 1\nsuite: s\ncases: {cases}\ntarget: {target}\njudges: {judges}\n"
        f"gates: {gates}\n{more}"
    )


@dataclass(frozen=True)
class Folder:
    """An empty folder to write a suite into."""

    root: Path

    def write(self, name: str, data: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def suite(self, text: str | bytes = config(), rows: str | None = ROW) -> Path:
        if rows is not None:
            self.write("c.jsonl", rows)
        return self.write("r.yaml", text)

    def load(self, text: str | bytes = config(), profile: str | None = None) -> LoadedSuite:
        return load_suite(self.suite(text), profile)

    def cases(self, text: str | bytes = config(), rows: str | None = ROW) -> tuple[Case, ...]:
        return load_cases(load_suite(self.suite(text, rows)))

    def refused(
        self, text: str | bytes = config(), rows: str | None = ROW, profile: str | None = None
    ) -> list[str]:
        """Every problem of loading suite and cases, without the folder's name."""
        path = self.suite(text, rows)
        with pytest.raises(ConfigError) as caught:
            load_cases(load_suite(path, profile))
        assert caught.value.exit_code == 3
        start = self.root.as_posix()
        return [str(p).replace(start + "/", "").replace(start, ".") for p in caught.value.problems]

    def refused_data(self, name: str, data: str | bytes, entry: str = "") -> list[str]:
        """Every problem with one dataset file."""
        self.write(name, data)
        return self.refused(config(cases=f"[{{path: {name}{entry}}}]"), rows=None)

    def data(self, name: str, data: str | bytes, entry: str = "") -> tuple[Case, ...]:
        """The cases of one dataset file."""
        self.write(name, data)
        judges = "[{id: j, type: contains, value: x}]"
        return self.cases(config(cases=f"[{{path: {name}{entry}}}]", judges=judges), rows=None)


def lines(*rows: dict[str, Any]) -> str:
    """Rows as JSON Lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


runs_as_root = hasattr(os, "geteuid") and os.geteuid() == 0
