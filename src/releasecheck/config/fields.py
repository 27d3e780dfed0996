"""One row to one case: where our fields are, what may stand in them, and where the rest goes.

Fields that are none of ours become metadata under their own names, so that `{{ metadata.context }}`
works on rows as they come, and nothing of a row can stand where our own fields do (B16). A dotted path
in `fields` takes its part of a nested object; the rest of that object is left out.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from releasecheck.config.rows import kind
from releasecheck.errors import Problem
from releasecheck.model.base import IDENTIFIER
from releasecheck.model.case import CLUSTER, Case, Source, cluster_of
from releasecheck.model.nearest import listing, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from releasecheck.canonical import Json
    from releasecheck.config.rows import Row, Rows
    from releasecheck.model.suite import CaseFiles

LONGEST_ID: Final = 512
"""Characters of a case id."""
LONGEST_TAG: Final = 100
"""Characters of a tag."""
OURS: Final = ("id", "input", "expected", "split", "tags", "metadata")
_SECTIONS: Final = {"judges", "gates", "assert", "asserts"}
"""Sections of a config: inside of a case they would be data that checks nothing (B22)."""
_GOLD: Final = {
    "answer", "answers", "correct_answer", "expected_answer", "expected_output", "gold", "gold_answer",
    "ground_truth", "groundtruth", "ideal", "label", "labels", "reference", "reference_answer",
    "references", "solution",
}  # fmt: skip
"""What other tools call our `expected`: left over in a row, it would hand the target the answer."""
_ABSENT: Final = object()


class CaseReader:
    """Turns the rows of one file into cases; what is wrong goes to the file's problems."""

    def __init__(self, spec: CaseFiles, rows: Rows, source: str, *, csv: bool) -> None:
        self._spec, self._rows, self._source, self._csv = spec, rows, source, csv
        self._where = {name: str(getattr(spec.fields, name)) for name in OURS}
        # The first key of every path we read: what is left of the row is metadata.
        self._taken = {path if csv else path.partition(".")[0] for path in self._where.values()}
        self._taken |= set(self._where.values())
        self._near: dict[str, str | None] = {}

    def columns(self) -> bool:
        """Whether all columns that must be there are there; for CSV, once for the file (B01)."""
        if not self._csv or not self._rows.columns:
            return True
        found = self._rows.columns
        needed = {"id", "input", *self._spec.fields.model_fields_set}
        absent = [
            self._where[name] for name in OURS if name in needed and self._where[name] not in found
        ]
        for name in absent:
            near = nearest(name, found)
            hint = f"; did you mean {near!r}? Say so in `fields`" if near else ""
            self._bad(1, None, f"there is no column {name!r}; found {listing(found)}{hint}")
        return not absent

    def case(self, row: Row) -> Case | None:
        """The case of a row, or None after noting what is wrong."""
        before = len(self._rows.problems)
        name = self._id(row)
        content = self._input(row)
        expected = self._get(row, "expected")
        split = self._split(row)
        tags = self._tags(row)
        metadata = self._metadata(row)
        if len(self._rows.problems) > before:
            return None
        return Case(
            id=name,
            input=content,
            expected=None if expected is _ABSENT else expected,
            split=split,
            tags=tags,
            metadata=metadata,
            source=Source(self._source, row.line),
            index=-1,
        )

    def _bad(self, line: int, key: str | None, message: str) -> None:
        self._rows.problems.append(Problem(message, self._rows.path, line, key=key))

    def _get(self, row: Row, name: str) -> Json:
        path = self._where[name]
        if path in row.fields or self._csv:
            return row.fields.get(path, _ABSENT)
        value: Json = row.fields
        for part in path.split("."):
            if not isinstance(value, dict) or part not in value:
                return _ABSENT
            value = value[part]
        return value

    def _id(self, row: Row) -> str:
        value, key = self._get(row, "id"), self._where["id"]
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if value is _ABSENT:
            hint = self._absent_hint(row, "id")
            self._bad(row.line, key, f"the row has no id{hint}")
        elif not isinstance(value, str):
            self._bad(row.line, key, f"expected a text or whole number as id, found {kind(value)}")
        elif not value.strip():
            self._bad(row.line, key, "the id is empty")
        elif value != value.strip():
            self._bad(row.line, key, f"the id {value[:40]!r} has white space around it; remove it")
        elif bad := _control(value):
            self._bad(row.line, key, f"the id holds the control character {bad}; remove it")
        elif len(value) > LONGEST_ID:
            self._bad(row.line, key, f"the id has {len(value)} characters; at most {LONGEST_ID}")
        else:
            # Two spellings of one accented letter look alike everywhere and must be one id.
            return unicodedata.normalize("NFC", value)
        return ""

    def _input(self, row: Row) -> Json:
        value, key = self._get(row, "input"), self._where["input"]
        if value is _ABSENT and self._csv and key in self._rows.columns:
            value = ""
        if value is _ABSENT:
            self._bad(row.line, key, f"the row has no input{self._absent_hint(row, 'input')}")
        elif value is None:
            self._bad(row.line, key, "the input is null; give a value, or remove the row")
        elif isinstance(value, str) and not value.strip() and self._spec.empty_input == "reject":
            what = "only white space" if value else "an empty text"
            self._bad(
                row.line,
                key,
                f"the input is {what}; set `empty_input: run` if that is the question",
            )
        return value

    def _absent_hint(self, row: Row, name: str) -> str:
        path, names = self._where[name], list(row.fields)
        near = nearest(path, [key for key in names if key not in self._taken])
        inside = next((k for k, v in row.fields.items() if isinstance(v, dict) and name in v), None)
        if inside is not None:
            return f"; there is one inside {inside!r}: set `fields: {{{name}: {inside}.{name}}}`"
        if near:
            return f"; did you mean {near!r}? Say so in `fields: {{{name}: {near}}}`"
        return f"; its fields are {listing(names)} - name the right one in `fields`"

    def _split(self, row: Row) -> str:
        value, key = self._get(row, "split"), self._where["split"]
        if value is _ABSENT:
            return self._spec.split
        if value == "all":
            self._bad(row.line, key, "`all` is every case and can be no split; use another name")
        elif not isinstance(value, str) or not re.fullmatch(IDENTIFIER[1:-1], value):
            found = repr(value[:40]) if isinstance(value, str) else kind(value)
            self._bad(
                row.line,
                key,
                f"expected a split of lower-case letters, digits, `_` and `-`; found {found}",
            )
        return str(value)

    def _tags(self, row: Row) -> tuple[str, ...]:
        value, key = self._get(row, "tags"), self._where["tags"]
        if value is _ABSENT:
            return ()
        if self._csv:
            value = [tag for part in re.split("[,;]", value) if (tag := part.strip())]
        if not isinstance(value, list):
            self._bad(row.line, key, f"expected a list of texts, found {kind(value)}")
            return ()
        for tag in value:
            if (
                not isinstance(tag, str)
                or not tag.strip()
                or _control(tag)
                or len(tag) > LONGEST_TAG
            ):
                what = (
                    "a text that is too long or has control characters" if tag else "an empty text"
                )
                self._bad(
                    row.line,
                    key,
                    f"expected texts of 1 to {LONGEST_TAG} characters as tags, found "
                    + (what if isinstance(tag, str) else kind(tag)),
                )
                return ()
        return tuple(dict.fromkeys(value))

    def _metadata(self, row: Row) -> dict[str, Json]:
        own = self._own_metadata(row)
        for key, value in row.fields.items():
            if key in self._taken or (self._csv and self._is_meta_column(key)):
                continue
            self._section(row, key, value)
            if (near := self._near_miss(row, key)) is not None:
                self._bad(
                    row.line,
                    key,
                    f"unknown field; did you mean {near!r}? (write it under `metadata` if it is data)",
                )
            elif key.lower() in _GOLD:
                self._bad(
                    row.line,
                    key,
                    "it looks like a gold answer, and as metadata the target could see it; read it with "
                    f"`fields: {{expected: {key}}}`, or move it under `metadata` if the target may have it",
                )
            elif key in own:
                self._bad(
                    row.line, key, "this field stands in the row and in its `metadata`; keep one"
                )
            else:
                own[key] = value
        named = own.get(CLUSTER)
        if named not in (None, "") and cluster_of(own) is None:
            self._bad(
                row.line,
                CLUSTER,
                f"expected a text or a whole number, by which cases of one cluster know each other; found {kind(named)}",
            )
        return own

    def _own_metadata(self, row: Row) -> dict[str, Json]:
        start = self._where["metadata"]
        if self._csv:
            if start in row.fields:
                self._bad(row.line, start, f"name a column for each key: `{start}.KEY`")
            return {
                key[len(start) + 1 :]: value
                for key, value in row.fields.items()
                if self._is_meta_column(key)
            }
        value = self._get(row, "metadata")
        if value is _ABSENT:
            return {}
        if not isinstance(value, dict):
            self._bad(row.line, start, f"expected an object, found {kind(value)}")
            return {}
        for key, item in value.items():
            self._section(row, key, item, inside=f"{start}.")
        return dict(value)

    def _is_meta_column(self, key: str) -> bool:
        return key.startswith(self._where["metadata"] + ".")

    def _section(self, row: Row, key: str, value: Json, inside: str = "") -> None:
        names: Iterable[str] = (key, *value) if isinstance(value, dict) else (key,)
        for name in names:
            inner = value[name] if name != key and isinstance(value, dict) else value
            if name in _SECTIONS and isinstance(inner, list | dict):
                self._bad(
                    row.line,
                    inside + (key if name == key else f"{key}.{name}"),
                    "this belongs in the config; inside of a case it would be data and check nothing",
                )

    def _near_miss(self, row: Row, key: str) -> str | None:
        """The field of ours that a strange one is probably meant to be, if that one is absent."""
        if key not in self._near:
            self._near[key] = nearest(key, self._where.values(), cutoff=0.8)
        near = self._near[key]
        absent = any(  # that id and input are absent is said with the same hint already
            path == near and name not in {"id", "input"} and self._get(row, name) is _ABSENT
            for name, path in self._where.items()
        )
        return near if absent else None


def _control(text: str) -> str | None:
    """The first character that breaks lines or terminals, as `U+000A`."""
    for char in text:
        if unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"}:
            return f"U+{ord(char):04X}"
    return None
