"""The Markdown summary: verdict first, whole rows, within its bytes (B109, B110, B112, B113, G-25)."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from releasecheck.canonical import clean_text
from releasecheck.scorecard.escape import visible
from releasecheck.scorecard.summary import LIMIT, render_summary
from tests.unit.scorecard import samples
from tests.unit.scorecard.faults import ALL, FENCES, MARKDOWN, name_of
from tests.unit.scorecard.pages import Page, rendered

GATES = 7
"""Columns of the gate table."""


def failing(number: int, reason: str, name: str = "c") -> samples.Sample:
    views = []
    for i in range(number):
        of = samples.case(i, id=f"{name}{i:05}")
        views.append(samples.row(of, "wrong", {"exact": samples.scored(0.0, reason)}))
    return samples.sample(
        views,
        verdict="block",
        exit_code=1,
        gates=[samples.gate(outcome="block", value=0.0, reason="0 over every score, below 0.85")],
    )


def test_render_summary__verdict_then_why_then_what_to_do() -> None:
    text = render_summary(samples.blocked().report)
    assert text.startswith("## ✖ Blocked (docs-search)\n")
    order = ["Verdict <code>block</code>, exit code 1.", "at most 0.02 is allowed", "What to do now",
             "### Gates", "newly failing", "9 cases to look at", "Closer look", "Scores and metrics"]  # fmt: skip
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_render_summary__tables_have_their_cells() -> None:
    found = rendered(render_summary(samples.blocked().report))
    gates, cases, scores, metrics = found.tables
    assert {len(row) for row in gates} == {GATES}
    assert scores[1] == ["168", "168", "0", "0", "0", "0"]
    assert [row[0] for row in gates[1:]] == ["✖ blocked", "✔ pass", "✔ pass"]
    assert len(metrics) == 6
    assert len(cases) == 10


@pytest.mark.parametrize("text", ALL, ids=name_of)
def test_render_summary__hostile_text_stays_in_its_place(text: str) -> None:
    """The structure is that of harmless texts: same headings, tables, cells and fences."""
    plain = rendered(render_summary(samples.hostile(["one", "two", "three", "four"]).report))
    source = render_summary(samples.hostile([text, "two", "three", "four"]).report)
    found = rendered(source)
    assert found.headings == plain.headings
    shape = [[len(row) for row in table] for table in found.tables]
    assert shape == [[len(row) for row in table] for table in plain.tables]
    assert found.kinds <= plain.kinds | {"html_inline", "entity", "text_special"}
    assert not found.kinds & {"link_open", "image"}
    assert len(found.fences) == len(plain.fences)
    outside = re.sub(r"(?ms)^(`{3,})text\n.*?^\1$", "", source)
    assert "<script" not in outside
    assert "<img" not in outside
    assert "<!--" not in outside
    assert not re.search(r"@[A-Za-z]|(?<!&)#\d", outside)


@pytest.mark.parametrize("text", FENCES, ids=name_of)
def test_render_summary__fences_hold(text: str) -> None:
    view = samples.row(samples.case(0), text, {"exact": samples.scored(0.0)})
    found = rendered(render_summary(samples.sample([view], verdict="block", exit_code=1).report))
    assert visible(text) + "\n" in found.fences
    assert not [heading for heading in found.headings if "PASSED" in heading]


def test_render_summary__cuts_a_block_by_lines_with_a_count() -> None:
    view = samples.row(samples.case(0), "line\n" * 5000, {"exact": samples.scored(0.0)})
    source = render_summary(samples.sample([view]).report)
    assert "[24,850 more characters]" in source
    assert len(rendered(source).fences) == 3


@pytest.mark.parametrize("limit", [LIMIT, 60_000, 20_000, 8192])
def test_render_summary__stays_within_its_bytes(limit: int) -> None:
    """B109: 4,000 failures with names and reasons outside ASCII."""
    text = render_summary(failing(4000, "é" * 200, "überprüfung " * 4).report, limit)
    assert len(text.encode("utf-8")) <= limit
    found = rendered(text)
    assert text.startswith("## ✖ Blocked (docs-search)")
    assert {len(row) for row in found.tables[0]} == {GATES}
    rows = len(found.tables[1]) - 1 if "| what | case |" in text else 0
    assert f"and {4000 - rows} more to look at in `scorecard.html`" in text


def test_render_summary__says_so_when_nothing_fits() -> None:
    with pytest.raises(ValueError, match="no room for a summary"):
        render_summary(samples.blocked().report, 200)


@settings(max_examples=12)
@given(st.lists(st.sampled_from([t for t in ALL if len(t) < 600]), min_size=1, max_size=8))
def test_render_summary__any_hostile_report_fits_a_comment(texts: list[str]) -> None:
    """B110: the worst run still gets a comment, and ids, reasons and notices of any kind are cut."""
    texts = [clean_text(text) for text in texts]
    text = render_summary(samples.hostile(texts * 40).report, 60_000)
    assert len(text.encode("utf-8")) <= 60_000


def test_render_summary__long_ids_are_cut_in_cells_only_between_characters() -> None:
    source = render_summary(failing(3, "r", "日本語" * 300).report)
    assert max(len(line) for line in source.split("\n")) < 2000
    assert "…</code>" in source


@pytest.mark.parametrize("text", MARKDOWN, ids=name_of)
def test_render_summary__reads_the_same_as_it_was_written(text: str) -> None:
    view = samples.row(samples.case(0), text, {"exact": samples.scored(0.0)})
    source = render_summary(samples.sample([view]).report)
    cell = rendered(source).tables[1][1][4]
    shown = Page(cell).text.replace("\u200b", "")
    assert shown == visible(text).strip().replace("\n", "⏎").replace("\t", "⇥")


def test_render_summary__an_open_or_partial_run_says_so() -> None:
    text = render_summary(samples.refused(mode="delta", selection="2 of 84 cases").report)
    assert "> Provisional: the run is still open" in text
    assert "> Part of the suite only (delta): 2 of 84 cases" in text


def test_render_summary__counts_what_it_leaves_out() -> None:
    many = [f"reason {i}" for i in range(50)]
    text = render_summary(samples.refused(reasons=many, notices=many).report)
    assert "- and 44 more reasons in `scorecard.json`" in text
    assert "> and 47 more notes in `scorecard.html`" in text


def outside_details(text: str) -> list[str]:
    """The lines that a reader sees without opening anything."""
    return [
        line for line in re.sub(r"(?s)<details>.*?</details>", "", text).split("\n") if line.strip()
    ]


@pytest.mark.parametrize("name", ["blocked", "refused", "waived", "many"])
def test_render_summary__is_one_screen_until_something_is_opened(name: str) -> None:
    """Issue 6: cut by importance, with counts of what was left out."""
    many = [f"reason {i}" for i in range(50)]
    gates = [samples.gate(id=f"g{n}", outcome="block", value=0.0) for n in range(60)]
    made: dict[str, Callable[[], samples.Sample]] = {
        "blocked": samples.blocked,
        "refused": samples.refused,
        "waived": samples.overridden,
        "many": lambda: samples.refused(reasons=many, notices=many, gates=gates),
    }
    text = render_summary(made[name]().report)
    assert len(outside_details(text)) <= 50
    assert text.count("<details>") == text.count("</details>")
    if name == "many":
        assert "and 45 more gates in `scorecard.html`" in text
