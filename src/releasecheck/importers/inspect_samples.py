"""Samples of Inspect in a file of rows, with a scorer: a suite that asks a model and judges as the scorer does."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from releasecheck.config.rows import Row, Rows, kind, read_json, read_jsonl
from releasecheck.config.table import read_csv
from releasecheck.config.text import read_text, refused
from releasecheck.errors import ConfigError, Problem
from releasecheck.importers.imported import CONFIG, Imported, Mapped, config_bytes, lines_bytes
from releasecheck.importers.inspect_messages import messages
from releasecheck.importers.inspect_scorer import Scorer, scorer_judge
from releasecheck.importers.names import slug
from releasecheck.importers.peek import start_of
from releasecheck.importers.recorded import (
    BASELINE,
    CASES,
    FIRST_RUN_NOTE,
    GATE_NOTE,
    case_problems,
    no_worse,
)
from releasecheck.importers.sections import WHOLE, chat_target
from releasecheck.model.nearest import did_you_mean, listing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from releasecheck.canonical import Json

Field: TypeAlias = Literal["id", "input", "target", "choices", "metadata"]
FIELDS: Final[tuple[Field, ...]] = ("id", "input", "target", "choices", "metadata")
_OTHER_NAMES: Final = {"expected": "target"}
"""Ours for theirs, taken in `--field` too."""
_REFUSED: Final = ("sandbox", "files", "setup", "checkpoint")
"""Fields of a sample that only Inspect can act upon."""
_READERS: Final[Mapping[str, Callable[[str, str], Rows]]] = {
    ".jsonl": read_jsonl,
    ".json": read_json,
    ".csv": read_csv,
}


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Which columns a sample is read from."""

    where: Mapping[Field, str]
    metadata: tuple[str, ...] = ()
    """Columns that become keys of the metadata; without any, the column `metadata` is the whole."""


@dataclass(slots=True)
class _Cases:
    rows: list[dict[str, Json]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    numbered: bool = False
    """Whether samples without an id were given their number."""
    ignored: set[str] = field(default_factory=set)
    """Columns that nothing reads, as in Inspect."""


def field_map(written: Sequence[str]) -> FieldMap:
    """From `ours=theirs` options; `metadata=a,b` names columns.

    Raises:
        ConfigError: one of them is none.
    """
    where: dict[Field, str] = {name: name for name in FIELDS}
    metadata: tuple[str, ...] = ()
    problems = []
    for text in written:
        name, sign, column = text.partition("=")
        name = _OTHER_NAMES.get(name, name)
        known = next((one for one in FIELDS if one == name), None)
        if not sign or not column or known is None:
            hint = did_you_mean(name, FIELDS) if sign else ""
            message = f"--field {text}: expected one of {', '.join(FIELDS)}, `=` and a column{hint}"
            problems.append(Problem(message))
        elif known == "metadata" and ("," in column or column != "metadata"):
            metadata = tuple(part.strip() for part in column.split(",") if part.strip())
        else:
            where[known] = column
    if problems:
        raise ConfigError(problems)
    return FieldMap(where, metadata)


def import_samples(
    path: Path, fields: FieldMap, scorer: Scorer, suite: str | None, target: dict[str, Json] | None
) -> Imported:
    """A suite of samples.

    Raises:
        ConfigError: every row that is no sample, and a scorer that cannot be converted.
    """
    made = _cases(path, fields, scorer)
    if made.problems:
        raise ConfigError(made.problems)
    rows = made.rows
    judge, files, becoming = scorer_judge(scorer, [row.get("expected") for row in rows])
    texts = all(isinstance(row["input"], str) for row in rows)
    if not texts and target is None:
        rows = [{**row, "input": _conversation(row["input"])} for row in rows]
    conversation: Json = [{"role": "user", "content": WHOLE}] if texts else WHOLE
    section = target or chat_target(conversation, {})
    config: dict[str, Json] = {
        "version": 1,
        "suite": slug(suite or path.stem, "inspect"),
        "cases": [{"path": CASES}],
        "expect_cases": len(rows),
        "target": section,
        "judges": [judge],
        "gates": no_worse([str(judge["id"])]),
        "baseline": dict(BASELINE),
    }
    head = f"From {path.name}, samples of Inspect, by `releasecheck import inspect`."
    asked = (
        "the target named" if target else "the chat API that OPENAI_BASE_URL and OPENAI_MODEL name"
    )
    return Imported(
        {CONFIG: config_bytes(config, [head]), CASES: lines_bytes(rows), **files},
        (
            Mapped("sample", f"case of {CASES}", len(rows)),
            becoming,
            Mapped("solver generate()", f"target {section.get('id', 'target')}: {asked}"),
        ),
        (*_notes(made), GATE_NOTE, FIRST_RUN_NOTE),
    )


def _notes(made: _Cases) -> list[str]:
    notes = []
    if made.numbered:
        notes.append(
            "samples without an id are numbered from 1, as Inspect does; a row inserted renames those below"
        )
    if made.ignored:
        notes.append(
            f"columns that nothing reads, as in Inspect: {listing(sorted(made.ignored))}; keep some with "
            "`--field metadata=a,b`"
        )
    return notes


def _conversation(value: Json) -> Json:
    return value if isinstance(value, list) else [{"role": "user", "content": value}]


def _cases(path: Path, fields: FieldMap, scorer: Scorer) -> _Cases:
    shown = path.as_posix()
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        message = f"expected samples in .jsonl, .json or .csv, or a log in .eval or .json; found {path.suffix or 'no ending'!r}"
        raise refused(shown, message)
    read = reader(read_text(path), shown)
    made = _Cases(problems=list(read.problems))
    if not read.rows and not made.problems:
        made.problems.append(Problem(f"no samples: {read.empty}", shown))
    first: dict[str, int] = {}
    csv = path.suffix.lower() == ".csv"
    for number, row in enumerate(read.rows, start=1):
        case = _case(made, row, number, fields, scorer, shown, csv=csv)
        before = first.setdefault(str(case["id"]), row.line)
        if before != row.line:
            message = f"the id {str(case['id'])[:80]!r} is already used in line {before}"
            made.problems.append(Problem(message, shown, row.line, key=fields.where["id"]))
        made.rows.append(case)
    made.problems.sort(key=lambda problem: problem.line or 0)
    return made


def _case(
    made: _Cases, row: Row, number: int, fields: FieldMap, scorer: Scorer, shown: str, *, csv: bool
) -> dict[str, Json]:
    where, found = fields.where, row.fields
    before = len(made.problems)

    def bad(key: str, message: str) -> None:
        made.problems.append(Problem(message, shown, row.line, key=key))

    for name in (*_REFUSED, where["choices"]):
        if found.get(name) not in (None, "", [], {}):
            bad(name, _why_not(name, where["choices"]))
    absent = [column for column in fields.metadata if column not in found]
    if absent and not csv:
        bad("metadata", f"there is no {listing(absent)} in this row; found {listing(list(found))}")
    case: dict[str, Json] = {
        "input": _input(found.get(where["input"]), where["input"], bad, list(found))
    }
    id_ = found.get(where["id"])
    if id_ is None:
        made.numbered = True
        id_ = str(number)
    case["id"] = id_
    if (target := _target(found.get(where["target"]), where["target"], bad)) is not None:
        case["expected"] = target
    elif scorer.compares:
        others = listing(list(found))
        bad(
            where["target"],
            f"the sample has no target, and {scorer.name} compares with it; found {others}",
        )
    metadata = _metadata(found, fields, bad)
    if metadata:
        case["metadata"] = metadata
    made.ignored |= {
        key for key in found if key not in (*where.values(), *fields.metadata, *_REFUSED)
    }
    if len(made.problems) == before:
        made.problems += case_problems(case, shown, row.line)
    return case


def _why_not(name: str, choices: str) -> str:
    if name == choices:
        return (
            "choices are shown to the model by Inspect's multiple_choice solver, which is not converted; write the "
            "choices into the input, and the letter as target"
        )
    return f"`{name}` needs Inspect to run it; run the eval there, and import its log"


def _input(value: Json, key: str, bad: Callable[[str, str], None], found: Sequence[str]) -> Json:
    if value in (None, "", []):
        others = (
            ""
            if value is not None
            else f"; found {listing(found)} - name the column with `--field input=`"
        )
        bad(key, f"the sample has no input{others}")
        return "-"
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        bad(key, f"expected a text or a list of messages, found {kind(value)}")
        return "-"
    for number, message in enumerate(value):
        right = isinstance(message, dict) and isinstance(message.get("role"), str)
        if not right or message.get("content") is None:
            bad(key, f"message {number}: expected {{role, content}}, found {kind(message)}")
            return "-"
    return messages(value)


def _target(value: Json, key: str, bad: Callable[[str, str], None]) -> Json:
    """A text or a list of texts, any of which is right; numbers as Inspect writes them."""
    if value is None or value == "":
        return None
    items = value if isinstance(value, list) else [value]
    if not items or any(
        item is None or item == "" or isinstance(item, list | dict) for item in items
    ):
        bad(
            key,
            "expected a text, or a list of texts that are not empty: an empty target is in every answer",
        )
        return None
    texts = [item if isinstance(item, str) else str(item) for item in items]
    return texts if isinstance(value, list) else texts[0]


def _metadata(
    found: dict[str, Json], fields: FieldMap, bad: Callable[[str, str], None]
) -> dict[str, Json]:
    if fields.metadata:
        return {column: found.get(column) for column in fields.metadata}
    value = found.get("metadata")
    if isinstance(value, str) and value.strip():
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            bad("metadata", "expected a JSON object in this cell")
            return {}
    if value is None or value == "":
        return {}
    if not isinstance(value, dict):
        bad("metadata", f"expected an object, found {kind(value)}")
        return {}
    return value


def is_log(path: Path) -> bool:
    """Whether the file is a log: a zip, or a JSON object; samples are an array, lines or a table."""
    if path.suffix.lower() in {".jsonl", ".csv"}:
        return False
    start = start_of(path, 4096)
    return path.suffix.lower() == ".eval" or start[:2] == b"PK" or bool(re.match(rb"\s*\{", start))
