"""Which models gave what counts, and what is said of a mixture."""

from __future__ import annotations

import json

import pytest

from releasecheck.merge.models import model_in
from releasecheck.model.record import LONGEST_FINGERPRINT, lines_of, read_record
from releasecheck.model.scorecard import MODELS_NAMED
from releasecheck.pipeline.models import mixtures, models_in, models_seen, other_models
from releasecheck.transport.reading import fingerprint
from tests.builders import MemoryFile, make_frame, no_output, output, score


def test_merge__counts_the_models_of_the_answers_that_count() -> None:
    """Of two answers to a case only the first counts, and a failed call was answered by nobody."""
    frame = make_frame(4)
    first = MemoryFile(
        frame.header(),
        output("c0")._replace(fingerprint="a / 1"),
        output("c1")._replace(fingerprint="a / 1"),
        output("c2"),
        no_output("c3"),
    )
    again = MemoryFile(
        frame.header(attempt=2),
        output("c0", attempt=2)._replace(fingerprint="z"),
        output("c3", attempt=2)._replace(fingerprint="b"),
    )
    merged = frame.merge(first, again)
    assert merged.models == frame.merge(again, first).models == {"a / 1": 2, "b": 1}
    assert list(mixtures(merged)) == [
        "the target answered as 2 models: 'a / 1' for 2 answers, 'b' for 1 answer; its numbers mix both"
    ]


def test_merge__counts_the_models_of_the_scores_that_count() -> None:
    frame = make_frame(3, judges=("one", "two"))
    said = ("model=j-1", "fingerprint=fp_7", "refused=seed")
    records = [
        part
        for at in range(3)
        for part in (
            output(f"c{at}"),
            score(f"c{at}", judge="one")._replace(notes=said if at else ("model=j-2",)),
            score(f"c{at}", judge="two"),
        )
    ]
    merged = frame.merge(MemoryFile(frame.header(), *records))
    assert merged.models == {}
    assert merged.judge_models == {"one": {"j-1 / fp_7": 2, "j-2": 1}}
    assert list(mixtures(merged)) == [
        "the judge one scored as 2 models: 'j-1 / fp_7' for 2 scores, 'j-2' for 1 score; its numbers mix both"
    ]


@pytest.mark.parametrize(
    ("notes", "model"),
    [
        ((), None),
        (("resumed_after_deadline",), None),
        (("model=",), None),
        (("fingerprint=fp",), "fp"),
        (("model=b", "fingerprint=2", "model=a"), "a + b / 2"),
        (("model=" + "m" * 500,), "m" * LONGEST_FINGERPRINT),
    ],
)
def test_model_in__reads_notes(notes: tuple[str, ...], model: str | None) -> None:
    assert model_in(notes) == model


def test_models_seen__names_the_busiest_and_counts_the_others() -> None:
    frame = make_frame(30)
    records = [output(f"c{at}")._replace(fingerprint=f"m{at // 2 * 2:02}") for at in range(29)]
    seen = models_seen(frame.merge(MemoryFile(frame.header(), *records)))
    assert len(seen["models"]) == 15
    records = [output(f"c{at}")._replace(fingerprint=f"m{at:02}") for at in range(30)]
    merged = frame.merge(MemoryFile(frame.header(), *records))
    seen = models_seen(merged)
    assert (len(seen["models"]), seen["more_models"]) == (MODELS_NAMED, 30 - MODELS_NAMED)
    (line,) = mixtures(merged)
    assert "30 models: 'm00' for 1 answer" in line
    assert "27 more; its numbers mix them all" in line


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ((None, None), None),
        (("", " "), None),
        ((True, {"a": 1}), None),
        (("gpt", "fp_1"), "gpt / fp_1"),
        ((None, 7), "7"),
        (("a\x1b[31m\nb\u202e", None), "a\ufffd[31m\ufffdb\ufffd"),
        (("x" * 900, "y"), "x" * LONGEST_FINGERPRINT),
    ],
)
def test_fingerprint__is_one_short_visible_text(said: tuple[object, ...], name: str | None) -> None:
    assert fingerprint(*said) == name


def test_output_record__a_fingerprint_is_written_both_ways_alike_and_read_back() -> None:
    """The fast way of writing gives the bytes of the slow one, and old lines have no such key."""
    record = output("c0")._replace(fingerprint='gpt "x" / fp')
    assert record.to_lines() == lines_of(record.to_json())
    assert read_record(json.loads(record.to_lines()[0]), "here") == record
    assert b"fingerprint" in record.to_lines()[1]
    assert b"fingerprint" not in output("c0").to_lines()[0]


def test_other_models__says_what_answered_then_and_now() -> None:
    assert other_models({"a": 3}, {"a": 80}) == ""
    assert other_models({}, {"a": 1}) == other_models({"a": 1}, {}) == ""
    assert (
        other_models({"b": 2, "c": 1, "d": 1}, {"a": 3})
        == "another model answered: 'a' then, 'b' and 'c' and 1 more now"
    )
    rows: list[dict[str, str | None]] = [
        {"fingerprint": "a"},
        {},
        {"fingerprint": None},
        {"fingerprint": "a"},
    ]
    assert models_in(rows) == {"a": 2}
