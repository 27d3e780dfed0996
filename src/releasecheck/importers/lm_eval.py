"""lm-evaluation-harness: the samples of one task as it logs them, with the summary beside them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from releasecheck.config.rows import kind
from releasecheck.config.text import read_text
from releasecheck.errors import ConfigError, Problem
from releasecheck.importers.imported import Imported, Mapped
from releasecheck.importers.lm_eval_metrics import Directions, read_number
from releasecheck.importers.names import case_id, judge_ids, slug
from releasecheck.importers.recorded import (
    Metric,
    Recording,
    case_problems,
    recorded_suite,
    unknown_names,
)
from releasecheck.importers.replay import Answered, Failed, Recorded, Reply, Score
from releasecheck.importers.tolerant import Plain, Strange, TooDeep, parse_tolerant
from releasecheck.model.nearest import listing

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from releasecheck.canonical import Json

_NAME: Final = re.compile(r"samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d{2}-\d{2}T[\d:.\-]+))?")
_COLUMNS: Final = frozenset({
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash",
    "prompt_hash", "target_hash", "task_name", "schema_version", "hash",
})  # fmt: skip
"""Columns of a row that are no metric."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says."""

    filter: str | None = None
    leave_out: Collection[str] = ()
    lower: Collection[str] = ()
    higher: Collection[str] = ()


@dataclass(slots=True)
class _Read:
    shown: str
    options: Options
    made: Recording = field(default_factory=Recording)
    plain: Plain = field(default_factory=Plain)
    problems: list[Problem] = field(default_factory=list)
    values: list[tuple[Reply, str, float | bool | None]] = field(default_factory=list)
    left_out: set[str] = field(default_factory=set)
    lines: dict[str, int] = field(default_factory=dict)
    whole_doc: int = 0
    """Rows whose prompt was not logged."""

    def bad(self, message: str, line: int | None = None, key: str | None = None) -> None:
        self.problems.append(Problem(message, self.shown, line, key=key))


def task_and_date(path: Path) -> tuple[str, str | None]:
    """From `samples_{task}_{date}.jsonl`; any other name is the task's."""
    match = _NAME.fullmatch(path.stem)
    return (match["task"], match["date"]) if match else (path.stem, None)


def import_samples(
    path: Path, results: Path | None, suite: str | None, options: Options
) -> Imported:
    """A suite of what a task recorded.

    Raises:
        ConfigError: everything in it that cannot be taken, by its line.
    """
    task, date = task_and_date(path)
    if results is None and date is not None:
        beside = path.with_name(f"results_{date}.json")
        results = beside if beside.is_file() else None
    directions = Directions.of(results, task, lower=options.lower, higher=options.higher)
    read = _Read(path.as_posix(), options)
    rows = list(_rows(read, read_text(path)))
    if not rows and not read.problems:
        read.bad("no samples: there is no row in it")
    for line, row in _filtered(read, rows):
        _take(read, line, row)
    names = {name for _, name, _ in read.values}
    read.problems += unknown_names("--leave-out", options.leave_out, read.left_out)
    for option, given in (
        ("--lower-is-better", options.lower),
        ("--higher-is-better", options.higher),
    ):
        read.problems += unknown_names(option, given, names | read.left_out)
    if not names and not read.problems:
        read.bad("no row has a metric: there is nothing to compare")
    read.problems += [
        Problem(message, read.shown, key=name) for name, message in directions.unknown(names)
    ]
    if read.problems:
        raise ConfigError(read.problems)
    return _suite(read, path, results, suite or task, directions)


def _rows(read: _Read, text: str) -> Iterator[tuple[int, dict[str, Json]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = parse_tolerant(line.strip(), read.shown, number)
        except ConfigError as error:
            read.problems += error.problems
            continue
        if isinstance(row, dict):
            yield number, row
        else:
            read.bad(f"expected a sample, an object, found {kind(row)}", number)


def _filtered(
    read: _Read, rows: list[tuple[int, dict[str, Json]]]
) -> list[tuple[int, dict[str, Json]]]:
    """The rows of one filter: each filter scores every document once."""
    found = list(dict.fromkeys(_filter_of(row) for _, row in rows))
    wanted = read.options.filter
    if wanted is None and len(found) > 1:
        read.bad(
            f"the rows were scored by several filters, {listing(found)}; choose one with --filter"
        )
        return []
    if wanted is not None and wanted not in found:
        read.bad(f"no row was scored by the filter {wanted!r}; found {listing(found)}")
        return []
    return [(line, row) for line, row in rows if wanted in {None, _filter_of(row)}]


def _filter_of(row: dict[str, Json]) -> str:
    return str(row.get("filter", "none"))


def _take(read: _Read, line: int, row: dict[str, Json]) -> None:
    id_ = row.get("doc_id")
    if isinstance(id_, bool) or not isinstance(id_, int | str):
        read.bad(
            f"expected a whole number as doc_id, found {'nothing' if id_ is None else kind(id_)}",
            line,
            "doc_id",
        )
        return
    name = case_id(str(id_))
    if (before := read.lines.setdefault(name, line)) != line:
        read.bad(f"doc_id {name[:80]} stands in line {before} too", line, "doc_id")
        return
    try:
        case = _case(read, name, row)
        reply = Reply(name, 0, _recorded(read, row))
    except TooDeep as error:
        read.bad(str(error), line)
        return
    read.problems += case_problems(case, read.shown, line)
    read.made.cases[name] = case
    read.made.replies.append(reply)
    _metrics(read, line, row, reply)


def _case(read: _Read, name: str, row: dict[str, Json]) -> dict[str, Json]:
    requests = _requests(row.get("arguments"))
    case: dict[str, Json] = {"id": name}
    if not requests:
        read.whole_doc += 1
        case["input"] = read.plain(row.get("doc"))
    elif len(requests) == 1 and not (len(requests[0]) > 1 and isinstance(requests[0][1], str)):
        case["input"] = read.plain(requests[0][0])
    else:
        # Of a choice the model is asked how likely each continuation is.
        case["input"] = read.plain([request[:2] for request in requests])
    if row.get("target") is not None:
        case["expected"] = read.plain(row["target"])
    return case


def _requests(arguments: Json) -> list[list[Json]]:
    """What the model was asked: lists, or mappings `gen_args_N` of `arg_N`, by the version of the tool."""
    found = list(arguments.values()) if isinstance(arguments, dict) else arguments
    if not isinstance(found, list):
        return []
    requests = [list(one.values()) if isinstance(one, dict) else one for one in found]
    return [one for one in requests if isinstance(one, list) and one]


def _recorded(read: _Read, row: dict[str, Json]) -> Recorded:
    answers = row.get("filtered_resps", row.get("resps"))
    if not isinstance(answers, list) or not answers:
        return Failed("the log holds no response to this document")
    answer = answers[0] if len(answers) == 1 else answers
    # Likelihoods may be infinite, which no answer in JSON can be.
    output = read.plain(_spelled(answer))
    return Failed("the recorded response is null") if output is None else Answered(output)


def _spelled(value: Json) -> Json:
    if isinstance(value, Strange):
        return value.text
    return [_spelled(item) for item in value] if isinstance(value, list) else value


def _metrics(read: _Read, line: int, row: dict[str, Json], reply: Reply) -> None:
    listed = row.get("metrics")
    names = listed if isinstance(listed, list) else [key for key in row if key not in _COLUMNS]
    for name in names:
        if not isinstance(name, str) or name not in row:
            read.bad(f"the metric {str(name)[:60]!r} has no value", line, "metrics")
        elif name in read.options.leave_out:
            read.left_out.add(name)
        else:
            found = read_number(row[name])
            if isinstance(found, str):
                advice = f"leave it out with `--leave-out {name}`"
                read.bad(f"{found}, so no document has a value of its own; {advice}", line, name)
            else:
                read.values.append((reply, name, found.value))


def _suite(
    read: _Read, path: Path, results: Path | None, name: str, directions: Directions
) -> Imported:
    ids = judge_ids(name for _, name, _ in read.values)
    read.made.scores = [Score(reply, ids[name], value) for reply, name, value in read.values]
    metrics = [
        Metric(name, ids[name], yes_no=directions.yes_no(name), lower=directions.lower(name))
        for name in sorted(ids)
    ]
    notes = []
    if results is not None:
        notes.append(f"which way is better was read from {results.name} where it says so")
    if read.whole_doc:
        notes.append(
            "the prompts were not logged, so inputs are whole documents, which may hold the right answer: do not "
            "put a live target behind them"
        )
    if read.left_out:
        notes.append(f"left out as you said: {', '.join(sorted(read.left_out))}")
    return recorded_suite(
        slug(name, "lm-eval"),
        [f"From {path.name} of lm-evaluation-harness, by `releasecheck import lm-eval`."],
        read.made,
        metrics,
        kind="metric",
        mapped=[
            Mapped("document", "case of cases.jsonl, its doc_id the id", len(read.made.cases)),
            Mapped("filtered_resps", "answer of target recorded", len(read.made.replies)),
        ],
        notes=(*read.plain.notes(), *notes),
    )
