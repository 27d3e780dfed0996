"""Runs named tests against a copy of the program in which one text was replaced by another.

The checkout is never touched: the copy stands first on the path. Each run is a fork of a process that has the
libraries imported, and nothing of the program.
"""

from __future__ import annotations

import importlib
import json
import os
import selectors
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pytest

    from tests.sabotage.breaks import Break

ROOT: Final = Path(__file__).resolve().parents[2]
PROGRAM: Final = ROOT / "src" / "releasecheck"
AT_ONCE: Final = 2
LONGEST_S: Final = 300.0
_HEAVY: Final = (
    "numpy", "numpy.random", "pydantic", "pydantic.types", "annotated_types", "hypothesis", "hypothesis.strategies",
    "hypothesis.core", "msgspec", "rfc8785", "statistics", "yaml", "pytest", "pytest_timeout",
)  # fmt: skip
_TESTS_FAILED: Final = 1


@dataclass(eq=False)  # pytest keeps its plugins by identity
class Seen:
    """A pytest plugin: what became of each test, without its parameters."""

    passed: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    """Modules that could not even be collected."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid.partition("[")[0]
        if report.failed:
            self.failed[name] += 1
        elif report.when == "call" and report.passed:
            self.passed[name] += 1

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.broken.append(report.nodeid)


@dataclass(frozen=True)
class Report:
    """What one run of named tests came to."""

    code: int
    passed: frozenset[str]
    failed: frozenset[str]
    broken: tuple[str, ...]
    output: str
    seconds: float


@dataclass(frozen=True)
class Job:
    """Tests to run against a copy, with one of its files replaced."""

    name: str
    tests: tuple[str, ...]
    file: str | None = None
    text: str = ""


def changed(one: Break) -> str:
    """The source with the break in it.

    Raises:
        ValueError: the text to break is not there exactly once.
    """
    source = (PROGRAM / one.file).read_text("utf-8")
    if source.count(one.old) != 1:
        message = (
            f"its text is {source.count(one.old)} times in {one.file}, and has to be there once"
        )
        raise ValueError(message)
    return source.replace(one.old, one.new)


def run_all(jobs: Sequence[Job]) -> Iterator[tuple[Job, Report]]:
    """Each job's report, as they end; so many at once as there are copies."""
    for name in _HEAVY:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory(prefix="sabotage-") as place:
        free = [_copy(Path(place) / str(number)) for number in range(AT_ONCE)]
        running: dict[int, tuple[Job, _Child, Path]] = {}
        try:
            yield from _in_turn(jobs, free, running)
        finally:
            for _, child, _ in running.values():  # of a run that was interrupted
                child.end()


def _in_turn(
    jobs: Sequence[Job], free: list[Path], running: dict[int, tuple[Job, _Child, Path]]
) -> Iterator[tuple[Job, Report]]:
    todo = list(reversed(jobs))
    with selectors.DefaultSelector() as waiting:
        while todo or running:
            while todo and free:
                job, copy = todo.pop(), free.pop()
                child = _Child.start(job, copy)
                running[child.pipe] = (job, child, copy)
                waiting.register(child.pipe, selectors.EVENT_READ)
            for key, _ in waiting.select(timeout=1.0):
                running[key.fd][1].read()
            for pipe, (job, child, copy) in list(running.items()):
                if child.open and child.seconds < LONGEST_S:
                    continue
                waiting.unregister(pipe)
                del running[pipe]
                report = child.end()
                _mend(job, copy)
                free.append(copy)
                yield job, report


def _copy(place: Path) -> Path:
    """The program with its templates, as it would be installed."""
    shutil.copytree(PROGRAM, place / "releasecheck")
    shutil.copytree(place / "releasecheck", place / _WHOLE, ignore=shutil.ignore_patterns("*.pyc"))
    shutil.copytree(ROOT / "templates", place / "releasecheck" / "templates")
    return place


def _mend(job: Job, copy: Path) -> None:
    """Undo the break from the other, whole copy of the file: the checkout may have been edited meanwhile."""
    if job.file is not None:
        _write(copy, job.file, (copy / _WHOLE / job.file).read_text("utf-8"))


_WHOLE: Final = "whole"


def _write(copy: Path, file: str, text: str) -> None:
    path = copy / "releasecheck" / file
    path.write_text(text, "utf-8")
    # What was compiled before may look as new as what was written now.
    for stale in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        stale.unlink()


@dataclass
class _Child:
    number: int
    pipe: int
    began: float
    said: bytes = b""
    open: bool = True

    @classmethod
    def start(cls, job: Job, copy: Path) -> _Child:
        if job.file is not None:
            _write(copy, job.file, job.text)
        ours, theirs = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        number = os.fork()
        if number == 0:
            code = 70
            try:
                os.close(ours)
                os.setpgid(0, 0)
                _be_pytest(job, copy, theirs)
                code = 0
            except BaseException:  # noqa: BLE001 - a child never comes back into its parent
                os.write(theirs, traceback.format_exc()[-3000:].encode())
            finally:
                os._exit(code)
        os.close(theirs)
        return cls(number, ours, time.monotonic())

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def read(self) -> None:
        part = os.read(self.pipe, 1 << 16)
        self.said += part
        self.open = bool(part)

    def end(self) -> Report:
        seconds = self.seconds
        if self.open:
            os.killpg(self.number, signal.SIGKILL)
        os.waitpid(self.number, 0)
        os.close(self.pipe)
        try:
            found: dict[str, Any] = json.loads(self.said)
        except ValueError:
            how = f"no report after {seconds:.0f} s {self.said.decode('utf-8', 'replace')}".strip()
            return Report(-1, frozenset(), frozenset(), (how,), how, seconds)
        return Report(
            found["code"],
            frozenset(found["passed"]),
            frozenset(found["failed"]),
            tuple(found["broken"]),
            found["output"],
            seconds,
        )


def _be_pytest(job: Job, copy: Path, pipe: int) -> None:
    """In the child: run the tests and say what became of them."""
    import pytest

    os.chdir(ROOT)
    with tempfile.TemporaryFile() as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        sys.dont_write_bytecode = True
        sys.path[:0] = [str(copy)]
        # For what a test starts itself, and so that property tests look at the same examples every time.
        os.environ |= {"PYTHONPATH": str(copy), "CI": "true", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # noqa: TID251
        seen = Seen()
        # Without rewritten asserts: what is imported already could not be rewritten.
        options = [
            "-q",
            "--tb=line",
            "--assert=plain",
            "-p",
            "no:cacheprovider",
            "-p",
            "pytest_timeout",
        ]
        code = pytest.main([*options, *job.tests], plugins=[seen])
        used = sys.modules.get("releasecheck")
        if used is not None and not str(used.__file__).startswith(str(copy)):
            code = -1
        sys.stdout.flush()
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    said = {
        "code": int(code),
        "passed": sorted(seen.passed),
        "failed": sorted(seen.failed),
        "broken": seen.broken,
        "output": text[-3000:],
    }
    data = json.dumps(said).encode()
    while data:
        data = data[os.write(pipe, data) :]
    os.close(pipe)


def verdict_of(job: Job, report: Report) -> str | None:
    """Why a break does not count as noticed; None when every named test turned red."""
    if report.broken:
        return f"its tests could not be run: {', '.join(report.broken)}"
    survived = [test for test in job.tests if test not in report.failed]
    if survived:
        return f"nobody noticed: {', '.join(survived)} passed"
    if report.code != _TESTS_FAILED:
        return f"pytest ended with {report.code}"
    return None
