"""Which words differ: marks cover what differs, leave what is common, and never move a character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from releasecheck.scorecard.diff import Range, differences, in_utf16, overlay, segments

TEXTS = st.text(alphabet="ab \n\t.é日本\U0001f600", max_size=40)


def _marked(text: str, ranges: tuple[Range, ...]) -> list[str]:
    return [text[start:end] for start, end in ranges]


@pytest.mark.parametrize(
    ("left", "right", "relation", "gone", "came"),
    [
        ("", "", "same", [], []),
        ("the quick fox", "the slow fox", "differs", ["quick"], ["slow"]),
        ("one two three", "one three", "more", ["two "], []),
        ("a big red ox", "a small blue ox", "differs", ["big red"], ["small blue"]),
        ("one three", "one two three", "less", [], ["two "]),
        ("two words", "two  words", "space", [" "], ["  "]),
        ("tail", "tail\n", "space", [], ["\n"]),
        ("日本語の文", "日本人の文", "differs", ["語"], ["人"]),
        ("yes", "no", "differs", ["yes"], ["no"]),
        ("one two three four five", "six seven eight nine ten", "apart", [], []),
        ('{\n  "a": 1,\n  "b": 2\n}', '{\n  "a": 1,\n  "b": 3\n}', "differs", ["2"], ["3"]),
    ],
)  # fmt: skip
def test_differences__by_word(
    left: str, right: str, relation: str, gone: list[str], came: list[str]
) -> None:
    found = differences(left, right)
    assert found.relation == relation
    assert _marked(left, found.left) == gone
    assert _marked(right, found.right) == came


def test_differences__of_what_goes_on_nothing_is_said() -> None:
    """B119: where one text was cut, the rest of the other one is not a difference."""
    assert differences("a b c d", "a b c d", left_goes_on=True).relation == "begins"
    assert differences("a b c d", "a b", right_goes_on=True).relation == "begins"
    assert differences("a b", "a b c d", left_goes_on=True).relation == "begins"
    found = differences("a b c d", "x b", right_goes_on=True)
    assert (found.left, found.right) == (((0, 1),), ((0, 1),))


@given(TEXTS, TEXTS)
def test_differences__without_its_marks_both_texts_are_one(left: str, right: str) -> None:
    found = differences(left, right)
    if found.relation == "apart":
        return
    rests = []
    for text, ranges in ((left, found.left), (right, found.right)):
        assert all(start < end for start, end in ranges)
        marks = tuple((*one, 1) for one in ranges)
        # Blanks between two marks count as part of them; they may be on one side only.
        rests.append("".join(piece for piece, why in segments(text, marks) if not why))
    assert rests[0].replace(" ", "") == rests[1].replace(" ", "")


@given(TEXTS, TEXTS, TEXTS)
def test_overlay__keeps_every_character_and_both_reasons(a: str, text: str, b: str) -> None:
    first, second = differences(a, text).right, differences(b, text).right
    marks = overlay(first, second)
    places = [place for start, end, _ in marks for place in (start, end)]
    assert places == sorted(places)
    for flag, ranges in ((1, first), (2, second)):
        covered = {p for start, end, why in marks if why & flag for p in range(start, end)}
        assert covered == {p for start, end in ranges for p in range(start, end)}
    seen = "".join(piece for piece, _ in segments(text, marks))
    assert seen.replace("·", " ").replace("⇥", "\t").replace("⏎\n", "\n") == text


def test_in_utf16__counts_as_a_browser_does() -> None:
    assert in_utf16("abc", [(1, 2, 3)]) == [1, 2, 3]
    assert in_utf16("\U0001f600b\U0001f600", [(1, 2, 1), (2, 3, 2)]) == [2, 3, 1, 3, 5, 2]
