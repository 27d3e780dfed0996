"""The short form of assertions in CSV cells: `contains:Paris`, `levenshtein(5):text`, or the text itself."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Final

from releasecheck.importers.promptfoo.kinds import KNOWN
from releasecheck.model.nearest import nearest

if TYPE_CHECKING:
    from releasecheck.canonical import Json

_FORM: Final = re.compile(r"(not-)?([a-z][a-z0-9:-]*?)(?:\((\d+(?:\.\d+)?)\))?(?::([\s\S]*))?")
_OLD: Final = {"fn": "javascript", "eval": "javascript", "grade": "llm-rubric"}
_LISTS: Final = {"contains-all", "contains-any", "icontains-all", "icontains-any"}
_NEAR: Final = 0.85
"""How alike a prefix must be to a type to be taken for a misspelt one, not for the beginning of a text."""


class Misspelt(ValueError):
    """A cell that begins almost like an assertion."""


def read_cell(cell: str) -> dict[str, Json]:
    """The assertion that a cell stands for.

    Raises:
        Misspelt: it begins with something that is nearly the name of an assertion.
    """
    whole, cell = cell, cell.strip()
    if cell.startswith("file://"):
        kind = "python" if re.search(r"\.py(:|$)", cell) else "javascript"
        return {"type": kind, "value": cell}
    head, colon, rest = cell.partition(":")
    if colon and head in _OLD:
        return {"type": _OLD[head], "value": rest.strip()}
    found = _FORM.fullmatch(cell)
    if found is None or found[2] not in KNOWN:
        _check_head(head, found)
        return {"type": "equals", "value": whole}
    kind = (found[1] or "") + found[2]
    read: dict[str, Json] = {"type": kind}
    value = (found[4] or "").strip()
    if found[2] in _LISTS:
        read["value"] = _listed(value)
    elif value:
        read["value"] = value
    if found[3] is not None:
        read["threshold"] = float(found[3])
    return read


def _check_head(head: str, found: re.Match[str] | None) -> None:
    if found is None or found[4] is None:
        return
    near = nearest(found[2], KNOWN, cutoff=_NEAR)
    if near is not None:
        message = f"{head[:60]!r} is no assertion, so that the whole cell would be the text to equal; did you mean {near!r}? (write `equals:` before a text that begins so)"
        raise Misspelt(message)


def _listed(value: str) -> list[str]:
    rows = list(csv.reader([" ".join(value.splitlines())], skipinitialspace=True))
    return [item.strip() for item in (rows[0] if rows else [])]
