"""A suite to harm: inputs written as bytes, every command that reads them, and proof of what did not happen.

What is refused must be refused by each command alike, with its place, before anything is called; and
the bundle of an earlier run must be as it was.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.e2e.suites import CONFIG, Answers, files_below, lines, scorecard

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.e2e.program import Done, Program

PRIVATE: Final = "PRIVATE-TEXT"
"""Stands in inputs that no message may repeat."""
BOM: Final = b"\xef\xbb\xbf"
KINDS: Final = ("jsonl", "json", "csv")
"""Of dataset files."""
SHARD_FILE: Final = "results/shard-0000.attempt-1.jsonl"
DEEP: Final = "[" * 20_000 + "]" * 20_000
DIGITS: Final = '{"n":' + "9" * 5000 + "}"

Row = dict[str, Any]


def dataset(kind: str, rows: Sequence[Row]) -> bytes:
    """Rows as a file of a kind; the first row of a table names its columns."""
    if kind == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows).encode()
    if kind == "json":
        return json.dumps(rows, indent=1).encode()
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def two_rows() -> list[Row]:
    """Cases that the target answers rightly."""
    return [{"id": f"c{n}", "input": f"q{n}", "expected": f"Q{n}"} for n in (1, 2)]


@dataclass
class Box:
    """A folder with a suite, and with a finished bundle in `out/`."""

    folder: Path
    program: Program
    answers: Answers
    made: Path
    """Where a whole run lies: suite, `baseline/`, `plan/`, `results/`, `out/`."""

    def write(self, name: str, data: str | bytes) -> Path:
        """Write a file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        return (self.folder / name).read_bytes()

    def config(
        self,
        *,
        cases: str = "[{path: cases.jsonl}]",
        target: str | None = None,
        judges: str = "[{id: exact, type: exact}]",
        gates: str = "[{id: quality, metric: exact, min: 0.5}]",
        more: str = "",
        rows: Sequence[Row] | None = None,
    ) -> Box:
        """Write config (cases in line 3, target 4, judges 5, gates 6, more from 7) and `cases.jsonl`."""
        text = (
            f"version: 1\nsuite: faults\ncases: {cases}\ntarget: {target or self.target()}\n"
            f"judges: {judges}\ngates: {gates}\n{more}"
        )
        self.write(CONFIG, text)
        self.write("cases.jsonl", dataset("jsonl", two_rows() if rows is None else rows))
        return self

    def target(self, more: str = "", body: str = '{q: "{{ input }}"}') -> str:
        """The counting target, as written in a config."""
        return (
            f"{{id: app, type: http, url: '{self.answers.url}', body: {body}, output: answer, "
            f"retries: 0{more}}}"
        )

    def data(self, kind: str, data: bytes, **more: Any) -> Box:
        """Write a config whose only dataset is `cases.KIND`."""
        self.config(cases=f"[{{path: cases.{kind}{more.pop('entry', '')}}}]", **more)
        self.write(f"cases.{kind}", data)
        return self

    def take_run(self, baseline: str = "baseline") -> Box:
        """Take suite, plan, results and baseline of the whole run."""
        for name in ("plan", "results", "baseline"):
            target = baseline if name == "baseline" else name
            shutil.copytree(self.made / name, self.folder / target)
        for name in (CONFIG, "cases.jsonl"):
            shutil.copy(self.made / name, self.folder / name)
        return self

    def call(self, *argv: str, env: Mapping[str, str] | None = None) -> Done:
        """Run a command in the folder."""
        return self.program(*argv, cwd=self.folder, env=env)

    def run(self, *more: str, env: Mapping[str, str] | None = None) -> Done:
        """`run` into a new bundle, `new/`."""
        return self.call("run", CONFIG, "--out", "new", *more, env=env)

    def results(self) -> dict[str, Row]:
        """Results of `new/` by case."""
        return {row["case"]: row for row in lines(self.folder / "new" / "results.jsonl")}

    def scorecard(self) -> dict[str, Any]:
        """Scorecard of `new/`."""
        return scorecard(self.folder / "new")

    def snapshot(self) -> dict[str, bytes]:
        """Everything in `out/` but the lock."""
        out = self.folder / "out"
        return {
            path.relative_to(out).as_posix(): path.read_bytes()
            for path in files_below(out)
            if path.name != ".lock"
        }

    def refused(
        self,
        *says: str,
        commands: Sequence[str] = ("validate", "plan", "run"),
        more: Sequence[str] = (),
        code: int = 3,
        env: Mapping[str, str] | None = None,
    ) -> str:
        """Assert that commands refuse the suite, saying all of `says`; returns the last message."""
        before = self.snapshot()
        assert "scorecard.json" in before
        message = ""
        for name in commands:
            out = {"validate": (), "plan": ("--out", "planned"), "run": ("--out", "out")}[name]
            done = self.call(name, CONFIG, *out, *more, env=env)
            self.check_refusal(done, says, code)
            message = done.err
        assert self.snapshot() == before, "the bundle of the earlier run was touched"
        assert not (self.folder / "planned" / "plan.json").exists()
        return message

    def check_refusal(self, done: Done, says: Sequence[str], code: int) -> None:
        """Assert exit code, message and silence of one refusal, and that nothing was called."""
        assert done.code == code, done
        for words in says:
            assert words in done.err, f"{words!r} is not in: {done}"
        for never in ("Traceback", "internal error", PRIVATE):
            assert never not in done.out + done.err, f"{never!r} is in: {done}"
        assert self.answers.asked == []


def make_run(folder: Path, program: Program) -> Path:
    """A whole run with everything it leaves behind, made through the commands."""
    folder.mkdir()
    with Answers() as answers:
        box = Box(folder, program, answers, folder)
        box.config(
            gates="[{id: quality, metric: exact, min: 0.5}, "
            "{id: no-worse, metric: exact, no_regression: {max_drop: 0}}]",
            more="baseline: {on_missing: bootstrap}\n",
        )
        for argv in (
            ("run", CONFIG, "--out", "out"),
            ("baseline", "promote", "out", "--to", "baseline"),
            ("plan", CONFIG, "--out", "plan"),
            ("shard", "--plan", "plan", "--index", "0", "--out", "results"),
        ):
            done = box.call(*argv)
            assert done.code == 0, done
    return folder
