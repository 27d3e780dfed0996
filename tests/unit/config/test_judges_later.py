"""Rules of judges whose scores come from elsewhere (S1-L2, S1-L4)."""

from __future__ import annotations

import pytest

from tests.unit.config.folder import Folder, config

GATE = "[{id: g, metric: j, min: 0.5}]"


@pytest.mark.parametrize(
    ("judge", "settle", "notes"),
    [
        ("deadline: 10m", "", []),
        ("deadline: 20m", "settle: {deadline: 5s}", []),
        ("scale: [0, 1]", "settle: {deadline: 10m}", []),
        (
            "deadline: 29s",
            "",
            ["scores are taken for 29 s, and Langfuse usually shows a new trace"],
        ),
        (
            "deadline: 30s",
            "",
            ["scores are taken for 30 s, and parts of Langfuse's public API may"],
        ),
        # The suite's own five minutes are shorter than the documented lag.
        (
            "scale: [0, 1]",
            "",
            ["scores are taken for 300 s, and parts of Langfuse's public API may"],
        ),
    ],
)
def test_check_suite__a_deadline_that_langfuse_may_not_keep_is_a_note(
    folder: Folder, judge: str, settle: str, notes: list[str]
) -> None:
    """S1-L2."""
    judges = f"[{{id: j, type: langfuse, score: tone, {judge}}}]"
    found = folder.load(config(judges=judges, gates=GATE, more=settle)).notes
    assert [note.message[: len(start)] for note, start in zip(found, notes, strict=True)] == notes
    assert all(note.line == 5 for note in found)


@pytest.mark.parametrize(
    ("judge", "problem"),
    [
        ("environment: Prod", "judges[0].environment: 'Prod' is no name of a Langfuse environment"),
        ("environment: langfuse-x", "judges[0].environment: 'langfuse-x' is no name"),
        ("values: {good: 2}, scale: [0, 1]", "judges[0].values: 'good' is 2, outside the judge's"),
        ("source: eval", "judges[0].source: "),
    ],
)
def test_check_suite__langfuse_judges_that_cannot_work(
    folder: Folder, judge: str, problem: str
) -> None:
    judges = f"[{{id: j, type: langfuse, score: tone, deadline: 10m, {judge}}}]"
    (found,) = folder.refused(config(judges=judges, gates=GATE))
    assert problem in found


@pytest.mark.parametrize("score", ["''", "'tone,style'"])
def test_check_suite__a_langfuse_judge_names_one_score(folder: Folder, score: str) -> None:
    judges = f"[{{id: j, type: langfuse, score: {score}, deadline: 10m}}]"
    (found,) = folder.refused(config(judges=judges, gates=GATE))
    assert "judges[0].score: expected the name of one score" in found


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("{text: Oslo}", None),
        ("{text: false}", None),
        ("Oslo", "`input: text` finds nothing in the output, which is a text"),
        ("{answer: Oslo}", "finds nothing in the output, an object with the keys answer"),
    ],
)
def test_check_suite__a_sentinel_in_which_the_judge_finds_nothing(
    folder: Folder, output: str, problem: str | None
) -> None:
    """It could never get a score: said before a whole run is paid for."""
    judges = (
        "[{id: j, type: http, url: 'http://127.0.0.1:9/', input: text, pass_at: 0.5, "
        f"sentinels: [{{id: good, output: {output}, expect: pass}}]}}]"
    )
    text = config(judges=judges, gates=GATE)
    if problem is None:
        assert folder.load(text).suite.judges[0].sentinels
        return
    (found,) = folder.refused(text)
    assert "judges[0].sentinels: the sentinel 'good' could get no score: " in found
    assert problem in found
