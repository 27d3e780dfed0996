"""The dataset of a suite: every file that `cases` names, read into cases in one fixed order."""

from __future__ import annotations

import glob
import os.path
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from releasecheck.config.coverage import check_coverage
from releasecheck.config.fields import CaseReader
from releasecheck.config.nodes import problem_at
from releasecheck.config.rows import Rows, read_json, read_jsonl
from releasecheck.config.table import read_csv
from releasecheck.config.text import read_text
from releasecheck.errors import ConfigError, Problem
from releasecheck.model.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from releasecheck.config.suite import LoadedSuite
    from releasecheck.model.case import Case
    from releasecheck.model.suite import CaseFiles

_READERS: Final[Mapping[str, Callable[[str, str], Rows]]] = {
    ".jsonl": read_jsonl,
    ".json": read_json,
    ".csv": read_csv,
}


def load_cases(loaded: LoadedSuite) -> tuple[Case, ...]:
    """Every case of the suite in dataset order, checked against judges and gates.

    Raises:
        ConfigError: everything that is wrong in the files, or between them and the suite.
    """
    cases = read_cases(loaded)
    check_cases(loaded, cases)
    return cases


def check_cases(loaded: LoadedSuite, cases: Sequence[Case]) -> None:
    """Whether the suite's judges and gates reach these cases, which are the whole dataset.

    Raises:
        ConfigError: a gate or judge would compare nothing, or a judge lacks what it compares with.
    """
    problems = check_coverage(loaded.suite, loaded.document, cases, loaded.root.as_posix())
    if problems:
        raise ConfigError(problems)


def read_cases(loaded: LoadedSuite) -> tuple[Case, ...]:
    """Every case of the suite in dataset order: entries as written, files sorted, rows as they come.

    Raises:
        ConfigError: everything that is wrong in the files.
    """
    problems: list[Problem] = []
    cases: list[Case] = []
    counts: dict[str, int] = {}
    for position, spec, source in _files(loaded, problems):
        try:
            found, wrong = _read(spec, loaded.root, source)
        except ConfigError as error:
            problems += error.problems
            continue
        problems += wrong
        cases += found
        counts[source] = len(found)
        if spec.split == "all":
            message = "`all` is every case and can be no split; use another name"
            problems.append(problem_at(loaded.document, ("cases", position, "split"), message))
    problems += _twice(cases, loaded.root)
    if not problems:
        problems += _pinned(loaded, counts)
    if problems:
        raise ConfigError(problems)
    return tuple(replace(case, index=index) for index, case in enumerate(cases))


def _files(loaded: LoadedSuite, problems: list[Problem]) -> list[tuple[int, CaseFiles, str]]:
    """Entry, spec and path relative to the root of every file, without repetition."""
    found: list[tuple[int, CaseFiles, str]] = []
    first: dict[str, int] = {}
    for position, spec in enumerate(loaded.suite.cases):
        loc = ("cases", position, "path")
        paths = _matches(loaded.root, spec.path)
        if not paths:
            message = _no_match(loaded.root, spec.path)
            problems.append(problem_at(loaded.document, loc, message))
        for path in paths:
            if path in first:
                message = f"{path} is already read by cases[{first[path]}]"
                problems.append(problem_at(loaded.document, loc, message))
                continue
            first[path] = position
            found.append((position, spec, path))
    return found


def _matches(root: Path, pattern: str) -> list[str]:
    """Paths relative to the root, sorted by name, with `/` between folders."""
    # A name with brackets in it is a file before it is a pattern.
    if (root / pattern).exists():
        return [_relative(pattern)]
    found = glob.glob(pattern, root_dir=root, recursive=True)  # noqa: PTH207 - takes `..`
    return sorted({_relative(path) for path in found})


def _relative(path: str) -> str:
    return Path(os.path.normpath(path)).as_posix()


def _no_match(root: Path, pattern: str) -> str:
    folder = (root / pattern).parent
    names = [item.name for item in folder.iterdir()] if folder.is_dir() else []
    message = f"no file fits {pattern!r} in {root.as_posix()}"
    if "\\" in pattern:
        return f"{message}; write `/` between folders"
    if "${" in pattern:
        return f"{message}; variables are not read here"
    if not names and not folder.is_dir() and not glob.has_magic(str(folder)):
        return f"{message}; there is no such folder"
    return message + did_you_mean(Path(pattern).name, names)


def _read(spec: CaseFiles, root: Path, source: str) -> tuple[list[Case], list[Problem]]:
    path = root / source
    shown = path.as_posix()
    if path.is_dir():
        message = f"expected a file, found a folder; write `path: {source}/*.jsonl`"
        raise ConfigError([Problem(message, shown)])
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        message = f"expected a .jsonl, .json or .csv file, found {path.suffix or 'no ending'!r}"
        raise ConfigError([Problem(message, shown)])
    rows = _READERS[suffix](read_text(path), shown)
    if not rows.rows and not rows.problems:
        return [], [Problem(f"no cases: {rows.empty}", shown)]
    reader = CaseReader(spec, rows, source, csv=suffix == ".csv")
    cases: list[Case] = []
    if reader.columns():
        cases = [case for row in rows.rows if (case := reader.case(row)) is not None]
    return cases, sorted(
        rows.problems, key=lambda problem: (problem.line or 0, problem.column or 0)
    )


def _twice(cases: Sequence[Case], root: Path) -> list[Problem]:
    first: dict[str, Case] = {}
    problems: list[Problem] = []
    for case in cases:
        other = first.setdefault(case.id, case)
        if other is not case:
            message = (
                f"the id {case.id[:80]!r} is already used in "
                f"{(root / other.source.path).as_posix()}:{other.source.line}"
            )
            shown = (root / case.source.path).as_posix()
            problems.append(Problem(message, shown, case.source.line, key="id"))
    return problems


def _pinned(loaded: LoadedSuite, counts: Mapping[str, int]) -> list[Problem]:
    total, pin = sum(counts.values()), loaded.suite.expect_cases
    if pin is None or pin == total:
        return []
    parts = ", ".join(f"{count} in {source}" for source, count in counts.items())
    message = f"expected {pin} cases, found {total} ({parts}); a lost case is not a better average"
    return [problem_at(loaded.document, ("expect_cases",), message)]
