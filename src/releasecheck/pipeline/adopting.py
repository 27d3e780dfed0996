"""Cases, shards and run id of an untrusted plan, taken as data and nothing else (P-11).

Who wrote the folder may be hostile: sizes are bounded, every line is checked as a dataset's row would be,
every digest is worked out anew, and no link is followed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

from msgspec.structs import replace
from pydantic import Field, ValidationError

from releasecheck.canonical import JsonProblem, digest_bytes, parse_json
from releasecheck.config.fields import CaseReader
from releasecheck.config.rows import Row, Rows
from releasecheck.errors import DigestMismatch, Untrusted, UsageError
from releasecheck.model.base import Digest, Document, FromList, require_schema
from releasecheck.model.case import Source
from releasecheck.model.plan import Mode, Selection, Shard
from releasecheck.model.policy import Adopted
from releasecheck.model.suite import CaseFiles
from releasecheck.plan import MOST, PLAN_FILE, Selected, case_file
from releasecheck.plan.freeze import cases_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.model.case import Case

MOST_PLAN_BYTES: Final = 32 << 20
MOST_CASE_BYTES: Final = 256 << 20
"""Of one case file."""
MOST_LINE_BYTES: Final = 32 << 20
MOST_CASES: Final = 1_000_000
LONGEST_PATH: Final = 1024
"""Characters of the path that a case says it comes from."""


class _Foreign(Document):
    """What is read of an untrusted `plan.json`."""

    run_id: Annotated[str, Field(pattern=r"^rc-[0-9a-f]{12}-[a-z0-9-]{1,40}$")]
    plan_digest: Digest
    suite: str
    mode: Mode
    selection: Selection
    cases: Annotated[int, Field(ge=1, le=MOST_CASES)]
    cases_digest: Digest
    shards: Annotated[tuple[Shard, ...], FromList, Field(min_length=1, max_length=MOST)]


@dataclass(frozen=True, slots=True)
class AdoptedPlan:
    """What was taken."""

    identity: Adopted
    mode: Mode
    of: int
    """Cases in the whole suite, as the plan says."""
    cases: tuple[Case, ...]
    """In plan order."""
    layout: tuple[tuple[int, ...], ...]
    """Case indices of every shard."""

    def shards(self, cases: Sequence[Case]) -> list[list[Case]]:
        """The cases as the untrusted plan dealt them out."""
        return [[cases[index] for index in held] for held in self.layout]

    def selected(self) -> Selected:
        """All of its cases, and that they were adopted."""
        asked = "adopted" if self.mode == "full" else f"adopted, {self.mode}"
        return Selected(self.cases, self.mode, Selection(asked=asked, of=self.of))


def read_adopted(folder: Path, suite: str) -> AdoptedPlan:
    """Take cases, shards and run id of the plan in `folder`.

    Raises:
        UsageError: there is no plan, or one of another major version.
        Untrusted: it is no plan of this suite that we could have written; what is wrong is named.
    """
    if not (folder / PLAN_FILE).is_file():
        message = f"{folder}: there is no {PLAN_FILE} in it; name the plan folder to adopt"
        raise UsageError(message)
    plan = _plan(folder)
    if plan.suite != suite:
        _refuse(
            f"{folder / PLAN_FILE}", f"it is of the suite {plan.suite[:80]!r}, expected {suite!r}"
        )
    cases: dict[int, Case] = {}
    layout = []
    ids: set[str] = set()
    for shard in plan.shards:
        held = []
        for case in _cases(folder, shard):
            if case.index in cases or case.id in ids:
                _refuse(shard.file, f"the case {case.id[:80]!r} is in the plan twice")
            ids.add(case.id)
            cases[case.index] = case
            held.append(case.index)
        if held != sorted(held):
            _refuse(shard.file, "its cases are out of plan order")
        layout.append(tuple(held))
    if sorted(cases) != list(range(plan.cases)):
        _refuse(PLAN_FILE, f"it plans {plan.cases} cases, and its files hold {len(cases)} others")
    ordered = tuple(cases[index] for index in range(plan.cases))
    found = cases_digest([(case.id, case.digest, case.split, case.tags) for case in ordered])
    _same(f"{PLAN_FILE}: cases_digest", found, plan.cases_digest)
    identity = Adopted(run_id=plan.run_id, plan_digest=plan.plan_digest)
    return AdoptedPlan(
        identity, plan.mode, max(plan.selection.of, len(ordered)), ordered, tuple(layout)
    )


def _plan(folder: Path) -> _Foreign:
    path = folder / PLAN_FILE
    document = _json(bounded_bytes(path, MOST_PLAN_BYTES), str(path))
    if not isinstance(document, dict):
        _refuse(str(path), "expected a JSON object")
    require_schema(document.get("schema"), "plan", path=str(path))
    try:
        plan = _Foreign.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        _refuse(str(path), f"{'.'.join(map(str, first['loc']))[:80]}: {first['msg'][:200]}")
    if not plan.run_id.startswith(f"rc-{plan.plan_digest.removeprefix('sha256:')[:12]}-"):
        _refuse(str(path), "its run id is not one of its own plan digest")
    for index, shard in enumerate(plan.shards):
        if shard.index != index or shard.file != case_file(index):
            _refuse(str(path), f"shards.{index}: it has another number or file than its own")
    return plan


def _cases(folder: Path, shard: Shard) -> Iterator[Case]:
    path = folder / shard.file
    data = bounded_bytes(path, MOST_CASE_BYTES)
    _same(shard.file, digest_bytes(data), shard.digest)
    lines = data.splitlines(keepends=True)
    if len(lines) != shard.cases:
        _refuse(shard.file, f"it holds {len(lines)} cases, the plan says {shard.cases}")
    for number, line in enumerate(lines, start=1):
        place = f"{shard.file}:{number}"
        if len(line) > MOST_LINE_BYTES:
            _refuse(place, f"the line is longer than {MOST_LINE_BYTES:,} bytes")
        yield _case(_json(line, place), place)


_ANY: Final = CaseFiles(path="adopted", empty_input="run")


def _case(row: Json, place: str) -> Case:
    """A case that a dataset of ours could hold, as it was written."""
    if not isinstance(row, dict):
        _refuse(place, "expected a JSON object")
    names = ("id", "input", "expected", "split", "tags", "metadata")
    rows = Rows(place)
    source, index = row.get("source"), row.get("index")
    fields = {name: row[name] for name in names if name in row}
    case = CaseReader(_ANY, rows, "", csv=False).case(Row(fields, 1))
    if case is None:
        _refuse(place, f"not a case: {rows.problems[0].key}: {rows.problems[0].message}")
    if (row.get("id"), row.get("split"), row.get("tags"), row.get("metadata")) != (
        case.id,
        case.split,
        list(case.tags),
        case.metadata,
    ):
        _refuse(place, "its id, split, tags or metadata are not written as we write them")
    if type(index) is not int or not 0 <= index < MOST_CASES:
        _refuse(place, "its index is no whole number in the plan")
    case = replace(case, index=index, source=_source(source, place))
    _same(f"{place}: case {case.id[:80]!r}", case.digest, row.get("digest"))
    return case


def _source(source: Json, place: str) -> Source:
    path: Any = source.get("path") if isinstance(source, dict) else None
    line: Any = source.get("line") if isinstance(source, dict) else None
    sound = isinstance(path, str) and path.isprintable() and 0 < len(path) <= LONGEST_PATH
    if not sound or type(line) is not int or not 1 <= line <= MOST_CASE_BYTES:
        _refuse(place, "its source is no path and line")
    return Source(path, line)


def bounded_bytes(path: Path, most: int) -> bytes:
    """The bytes of a plain file of at most so many bytes; links are not followed.

    Raises:
        Untrusted: it is something else, or larger.
    """
    check_plain(path, most)
    return path.read_bytes()


def check_plain(path: Path, most: int) -> None:
    """Refuse what is no plain file of at most so many bytes (Untrusted)."""
    if path.is_symlink() or not path.is_file():
        _refuse(str(path), "expected a plain file, found a link, a folder or nothing")
    size = path.stat().st_size
    if size > most:
        _refuse(str(path), f"it has {size:,} bytes; at most {most:,} are adopted")


def _json(data: bytes, place: str) -> Json:
    try:
        return parse_json(data)
    except JsonProblem as problem:
        _refuse(place, f"not JSON: {problem}")


def _same(what: str, found: str, expected: object) -> None:
    if found != expected:
        raise DigestMismatch(what, found=found, expected=str(expected)[:80])


def _refuse(place: str, why: str) -> NoReturn:
    message = f"not adopted: {place}: {why}"
    raise Untrusted(message)
