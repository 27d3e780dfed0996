"""The cases of a page as data, for its script to search: one JSON array in each block.

The keys of a record are short, since there are tens of thousands of them. A text is itself, or [its beginning,
characters left out, digest] when it was cut; marks are triples of start, end and reason. Of a case:

- `n` place in the plan (its anchor is `case-N`), `r` place among these cases with the worst first, `k` kind, `i` id
- `s` split, `t` tags, `w` file and line: names by their number in the last block
- `q` input, `e` expected (absent when nothing is), `o` trials, `x` number of trials that are not here
- `f` what flipped, `a` that it is in quarantine, `l` milliseconds of the slowest answer
- `b` in the baseline: `i` its other id, `a` answer or `x` why there is none, `c` cells
- `c` trials, scored, not applicable, failed, missing, pending

Of a trial: `n` number, `a` answer or `x` why there is none, `m` marks in the answer, `p` facts, `c` cells, `e` and
`b` how what is expected and the baseline's answer differ from it: relation, then marks. Of a cell: judge, word,
value, reason; empty ones at the end are left out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from releasecheck.scorecard.cases import ATTENTION, KINDS, WORDS, views
from releasecheck.scorecard.diff import RELATIONS, in_utf16
from releasecheck.scorecard.escape import visible
from releasecheck.scorecard.marked import compared
from releasecheck.scorecard.texts import shorten
from releasecheck.scorecard.verdict import SIGNS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markupsafe import Markup

    from releasecheck.canonical import Json
    from releasecheck.scorecard.cases import Before, CaseView, Cell, Lengths, Selection
    from releasecheck.scorecard.marked import Compared
    from releasecheck.scorecard.report import Report
    from releasecheck.scorecard.texts import Cut

BLOCK: Final = 250
"""Cases in one block: small enough to be read between two pictures of a screen."""
_ID: Final = 200
_KINDS: Final = list(KINDS)
_RELATIONS: Final = list(RELATIONS)
_WORDS: Final = list(WORDS)
# What HTML looks for inside a script element; the rest of JSON is no markup.
_MARKUP: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})

Record: TypeAlias = "dict[str, Any]"


@dataclass(slots=True)
class _Names:
    """Texts that many cases share, each said once."""

    found: dict[str, int] = field(default_factory=dict)

    def __call__(self, name: str) -> int:
        return self.found.setdefault(name, len(self.found))

    def listed(self) -> list[str]:
        return [visible(name) for name in self.found]


@dataclass(slots=True)
class CaseData:
    """The blocks of a page, and what names stand in them."""

    report: Report
    selection: Selection
    lengths: Lengths
    judges: _Names = field(default_factory=_Names)
    splits: _Names = field(default_factory=_Names)
    tags: _Names = field(default_factory=_Names)
    paths: _Names = field(default_factory=_Names)

    def blocks(self) -> Iterator[Markup]:
        """Arrays of records in plan order; the last block is the one of names."""
        records: list[Record] = []
        for view in views(self.report, self.selection, self.lengths):
            records.append(self._record(view))
            if len(records) == BLOCK:
                yield _safe(records)
                records = []
        if records:
            yield _safe(records)
        yield _safe(self._head())

    def _head(self) -> dict[str, Json]:
        return {
            "kinds": [[kind, *look] for kind, look in KINDS.items()],
            "attention": list(ATTENTION),
            "signs": dict(SIGNS),
            "words": [[word, WORDS[word]] for word in _WORDS],
            "relations": [[key, words] for key, words in RELATIONS.items()],
            "judges": list(self.judges.listed()),
            "splits": list(self.splits.listed()),
            "tags": list(self.tags.listed()),
            "paths": list(self.paths.listed()),
        }

    def _record(self, view: CaseView) -> Record:
        tally = view.tally
        path, _, line = view.where.rpartition(":")
        record: Record = {
            "n": view.index,
            "r": self.selection.held[view.id],
            "k": _KINDS.index(view.kind),
            "i": visible(shorten(view.id, _ID)),
            "s": self.splits(view.split),
            "w": [self.paths(path), int(line)],
            "q": _text(view.input),
            "o": [self._trial(view, one) for one in compared(view)],
            "c": [
                tally.trials, tally.scored, tally.not_applicable, tally.failed, tally.missing, tally.pending,
            ],
        }  # fmt: skip
        if view.tags:
            record["t"] = [self.tags(tag) for tag in view.tags]
        if view.expected is not None:
            record["e"] = _text(view.expected)
        if view.more_trials:
            record["x"] = view.more_trials
        if view.flips:
            record["f"] = [visible(words) for words in view.flips]
        if view.aside:
            record["a"] = [visible(words) for words in view.aside]
        if view.before is not None:
            record["b"] = self._before(view.before, view.id)
        if view.slowest is not None:
            record["l"] = round(view.slowest, 3)
        return record

    def _trial(self, view: CaseView, one: Compared) -> Json:
        trial = one.trial
        found: dict[str, Any] = {
            "n": trial.number,
            **_answer(trial.answer, trial.note),
            "c": [self._cell(cell) for cell in trial.cells],
        }
        if trial.facts:
            found["p"] = visible(", ".join(trial.facts))
        if trial.answer is not None and one.marks:
            found["m"] = in_utf16(visible(trial.answer.text), one.marks)
        before = view.before.answer if view.before is not None else None
        for key, beside, text in (("e", one.expected, view.expected), ("b", one.before, before)):
            if beside is not None and text is not None:
                marks = in_utf16(visible(text.text), beside.marks)
                found[key] = [_RELATIONS.index(beside.relation), *marks]
        return found

    def _cell(self, cell: Cell) -> Json:
        found: list[Json] = [self.judges(cell.judge), _WORDS.index(cell.word)]
        if cell.value or cell.reason.text:
            found.append(cell.value)
        if cell.reason.text:
            found.append(_text(cell.reason))
        return found

    def _before(self, before: Before, case: str) -> Json:
        found: dict[str, Any] = _answer(before.answer, before.note)
        if before.id != case:
            found["i"] = visible(shorten(before.id, _ID))
        found["c"] = [self._cell(cell) for cell in before.cells.values()]
        return found


def _answer(answer: Cut | None, note: str) -> dict[str, Any]:
    return {"x": visible(note)} if answer is None else {"a": _text(answer)}


def _text(cut: Cut) -> Json:
    text = visible(cut.text)
    return [text, cut.more, cut.digest] if cut.more else text


def _safe(value: object) -> Markup:
    """JSON that stands inside a script element and cannot end it."""
    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.translate(_MARKUP))  # noqa: S704 - no character of it is markup any more
