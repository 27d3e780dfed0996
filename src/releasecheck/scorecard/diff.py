"""Which words of two texts differ, so that a reader need not compare them by eye.

Ranges are found here once; the page shows them as they are, with a script and without one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Range: TypeAlias = tuple[int, int]
"""Start and end in a text."""
Mark: TypeAlias = tuple[int, int, int]
"""Start, end and for which reason (a sum of `AGAINST_EXPECTED` and `AGAINST_BASELINE`)."""
Relation: TypeAlias = Literal["same", "begins", "space", "less", "more", "differs", "apart"]
AGAINST_EXPECTED: Final = 1
AGAINST_BASELINE: Final = 2
RELATIONS: Final[dict[Relation, str]] = {
    "same": "the same as the answer",
    "begins": "the same as the answer as far as both are shown",
    "space": "differs from the answer in white space only, marked",
    "less": "lacks what is marked in the answer",
    "more": "has more than the answer, marked",
    "differs": "differs from the answer where marked",
    "apart": "has little in common with the answer",
}
"""What is said of a text beside the answer."""

# A word, a run of white space, or one other sign. Scripts without spaces between words are compared by character.
_TOKEN: Final = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
    r"|[ \t]+|\n|\s|[^\w\s]"
)
_LITTLE: Final = 0.25
"""Share of words in common below which marks would cover everything and help nobody."""
_SHORT: Final = 4
"""Words up to which everything may be marked: a reader sees at once what differs."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Two texts compared."""

    relation: Relation
    left: tuple[Range, ...] = ()
    """Parts of the first text that the second one has not."""
    right: tuple[Range, ...] = ()
    """Parts of the second text that the first one has not."""


def differences(
    left: str, right: str, *, left_goes_on: bool = False, right_goes_on: bool = False
) -> Difference:
    """Compare word by word. What goes on is the beginning of a longer text: of its rest nothing is said."""
    if left == right:
        return Difference("begins" if left_goes_on or right_goes_on else "same")
    ours, theirs = _tokens(left), _tokens(right)
    lost, new = _unequal(ours, theirs)
    lost = _without_end(lost, len(ours)) if right_goes_on else lost
    new = _without_end(new, len(theirs)) if left_goes_on else new
    if not lost and not new:
        return Difference("begins")
    gone = tuple(_spans(ours, lost, left))
    came = tuple(_spans(theirs, new, right))
    if "".join(left.split()) == "".join(right.split()):
        return Difference("space", gone, came)
    if _apart(ours, lost) and _apart(theirs, new):
        return Difference("apart")
    return Difference("differs" if gone and came else "more" if gone else "less", gone, came)


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _unequal(ours: Sequence[str], theirs: Sequence[str]) -> tuple[list[Range], list[Range]]:
    """Runs of tokens that only one side has."""
    from rapidfuzz.distance import Indel

    # One character for each different token: a number's hash is the same in every process, a text's is not.
    known: dict[str, str] = {}
    first, second = (
        "".join([known.setdefault(token, chr(len(known) + 1)) for token in side])
        for side in (ours, theirs)
    )
    lost: list[Range] = []
    new: list[Range] = []
    for operation in Indel.opcodes(first, second):
        if operation.tag != "equal":
            lost.append((operation.src_start, operation.src_end))
            new.append((operation.dest_start, operation.dest_end))
    return [run for run in lost if run[0] < run[1]], [run for run in new if run[0] < run[1]]


def _without_end(runs: list[Range], length: int) -> list[Range]:
    return runs[:-1] if runs and runs[-1][1] == length else runs


def _apart(tokens: Sequence[str], runs: Iterable[Range]) -> bool:
    words = sum(1 for token in tokens if not token.isspace())
    if words <= _SHORT:
        return False
    lone = sum(1 for start, end in runs for token in tokens[start:end] if not token.isspace())
    return words - lone < _LITTLE * words


def _spans(tokens: Sequence[str], runs: Iterable[Range], text: str) -> Iterator[Range]:
    """The runs as places in the text; those with nothing but blanks between them are one."""
    ends = [0]
    for token in tokens:
        ends.append(ends[-1] + len(token))
    start = end = -1
    for run in runs:
        begin, stop = ends[run[0]], ends[run[1]]
        if end >= 0 and not text[end:begin].strip(" "):
            # Two blanks that differ are each a finding; a blank between two words is none.
            end = stop
            continue
        if end >= 0:
            yield start, end
        start, end = begin, stop
    if end >= 0:
        yield start, end


def overlay(expected: Sequence[Range], baseline: Sequence[Range]) -> tuple[Mark, ...]:
    """Both kinds of marks of one text, cut where one begins or ends."""
    sides = ((AGAINST_EXPECTED, expected), (AGAINST_BASELINE, baseline))
    changes: dict[int, int] = {}
    for flag, ranges in sides:
        for start, end in ranges:
            changes[start] = changes.get(start, 0) + flag
            changes[end] = changes.get(end, 0) - flag
    marks: list[Mark] = []
    since = why = 0
    for place in sorted(changes):
        if why and since < place:
            marks.append((since, place, why))
        since, why = place, why + changes[place]
    return tuple(marks)


def segments(text: str, marks: Iterable[Mark]) -> Iterator[tuple[str, str]]:
    """The text in pieces, each with the class of its mark, if any. Marked white space is made visible."""
    done = 0
    for start, end, why in marks:
        if done < start:
            yield text[done:start], ""
        piece = text[start:end]
        yield (_seen(piece), f"m{why} space") if piece.isspace() else (piece, f"m{why}")
        done = end
    if done < len(text):
        yield text[done:], ""


def _seen(space: str) -> str:
    return "".join({" ": "·", "\t": "⇥", "\n": "⏎\n"}.get(char, "⍽") for char in space)


def in_utf16(text: str, marks: Iterable[Mark]) -> list[int]:
    """The marks as one flat list whose places count as JavaScript does."""
    if len(text) == len(text.encode("utf-16-le", "surrogatepass")) // 2:
        return [number for mark in marks for number in mark]
    places = [0]
    for char in text:
        places.append(places[-1] + (2 if ord(char) > 0xFFFF else 1))
    return [n for start, end, why in marks for n in (places[start], places[end], why)]
